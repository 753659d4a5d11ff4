/* mma with integers of 8, 4 and 1 bits: D = A B + C, exact, then wrapped to 32 bits or (.satfinite) clamped once.
 *
 * A register of 32 lanes is a matrix as it stands. a[r]: rows 8 (r & 1) .. +7, bytes 16 (r >> 1) .. +15 of k;
 * b[r]: columns 0 .. 7, bytes 16 r .. +15 of k; c[r]: rows 8 (r >> 1) .. +7, the columns 2 t + (r & 1), t = 0 .. 3.
 * All inputs are read before anything is written: D may be any of them. Smaller shapes come with zero registers.
 * Source: PTX ISA 9.7.14.5 (fragments of m16n8k32 and smaller); wrap and clamp as measured on an H200. Compiled once
 * for each instruction set. */
#include "isa.h"
#include <string.h>
#if defined __AVX2__
#include <immintrin.h>
#endif

#define JOIN2(a, b) a##_##b
#define JOIN(a, b)  JOIN2(a, b)

/* sums[r] = the fragment of A B alone: at most 32 * 255 * 255, so it never overflows. */
typedef int32_t fragment[4][LANES];

#if defined __AVX2__

static inline __m256i widen(const void *bytes, bool is_unsigned) {
    const __m128i x = _mm_loadu_si128((const __m128i *)bytes);
    return is_unsigned ? _mm256_cvtepu8_epi16(x) : _mm256_cvtepi8_epi16(x);
}

/* Columns in lanes: acc[row] += (pair of a in all lanes) . (pairs of b of the 8 columns), 16-bit products. */
static void multiply_pairs(fragment sums, const uint32_t *const a[4], const uint32_t *const b[2], bool a_unsigned,
                           bool b_unsigned) {
    int32_t pair_a[16][16], pair_b[8][16]; /* two values of k side by side, as 16-bit halves of a word */
    for (int row = 0; row < 8; ++row)
        for (int r = 0; r < 4; ++r)
            _mm256_storeu_si256((__m256i *)&pair_a[row + 8 * (r & 1)][8 * (r >> 1)], widen(a[r] + 4 * row, a_unsigned));
    for (int n = 0; n < 8; ++n)
        for (int r = 0; r < 2; ++r)
            _mm256_storeu_si256((__m256i *)&pair_b[n][8 * r], widen(b[r] + 4 * n, b_unsigned));
    __m256i column[16]; /* column[p] = pair p of all 8 columns */
    const __m256i stride = _mm256_setr_epi32(0, 16, 32, 48, 64, 80, 96, 112);
    for (int p = 0; p < 16; ++p)
        column[p] = _mm256_i32gather_epi32(&pair_b[0][p], stride, 4);
    const __m256i even_odd = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    for (int row = 0; row < 16; ++row) {
        __m256i x = _mm256_setzero_si256(), y = x;
        for (int p = 0; p < 16; p += 2) {
            x = _mm256_add_epi32(x, _mm256_madd_epi16(_mm256_set1_epi32(pair_a[row][p]), column[p]));
            y = _mm256_add_epi32(y, _mm256_madd_epi16(_mm256_set1_epi32(pair_a[row][p + 1]), column[p + 1]));
        }
        const __m256i z = _mm256_permutevar8x32_epi32(_mm256_add_epi32(x, y), even_odd);
        const int half = row >> 3, at = 4 * (row & 7);
        _mm_store_si128((__m128i *)&sums[2 * half][at], _mm256_castsi256_si128(z));
        _mm_store_si128((__m128i *)&sums[2 * half + 1][at], _mm256_extracti128_si256(z, 1));
    }
}
#else
static void multiply_pairs(fragment sums, const uint32_t *const a[4], const uint32_t *const b[2], bool a_unsigned,
                           bool b_unsigned) {
    int16_t wide_a[16][32], wide_b[8][32];
    for (int r = 0; r < 4; ++r)
        for (int row = 0; row < 8; ++row) {
            uint8_t bytes[16];
            memcpy(bytes, a[r] + 4 * row, 16);
            for (int k = 0; k < 16; ++k)
                wide_a[row + 8 * (r & 1)][k + 16 * (r >> 1)] = a_unsigned ? bytes[k] : (int8_t)bytes[k];
        }
    for (int r = 0; r < 2; ++r)
        for (int n = 0; n < 8; ++n) {
            uint8_t bytes[16];
            memcpy(bytes, b[r] + 4 * n, 16);
            for (int k = 0; k < 16; ++k)
                wide_b[n][k + 16 * r] = b_unsigned ? bytes[k] : (int8_t)bytes[k];
        }
    for (int row = 0; row < 16; ++row)
        for (int n = 0; n < 8; ++n) {
            int32_t sum = 0;
            for (int k = 0; k < 32; ++k)
                sum += wide_a[row][k] * wide_b[n][k];
            sums[2 * (row >> 3) + (n & 1)][4 * (row & 7) + (n >> 1)] = sum;
        }
}
#endif

