#include "census.h"
#include "../ref/checked.h"
#include <stdlib.h>
#include <string.h>

const char *const class_names[CLASSES] = {
    [CLASS_MMA] = "mma",
    [CLASS_LDMATRIX] = "ldmatrix",
    [CLASS_STMATRIX] = "stmatrix",
    [CLASS_LD_SHARED] = "ld.shared",
    [CLASS_ST_SHARED] = "st.shared",
    [CLASS_LD_GLOBAL] = "ld.global",
    [CLASS_ST_GLOBAL] = "st.global",
    [CLASS_LD_GENERIC] = "ld.generic",
    [CLASS_ST_GENERIC] = "st.generic",
    [CLASS_LD_LOCAL] = "ld.local",
    [CLASS_ST_LOCAL] = "st.local",
    [CLASS_LD_PARAM] = "ld.param",
    [CLASS_CP_ASYNC] = "cp.async",
    [CLASS_ATOMIC] = "atomic",
    [CLASS_INTEGER] = "integer",
    [CLASS_FLOAT] = "float",
    [CLASS_HALF] = "half",
    [CLASS_CONVERT] = "convert",
    [CLASS_COMPARE] = "compare",
    [CLASS_MOVE] = "move",
    [CLASS_CONTROL] = "control",
    [CLASS_BARRIER] = "barrier",
    [CLASS_WARP] = "warp",
    [CLASS_OTHER] = "other",
};

/* The last type of the instruction's parts: that of its sources. */
static enum ptx_type type_of(const struct ptx_instruction *in) {
    enum ptx_type t = PTX_NO_TYPE;
    for (size_t i = 0; i < in->part_count; ++i) {
        const enum ptx_type one = ptx_type_named(in->parts[i]);
        t = one != PTX_NO_TYPE ? one : t;
    }
    return t;
}

static bool has_part(const struct ptx_instruction *in, const char *part) {
    for (size_t i = 0; i < in->part_count; ++i)
        if (!strcmp(in->parts[i], part))
            return true;
    return false;
}

static enum instruction_class class_of_memory(const struct ptx_instruction *in, bool store) {
    if (has_part(in, "shared") || has_part(in, "shared::cta"))
        return store ? CLASS_ST_SHARED : CLASS_LD_SHARED;
    if (has_part(in, "global"))
        return store ? CLASS_ST_GLOBAL : CLASS_LD_GLOBAL;
    if (has_part(in, "local"))
        return store ? CLASS_ST_LOCAL : CLASS_LD_LOCAL;
    if (has_part(in, "param") || has_part(in, "param::entry") || has_part(in, "param::func"))
        return store ? CLASS_MOVE : CLASS_LD_PARAM;
    if (has_part(in, "const"))
        return CLASS_LD_PARAM;
    return store ? CLASS_ST_GENERIC : CLASS_LD_GENERIC;
}

enum instruction_class census_class(const struct ptx_instruction *in) {
    static const struct {
        const char *opcode;
        enum instruction_class is;
    } known[] = {
        {"mma", CLASS_MMA},       {"ldmatrix", CLASS_LDMATRIX}, {"stmatrix", CLASS_STMATRIX}, {"cp", CLASS_CP_ASYNC},
        {"atom", CLASS_ATOMIC},   {"red", CLASS_ATOMIC},        {"cvt", CLASS_CONVERT},       {"setp", CLASS_COMPARE},
        {"set", CLASS_COMPARE},   {"selp", CLASS_COMPARE},      {"slct", CLASS_COMPARE},      {"testp", CLASS_COMPARE},
        {"mov", CLASS_MOVE},      {"cvta", CLASS_MOVE},         {"isspacep", CLASS_COMPARE},  {"bra", CLASS_CONTROL},
        {"brx", CLASS_CONTROL},   {"call", CLASS_CONTROL},      {"ret", CLASS_CONTROL},       {"exit", CLASS_CONTROL},
        {"trap", CLASS_CONTROL},  {"bar", CLASS_BARRIER},       {"barrier", CLASS_BARRIER},   {"membar", CLASS_BARRIER},
        {"fence", CLASS_BARRIER}, {"shfl", CLASS_WARP},         {"vote", CLASS_WARP},         {"match", CLASS_WARP},
        {"redux", CLASS_WARP},    {"activemask", CLASS_WARP},   {"elect", CLASS_WARP},        {"movmatrix", CLASS_WARP},
    };
    if (!strcmp(in->opcode, "ld") || !strcmp(in->opcode, "ldu"))
        return class_of_memory(in, false);
    if (!strcmp(in->opcode, "st"))
        return class_of_memory(in, true);
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (!strcmp(in->opcode, known[i].opcode))
            return known[i].is;
    switch (type_of(in)) {
    case PTX_F32:
    case PTX_F64:
        return CLASS_FLOAT;
    case PTX_F16:
    case PTX_F16X2:
    case PTX_BF16:
    case PTX_BF16X2:
        return CLASS_HALF;
    case PTX_PRED:
        return CLASS_COMPARE;
    case PTX_NO_TYPE:
        return CLASS_OTHER;
    default:
        return CLASS_INTEGER;
    }
}

