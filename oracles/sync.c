/* sync: barriers are reached by all lanes that must reach them, every warp gets past the last one, and no shuffle reads
 * a lane that is not there. */
#include "../ref/checked.h"
#include "oracle.h"
#include <stdlib.h>

static const char *const texts[EVENT_KINDS] = {
    [EVENT_DIVERGENT_BARRIER] = "barrier reached by a part of a warp's live lanes",
    [EVENT_DIVERGENT_ALIGNED] = "warp-wide (.aligned or .sync) instruction executed by other lanes than it needs",
    [EVENT_ABSENT_LANE] = "shuffle reads a lane that does not take part, which gives an undefined value",
    [EVENT_BARRIER_OPERAND] =
        "barrier number above 15, thread count that is no multiple of 32 up to 1024, or other ones "
        "in lanes of one warp",
    [EVENT_DEADLOCK] = "deadlock: warps wait at barriers that can never fill",
};

static enum ruling judge(const struct evidence *e, struct findings *out) {
    if (e->trace->on_gpu) {
        return RULING_NOT_JUDGED;
    }
    bool found = false;
    for (size_t i = 0; i < e->trace->event_count; ++i) {
        const struct event *v = &e->trace->events[i];
        if (event_repeats(e, i)) {
            continue;
        }
        if (texts[v->kind] != NULL) {
            found = true;
            struct finding *f = finding_of_event(
                out, "sync", VERDICT_HAZARD, e, i, must_strdup(texts[v->kind]),
                v->kind == EVENT_ABSENT_LANE
                    ? "a member mask or width that is wider than the lanes that are there, an early return, "
                      "or a partial last warp"
                : v->kind == EVENT_BARRIER_OPERAND
                    ? "a number or count computed from the thread instead of the warp"
                    : "a barrier or warp-wide instruction inside a branch that not all threads take");
            if (v->other.present) {
                struct where use = {.cell = {-1, -1}};
                where_site(&use, e->trace, v->other.instruction);
                finding_line(f, v->kind == EVENT_ABSENT_LANE ? "used" : "missed", "%s%s  %s",
                             v->kind == EVENT_ABSENT_LANE ? "" : "by lanes that go on to ", where_text(&use),
                             use.instruction ? use.instruction : "");
                free(use.file);
                free(use.inlined_file);
                free(use.instruction);
            }
        }
    }
    return found ? RULING_FOUND : e->launch->options.unwatched & WATCH_SYNC ? RULING_NOT_JUDGED : RULING_CLEAN;
}

const struct oracle oracle_sync = {
    .name = "sync",
    .about = "barriers and warp-wide instructions are reached by every lane that must reach them",
    .watches = WATCH_SYNC,
    .judge = judge,
};