#if defined __AVX512VNNI__
/* Rows in lanes: for each of the 8 words of k, word[q] = that word of all 16 rows, and each column takes one
 * multiply-add with its own word of b in all lanes. The instruction wants a unsigned: a signed a is moved up by 128,
 * and 128 times the sum of b's column is taken off again. */
static void multiply_words(fragment sums, const uint32_t *const a[4], const uint32_t *const b[2], bool a_unsigned) {
    const __m512i pick01 = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const __m512i pick23 = _mm512_setr_epi32(2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
    const __m512i up = _mm512_set1_epi32((int)0x80808080u);
    __m512i word[8];
    for (int half = 0; half < 2; ++half) {
        const uint32_t *top = a[2 * half], *bottom = a[2 * half + 1];
        const __m512i t0 = _mm512_load_si512(top), t1 = _mm512_load_si512(top + 16);
        const __m512i u0 = _mm512_load_si512(bottom), u1 = _mm512_load_si512(bottom + 16);
        const __m512i t01 = _mm512_permutex2var_epi32(t0, pick01, t1), t23 = _mm512_permutex2var_epi32(t0, pick23, t1);
        const __m512i u01 = _mm512_permutex2var_epi32(u0, pick01, u1), u23 = _mm512_permutex2var_epi32(u0, pick23, u1);
        word[4 * half] = _mm512_shuffle_i64x2(t01, u01, 0x44);
        word[4 * half + 1] = _mm512_shuffle_i64x2(t01, u01, 0xee);
        word[4 * half + 2] = _mm512_shuffle_i64x2(t23, u23, 0x44);
        word[4 * half + 3] = _mm512_shuffle_i64x2(t23, u23, 0xee);
    }
    int32_t start[LANES] __attribute__((aligned(64))); /* of column n: at 4 n */
    if (a_unsigned) {
        memset(start, 0, sizeof start);
    } else {
        for (int q = 0; q < 8; ++q)
            word[q] = _mm512_xor_si512(word[q], up);
        for (int i = 0; i < LANES; i += 16) {
            __m512i s = _mm512_dpbusd_epi32(_mm512_setzero_si512(), up, _mm512_load_si512(b[0] + i));
            s = _mm512_dpbusd_epi32(s, up, _mm512_load_si512(b[1] + i));
            s = _mm512_add_epi32(s, _mm512_shuffle_epi32(s, _MM_PERM_BADC));
            s = _mm512_add_epi32(s, _mm512_shuffle_epi32(s, _MM_PERM_CDAB));
            _mm512_store_si512(start + i, _mm512_sub_epi32(_mm512_setzero_si512(), s));
        }
    }
    __m512i column[8];
    for (int n = 0; n < 8; ++n) {
        __m512i x = _mm512_set1_epi32(start[4 * n]);
        for (int q = 0; q < 4; ++q)
            x = _mm512_dpbusd_epi32(x, word[q], _mm512_set1_epi32((int)b[0][4 * n + q]));
        for (int q = 0; q < 4; ++q)
            x = _mm512_dpbusd_epi32(x, word[4 + q], _mm512_set1_epi32((int)b[1][4 * n + q]));
        column[n] = x;
    }
    /* Four columns (the even, then the odd ones) of 16 rows -> four words a row. */
    for (int odd = 0; odd < 2; ++odd) {
        const __m512i c0 = column[odd], c1 = column[2 + odd], c2 = column[4 + odd], c3 = column[6 + odd];
        const __m512i l01 = _mm512_unpacklo_epi32(c0, c1), h01 = _mm512_unpackhi_epi32(c0, c1);
        const __m512i l23 = _mm512_unpacklo_epi32(c2, c3), h23 = _mm512_unpackhi_epi32(c2, c3);
        const __m512i r0 = _mm512_unpacklo_epi64(l01, l23), r1 = _mm512_unpackhi_epi64(l01, l23); /* rows 4i, 4i+1 */
        const __m512i r2 = _mm512_unpacklo_epi64(h01, h23), r3 = _mm512_unpackhi_epi64(h01, h23); /* rows 4i+2, +3 */
        const __m512i p02 = _mm512_shuffle_i64x2(r0, r1, 0x88), q02 = _mm512_shuffle_i64x2(r2, r3, 0x88); /* i = 0, 2 */
        const __m512i p13 = _mm512_shuffle_i64x2(r0, r1, 0xdd), q13 = _mm512_shuffle_i64x2(r2, r3, 0xdd); /* i = 1, 3 */
        /* p02 = rows 0 8 1 9, q02 = rows 2 10 3 11, p13 = rows 4 12 5 13, q13 = rows 6 14 7 15 */
        _mm512_store_si512(sums[odd], _mm512_shuffle_i64x2(p02, q02, 0x88));
        _mm512_store_si512(sums[odd] + 16, _mm512_shuffle_i64x2(p13, q13, 0x88));
        _mm512_store_si512(sums[2 + odd], _mm512_shuffle_i64x2(p02, q02, 0xdd));
        _mm512_store_si512(sums[2 + odd] + 16, _mm512_shuffle_i64x2(p13, q13, 0xdd));
    }
}
#endif

/* D = sums + C, for the lanes of the mask; w->wide + r->wide = d[4] a[4] b[2] c[4]. */
static void accumulate(struct warp *w, const struct record *r, uint32_t mask, fragment sums) {
    const uint32_t *at = w->wide + r->wide;
    for (int j = 0; j < 4; ++j) {
        const int32_t *c = (const int32_t *)reg32(w, at[10 + j]);
        if (r->imm & MMA_SATFINITE)
            for (int i = 0; i < LANES; ++i) {
                const int64_t sum = (int64_t)sums[j][i] + c[i];
                sums[j][i] = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
            }
        else
            for (int i = 0; i < LANES; ++i)
                sums[j][i] = (int32_t)((uint32_t)sums[j][i] + (uint32_t)c[i]);
    }
    for (int j = 0; j < 4; ++j) {
        uint32_t *d = reg32(w, at[j]);
        if (mask == ALL_LANES)
            memcpy(d, sums[j], sizeof sums[j]);
        else
            for (int i = 0; i < LANES; ++i)
                d[i] = mask >> i & 1 ? (uint32_t)sums[j][i] : d[i];
    }
    w->block->macs += (uint32_t)r->imm;
}

static void operands(struct warp *w, const struct record *r, const uint32_t *a[4], const uint32_t *b[2]) {
    for (int i = 0; i < 4; ++i)
        a[i] = reg32(w, w->wide[r->wide + 4 + i]);
    for (int i = 0; i < 2; ++i)
        b[i] = reg32(w, w->wide[r->wide + 8 + i]);
}

static void multiply(fragment sums, const uint32_t *const a[4], const uint32_t *const b[2], int64_t imm) {
#if defined __AVX512VNNI__
    if (!(imm & MMA_B_UNSIGNED)) {
        multiply_words(sums, a, b, imm & MMA_A_UNSIGNED);
        return;
    }
#endif
    multiply_pairs(sums, a, b, imm & MMA_A_UNSIGNED, imm & MMA_B_UNSIGNED);
}

static void mma_int8(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t *a[4], *b[2];
    fragment sums __attribute__((aligned(64)));
    operands(w, r, a, b);
    if (mask != w->live)
        check_convergence(w, r, mask, w->live);
    multiply(sums, a, b, r->imm);
    accumulate(w, r, mask, sums);
}

/* The even nibbles of a register of 4-bit values as bytes, and the odd ones. The sum does not ask for an order of k, so
 * the two make two multiplications of bytes, of the same shape. */
static void split_nibbles(const uint32_t from[LANES], bool is_unsigned, uint32_t even[LANES], uint32_t odd[LANES]) {
    const uint32_t sign = is_unsigned ? 0 : 0x08080808u;
    for (int i = 0; i < LANES; ++i) {
        const uint32_t low = from[i] & 0x0f0f0f0fu, high = from[i] >> 4 & 0x0f0f0f0fu;
        even[i] = low | (low & sign) * 30; /* 8 * 30 = 0xf0 */
        odd[i] = high | (high & sign) * 30;
    }
}

static void mma_int4(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t *a[4], *b[2], *half_a[2][4], *half_b[2][2];
    uint32_t bytes[2][6][LANES] __attribute__((aligned(64)));
    fragment sums __attribute__((aligned(64))), odd __attribute__((aligned(64)));
    operands(w, r, a, b);
    if (mask != w->live)
        check_convergence(w, r, mask, w->live);
    for (int i = 0; i < 6; ++i) {
        split_nibbles(i < 4 ? a[i] : b[i - 4], r->imm & (i < 4 ? MMA_A_UNSIGNED : MMA_B_UNSIGNED), bytes[0][i],
                      bytes[1][i]);
        for (int half = 0; half < 2; ++half)
            *(i < 4 ? &half_a[half][i] : &half_b[half][i - 4]) = bytes[half][i];
    }
    multiply(sums, half_a[0], half_b[0], r->imm);
    multiply(odd, half_a[1], half_b[1], r->imm);
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < LANES; ++i)
            sums[j][i] += odd[j][i];
    accumulate(w, r, mask, sums);
}

