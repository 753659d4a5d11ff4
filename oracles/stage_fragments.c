/* fragments: the registers of A and B that each mma is given hold the elements that the launch file says, in the places
 * that the instruction reads them from. What is wrong is put right for this mma alone: the registers stay as they are.
 * A fault is one operand and one source line: of who wrote the registers last, or of the mma, where what they hold is
 * right for another operand that takes it, so that another register should have been handed over.
 *
 * Element of byte b of register r in lane L, g = L / 4, t = L % 4 (PTX ISA 9.7.14.5, fragments of m16n8k32, m16n8k16
 * and m8n8k16 with 8-bit elements):   A: row g + 8 (r % 2), k = 4 t + b + 16 (r / 2)    B: column g, k = 4 t + b + 16 r
 * So the four lanes of a group hold 16 neighbouring elements of one row in each register: a quad. */
#include "../ref/checked.h"
#include "quad_rule.h"
#include "stages.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 128, OF_A_ROW = 2 };

struct fault { /* of one operand of one instruction */
    char operand;
    uint32_t instruction, loader; /* the mma; who wrote the first register, or the mma itself where nobody did */
    uint64_t registers;           /* wrong ones, lane by lane */
    uint64_t handed;              /* of them those that are right for another operand */
    uint64_t flat;                /* of them those of registers whose bytes are all the same: they show nothing */
    struct probe_place place;
    uint64_t number; /* of the first one */
    uint32_t warp, lane, index, byte;
    int64_t row, k;
    uint8_t want, got;
    char *what;                 /* of the first; owned */
    struct quad quads[SAMPLES]; /* wrong ones, of one block */
    size_t quad_count;
    uint64_t warps; /* bits of warps 0 .. 63 that were given wrong ones */
    struct lane_map lanes;
    bool reported;
};

enum { WRITES = 1 << 14 };
struct use {         /* of what one write left in a register */
    uint64_t number; /* the write; 0: none */
    bool right;      /* for some operand */
    size_t fault;    /* before that, wrong lanes of this fault */
    uint64_t wrong;
};

struct fragments {
    struct fault *faults;
    size_t count;
    uint64_t compared, wrong;
    struct use uses[WRITES]; /* by number of the write mod WRITES */
};

void fragments_open(struct stages *s) {
    s->fragments = must_calloc(1, sizeof *s->fragments);
}

void fragments_close(struct stages *s) {
    for (size_t i = 0; s->fragments != NULL && i < s->fragments->count; ++i) {
        free(s->fragments->faults[i].what);
    }
    if (s->fragments != NULL) {
        free(s->fragments->faults);
    }
    free(s->fragments);
}

/* ---- samples of what is wrong ---- */

static bool varied(const uint8_t got[QUAD]) {
    int i = 1;
    while (i < QUAD && got[i] == got[0]) {
        ++i;
    }
    return i < QUAD;
}

/* Keeps a wrong quad whose element exists, of the first wrong block: a rule is one of a tile. */
static void sample(struct stages *s, struct fault *x, const struct spec_value *v, const struct quad *q, int64_t row,
                   int64_t k) {
    const struct element_table *t = element_codes(&s->content.elements, v);
    if (t == NULL || row < 0 || k < 0 || (uint64_t)row >= t->rows || (uint64_t)k >= t->depth || !varied(q->got) ||
        x->quad_count == SAMPLES || q->block != x->place.block_number) {
        return;
    }
    size_t of_row = 0;
    for (size_t i = 0; i < x->quad_count; ++i) {
        of_row += x->quads[i].row == (size_t)row;
    }
    if (of_row < OF_A_ROW) {
        x->quads[x->quad_count] = *q;
        x->quads[x->quad_count].row = (size_t)row;
        x->quads[x->quad_count++].k = (size_t)k;
    }
}

/* ---- comparing ---- */

struct given { /* one operand of an mma */
    char name;
    uint32_t *const *registers;
    const struct probe_written *by;
    unsigned count, rows; /* registers; rows 8 apart that they take turns in: 2 for A of m16, else 1 */
    const struct mma_operand *want;
    const struct spec_value *value;
};

static struct fault *fault_of(struct fragments *f, char operand, size_t instruction, size_t loader) {
    for (size_t i = 0; i < f->count; ++i) {
        if (f->faults[i].operand == operand && f->faults[i].instruction == instruction &&
            f->faults[i].loader == loader) {
            return &f->faults[i];
        }
    }
    f->faults = must_realloc(f->faults, f->count + 1, sizeof *f->faults);
    f->faults[f->count] =
        (struct fault){.operand = operand, .instruction = (uint32_t)instruction, .loader = (uint32_t)loader};
    return &f->faults[f->count++];
}

