/* Handlers of floating-point instructions that are not lane loops: conversions to few bits, and approximate functions.
 * Both are the same code for every instruction set of the CPU. */
#ifndef GPU_MACHINE_FLOAT_H
#define GPU_MACHINE_FLOAT_H

#include "machine.h"

/* narrow.c: a number to a format of few bits, rounded once whatever it was. The result is in the low bits of dst:
 * 16 of f16 and bf16, 32 of tf32 (the low 13 are 0), 8 of e4m3 and e5m2.
 * imm = enum narrow_format | enum narrow_source << 8 | enum narrow_rounding << 16 | NARROW_... */
handler op_narrow;
enum narrow_format { NARROW_F16, NARROW_BF16, NARROW_TF32, NARROW_E4M3, NARROW_E5M2 };
enum narrow_source { NARROW_OF_F32, NARROW_OF_F64, NARROW_OF_S32, NARROW_OF_U32, NARROW_OF_S64, NARROW_OF_U64 };
enum narrow_rounding { NARROW_RN, NARROW_RZ, NARROW_RM, NARROW_RP, NARROW_RNA }; /* the first four: enum rounding */
#define NARROW_FTZ       0x1000000                                               /* a subnormal f32 counts as zero */
#define NARROW_SAT       0x2000000                                               /* into 0 .. 1; a NaN gives +0 */
#define NARROW_RELU      0x4000000                                               /* below 0 gives +0; a NaN stays one */
#define NARROW_SATFINITE 0x8000000 /* what is past the largest finite number, infinity too, gives that one */

/* The low byte of a, e4m3 or (imm 1) e5m2, as f16: exact; a NaN gives 0x7fff. */
handler op_widen8;

/* approximate.c: a function of the table below of f32 a (div: a / b); 16-bit ones of one or two halves, 64-bit ones of
 * f64. Unless imm has APPROXIMATE_EXACT, the first lane makes an EVENT_APPROXIMATE.
 * imm = enum approximate | APPROXIMATE_... */
handler op_approximate;
enum approximate {
    APPROXIMATE_RCP,
    APPROXIMATE_DIV,
    APPROXIMATE_DIV_FULL,
    APPROXIMATE_RSQRT,
    APPROXIMATE_SQRT,
    APPROXIMATE_EX2,
    APPROXIMATE_LG2,
    APPROXIMATE_SIN,
    APPROXIMATE_COS,
    APPROXIMATE_TANH,
};
#define APPROXIMATE_FTZ   0x100
#define APPROXIMATE_F16   0x200
#define APPROXIMATE_BF16  0x400
#define APPROXIMATE_F64   0x800
#define APPROXIMATE_PAIR  0x1000 /* two halves */
#define APPROXIMATE_EXACT 0x2000 /* the measured table is there, and it is the architecture's */

#endif
