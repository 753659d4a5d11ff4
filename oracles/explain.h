/* Stage by stage: what the planes hold when a block has filled them, what each mma is given, what it sums, how the sums
 * are rescaled, and where the results go. The launch is run once more with a probe (gpu/probe.h) that compares each
 * stage with what the launch file and the contract say, and puts right what is wrong before the next one begins: so
 * every stage works on right bytes, and several faults at once are each named where they arise. */
#ifndef ORACLES_EXPLAIN_H
#define ORACLES_EXPLAIN_H

#include "trial.h"

enum stage_kind { STAGE_STAGING, STAGE_FRAGMENTS, STAGE_SUMS, STAGE_RESCALE, STAGE_STORE, STAGES };
extern const char *const stage_names[STAGES]; /* "staging", "fragments", "sums", "rescale", "store" */
bool stage_named(const char *name, enum stage_kind *kind);

struct stage {
    enum ruling ruling;
    char *why;                /* of RULING_NOT_JUDGED: the reason, owned; else NULL */
    const char *unit;         /* what is counted: "bytes", "registers", "sums", "cells"; static */
    uint64_t compared, wrong; /* NOT_JUDGED: 0 */
};

struct explanation {
    struct stage stages[STAGES];
    struct findings faults; /* in the order of the stages; finding.oracle is the stage's name. One fault is what one
                             * source line does wrong in one stage */
};

/* t->runner is not used: the machine runs it, in order, blocks one after the other. Fails where the trial itself cannot
 * run, and where the launch file's content contradicts itself or the operands, with its place; *x is then empty. */
bool explain_stages(const struct trial *t, struct explanation *x, struct error *e);
void explanation_free(struct explanation *x);

#endif
