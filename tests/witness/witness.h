/* The comparison of ref/ with witnesses that are none of ours: ggml's own libraries, opened at run time, and with the
 * second implementations of tests/independent. Tests only; nothing of this is in the product. */
#ifndef WITNESS_H
#define WITNESS_H

#include "../../ref/format.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool wanted(const char *name); /* main.c: whether the command line leaves this format or contract in */

/* ---- report.c: one line a check, and the totals ---- */

enum outcome { PASSED, FAILED, SKIPPED };
/* Prints "ok|FAIL|skip  WITNESS  NAME  CHECK  text" and counts it. Called from one thread. */
void report(enum outcome outcome, const char *witness, const char *name, const char *check, const char *text, ...)
    __attribute__((format(printf, 5, 6)));
/* Prints "N passed, N failed, N skipped"; the exit code: 0, 1 a check failed, 3 nothing ran. */
int report_totals(void);

/* ---- blocks.c: block number `index` of the test of a format, a function of (format, index) alone ---- */

/* Blocks 0 .. block_edges-1 are the adversarial ones: all bits 0 and 1, every field at its extremes, every single bit
 * set and cleared under a scale of 1; of a 16-bit format all there are. Random bytes follow. finite: no infinity and no
 * NaN in a floating-point field; otherwise every eighth random block has any bits there. */
size_t block_edges(const struct block_format *f);
void block_of(const struct block_format *f, size_t index, bool finite, uint8_t *block);

/* ---- values.c: f32 inputs of the quantisers, likewise ---- */

/* x[0 .. n-1]: normal at any scale, any finite bits, ties of every closed quantiser, zeros of both signs, subnormals,
 * numbers near the largest, outliers, ramps. */
void values_of(const char *name, size_t index, float *x, size_t n);

/* ---- decode.c ---- */

/* out (count, block_values) = values of blocks (count, block_bytes). */
typedef void decode_blocks(const void *context, const uint8_t *blocks, float *out, size_t count);
/* Compares ref with `decode` over blocks 0 .. edges+blocks-1, bit for bit; two NaN count as equal. Reports it. */
void compare_decoder(const struct block_format *f, const char *witness, decode_blocks *decode, const void *context,
                     size_t blocks, bool finite);
void compare_independent(const struct block_format *f, size_t blocks);

/* ---- ggml.c ---- */

typedef void ggml_decoder(const void *blocks, float *out, int64_t values);
typedef void ggml_quantiser(const float *in, void *blocks, int64_t values);
typedef void ggml_dot(int n, float *s, size_t bs, const void *x, size_t bx, const void *y, size_t by, int nrc);

bool ggml_open(const char *folder);                /* libggml-base.so.0 and libggml-cpu.so.0; false after a message */
ggml_decoder *ggml_decoder_of(const char *format); /* NULL when ggml has none */
ggml_quantiser *ggml_quantiser_of(const char *format); /* of a block format, q8_1 or q8_K */
/* The scalar dot product of a format with q8_0, q8_1 or q8_K, whose name goes to *activation; NULL also where
 * libggml-cpu.so.0 does not run. */
ggml_dot *ggml_dot_of(const char *format, const char **activation);

void compare_ggml_decoder(const struct block_format *f, size_t blocks);

/* ---- quantise.c ---- */

void compare_quantiser(const struct block_format *f, size_t blocks); /* closed: bytes; searching: error */
void compare_activation_quantisers(size_t blocks);
/* Writes the values of so many blocks that ggml defines, then the blocks that ref makes of them, to stdout; false where
 * the format has no closed quantiser. */
bool dump_quantised(const struct block_format *f, size_t blocks);

/* ---- dot.c ---- */

/* The integers of a block (unpack, pack) against ggml's scalar dot product, under powers of two where any order of
 * summation gives the same bits. */
void compare_integers(const struct block_format *f, size_t blocks);
void compare_contracts(void); /* the contracts of ggml's CPU path, bit for bit */

#endif
