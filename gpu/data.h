/* Operand data of cases, by class. A format that can pack integers (ref/format.h, ref/activation.h) has data of every
 * class by the rules of data_packed.c; one with corners of its own has a filler in the table at the end of the class's
 * file (data_exact.c ...), which goes before. The classes always run in this order, because
 * the pattern of red and green is a diagnosis:
 *
 *   exact  every order of summation gives the same bits; red means layout, indexing or memory
 *   coded  every scale, row, sub-block and k differs from its neighbours and says where it belongs
 *   adv    zero blocks, subnormal and extreme scales, runs of the largest values, ties
 *   rand   values of sane size, like a layer's
 *   real   tensors of a GGUF file; needs no fillers, see data_real.c
 *   file   raw files that another program dumped; needs no fillers, see operands.h
 *
 * Made operands of a matrix product are always finite, so that equal bits mean equal numbers and not equal NaNs. Files
 * may hold anything. */
#ifndef GPU_DATA_H
#define GPU_DATA_H

#include "../ref/error.h"
#include "../ref/gguf.h"
#include "../ref/random.h"
#include <stdbool.h>
#include <stddef.h>

enum data_class { DATA_EXACT, DATA_CODED, DATA_ADV, DATA_RAND, DATA_REAL, DATA_FILE, DATA_CLASSES };

/* "exact" ...; the list is ended by NULL and stands in the order of the enum. */
extern const char *const data_class_names[DATA_CLASSES + 1];
/* The class of that name, of those whose data are made: not real, not file. */
bool data_class_made(const char *name, enum data_class *c);

struct data_filler {
    const char *format; /* "q4_K", "pad40", "f32"; NULL ends a table */
    /* bytes = (rows, depth / block_values) blocks, row-major. depth is a positive multiple of block_values; bytes is
     * aligned for any type. Nothing but the stream and the sizes may decide a byte. */
    void (*fill)(struct random_stream *s, size_t rows, size_t depth, void *bytes);
};
extern const struct data_filler data_exact[], data_coded[], data_adv[], data_rand[];

/* Values and bytes of a block of a weight or activation format, or of i8, which is a contract's result alone; fails on
 * a format that ref/ does not know. */
bool data_block(const char *format, size_t *block_values, size_t *block_bytes, struct error *e);

/* Fills a buffer of (rows, depth) values of a format, in its layout, with data of a generated class (before
 * DATA_REAL). Fails when the class has no filler for the format, when depth is not a positive multiple of its block,
 * and past the depth that the class serves (DATA_EXACT_DEPTH). */
bool data_fill(enum data_class c, const char *format, struct random_stream *s, size_t rows, size_t depth, void *bytes,
               struct error *e);

/* exact: in units of the product of the formats' least units, a weight's terms are at most 252 for each k (q4_K:
 * |d sc n| <= 126, |dmin m| <= 126) and an activation's |d q| at most 4, so a sum of all |terms| is at most
 * 1008 * depth < 2^24 up to this depth. A format that joins MUST keep to its half of that. */
enum { DATA_EXACT_DEPTH = 16384, DATA_EXACT_WEIGHT_UNITS = 252, DATA_EXACT_ACTIVATION_UNITS = 4 };

/* coded: the place that a block was made for, read back from its bytes; data_coded.c has the code. Rows and tokens come
 * back modulo 4096 (q4_K, f32) and 1024 (pad40), super-blocks modulo 128, chunks modulo 896 (pad40) and 2048 (f32). */
void coded_q4_k_place(const void *block, size_t *row, size_t *super);
void coded_pad40_place(const void *block, size_t *token, size_t *chunk);
void coded_f32_place(const float block[32], size_t *token, size_t *chunk);

/* real: out (nt, depth) f32 = token t is consecutive rows of `embedding`, from a row drawn from the stream (no two
 * tokens from the same one, going on at row 0 after the last), strung together, cut to depth values, and divided by
 * sqrt(mean x^2 + 1e-6): float64, one rounding at the end. path names the file in messages. Fails when there are fewer
 * rows than tokens, when ref/ cannot decode the tensor, or when a value is not finite. */
bool data_real_activations(const char *path, const struct gguf_tensor *embedding, struct random_stream *s, size_t nt,
                           size_t depth, float *out, struct error *e);
/* real: fails when a value of a weight tensor is not finite, naming the row. */
bool data_real_check(const char *path, const struct gguf_tensor *weight, struct error *e);

#endif
