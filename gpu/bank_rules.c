/* The rules of facts/ptx.md 5.1, BK-3 .. BK-9, each as a statement about a model. */
#include "../ref/checked.h"
#include "bank_statements.h"
#include "bank_tile.h"
#include <stdlib.h>
#include <string.h>

enum { LANES = 32 };

static struct bank_op op_of(const char *name) {
    struct bank_op op = {.bytes = 4};
    bank_op_named(name, &op);
    return op;
}

static struct bank_count count_of(bank_model *model, const struct bank_op *op, const uint32_t at[LANES],
                                  uint32_t active) {
    return model(op->kind, op->bytes, op->matrices, at, active);
}

static struct bank_count tile_count(bank_model *model, const char *op, uint32_t rows, uint32_t row_bytes,
                                    uint32_t stride) {
    const struct bank_tile t = {
        .rows = rows, .row_bytes = row_bytes, .stride = stride, .op = op_of(op), .lanes = UINT32_MAX};
    struct bank_count sum = {0, 0};
    for (size_t i = 0; i < bank_tile_accesses(&t); ++i) {
        struct bank_access_lanes a;
        bank_tile_access(&t, i, &a);
        const struct bank_count one = count_of(model, &t.op, a.at, a.active);
        sum.wavefronts += one.wavefronts;
        sum.conflicts += one.conflicts;
    }
    return sum;
}

/* One case of the domain; what: in words, when it is refuted. */
static void expect(struct statement *s, struct bank_count got, unsigned wavefronts, unsigned conflicts, char *what) {
    ++s->domain;
    if (got.wavefronts != wavefronts || got.conflicts != conflicts)
        statement_refute(s, "%s: %u wavefronts and %u conflicts, want %u and %u", what, got.wavefronts, got.conflicts,
                         wavefronts, conflicts);
    free(what);
}

static uint32_t gcd(uint32_t a, uint32_t b) {
    return b ? gcd(b, a % b) : a;
}

static void rule_gcd(bank_model *model, struct statement *s) {
    for (uint32_t stride = 16; stride <= 8192 && s->proved; stride += 16) {
        const uint32_t want = gcd(stride / 16, 8);
        expect(s, tile_count(model, "ldmatrix.x1", 8, 16, stride), want, want - 1,
               must_format("stride %u, gcd(%u, 8) = %u", stride, stride / 16, want));
    }
}

static void rule_words(bank_model *model, struct statement *s) {
    for (uint32_t stride = 16; stride <= 8192 && s->proved; stride += 16) {
        const struct bank_count matrix = tile_count(model, "ldmatrix.x1", 8, 16, stride);
        expect(s, tile_count(model, "ld32", 8, 16, stride), matrix.wavefronts, matrix.conflicts,
               must_format("ld32 at stride %u", stride));
    }
}

static const char *const plain_ops[] = {"ld8", "ld16", "ld32", "ld64", "ld128", "st8", "st16", "st32", "st64", "st128"};
enum { PLAIN_OPS = sizeof plain_ops / sizeof *plain_ops };

static unsigned phases_of(const struct bank_op *op) {
    return op->bytes > 4 ? op->bytes / 4 : 1;
}

static void rule_idle(bank_model *model, struct statement *s) {
    for (unsigned k = 0; k < PLAIN_OPS; ++k) {
        const struct bank_op op = op_of(plain_ops[k]);
        for (unsigned lane = 0; lane <= LANES && s->proved; ++lane) { /* LANES: nobody */
            uint32_t at[LANES];
            for (unsigned i = 0; i < LANES; ++i)
                at[i] = i * 128; /* all in bank 0 */
            const uint32_t active = lane < LANES ? (uint32_t)1 << lane : 0;
            expect(s, count_of(model, &op, at, active), lane < LANES, 0,
                   must_format("%s with the lanes %08x", op.name, active));
        }
    }
}

