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

/* ---- narrow.c ---- */

/* Formats of few bits, as patterns without a sign: the largest finite number, infinity (0: there is none), NaN. */
struct narrow_format {
    const char *name;
    int precision, least;
    uint32_t finite, infinity, nan;
};
extern const struct narrow_format independent_narrow_formats[5]; /* f16 bf16 tf32 e4m3 e5m2 */
/* The pattern, without its sign, of +-(mantissa * 2^exponent) < 2^64 * 2^exponent rounded: mode n to nearest even, a to
 * nearest and ties away, z toward zero, m down, p up. */
uint32_t independent_narrow(const struct narrow_format *f, char mode, bool negative, u128 mantissa, int exponent,
                            bool satfinite);

/* ---- bits.c ---- */

/* `count` bits from number `first` on, bit 0 being the lowest of byte 0; the first is the lowest of the result. */
unsigned independent_bits(const uint8_t *bytes, unsigned first, unsigned count);
int independent_signed_bits(const uint8_t *bytes, unsigned first, unsigned count); /* in two's complement */

/* ---- half.c ---- */

double independent_half_value(uint16_t h); /* by ldexp; infinities and NaN as C has them */

/* ---- decoders.c: one decoder a format, one file each ---- */

/* bits[e] = the f32 that value e of a block is, for a block whose floating-point fields are finite. block: exactly the
 * format's bytes; bits: (block_values). */
typedef void independent_decoder(const uint8_t *block, uint32_t *bits);
independent_decoder *independent_decoder_of(const char *format); /* ggml's name; NULL when there is none */

independent_decoder independent_f32, independent_f16, independent_bf16, independent_q4_0, independent_q4_1,
    independent_q5_0, independent_q5_1, independent_q8_0, independent_q2_k, independent_q3_k, independent_q4_k,
    independent_q5_k, independent_q6_k, independent_q8_k, independent_iq4_nl, independent_iq4_xs, independent_mxfp4;

/* ---- q4_0.c, q4_1.c, ...: quantisers as ggml states them, for finite values ---- */

/* How a quantiser goes wrong: id from the stored scale, x * id + 1/2 rounded once only, halves to even. */
enum slip { NO_SLIP, STORED_SCALE, FUSED, HALVES_TO_EVEN };
/* block = the quantised form of x (bits of f32, finite), with a planted slip or without. */
typedef void independent_quantizer(const uint32_t *x, uint8_t *block, enum slip slip);
independent_quantizer independent_quantize_q4_0, independent_quantize_q4_1, independent_quantize_q5_0,
    independent_quantize_q5_1, independent_quantize_q8_0, independent_quantize_mxfp4, independent_quantize_bf16;
/* The first two with any number of codes: n - codes / 2 by d, and n by d plus m. */
void independent_codes_by_largest(const uint32_t x[32], int codes, enum slip slip, uint16_t *d, uint8_t n[32]);
void independent_codes_by_range(const uint32_t x[32], int codes, enum slip slip, uint16_t d_m[2], uint8_t n[32]);
/* Nibble e of 32 at 16 bytes: the low halves first; and the bits of n there set (they MUST be 0 before). */
unsigned independent_nibble(const uint8_t bytes[16], unsigned e);
void independent_set_nibble(uint8_t bytes[16], unsigned e, unsigned n);
extern const int independent_iq4_codes[16];

/* ---- integers.c; a reader in the file of each format ---- */

struct integers { /* value e of a block stands for d * scale * code - dmin * min */
    int code, scale, min;
    uint32_t d, dmin; /* binary16, 0 where the format has none; a minimum beside d (q4_1, q5_1) is -dmin, min 1 */
};
typedef struct integers independent_reader(const uint8_t *block, unsigned e);
independent_reader independent_read_q4_0, independent_read_q4_1, independent_read_q5_0, independent_read_q5_1,
    independent_read_q8_0, independent_read_q2_k, independent_read_q3_k, independent_read_q4_k, independent_read_q5_k,
    independent_read_q6_k;
struct integer_format {
    const char *name; /* ggml's */
    unsigned values, bytes, sub_values;
    independent_reader *read;
};
const struct integer_format *independent_integers_of(const char *format); /* of a reader above; NULL for any other */
/* bits[e] = the f32 nearest to what value e stands for, d and dmin being finite; a decoder. */
void independent_values(independent_reader *read, unsigned count, const uint8_t *block, uint32_t *bits);

/* ---- q8_k.c ---- */

/* How a quantiser to q8_K goes wrong: halves away from zero, x divided by the stored d, d of the sign of the largest
 * value, the last of several largest values in place of the first. */
