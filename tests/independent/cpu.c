/* The contracts of ggml's CPU, lane by lane in soft arithmetic. */
#include "independent.h"

static uint32_t u16_at(const uint8_t *bytes) {
    return (uint32_t)bytes[0] + 256u * bytes[1];
}
static uint32_t u32_at(const uint8_t *bytes) {
    return u16_at(bytes) + 65536u * u16_at(bytes + 2);
}
static int signed_of(uint32_t x, int bits) {
    return x < 1u << (bits - 1) ? (int)x : (int)x - (1 << bits);
}

enum { LANES = 8 };

struct block { /* the integers and the scales of one block of a cell */
    int64_t lane[LANES], minima;
    uint32_t d, dmin, da;
};

static struct block block_at(enum cpu_kind kind, const uint8_t *weight_row, const uint8_t *activation_row, size_t i) {
    const uint8_t *w = weight_row + i * (kind == CPU_Q4_K ? 144 : 210), *a = activation_row + i * 292;
    struct block b = {.da = u32_at(a), .d = independent_widened(u16_at(kind == CPU_Q4_K ? w : w + 208))};
    for (unsigned e = 0; e < 256; e++) {
        int q = signed_of(a[4 + e], 8), n;
        if (kind == CPU_Q4_K) {
            struct q4_k_cell c = independent_q4_k_cell(w, e);
            n = (int)(c.scale * c.nibble);
            if (e % 16 == 0)
                b.minima += (int)c.min * signed_of(u16_at(a + 260 + e / 16 * 2), 16);
        } else {
            n = independent_q6_k_integer(w, e);
        }
        b.lane[e % LANES] += n * q;
    }
    if (kind == CPU_Q4_K)
        b.dmin = independent_widened(u16_at(w + 2));
    return b;
}

static uint32_t add_product(uint32_t sum, uint32_t a, uint32_t b, bool fused) {
    return fused ? independent_fma(a, b, sum, false) : independent_plus(sum, independent_times(a, b, false), false);
}

uint32_t independent_cpu(enum cpu_kind kind, const uint8_t *weight_row, const uint8_t *activation_row, size_t id,
                         bool fused) {
    uint32_t lane[LANES] = {0}, sum = 0;
    for (size_t i = 0; i < id / 256; i++) {
        struct block b = block_at(kind, weight_row, activation_row, i);
        uint32_t d = independent_times(b.d, b.da, false);
        for (int l = 0; l < LANES; l++)
            lane[l] = add_product(lane[l], d, independent_whole(b.lane[l]), fused);
        if (kind == CPU_Q4_K) {
            uint32_t minus_dmin = independent_times(b.dmin, b.da, false) ^ 0x80000000;
            sum = add_product(sum, minus_dmin, independent_whole(b.minima), fused);
        }
    }
    for (int l = 0; l < LANES; l++)
        sum = independent_plus(sum, lane[l], false);
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