static void rule_phases(bank_model *model, struct statement *s) {
    for (unsigned k = 0; k < PLAIN_OPS && s->proved; ++k) {
        const struct bank_op op = op_of(plain_ops[k]);
        expect(s, tile_count(model, op.name, LANES, op.bytes, op.bytes), phases_of(&op), 0,
               must_format("%s of neighbours", op.name));
    }
}

/* Every op with all lanes at one address, and with all lanes in one bank. */
static void rule_one_word(bank_model *model, struct statement *s) {
    for (unsigned k = 0; k < PLAIN_OPS && s->proved; ++k) {
        const struct bank_op op = op_of(plain_ops[k]);
        const unsigned phases = phases_of(&op), merged = op.store || phases == 1 ? phases : phases / 2;
        uint32_t at[LANES] = {0};
        expect(s, count_of(model, &op, at, UINT32_MAX), merged, 0, must_format("%s of one address", op.name));
        for (unsigned lane = 0; lane < LANES; ++lane)
            at[lane] = 128 * lane;
        expect(s, count_of(model, &op, at, UINT32_MAX), LANES, LANES - phases,
               must_format("%s with all lanes in bank 0", op.name));
    }
}

static const char *const matrix_ops[] = {"ldmatrix.x1",       "ldmatrix.x2",       "ldmatrix.x4",
                                         "stmatrix.x1",       "stmatrix.x2",       "stmatrix.x4",
                                         "ldmatrix.x1.trans", "ldmatrix.x2.trans", "ldmatrix.x4.trans",
                                         "stmatrix.x1.trans", "stmatrix.x2.trans", "stmatrix.x4.trans"};

/* All matrices of an access are the same one; lanes that give no address hold two different values. */
static void rule_matrices(bank_model *model, struct statement *s) {
    for (unsigned k = 0; k < sizeof matrix_ops / sizeof *matrix_ops; ++k) {
        const struct bank_op op = op_of(matrix_ops[k]);
        for (uint32_t stride = 16; stride <= 512; stride += 16)
            for (uint32_t unused = 0; unused <= 4096 && s->proved; unused += 4096) {
                uint32_t at[LANES];
                for (uint32_t lane = 0; lane < LANES; ++lane)
                    at[lane] = lane < 8 * op.matrices ? lane % 8 * stride : unused;
                const unsigned want = op.matrices * gcd(stride / 16, 8);
                expect(s, count_of(model, &op, at, UINT32_MAX), want, want - op.matrices,
                       must_format("%s of one matrix, stride %u", op.name, stride));
            }
    }
}

/* Rows as wide as the pattern; wgmma and TMA xor bits 4 .. of an address with bits 7 .. of it. */
static void rule_swizzles(bank_model *model, struct statement *s) {
    const struct bank_op op = op_of("ldmatrix.x1");
    for (uint32_t width = 32; width <= 128; width *= 2)
        for (uint32_t first = 0; first < 64; first += 8)
            for (uint32_t chunk = 0; chunk < width / 16 && s->proved; ++chunk) {
                uint32_t at[LANES] = {0};
                for (uint32_t row = 0; row < 8; ++row) {
                    const uint32_t plain = (first + row) * width + 16 * chunk;
                    at[row] = plain ^ (plain >> 3 & (width / 16 - 1) << 4);
                }
                expect(s, count_of(model, &op, at, UINT32_MAX), 1, 0,
                       must_format("%u bytes, chunk %u of rows %u to %u", width, chunk, first, first + 7));
            }
}

/* How pairs of lanes, `step` apart, agree. */
enum pairs { PAIRS_EQUAL, PAIRS_IDLE, PAIRS_BUT_ONE, PAIRS_IN_ONE_HALF, PAIRS_MIXED, PAIRS_KINDS };
static const char *const pairs_names[] = {"all pairs equal", "one lane of each pair idle", "all pairs but one equal",
                                          "the pairs of lanes 0 to 15 equal alone",
                                          "pairs at two distances, each in one half"};

