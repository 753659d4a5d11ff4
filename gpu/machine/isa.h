/* The lane loops, compiled for several instruction sets of the CPU; one is chosen at start. All give equal bits. */
#ifndef GPU_MACHINE_ISA_H
#define GPU_MACHINE_ISA_H

#include "machine.h"

enum lane_op {
#define LANE1(name, D, A, expr)            OP_##name,
#define LANE2(name, D, A, B, expr)         OP_##name,
#define LANE3(name, D, A, B, C, expr)      OP_##name,
#define RARE2(name, T, expr, rare, mended) OP_##name,
#define RARE3(name, T, expr, rare, mended) OP_##name,
#define COMPARE(name, A, expr)             OP_##name,
#define SELECT(name, D)                    OP_##name,
#include "lane_list.h"
    LANE_OPS
};

/* What a lane operation takes: widths in bits, 0 for no such operand. A destination of 1 bit is a predicate. */
struct lane_shape {
    const char *name;
    uint8_t dst, a, b, c;
};
extern const struct lane_shape lane_shapes[LANE_OPS];

enum memory_op {
    /* loads and stores by 32-bit shared address, and loads by 64-bit address */
    MEMORY_LOAD32_U8,
    MEMORY_LOAD32_S8,
    MEMORY_LOAD32_U16,
    MEMORY_LOAD32_S16,
    MEMORY_LOAD32_B32,
    MEMORY_LOAD32_B64,
    MEMORY_LOAD32_V2,
    MEMORY_LOAD32_V4,
    MEMORY_LOAD64_U8,
    MEMORY_LOAD64_S8,
    MEMORY_LOAD64_U16,
    MEMORY_LOAD64_S16,
    MEMORY_LOAD64_B32,
    MEMORY_LOAD64_B64,
    MEMORY_LOAD64_V2,
    MEMORY_LOAD64_V4,
    MEMORY_STORE32_B8,
    MEMORY_STORE32_B16,
    MEMORY_STORE32_B32,
    MEMORY_STORE32_B64,
    MEMORY_STORE32_V2,
    MEMORY_STORE32_V4,
    MEMORY_LDMATRIX,
    MEMORY_OPS,
};

/* mma: wide = d[4] a[4] b[2] c[4]; smaller shapes give the zero constant and the scratch register for what they lack.
 * imm = multiply-adds | MMA_... */
#define MMA_A_UNSIGNED ((int64_t)1 << 32)
#define MMA_B_UNSIGNED ((int64_t)1 << 33)
#define MMA_SATFINITE  ((int64_t)1 << 34)

/* ldmatrix: wide = d[count]; imm = displacement; b = number of matrices | LDMATRIX_... */
#define LDMATRIX_TRANS 0x100u
#define LDMATRIX_WIDE  0x200u /* the address register has 64 bits */

struct isa {
    const char *name;
    handler *const *lanes;  /* (LANE_OPS) */
    handler *const *memory; /* (MEMORY_OPS) */
    handler *mma;
};

extern handler *const lane_ops_base[LANE_OPS], *const memory_ops_base[MEMORY_OPS];
extern handler mma_base;
#if defined __x86_64__
extern handler *const lane_ops_avx2[LANE_OPS], *const memory_ops_avx2[MEMORY_OPS];
extern handler *const lane_ops_avx512[LANE_OPS], *const memory_ops_avx512[MEMORY_OPS];
extern handler mma_avx2, mma_avx512;
#endif

/* The best set this CPU has, or the one that the environment variable WARPPROOF_ISA names (base, avx2, avx512). An
 * unknown name, or a set that the CPU lacks, is an error: NULL. */
const struct isa *isa_choose(struct error *e);

#endif
