/* How tight the bounds of llama.cpp's MMQ and of ggml's CPU contracts are: operands made so that all roundings err
 * alike, which reach the bound but for an exact operation or two, and ordinary data. What the bounds hold is in
 * contract_mmq.c and contract_cpu.c.
 *
 * The operands: one large term, a power of two after all its roundings, each of which takes off half a unit in the last
 * place (a tie, to even); then every addition brings half a unit of the sum, a tie again, and nothing happens.
 * 2^24 + 1 = 24929 * 673 is the tie of the products. */
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/q4_k.h"
#include "../ref/q8_1_mmq.h"
#include "../ref/q8_k.h"
#include "../ref/truth.h"
#include "contract_data.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ID = 2048 };

/* Operands of one cell, all zero. */
static struct data zeros(const char *name) {
    const struct contract *c = contract_named(name);
    cr_assert(c, "no contract %s", name);
    struct data d = data_make(c, DATA_ORDINARY, 1, 1, ID);
    const bool q8_k = !strcmp(c->activation, "q8_K");
    memset(d.weight, 0, d.weight_row_bytes);
    memset(d.activation, 0, q8_k ? ID / Q8_K_VALUES * Q8_K_BYTES : ID / Q8_1_MMQ_VALUES * Q8_1_MMQ_BYTES);
    return d;
}

static void put_weight(struct data *d, size_t block, const struct block_integers *b) {
    const struct block_format *f = format_named(d->contract->weight);
    f->pack(b, d->weight + block * f->block_bytes);
}

/* Codes and quants whose products add up to `dot`. */
static void factors(int32_t dot, int8_t most, int8_t *code, int8_t *q) {
    for (; dot >= most * 127; dot -= most * 127) {
        *code++ = most;
        *q++ = 127;
    }
    *code++ = most;
    *q++ = (int8_t)(dot / most);
    *code = (int8_t)(dot % most);
    *q = 1;
}

/* rn(dot * d) takes off one of 2^24 + 1; then id/32 - 1 additions of 1 to 2^24. */
static void q8_0_d4(struct data *d) {
    struct block_q8_1_mmq *a = (struct block_q8_1_mmq *)d->activation;
    for (size_t c = 0; c < ID / 32; c++) {
        struct block_integers b = {.d = c ? 1 : 673, .scale = {1}};
        int8_t *q = a[c / 4].q + 32 * (c % 4);
        factors(c ? 1 : 24929, 127, b.code, q);
        put_weight(d, c, &b);
        a[c / 4].d4[c % 4] = 1;
    }
}

/* t: fma(da, dot, 0) = 1 and three additions of 2^-24; s: one each of the later groups. */
static void q6_k_d4(struct data *d) {
    struct block_q8_1_mmq *a = (struct block_q8_1_mmq *)d->activation;
    for (size_t i = 0; i < ID / 256; i++) {
        struct block_integers b = {.d = 1};
        for (size_t s = 0; s < 16; s++)
            b.scale[s] = 1;
        for (size_t c = 0; c < 8; c++) {
            const bool first = i == 0 && c == 0, small = (i == 0 && c < 4) || c % 4 == 0;
            factors(first ? 24929 : small, 31, b.code + 32 * c, a[2 * i + c / 4].q + 32 * (c % 4));
            a[2 * i + c / 4].d4[c % 4] = (first ? 673 : 1) * 0x1p-24f;
        }
        put_weight(d, i, &b);
    }
}

/* ds = 3 * 683 / 2048 = 1 + 2^-11 becomes 1; s = 2^15, and all other additions bring 2^-9. */
static void q4_k_ds4(struct data *d) {
    struct block_q8_1_mmq *a = (struct block_q8_1_mmq *)d->activation;
    for (size_t i = 0; i < ID / 256; i++) {
        struct block_integers b = {.d = 683 * 0x1p-11f, .dmin = 1};
        for (size_t c = 0; c < 8; c++) {
            const bool first = i == 0 && c == 0;
            b.scale[c] = 3;
            b.min[c] = 1;
            factors(first ? 32768 : 1, 15, b.code + 32 * c, a[2 * i + c / 4].q + 32 * (c % 4));
            a[2 * i + c / 4].ds4[c % 4].d = half_from_float(first ? 1 : 0x1p-9f);
            a[2 * i + c / 4].ds4[c % 4].s = half_from_float(-0x1p-9f);
        }
        put_weight(d, i, &b);
    }
}