/* Values in a row, so that no phase has a conflict. */
static uint32_t pairs_access(const struct bank_op *op, enum pairs kind, uint32_t step, uint32_t at[LANES]) {
    uint32_t next = 0, active = 0;
    for (uint32_t lane = 0; lane < LANES; ++lane) {
        const uint32_t apart = kind == PAIRS_MIXED && lane >= 16 ? 3 - step : step;
        const bool alone = (kind == PAIRS_BUT_ONE && lane == 31) || (kind == PAIRS_IN_ONE_HALF && lane >= 16);
        if (kind != PAIRS_IDLE || !(lane & step))
            active |= (uint32_t)1 << lane;
        at[lane] = lane & apart && !alone ? at[lane ^ apart] : op->bytes * next++;
    }
    return active;
}

static unsigned busy_phases(uint32_t active, unsigned phases) {
    unsigned busy = 0;
    for (unsigned k = 0; k < phases; ++k)
        busy += (active >> k * (LANES / phases) & (((uint64_t)1 << LANES / phases) - 1)) != 0;
    return busy;
}

static void rule_merging(bank_model *model, struct statement *s) {
    static const char *const ops[] = {"ld64", "ld128", "st64", "st128"};
    for (unsigned k = 0; k < 4; ++k)
        for (enum pairs kind = PAIRS_EQUAL; kind < PAIRS_KINDS; ++kind)
            for (uint32_t step = 1; step < (kind <= PAIRS_IDLE ? LANES : 4) && s->proved; step *= 2) {
                const struct bank_op op = op_of(ops[k]);
                uint32_t at[LANES] = {0};
                const uint32_t active = pairs_access(&op, kind, step, at);
                const bool merged = !op.store && kind <= PAIRS_IDLE && step <= 2;
                const unsigned want = busy_phases(active, merged ? phases_of(&op) / 2 : phases_of(&op));
                expect(s, count_of(model, &op, at, active), want, 0,
                       must_format("%s, pairs (l, l xor %u), %s", op.name, step, pairs_names[kind]));
            }
}

static const struct {
    const char *name, *text;
    void (*prove)(bank_model *model, struct statement *s);
} rules[] = {
    {"rule/matrix-stride", "a matrix of 8 rows, s bytes apart, takes gcd(s / 16, 8) wavefronts", rule_gcd},
    {"rule/matrix-or-words",
     "32 lanes that load one word each of 8 rows x 16 bytes take as many wavefronts as ldmatrix", rule_words},
    {"rule/matrices",
     "each matrix of ldmatrix and stmatrix is served by itself, also when all are the same; .trans costs the same, and "
     "the addresses of lanes beyond 8 a matrix cost nothing",
     rule_matrices},
    {"rule/swizzles",
     "eight rows, the first a multiple of 8, swizzled by the 32, 64 or 128-byte pattern of their width: one wavefront "
     "a "
     "matrix",
     rule_swizzles},
    {"rule/phases", "neighbours without a conflict: 8, 16, 32 bits a lane take 1 wavefront, 64 bits 2, 128 bits 4",
     rule_phases},
    {"rule/one-word", "lanes at one address never conflict; lanes in one bank at different words all do",
     rule_one_word},
    {"rule/idle-lanes", "one active lane takes one wavefront, no active lane none", rule_idle},
    {"rule/merging",
     "a 64 or 128-bit load takes half as many phases when all pairs (l, l xor 1), or all pairs (l, l xor 2), have "
     "equal "
     "addresses, an idle lane being equal to any; not with pairs 4, 8, 16 apart, and never a store",
     rule_merging},
};

void bank_prove_rules(bank_model *model, const char *const *patterns, size_t count, bool names_only,
                      struct statement_list *l) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
        struct statement s = {.proved = true};
        if (!statement_selected(rules[i].name, patterns, count))
            continue;
        s.name = must_strdup(rules[i].name);
        s.text = must_strdup(rules[i].text);
        if (!names_only)
            rules[i].prove(model, &s);
        statement_add(l, s);
    }
}
