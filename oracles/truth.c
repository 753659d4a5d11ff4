/* truth: the contract's own bits lie within its proved bound of the float64 value. Red here means that the contract,
 * not the kernel, is wrong: INPUT, exit 2. */
#include "../ref/truth.h"
#include "../ref/checked.h"
#include "oracle.h"

static enum ruling judge(const struct evidence *e, struct findings *out) {
    if (e->contract == NULL || e->contract->truth == NULL || e->follows) {
        return RULING_NOT_JUDGED;
    }
    for (size_t i = 0; i < e->launch->buffer_count; ++i) {
        if (e->launch->buffers[i].role == BUFFER_IN || e->expected[i] == NULL) {
            continue;
        }
        const struct truth_gap g = truth_compare(e->contract, e->operands, e->expected[i]);
        if (g.holds) {
            continue;
        }
        struct finding *f = findings_add(out, "truth", VERDICT_INPUT);
        f->summary = must_format("contract %s breaks its bound at cell %zu: %.17g, truth %.17g +- %.3g",
                                 e->contract->name, g.cell, g.got, g.value, g.bound);
        f->suspects = must_strdup("the contract or its bound is wrong, not the kernel");
        finding_line(f, "truth", "%s", f->summary);
        return RULING_FOUND;
    }
    return RULING_CLEAN;
}

const struct oracle oracle_truth = {
    .name = "truth",
    .about = "the contract's bits lie within the proved bound of the float64 value",
    .judge = judge,
};