static void put_q8_k(struct data *d, size_t block, const struct block_q8_k *a) {
    memcpy(d->activation + block * Q8_K_BYTES, a, sizeof *a);
}

/* d * da = 1 + 2^-24; lane 0 gains 2^-24 in every other block, and the other lanes are that. */
static void q6_k_cpu(struct data *d) {
    for (size_t i = 0; i < ID / 256; i++) {
        struct block_integers b = {.d = i ? 1 : 673};
        struct block_q8_k a = {.d = (i ? 1 : 24929) * 0x1p-24f};
        for (size_t k = 0; k < (i == 1 ? 8 : 1); k++)
            b.code[k] = a.q[k] = 1;
        b.scale[0] = 1;
        put_weight(d, i, &b);
        put_q8_k(d, i, &a);
    }
}

/* The large term is a minimum: dmin * da = 1 + 2^-24 and a sum of minima of 2^24 + 1; then -1 in every block and lane.
 */
static void q4_k_cpu(struct data *d) {
    static const int16_t half_sum[] = {32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 4169, 0, 2};
    for (size_t i = 0; i < ID / 256; i++) {
        struct block_integers b = {.d = 1, .dmin = i ? 1 : 673, .scale = {1}};
        struct block_q8_k a = {.d = i ? 1 : 24929 * 0x1p-24f};
        for (int c = 0; c < 6; c++)
            b.min[c] = c < 5 ? 63 : 1;
        if (i)
            b.min[0] = a.sums[0] = 1;
        else
            memcpy(a.sums, half_sum, sizeof half_sum);
        for (int k = 0; i == 1 && k < 8; k++) {
            b.code[k] = 1;
            a.q[k] = -1;
        }
        put_weight(d, i, &b);
        put_q8_k(d, i, &a);
    }
}

static const struct {
    const char *name;
    void (*fill)(struct data *d);
    float result;
    double reached, ordinary; /* least shares of the bound */
} row[] = {
    {"q8_0_q8_1_mmq_d4", q8_0_d4, 0x1p24f, 64.0 / 65 - 1e-4, 0.1},
    {"q6_k_q8_1_mmq_d4", q6_k_d4, 1, 19.0 / 20 - 1e-4, 0.1},
    {"q4_k_q8_1_mmq_ds4", q4_k_ds4, 0x1p15f, 0.999, 0.5},
    {"q6_k_q8_k", q6_k_cpu, 1, 15.0 / 16 - 1e-4, 0.1},
    {"q4_k_q8_k", q4_k_cpu, -0x1p24f, 17.0 / 18 - 1e-4, 0.1},
};
enum { ROWS = sizeof row / sizeof *row };

Test(contract_bounds, are_reached) {
    for (int i = 0; i < ROWS; i++) {
        struct data d = zeros(row[i].name);
        row[i].fill(&d);
        float *result = data_evaluated(&d);
        cr_assert(float_bits(*result) == float_bits(row[i].result), "%s: %a, want %a", row[i].name, (double)*result,
                  (double)row[i].result);
        const struct truth_gap gap = truth_compare(d.contract, &d.op, result);
        cr_assert(gap.holds, "%s: value %a got %a bound %a", row[i].name, gap.value, gap.got, gap.bound);
        cr_log_info("%s: %.4f of the bound", row[i].name, gap.worst);
        cr_assert(gap.worst > row[i].reached, "%s: %.4f of the bound, want %.4f", row[i].name, gap.worst,
                  row[i].reached);
        free(result);
        data_free(&d);
    }
}

Test(contract_bounds, are_tight_on_ordinary_data) {
    for (int i = 0; i < ROWS; i++) {
        struct data d = data_make(contract_named(row[i].name), DATA_ORDINARY, 16, 32, 512);
        float *result = data_evaluated(&d);
        const struct truth_gap gap = truth_compare(d.contract, &d.op, result);
        cr_log_info("%s, ordinary: %.4f of the bound", row[i].name, gap.worst);
        cr_assert(gap.holds && gap.worst > row[i].ordinary, "%s: %.4f of the bound", row[i].name, gap.worst);
        free(result);
        data_free(&d);
    }
}
