/* The counts of a launch, for people and as JSON. */
#ifndef REPORTS_CENSUS_H
#define REPORTS_CENSUS_H

#include "../gpu/census.h"
#include "../ref/error.h"
#include <stdio.h>

/* One row a class that was executed, then the `most` source lines that executed most warp instructions (0: all of
 * them). Figures for a multiply-add are per 1024 of them. */
void census_table(FILE *out, const struct census *c, size_t most);

struct census_of_kernel {
    const char *kernel;
    const struct census *launches; /* (count) of its launch file, in order */
    size_t count;
};

/* A line a kernel: {"kernel", "macs", "classes": {...}, "lines": [...]}; of a launch file with several launches
 * {"kernel", "launches": [{"entry", "macs", ...}]}; a regular file whole or not at all, as file_put. */
bool census_json(const char *path, const struct census_of_kernel *kernels, size_t n, struct error *e);

#endif
