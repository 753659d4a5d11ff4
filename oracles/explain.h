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
    char *rest;               /* judged: of which blocks not, and why, owned; NULL: of all */
};

struct explanation {
    struct stage stages[STAGES];
    bool few_barriers;      /* some block came to fewer barriers than the launch file's `stages` need */
    struct findings faults; /* in the order of the stages; finding.oracle is the stage's name. One fault is what one
                             * place in the source does wrong in one stage, and in staging in one plane */
};

struct mma_count { /* of a warp */
    uint64_t count;
    uint32_t last; /* instruction of its last mma */
};

struct explain_counts { /* what the launch does before anything is compared */
    bool ran;           /* false: the launch cannot be run, trial_run says why */
    uint64_t *barriers; /* (blocks) of the whole block, that have opened */
    uint64_t blocks, mma;
    struct mma_count *warps; /* (blocks, a_block); NULL: a result that is no matrix, or that no mma of the file makes */
    size_t a_block;          /* warps of a block */
    uint64_t sums;           /* accumulators of an mma */
    uint8_t *plain;          /* with `warps`: the result, with nothing put right */
};

/* Runs the launch and counts: t->runner is not used. Fails where the launch file's content contradicts itself or the
 * operands, with its place, and as soon as there is more to compare than explain_stages takes on. */
bool explain_count(const struct trial *t, struct explain_counts *n, struct error *e);
void explain_counts_free(struct explain_counts *n);

/* t->runner is not used: the machine runs it, in order, blocks one after the other. plain: what trial_run found; where
 * it is a load of shared memory that nothing orders, what such a load gives is laid to no stage. Fails where the trial
 * itself cannot run, and on the launch file as explain_count; *x is then empty. */
bool explain_stages(const struct trial *t, const struct explain_counts *n, const struct findings *plain,
                    struct explanation *x, struct error *e);
/* The first finding that says so, or NULL: it is to be mended first. */
const struct finding *unordered_load(const struct findings *plain);
void explanation_free(struct explanation *x);

#endif
