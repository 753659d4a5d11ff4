/* launch: the kernel can be launched, and ran to its end. More shared memory than the architecture has, a stack that
 * runs out, a trap or a failed assertion, which is the kernel's own word that it cannot go on, and whatever a real GPU
 * stopped are LAUNCH (exit 1); a block that runs past its step budget is a
 * program that cannot be judged (INPUT, exit 2). */
#include "../ref/checked.h"
#include "oracle.h"
#include <inttypes.h>
#include <stdlib.h>

static enum ruling judge(const struct evidence *e, struct findings *out) {
    const uint64_t budget = e->launch->step_budget != 0 ? e->launch->step_budget : LAUNCH_STEP_BUDGET;
    bool found = e->trace->device_fault != NULL;
    if (found) {
        struct finding *f = findings_add(out, "launch", VERDICT_LAUNCH);
        f->summary = must_format("the GPU stopped the kernel: %s", e->trace->device_fault);
        f->suspects = must_strdup("an access out of bounds, a trap, or a launch that the GPU cannot take");
        finding_line(f, "launch", "%s", f->summary);
        finding_line(f, "hint", "--runner machine says which thread, instruction and byte");
    }
    for (size_t i = 0; i < e->trace->event_count; ++i) {
        const struct event *v = &e->trace->events[i];
        if (event_repeats(e, i)) {
            continue;
        }
        if (v->kind == EVENT_TRAP) {
            finding_of_event(out, "launch", VERDICT_LAUNCH, e, i, must_strdup("the kernel executed trap"),
                             "a precondition that the kernel checks itself");
            found = true;
        }
        if (v->kind == EVENT_ASSERT) {
            finding_of_event(out, "launch", VERDICT_LAUNCH, e, i,
                             must_strdup(e->trace->assertion != NULL ? e->trace->assertion : "an assertion failed"),
                             "a precondition that the kernel checks itself");
            found = true;
        }
        if (v->kind == EVENT_STACK) {
            char *what =
                v->bytes > 0 ? must_format(", with %zu bytes of local memory for the next", v->bytes) : must_strdup("");
            finding_of_event(
                out, "launch", VERDICT_LAUNCH, e, i,
                must_format("the stack of a thread ran out, %" PRId64 " calls deep%s", v->offset, what),
                "a recursion without end; the machine gives 1024 calls, 512 KiB a thread, 256 MiB a block");
            free(what);
            found = true;
        }
        if (v->kind == EVENT_LIMIT) {
            struct finding *f = findings_add(out, "launch", VERDICT_LAUNCH);
            const char *suspects;
            f->summary = launch_excess(e->launch, &suspects);
            f->suspects = must_strdup(suspects);
            finding_line(f, "launch", "%s", f->summary);
            finding_line(f, "", "nothing was run");
            found = true;
        }
        if (v->kind == EVENT_STEP_BUDGET) {
            finding_of_event(out, "launch", VERDICT_INPUT, e, i,
                             must_format("a block ran past its budget of %" PRIu64 " warp instructions", budget),
                             "a loop that never ends; a longer launch needs `steps` in its launch file");
            found = true;
        }
    }
    return found ? RULING_FOUND : RULING_CLEAN;
}

const struct oracle oracle_launch = {
    .name = "launch",
    .about = "the launch fits the architecture, and ran to its end without trap and within its step budget",
    .judge = judge,
};
