/* Where the addresses and values of a suspect's instruction are made: the lines of the source that it comes from,
 * backwards through registers (gpu/ancestry.h). Lines that no right access of the same kind comes from are told first:
 * what right ones share with it is hardly the mistake. */
#include "../gpu/ancestry.h"
#include "../ref/checked.h"
#include "suspects_parts.h"
#include <stdlib.h>
#include <string.h>

enum { LINES = 6, MOST_PEERS = 48 };

struct origin { /* a line, and where it is called */
    struct ptx_call_place at, call;
    uint32_t distance;
    bool shared; /* right accesses come from it too */
};

struct origins {
    struct origin *items;
    size_t count;
};

static const struct ptx_function *entry_of(const struct suspects_input *in, size_t launch) {
    const struct spec *s = in->spec;
    const bool then = launch > 1 && launch - 2 < s->then_count;
    return in->module != NULL ? ptx_entry_named(in->module, then ? s->then[launch - 2].entry : s->entry) : NULL;
}

static size_t instruction_at(const struct ptx_function *f, int ptx_line) {
    size_t i = 0;
    while (i < f->instruction_count && f->instructions[i].ptx_line != ptx_line) {
        ++i;
    }
    return i;
}

static bool has_part(const struct ptx_instruction *in, const char *part) {
    for (size_t i = 0; i < in->part_count; ++i) {
        if (strcmp(in->parts[i], part) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_alike(const struct ptx_instruction *a, const struct ptx_instruction *b) {
    const bool loads = (!strcmp(a->opcode, "ld") || !strcmp(a->opcode, "ldmatrix")) &&
                       (!strcmp(b->opcode, "ld") || !strcmp(b->opcode, "ldmatrix"));
    return (loads || strcmp(a->opcode, b->opcode) == 0) && has_part(a, "shared") == has_part(b, "shared") &&
           has_part(a, "global") == has_part(b, "global") && !has_part(b, "param");
}

/* Some observation accuses this place. */
static bool is_accused(const struct clues *c, const struct ptx_instruction *in) {
    for (size_t i = 0; i < c->count; ++i) {
        const struct finding *f = c->items[i].f;
        for (int side = 0; f != NULL && side < 2; ++side) {
            const struct where *w = side == 0 ? &f->where : f->other;
            if (w != NULL && (w->place != 0 ? w->place == in->place : w->ptx_line == in->ptx_line)) {
                return true;
            }
        }
    }
    return false;
}

static bool same_call(struct ptx_call_place a, struct ptx_call_place b) {
    return a.file == b.file && a.line == b.line;
}

/* Distances (instruction_count) of what goes into a clue's instruction; the caller frees them. NULL: it has no place.
 */
static uint32_t *ancestors_of(const struct clues *c, const struct clue *x, const struct ptx_function **f) {
    *f = x->f != NULL && x->f->where.ptx_line > 0 ? entry_of(c->in, x->f->where.launch) : NULL;
    const size_t own = *f != NULL ? instruction_at(*f, x->f->where.ptx_line) : 0;
    if (*f == NULL || own == (*f)->instruction_count) {
        return NULL;
    }
    struct ancestry_index index;
    uint32_t *distance = must_calloc((*f)->instruction_count + 1, sizeof *distance);
    ancestry_open(*f, &index);
    ancestry_of(&index, own, ANCESTRY_ALL, false, distance);
    ancestry_close(&index);
    return distance;
}

bool clue_feeds(const struct clues *c, const struct clue *a, const struct clue *b) {
    const struct ptx_function *f;
    if (a->f == NULL || a->f->where.ptx_line <= 0) {
        return false;
    }
    uint32_t *distance = ancestors_of(c, b, &f);
    bool feeds = false;
    for (size_t i = 0; distance != NULL && i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        feeds |= distance[i] > 1 &&
                 (in->ptx_line == a->f->where.ptx_line || (a->f->where.place != 0 && in->place == a->f->where.place));
    }
    free(distance);
    return feeds;
}

bool clue_share_load(const struct clues *c, const struct clue *a, const struct clue *b) {
    const struct ptx_function *f, *g;
    uint32_t *x = ancestors_of(c, a, &f), *y = ancestors_of(c, b, &g);
    bool some = false;
    for (size_t i = 0; x != NULL && y != NULL && f == g && i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        some |= x[i] != 0 && y[i] != 0 && strcmp(in->opcode, "ld") == 0 && has_part(in, "global");
    }
    free(x);
    free(y);
    return some;
}

static struct ptx_call_place call_of(const struct ptx_instruction *in) {
    return in->inlined_count > 0 ? in->inlined[0] : (struct ptx_call_place){-1, 0};
}

/* Nearest ones of each line. */
static void collect(const struct ptx_function *f, size_t own, const uint32_t *distance, struct origins *out) {
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        const struct ptx_call_place at = {in->file, in->line}, call = call_of(in);
        size_t k = 0;
        if (distance[i] == 0 || i == own || in->file < 0 || in->line <= 0) {
            continue;
        }
        while (k < out->count && !(same_call(out->items[k].at, at) && same_call(out->items[k].call, call))) {
            ++k;
        }
        if (k == out->count) {
            out->items = must_realloc(out->items, out->count + 1, sizeof *out->items);
            out->items[out->count++] = (struct origin){.at = at, .call = call, .distance = distance[i]};
        } else if (distance[i] < out->items[k].distance) {
            out->items[k].distance = distance[i];
        }
    }
}

static void mark_shared(const struct ptx_function *f, const uint32_t *distance, struct origins *o) {
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        for (size_t k = 0; distance[i] != 0 && k < o->count; ++k) {
            o->items[k].shared |= same_call(o->items[k].at, (struct ptx_call_place){in->file, in->line}) &&
                                  same_call(o->items[k].call, call_of(in));
        }
    }
}

/* Of right accesses of the same kind, spread over the function. */
static void mark_peers(const struct clues *c, const struct ancestry_index *x, size_t own, enum ancestry_part part,
                       uint32_t *distance, struct origins *o) {
    const struct ptx_function *f = x->function;
    size_t peers = 0, seen = 0;
    for (int turn = 0; turn < 2; ++turn) {
        const size_t step = peers / MOST_PEERS + 1;
        for (size_t i = 0; i < f->instruction_count; ++i) {
            const struct ptx_instruction *in = &f->instructions[i];
            if (i == own || !is_alike(&f->instructions[own], in) || is_accused(c, in)) {
                continue;
            }
            if (turn == 0) {
                ++peers;
            } else if (seen++ % step == 0) {
                ancestry_of(x, i, part, false, distance);
                mark_shared(f, distance, o);
            }
        }
    }
}

static bool comes_first(const struct origin *a, const struct origin *b) {
    return a->shared != b->shared ? !a->shared : a->distance < b->distance;
}

static char *origin_text(const struct ptx_module *m, const struct origin *o) {
    return o->call.file >= 0 ? must_format("%s:%d (called at %s:%d)", m->files[o->at.file], o->at.line,
                                           m->files[o->call.file], o->call.line)
                             : must_format("%s:%d", m->files[o->at.file], o->at.line);
}

static void tell(const struct ptx_module *m, struct origins *o, struct suspect *s) {
    s->from = must_calloc(LINES, sizeof *s->from);
    for (size_t n = 0; n < LINES && n < o->count; ++n) {
        size_t best = n;
        for (size_t k = n + 1; k < o->count; ++k) {
            best = comes_first(&o->items[k], &o->items[best]) ? k : best;
        }
        const struct origin first = o->items[best];
        memmove(&o->items[n + 1], &o->items[n], (best - n) * sizeof *o->items);
        o->items[n] = first;
        s->from[s->from_count++] = origin_text(m, &first);
    }
}

static bool is_load(const struct ptx_instruction *in) {
    return strncmp(in->opcode, "ld", 2) == 0;
}

static enum ancestry_part part_of(const struct clue *c, const struct ptx_instruction *in) {
    switch (c->kind) {
    case SUSPECT_GUARD:
    case SUSPECT_RACE:
        return ANCESTRY_ADDRESS;
    case SUSPECT_UNINIT:
    case SUSPECT_FRAGMENTS:
        return is_load(in) ? ANCESTRY_ADDRESS : ANCESTRY_ALL;
    case SUSPECT_RESCALE:
    case SUSPECT_PROBE:
    case SUSPECT_BITS:
        return ANCESTRY_VALUE;
    default:
        return ANCESTRY_ALL;
    }
}

/* Branches that jump over an instruction, and its guard: what they come from. */
static void decisions(const struct ancestry_index *x, size_t own, uint32_t *distance) {
    const struct ptx_function *f = x->function;
    uint32_t *of = must_calloc(f->instruction_count + 1, sizeof *of);
    memset(distance, 0, f->instruction_count * sizeof *distance);
    for (size_t i = 0; i <= own; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        const bool over = strcmp(in->opcode, "bra") == 0 && in->operand_count == 1 &&
                          in->operands[0].kind == PTX_OP_LABEL && in->operands[0].target > own;
        if (in->guard < 0 || (i < own && !over)) {
            continue;
        }
        ancestry_of(x, i, ANCESTRY_GUARD, false, of);
        for (size_t k = 0; k < f->instruction_count; ++k) { /* the nearest branch is the first to be told */
            const uint32_t far = of[k] + (uint32_t)(own - i);
            distance[k] = of[k] != 0 && (distance[k] == 0 || far < distance[k]) ? far : distance[k];
        }
    }
    free(of);
}

void suspect_from(const struct clues *c, const struct clue *of, const struct where *w, bool missing,
                  struct suspect *s) {
    const struct ptx_function *f = entry_of(c->in, w->launch);
    const size_t own = f != NULL ? instruction_at(f, w->ptx_line) : 0;
    if (f == NULL || own == f->instruction_count) {
        return;
    }
    const struct ptx_instruction *in = &f->instructions[own];
    const struct ptx_module *m = c->in->module;
    if (in->inlined_count > 1) {
        s->call = must_format("%s:%d", m->files[in->inlined[0].file], in->inlined[0].line);
    }
    struct ancestry_index x;
    struct origins o = {.count = 0};
    const enum ancestry_part part = part_of(of, in);
    uint32_t *distance = must_calloc(f->instruction_count + 1, sizeof *distance);
    ancestry_open(f, &x);
    if (missing) {
        decisions(&x, own, distance);
        collect(f, own, distance, &o);
    } else {
        ancestry_of(&x, own, part, false, distance);
        collect(f, own, distance, &o);
        mark_peers(c, &x, own, part, distance, &o);
    }
    tell(m, &o, s);
    ancestry_close(&x);
    free(distance);
    free(o.items);
}
