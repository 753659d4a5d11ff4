/* Why a GPU's counters are not the machine's counts: a file of explanations, each of which must hold. */
#ifndef GPU_COUNTERS_EXPLAINED_H
#define GPU_COUNTERS_EXPLAINED_H

#include "counters.h"
#include "expr.h"

/* Where an explanation speaks of whole instructions that ptxas makes, its difference is exact; the number of all
 * instructions has no closed form, and is held to a range. */
struct counter_explanation {
    char **kernels; /* (kernel_count) names or globs */
    size_t kernel_count;
    char *entry;                         /* of one launch of several, a name or a glob; NULL: all */
    bool quantities[COUNTER_QUANTITIES]; /* those that it is about */
    struct spec_expr *difference;        /* GPU's count - machine's count; or NULL */
    double least, most;                  /* else (GPU - machine) / machine in percent is within */
    char *why;                           /* one line */
    char **lines;                        /* (line_count) "gpu/kernels/x.cuh:12", which execute such instructions */
    size_t line_count;
    size_t line; /* of the file */
};

struct counter_explanations {
    struct counter_explanation *items; /* (count) in the order of the file: the first one that fits is taken */
    size_t count;
};

/* Reads a list of mappings: kernel (a name or glob, or a list), quantity (a name, or a list), entry, difference (an
 * expression; names: docs/ladder.md) or percent ([least, most]), why, lines. Fails with the place and a caret; *x is
 * then empty. */
bool counter_explanations_read(const char *path, struct counter_explanations *x, struct error *e);
void counter_explanations_free(struct counter_explanations *x);

/* The first one of this launch and quantity, or NULL. */
const struct counter_explanation *counter_explained(const struct counter_explanations *x, const char *kernel,
                                                    const char *entry, size_t quantity);

#endif
