/* What in_step.c and in_step_tell.c share: the comparison at work. */
#ifndef ORACLES_IN_STEP_RUN_H
#define ORACLES_IN_STEP_RUN_H

#include "in_step_log.h"
#include "sequence.h"

struct warp_log { /* of a warp of a block */
    struct step_digest *steps;
    size_t count, room;
    /* B's side */
    bool parted;
    size_t seen;              /* steps of B that were compared in step */
    size_t at;                /* A's next step */
    uint32_t phase;           /* barriers of B */
    uint64_t phase_began;     /* step of B after the last one */
    size_t next[DIFFERENCES]; /* once parted: where A's next step of the kind is looked for */
    bool over[DIFFERENCES];   /* the kind has differed in this warp: no more of it is compared */
};

/* Within a block what happens before one barrier comes before what happens after it; between two, warps run at once,
 * and what takes fewer steps from there is taken for the earlier one. */
struct moment {
    size_t launch; /* from 1 */
    uint64_t block, phase, step;
    uint32_t warp;
};

struct target {         /* a step of A whose values are wanted, and B's */
    struct moment when; /* of B */
    size_t at;          /* of A's warp */
    struct snapshot a, b;
};

struct in_step_launch { /* one launch of the trial, for its probe */
    struct comparison *x;
    size_t number;
    uint64_t blocks;
    size_t a_block; /* warps */
    struct warp_log *warps;
};

enum pass { PASS_KEEP, PASS_COMPARE, PASS_FETCH };

struct comparison {
    struct in_step *out;
    struct aligned *programs;
    enum pass pass;
    struct in_step_launch *launches; /* (count) */
    size_t count;
    uint64_t kept;
    struct target targets[DIFFERENCES], parting; /* of out->first, out->parting */
    bool stop, no_memory;
};

struct in_step_ran { /* a run of A or B */
    struct bound bound;
    struct sequence runs;
};

/* in_step_tell.c: what x found in words of the modules: x->out. a: the run of A that fetched its values. */
void in_step_tell(struct comparison *x, struct in_step_ran *a, const struct in_step_ran *b);
bool in_step_is_earlier(const struct moment *a, const struct moment *b);

#endif
