/* One shape's contest: kernels, the first of them once more as the control, and ceilings, checked, timed in turn, and
 * checked again. */
#ifndef CLI_BENCH_CONTEST_H
#define CLI_BENCH_CONTEST_H

#include "../reports/bench.h"
#include "judging.h"
#include "sets.h"

struct bench_kernel {
    struct spec *spec;
    struct ptx_module *module;
    char ptx_sha256[65];
};

struct contest {
    const struct bench_kernel *kernels; /* (kernel_count) */
    size_t kernel_count;
    const struct sets *sets;        /* of the user */
    const struct shape_value *more; /* (more_count) where neither sets nor launch file say */
    size_t more_count;
    enum data_class data;
    size_t rounds;
    bool ceilings;
    const struct judging *judging; /* threads, GPU and its architecture */
    const char *progress;          /* what is said on a terminal before each step, or NULL */
};

enum contest_end {
    CONTEST_DONE,    /* whoever has no figure says why */
    CONTEST_STOPPED, /* the GPU stopped a launch: what it was is in the entries, and nobody else is timed after it */
    CONTEST_FAILED,  /* e */
};

/* *out: the caller frees it with bench_shape_free, whatever the end. h gets what is known of GPU and ceilings. */
enum contest_end contest_run(const struct contest *c, struct bench_head *h, struct bench_shape *out, struct error *e);

#endif
