/* The contracts of ggml's CPU, lane by lane in soft arithmetic. */
#include "independent.h"

enum { LANES = 8 };

struct block { /* the integers and the scales of one block of a cell */
    int64_t lane[LANES], minima;
    uint32_t d, dmin, da;
};

static struct block block_at(enum cpu_kind kind, const uint8_t *weight_row, const uint8_t *activation_row, size_t i) {
    const struct integer_format *f = independent_integers_of(kind == CPU_Q4_K ? "q4_K" : "q6_K");
    const uint8_t *a = activation_row + i * 292;
    struct block b = {.da = independent_bits(a, 0, 32)};
    for (unsigned e = 0; e < 256; e++) {
        struct integers v = f->read(weight_row + i * f->bytes, e);
        b.lane[e % LANES] += v.scale * v.code * independent_signed_bits(a + 4, 8 * e, 8);
        if (e % 16 == 0) /* the sums of 16; q6_K has no minima */
            b.minima += v.min * independent_signed_bits(a + 260, e, 16);
        b.d = independent_widened(v.d);
        b.dmin = independent_widened(v.dmin);
    }
    return b;
}

static uint32_t add_product(uint32_t sum, uint32_t a, uint32_t b, bool fused) {
    return fused ? independent_fma(a, b, sum, false) : independent_add(sum, independent_multiply(a, b, false), false);
}

uint32_t independent_cpu(enum cpu_kind kind, const uint8_t *weight_row, const uint8_t *activation_row, size_t id,
                         bool fused) {
    uint32_t lane[LANES] = {0}, sum = 0;
    for (size_t i = 0; i < id / 256; i++) {
        struct block b = block_at(kind, weight_row, activation_row, i);
        uint32_t d = independent_multiply(b.d, b.da, false);
        for (int l = 0; l < LANES; l++)
            lane[l] = add_product(lane[l], d, independent_whole(b.lane[l]), fused);
        if (kind == CPU_Q4_K) {
            uint32_t minus_dmin = independent_multiply(b.dmin, b.da, false) ^ 0x80000000;
            sum = add_product(sum, minus_dmin, independent_whole(b.minima), fused);
        }
    }
    for (int l = 0; l < LANES; l++)
        sum = independent_add(sum, lane[l], false);
    return sum;
}

void independent_cpu_exact(enum cpu_kind kind, const uint8_t *weight_row, const uint8_t *activation_row, size_t id,
                           struct wide *sum) {
    for (size_t i = 0; i < id / 256; i++) {
        struct block b = block_at(kind, weight_row, activation_row, i);
        for (int l = 0; l < LANES; l++)
            independent_wide_add_product(sum, b.d, b.da, b.lane[l]);
        if (kind == CPU_Q4_K)
            independent_wide_add_product(sum, b.dmin, b.da, -b.minima);
    }
}
