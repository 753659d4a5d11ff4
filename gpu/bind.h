/* A launch file, a shape and operands become a launch: every expression evaluated, every buffer allocated and filled.
 */
#ifndef GPU_BIND_H
#define GPU_BIND_H

#include "launch.h"
#include "operands.h"
#include "spec.h"

/* Word that fills OUT buffers before a launch, byte i of a buffer being byte i % 4 of it: a signalling NaN in f32,
 * which no arithmetic produces (results are quiet), and no value of an index or a count. */
#define BIND_POISON UINT32_C(0x7fa5dead)

#define BIND_MAX_BYTES ((size_t)4 << 30) /* of .global variables, buffers and expected bytes of a launch together */

struct bound {
    const struct spec *spec; /* the caller's; names in the launches point into it */
    struct launch launch;    /* buffers in the order of spec->buffers; threads is 0 */
    const uint8_t *
        *expected; /* (launch.buffer_count) right bytes from `expect:` files, of the buffer's size, or NULL */
    size_t result; /* buffer with the contract's result, SIZE_MAX without a contract */
    const struct operands *lent; /* whose bytes the IN buffers are that bound_free leaves alone, or NULL */
    struct shape shape;          /* the shape, and `tiles` = blocks of the grid, for the closed forms of `counts` */
    /* The launches that follow, in order: the buffers are those of `launch`, the array itself. `written` of a buffer is
     * there when something follows; whoever runs them marks in it what each has stored. */
    struct bound_next {
        struct launch launch;
        struct shape shape;
    } * then; /* (then_count) */
    size_t then_count;
};

/* Launch `number` of 0 .. then_count, what its spec says, and the shape of its counts. */
struct launch *bound_launch(struct bound *b, size_t number);
const struct spec *bound_spec(const struct bound *b, size_t number);
const struct shape *bound_shape(const struct bound *b, size_t number);
/* How all of them are run. */
void bound_options(struct bound *b, int threads, const struct launch_options *o);

/* *unmet = "KERNEL needs NEED, got id = 100" for the first need that the shape does not meet (the caller frees it),
 * else NULL. False when a need cannot be evaluated. */
bool bind_needs(const struct spec *spec, const struct shape *shape, char **unmet, struct error *e);

/* Builds the launch.
 * module    of spec->ptx, the caller's; may be NULL when nothing will run.
 * shape     values for the expressions; a `tiles` of its own wins over the grid's.
 * operands  of the contract, copied into the launch (or, where they are lent, in it; they must outlive it), and of that
 *           shape; NULL without a contract.
 * seed      with the kernel's and the buffer's name it decides what `fill: random` gives.
 * Every buffer is its own allocation of exactly its size: IN and INOUT filled, OUT and SCRATCH poisoned. Cells are
 * elements, or the largest of 4, 2 and 1 bytes that divides a block of the result's format. Fails on an unmet need,
 * values out of range, files that are missing or of another size or digest, more than BIND_MAX_BYTES; *b then holds
 * nothing. */
bool bind_launch(const struct spec *spec, const struct ptx_module *module, const struct shape *shape,
                 const struct operands *operands, uint64_t seed, struct bound *b, struct error *e);
/* launch_check of all launches, with the place in the launch file. */
bool bound_check(const struct bound *b, struct error *e);
void bound_free(struct bound *b);

/* What a launch file says about the operands of its contract: their files, when they are in files (then class file),
 * and the split. The rest of *r is the caller's. */
void spec_operands(const struct spec *spec, struct operands_request *r);

/* The shape of operands as expressions see it: nt, od (not for a quantiser), id. */
struct shape operands_shape(const struct operands *o, struct shape_value values[3]);

#endif
