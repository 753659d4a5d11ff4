/* One trial: operands, launch, runner, expected bits, judges. The path of one case (docs/machine.md has a picture). */
#ifndef ORACLES_TRIAL_H
#define ORACLES_TRIAL_H

#include "../gpu/bind.h"
#include "outcome.h"

enum trial_schedules {
    SCHEDULES_OPEN, /* in order; and all, where the watches leave open whether the order matters */
    SCHEDULES_ONE,  /* that of the options */
    SCHEDULES_ALL,  /* in order, reversed, random:1 */
};

struct trial {
    const char *id;
    const struct spec *spec;
    const struct ptx_module *module;
    const struct ptx_module *plain; /* `module` is the canary build of this one (gpu/canary.h), which is run as well,
                                     * for its outputs alone; NULL: it is no canary build */
    const struct runner *runner;
    const struct contract *contract; /* NULL: a kernel without one */
    const struct operands *operands; /* of the contract, else NULL */
    const struct shape *shape;       /* for the launch file's expressions */
    uint64_t seed;                   /* of `fill: random` */
    int threads;                     /* CPU threads of the launch */
    struct launch_options options;   /* watches, schedule, architecture */
    enum trial_schedules schedules;
    bool digest_inputs; /* fill outcome.inputs */
    uint64_t steps;     /* a budget below the launch file's, for a program that may never end; 0: none */
};

/* Runs and judges. Whatever cannot be done (a file, an unknown instruction, memory) becomes a finding INPUT of the
 * oracle "input". *o is filled anew; the caller frees it. */
void trial_run(const struct trial *t, struct outcome *o);

/* The launches of t->module, to be run in this order; of a canary build with guards between their planes, which are not
 * watched then: what the guards tell, they tell alone. */
bool trial_bind(const struct trial *t, const struct schedule *order, struct bound *b, struct error *e);

/* The outcome of a trial that cannot even begin. */
void trial_refuse(const struct trial *t, const struct error *e, struct outcome *o);

#endif
