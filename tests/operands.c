/* gpu/data_*.c, gpu/operands.c: every class has the properties it promises, every check of a property turns red on data
 * that lack it, and the bytes of known ids never change. */
#include "../gpu/operands.h"
#include "../ref/half.h"
#include "../ref/pad40.h"
#include "../ref/q4_k.h"
#include "../ref/truth.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char two_term[] = "q4_k_pad40_two_term", quantiser[] = "pad40_quantize";

static struct operands made(const char *contract, enum data_class c, size_t nt, size_t od, size_t id,
                            const char *name) {
    const struct operands_request r = {
        .contract = contract_named(contract), .nt = nt, .od = od, .id = id, .data = c, .key = random_key(name)};
    struct operands o;
    struct error e = {""};
    cr_assert(operands_make(&r, &o, &e), "%s %s nt%zu.od%zu.id%zu: %s", contract, data_class_names[c], nt, od, id,
              e.text);
    return o;
}

static bool half_is_finite(uint16_t h) {
    return (h >> 10 & 31) != 31;
}
static bool half_is_normal(uint16_t h) {
    return half_is_finite(h) && h >> 10 & 31;
}

/* ---- exact ---- */

/* Largest sum over a cell of |terms| in units of 2^-8, terms being d_a q d sc n and d_a q dmin m for every k. Negative
 * when a scale is no multiple of its least unit, that is, when the terms are no integers, and when a format takes more
 * than its half of what data.h grants each k. */
static double largest_sum(const struct operands *o) {
    const struct contract_operands *v = &o->view;
    const size_t supers = v->id / Q4_K_VALUES, chunks = v->id / PAD40_VALUES;
    double largest = 0;
    for (size_t t = 0; t < v->nt; t++)
        for (size_t j = 0; j < v->od; j++) {
            double sum = 0;
            for (size_t c = 0; c < chunks; c++) {
                const struct block_q4_k *w = (const struct block_q4_k *)v->weight + j * supers + c / 8;
                const struct block_pad40 *x = (const struct block_pad40 *)v->activation + t * chunks + c;
                uint8_t sc, m, n[Q4_K_SUB_VALUES];
                q4_k_scale_min(c % 8, w->scales, &sc, &m);
                q4_k_nibbles(w, c % 8, n);
                const double da = half_to_float(x->d) * 8.0, d = half_to_float(w->d) * 32.0,
                             dmin = half_to_float(w->dmin) * 32.0;
                if (da != floor(da) || d != floor(d) || dmin != floor(dmin))
                    return -1;
                for (int k = 0; k < PAD40_VALUES; k++) {
                    const double activation = fabs(da * x->q[k]), weight = fabs(d * sc * n[k]) + fabs(dmin * m);
                    if (activation > DATA_EXACT_ACTIVATION_UNITS || weight > DATA_EXACT_WEIGHT_UNITS)
                        return -1;
                    sum += activation * weight;
                }
            }
            largest = sum > largest ? sum : largest;
        }
    return largest;
}

static bool sums_are_exact(const struct operands *o) {
    const double sum = largest_sum(o);
    return sum >= 0 && sum < 0x1p24;
}

/* f32 sums of the same products, from the last k to the first, each elementary term on its own. */
static bool backward_sum_agrees(const struct operands *o, const float *result) {
    const struct contract_operands *v = &o->view;
    float *w = malloc(v->id * sizeof *w), *x = malloc(v->id * sizeof *x);
    bool agrees = w && x;
    for (size_t t = 0; t < v->nt; t++)
        for (size_t j = 0; j < v->od; j++) {
            for (size_t b = 0; b < v->id / Q4_K_VALUES; b++)
                q4_k_dequantize((const struct block_q4_k *)v->weight + j * (v->id / Q4_K_VALUES) + b,
                                w + b * Q4_K_VALUES);
            for (size_t c = 0; c < v->id / PAD40_VALUES; c++)
                pad40_dequantize((const struct block_pad40 *)v->activation + t * (v->id / PAD40_VALUES) + c,
                                 x + c * PAD40_VALUES);
            float s = 0;
            for (size_t k = v->id; k-- > 0;) {
                const float product = w[k] * x[k];
                s = s + product;
            }
            agrees &= float_bits(s) == float_bits(result[t * v->od + j] + 0.0f);
        }
    free(w);
    free(x);
    return agrees;
}

