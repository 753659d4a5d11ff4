/* The contract of binary16 tensor cores on sm_90: a group's sum against the second evaluation, against MMA-Sim's and
 * against the PTX machine's; cells, the truth and its bound; the numbers of another generation are seen. */
#include "../ref/contract.h"
#include "../ref/half.h"
#include "../ref/mma_f16.h"
#include "../ref/random.h"
#include "../ref/truth.h"
#include "independent/independent.h"
#include "measured.h"
#include "mma_tiles.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORM "m16n8k16.f32.f16.f16.f32"
enum { K = MMA_F16_DEPTH };

static uint32_t second(unsigned sm, const uint16_t *a, const uint16_t *b, uint32_t c) {
    uint32_t x[K], y[K];
    for (size_t k = 0; k < K; k++)
        x[k] = a[k], y[k] = b[k];
    return independent_mma(sm, "f16", "f16", K, false, x, y, c);
}

/* Hard operands of the tests of mma: near exponents, cancelling products, subnormal and special ones. */
Test(contract_f16, a_group_equals_the_second_evaluation_and_the_machine) {
    enum { TILES = 400 };
    struct mma_case form;
    cr_assert(mma_case_named(FORM, &form), "no " FORM);
    struct mma_tile *tiles = calloc(TILES, sizeof *tiles);
    cr_assert(tiles, "out of memory");
    uint64_t seed = 7;
    for (size_t i = 0; i < TILES; i++)
        mma_tile_fill(&form, &tiles[i], &seed);
    struct ptx_module *module;
    struct trace trace;
    struct error e = {""};
    cr_assert(mma_run(NULL, &form, arch_named("sm_90"), NULL, "", 32, tiles, TILES, &module, &trace, &e), "%s", e.text);
    size_t numbers = 0, others = 0;
    for (size_t i = 0; i < TILES; i++)
        for (size_t cell = 0; cell < 128; cell++) {
            const size_t m = cell / 8, n = cell % 8;
            uint16_t a[K], b[K];
            for (size_t k = 0; k < K; k++) {
                a[k] = (uint16_t)tiles[i].a[m][k];
                b[k] = (uint16_t)tiles[i].b[k][n];
            }
            const uint32_t c = tiles[i].c[m][n], got = mma_f16_sum_any(a, b, c);
            cr_assert(got == second(90, a, b, c), "tile %zu cell %zu: 0x%08x, second 0x%08x", i, cell, got,
                      second(90, a, b, c));
            cr_assert(got == tiles[i].d[m][n], "tile %zu cell %zu: 0x%08x, machine 0x%08x", i, cell, got,
                      tiles[i].d[m][n]);
            numbers += (got & 0x7f800000) != 0x7f800000;
            others += got != second(80, a, b, c);
        }
    cr_assert(numbers > TILES * 64 && others > TILES * 8, "%zu numbers, %zu other ones on sm_80", numbers, others);
    trace_free(&trace), ptx_free(module), free(tiles);
}

/* fixtures/golden/mmasim: a line "ARCH FORM ROWS", then rows of 2 k + 2 words: a, b, c, d. */
Test(contract_f16, a_group_equals_mma_sim) {
    enum { BYTES = 493377, ROW = 2 * K + 2 };
    static uint8_t packed[1 << 18], all[BYTES];
    FILE *f = fopen("fixtures/golden/mmasim/mma.bin.zz", "rb");
    cr_assert(f, "mma.bin.zz: cannot be read");
    const size_t packed_bytes = fread(packed, 1, sizeof packed, f);
    fclose(f);
    uLongf bytes = BYTES;
    cr_assert(uncompress(all, &bytes, packed, packed_bytes) == Z_OK && bytes == BYTES, "mma.bin.zz: not its bytes");
    static const char head[] = "sm_90 " FORM " 48\n";
    const uint8_t *at = memmem(all, BYTES, head, sizeof head - 1);
    cr_assert(at, "no line %s", head);
    at += sizeof head - 1;
    for (size_t i = 0; i < 48; i++) {
        uint32_t word[ROW];
        uint16_t a[K], b[K];
        memcpy(word, at + i * sizeof word, sizeof word);
        for (size_t k = 0; k < K; k++) {
            a[k] = (uint16_t)word[k];
            b[k] = (uint16_t)word[K + k];
        }
        const uint32_t got = mma_f16_sum_any(a, b, word[2 * K]);
        cr_assert(got == word[2 * K + 1], "result %zu: 0x%08x, MMA-Sim 0x%08x", i, got, word[2 * K + 1]);
    }
}

