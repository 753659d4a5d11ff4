/* Where a launch reaches shared memory: every place in the source with its wavefronts and bank conflicts, and the
 * access of a warp there that is served worst, for a picture of its banks. */
#ifndef ORACLES_BANK_SITES_H
#define ORACLES_BANK_SITES_H

#include "trial.h"

struct bank_site {       /* instructions of one place in the source (trace_same_place) together */
    struct where where;  /* of the worst access: block, warp, source line, instruction; where.launch of several */
    size_t instructions; /* unrolled code has several */
    struct site_count count;
    struct site_access worst; /* its lanes are 0 where an access has no bank model, as cp.async */
};

struct bank_sites {
    struct bank_site *items; /* (count) most conflicts first, then most wavefronts, launch, PTX line */
    size_t count;
};

/* Runs the launches once more on the machine, in order, counting and watching nothing: t->runner is not used. Fails
 * where the trial cannot run; *s is then empty. */
bool bank_sites_run(const struct trial *t, struct bank_sites *s, struct error *e);
void bank_sites_free(struct bank_sites *s);

#endif