Test(operands, exact_sums_have_the_same_bits_in_every_order) {
    static const size_t depths[] = {256, 512, 1024, 3584, 16384};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        struct operands o = made(two_term, DATA_EXACT, 5, 7, depths[i], "exact");
        cr_expect(sums_are_exact(&o), "depth %zu: a sum of |terms| reaches %g units", depths[i], largest_sum(&o));
        float result[35];
        double value[35], bound[35];
        const struct contract *c = contract_named(two_term);
        cr_assert_eq(o.result_bytes, sizeof result, "result bytes");
        c->evaluate(&o.view, result);
        c->truth(&o.view, value, bound);
        for (size_t k = 0; k < 35; k++) {
            cr_expect((double)result[k] == value[k], "depth %zu, cell %zu: contract %a, truth %a", depths[i], k,
                      (double)result[k], value[k]);
        }
        cr_expect(backward_sum_agrees(&o, result), "depth %zu: summed backwards the bits differ", depths[i]);
        operands_free(&o);
    }
}

Test(operands, exact_reaches_all_scales_minima_and_nibbles) {
    struct operands o = made(two_term, DATA_EXACT, 1, 64, 1024, "exact");
    bool sc_seen[64] = {false}, m_seen[64] = {false}, n_seen[16] = {false};
    for (size_t b = 0; b < o.weight_bytes / Q4_K_BYTES; b++)
        for (unsigned s = 0; s < Q4_K_SUB_BLOCKS; s++) {
            uint8_t sc, m, n[Q4_K_SUB_VALUES];
            q4_k_scale_min(s, ((const struct block_q4_k *)o.view.weight)[b].scales, &sc, &m);
            q4_k_nibbles((const struct block_q4_k *)o.view.weight + b, s, n);
            sc_seen[sc] = m_seen[m] = true;
            for (int k = 0; k < Q4_K_SUB_VALUES; k++)
                n_seen[n[k]] = true;
        }
    for (int i = 0; i < 64; i++)
        cr_expect(sc_seen[i] && m_seen[i] && n_seen[i % 16], "scale, minimum or nibble %d never occurs", i);
    operands_free(&o);
}

Test(operands, exactness_check_turns_red) {
    struct operands o = made(two_term, DATA_EXACT, 1, 1, 16384, "exact");
    struct block_q4_k *w = (void *)o.weight;
    w->d = 0x2c01; /* 2^-4 and one step: no integer number of units */
    cr_expect_not(sums_are_exact(&o), "a scale that is no power of two passed");
    operands_free(&o);
    o = made(two_term, DATA_EXACT, 1, 1, 16384, "exact");
    for (size_t c = 0; c < 512; c++)
        memset(o.activation + 40 * c + 4, 127, 32);
    cr_expect_not(sums_are_exact(&o), "quants of 127 passed");
    operands_free(&o);
    o = made(two_term, DATA_EXACT, 1, 1, 16384, "exact");
    for (size_t b = 0; b < 64; b++) /* nibbles 15 under whatever scale: the sum stays small enough by luck */
        memset(o.weight + b * Q4_K_BYTES + 16, 0xff, 128);
    cr_expect_not(sums_are_exact(&o), "nibbles of 15 under large scales passed");
    operands_free(&o);
    struct operands r = made(two_term, DATA_RAND, 2, 2, 3584, "rand");
    float result[4];
    contract_named(two_term)->evaluate(&r.view, result);
    cr_expect_not(backward_sum_agrees(&r, result), "random data sum the same in both orders");
    operands_free(&r);
}

Test(operands, exact_f32_is_quantised_without_rounding) {
    struct operands o = made(quantiser, DATA_EXACT, 9, 0, 1024, "exact");
    const float *x = (const float *)o.view.activation;
    for (size_t i = 0; i < 9 * 1024; i += 32) {
        struct block_pad40 b;
        float back[32];
        pad40_quantize(x + i, &b);
        pad40_dequantize(&b, back);
        cr_expect_eq(memcmp(back, x + i, sizeof back), 0, "block %zu does not come back", i / 32);
    }
    operands_free(&o);
}

