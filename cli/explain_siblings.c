#include "explain_siblings.h"
#include "../gpu/canary.h"
#include "../ref/checked.h"
#include "../ref/random.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the budget ---- */

/* Estimated before anything is run, so that what is left out does not depend on the machine. */
#define MOST_STEPS    (UINT64_C(1) << 27) /* warp instructions of all siblings together; about 20 s of one core */
#define MOST_PRODUCTS (UINT64_C(1) << 32) /* multiply-adds of the contract for one of them */
enum { MOST_TILE = 1024, MOST_DEPTHS = 64 };

struct family {
    const struct subject *s;
    const struct outcome *o;
    struct siblings *out;
    uint64_t left; /* steps */
};

struct size {
    size_t nt, od, id;
};

static bool has_rows(const struct family *f) {
    return f->s->trial.contract->weight != NULL;
}

/* The shape of the case with other sizes; the caller frees the values. */
static struct shape shape_of(const struct family *f, struct size size) {
    const struct shape *from = &f->s->shape;
    struct shape_value *values = must_calloc(from->count + 1, sizeof *values);
    for (size_t i = 0; i < from->count; ++i) {
        const char *name = from->values[i].name;
        values[i] = from->values[i];
        values[i].value = strcmp(name, "nt") == 0   ? (int64_t)size.nt
                          : strcmp(name, "od") == 0 ? (int64_t)size.od
                          : strcmp(name, "id") == 0 ? (int64_t)size.id
                                                    : values[i].value;
    }
    return (struct shape){.values = values, .count = from->count};
}

/* Blocks of the first launch; 0: it cannot be said. */
static uint64_t blocks_of(const struct family *f, struct size size) {
    const struct spec *spec = f->s->trial.spec;
    struct shape shape = shape_of(f, size);
    struct error ignored;
    uint64_t blocks = 1;
    for (int i = 0; i < 3 && blocks > 0; ++i) {
        int64_t n = 1;
        const bool good = spec->grid[i] == NULL || spec_eval_within(spec->grid[i], &shape, 1, INT32_MAX, &n, &ignored);
        blocks = good && (uint64_t)n <= UINT64_MAX / blocks ? blocks * (uint64_t)n : 0;
    }
    free((void *)shape.values);
    return blocks;
}

static bool is_served(const struct family *f, struct size size) {
    struct shape shape = shape_of(f, size);
    struct error ignored;
    char *unmet = NULL;
    const bool good = bind_needs(f->s->trial.spec, &shape, &unmet, &ignored) && unmet == NULL;
    free(unmet);
    free((void *)shape.values);
    return good;
}

static struct size own_size(const struct family *f) {
    const struct operands_request *r = &f->s->request;
    return (struct size){r->nt, r->od, r->id};
}

/* As many as the case itself has taken, by blocks and depth; at least 1. */
static uint64_t steps_of(const struct family *f, struct size size) {
    const struct size own = own_size(f);
    const double blocks = (double)blocks_of(f, size) / (double)(blocks_of(f, own) > 0 ? blocks_of(f, own) : 1);
    const double steps = (double)f->o->warp_instructions * blocks * (double)size.id / (double)own.id;
    return steps < 1e18 ? (uint64_t)steps + 1 : UINT64_MAX;
}

static bool is_dear(const struct family *f, struct size size) {
    const double products = (double)size.nt * (has_rows(f) ? (double)size.od : 1) * (double)size.id;
    return products > (double)MOST_PRODUCTS || steps_of(f, size) > f->left;
}

/* ---- one of them ---- */

static struct sibling *add(struct family *f, enum sibling_kind kind, char *name) {
    struct siblings *out = f->out;
    out->items = must_realloc(out->items, out->count + 1, sizeof *out->items);
    out->items[out->count] = (struct sibling){.kind = kind, .name = name, .verdict = VERDICT_PASS};
    return &out->items[out->count++];
}

/* By the bits alone: what is wrong in other ways and leaves the right bits is no part of the pattern. */
static void read_bits(const struct outcome *o, struct sibling *out) {
    out->ran = o->judged && !o->refused && !o->skipped;
    out->verdict = o->complete ? VERDICT_PASS : findings_worst(&o->findings);
    for (size_t i = 0; i < o->findings.count; ++i) {
        const struct finding *x = &o->findings.items[i];
        if (strcmp(x->oracle, "parity") == 0 || x->verdict == VERDICT_UNWRITTEN) {
            out->verdict = x->verdict > out->verdict ? x->verdict : out->verdict;
            out->wrong += x->wrong != NULL ? x->wrong->wrong : 0;
            out->cells = x->wrong != NULL ? x->wrong->cells : out->cells;
        }
    }
    if (out->ran && out->verdict == VERDICT_INPUT) {
        out->ran = false;
    }
    out->why = out->ran ? NULL : must_strdup("its operands or its launch prove nothing");
}

static void run(struct family *f, struct size size, enum data_class data, struct sibling *out) {
    struct operands_request r = f->s->request;
    struct operands operands;
    struct error e;
    r.nt = size.nt, r.od = size.od, r.id = size.id;
    r.data = data;
    r.weight = r.embedding = NULL;
    r.model_path = NULL;
    r.weight_file = r.activation_file = r.expect_file = (struct operand_file){.path = NULL};
    char *key = must_format("%s %zu %zu %zu %s", f->s->id, size.nt, size.od, size.id, data_class_names[data]);
    r.key = random_key(key);
    free(key);
    if (!operands_make(&r, &operands, &e)) {
        out->why = must_strdup("no such data for these formats");
        return;
    }
    struct shape shape = shape_of(f, size);
    struct trial t = f->s->trial;
    t.operands = &operands;
    t.shape = &shape;
    t.schedules = SCHEDULES_ONE;
    t.options.unwatched = WATCH_ALL & ~WATCH_STORES; /* what is not stored is UNWRITTEN, as in the case itself */
    t.options.census = false;
    struct outcome o;
    trial_run(&t, &o);
    read_bits(&o, out);
    outcome_free(&o);
    operands_free(&operands);
    free((void *)shape.values);
}