enum q8_k_slip { Q8_K_RIGHT, Q8_K_HALVES_AWAY, Q8_K_STORED_SCALE, Q8_K_SIGN, Q8_K_LAST };
/* block = the q8_K form of x (bits of f32, finite), with a planted slip or without. */
void independent_quantize_q8_k(const uint32_t x[256], uint8_t block[292], enum q8_k_slip slip);

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
    bool ties_to_even, keeps_subnormals, divides_exactly, sums_in_order, holds_codes, scale_of_amax, sum_of_values;
};
/* rcp.approx.ftz of sm_90. table: the measured table unpacked, 2^21 bytes; NULL: correctly rounded. */
uint32_t independent_rcp_approx(const uint8_t *table, uint32_t x);
void independent_q8_1(const struct q8_1_rules *r, const uint32_t x[32], uint8_t block[36]);
void independent_q8_1_cuda(const struct q8_1_rules *r, const uint8_t *table, const uint32_t x[32], uint8_t block[36]);
enum q8_1_mmq_kind { Q8_1_MMQ_D4, Q8_1_MMQ_DS4, Q8_1_MMQ_D2S6 };
void independent_q8_1_mmq(enum q8_1_mmq_kind kind, const struct q8_1_rules *r, const uint8_t *table,
                          const uint32_t x[128], uint8_t block[144]);

/* ---- pad40_cell.c ---- */

enum fold { ONE_TERM, TWO_TERM, RANK_1 };
/* One cell of a contract over pad40: bits of the f32 result of a weight row and a row of pad40 blocks, depth id. */
uint32_t independent_pad40_cell(const struct integer_format *f, enum fold fold, const uint8_t *weight_row,
                                const uint8_t *activation_row, size_t id);
/* The same cell without any rounding, in units of 2^-48; all operands MUST be finite. */
s128 independent_pad40_exact(const struct integer_format *f, enum fold fold, const uint8_t *weight_row,
                             const uint8_t *activation_row, size_t id);

/* Contracts of matrix-vector kernels over pad40; a test breaks the last two. */
struct matvec_rules {
    int offset;         /* of the codes as they lie in the block above those that the reader gives */
    bool minima;        /* the format has them */
    bool pairs;         /* two chunks at a time */
    bool lanes_in_runs; /* a lane takes neighbouring chunks in place of every 32nd */
    bool tree_upwards;  /* xor 1, 2, 4, 8, 16 */
};
uint32_t independent_matvec_cell(const struct integer_format *f, const struct matvec_rules *r,
                                 const uint8_t *weight_row, const uint8_t *activation_row, size_t id);

/* ---- soft.c: f32 on exact sums ---- */

/* Positive and negative terms of a sum, each in units of 2^-WIDE_BELOW_ONE, lowest word first. */
enum { WIDE_WORDS = 24, WIDE_BELOW_ONE = 384 };
struct wide {
    uint32_t plus[WIDE_WORDS], minus[WIDE_WORDS];
};
void independent_wide_add(struct wide *sum, bool negative, u128 mantissa, int exponent);
/* sum += a * b * n; a, b: bits of finite f32. */
void independent_wide_add_product(struct wide *sum, uint32_t a, uint32_t b, int64_t n);
double independent_wide_value(const struct wide *sum); /* within 2^-52 of itself */

/* independent_round to f32; with `flush` 0 where PTX has it under .ftz. */
uint32_t independent_rounded(bool negative, u128 mantissa, int exponent, bool more, bool flush);
/* Bits of f32 in, bits of the f32 nearest to a * b + c (a * b, a + b, a / b) out, ties to even; NaN is 0x7fffffff. With
 * `flush` as PTX has it under .ftz. */
uint32_t independent_fma(uint32_t a, uint32_t b, uint32_t c, bool flush);
uint32_t independent_multiply(uint32_t a, uint32_t b, bool flush);
uint32_t independent_add(uint32_t a, uint32_t b, bool flush);
uint32_t independent_divide(uint32_t a, uint32_t b, bool flush);
/* The value as a whole number, the fraction cut off, held to +-(2^31 - 1); NaN gives 0. */
int32_t independent_truncate(uint32_t a);
/* The whole number nearest to it, halves away from zero or to even, held to int32; NaN gives 0. */
int32_t independent_nearest(uint32_t a, bool to_even);
/* -1, 0, 1 as the value of a is below, equal to or above that of b; neither is NaN. */
int independent_compare(uint32_t a, uint32_t b);
uint32_t independent_largest(const uint32_t *x, size_t count); /* max |x|; NaN only where there is nothing else */
uint32_t independent_whole(int64_t n);                         /* nearest f32 */
uint32_t independent_widened(uint32_t half);                   /* f32 of a binary16 */
uint16_t independent_half_of(uint32_t a);                      /* binary16 nearest to an f32; NaN is 0x7fff */
uint32_t independent_half_times(uint32_t half, unsigned n);    /* binary16 nearest to half * n; NaN is 0x7fff */

/* ---- stream_k.c ---- */

/* owner[tile * row_blocks + block] = the worker that computes this block of this tile; step: blocks of an iteration. */
void independent_stream_k(size_t tiles, size_t row_blocks, size_t step, size_t multiprocessors, size_t *owner);
size_t independent_stream_k_workers(size_t tiles, size_t multiprocessors);

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