/* ---- coded ---- */

/* What a coded pair of operands lacks, or NULL. */
static const char *uncoded(const struct operands *o) {
    const struct contract_operands *v = &o->view;
    const size_t supers = v->id / Q4_K_VALUES, chunks = v->id / PAD40_VALUES;
    const struct block_q4_k *w = v->weight;
    const struct block_pad40 *x = v->activation;
    for (size_t j = 0; j < v->od; j++)
        for (size_t b = 0; b < supers; b++) {
            const struct block_q4_k *here = &w[j * supers + b];
            size_t row, super;
            coded_q4_k_place(here, &row, &super);
            if (row != j % 4096 || super != b % 128)
                return "a weight block does not say its place";
            if (!half_is_normal(here->d) || !half_is_normal(here->dmin))
                return "a weight scale is not normal";
            if (b && (here->d == here[-1].d || here->dmin == here[-1].dmin))
                return "neighbouring super-blocks share a scale";
            if (j && (here->d == here[-(ptrdiff_t)supers].d || here->dmin == here[-(ptrdiff_t)supers].dmin))
                return "neighbouring rows share a scale";
            if (j >= 16 && !memcmp(here->qs, here[-16 * (ptrdiff_t)supers].qs, 128))
                return "rows 16 apart share their nibbles";
            for (unsigned s = 0; s < Q4_K_SUB_BLOCKS; s++) {
                uint8_t sc, m, n[Q4_K_SUB_VALUES], before[Q4_K_SUB_VALUES];
                q4_k_scale_min(s, here->scales, &sc, &m);
                q4_k_nibbles(here, s, n);
                if (sc % 8 != s || m % 8 != 7 - s || sc < 8 || m < 8)
                    return "a sub-block does not say its place";
                for (int k = 1; k < Q4_K_SUB_VALUES; k++)
                    if (n[k] == n[k - 1] || (k >= 16 && n[k] == n[k - 16]))
                        return "neighbouring nibbles are equal";
                q4_k_nibbles(s ? here : here - (b > 0), (s + 7) % 8, before);
                if ((s || b) && !memcmp(n, before, sizeof n))
                    return "neighbouring sub-blocks share their nibbles";
            }
        }
    for (size_t t = 0; t < v->nt; t++)
        for (size_t c = 0; c < chunks; c++) {
            const struct block_pad40 *here = &x[t * chunks + c];
            size_t token, chunk;
            coded_pad40_place(here, &token, &chunk);
            if (token != t % 1024 || chunk != c % 896)
                return "an activation block does not say its place";
            if (!half_is_normal(here->d) || (c && here->d == here[-1].d) ||
                (t && here->d == here[-(ptrdiff_t)chunks].d))
                return "an activation scale is not normal, or is its neighbour's";
            if ((c && !memcmp(here->q, here[-1].q, 32)) || (t && !memcmp(here->q, here[-(ptrdiff_t)chunks].q, 32)))
                return "neighbouring blocks share their quants";
            bool seen[256] = {false};
            int32_t sum = 0;
            for (int k = 0; k < 32; sum += here->q[k++]) {
                if (seen[here->q[k] + 128])
                    return "two quants of a block are equal";
                seen[here->q[k] + 128] = true;
            }
            if (sum != here->sum)
                return "a stored sum is not the sum";
        }
    return NULL;
}

/* In no super-block are two rows equal, in no chunk two tokens (up to 512 of them). */
static bool has_equal_rows(const uint8_t *blocks, size_t rows, size_t row_blocks, size_t bytes) {
    for (size_t b = 0; b < row_blocks; b++)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < i; j++)
                if (!memcmp(blocks + (i * row_blocks + b) * bytes, blocks + (j * row_blocks + b) * bytes, bytes))
                    return true;
    return false;
}

