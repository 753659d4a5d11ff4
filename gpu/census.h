/* What a launch executed, by class of instruction and by source line. Made of the counts of a trace that was run with
 * options.census. */
#ifndef GPU_CENSUS_H
#define GPU_CENSUS_H

#include "launch.h"

enum instruction_class {
    CLASS_MMA,
    CLASS_LDMATRIX,
    CLASS_STMATRIX,
    CLASS_LD_SHARED,
    CLASS_ST_SHARED,
    CLASS_LD_GLOBAL,
    CLASS_ST_GLOBAL,
    CLASS_LD_GENERIC,
    CLASS_ST_GENERIC,
    CLASS_LD_LOCAL,
    CLASS_ST_LOCAL,
    CLASS_LD_PARAM, /* of parameters and constants: no memory access on hardware worth a count of its own */
    CLASS_CP_ASYNC,
    CLASS_ATOMIC,
    CLASS_INTEGER, /* integer arithmetic, bits, shifts, dp4a */
    CLASS_FLOAT,   /* f32, f64 */
    CLASS_HALF,    /* f16, bf16, one or two in a register */
    CLASS_CONVERT,
    CLASS_COMPARE, /* setp, set, selp, slct, logic of predicates */
    CLASS_MOVE,    /* mov, cvta, ld.param of a call */
    CLASS_CONTROL, /* branches, calls, exits */
    CLASS_BARRIER, /* bar, barrier, fences */
    CLASS_WARP,    /* shfl, vote, match, redux */
    CLASS_OTHER,
    CLASSES,
};
extern const char *const class_names[CLASSES]; /* "mma", "ld.shared" ...: what `counts` of a launch file may name */

enum instruction_class census_class(const struct ptx_instruction *in);

struct census_line {  /* of one source line; a PTX line where there is no line info */
    const char *file; /* NULL: `line` is of the PTX. Owned by the module */
    int line;
    struct site_count count;
    uint64_t by_class[CLASSES]; /* executed */
};

struct census_site {  /* one instruction that reaches memory */
    const char *file; /* NULL when the PTX has no line info */
    int line, ptx_line;
    const char *text;
    struct site_count count;
};

struct census {
    const char *entry; /* of the one of several launches that it is, set by whoever runs them; NULL: there is one */
    struct site_count total;
    struct site_count by_class[CLASSES];
    struct census_line *lines; /* ascending by file and line */
    size_t line_count;
    struct census_site *sites; /* most conflicts first, then most wavefronts, most sectors, lowest PTX line */
    size_t site_count;
    uint64_t macs;
};

/* False, and an empty census, when the trace has no counts. The caller frees it. */
bool census_of(const struct trace *t, struct census *c);
void census_free(struct census *c);
/* Of several launches together: totals and classes, no lines and no sites, so there is nothing to free. */
struct census census_sum(const struct census *c, size_t count);

/* The count that a name of `counts` in a launch file stands for: `instructions`, `macs`, `wavefronts`, `conflicts` or
 * `sectors` of the whole launch; a class, which is what it executed; or a class and `.wavefronts`, `.conflicts`,
 * `.sectors` or `.requests`, which is what it executed with at least one lane. False for any other name. */
bool census_count(const struct census *c, const char *name, uint64_t *value);

#endif