/* ---- cells ---- */

enum data { ORDINARY, ANY_BITS, SPREAD, NONFINITE, DATA_CLASSES };

static uint16_t value(enum data data, struct random_stream *s) {
    const uint16_t any = (uint16_t)random_u32(s);
    switch (data) {
    case ORDINARY:
        return half_from_float(random_normal(s));
    case SPREAD: /* every exponent, not too many of the largest */
        return (uint16_t)((any & 0x83ff) | random_below(s, 1 + random_below(s, 31)) << 10);
    case NONFINITE:
        return random_below(s, 400) ? half_from_float(random_normal(s)) : (uint16_t)(any | 0x7c00) & 0xfe00;
    default:
        return (any & 0x7c00) == 0x7c00 ? any ^ 0x4000 : any;
    }
}

static const struct contract *contract(void) {
    const struct contract *c = contract_named("f16_mma_k16");
    cr_assert(c, "no contract f16_mma_k16");
    return c;
}

struct operands {
    uint16_t *weight, *activation;
    uint32_t *result;
    struct contract_operands op;
};

static struct operands make(enum data data, size_t nt, size_t od, size_t id) {
    struct operands o = {malloc(od * id * 2), malloc(nt * id * 2), malloc(nt * od * 4), {0}};
    cr_assert(o.weight && o.activation && o.result, "out of memory");
    struct random_stream s = random_open(random_key("contract_f16"), (uint32_t)(data + 10 * nt + 1000 * od + id));
    for (size_t i = 0; i < od * id; i++)
        o.weight[i] = value(data, &s);
    for (size_t i = 0; i < nt * id; i++)
        o.activation[i] = value(data, &s);
    o.op = (struct contract_operands){.weight = o.weight, .activation = o.activation, .nt = nt, .od = od, .id = id};
    memset(o.result, 0xa5, nt * od * 4);
    contract()->evaluate(&o.op, o.result);
    return o;
}

static void release(struct operands *o) {
    free(o->weight), free(o->activation), free(o->result);
}

static size_t cells_that_differ(const struct operands *o, unsigned sm) {
    size_t wrong = 0;
    for (size_t i = 0; i < o->op.nt * o->op.od; i++) {
        uint32_t s = 0;
        for (size_t k = 0; k < o->op.id; k += K)
            s = second(sm, o->activation + i / o->op.od * o->op.id + k, o->weight + i % o->op.od * o->op.id + k, s);
        wrong += s != o->result[i];
    }
    return wrong;
}

Test(contract_f16, cells_and_truth) {
    static const size_t shapes[][3] = {{1, 1, 16}, {3, 5, 48}, {17, 33, 64}, {33, 2, 640}, {2, 3, 4096}};
    for (int data = 0; data < DATA_CLASSES; data++) {
        double worst = 0;
        size_t judged = 0, cells = 0;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            struct operands o = make((enum data)data, shapes[i][0], shapes[i][1], shapes[i][2]);
            const size_t wrong = cells_that_differ(&o, 90);
            cr_assert(wrong == 0, "class %d, id %zu: %zu cells differ", data, o.op.id, wrong);
            const struct truth_gap gap = truth_compare(contract(), &o.op, o.result);
            cr_assert(gap.holds, "class %d, id %zu, cell %zu: value %a got %a bound %a", data, o.op.id, gap.cell,
                      gap.value, gap.got, gap.bound);
            worst = fmax(worst, gap.worst);
            judged += gap.judged;
            cells += o.op.nt * o.op.od;
            release(&o);
        }
        cr_assert(worst > 0.1, "class %d: worst %g of the bound", data, worst);
        cr_assert(data == NONFINITE ? judged < cells && judged > 0 : judged == cells, "class %d: %zu of %zu judged",
                  data, judged, cells);
    }
}

/* Planted: the same product on sm_80, which cuts at 24 bits and in groups of 8. */
Test(contract_f16, another_generation_is_seen) {
    struct operands o = make(ORDINARY, 9, 11, 512);
    cr_assert(cells_that_differ(&o, 90) == 0, "the right generation must pass");
    const size_t wrong = cells_that_differ(&o, 80);
    cr_assert(wrong > 50, "only %zu of 99 cells differ", wrong);
    release(&o);
}