Test(operands, coded_blocks_say_their_place) {
    static const size_t shapes[][3] = {{1, 1, 256}, {300, 257, 3584}, {3, 5, 32768}, {2, 4200, 512}, {1030, 2, 512}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct operands o = made(two_term, DATA_CODED, shapes[i][0], shapes[i][1], shapes[i][2], "coded");
        const char *lack = uncoded(&o);
        cr_expect_null(lack, "nt%zu.od%zu.id%zu: %s", shapes[i][0], shapes[i][1], shapes[i][2], lack);
        operands_free(&o);
    }
    struct operands o = made(two_term, DATA_CODED, 300, 300, 1024, "coded");
    cr_expect_not(has_equal_rows(o.weight, 300, 4, Q4_K_BYTES), "two rows are equal in a super-block");
    cr_expect_not(has_equal_rows(o.activation, 300, 32, PAD40_BYTES), "two tokens are equal in a chunk");
    memcpy(o.weight + 8 * Q4_K_BYTES, o.weight, Q4_K_BYTES);
    cr_expect(has_equal_rows(o.weight, 300, 4, Q4_K_BYTES), "a copied row was not seen");
    operands_free(&o);
}

Test(operands, coding_check_turns_red) {
    static const struct {
        size_t byte, value; /* of the weight, or of the activation when past 1 << 20 */
    } plants[] = {
        {144 + 0, 0x00},        /* d of super-block 1 */
        {144 * 14 + 2, 0x55},   /* dmin of row 1 */
        {4, 0x3f},              /* a scale */
        {16, 0x11},             /* a nibble equal to its neighbour */
        {(1 << 20) + 40, 0x01}, /* d of chunk 1 */
        {(1 << 20) + 4, 0x40},  /* q of chunk 0 */
        {(1 << 20) + 36, 0x41}, /* its sum */
    };
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        struct operands o = made(two_term, DATA_CODED, 33, 33, 3584, "coded");
        uint8_t *byte = plants[i].byte >> 20 ? o.activation + plants[i].byte % (1 << 20) : o.weight + plants[i].byte;
        if (plants[i].byte == 16)
            byte[1] = byte[0]; /* makes two neighbours equal */
        else
            *byte = (uint8_t)(*byte == plants[i].value ? plants[i].value + 1 : plants[i].value);
        cr_expect(uncoded(&o), "plant %zu was not seen", i);
        operands_free(&o);
    }
}

Test(operands, coded_f32_says_its_place) {
    struct operands o = made(quantiser, DATA_CODED, 40, 0, 4096, "coded");
    const float *x = (const float *)o.view.activation;
    for (size_t t = 0; t < 40; t++)
        for (size_t c = 0; c < 128; c++) {
            const float *block = x + t * 4096 + c * 32;
            size_t token, chunk;
            coded_f32_place(block, &token, &chunk);
            cr_expect(token == t && chunk == c, "block (%zu, %zu) says (%zu, %zu)", t, c, token, chunk);
            for (int k = 1; k < 32; k++)
                cr_expect(float_bits(block[k]) != float_bits(block[k - 1]), "token %zu: equal neighbours", t);
        }
    operands_free(&o);
}

/* ---- adv, rand ---- */

static bool finite_operands(const struct operands *o) {
    for (size_t b = 0; b < o->weight_bytes; b += Q4_K_BYTES) {
        const struct block_q4_k *w = (const void *)(o->weight + b);
        if (!half_is_finite(w->d) || !half_is_finite(w->dmin))
            return false;
    }
    for (size_t b = 0; b < o->activation_bytes; b += PAD40_BYTES) {
        const struct block_pad40 *x = (const void *)(o->activation + b);
        int32_t sum = 0;
        for (int k = 0; k < 32; k++)
            sum += x->q[k];
        if (!half_is_finite(x->d) || sum != x->sum || x->gap)
            return false;
    }
    return true;
}

