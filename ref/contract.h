/* Numeric contracts: from operand bytes to output bits, with every rounding written down, and the float64 truth the
 * contract itself is held to. One contract is one file that defines `const struct contract contract_<name>`, and one
 * row of the table in contract.c. The file is headed by its order, products, rounding, denormals, NaN and infinity,
 * split, what it matches, and its bound. */
#ifndef REF_CONTRACT_H
#define REF_CONTRACT_H

#include "split.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* nt tokens, od output rows, id depth (values a row). A quantiser and a dequantiser use nt and id; their od is 0. */
struct contract_operands {
    const void *weight;     /* (od, id / block_values) blocks, row-major; NULL for a quantiser and a dequantiser */
    const void *activation; /* a buffer of its format (activation.h); for a quantiser (nt, id) f32, for a dequantiser
                             * (nt, id / block_values) blocks of its format (format.h) */
    size_t nt, od, id;
    struct split
        split; /* where the depth is cut; none by default, and other than none only where the contract splits */
};

struct contract {
    const char *name;       /* "q4_k_pad40_two_term" */
    const char *weight;     /* block format of {in: weight}, NULL when there is none */
    const char *activation; /* format of {in: activation}: an activation format, "f32" or another block format */
    const char *result;     /* "f32", "f16", "i8", or an activation format */
    size_t depth_multiple;  /* id must be a positive multiple of this */
    bool splits;            /* the operands may have a split */
    bool rcp_table;         /* the bits need the measured reciprocal table; without it they are approximate */

    /* result = what a kernel must write, byte for byte. Matrix results are f32 (nt, od), token-major;
     * quantised results (nt, id / block_values) blocks. Threads: over outputs only, the bits do not depend on them. */
    void (*evaluate)(const struct contract_operands *op, void *result);

    /* For every cell c: value[c] = the result in exact or float64 arithmetic, and bound[c] such that
     * |decoded result[c] - value[c]| <= bound[c] is proved (derivation in the file). Both (cells).
     * Where value is NaN or infinite and bound is 0 the result is the same; an infinite bound claims nothing. */
    void (*truth)(const struct contract_operands *op, double *value, double *bound);
    /* The numbers a result stands for, (cells): f32 widened, or blocks dequantised in float64. */
    void (*decode)(const struct contract_operands *op, const void *result, double *value);
    size_t (*cells)(const struct contract_operands *op);        /* nt * od, or nt * id and sums */
    size_t (*result_bytes)(const struct contract_operands *op); /* nt * od * 4, or blocks */
};

const struct contract *contract_named(const char *name); /* NULL when there is none */
extern const struct contract *const contracts[];         /* ended by NULL */

#endif