static size_t writer_of(const struct probe_mma *at, const struct given *o, unsigned r) {
    return o->by[r].number > 0 ? o->by[r].instruction : at->instruction;
}

static void note(struct stages *s, const struct probe_mma *at, const struct given *o, unsigned r, unsigned lane,
                 unsigned byte, unsigned line, unsigned depth) {
    struct fault *x = fault_of(s->fragments, o->name, at->instruction, writer_of(at, o, r));
    ++s->fragments->wrong;
    x->warps |= at->warp < 64 ? (uint64_t)1 << at->warp : 0;
    ++x->lanes.wrong[r][lane];
    ++x->lanes.all;
    if (x->registers++ == 0) {
        const bool is_unsigned = o->name == 'a' ? at->a_unsigned : at->b_unsigned;
        snprintf(x->lanes.fragment, sizeof x->lanes.fragment, "mma.m%un%uk%u.%s/%c", at->m, at->n, at->k,
                 is_unsigned ? "u8" : "s8", o->name == 'a' ? 'A' : 'B');
        x->place = at->place;
        x->number = at->number;
        x->warp = at->warp;
        x->lane = lane;
        x->index = r;
        x->byte = byte;
        x->row = o->want->row[line];
        x->k = o->want->k[depth];
        x->want = o->want->want[line][depth];
        x->got = (uint8_t)(o->registers[r][lane] >> 8 * byte);
        x->what = element_text(o->value, x->row, x->k, o->want->at[line][depth]);
    }
}

/* One quad: register r of lanes 4 g .. 4 g + 3. */
static void compare_quad(struct stages *s, const struct probe_mma *at, const struct given *o, unsigned r, unsigned g) {
    const unsigned line = g + 8 * (r % o->rows), k0 = 16 * (r / o->rows);
    struct quad q = {.block = at->place.block_number, .known = at->live >> (4 * g) & 15};
    const bool fits = block_fits(s, &at->place);
    bool wrong = false;
    for (unsigned t = 0; t < 4; ++t) {
        const unsigned lane = 4 * g + t;
        memcpy(q.got + 4 * t, &o->registers[r][lane], 4);
        if (!(at->live >> lane & 1)) {
            continue;
        }
        s->fragments->compared += fits;
        for (unsigned b = 0; b < 4; ++b) {
            const unsigned k = k0 + 4 * t + b;
            if (o->want->exists[line][k] && q.got[4 * t + b] != o->want->want[line][k]) {
                if (fits) {
                    note(s, at, o, r, lane, b, line, k);
                }
                wrong = true;
                break;
            }
        }
    }
    if (!wrong) {
        return;
    }
    if (fits) {
        sample(s, fault_of(s->fragments, o->name, at->instruction, writer_of(at, o, r)), o->value, &q,
               o->want->row[line], o->want->k[k0]);
    }
    for (unsigned i = 0; i < QUAD; ++i) { /* put right */
        if (o->want->exists[line][k0 + i] && at->live >> (4 * g + i / 4) & 1) {
            uint32_t *word = &o->registers[r][4 * g + i / 4];
            *word = (*word & ~(0xffu << 8 * (i % 4))) | (uint32_t)o->want->want[line][k0 + i] << 8 * (i % 4);
        }
    }
}

/* All 32 words, or none of what they say. */
static bool is_flat(const uint32_t words[32]) {
    unsigned i = 0;
    while (i < 32 && words[i] == words[0]) {
        ++i;
    }
    return i == 32;
}

/* The register had so many wrong lanes here, of so many that were looked at. */
static void note_use(struct stages *s, const struct probe_mma *at, const struct given *o, unsigned r, bool flat,
                     uint64_t wrong, bool looked) {
    struct fragments *f = s->fragments;
    struct use *u = &f->uses[o->by[r].number % WRITES];
    struct fault *x = wrong > 0 ? fault_of(f, o->name, at->instruction, writer_of(at, o, r)) : NULL;
    if (flat || o->by[r].number == 0) {
        if (x != NULL) {
            x->flat += flat ? wrong : 0;
        }
        return;
    }
    if (u->number != o->by[r].number) {
        *u = (struct use){.number = o->by[r].number};
    }
    if (x == NULL) {
        u->right |= looked;
        if (u->right && u->wrong > 0) {
            f->faults[u->fault].handed += u->wrong;
            u->wrong = 0;
        }
    } else if (u->right) {
        x->handed += wrong;
    } else if (u->wrong == 0 || u->fault == (size_t)(x - f->faults)) {
        u->fault = (size_t)(x - f->faults);
        u->wrong += wrong;
    }
}

