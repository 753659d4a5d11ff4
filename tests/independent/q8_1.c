/* The quantisers of q8_1 and q8_1_mmq on exact integers: quotients by long division, products whole, sums on a
 * common exponent, every lane of a warp simulated. Floats are bits throughout. */
#include "independent.h"
#include <string.h>

/* What .ftz does to an operand or a result. */
static uint32_t flush(const struct q8_1_rules *r, uint32_t x) {
    bool subnormal = x / 0x800000 % 256 == 0;
    return subnormal && !r->keeps_subnormals ? x & 0x80000000 : x;
}
static uint32_t multiply(const struct q8_1_rules *r, uint32_t x, uint32_t y) {
    return independent_multiply(x, y, !r->keeps_subnormals);
}
static uint32_t add(const struct q8_1_rules *r, uint32_t x, uint32_t y) {
    return independent_add(x, y, !r->keeps_subnormals);
}

static const uint32_t ONE = 0x3f800000, MOST = 0x42fe0000; /* 127 */

uint32_t independent_rcp_approx(const uint8_t *table, uint32_t x) {
    struct parts p = independent_parts(&binary32, x);
    if (p.kind == NOT_A_NUMBER)
        return 0x7fffffff;
    if (p.kind == INFINITE || p.mantissa < 0x800000) /* subnormals are flushed */
        return (p.kind == INFINITE ? 0 : 0x7f800000) + (uint32_t)p.negative * 0x80000000;
    /* Where the mantissa is looked up the exponent does not matter: divide by 1.m, step, then move by powers of two. */
    unsigned m = p.mantissa - 0x800000;
    uint32_t inverse = independent_divide(ONE, ONE + m, false);
    unsigned byte = table ? table[m / 4] : 0x55;
    for (unsigned i = m % 4; i; i--)
        byte /= 4;
    inverse = byte % 4 == 0 ? inverse - 1 : byte % 4 == 2 ? inverse + 1 : inverse;
    struct parts q = independent_parts(&binary32, inverse);
    return independent_rounded(p.negative, q.mantissa, q.exponent - (p.exponent + 23), false, true);
}

/* a / b as div.approx.ftz, or, where the rule says so, as IEEE 754 has it. */
static uint32_t divide(const struct q8_1_rules *r, const uint8_t *table, uint32_t a, uint32_t b) {
    return r->divides_exactly ? independent_divide(a, b, !r->keeps_subnormals)
                              : multiply(r, a, independent_rcp_approx(table, b));
}

static uint8_t low_byte(const struct q8_1_rules *r, uint32_t v) {
    int64_t whole = independent_nearest(v, r->ties_to_even);
    if (r->holds_codes)
        whole = whole > 127 ? 127 : whole < -128 ? -128 : whole;
    return (uint8_t)((whole + ((int64_t)1 << 32)) % 256);
}

static void store_half(uint8_t *at, uint32_t x) {
    uint16_t h = independent_half_of(x);
    at[0] = (uint8_t)(h % 256);
    at[1] = (uint8_t)(h / 256);
}

/* Every lane adds what lane (itself xor distance) has; what lane 0 holds in the end. */
static uint32_t butterflies(const struct q8_1_rules *r, uint32_t *lane, unsigned lanes) {
    if (r->sums_in_order) {
        for (unsigned i = 1; i < lanes; i++)
            lane[0] = add(r, lane[0], lane[i]);
        return lane[0];
    }
    for (unsigned distance = lanes / 2; distance; distance /= 2) {
        uint32_t before[32];
        memcpy(before, lane, lanes * sizeof *lane);
        for (unsigned i = 0; i < lanes; i++)
            lane[i] = add(r, before[i], before[i ^ distance]);
    }
    return lane[0];
}

void independent_q8_1(const struct q8_1_rules *r, const uint32_t x[32], uint8_t block[36]) {
    struct q8_1_rules kept = *r;
    kept.keeps_subnormals = true;
    uint32_t d = independent_divide(independent_largest(x, 32), MOST, false);
    uint32_t id = d ? independent_divide(ONE, d, false) : 0;
    int sum = 0;
    for (int k = 0; k < 32; k++) {
        int32_t q = independent_nearest(multiply(&kept, x[k], id), r->ties_to_even);
        q = q > 127 ? 127 : q < -128 ? -128 : q;
        block[4 + k] = (uint8_t)((q + 256) % 256);
        sum += q;
    }
    store_half(block, d);
    if (r->sum_of_values) {
        uint32_t lane[32];
        memcpy(lane, x, sizeof lane);
        store_half(block + 2, butterflies(&kept, lane, 32));
        return;
    }
    store_half(block + 2, multiply(&kept, independent_whole(sum), d));
}

void independent_q8_1_cuda(const struct q8_1_rules *r, const uint8_t *table, const uint32_t x[32], uint8_t block[36]) {
    uint32_t amax = flush(r, independent_largest(x, 32)), lane[32];
    uint32_t d = divide(r, table, amax, MOST);
    memcpy(lane, x, sizeof lane);
    store_half(block, d);
    store_half(block + 2, butterflies(r, lane, 32));
    for (int k = 0; k < 32; k++)
        block[4 + k] = amax ? low_byte(r, divide(r, table, x[k], d)) : 0;
}

void independent_q8_1_mmq(enum q8_1_mmq_kind kind, const struct q8_1_rules *r, const uint8_t *table,
                          const uint32_t x[128], uint8_t block[144]) {
    const unsigned scale_values = kind == Q8_1_MMQ_D2S6 ? 64 : 32, sum_values = kind == Q8_1_MMQ_D2S6 ? 16 : 32;
    for (unsigned i = 0; i < 128 / scale_values; i++) {
        const uint32_t *in = x + i * scale_values;
        uint32_t amax = flush(r, independent_largest(in, scale_values)), inverse = divide(r, table, MOST, amax);
        uint32_t d = r->scale_of_amax ? divide(r, table, amax, MOST) : divide(r, table, ONE, inverse);
        for (unsigned k = 0; k < scale_values; k++)
            block[16 + i * scale_values + k] = low_byte(r, multiply(r, in[k], inverse));
        if (kind == Q8_1_MMQ_D4)
            for (unsigned b = 0; b < 4; b++)
                block[4 * i + b] = (uint8_t)(d >> 8 * b & 255);
        else
            store_half(block + (kind == Q8_1_MMQ_DS4 ? 4 * i : 2 * i), d);
    }
    for (unsigned i = 0; kind != Q8_1_MMQ_D4 && i < (kind == Q8_1_MMQ_DS4 ? 4 : 6); i++) {
        uint32_t lane[8];
        for (unsigned l = 0; l < sum_values / 4; l++) {
            const uint32_t *v = x + i * sum_values + 4 * l;
            lane[l] = add(r, add(r, add(r, v[0], v[1]), v[2]), v[3]);
        }
        store_half(block + (kind == Q8_1_MMQ_DS4 ? 4 * i + 2 : 4 + 2 * i), butterflies(r, lane, sum_values / 4));
    }
}
