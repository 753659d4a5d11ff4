/* What in a PTX program leaves bits open: places where two correct builds, runs or GPUs may give other bits than the
 * text says. A bitwise verdict about the program holds up to these. Static: nothing is run. */
#ifndef GPU_AUDIT_H
#define GPU_AUDIT_H

#include "arch.h"
#include "ptx/ptx.h"

enum audit_kind {
    AUDIT_FUSIBLE,      /* mul and add without a rounding: ptxas may make one fma of them (PTX ISA 9.7.3.3, 9.7.3.5) */
    AUDIT_APPROXIMATE,  /* only an error bound is documented: ex2.approx, div.full ... */
    AUDIT_FLOAT_ATOMIC, /* the order of the additions is open (9.7.13.5) */
    AUDIT_ENVIRONMENT,  /* clocks, numbers of multiprocessors, activemask: another run may see another value */
    AUDIT_MACHINE,      /* the document leaves the result to the machine: a divisor that may be 0, operations of a warp
                         * without .sync, brx.idx past its table */
    AUDIT_LITERATURE,   /* float mma of an architecture whose model is the literature's (gpu/machine/tensor_model.h):
                         * the machine's bits are exactly that model's, and nobody here has held them to the silicon */
    AUDIT_MEASURED,     /* open in the document, known here by measurement: on sm_90 float mma, rcp, div.approx and
                         * div.full of f32, ex2 and tanh of 16-bit numbers */
    AUDIT_FLUSH,        /* .ftz: determined, but subnormal numbers are lost */
    AUDIT_KINDS,
};
extern const char *const audit_names[AUDIT_KINDS]; /* "fusible" ... */
extern const char *const audit_texts[AUDIT_KINDS]; /* one line for people */
bool audit_is_open(enum audit_kind k);             /* all before AUDIT_MEASURED */

struct audit_item {
    enum audit_kind kind;
    const struct ptx_instruction *at;
    const struct ptx_instruction *with; /* AUDIT_FUSIBLE: the mul; else NULL */
    const struct ptx_function *in;
};

struct audit {
    size_t count[AUDIT_KINDS];
    struct audit_item *items; /* in the order of the functions and of the text */
    size_t item_count, room;
    size_t instructions; /* looked at */
};

/* Of an entry and of every function that it can reach, for one architecture (NULL: arch_default). What was measured was
 * measured on sm_90: on any other, approximate functions are AUDIT_APPROXIMATE, float mma is AUDIT_LITERATURE, and fp8
 * mma of which nothing is published AUDIT_MACHINE. The caller frees it; items point into the module. */
void audit_entry(const struct ptx_module *m, const struct ptx_function *entry, const struct arch *arch,
                 struct audit *a);
void audit_free(struct audit *a);
size_t audit_open(const struct audit *a); /* items that leave bits open */
/* What the machine says of the first instruction within reach that it does not run, of which an audit knows nothing:
 * one line that the caller frees; NULL when it runs all. */
char *audit_refusal(const struct ptx_module *m, const struct ptx_function *entry, const struct arch *arch);

#endif
