/* A kernel of gpu/kernels, or any launch file, run once on the PTX machine and counted: what `census` is made of. */
#ifndef CLI_COUNTING_H
#define CLI_COUNTING_H

#include "judging.h"
#include "sets.h"

struct counting {
    const struct sets *sets;        /* of the user */
    const struct shape_value *more; /* (more_count) where neither sets nor launch file say */
    size_t more_count;
    const struct judging *judging;
};

/* The values of a counted launch's names; the caller frees the array, names are the spec's, the sets' and `more`'s. */
struct shape_value *counting_shape(const struct spec *s, const struct counting *c, size_t *count);

/* Runs it on operands of class rand and judges it; on the machine (the judging's runner, NULL too) with a census, and
 * its closed forms are judged as well. *outcome is the caller's. Fails when there is nothing to run. */
bool counting_run(const struct spec *s, const struct ptx_module *m, const struct counting *c, struct outcome *outcome,
                  struct error *e);

/* What `warpproof census --table` does with the kernels of gpu/kernels that a pattern selects (as of cases; none: all).
 */
struct ladder_request {
    const char *const *patterns; /* (pattern_count) */
    size_t pattern_count;
    bool launches;         /* launch each, and say which launch was which */
    const char *counters;  /* compare with this table of a GPU's counts; or NULL */
    const char *explained; /* the file that says why counts differ; NULL: fixtures/counters/explained.yaml, if there */
};

/* A table with a row for each kernel that multiplies, by its rung and name, and what others published of the same work;
 * or what the request asks for instead. Returns the exit code. */
int census_ladder(const struct ladder_request *q, const struct judging *j);

#endif
