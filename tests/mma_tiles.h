/* Tiles for mma of every form but f64: hard operands, their fragments, and a launch that multiplies many of them. For
 * tests and for the comparison with other programs (tests/witness_mma). */
#ifndef TESTS_MMA_TILES_H
#define TESTS_MMA_TILES_H

#include "../gpu/launch.h"
#include "../gpu/machine/tensor_model.h"

enum { MMA_DEPTH = 256 };

struct mma_case { /* one mma instruction */
    const struct tensor_form *form;
    enum tensor_type a, b;
    bool half;  /* f16 accumulators */
    bool clamp; /* .satfinite */
    bool both;  /* bits: .and, else .xor */
};

struct mma_tile { /* codes, in the low bits; tf32: all 32 bits */
    uint32_t a[16][MMA_DEPTH], b[MMA_DEPTH][8], c[16][8], d[16][8];
};

/* Calls visit for every case of the table but f64: all mixes of types, both kinds of accumulators. */
void mma_each_case(void (*visit)(const struct mma_case *c, void *context), void *context);
/* "m16n8k16.f32.f16.f16.f32", as the modifiers of PTX spell it. */
void mma_case_name(const struct mma_case *c, char name[64]);
/* The case of that name; false: there is none. */
bool mma_case_named(const char *name, struct mma_case *c);
/* The instruction, without its operands. */
void mma_case_text(const struct mma_case *c, char text[128]);
/* The chip has this form and a model of it. */
bool mma_case_runs(const struct mma_case *c, const struct arch *arch);

/* Fills a, b, c; which kind of operands is drawn: any bits, any finite value, near exponents, cancelling products,
 * subnormals and zeros, few small values (ties), one NaN or infinity among finite ones. */
void mma_tile_fill(const struct mma_case *c, struct mma_tile *t, uint64_t *seed);

/* Lane words of the operands, A, B, C in turn, and the result's back into the tile. */
void mma_pack(const struct mma_case *c, const struct mma_tile *t, uint32_t words[32][16]);
void mma_unpack(const struct mma_case *c, struct mma_tile *t, const uint32_t words[32][4]);

/* d of all tiles, by one launch. prefix: PTX ahead of the mma, or ""; threads: of a block, up to 32. The caller frees
 * the trace and the module. NULL runner, arch and isa: the machine and the defaults. */
bool mma_run(const struct runner *runner, const struct mma_case *c, const struct arch *arch, const char *isa,
             const char *prefix, uint32_t threads, struct mma_tile *tiles, size_t count, struct ptx_module **module,
             struct trace *trace, struct error *e);

#endif
