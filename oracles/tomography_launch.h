/* Launches of a probe: the kernel on operands or buffers that the probe made, for the bytes it leaves. */
#ifndef ORACLES_TOMOGRAPHY_LAUNCH_H
#define ORACLES_TOMOGRAPHY_LAUNCH_H

#include "kernel_run.h"
#include "tomography.h"

struct prober {
    const struct trial *trial;
    struct tomography *out;
    size_t budget;       /* launches that are left */
    uint64_t steps;      /* warp instructions that a block may take; 0: what the launch file says */
    uint32_t watch;      /* enum watch, besides the bytes */
    bool strayed;        /* with WATCH_BOUNDS: a launch accessed what is no buffer's */
    uint64_t last_steps; /* warp instructions of the last launch */
    struct shape shape;  /* that is launched; values are the prober's */
    struct shape_value *values;
    bool each_value;               /* the result has a cell for each row and k, not for each token and row */
    struct contract_operands view; /* sizes and split of the operands; their bytes are those of each launch */
};

enum probe_end {
    PROBE_RAN,
    PROBE_STOPPED, /* it did not run to its end, or was refused: out->why says so */
    PROBE_SPENT,   /* no launch is left */
    PROBE_FAILED,  /* e says why */
};

/* Runs the kernel. op: the operands of its contract, or NULL; before: called with the bound launch to change its plain
 * buffers, or NULL. *b: what it left, whatever the end; the caller frees it after PROBE_RAN and not else. */
enum probe_end probe_launch(struct prober *p, const struct contract_operands *op,
                            void (*before)(struct bound *b, void *context), void *context, struct bound *b,
                            struct error *e);

/* The same of a contract's operands, for the result: got and want (result bytes), what the contract says. */
enum probe_end probe_operands(struct prober *p, const struct contract_operands *op, uint8_t *got, uint8_t *want,
                              size_t bytes, struct error *e);

#endif
