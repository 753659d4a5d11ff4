/* The kernels of gpu/kernels side by side: which there are, and the one shape that each is launched at. */
#ifndef CLI_LADDER_H
#define CLI_LADDER_H

#include "counting.h"

enum { LADDER_DEPTH = 1024 }; /* of the table, where the kernel takes it */

/* A kernel at the shape of the table. */
struct rung {
    struct spec *spec;
    struct ptx_module *module; /* holds what the outcome's places point to */
    struct shape_value shape[3];
    int64_t shared; /* bytes of a block: dynamic arena and static variables; of several launches the largest */
    struct outcome outcome;
    struct shape_value other_shape[3]; /* of a published figure; its name is NULL: none was counted */
    struct outcome other;
    char *why; /* what stands in the way of running it; NULL: nothing */
};

struct ladder {
    char *root, **paths; /* of the launch files */
    size_t path_count;
    struct rung *rungs; /* (count) those that are selected, by number and name */
    size_t count;
    char **others; /* (other_count) names of the kernels that are not */
    size_t other_count;
};

/* Reads the launch files of the project and keeps those with a contract that a pattern selects (as of cases; none:
 * all). *missed = the first pattern that is none of a kernel's, or NULL. False with the reason in e; the caller frees
 * *l in either case. */
bool ladder_read(struct ladder *l, const char *const *patterns, size_t pattern_count, const struct judging *j,
                 const char **missed, struct error *e);
void ladder_free(struct ladder *l);

/* Runs it, by the runner of *j, at the first shape of the table that it takes: 128 tokens x 128 rows x depth 1024, 8
 * tokens of a matrix-vector product, the tokens of a tile of stream-k, or depth 2048. The outcome is there unless
 * r->why says what stands in the way. */
void rung_run(struct rung *r, const struct judging *j);
/* The same at another shape (3), into *outcome. */
bool rung_run_at(struct rung *r, const struct shape_value *shape, const struct judging *j, struct outcome *outcome,
                 struct error *e);
bool rung_passed(const struct rung *r); /* it was run and nothing was found */
/* Prints what was found of one that was run and has not passed, and sets *wrong where it is the kernel's fault, else
 * *open. */
void rung_failure(const struct rung *r, bool *wrong, bool *open);
/* "nt128.od128.id1024" of r->shape; the caller frees it. */
char *rung_shape(const struct rung *r);
/* The launch file's launch `number` of 0 .. then_count. */
const struct spec *rung_launch(const struct rung *r, size_t number);

/* `warpproof census --table`, below its options: each runs the kernels of *l and returns the exit code. */

/* Runs each once, by the runner of *j, and prints the device, and of each launch, in their order, a line of columns
 * parted by tabs: launch, its number from 0, kernel, number in its launch file from 1, entry, shape, SHA-256 of the PTX
 * (hexadecimal). */
int census_launches(struct ladder *l, const struct judging *j);
/* Runs each on the machine and prints each of its counts beside the one in the table of a GPU's counts (counters.h); 1
 * where one differs without a reason, or has one and does not, or the table is not of these launches. */
int census_counters(struct ladder *l, const struct ladder_request *q, const struct judging *j);

#endif