Test(operands, operands_of_a_product_are_finite_and_the_contract_keeps_its_bound) {
    for (enum data_class c = 0; c < DATA_REAL; c++)
        for (size_t nt = 1; nt <= 45; nt += 11) {
            struct operands o = made(two_term, c, nt, 40, 1024, data_class_names[c]);
            cr_expect(finite_operands(&o), "%s: a scale is not finite or a sum is wrong", data_class_names[c]);
            float *result = malloc(o.result_bytes);
            contract_named(two_term)->evaluate(&o.view, result);
            for (size_t i = 0; i < nt * 40; i++)
                cr_expect(isfinite(result[i]), "%s: cell %zu is not finite", data_class_names[c], i);
            struct truth_gap gap = truth_compare(contract_named(two_term), &o.view, result);
            cr_expect(gap.holds, "%s: cell %zu got %a, truth %a, bound %a", data_class_names[c], gap.cell, gap.got,
                      gap.value, gap.bound);
            free(result);
            operands_free(&o);
        }
    struct operands o = made(two_term, DATA_RAND, 2, 2, 256, "x");
    ((struct block_q4_k *)(void *)o.weight)->dmin = 0x7c00;
    cr_expect_not(finite_operands(&o), "an infinite minimum was not seen");
    operands_free(&o);
}

/* The first corner that adversarial operands lack, or NULL. */
static const char *missing_corner(const struct operands *o) {
    static const uint16_t scales[] = {0x0000, 0x8000, 0x0001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x8001};
    bool scale_seen[2][8] = {{false}}, sc_seen[64] = {false}, m_seen[64] = {false};
    bool zero_weight = false, zero_activation = false, only_d = false, only_dmin = false, all_0 = false, all_15 = false;
    bool run[3] = {false}; /* of -128, -127, 127 */
    static const uint8_t zeros[Q4_K_BYTES];
    for (size_t at = 0; at < o->weight_bytes; at += Q4_K_BYTES) {
        const struct block_q4_k *w = (const void *)(o->weight + at);
        zero_weight |= !memcmp(w, zeros, Q4_K_BYTES);
        only_d |= w->d && !w->dmin;
        only_dmin |= !w->d && w->dmin;
        for (int i = 0; i < 8; i++)
            scale_seen[0][i] |= w->d == scales[i] || w->dmin == scales[i];
        for (unsigned s = 0; s < Q4_K_SUB_BLOCKS; s++) {
            uint8_t sc, m, n[Q4_K_SUB_VALUES];
            q4_k_scale_min(s, w->scales, &sc, &m);
            q4_k_nibbles(w, s, n);
            if (w->d || w->dmin)
                sc_seen[sc] = m_seen[m] = true;
            int sum = 0;
            for (int k = 0; k < Q4_K_SUB_VALUES; k++)
                sum += n[k];
            all_0 |= sum == 0 && sc && w->d;
            all_15 |= sum == 15 * 32 && sc && w->d;
        }
    }
    for (size_t at = 0; at < o->activation_bytes; at += PAD40_BYTES) {
        const struct block_pad40 *x = (const void *)(o->activation + at);
        zero_activation |= !memcmp(x, zeros, PAD40_BYTES);
        for (int i = 0; i < 8; i++)
            scale_seen[1][i] |= x->d == scales[i];
        run[0] |= x->d && x->sum == -128 * 32;
        run[1] |= x->d && x->sum == -127 * 32;
        run[2] |= x->d && x->sum == 127 * 32;
    }
    for (int i = 0; i < 64; i++)
        if (!sc_seen[i] || !m_seen[i])
            return "a 6-bit scale or minimum";
    for (int i = 0; i < 8; i++)
        if (!scale_seen[0][i] || !scale_seen[1][i])
            return "an f16 scale";
    return !zero_weight || !zero_activation ? "a zero block"
           : !only_d || !only_dmin          ? "d = 0 alone or dmin = 0 alone"
           : !all_0 || !all_15              ? "a run of nibbles"
           : !run[0] || !run[1] || !run[2]  ? "a run of quants"
                                            : NULL;
}

Test(operands, adversarial_operands_have_every_corner) {
    static const char *const ids[] = {"a", "b", "c", "d", "e", "f"}; /* whatever the salt */
    for (size_t i = 0; i < 6; i++) {
        struct operands o = made(two_term, DATA_ADV, 70, 70, 512, ids[i]);
        const char *missing = missing_corner(&o);
        cr_expect_null(missing, "id %s lacks %s", ids[i], missing);
        operands_free(&o);
    }
    for (enum data_class c = 0; c < DATA_REAL; c++) {
        struct operands o = made(two_term, c, 70, 70, 512, "a");
        cr_expect(c == DATA_ADV || missing_corner(&o), "class %s seems to have every corner", data_class_names[c]);
        operands_free(&o);
    }
}