static bool all_there(const struct given *o, unsigned r) {
    bool all = true;
    for (unsigned g = 0; g < 8; ++g) {
        for (unsigned k = 0; k < QUAD; ++k) {
            all &= o->want->exists[g + 8 * (r % o->rows)][16 * (r / o->rows) + k];
        }
    }
    return all;
}

void fragments_operands(struct stages *s, const struct probe_mma *at, const struct mma_content *want) {
    const struct spec_mma *m = &s->content.spec->mma;
    const struct given operands[2] = {{'a', at->a, at->a_by, at->a_count, at->m == 16 ? 2 : 1, &want->a, &m->a},
                                      {'b', at->b, at->b_by, at->b_count, 1, &want->b, &m->b}};
    for (int i = 0; i < 2; ++i) {
        for (unsigned r = 0; r < operands[i].count; ++r) {
            const uint64_t before = s->fragments->wrong;
            const bool flat = is_flat(operands[i].registers[r]);
            for (unsigned g = 0; g < 8; ++g) {
                compare_quad(s, at, &operands[i], r, g);
            }
            note_use(s, at, &operands[i], r, flat, s->fragments->wrong - before,
                     block_fits(s, &at->place) && at->live == UINT32_MAX && all_there(&operands[i], r));
        }
    }
}

/* ---- reporting ---- */

/* What it was given is right for others: the mma names another register than it should. */
static bool handed_wrong(const struct fault *x) {
    return x->handed > 0 && x->handed + x->flat == x->registers;
}

static uint32_t site_of(const struct fault *x) {
    return handed_wrong(x) ? x->instruction : x->loader;
}

static char *warps_text(const struct stages *s, uint64_t warps) {
    const uint32_t *b = s->content.launch->block;
    const uint64_t count = ((uint64_t)b[0] * b[1] * b[2] + 31) / 32;
    if (warps == (count < 64 ? ((uint64_t)1 << count) - 1 : UINT64_MAX)) {
        return must_strdup("in every warp");
    }
    char *text = must_strdup("in warps");
    for (int w = 0; w < 64; ++w) {
        if (warps >> w & 1) {
            char *longer = must_format("%s %d", text, w);
            free(text);
            text = longer;
        }
    }
    return text;
}

static bool same_fault(const struct trace *t, const struct fault *x, const struct fault *y, bool any_loader) {
    return !y->reported && y->operand == x->operand && handed_wrong(y) == handed_wrong(x) &&
           trace_same_line(t, x->instruction, y->instruction) &&
           (any_loader || trace_same_place(t, site_of(x), site_of(y)));
}

/* Several lines load the operand, and one rule fits what all of them have wrong: one cause. */
static bool is_one_cause(struct stages *s, const struct trace *t, size_t lead, const struct element_table *codes) {
    struct fragments *f = s->fragments;
    const struct fault *x = &f->faults[lead];
    struct quad *quads = must_calloc((f->count - lead) * SAMPLES, sizeof *quads);
    size_t count = 0, lines = 0;
    for (size_t i = lead; i < f->count; ++i) {
        const struct fault *y = &f->faults[i];
        if (same_fault(t, x, y, true)) {
            lines += !trace_same_place(t, site_of(x), site_of(y));
            for (size_t k = 0; k < y->quad_count; ++k) {
                if (y->quads[k].block == x->place.block_number) {
                    quads[count++] = y->quads[k];
                }
            }
        }
    }
    const char *rule = NULL;
    free(lines > 0 && codes != NULL && !handed_wrong(x) ? quad_rule(codes, quads, count, "row", &rule) : NULL);
    free(quads);
    return rule != NULL;
}

static void add_lanes(struct lane_map *into, const struct lane_map *one) {
    for (size_t r = 0; r < LANE_MAP_REGISTERS; ++r) {
        for (size_t lane = 0; lane < 32; ++lane) {
            into->wrong[r][lane] += one->wrong[r][lane];
        }
    }
    into->all += one->all;
}

