/* What the architectures of NVIDIA GPUs differ in, as far as a launch can tell. One row each. */
#ifndef GPU_ARCH_H
#define GPU_ARCH_H

#include <stddef.h>
#include <stdint.h>

struct arch {
    const char *name;    /* "sm_90" */
    unsigned sm;         /* 90 */
    size_t shared_block; /* bytes of shared memory that a block may have, opted in; static and dynamic together */
    size_t shared_sm;    /* bytes of one multiprocessor */
    unsigned threads_sm, blocks_sm;
};

extern const struct arch archs[];                /* ascending, ended by a NULL name */
const struct arch *arch_named(const char *name); /* "sm_90", "sm_90a", "90"; NULL when there is no such row */
const struct arch *arch_default(void);           /* sm_90: the one whose numbers were measured */

#endif
