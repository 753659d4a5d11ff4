/* approximate: every instruction that was executed has a bit-exact model. Where one has not (ex2.approx.ftz.f32 ...)
 * the machine computes a value within the instruction's error bound, and no comparison of bits says anything about the
 * kernel: APPROXIMATE, whether the bytes are equal or not. Parity then reports a difference as APPROXIMATE too. A model
 * that is exact, but known from the literature alone (float mma of other architectures than sm_90), is a note. */
#include "../ref/checked.h"
#include "oracle.h"
#include <stdlib.h>
#include <string.h>

bool evidence_approximate(const struct evidence *e) {
    for (size_t i = 0; i < e->trace->event_count; ++i) {
        if (e->trace->events[i].kind == EVENT_APPROXIMATE) {
            return true;
        }
    }
    return false;
}

/* The opcode with its modifiers, as the text of an instruction has it behind its guard. */
static char *opcode_of(const struct evidence *e, const struct event *v) {
    const char *text = v->instruction < e->trace->site_count ? e->trace->sites[v->instruction].text : NULL;
    if (text == NULL) {
        return must_strdup("an instruction");
    }
    if (*text == '@') {
        text += strcspn(text, " \t");
        text += strspn(text, " \t");
    }
    return must_format("%.*s", (int)strcspn(text, " \t"), text);
}

/* Once, with the first place. No fault: every program of that architecture is judged by that model. */
static void note_literature(const struct evidence *e, struct findings *out) {
    for (size_t i = 0; i < e->trace->event_count; ++i) {
        const struct event *v = &e->trace->events[i];
        if (v->kind == EVENT_LITERATURE) {
            const struct arch *arch = e->launch->options.arch != NULL ? e->launch->options.arch : arch_default();
            struct where p = {.cell = {-1, -1}};
            where_site(&p, e->trace, v->instruction);
            findings_note(out, "float mma of %s: model of the literature, not measured (first at %s)", arch->name,
                          where_text(&p));
            free(p.file);
            free(p.inlined_file);
            free(p.instruction);
            return;
        }
    }
}

static enum ruling judge(const struct evidence *e, struct findings *out) {
    bool found = false;
    if (e->trace->on_gpu) {
        return RULING_NOT_JUDGED;
    }
    note_literature(e, out);
    for (size_t i = 0; i < e->trace->event_count; ++i) {
        const struct event *v = &e->trace->events[i];
        if (v->kind != EVENT_APPROXIMATE || event_repeats(e, i)) {
            continue;
        }
        char *opcode = opcode_of(e, v);
        finding_of_event(out, "approximate", VERDICT_APPROXIMATE, e, i,
                         must_format("bits not comparable: %s has no bit-exact model", opcode),
                         "a machine's result within the error bound, not a GPU's bits; compare on a GPU");
        free(opcode);
        found = true;
    }
    return found ? RULING_FOUND : RULING_CLEAN;
}

const struct oracle oracle_approximate = {
    .name = "approximate",
    .about = "every executed instruction has a bit-exact model",
    .judge = judge,
};
