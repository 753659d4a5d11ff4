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

enum tensor_op {
    TENSOR_OP_INT8,  /* wide = d[4] a[4] b[2] c[4]; what a shape has less of: the zero constant, the scratch register */
    TENSOR_OP_INT4,  /* the same */
    TENSOR_OP_BITS,  /* the same */
    TENSOR_OP_FLOAT, /* the same; f16 accumulators are d[0], d[1], c[0], c[1] */
    TENSOR_OP_F64,   /* wide = d[4] a[8] b[4] c[4], of 64 bits */
    TENSOR_OPS,
};

/* imm of a tensor operation = multiply-adds | MMA_... | type of A << MMA_TYPE_A ... (enum tensor_type) | number of the
 * row of tensor_units << MMA_UNIT */
#define MMA_A_UNSIGNED ((int64_t)1 << 32)
#define MMA_B_UNSIGNED ((int64_t)1 << 33)
#define MMA_SATFINITE  ((int64_t)1 << 34)
#define MMA_AND        ((int64_t)1 << 35) /* of bits; else exclusive or */
#define MMA_SHORT      ((int64_t)1 << 36) /* a row of A has 16 bytes: the upper half of the fragments is not there */
#define MMA_HALF       ((int64_t)1 << 37) /* f16 accumulators */
enum { MMA_TYPE_A = 40, MMA_TYPE_B = 44, MMA_UNIT = 48 };

/* ldmatrix: wide = d[count]; imm = displacement; b = number of matrices | LDMATRIX_... */
#define LDMATRIX_TRANS 0x100u
#define LDMATRIX_WIDE  0x200u /* the address register has 64 bits */

struct isa {
    const char *name;
    handler *const *lanes;  /* (LANE_OPS) */
    handler *const *memory; /* (MEMORY_OPS) */
    handler *const *tensor; /* (TENSOR_OPS) */
};

extern handler *const lane_ops_base[LANE_OPS], *const memory_ops_base[MEMORY_OPS];
extern handler *const tensor_ops_base[TENSOR_OPS];
#if defined __x86_64__
extern handler *const lane_ops_avx2[LANE_OPS], *const memory_ops_avx2[MEMORY_OPS];
extern handler *const lane_ops_avx512[LANE_OPS], *const memory_ops_avx512[MEMORY_OPS];
extern handler *const tensor_ops_avx2[TENSOR_OPS], *const tensor_ops_avx512[TENSOR_OPS];
#endif

/* The best set this CPU has, or the one that the environment variable WARPPROOF_ISA names (base, avx2, avx512). An
 * unknown name, or a set that the CPU lacks, is an error: NULL. */
const struct isa *isa_choose(struct error *e);

#endif
