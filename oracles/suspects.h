/* What is wrong with one case, in the order in which it is to be mended: what the judges found of it as it runs, the
 * faults of its stages, the guards of its canary build, its closed forms, other data and other shapes, put together so
 * that what speaks of one mistake is one suspect. docs/explain.md has the rules. */
#ifndef ORACLES_SUSPECTS_H
#define ORACLES_SUSPECTS_H

#include "explain.h"

enum suspect_kind { /* in the order in which they are to be mended: each leaves open what those after it say */
                    SUSPECT_LAUNCH,
                    SUSPECT_GUARD,
                    SUSPECT_SYNC,
                    SUSPECT_RACE,
                    SUSPECT_UNINIT,
                    SUSPECT_STAGING, /* the stages, in the order of enum stage_kind */
                    SUSPECT_FRAGMENTS,
                    SUSPECT_SUMS,
                    SUSPECT_RESCALE,
                    SUSPECT_STORE,
                    SUSPECT_PROBE,  /* what was consumed, seen in the result alone */
                    SUSPECT_BITS,   /* wrong bits, of which nothing says more */
                    SUSPECT_COUNTS, /* right bits, and not as many instructions */
                    SUSPECT_KINDS
};
extern const char *const suspect_kind_names[SUSPECT_KINDS]; /* "launch", "guard" ... */

struct suspect_why { /* one observation that speaks for it */
    const char *by;  /* which judge, stage or comparison, static: "staging", "parity", "schedule", "classes" ... */
    char *text;      /* one line, owned */
};

struct suspect {
    enum suspect_kind kind;
    char *title; /* the likely mistake, one line */
    char *place; /* "gpu/kernels/x.cu:143  ldmatrix...", or NULL: no observation says one */
    char *call;  /* where the inlined function that it stands in is called, or NULL: nowhere, or as `place`
                  * says */
    char **from; /* (from_count) lines that its address or value is made at: those first that no right
                  * access of the kind shares, then the nearest */
    size_t from_count;
    char *file;               /* of the place, NULL: unknown */
    int line;                 /* likewise */
    char *look;               /* what to look at, one line, or NULL */
    char *buffer;             /* buffer or plane, or NULL */
    struct suspect_why *whys; /* (why_count) what is told of the most urgent kind first; at least one */
    size_t why_count;
    uint64_t extent; /* accesses, bytes, registers, sums or cells of its first observation; 0: not counted */
};

struct suspects {
    struct suspect *items; /* (count) the first one is to be mended first */
    size_t count;
    struct suspect_why *also; /* (also_count) of the case as a whole: the classes, the shapes, and what had nothing to
                               * judge by or was left out, and why */
    size_t also_count;
};

/* The same kernel with other operands, run once for its bits alone. */
struct sibling {
    enum sibling_kind {
        SIBLING_CLASS, /* the same shape, another data class */
        SIBLING_TILE,  /* one tile, and all of it: no tails, no second block */
        SIBLING_TILES, /* two whole tiles along each axis that has any: no tails */
        SIBLING_DEPTH, /* one step of the depth */
    } kind;
    char *name;  /* "adv", or "nt128.od128.id256"; owned */
    bool itself; /* it is the case that is explained */
    bool ran;    /* false: see why */
    enum verdict verdict;
    size_t wrong, cells; /* of the results that were compared */
    char *why;           /* not run: the reason, owned */
};

struct suspect_probe {   /* a rule that other elements were consumed by than the contract says */
    const char *operand; /* "weight codes", "activation scales" ..., or the name of a buffer */
    const char *text;    /* "rows 16..69 consumed row j mod 16 (want j)" */
    const char *suspect; /* the likely mistake, or NULL */
    size_t cells;        /* of the result that show it */
    const char *result;  /* the buffer of that result; NULL: that of the contract */
};

/* Everything that was seen of one case. Only the first two must be there. */
struct suspects_input {
    const struct outcome *outcome; /* as it runs, in all schedules, with a census */
    const struct explanation *stages;
    const struct outcome *canary; /* of the canary build, or NULL: */
    const char *no_canary;        /* why there is none */
    const struct spec *spec;
    const struct ptx_module *module; /* the program that ran, or NULL */
    const struct sibling *siblings;
    size_t sibling_count;
    const struct suspect_probe *probes;
    size_t probe_count;
};

/* *out is filled anew; the caller frees it. */
void suspects_of(const struct suspects_input *in, struct suspects *out);
void suspects_free(struct suspects *s);

#endif
