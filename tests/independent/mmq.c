/* The contracts of llama.cpp's MMQ, chunk by chunk in soft arithmetic. */
#include "independent.h"

static uint32_t u16_at(const uint8_t *bytes) {
    return (uint32_t)bytes[0] + 256u * bytes[1];
}
static uint32_t u32_at(const uint8_t *bytes) {
    return u16_at(bytes) + 65536u * u16_at(bytes + 2);
}
static int int8_of(uint8_t byte) {
    return byte < 128 ? byte : byte - 256;
}

/* n takes its low four bits from ql and its high two from qh: halves of 128 values, in each four runs of 32. */
int independent_q6_k_integer(const uint8_t block[210], unsigned e) {
    unsigned half = e / 128, run = e % 128 / 32, at = e % 32;
    unsigned low_byte = block[half * 64 + (run % 2) * 32 + at], high_byte = block[128 + half * 32 + at];
    int low = run < 2 ? low_byte % 16 : low_byte / 16, high = high_byte / (1u << 2 * run) % 4;
    return int8_of(block[192 + e / 16]) * (low + 16 * high - 32);
}

static const uint8_t *block_of(const uint8_t *activation, size_t nt, size_t token, size_t k) {
    return activation + (k / 128 * nt + token) * 144;
}

struct chunk { /* of 32 values */
    int64_t dot;
    const uint8_t *weight, *scales; /* the weight's block, the activation's scales of this chunk */
    unsigned scale, min;            /* q4_K */
};

static struct chunk chunk_at(enum mmq_kind kind, const uint8_t *weight_row, const uint8_t *activation, size_t nt,
                             size_t token, size_t k) {
    const uint8_t *a = block_of(activation, nt, token, k);
    struct chunk c = {.scales = a + k % 128 / 32 * 4};
    c.weight = weight_row + (kind == MMQ_Q4_K_DS4 ? k / 256 * 144 : kind == MMQ_Q6_K_D4 ? k / 256 * 210 : k / 32 * 34);
    for (unsigned i = 0; i < 32; i++) {
        unsigned e = (unsigned)(k % 256) + i;
        int q = int8_of(a[16 + k % 128 + i]);
        if (kind == MMQ_Q4_K_DS4) {
            struct q4_k_cell cell = independent_q4_k_cell(c.weight, e);
            c.scale = cell.scale;
            c.min = cell.min;
            c.dot += (int)cell.nibble * q;
        } else if (kind == MMQ_Q6_K_D4) {
            c.dot += independent_q6_k_integer(c.weight, e) * q;
        } else {
            c.dot += int8_of(c.weight[2 + i]) * q;
        }
    }
    return c;
}

static uint32_t negated(uint32_t bits) {
    return bits ^ 0x80000000;
}

static uint32_t q4_k_chunk(uint32_t s, struct chunk c, struct mmq_rules r) {
    uint32_t d = u16_at(c.weight), dmin = u16_at(c.weight + 2) ^ 0x8000, ds, dm;
    if (r.half_products) {
        ds = independent_widened(independent_half_times(d, c.scale));
        dm = independent_widened(independent_half_times(dmin, c.min));
    } else {
        ds = independent_times(independent_widened(d), independent_whole(c.scale), r.flush);
        dm = independent_times(independent_widened(dmin), independent_whole(c.min), r.flush);
    }
    uint32_t da = independent_widened(u16_at(c.scales)), sum = independent_widened(u16_at(c.scales + 2));
    s = independent_fma(independent_times(ds, da, r.flush), independent_whole(c.dot), s, r.flush);
    return independent_fma(dm, sum, s, r.flush);
}

uint32_t independent_mmq_part(enum mmq_kind kind, const uint8_t *weight_row, const uint8_t *activation, size_t nt,
                              size_t token, size_t from, size_t to, struct mmq_rules r) {
    uint32_t s = 0, group = 0;
    for (size_t k = from; k < to; k += 32) {
        struct chunk c = chunk_at(kind, weight_row, activation, nt, token, k);
        uint32_t dot = independent_whole(c.dot);
        if (kind == MMQ_Q4_K_DS4) {
            s = q4_k_chunk(s, c, r);
        } else if (kind == MMQ_Q8_0_D4) {
            uint32_t product = independent_times(dot, independent_widened(u16_at(c.weight)), r.flush);
            s = independent_fma(product, u32_at(c.scales), s, r.flush);
        } else {
            group = independent_fma(u32_at(c.scales), dot, k % 128 ? group : 0, r.flush);
            if (k % 128 == 96)
                s = independent_fma(group, independent_widened(u16_at(c.weight + 208)), s, r.flush);
        }
    }
    return s;
}

void independent_mmq_exact(enum mmq_kind kind, const uint8_t *weight_row, const uint8_t *activation, size_t nt,
                           size_t token, size_t from, size_t to, struct wide *sum) {
    for (size_t k = from; k < to; k += 32) {
        struct chunk c = chunk_at(kind, weight_row, activation, nt, token, k);
        uint32_t d = independent_widened(u16_at(c.weight + (kind == MMQ_Q6_K_D4 ? 208 : 0)));
        if (kind == MMQ_Q4_K_DS4) {
            uint32_t da = independent_widened(u16_at(c.scales)), stored = independent_widened(u16_at(c.scales + 2));
            independent_wide_add_product(sum, d, da, c.scale * c.dot);
            independent_wide_add_product(sum, negated(independent_widened(u16_at(c.weight + 2))), stored, c.min);
        } else {
            independent_wide_add_product(sum, d, u32_at(c.scales), c.dot);
        }
    }
}
