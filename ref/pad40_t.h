/* pad40_t: activations for 64-token tiles, 36 bytes for 32 values of a token, in two planes of one buffer.
 *
 *   yqs   [ntb][nchunk][2048]   int8 quants of 64 tokens x 32 values, swizzled so that ldmatrix meets no bank twice
 *   ysda  [ntb][nchunk][64]     32-bit words, one a token: binary16 d in the low half, int16 sum of quants in the high
 *
 * with ntb = ceil(nt / 64) and nchunk = id / 32; ysda begins where yqs ends, at ntb * nchunk * 2048. Tokens of the last
 * tile that are not there are zero. Source: the planes of the BT kernels of the minfer campaign (step documents 34 and
 * 37): swizzle, q-major scale words, zero-filled tail. */
#ifndef REF_PAD40_T_H
#define REF_PAD40_T_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PAD40_T_VALUES = 32,
    PAD40_T_BYTES = 36,        /* of a block: its share of both planes */
    PAD40_T_TOKENS = 64,       /* in a tile */
    PAD40_T_QUANT_BYTES = 2048 /* of a tile's chunk in yqs; its 64 words in ysda are 256 bytes */
};

/* A block out of the buffer: value k stands for d * q[k]. */
struct block_pad40_t {
    uint16_t d;  /* binary16 */
    int16_t sum; /* q[0] + ... + q[31], -4096 .. 4064 */
    int8_t q[32];
};
static_assert(sizeof(struct block_pad40_t) == PAD40_T_BYTES, "pad40_t block is 36 bytes");
static_assert(offsetof(struct block_pad40_t, sum) == 2, "pad40_t word: d low, sum high");
static_assert(offsetof(struct block_pad40_t, q) == 4, "pad40_t quants");

/* Where, in a chunk of yqs, 32-bit word u (0 .. 7) of row r (0 .. 63) lies, in bytes:
 *   granule = ((r & 3) * 2 + (u >> 2)) xor ((r >> 2) & 7) ; byte = (r & ~3) * 32 + 16 * granule + 4 * (u & 3) */
static inline size_t pad40_t_quant_byte(size_t r, size_t u) {
    size_t granule = ((r & 3) * 2 + (u >> 2)) ^ (r >> 2 & 7);
    return (r & ~(size_t)3) * 32 + 16 * granule + 4 * (u & 3);
}

/* Which of the 64 words of a chunk of ysda is row r's: q-major, so that one 16-byte read serves four rows.
 *   (g >> 1) * 32 + q * 4 + (g & 1) * 2 + half ; g = r >> 4, q = r & 7, half = r >> 3 & 1 */
static inline size_t pad40_t_scale_word(size_t r) {
    size_t g = r >> 4, q = r & 7, half = r >> 3 & 1;
    return (g >> 1) * 32 + q * 4 + (g & 1) * 2 + half;
}

#endif
