/* The contracts of llama.cpp's MMQ, chunk by chunk in soft arithmetic. */
#include "independent.h"

static const uint8_t *block_of(const uint8_t *activation, size_t nt, size_t token, size_t k) {
    return activation + (k / 128 * nt + token) * 144;
}

struct chunk {                /* of 32 values */
    int64_t dot;              /* of code * q, of q6_K scale * code * q */
    struct integers weight;   /* of the chunk's last value */
    uint32_t d, d_of_32, sum; /* of the activation, as f32: D4 has d_of_32, DS4 d and sum */
};

static struct chunk chunk_at(enum mmq_kind kind, const uint8_t *weight_row, const uint8_t *activation, size_t nt,
                             size_t token, size_t k) {
    const struct integer_format *f = independent_integers_of(kind == MMQ_Q4_K_DS4  ? "q4_K"
                                                             : kind == MMQ_Q6_K_D4 ? "q6_K"
                                                                                   : "q8_0");
    const uint8_t *a = block_of(activation, nt, token, k), *scales = a + k % 128 / 32 * 4;
    struct chunk c = {.d_of_32 = independent_bits(scales, 0, 32),
                      .d = independent_widened(independent_bits(scales, 0, 16)),
                      .sum = independent_widened(independent_bits(scales, 16, 16))};
    for (unsigned i = 0; i < 32; i++) {
        c.weight = f->read(weight_row + k / f->values * f->bytes, (unsigned)(k % f->values) + i);
        int q = independent_signed_bits(a + 16 + k % 128, 8 * i, 8);
        c.dot += (kind == MMQ_Q6_K_D4 ? c.weight.scale * c.weight.code : c.weight.code) * q;
    }
    return c;
}

static uint32_t negated(uint32_t bits) {
    return bits ^ 0x80000000;
}

static uint32_t q4_k_chunk(uint32_t s, struct chunk c, struct mmq_rules r) {
    struct integers w = c.weight;
    uint32_t dmin = w.dmin ^ 0x8000, ds, dm;
    if (r.half_products) {
        ds = independent_widened(independent_half_times(w.d, (unsigned)w.scale));
        dm = independent_widened(independent_half_times(dmin, (unsigned)w.min));
    } else {
        ds = independent_multiply(independent_widened(w.d), independent_whole(w.scale), r.flush);
        dm = independent_multiply(independent_widened(dmin), independent_whole(w.min), r.flush);
    }
    s = independent_fma(independent_multiply(ds, c.d, r.flush), independent_whole(c.dot), s, r.flush);
    return independent_fma(dm, c.sum, s, r.flush);
}

uint32_t independent_mmq_part(enum mmq_kind kind, const uint8_t *weight_row, const uint8_t *activation, size_t nt,
                              size_t token, size_t from, size_t to, struct mmq_rules r) {
    uint32_t s = 0, group = 0;
    for (size_t k = from; k < to; k += 32) {
        struct chunk c = chunk_at(kind, weight_row, activation, nt, token, k);
        uint32_t dot = independent_whole(c.dot), d = independent_widened(c.weight.d);
        if (kind == MMQ_Q4_K_DS4) {
            s = q4_k_chunk(s, c, r);
        } else if (kind == MMQ_Q8_0_D4) {
            s = independent_fma(independent_multiply(dot, d, r.flush), c.d_of_32, s, r.flush);
        } else {
            group = independent_fma(c.d_of_32, dot, k % 128 ? group : 0, r.flush);
            if (k % 128 == 96)
                s = independent_fma(group, d, s, r.flush);
        }
    }
    return s;
}

void independent_mmq_exact(enum mmq_kind kind, const uint8_t *weight_row, const uint8_t *activation, size_t nt,
                           size_t token, size_t from, size_t to, struct wide *sum) {
    for (size_t k = from; k < to; k += 32) {
        struct chunk c = chunk_at(kind, weight_row, activation, nt, token, k);
        uint32_t d = independent_widened(c.weight.d), dmin = independent_widened(c.weight.dmin);
        if (kind == MMQ_Q4_K_DS4) {
            independent_wide_add_product(sum, d, c.d, c.weight.scale * c.dot);
            independent_wide_add_product(sum, negated(dmin), c.sum, c.weight.min);
        } else {
            independent_wide_add_product(sum, d, c.d_of_32, c.dot);
        }
    }
}