/* Which corners the blocks of a quantiser's input have, a bit each. */
static unsigned f32_corners(const struct operands *o) {
    const uint32_t *x = (const void *)o->activation;
    unsigned corners = 0;
    for (size_t i = 0; i < o->activation_bytes / 4; i += 32) {
        uint32_t largest = 0;
        unsigned nans = 0;
        for (int k = 0; k < 32; k++) {
            const uint32_t magnitude = x[i + k] & 0x7fffffff;
            corners |= (x[i + k] == 0x80000000) << 0;
            corners |= (magnitude && magnitude < 0x00800000) << 1;
            corners |= (magnitude == 0x7f800000) << 2;
            corners |= (magnitude > 0x7fc00000 - 1) << 3;                       /* quiet NaN */
            corners |= (magnitude > 0x7f800000 && magnitude < 0x7fc00000) << 4; /* signalling */
            nans += magnitude > 0x7f800000;
            largest = magnitude > largest ? magnitude : largest;
        }
        const float d = bits_float(largest) / 127;
        struct block_pad40 b;
        float in[32];
        memcpy(in, x + i, sizeof in);
        pad40_quantize(in, &b);
        corners |= (nans == 32) << 5;
        corners |= (largest < 0x7f800000 && b.d == 0x7c00) << 6; /* the scale overflows */
        corners |= (b.d == 0x7bff) << 7;
        corners |= (d > 0 && b.d == 0) << 8;
        corners |= (b.d > 0 && b.d < 0x0400) << 9;
        corners |= ((float_bits(d) & 0x1fff) == 0x1000 && half_is_normal(b.d)) << 10; /* a tie of the stored scale */
        unsigned ties = 0;
        for (int k = 0; k < 32 && d > 0 && d < 1e30f; k++)
            ties += fabsf(in[k] * (1 / d)) - floorf(fabsf(in[k] * (1 / d))) == 0.5f;
        corners |= (ties == 31) << 11;
        corners |= (largest == 0x7f7fffff) << 12;
        corners |= (d > 0 && isinf(1 / d)) << 13;
    }
    return corners;
}

Test(operands, adversarial_f32_has_every_corner_of_the_quantiser) {
    static const char *const ids[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < 4; i++) {
        struct operands o = made(quantiser, DATA_ADV, 129, 0, 1024, ids[i]);
        cr_expect_eq(f32_corners(&o), 0x3fffu, "id %s: corners 0x%x", ids[i], f32_corners(&o));
        operands_free(&o);
    }
    struct operands o = made(quantiser, DATA_RAND, 129, 0, 1024, "a");
    cr_expect(f32_corners(&o) != 0x3fffu, "random data seem to have every corner");
    operands_free(&o);
}

Test(operands, random_operands_are_of_sane_size) {
    struct operands o = made(two_term, DATA_RAND, 70, 70, 1024, "rand");
    for (size_t b = 0; b < o.weight_bytes / Q4_K_BYTES; b++) {
        const struct block_q4_k *w = (const struct block_q4_k *)o.view.weight + b;
        cr_expect(w->d >= 0x1400 && w->d <= 0x1d00 && w->dmin >= 0x1400 && w->dmin <= 0x1d00,
                  "block %zu: d 0x%04x, dmin 0x%04x", b, w->d, w->dmin);
    }
    double squares = 0;
    for (size_t b = 0; b < o.activation_bytes / PAD40_BYTES; b++) {
        float x[32];
        pad40_dequantize((const struct block_pad40 *)o.view.activation + b, x);
        for (int k = 0; k < 32; k++)
            squares += (double)x[k] * x[k];
    }
    squares /= 70 * 1024;
    cr_expect(squares > 0.95 && squares < 1.05, "mean square of the activations is %g", squares);
    operands_free(&o);
}

/* ---- the same bytes for ever, and errors ---- */

static uint64_t hash(uint64_t h, const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        h = (h ^ bytes[i]) * 0x100000001b3; /* FNV-1a */
    return h;
}