static inline int32_t ones(uint32_t x) {
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    return (int32_t)(((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24);
}

/* Lane i of sums[j]: row i / 4 + 8 (j / 2), column 2 (i % 4) + j % 2. The words of a row of A are those of the four
 * lanes of a group, in one or (k of 256 bits) two registers; the words of a column of B likewise. Halves that a shape
 * does not have come as zero registers, whose exclusive or is zero too. */
static void mma_bits(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t *a[4], *b[2];
    fragment sums __attribute__((aligned(64)));
    operands(w, r, a, b);
    if (mask != w->live)
        check_convergence(w, r, mask, w->live);
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < LANES; ++i) {
            const int row = i & ~3, column = 4 * (2 * (i & 3) + (j & 1));
            int32_t sum = 0;
            for (int half = 0; half < 2; ++half)
                for (int t = 0; t < 4; ++t) {
                    const uint32_t x = a[(j >> 1) + 2 * half][row + t], y = b[half][column + t];
                    sum += ones(r->imm & MMA_AND ? x & y : x ^ y);
                }
            sums[j][i] = sum;
        }
    accumulate(w, r, mask, sums);
}

extern handler JOIN(mma_float, ISA), JOIN(mma_f64, ISA); /* tensor_float.isa.c */

handler *const JOIN(tensor_ops, ISA)[TENSOR_OPS] = {
    [TENSOR_OP_INT8] = mma_int8,          [TENSOR_OP_INT4] = mma_int4,
    [TENSOR_OP_BITS] = mma_bits,          [TENSOR_OP_FLOAT] = JOIN(mma_float, ISA),
    [TENSOR_OP_F64] = JOIN(mma_f64, ISA),
};
