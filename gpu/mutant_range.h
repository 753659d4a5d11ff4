/* What a register can hold: known bits and a range of an integer, and of a binary32 number the places that it can have.
 * Sets of values, never too small: what a rule does not know gives every value. */
#ifndef GPU_MUTANT_RANGE_H
#define GPU_MUTANT_RANGE_H

#include "ptx/ptx.h"

struct value_set {
    bool some;          /* false: nothing has been said yet, no value at all */
    unsigned bits;      /* width: 1 (a predicate), 16, 32, 64 */
    uint64_t zero, one; /* bits that are 0, that are 1, in every value; above the width: zero */
    int64_t low, high;  /* of the value read as signed; of a predicate 0 and 1 */
    /* As binary32: every finite value is a multiple of 2^least below 2^most in magnitude, with at most `places`
     * significant bits; NaN and infinity are not excluded. */
    bool is_number;
    int places, least, most;
};

struct value_set value_any(unsigned bits);
struct value_set value_one(unsigned bits, uint64_t v);
struct value_set value_within(unsigned bits, int64_t low, int64_t high); /* low <= high */
struct value_set value_number(int places, int least, int most);
struct value_set value_join(struct value_set a, struct value_set b); /* in either */
struct value_set value_meet(struct value_set a, struct value_set b); /* in both; a where that is empty */
bool value_same(struct value_set a, struct value_set b);
/* The bounds of a value that grew go to those of its width: a loop's end is not waited for. */
struct value_set value_widen(struct value_set before, struct value_set now);

bool value_is_one(struct value_set a, uint64_t *v); /* there is one value only */
bool value_disjoint(struct value_set a, struct value_set b);
/* The value read as unsigned. */
void value_unsigned(struct value_set a, uint64_t *low, uint64_t *high);

/* Whether the comparison of setp ("lt" ...) holds: 1 always, 0 never, -1 that depends. */
int value_compare(const char *comparison, bool is_signed, struct value_set a, struct value_set b);

/* The result of an instruction, of an integer, predicate or binary32 type. source(context, i): what operand i holds.
 * index: of the element, where the result is a vector. */
struct value_sources {
    struct value_set (*source)(void *context, const struct ptx_operand *o, unsigned bits);
    void *context;
};
struct value_set value_of(const struct ptx_instruction *in, unsigned bits, size_t index, const struct value_sources *s);

/* A sum, product or fused sum of two or three numbers is exact: no rounding changes it. */
bool value_exact(const struct ptx_instruction *in, const struct value_sources *s);
bool value_exact_product(const struct ptx_instruction *in, const struct value_sources *s); /* of operands 1 and 2 */

#endif