/* mma.c: one element of the result of mma with floating-point operands on sm_75 .. sm_121. a, b: k codes of type "f16",
 * "bf16", "tf32" (the upper 19 bits), "e4m3" or "e5m2"; c and the result: bits of an f32, or (half) of an f16. */
uint32_t independent_mma(unsigned sm, const char *a_type, const char *b_type, int k, bool half, const uint32_t *a,
                         const uint32_t *b, uint32_t c);

/* ---- fragments.c: who holds what, as the figures of the PTX ISA draw it ---- */

struct holder {
    unsigned thread, element; /* of its a0, a1 ..: element / (32 / bits) is the register */
};
/* Element (row, k) of A of m rows, (n, k) of B, (row, n) of C and D of m rows; row_bytes: along k. */
struct holder independent_a(unsigned m, unsigned row_bytes, unsigned bits, unsigned row, unsigned k);
struct holder independent_b(unsigned bits, unsigned n, unsigned k);
struct holder independent_c(unsigned row, unsigned n);
/* The half (8 * matrix + row, column) of ldmatrix. */
struct holder independent_matrix(bool trans, unsigned row, unsigned column);
/* Which 16-byte chunk of its row `row` of the pattern the chunk `chunk` lies in; width: 32, 64, 128 bytes. */
unsigned independent_chunk(unsigned width, unsigned row, unsigned chunk);
/* Where an operand of wgmma lies that is packed without gaps; width: 16 (no swizzle), 32, 64 or 128 bytes.
 * K-major: byte k of row m or n. MN-major: the 16-bit element (mn, k), k < 16. */
unsigned independent_k_major(unsigned width, unsigned row, unsigned k);
unsigned independent_mn_major(unsigned width, unsigned mn, unsigned k);

/* ---- banks.c: wavefronts of shared memory ---- */

/* One rule of facts/ptx.md 5.1 that a test breaks: what was measured must say so. */
enum bank_rule {
    BANK_RULE_NONE,
    BANK_RULE_NEVER_MERGES,   /* no load merges pairs of lanes */
    BANK_RULE_NO_DISTANCE_2,  /* pairs (l, l xor 2) do not */
    BANK_RULE_DISTANCE_4,     /* pairs (l, l xor 4) do as well */
    BANK_RULE_MIXED,          /* each lane may choose its distance */
    BANK_RULE_HALVES,         /* the first and the last 16 lanes of a 128-bit load merge each by itself */
    BANK_RULE_IDLE_DIFFERS,   /* an inactive partner has another address */
    BANK_RULE_STORES_MERGE,   /* stores do as well */
    BANK_RULE_MATRICES_MERGE, /* a matrix equal to the one before costs nothing */
    BANK_RULE_INTERLEAVED,    /* a phase has every second, every fourth lane */
    BANK_RULES
};
struct independent_banks {
    unsigned wavefronts, conflicts;
};
/* op: as tables of accesses have it, "ld64", "stmatrix_x4_trans". at: (32) byte offsets, -1: inactive. */
struct independent_banks independent_banks(const char *op, const int64_t at[32], enum bank_rule broken);

/* ---- tokenizer.c ---- */

enum tokenizer_broken {
    TOKENIZER_RIGHT,
    TOKENIZER_RIGHTMOST,     /* of equal merges the rightmost goes first */
    TOKENIZER_SHORTEST,      /* of user-defined tokens the shortest goes first */
    TOKENIZER_NO_WHOLE_WORDS /* llama-bpe merges pieces that are tokens */
};
struct independent_token {
    const uint8_t *text;
    size_t length;
    int type; /* 1 normal, 4 user-defined, 6 byte; others are no text */
    float score;
};
struct independent_tokenizer {
    const struct independent_token *token; /* (size) */
    size_t size, merge_count;
    bool byte_level, space_prefix;
    const char *pre;              /* "gpt-2", "qwen2", "llama-bpe", "default" */
    const char *const *merges;    /* (merge_count) "left right" */
    char (*class_of)(uint32_t c); /* 'L', 'N', 'Z' (white space), 'P', or another */
    enum tokenizer_broken broken;
    uint32_t *order; /* (ordered) made by independent_sort_tokens; the caller frees it */
    size_t ordered;
};
void independent_sort_tokens(struct independent_tokenizer *t);
/* ids (room for 3 * length + 3) of well-formed UTF-8; returns how many, SIZE_MAX when a character has no token. */
size_t independent_encode(const struct independent_tokenizer *t, const uint8_t *text, size_t length, uint32_t *ids);
/* cut[i] (length + 1, false before) = a piece of the pre-tokeniser begins at byte i > 0. */
void independent_pieces(const struct independent_tokenizer *t, const uint8_t *text, size_t length, bool *cut);

#endif
