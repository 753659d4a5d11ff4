/* The hazard judge: silent on clean evidence; each kind of event named with both sides, and benign stores a note. */
#include "../oracles/oracle.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <string.h>

extern const struct oracle oracle_hazard;

static struct launch_buffer buffer = {.name = "sums", .role = BUFFER_INOUT, .bytes = 64, .cell_bytes = 4};
static struct launch_plane planes[2] = {{"qa8", 0, 256}, {"sds", 256, 128}};
static struct trace_site sites[5] = {
    {.file = "k.cu", .line = 10, .ptx_line = 100, .text = "st.shared.u32 [%r1], %r2"},
    {.file = "k.cu", .line = 20, .ptx_line = 200, .text = "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r5]"},
    {.file = "k.cu", .line = 30, .ptx_line = 300, .text = "cp.async.cg.shared.global [%r1], [%rd1], 16"},
    {.file = "k.cu", .line = 40, .ptx_line = 400, .text = "ld.global.nc.u32 %r1, [%rd1]"},
    {.file = "k.cu", .line = 50, .ptx_line = 500, .text = "st.shared.u32 [%r1], %r2"}};

struct hazard_case {
    const char *name;
    struct event event;
    const char *summary, *other, *suspects; /* parts of them */
};

#define SHARED(k, s, at, n, w, i)                                                                                      \
    .kind = (k), .space = SPACE_SHARED, .store = (s), .buffer = -1, .plane = 1, .other_plane = -1, .offset = (at),     \
    .bytes = (n), .warp = (w), .lane = 2, .instruction = (i), .count = 1
#define OTHER(s, n, w, i)                                                                                              \
    .other = {.present = true, .store = (s), .warp = (w), .lane = 5, .instruction = (i), .bytes = (n)}

static const struct hazard_case cases[] = {
    {"a store after a load, where the program has the store first",
     {SHARED(EVENT_RACE, true, 96, 4, 3, 0), OTHER(false, 16, 1, 1)},
     "4-byte store at byte 96 of plane sds races with a 16-byte load",
     "block (0,0,0) warp 1 lane 5 at k.cu:20  ld.shared.v4.u32",
     "a missing __syncthreads() between this store and this load (in a loop: or after the load, before the next "
     "store)"},
    {"a load after a store",
     {SHARED(EVENT_RACE, false, 96, 16, 3, 1), OTHER(true, 4, 1, 0)},
     "16-byte load at byte 96 of plane sds races with a 4-byte store",
     "k.cu:10  st.shared.u32",
     "missing __syncthreads()"},
    {"a store after a load, in the program too",
     {SHARED(EVENT_RACE, true, 96, 4, 3, 4), OTHER(false, 16, 1, 1)},
     "4-byte store at byte 96 of plane sds races with a 16-byte load",
     "block (0,0,0) warp 1 lane 5 at k.cu:20  ld.shared.v4.u32",
     "a missing __syncthreads() after the last load and before the next store"},
    {"inside a warp",
     {SHARED(EVENT_RACE, false, 0, 16, 1, 1), OTHER(true, 4, 1, 0)},
     "16-byte load at byte 0",
     "warp 1 lane 5",
     "missing __syncwarp()"},
    {"two lanes of one store",
     {SHARED(EVENT_RACE, true, 0, 4, 1, 0), OTHER(true, 4, 1, 0)},
     "races with a 4-byte store",
     "k.cu:10",
     "two lanes own one element"},
    {"a copy over what is read",
     {SHARED(EVENT_RACE, true, 0, 16, 0, 2), OTHER(false, 16, 1, 1)},
     "16-byte copy at byte 0 of plane sds races with a 16-byte load",
     "k.cu:20",
     "one stage more"},
    {"a read after the other thread's wait",
     {SHARED(EVENT_RACE, false, 0, 16, 1, 1), OTHER(true, 16, 0, 2)},
     "races with a 16-byte copy",
     "k.cu:30",
     "after cp.async.wait_group"},
    {"a read ahead of the wait",
     {SHARED(EVENT_ASYNC_PENDING, false, 32, 16, 1, 1), OTHER(true, 16, 1, 2)},
     "16-byte load at byte 32 of plane sds, where a cp.async is still in flight",
     "k.cu:30",
     "wait_group is too high"},
    {"a store over a copy in flight",
     {SHARED(EVENT_ASYNC_PENDING, true, 32, 4, 1, 0), OTHER(true, 16, 1, 2)},
     "in flight",
     "k.cu:30",
     "missing wait"},
    {"an exit with a copy in flight",
     {SHARED(EVENT_ASYNC_EXIT, true, 0, 16, 1, 2)},
     "ends with a cp.async in flight",
     NULL,
     "never waited for"},
    {"between blocks",
     {.kind = EVENT_RACE,
      .space = SPACE_GLOBAL,
      .buffer = 0,
      .plane = -1,
      .other_plane = -1,
      .offset = 8,
      .bytes = 16,
      .instruction = 1,
      .block = {4, 0, 0},
      OTHER(true, 4, 1, 0)},
     "16-byte load at byte 8 of buffer sums races with a 4-byte store",
     "block (0,0,0) warp 1",
     "blocks do not wait"},
    {"a load that takes its memory for constant",
     {.kind = EVENT_RACE,
      .space = SPACE_GLOBAL,
      .buffer = 0,
      .plane = -1,
      .other_plane = -1,
      .offset = 8,
      .bytes = 4,
      .instruction = 3,
      OTHER(true, 4, 0, 0)},
     "4-byte load at byte 8 of buffer sums",
     "k.cu:10",
     "__restrict__"},
};

