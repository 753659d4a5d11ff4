/* The orders beside the first one: the same launch run reversed and at random, and what those runs show that the first
 * did not. */
#ifndef ORACLES_ORDERS_H
#define ORACLES_ORDERS_H

#include "sequence.h"
#include "trial.h"

enum { ORDERS_MAX = OUTCOME_SCHEDULES - 1 };

struct orders {
    char names[ORDERS_MAX][SCHEDULE_NAME];
    struct bound bounds[ORDERS_MAX]; /* operands and buffers of each order, its own */
    struct sequence sequences[ORDERS_MAX];
    size_t count;
};

/* Runs t's launches reversed, and in random order of seed 1. first: those run in order; a block of another order that
 * takes far more steps than all of its launch there counts as endless, so that one waiting for a block behind it is
 * found soon. False: e says why, with the schedule. The caller frees *o, also after a failure. */
bool orders_run(const struct trial *t, const struct sequence *first, struct orders *o, struct error *e);
void orders_free(struct orders *o);

/* runs = the orders that ran launch `number` (from 1), for the judges; they point into o. How many these are. */
size_t orders_of_launch(const struct orders *o, size_t number, struct schedule_run runs[ORDERS_MAX]);

/* What the judges say of the events and stores of first->others[i] that neither the first run nor one before it had:
 * added to out->findings, with the schedule in their words. One fault is named once: what out->findings has already of
 * the same place, by whichever judge, is not taken. Bytes are for oracle schedule to compare. Sets out->rulings and
 * out->rerun_schedule. */
void orders_judge(const struct evidence *first, size_t i, struct outcome *out);

#endif