static uint64_t hash_of(const struct operands *o) {
    return hash(hash(0xcbf29ce484222325, o->weight, o->weight_bytes), o->activation, o->activation_bytes);
}

Test(operands, bytes_of_known_ids_never_change) {
    static const struct {
        const char *contract;
        size_t nt, od, id;
        enum data_class data;
        uint64_t hash; /* of the weight bytes, then the activation bytes */
    } known[] = {
        {two_term, 33, 70, 512, DATA_EXACT, 0x1c0fd41d57bc334d},
        {two_term, 33, 70, 512, DATA_CODED, 0x8e643ff3c0724f7d},
        {two_term, 33, 70, 512, DATA_ADV, 0xaf0dbb229abab1f0},
        {two_term, 33, 70, 512, DATA_RAND, 0xaeeda9dea5a6cd4e},
        {quantiser, 33, 0, 512, DATA_EXACT, 0x6820200c0cfb329b},
        {quantiser, 33, 0, 512, DATA_CODED, 0xb3f92f8acc9e7735},
        {quantiser, 33, 0, 512, DATA_ADV, 0xd79a885a2f60e389},
        {quantiser, 33, 0, 512, DATA_RAND, 0x07656799e7b3b684},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct operands o = made(known[i].contract, known[i].data, known[i].nt, known[i].od, known[i].id,
                                 "q4_K/pad40/mmq_wide_ldb_kd8/nt33.od70.id512/adv/s1");
        cr_expect_eq(hash_of(&o), known[i].hash, "%s %s: 0x%016llx", known[i].contract, data_class_names[known[i].data],
                     (unsigned long long)hash_of(&o));
        operands_free(&o);
        struct operands other =
            made(known[i].contract, known[i].data, known[i].nt, known[i].od, known[i].id, "another id");
        cr_expect(hash_of(&other) != known[i].hash || (known[i].data == DATA_CODED && !known[i].od),
                  "%s %s: another id gives the same bytes", known[i].contract, data_class_names[known[i].data]);
        operands_free(&other);
    }
}

Test(operands, weights_do_not_depend_on_the_number_of_tokens) {
    for (enum data_class c = 0; c < DATA_REAL; c++) {
        struct operands a = made(two_term, c, 1, 5, 512, "id"), b = made(two_term, c, 9, 5, 512, "id");
        cr_expect_eq(memcmp(a.weight, b.weight, a.weight_bytes), 0, "%s: weights differ", data_class_names[c]);
        operands_free(&a);
        operands_free(&b);
    }
}

Test(operands, what_cannot_be_made_is_refused) {
    static struct contract strange;
    strange = *contract_named(two_term);
    strange.weight = "q9_X";
    static struct contract unfilled;
    unfilled = *contract_named(two_term);
    unfilled.weight = "bf16"; /* a format that ref/ decodes and that no class has data for */
    const struct contract *c = contract_named(two_term);
    const struct {
        struct operands_request r;
        const char *says;
    } bad[] = {
        {{.contract = &strange, .nt = 1, .od = 1, .id = 256}, "there is no format 'q9_X'"},
        {{.contract = &unfilled, .nt = 1, .od = 1, .id = 256}, "there are no data of class exact for format bf16"},
        {{.contract = c, .nt = 1, .od = 1, .id = 100}, "100"},
        {{.contract = c, .nt = 1, .od = 1, .id = 0}, "0"},
        {{.contract = c, .nt = 0, .od = 1, .id = 256}, "at least one row of pad40"},
        {{.contract = c, .nt = 1, .od = 1, .id = 16384 + 256}, "depths up to 16384, not 16640"},
        {{.contract = c, .nt = 1, .od = SIZE_MAX / 2, .id = 256}, "more than 4294967296 bytes"},
        {{.contract = c, .nt = (size_t)1 << 20, .od = (size_t)1 << 20, .id = 256}, "the result of contract"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct operands o;
        struct error e = {""};
        cr_expect_not(operands_make(&bad[i].r, &o, &e), "request %zu was accepted", i);
        cr_expect(strstr(e.text, bad[i].says), "request %zu says: %s", i, e.text);
        cr_expect(!o.weight && !o.activation, "request %zu left memory", i);
    }
}