static enum ruling judge(struct event *events, size_t count, uint32_t unwatched, char *open, struct findings *f) {
    struct launch l = {.grid = {8, 1, 1},
                       .block = {256, 1, 1},
                       .shared_bytes = 384,
                       .buffers = &buffer,
                       .buffer_count = 1,
                       .planes = planes,
                       .plane_count = 2,
                       .options = {.unwatched = unwatched}};
    struct trace t = {.events = events, .event_count = count, .sites = sites, .site_count = 5, .order_open = open};
    const struct evidence e = {.launch = &l, .trace = &t, .complete = true, .result = SIZE_MAX};
    *f = (struct findings){0};
    return oracle_hazard.judge(&e, f);
}

Test(oracle_hazard, names_both_sides) {
    struct findings f;
    cr_assert(judge(NULL, 0, 0, NULL, &f) == RULING_CLEAN && !f.count && !f.note_count, "red on clean evidence");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const struct hazard_case *c = &cases[k];
        struct event v = c->event;
        cr_assert(judge(&v, 1, 0, NULL, &f) == RULING_FOUND && f.count == 1, "%s: %zu findings", c->name, f.count);
        const struct finding *x = &f.items[0];
        const char *other = "";
        for (size_t i = 0; i < x->line_count; ++i)
            other = strcmp(x->lines[i].label, "other") ? other : x->lines[i].text;
        cr_expect(x->verdict == VERDICT_HAZARD && !strcmp(x->oracle, "hazard"), "%s: %s by %s", c->name,
                  verdict_name(x->verdict), x->oracle);
        cr_expect(strstr(x->summary, c->summary) != NULL, "%s: says %s", c->name, x->summary);
        cr_expect(c->other ? strstr(other, c->other) != NULL : !other[0], "%s: other is %s", c->name, other);
        cr_expect(strstr(x->suspects, c->suspects) != NULL, "%s: suspects %s", c->name, x->suspects);
        cr_expect(c->event.kind == EVENT_ASYNC_EXIT || x->where.offset == c->event.offset, "%s: at %lld", c->name,
                  (long long)x->where.offset);
        findings_free(&f);
    }
}

Test(oracle_hazard, tells_one_fault_once_and_notes_what_is_benign) {
    struct findings f;
    struct event two[2] = {cases[0].event, cases[1].event}; /* the same pair, seen from both sides */
    cr_assert(judge(two, 2, 0, NULL, &f) == RULING_FOUND && f.count == 1, "%zu findings for one pair", f.count);
    findings_free(&f);
    struct event benign = cases[0].event;
    benign.kind = EVENT_BENIGN_RACE;
    cr_assert(judge(&benign, 1, 0, NULL, &f) == RULING_CLEAN && !f.count && f.note_count == 1,
              "%zu findings, %zu notes", f.count, f.note_count);
    cr_assert(strstr(f.notes[0], "the same bytes to plane sds") && strstr(f.notes[0], "k.cu:10"), "note: %s",
              f.notes[0]);
    findings_free(&f);
    char open[] = "blocks add up in any order";
    cr_assert(judge(NULL, 0, 0, open, &f) == RULING_CLEAN && f.note_count == 1 && strstr(f.notes[0], open), "%zu notes",
              f.note_count);
    findings_free(&f);
    cr_assert(judge(NULL, 0, WATCH_HAZARDS | WATCH_ASYNC, open, &f) == RULING_NOT_JUDGED, "judged without a watch");
    findings_free(&f);
}

/* The suspect is one of all pairs that raced, not of the first. */
Test(oracle_hazard, suspects_all_pairs) {
    static const struct {
        const char *file, *says, *never;
    } rows[] = {
        {"mirrored", "suspect a missing __syncthreads() between this store and this load (in a loop", "after the last"},
        {"tree", "suspect a missing __syncthreads() between the two", "__syncwarp"},
        {"counted", "suspect threads load, change and store one address: an atomic", "__syncwarp"},
        {"stored_twice", "  twice   1 cell of y stored by different threads", "not in order"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct result r = run_command("run tests/foreign/%s.yaml", rows[i].file);
        cr_expect(r.code == 1 && strstr(r.text, rows[i].says) && !strstr(r.text, rows[i].never), "%s: exit %d:\n%s",
                  rows[i].file, r.code, r.text);
        free(r.text);
    }
    /* lanes of one warp alone */
    struct findings f;
    struct event pair = cases[0].event;
    pair.warp = pair.other.warp;
    cr_assert(judge(&pair, 1, 0, NULL, &f) == RULING_FOUND && strstr(f.items[0].suspects, "__syncwarp()"), "%s",
              f.items[0].suspects);
    findings_free(&f);
    pair.across_warps = true;
    cr_assert(judge(&pair, 1, 0, NULL, &f) == RULING_FOUND && strstr(f.items[0].suspects, "__syncthreads()"), "%s",
              f.items[0].suspects);
    findings_free(&f);
}
