/* Class coded: a block says which row and super-block (token and chunk) it was made for, and every element differs from
 * its neighbours, so a wrong index cannot give the right answer by luck and a finding can say what was read instead.
 * d = (mantissa, exponent) are the fields of a binary16; exponents stay in 8 .. 11, values in 2^-7 .. 2^-3.
 *
 * q4_K, row r, super-block b, sub-block s, value k:
 *   dmin  mantissa (b mod 32) * 32 + r mod 32;  exponent 8 + (r / 1024) mod 4
 *   d     mantissa r mod 1024;                  exponent 8 + (b + b / 32) mod 4
 *         so r mod 4096 and b mod 128 can be read back; d and dmin both change from row to row and from b to b
 *   sc[s] 8 * (1 + (r + 3 b) mod 7) + s         8 .. 63, the low three bits are s
 *   m[s]  8 * (1 + (2 r + b + 3) mod 7) + 7 - s 8 .. 63, the low three bits are 7 - s, never equal to sc[s]
 *   n     (5 k + 3 (k / 16) + 3 r + 5 (r / 16) + 7 s + 9 b + salt) mod 16: differs between neighbours in k, k and k+16,
 *         neighbours in r, r and r+16, neighbours in s and in b; salt comes from the case
 *
 * pad40, token t, chunk c, value k:
 *   d     mantissa t mod 1024;  exponent 8 + (c + c / 224) mod 4
 *   q     7 * ((11 k + 3 t + c) mod 32) + (c / 32) mod 7 - 111: 32 different values in -111 .. 112
 *         so q[0] gives c mod 32 (t is known from d), then c / 32 mod 7; the exponent says which 224: c mod 896
 *
 * f32, token t, chunk c of 32 values: x[k] = rn(s * (8 * ((11 k + 3 t + c) mod 32) - 124)),
 *   s     1 + (t mod 4096) * 2^-12 + (c mod 2048) * 2^-23: all 24 bits are code; the factors +-4 give s back exactly */
#include "../ref/pad40.h"
#include "../ref/q4_k.h"
#include "data.h"
#include "data_f16.h"
#include <math.h>
#include <string.h>

static uint16_t half_of(size_t mantissa, size_t exponent) {
    return (uint16_t)(exponent << 10 | mantissa);
}

static void fill_q4_k(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    struct block_q4_k *block = bytes;
    const size_t salt = random_below(s, 16);
    for (size_t r = 0; r < rows; r++)
        for (size_t b = 0; b < depth / Q4_K_VALUES; b++, block++) {
            uint8_t sc[Q4_K_SUB_BLOCKS], m[Q4_K_SUB_BLOCKS], n[Q4_K_SUB_VALUES];
            block->d = half_of(r % 1024, 8 + (b + b / 32) % 4);
            block->dmin = half_of(b % 32 * 32 + r % 32, 8 + r / 1024 % 4);
            for (unsigned sub = 0; sub < Q4_K_SUB_BLOCKS; sub++) {
                sc[sub] = (uint8_t)(8 * (1 + (r + 3 * b) % 7) + sub);
                m[sub] = (uint8_t)(8 * (1 + (2 * r + b + 3) % 7) + 7 - sub);
                for (size_t k = 0; k < Q4_K_SUB_VALUES; k++)
                    n[k] = (5 * k + 3 * (k / 16) + 3 * r + 5 * (r / 16) + 7 * sub + 9 * b + salt) % 16;
                q4_k_set_nibbles(block, sub, n);
            }
            q4_k_pack_scales(sc, m, block->scales);
        }
}

void coded_q4_k_place(const void *block, size_t *row, size_t *super) {
    struct block_q4_k b;
    memcpy(&b, block, sizeof b);
    size_t low = (b.dmin & 1023u) >> 5; /* super-block mod 32 */
    *row = (b.d & 1023u) + 1024 * ((b.dmin >> 10) - 8u);
    *super = low + 32 * (((b.d >> 10) - 8u - low) & 3);
}

static void fill_pad40(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    (void)s; /* all bits are code */
    struct block_pad40 *block = bytes;
    for (size_t t = 0; t < rows; t++)
        for (size_t c = 0; c < depth / PAD40_VALUES; c++, block++) {
            *block = (struct block_pad40){.d = half_of(t % 1024, 8 + (c + c / 224) % 4)};
            for (size_t k = 0; k < PAD40_VALUES; k++) {
                block->q[k] = (int8_t)(7 * (int)((11 * k + 3 * t + c) % 32) + (int)(c / 32 % 7) - 111);
                block->sum += block->q[k];
            }
        }
}

void coded_pad40_place(const void *block, size_t *token, size_t *chunk) {
    struct block_pad40 b;
    memcpy(&b, block, sizeof b);
    *token = b.d & 1023u;
    size_t code = (size_t)(b.q[0] + 111);
    size_t low = (code / 7 - 3 * *token) & 31; /* chunk mod 32 */
    size_t below = low + 32 * (code % 7);      /* chunk mod 224 */
    *chunk = below + 224 * (((b.d >> 10) - 8u - below) & 3);
}

static void fill_f32(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    (void)s; /* all bits are code */
    float *x = bytes;
    for (size_t t = 0; t < rows; t++)
        for (size_t k = 0; k < depth; k++) {
            size_t c = k / 32;
            float scale = 1.0f + (float)(t % 4096) * 0x1p-12f + (float)(c % 2048) * 0x1p-23f;
            *x++ = scale * (float)(8 * (int)((11 * (k % 32) + 3 * t + c) % 32) - 124);
        }
}

void coded_f32_place(const float block[32], size_t *token, size_t *chunk) {
    float least = fabsf(block[0]); /* 4 s */
    for (int k = 1; k < 32; k++)
        least = fminf(least, fabsf(block[k]));
    uint32_t code = (uint32_t)((least * 0.25f - 1.0f) * 0x1p23f);
    *token = code >> 11;
    *chunk = code & 2047;
}

const struct data_filler data_coded[] = {
    {"q4_K", fill_q4_k}, {"pad40", fill_pad40}, {"f32", fill_f32}, {"f16", data_f16_coded}, {0}};
