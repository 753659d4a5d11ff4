/* What `explain` runs besides the case itself: the same kernel with data of the other classes, and on shapes that tell
 * tails, places of blocks and steps of the depth apart. For their bits alone, within a budget. */
#ifndef CLI_EXPLAIN_SIBLINGS_H
#define CLI_EXPLAIN_SIBLINGS_H

#include "../oracles/suspects.h"
#include "subject.h"

struct siblings {
    struct sibling *items; /* (count) owned */
    size_t count;
};

/* o: what the case itself gave; where nothing is wrong with it the shapes are left out. *out is filled anew. */
void siblings_run(const struct subject *s, const struct outcome *o, struct siblings *out);
void siblings_free(struct siblings *x);

/* The trial of s as its canary build, for what the guards tell. planted: s runs the program of a plant. False: there is
 * no such build, and *why says so (static). */
bool canary_run(const struct subject *s, const char *root, bool planted, struct outcome *o, const char **why);

#endif
