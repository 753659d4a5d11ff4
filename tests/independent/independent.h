/* Second implementations of what ref/ computes, written from the texts of the formats, to judge ref/ with. They include
 * nothing of ref/, share no method with it (bit numbers, exact integers and search here, word arithmetic there), and
 * may be as slow as they like. */
#ifndef INDEPENDENT_H
#define INDEPENDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

/* ---- rounding.c ---- */

/* A binary interchange format of IEEE 754: `precision` significant bits, finest step 2^least, exponent field all ones
 * for infinity. */
struct binary {
    int precision, least, exponent_bits;
};
extern const struct binary binary16, binary32;

/* Bits of +-(mantissa * 2^exponent + something), rounded to nearest, ties to even; the something is 0, or with `more`
 * anything between 0 and 2^exponent (the mantissa MUST then have more bits than the format). */
uint32_t independent_round(const struct binary *f, bool negative, u128 mantissa, int exponent, bool more);

enum kind { FINITE, INFINITE, NOT_A_NUMBER };
struct parts { /* a finite number is +-(mantissa * 2^exponent) */
    enum kind kind;
    bool negative;
    uint32_t mantissa;
    int exponent;
};
struct parts independent_parts(const struct binary *f, uint32_t bits);

/* ---- half.c ---- */

double independent_half_value(uint16_t h);   /* by ldexp; infinities and NaN as C has them */
uint16_t independent_half_nearest(double x); /* by search among all binary16 values; NaN gives 0x7fff */

/* ---- decoders.c: one decoder a format, one file each ---- */

/* bits[e] = the f32 that value e of a block is, for a block whose floating-point fields are finite. block: exactly the
 * format's bytes; bits: (block_values). */
typedef void independent_decoder(const uint8_t *block, uint32_t *bits);
independent_decoder *independent_decoder_of(const char *format); /* ggml's name; NULL when there is none */

/* ---- q4_k.c ---- */

struct q4_k_cell { /* value e of a block stands for d * scale * nibble - dmin * min */
    unsigned scale, min, nibble;
};
struct q4_k_cell independent_q4_k_cell(const uint8_t block[144], unsigned e);
/* Bits of the f32 nearest to the exact value e of a block with finite d and dmin. */
uint32_t independent_q4_k_value(const uint8_t block[144], unsigned e);

/* ---- iq.c, iq_lattice.c ---- */

independent_decoder independent_iq1_s, independent_iq1_m, independent_iq2_xxs, independent_iq2_xs, independent_iq2_s,
    independent_iq3_xxs, independent_iq3_s;
enum { INDEPENDENT_IQ_MOST = 2048 * 8 };
/* levels = the codebook of an iq format, row after row; returns how many levels, 0 for another format. */
size_t independent_iq_grid(const char *format, int8_t levels[INDEPENDENT_IQ_MOST]);

/* ---- pad40.c ---- */

void independent_pad40_quantize(const uint32_t x[32], uint8_t block[40]); /* x: bits of f32 */

/* ---- pad40_t.c ---- */

unsigned independent_pad40_t_reader(unsigned group, unsigned lane); /* byte of a chunk that the lane addresses */
unsigned independent_pad40_t_token(unsigned w);                     /* token of the tile that scale word w is of */
/* x: (nt, id) bits of f32; buffer: ceil(nt / 64) * id / 32 * 2304 bytes. */
void independent_pad40_t(const uint32_t *x, size_t nt, size_t id, uint8_t *buffer);

/* ---- q8_1.c ---- */

/* What the quantisers do not do, unless a test wants a fault: all false is the format. */
struct q8_1_rules {
    bool ties_to_even; /* q8_K: away from zero */
    bool keeps_subnormals, divides_exactly, sums_in_order, holds_codes, scale_of_amax, sum_of_values;
};
/* rcp.approx.ftz of sm_90. table: the measured table unpacked, 2^21 bytes; NULL: correctly rounded. */
uint32_t independent_rcp_approx(const uint8_t *table, uint32_t x);
void independent_q8_1(const struct q8_1_rules *r, const uint32_t x[32], uint8_t block[36]);
void independent_q8_1_cuda(const struct q8_1_rules *r, const uint8_t *table, const uint32_t x[32], uint8_t block[36]);
enum q8_1_mmq_kind { Q8_1_MMQ_D4, Q8_1_MMQ_DS4, Q8_1_MMQ_D2S6 };
void independent_q8_1_mmq(enum q8_1_mmq_kind kind, const struct q8_1_rules *r, const uint8_t *table,
                          const uint32_t x[128], uint8_t block[144]);
void independent_q8_k(const struct q8_1_rules *r, const uint32_t x[256], uint8_t block[292]);

/* ---- integers.c ---- */

