/* census: what the launch executed is what the closed forms in `counts` of its launch file say. Judged only when a
 * census was asked for (warpproof census). */
#include "../ref/checked.h"
#include "oracle.h"
#include <inttypes.h>
#include <string.h>

static enum ruling judge(const struct evidence *e, struct findings *out) {
    bool found = false;
    if (e->census == NULL || e->count_count == 0) {
        return RULING_NOT_JUDGED;
    }
    for (size_t i = 0; i < e->count_count; ++i) {
        const struct expected_count *want = &e->counts[i];
        uint64_t got = 0;
        if (!census_count(e->census, want->name, &got)) {
            found = true;
            struct finding *f = findings_add(out, "census", VERDICT_INPUT);
            f->summary =
                must_format("counts: nothing is called '%s'; known: instructions, macs, wavefronts, conflicts, "
                            "sectors, the classes of warpproof census, and CLASS.wavefronts, .conflicts, .sectors",
                            want->name);
            finding_line(f, "census", "%s", f->summary);
        } else if (want->value < 0 || (uint64_t)want->value != got) {
            found = true;
            struct finding *f = findings_add(out, "census", VERDICT_DIFFERS);
            f->summary = must_format("%s: the launch file's closed form says %" PRId64 ", %" PRIu64 " were executed",
                                     want->name, want->value, got);
            f->cause = strcmp(want->name, "mma") == 0 || strcmp(want->name, "macs") == 0 ? "work" : "count";
            f->suspects =
                must_strdup("an instruction that is executed more often than the design says, or a closed form "
                            "that is not of this kernel");
            finding_line(f, "census", "%s", f->summary);
        }
    }
    return found ? RULING_FOUND : RULING_CLEAN;
}

const struct oracle oracle_census = {
    .name = "census",
    .about = "the instructions executed are as many as the closed forms of the launch file say",
    .on_request = true,
    .judge = judge,
};