/* ---- classes ---- */

static bool serves(const struct family *f, enum data_class data) {
    struct operands_request r = f->s->request;
    struct operands sizes;
    struct error ignored;
    r.data = data;
    r.weight = NULL;
    r.weight_file = r.activation_file = r.expect_file = (struct operand_file){.path = NULL};
    return operands_measure(&r, &sizes, &ignored);
}

static void run_classes(struct family *f) {
    const enum data_class own = f->s->request.data;
    for (enum data_class d = DATA_EXACT; d <= DATA_RAND; ++d) {
        if (d != own && !serves(f, d)) {
            continue;
        }
        struct sibling *x = add(f, SIBLING_CLASS, must_strdup(data_class_names[d]));
        if (d == own) {
            x->itself = true;
            read_bits(f->o, x);
        } else if (is_dear(f, own_size(f))) {
            x->why = must_strdup("past the budget");
        } else {
            f->left -= steps_of(f, own_size(f));
            run(f, own_size(f), d, x);
        }
    }
    if (own > DATA_RAND) {
        struct sibling *x = add(f, SIBLING_CLASS, must_strdup(data_class_names[own]));
        x->itself = true;
        read_bits(f->o, x);
    }
}

/* ---- shapes ---- */

/* How far an axis can grow from 1 before the grid does: a tile. 0: it does not grow with it. */
static size_t tile_of(const struct family *f, bool tokens) {
    struct size size = own_size(f);
    size_t *axis = tokens ? &size.nt : &size.od;
    *axis = 1;
    const uint64_t one = blocks_of(f, size);
    for (size_t n = 2; n <= MOST_TILE + 1 && one > 0; ++n) {
        *axis = n;
        if (blocks_of(f, size) != one) {
            return n - 1;
        }
    }
    return 0;
}

static void run_shape(struct family *f, enum sibling_kind kind, struct size size) {
    const enum data_class own = f->s->request.data, data = own <= DATA_RAND ? own : DATA_RAND;
    const struct size mine = own_size(f);
    if (!is_served(f, size)) {
        return;
    }
    char *name = has_rows(f) ? must_format("nt%zu.od%zu.id%zu", size.nt, size.od, size.id)
                             : must_format("nt%zu.id%zu", size.nt, size.id);
    struct sibling *x = add(f, kind, name);
    if (size.nt == mine.nt && size.od == mine.od && size.id == mine.id && data == own) {
        x->itself = true;
        read_bits(f->o, x);
    } else if (is_dear(f, size)) {
        x->why = must_strdup("past the budget");
    } else {
        f->left -= steps_of(f, size);
        run(f, size, data, x);
    }
}

static void run_shapes(struct family *f) {
    const struct size own = own_size(f);
    const size_t tokens = tile_of(f, true), rows = has_rows(f) ? tile_of(f, false) : 0;
    if (tokens > 1 || rows > 1) {
        const size_t nt = tokens > 0 ? tokens : own.nt, od = rows > 0 ? rows : own.od;
        run_shape(f, SIBLING_TILE, (struct size){nt, od, own.id});
        run_shape(f, SIBLING_TILES, (struct size){tokens > 0 ? 2 * nt : nt, rows > 0 ? 2 * od : od, own.id});
    }
    const size_t step = f->s->trial.contract->depth_multiple;
    for (size_t i = 1; i <= MOST_DEPTHS && i * step < own.id; ++i) {
        const struct size size = {own.nt, own.od, i * step};
        if (is_served(f, size)) {
            run_shape(f, SIBLING_DEPTH, size);
            return;
        }
    }
}

void siblings_run(const struct subject *s, const struct outcome *o, struct siblings *out) {
    struct family f = {.s = s, .o = o, .out = out, .left = MOST_STEPS};
    *out = (struct siblings){.count = 0};
    if (s->trial.contract == NULL || !o->judged || o->refused) {
        return;
    }
    run_classes(&f);
    if (outcome_verdict(o) != VERDICT_PASS) {
        run_shapes(&f);
    }
}

void siblings_free(struct siblings *x) {
    for (size_t i = 0; i < x->count; ++i) {
        free(x->items[i].name);
        free(x->items[i].why);
    }
    free(x->items);
    *x = (struct siblings){.count = 0};
}

/* ---- the canary build ---- */

bool canary_run(const struct subject *s, const char *root, bool planted, struct outcome *o, const char **why) {
    const struct spec *spec = s->trial.spec;
    const char *program = s->trial.module->path, *name = strrchr(program, '/');
    struct error ignored;
    *why = !canary_has_planes(spec) ? "the launch file has no planes of shared memory: no guards between them"
           : spec->source == NULL   ? "no canary build of this program"
                                    : NULL;
    if (*why != NULL) {
        return false;
    }
    char *path =
        must_format("%s/fixtures/ptx/canary/%s%s", root, planted ? "plants/" : "", name != NULL ? name + 1 : program);
    struct ptx_module *module = access(path, R_OK) == 0 ? ptx_load(path, &ignored) : NULL;
    free(path);
    if (module == NULL) {
        *why = "no canary build of this program";
        return false;
    }
    struct trial t = s->trial;
    t.plain = t.module;
    t.module = module;
    t.schedules = SCHEDULES_ONE;
    t.options.unwatched = WATCH_ALL;
    t.options.census = false;
    trial_run(&t, o);
    ptx_free(module);
    return true;
}
