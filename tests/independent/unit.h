/* A second reading of single PTX instructions, to judge the PTX machine with: what an instruction makes of one lane's
 * operands, or of 32 lanes', written from the text of the PTX ISA and from measurements of an H200. Floats are exact
 * numbers of any length here, rounded once, in one place; integers are exact 128-bit ones. Nothing is shared with gpu/
 * or ref/, and it may be as slow as it likes. */
#ifndef INDEPENDENT_UNIT_H
#define INDEPENDENT_UNIT_H

#include "independent.h"

/* ---- unit_exact.c: whole numbers without end, numbers with an exponent, one rounding ---- */

enum { BIG_WORDS = 80 }; /* of 64 bits: more than the exponents of binary64 span, twice */
struct big {
    int count; /* words in use; the highest is not 0 */
    uint64_t word[BIG_WORDS];
};

/* A format of floating-point numbers. Bits: sign, exponent, fraction, then `pad` zeros. */
struct unit_format {
    const char *name;
    int precision, least, exponent_bits; /* significant bits; finest step 2^least */
    int pad;                             /* tf32 stands in the upper bits of 32 */
    bool all_finite;                     /* e4m3: no infinities, NaN is the one code of all ones */
    uint64_t nan;                        /* the NaN that operations give */
};
extern const struct unit_format unit_f16, unit_bf16, unit_tf32, unit_f32, unit_f64, unit_e4m3, unit_e5m2;

enum unit_rounding { UNIT_RN, UNIT_RZ, UNIT_RM, UNIT_RP, UNIT_RNA };

/* +-mantissa * 2^exponent; `more`: and something below, less than 2^exponent. */
struct exact {
    enum kind kind;
    bool negative, more;
    int exponent;
    struct big mantissa;
};

struct exact unit_decode(const struct unit_format *f, uint64_t bits, bool flush); /* flush: subnormals are zeros */
uint64_t unit_zero(const struct unit_format *f, bool negative);
uint64_t unit_infinity(const struct unit_format *f, bool negative);
uint64_t unit_largest(const struct unit_format *f, bool negative);
/* Bits of x, finite or infinite, rounded once. flush: a result that is below the normal numbers when rounded with no
 * end to the exponents is a zero of its sign (measured). */
uint64_t unit_round(const struct unit_format *f, const struct exact *x, enum unit_rounding r, bool flush);
struct exact exact_of(bool negative, u128 mantissa, int exponent);
void exact_add(struct exact *sum, const struct exact *a, const struct exact *b); /* both finite; 0 has sign + or, of
                                                                                  * two equal signs, that one */
void exact_multiply(struct exact *product, const struct exact *a, const struct exact *b); /* both finite */
int exact_compare(const struct exact *a, const struct exact *b);                          /* no NaN: -1, 0, 1 */
bool exact_is_zero(const struct exact *x);
void big_shift_left(struct big *x, int bits);
int big_length(const struct big *x);
bool big_bit(const struct big *x, int bit);
bool big_any_below(const struct big *x, int bit);

/* ---- unit_form.c: the text of a form ---- */

/* A form is PTX with operands left open:
 *   $u32    the next source, of this kind (a kind says the register and which values it is tried with)
 *   =f32    the next result;    =_   a result that nobody looks at
 *   $0 @0   source 0, result 0 once more
 *   @$pred  a guard
 *   [global] [shared] [generic] [local] [const]   the lane's own 16 bytes of memory: two sources of kind b64 say what
 * is in them before, and all but [const] are two results after; [shared.warp] ...: 16 bytes that all lanes share [rows]
 * 16 bytes a lane as before, but the address is that of the lane that the next source of kind `row` names Several
 * instructions stand one after the other, each ended by ";". */