static void add(struct site_count *into, const struct site_count *one) {
    into->executed += one->executed;
    into->requests += one->requests;
    into->wavefronts += one->wavefronts;
    into->conflicts += one->conflicts;
    into->sectors += one->sectors;
}

struct site_row { /* a site on its way to a line */
    const struct trace_site *site;
    const struct site_count *count;
    size_t order;
};

static const char *file_of(const struct trace_site *s) {
    return s->file && s->line > 0 ? s->file : NULL;
}
static int line_of(const struct trace_site *s) {
    return file_of(s) ? s->line : s->ptx_line;
}

static int compare_places(const char *f, int line, const char *g, int other) {
    const int files = f && g ? strcmp(f, g) : (f != NULL) - (g != NULL);
    return files ? files : line < other ? -1 : line > other;
}

static int compare_sites(const struct trace_site *x, const struct trace_site *y) {
    return compare_places(file_of(x), line_of(x), file_of(y), line_of(y));
}

static int by_line(const void *a, const void *b) {
    const struct site_row *x = a, *y = b;
    const int places = compare_sites(x->site, y->site);
    if (places)
        return places;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_weight(const void *a, const void *b) {
    const struct census_site *x = a, *y = b;
    const struct site_count *m = &x->count, *n = &y->count;
    if (m->conflicts != n->conflicts)
        return m->conflicts > n->conflicts ? -1 : 1;
    if (m->wavefronts != n->wavefronts)
        return m->wavefronts > n->wavefronts ? -1 : 1;
    if (m->sectors != n->sectors)
        return m->sectors > n->sectors ? -1 : 1;
    return x->ptx_line < y->ptx_line ? -1 : x->ptx_line > y->ptx_line;
}

static void list_sites(const struct trace *t, struct census *c) {
    c->sites = must_calloc(t->site_count + 1, sizeof *c->sites);
    for (size_t i = 0; i < t->site_count; ++i) {
        const struct trace_site *s = &t->sites[i];
        if (t->counts[i].requests)
            c->sites[c->site_count++] = (struct census_site){
                .file = file_of(s), .line = s->line, .ptx_line = s->ptx_line, .text = s->text, .count = t->counts[i]};
    }
    qsort(c->sites, c->site_count, sizeof *c->sites, by_weight);
}

bool census_of(const struct trace *t, struct census *c) {
    *c = (struct census){.macs = t->macs};
    if (!t->counts)
        return false;
    struct site_row *rows = must_calloc(t->site_count + 1, sizeof *rows);
    for (size_t i = 0; i < t->site_count; ++i)
        rows[i] = (struct site_row){&t->sites[i], &t->counts[i], i};
    qsort(rows, t->site_count, sizeof *rows, by_line);
    c->lines = must_calloc(t->site_count + 1, sizeof *c->lines);
    for (size_t i = 0; i < t->site_count; ++i) {
        const struct trace_site *site = rows[i].site;
        if (!i || compare_sites(rows[i - 1].site, site))
            c->lines[c->line_count++] = (struct census_line){.file = file_of(site), .line = line_of(site)};
        struct census_line *last = &c->lines[c->line_count - 1];
        const enum instruction_class k = rows[i].site->instruction_class;
        add(&last->count, rows[i].count);
        last->by_class[k] += rows[i].count->executed;
        add(&c->by_class[k], rows[i].count);
        add(&c->total, rows[i].count);
    }
    free(rows);
    list_sites(t, c);
    return true;
}

struct census census_sum(const struct census *c, size_t count) {
    struct census sum = {.macs = 0};
    for (size_t i = 0; i < count; ++i) {
        sum.macs += c[i].macs;
        add(&sum.total, &c[i].total);
        for (int k = 0; k < CLASSES; ++k)
            add(&sum.by_class[k], &c[i].by_class[k]);
    }
    return sum;
}

void census_free(struct census *c) {
    free(c->lines);
    free(c->sites);
    *c = (struct census){0};
}

/* what: "" or ".wavefronts" ... */
static bool class_count(const struct site_count *n, const char *what, uint64_t *value) {
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"", n->executed},
                  {".wavefronts", n->wavefronts},
                  {".conflicts", n->conflicts},
                  {".sectors", n->sectors},
                  {".requests", n->requests}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
        if (!strcmp(what, counts[i].name))
            return *value = counts[i].value, true;
    return false;
}

bool census_count(const struct census *c, const char *name, uint64_t *value) {
    const struct {
        const char *name;
        uint64_t value;
    } totals[] = {{"instructions", c->total.executed},
                  {"macs", c->macs},
                  {"wavefronts", c->total.wavefronts},
                  {"conflicts", c->total.conflicts},
                  {"sectors", c->total.sectors}};
    for (size_t i = 0; i < sizeof totals / sizeof *totals; ++i)
        if (!strcmp(name, totals[i].name))
            return *value = totals[i].value, true;
    for (int k = 0; k < CLASSES; ++k) {
        const size_t length = strlen(class_names[k]);
        if (!strncmp(name, class_names[k], length) && (!name[length] || name[length] == '.'))
            return class_count(&c->by_class[k], name + length, value);
    }
    return false;
}
