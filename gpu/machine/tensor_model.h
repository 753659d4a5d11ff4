/* Tensor cores: the forms of mma.sync, and the numeric model of floating-point mma of each architecture.
 *
 * PTX leaves open in which order the products of one floating-point mma are added and how the sum is rounded, so an
 * exact result is that of a named chip. All of them work by one rule, with other numbers. The products of an mma are
 * taken in groups of n along k, in ascending order of k, each group on the result of the one before:
 *
 *   group(c; a[0..n), b[0..n)):
 *     product i      m = ma mb exact, not normalised, exponent x = xa + xb (significands in [0, 2), subnormals with the
 *                    least exponent)
 *     top            the greatest of the exponents of c and of all products that are not zero, and of `floor`
 *     addends        each one is cut toward zero to a multiple of 2^(top - fraction)
 *     sum            exact
 *     result f32     cut toward zero to `kept` fraction bits (fewer below the normal numbers); infinite when its
 *                    exponent is beyond 127
 *     result f16     to nearest even
 *     zero           always +0, also what a negative sum too small for the result becomes
 *     special        a NaN operand, infinity times zero, or infinities of both signs: the NaN 0x7fffffff (f16 0x7fff);
 *                    else an infinite product or c gives that infinity
 *
 * fp8 on Hopper is no path of its own: operands become f16 (so subnormals are normalised), the products with k mod 4 =
 * 0, 1 make one group on zero, those with k mod 4 = 2, 3 another on its result, and c is added at the end by an
 * ordinary addition, to nearest even.
 *
 * f64: acc = fma(a[k], b[k], acc), k ascending, from acc = c; of NaN operands that of b goes before acc's and a's.
 *
 * Source: the row of Hopper was measured on an H200 (facts/ptx.md 2.4, MF-1 .. MF-6; the sign of zero and f64 later);
 * the others are those of the literature: MMA-Sim (arXiv 2511.10909), Khattak and Mikaitis (arXiv 2512.07004). */
#ifndef GPU_MACHINE_TENSOR_MODEL_H
#define GPU_MACHINE_TENSOR_MODEL_H

#include "../arch.h"
#include <stdbool.h>

enum tensor_type { /* of the elements of an operand */
                   TENSOR_S8,
                   TENSOR_U8,
                   TENSOR_S4,
                   TENSOR_U4,
                   TENSOR_B1,
                   TENSOR_F16,
                   TENSOR_BF16,
                   TENSOR_TF32,
                   TENSOR_E4M3,
                   TENSOR_E5M2,
                   TENSOR_F64,
                   TENSOR_S32,
                   TENSOR_F32,
                   TENSOR_TYPES,
};
extern const char *const tensor_type_names[TENSOR_TYPES]; /* as PTX spells them */

struct tensor_float { /* a floating-point type; bits: 1 + exponent + fraction, in the low bits of a code */
    uint8_t exponent_bits, fraction_bits, bits;
    bool infinities; /* false: of the greatest exponent only the greatest fraction is special, a NaN (e4m3) */
};
extern const struct tensor_float tensor_floats[TENSOR_TYPES]; /* F16, BF16, TF32, E4M3, E5M2; else zeros */

struct tensor_form { /* one shape of mma for one class of types, PTX ISA 9.7.14.5; facts/ptx.md 2.2 */
    const char *shape;
    enum tensor_type type; /* of A; S8 stands for u8, S4 for u4, E4M3 for e5m2: any mix */
    uint8_t a, b, c;       /* registers of A, B, and of C and D with 32-bit (f64: 64-bit) accumulators */
    uint16_t m, k;         /* n is 8 */
    uint8_t sm;            /* the first that has it */
};
extern const struct tensor_form tensor_forms[]; /* ended by a NULL shape */

struct tensor_unit {  /* the tensor cores of one generation */
    unsigned sm;      /* its first architecture; it reaches up to the next row */
    const char *name; /* "Hopper" */
    bool measured;    /* the numbers were measured; else they are the literature's */
    uint8_t fraction; /* bits below the greatest exponent that addends keep */
    uint8_t group;    /* bytes of A that one group takes: n = group / bytes of an element */
    int16_t floor32;  /* least exponent of alignment, f32 results */
    int16_t floor16;  /* and f16 results */
    enum { FP8_NONE, FP8_NATIVE, FP8_AS_F16, FP8_UNKNOWN } fp8;
    uint8_t fp8_fraction, fp8_kept; /* FP8_NATIVE: fraction bits of addends, and of an f32 result */
};
extern const struct tensor_unit tensor_units[];              /* ascending, ended by a NULL name */
const struct tensor_unit *tensor_unit(const struct arch *a); /* of an architecture; NULL: arch_default */

#endif