enum { UNIT_PARTS = 14, UNIT_OPERANDS = 24, UNIT_STEPS = 12, UNIT_INPUTS = 24, UNIT_RESULTS = 16, UNIT_MEMORIES = 4 };
enum unit_from { FROM_INPUT, FROM_RESULT, FROM_LITERAL, FROM_MEMORY, FROM_NOWHERE };
struct unit_ref {
    enum unit_from from;
    unsigned index;
    bool negated;     /* !$pred */
    char selector[8]; /* of a video operand: "b0", "h1", "b3210" */
    uint64_t literal; /* an immediate operand; a displacement of a memory operand */
};
struct unit_type {
    char kind;             /* u s b f p */
    unsigned bits, packed; /* of one element; elements */
    const struct unit_format *format;
};
struct unit_step {
    char name[24];
    char part[UNIT_PARTS][28];
    unsigned parts;
    struct unit_ref source[UNIT_OPERANDS], result[UNIT_RESULTS];
    unsigned sources, results;
    bool guarded; /* @$pred or @!$pred: lanes whose guard is 0 are left alone */
    struct unit_ref guard;
    /* what the parts say */
    struct unit_type type[4];
    unsigned types;
    enum unit_rounding rounding;
    bool rounded, integral; /* a rounding is written; it is .rni .rzi .rmi .rpi */
    bool ftz, sat, satfinite, relu, nan, xorsign, cc, wide, hi, lo, approx, wrap, shiftamt;
    unsigned vector; /* .v2 .v4 .v8, else 1 */
    const struct unit_rule *rule;
};
struct unit_memory {
    char space[16];
    bool shared_by_warp, rows;
    unsigned input, result; /* the first of two (rows: then the row); result: UNIT_RESULTS when there is none */
};
struct unit_form {
    struct unit_step step[UNIT_STEPS];
    unsigned steps;
    char input[UNIT_INPUTS][12], result[UNIT_RESULTS][12]; /* kinds */
    unsigned inputs, results;
    struct unit_memory memory[UNIT_MEMORIES];
    unsigned memories;
    bool warp; /* some step looks at all lanes */
};
/* False when the text is no form, or no rule here knows an instruction of it: why says so. */
bool unit_form_read(const char *text, struct unit_form *f, char *why, size_t room);
bool unit_has(const struct unit_step *s, const char *part);

/* ---- rules ---- */

struct unit_lane { /* of one lane, while a form runs */
    bool carry;
    uint8_t memory[UNIT_MEMORIES][16];
};
struct unit_rule {
    const char *name;
    /* d = results; a = sources as bits, predicates 0 or 1, memory operands: number of the memory << 8 | displacement */
    void (*lane)(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l);
    /* the same for 32 lanes at once */
    void (*warp)(const struct unit_step *s, const uint64_t (*a)[32], uint64_t (*d)[32], struct unit_lane *l);
};
extern const struct unit_rule unit_rules_float[], unit_rules_approximate[], unit_rules_convert[], unit_rules_integer[],
    unit_rules_bits[], unit_rules_video[], unit_rules_compare[], unit_rules_memory[], unit_rules_warp[],
    unit_rules_mma[];

/* out[k][lane] = result k of the form for the 32 lanes' inputs in[k][lane]. */
void unit_form_run(const struct unit_form *f, const uint64_t in[UNIT_INPUTS][32], uint64_t out[UNIT_RESULTS][32]);

/* The measured table of rcp.approx unpacked (2^21 bytes), or NULL: correctly rounded. */
extern const uint8_t *unit_rcp_table;
/* The measured functions of halves, all 65 536 results each, low byte first: ex2 and tanh of f16, ex2 and tanh of bf16.
 */
extern const uint8_t *unit_half_tables;

/* shared between rules: */
uint64_t unit_low(uint64_t x, unsigned bits);           /* the low bits of x, the others 0 */
s128 unit_integer(struct unit_type t, uint64_t bits);   /* as t reads it */
uint64_t unit_integer_bits(struct unit_type t, s128 x); /* modulo 2^bits */
s128 unit_clamp(struct unit_type t, s128 x);            /* to the range of t */
uint64_t unit_add_float(const struct unit_format *f, uint64_t a, uint64_t b, enum unit_rounding r, bool flush);
uint64_t unit_fma_float(const struct unit_format *f, uint64_t a, uint64_t b, uint64_t c); /* to nearest */
/* -1, 0, 1, or 2 when one is a NaN. */
int unit_compare(struct unit_type t, uint64_t a, uint64_t b, bool flush);

#endif
