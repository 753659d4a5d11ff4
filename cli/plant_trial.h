/* The trials of a plant: with the fault and without, and what they say of it. */
#ifndef CLI_PLANT_TRIAL_H
#define CLI_PLANT_TRIAL_H

#include "../gpu/case.h"
#include "../oracles/outcome.h"
#include "plant.h"

struct trials { /* what one plant ran, with the fault or without */
    struct outcome *outcomes;
    size_t count;
};

struct planted {
    struct plant plant;
    struct trials fault, clean; /* of the same cases, pair by pair */
    bool killed;                /* a judge says something of the fault */
    bool named;                 /* the one that must, with the verdict that it must have */
    size_t false_alarms;        /* clean trials of which a judge says something */
    bool silent;                /* there are clean trials, and no false alarms */
};

struct field { /* of all plants: what they share */
    char *root;
    struct planted *plants; /* (count) */
    size_t count;
    struct case_list cases; /* of our kernels, read when a plant is of one */
    bool has_cases;
};

/* Fills all of x but its plant. A small kernel is run once; a kernel of ours in at most eight of its cases with made
 * operands, spread evenly over those there are, until the fault is named. One thread. */
void planted_run(const struct field *all, struct planted *x);
void planted_free(struct planted *x);

#endif
