/* A kernel's launch, or launches that follow each other, on operands that are there already, for the result's bytes
 * alone. */
#ifndef ORACLES_KERNEL_RUN_H
#define ORACLES_KERNEL_RUN_H

#include "../gpu/bind.h"

struct kernel_call {
    const struct spec *spec;
    const struct ptx_module *module;
    const struct runner *runner;
    const struct launch_options *options;
    int threads; /* 0: all */
};

struct kernel_result {
    uint8_t *bytes; /* (count) of the contract's result; free() */
    size_t count;
    uint64_t macs, warp_instructions;
    double seconds; /* of the execution alone */
    bool faulty;    /* it did not run to its end, or a watch found a fault; trial_run (trial.h) names it */
};

/* Runs it. The operands are of the launch file's contract, which takes them (depth, format); they are not copied and
 * not changed. Fails on what cannot be run at all; *r then holds nothing. */
bool kernel_run(const struct kernel_call *k, const struct contract_operands *op, struct kernel_result *r,
                struct error *e);

/* The same operands as operands_make gives them, lent: sizes are the contract's. */
bool kernel_operands(const struct contract *c, const struct contract_operands *op, struct operands *o, struct error *e);

#endif