struct integers { /* of one value of a block, and its floating-point fields as bits of binary16; 0 where it has none */
    int code, scale, min;
    uint32_t d, dmin; /* a minimum that stands beside d itself (q4_1, q5_1) is -dmin, and min is 1 */
};
struct integer_format {
    const char *name; /* ggml's */
    unsigned values, bytes, sub_values;
    struct integers (*read)(const uint8_t *block, unsigned e);
};
/* q4_0 q4_1 q5_0 q5_1 q8_0 q4_K q5_K q6_K; NULL for any other. */
const struct integer_format *independent_integers_of(const char *format);

/* ---- pad40_cell.c ---- */

enum fold { ONE_TERM, TWO_TERM, RANK_1 };
/* One cell of a contract over pad40: bits of the f32 result of a weight row and a row of pad40 blocks, depth id. */
uint32_t independent_pad40_cell(const struct integer_format *f, enum fold fold, const uint8_t *weight_row,
                                const uint8_t *activation_row, size_t id);
/* The same cell without any rounding, in units of 2^-48; all operands MUST be finite. */
s128 independent_pad40_exact(const struct integer_format *f, enum fold fold, const uint8_t *weight_row,
                             const uint8_t *activation_row, size_t id);

/* ---- soft.c: f32 on exact sums ---- */

/* Positive and negative terms of a sum, each in units of 2^-WIDE_BELOW_ONE, lowest word first. */
enum { WIDE_WORDS = 24, WIDE_BELOW_ONE = 384 };
struct wide {
    uint32_t plus[WIDE_WORDS], minus[WIDE_WORDS];
};
void independent_add(struct wide *sum, bool negative, u128 mantissa, int exponent);
/* sum += a * b * n; a, b: bits of finite f32. */
void independent_add_product(struct wide *sum, uint32_t a, uint32_t b, int64_t n);
double independent_wide_value(const struct wide *sum); /* within 2^-52 of itself */

/* Bits of f32 in, bits of the f32 nearest to a * b + c (a * b, a + b) out, ties to even; NaN is 0x7fffffff. With
 * `flush` as PTX has it under .ftz. */
uint32_t independent_fma(uint32_t a, uint32_t b, uint32_t c, bool flush);
uint32_t independent_times(uint32_t a, uint32_t b, bool flush);
uint32_t independent_plus(uint32_t a, uint32_t b, bool flush);
uint32_t independent_whole(int64_t n);                      /* nearest f32 */
uint32_t independent_widened(uint32_t half);                /* f32 of a binary16 */
uint32_t independent_half_times(uint32_t half, unsigned n); /* binary16 nearest to half * n; NaN is 0x7fff */

/* ---- stream_k.c ---- */

/* owner[tile * row_blocks + block] = the worker that computes this block of this tile, by walking every worker through
 * its share; step: blocks of an iteration. */
void independent_stream_k(size_t tiles, size_t row_blocks, size_t step, size_t workers, size_t *owner);

/* ---- mmq.c: contracts of llama.cpp's MMQ ---- */

enum mmq_kind { MMQ_Q4_K_DS4, MMQ_Q6_K_D4, MMQ_Q8_0_D4 };
/* The rules of a contract; a test breaks them one by one. */
struct mmq_rules {
    bool flush;         /* f32 is .ftz */
    bool half_products; /* q4_K: d * sc and dmin * m are rounded to binary16 */
};
/* Bits of the sum of one cell over depths from .. to - 1. weight_row, id: a row of the weight; activation, nt, token:
 * the whole buffer. */
uint32_t independent_mmq_part(enum mmq_kind kind, const uint8_t *weight_row, const uint8_t *activation, size_t nt,
                              size_t token, size_t from, size_t to, struct mmq_rules rules);
/* The terms of the cell over these depths without any rounding; operands MUST be finite. */
void independent_mmq_exact(enum mmq_kind kind, const uint8_t *weight_row, const uint8_t *activation, size_t nt,
                           size_t token, size_t from, size_t to, struct wide *sum);

/* ---- cpu.c: contracts of ggml's CPU over q8_K ---- */

enum cpu_kind { CPU_Q4_K, CPU_Q6_K };
/* Bits of a cell of depth id. fused: the lane's product and the product of minima are not rounded before they are
 * added, as a compiler that contracts makes it. */
uint32_t independent_cpu(enum cpu_kind kind, const uint8_t *weight_row, const uint8_t *activation_row, size_t id,
                         bool fused);
void independent_cpu_exact(enum cpu_kind kind, const uint8_t *weight_row, const uint8_t *activation_row, size_t id,
                           struct wide *sum);

/* scale * (n - 32) of value e of a q6_K block. */
int independent_q6_k_integer(const uint8_t block[210], unsigned e);

#endif