static void merge_line(struct stages *s, const struct trace *t, size_t lead, bool any_loader) {
    struct fragments *f = s->fragments;
    struct fault *x = &f->faults[lead];
    for (size_t i = lead + 1; i < f->count; ++i) {
        struct fault *y = &f->faults[i];
        if (!same_fault(t, x, y, any_loader)) {
            continue;
        }
        y->reported = true;
        x->registers += y->registers;
        x->handed += y->handed;
        x->flat += y->flat;
        x->warps |= y->warps;
        add_lanes(&x->lanes, &y->lanes);
        for (size_t k = 0; k < y->quad_count; ++k) { /* the later ones in turn with the first */
            const size_t at = x->quad_count < SAMPLES ? x->quad_count : (k * 7 + i) % SAMPLES;
            if (y->quads[k].block == x->place.block_number && (any_loader || x->quad_count < SAMPLES)) {
                x->quads[at] = y->quads[k];
                x->quad_count += at == x->quad_count;
            }
        }
    }
}

static void add_fault(struct stages *s, const struct trace *t, size_t lead) {
    struct fault *x = &s->fragments->faults[lead];
    const struct spec_value *v = x->operand == 'a' ? &s->content.spec->mma.a : &s->content.spec->mma.b;
    const struct element_table *codes = element_codes(&s->content.elements, v);
    const char *suspects = "address, width or order of the fragment's load";
    const bool handed = handed_wrong(x);
    merge_line(s, t, lead, is_one_cause(s, t, lead, codes));
    struct finding *out = findings_add(&s->x->faults, stage_names[STAGE_FRAGMENTS], VERDICT_DIFFERS);
    const char *line = v->field == VALUE_ACTIVATION_Q ? "token" : "row";
    char *rule = codes != NULL ? quad_rule(codes, x->quads, x->quad_count, line, &suspects) : NULL;
    char *warps = warps_text(s, x->warps);
    suspects = handed ? "another register handed to the mma than the one that was loaded for it" : suspects;
    out->where.has_thread = true;
    memcpy(out->where.block, x->place.block, sizeof out->where.block);
    out->where.warp = x->warp;
    out->where.lane = x->lane;
    where_site(&out->where, t, site_of(x));
    out->has_values = true;
    out->value_bytes = 1;
    out->want = x->want;
    out->got = x->got;
    out->suspects = must_strdup(suspects);
    out->summary = must_format("operand %c, register %u, byte %u of lane %u must hold %s", x->operand, x->index,
                               x->byte, x->lane, x->what);
    finding_line(out, "first", "mma %" PRIu64 " of %s warp %u: %s", x->number, block_text(x->place.block), x->warp,
                 out->summary);
    finding_line(out, "want", "0x%02x   got 0x%02x", x->want, x->got);
    if (rule != NULL) {
        finding_line(out, "holds", "%s", rule);
    }
    out->extent = x->registers;
    finding_line(out, "extent", "%" PRIu64 " registers of operand %c wrong, %s", x->registers, x->operand, warps);
    if (x->handed > 0) {
        finding_line(out, "but", "%" PRIu64 " of them hold what is right for another operand of an mma", x->handed);
    }
    finding_line(out, "site", "%s  %s", where_text(&out->where), out->where.instruction);
    finding_line(out, "suspect", "%s", suspects);
    out->lanes = must_calloc(1, sizeof *out->lanes);
    *out->lanes = x->lanes;
    x->reported = true;
    free(rule);
    free(warps);
}

void fragments_report(struct stages *s, const struct trace *t) {
    struct fragments *f = s->fragments;
    if (!s->content.spec->mma.given) {
        stage_skip(s, STAGE_FRAGMENTS, must_format("%s has no `mma`", stage_file(s)));
        return;
    }
    bool all;
    char *unfit = unfit_text(s, &all);
    if (f->compared == 0) {
        stage_skip(s, STAGE_FRAGMENTS,
                   unfit != NULL && s->ahead->mma > 0 ? must_strdup(unfit)
                                                      : must_strdup("no mma of 8-bit integers was executed"));
        free(unfit);
        return;
    }
    for (size_t i = 0; i < f->count; ++i) {
        if (!f->faults[i].reported) {
            add_fault(s, t, i);
        }
    }
    stage_judged(s, STAGE_FRAGMENTS, "registers", f->compared, f->wrong);
    stage_in_part(s, STAGE_FRAGMENTS, unfit);
}
