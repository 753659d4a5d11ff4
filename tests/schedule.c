/* Oracle schedule, by the command: kernels whose bytes depend on the order (tests/foreign/orders.cu) are red under its
 * name and say where, what and who; others are green in every order. */
#include "../oracles/oracle.h"
#include "../oracles/trial.h"
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(schedule, .init = make_folder, .fini = remove_folder);

static char *read_whole(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    cr_assert(f, "%s cannot be read: tests run in the root of the project", path);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *text = must_calloc(*size + 1, 1);
    cr_assert(fread(text, 1, *size, f) == *size, "%s is shorter than it was", path);
    fclose(f);
    return text;
}

static void put_ptx(void) {
    size_t size;
    char *text = read_whole("tests/foreign/orders.ptx", &size);
    put_file("orders.ptx", text, size);
    free(text);
}

/* A launch file k.yaml of an entry: grid and block as given, and its arguments. */
static void put_launch(const char *entry, int grid, int block, const char *args) {
    char *text = must_format("kernel: %s\nptx: orders.ptx\nlaunch: {grid: [%d], block: [%d]}\nargs:\n%s", entry, grid,
                             block, args);
    put_file("k.yaml", text, strlen(text));
    free(text);
}

static const char x_and_y[] = "  - {in: x, type: i32, count: 4096, fill: random}\n"
                              "  - {out: y, type: i32, count: 64}\n";
static const char x_and_y128[] = "  - {in: x, type: i32, count: 128, fill: random}\n"
                                 "  - {out: y, type: i32, count: 128}\n";
static const char only_y[] = "  - {inout: y, type: i32, count: 64, fill: iota}\n  - {i32: 64}\n";
static const char stages[] = "  - {in: x, type: i32, count: 1536, fill: random}\n"
                             "  - {out: y, type: i32, count: 64}\n  - {i32: 6}\n  - {i32: 384}\n";

/* Runs k.yaml and expects every text. */
static void expect(const char *options, int code, const char *const *texts) {
    struct result r = run_command("run %s/k.yaml %s", run_folder, options);
    cr_assert(r.code == code, "%s: exit %d, want %d\n%s", options, r.code, code, r.text);
    for (; *texts; ++texts)
        cr_assert(strstr(r.text, *texts), "%s: \"%s\" is not in\n%s", options, *texts, r.text);
    free(r.text);
}
#define EXPECT(options, code, ...) expect(options, code, (const char *const[]){__VA_ARGS__, NULL})

Test(schedule, what_hangs_on_the_order_is_named) {
    put_ptx();
    put_launch("warps_race", 1, 64, x_and_y);
    EXPECT("--schedule all", 1, "HAZARD run/warps_race/s1", "of y depend on the order: schedules in-order and reversed",
           "first   element ", "run     in-order ", "run     reversed ", "run     random:1 ",
           "tests/foreign/orders.cu:", "stored by block (0,0,0) warp ", "--schedule all");
    put_launch("lanes_race", 1, 64, x_and_y);
    EXPECT("--schedule all", 1, "HAZARD run/lanes_race/s1", "64 of 64 cells of y depend on the order",
           "in-order   0x00000001", "reversed   0x00000000");
    put_launch("blocks_race", 3, 32, only_y);
    EXPECT("--schedule all", 1, "HAZARD run/blocks_race/s1", "64 of 64 cells of y depend on the order",
           "in-order   0x00000004   stored by block (2,0,0) warp 0 lane 0",
           "reversed   0x0000000a   stored by block (0,0,0) warp 0 lane 0");
    /* without being asked for, since the watches leave the order open */
    EXPECT("", 1, "HAZARD run/blocks_race/s1", "64 of 64 cells of y depend on the order",
           "race    load by block (1,0,0) warp 0 lane 0 at ", "--schedule all");
    put_launch("float_sums", 8, 64,
               "  - {in: x, type: i32, count: 512, fill: random}\n  - {inout: y, type: f32, count: 8, fill: zero}\n");
    EXPECT("", 1, "HAZARD run/float_sums/s1", "of 8 cells of y depend on the order", "in-order   0x", "reversed   0x",
           "stored by block (7,0,0) warp 1 lane 24 at tests/foreign/orders.cu:",
           "note    not proved for every order: atomic", "--schedule all");
    put_launch("source_is_stored", 1, 64,
               "  - {in: x, type: i32, count: 64, fill: random}\n  - {out: y, type: i32, count: 320}\n");
    EXPECT("", 1, "HAZARD run/source_is_stored/s1", "64 of 320 cells of y depend on the order",
           "which a cp.async in flight still has to read", "--schedule all");
    put_launch("keeps_too_many", 1, 64, stages);
    EXPECT("--schedule all", 1, "HAZARD run/keeps_too_many/s1", "depend on the order");
    put_launch("no_barrier_to_fill", 1, 64, stages);
    EXPECT("--schedule all", 1, "HAZARD run/no_barrier_to_fill/s1", "depend on the order");
}

Test(schedule, orderly_kernels_are_green) {
    put_ptx();
    static const char *const options[] = {"--schedule all",      "--schedule in-order", "--schedule reversed",
                                          "--schedule random:7", "--schedule random:0", ""};
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        put_launch("two_stages", 1, 64, stages);
        EXPECT(options[i], 0, "PASS run/two_stages/s1");
        put_launch("orderly", 2, 128,
                   "  - {in: x, type: i32, count: 256, fill: random}\n"
                   "  - {out: y, type: i32, count: 256}\n");
        EXPECT(options[i], 0, "PASS run/orderly/s1");
        put_launch("integer_sums", 8, 64,
                   "  - {in: x, type: i32, count: 512, fill: random}\n"
                   "  - {inout: y, type: i32, count: 8, fill: zero}\n");
        EXPECT(options[i], 0, "PASS run/integer_sums/s1");
    }
}

/* A fault of one order alone is a finding that says so, and the command that shows it. */
Test(schedule, faults_of_one_order) {
    put_ptx();
    put_launch("trap_when_first", 1, 64, x_and_y);
    EXPECT("--schedule in-order", 0, "PASS");
    EXPECT("--schedule all", 1, "LAUNCH run/trap_when_first/s1", "the kernel executed trap",
           "seen in schedule reversed, not in order", "a trap in schedule reversed, while in-order runs to its end",
           "--schedule all");
    EXPECT("--schedule reversed", 1, "LAUNCH run/trap_when_first/s1", "rerun   ", " --schedule reversed");
    put_launch("past_the_end_when_first", 1, 64, x_and_y);
    EXPECT("--schedule in-order", 0, "PASS");
    EXPECT("--schedule all", 1, "GUARD run/past_the_end_when_first/s1", "4-byte store at byte 256 of buffer y",
           "seen in schedule reversed, not in order");
}

Test(schedule, records) {
    put_ptx();
    put_launch("blocks_race", 3, 32, only_y);
    char *path = must_format("%s/r.json", run_folder);
    static const struct {
        const char *options, *schedules;
    } cases[] = {{"--schedule all", "\"schedules\": [\"in-order\", \"reversed\", \"random:1\"]"},
                 {"--schedule random:12", "\"schedules\": [\"random:12\"]"},
                 {"", "\"schedules\": [\"in-order\", \"reversed\", \"random:1\"]"},
                 {"--schedule reversed", "\"schedules\": [\"reversed\"]"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char *once = NULL;
        for (int threads = 1; threads <= 7; threads += 3) { /* the same for every number of threads */
            char *options = must_format("%s -j %d --json %s", cases[i].options, threads, path);
            struct result r = run_command("run %s/k.yaml %s", run_folder, options);
            size_t size;
            char *text = read_whole(path, &size);
            *strchr(text, '\n') = 0; /* the last line depends on the clock */
            cr_assert(strstr(text, cases[i].schedules), "%s: %s is not in %s", options, cases[i].schedules, text);
            cr_assert(!once || !strcmp(once, text), "%s: the record is another one\n%s\n%s", options, once, text);
            free(once);
            once = text;
            free(r.text);
            free(options);
        }
        /* counts are those of one run: 3 blocks of one warp, however many orders were run */
        cr_assert(strstr(once, "\"schedule\": \"found\"") || !strstr(cases[i].schedules, ","), "%s", once);
        free(once);
    }
    put_launch("orderly", 1, 128, x_and_y128); /* proved by one order */
    free(run_command("run %s/k.yaml --json %s", run_folder, path).text);
    size_t size;
    char *text = read_whole(path, &size);
    cr_assert(strstr(text, "\"schedule\": \"clean\"") && strstr(text, "\"schedules\": [\"in-order\"]"), "%s", text);
    free(text);
    free(path);
    static const char *const bad[] = {"random", "random:", "random:-1", "random:x", "ALL", "in_order", "''"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        expect_result(run_command("gate --schedule %s mmq_wide_ldb_kd4/nt1.od1.id256/adv/s1", bad[i]), 2,
                      "want in-order, reversed, random:SEED or all");
    expect_result(run_command("gate --schedule all mmq_wide_ldb_kd4/nt1.od1.id256/adv/s1"), 0,
                  "1 passed, 0 failed, 0 skipped");
}

/* A kernel whose order is open is run in all orders without being asked; runner and judges alone, by a made-up trace.
 */
extern const struct oracle oracle_schedule;

Test(schedule, judge) {
    static float a[4] = {1, 2, 3, 4}, b[4] = {1, 2, 3, 4};
    static uint8_t stores[16];
    static struct cell_history cells[4];
    memset(stores, 1, sizeof stores);
    struct trace_site sites[] = {{.file = "k.cu", .line = 7, .text = "st"}, {.file = "k.cu", .line = 9, .text = "ld"}};
    struct event race = {.kind = EVENT_RACE,
                         .space = SPACE_SHARED,
                         .store = true,
                         .buffer = -1,
                         .warp = 2,
                         .instruction = 0,
                         .other = {.present = true, .warp = 1, .lane = 5, .instruction = 1}};
    struct event trap = {.kind = EVENT_TRAP};
    struct buffer_coverage coverage = {stores, cells};
    struct trace t = {.sites = sites, .site_count = 2, .coverage = &coverage, .buffer_count = 1, .has_coverage = true},
                 u = t;
    struct launch_buffer buffer = {.name = "y",
                                   .role = BUFFER_OUT,
                                   .bytes = 16,
                                   .cell_bytes = 4,
                                   .is_f32 = true,
                                   .data = (uint8_t *)a},
                         second = buffer;
    second.data = (uint8_t *)b;
    const struct launch l = {.grid = {1, 1, 1}, .block = {64, 1, 1}, .buffers = &buffer, .buffer_count = 1},
                        m = {.grid = {1, 1, 1}, .block = {64, 1, 1}, .buffers = &second, .buffer_count = 1};
    struct schedule_run run = {.name = "reversed", .launch = &m, .trace = &u, .complete = true};
    struct evidence e = {
        .launch = &l, .trace = &t, .complete = true, .result = SIZE_MAX, .schedule = "in-order", .others = &run};
    struct findings f = {0};
    cr_assert(oracle_schedule.judge(&e, &f) == RULING_CLEAN && !f.count, "one order, and it is proved");
    t.order_open = "blocks read each other's stores";
    cr_assert(oracle_schedule.judge(&e, &f) == RULING_NOT_JUDGED && !f.count, "one order, and it is open");
    t.order_open = NULL;
    t.on_gpu = true;
    cr_assert(oracle_schedule.judge(&e, &f) == RULING_NOT_JUDGED && !f.count, "a GPU says nothing");
    t.on_gpu = false;
    e.other_count = 1;
    cr_assert(oracle_schedule.judge(&e, &f) == RULING_CLEAN && !f.count, "two orders, equal bytes");
    b[2] = -3; /* and a race that says why */
    u.events = &race;
    u.event_count = 1;
    t.order_open = "a race";
    cr_assert(oracle_schedule.judge(&e, &f) == RULING_FOUND && f.count == 1, "%zu findings of other bytes", f.count);
    static const char *const lines[] = {"1 of 4 cells of y depend on the order", "element 2 (y byte 8)",
                                        "in-order   0x40400000 3   stored by block (0,0,0) warp 0 lane 0 at k.cu:7",
                                        "reversed   0xc0400000 -3   stored by",
                                        "store by block (0,0,0) warp 2 lane 0 at k.cu:7, and load by block (0,0,0) "
                                        "warp 1 lane 5 at k.cu:9"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i)
        cr_assert(i < f.items[0].line_count && strstr(f.items[0].lines[i].text, lines[i]), "line %zu: \"%s\"", i,
                  i < f.items[0].line_count ? f.items[0].lines[i].text : "");
    cr_assert(f.items[0].verdict == VERDICT_HAZARD && f.items[0].want == 0x40400000 && f.items[0].got == 0xc0400000,
              "verdict %s", verdict_name(f.items[0].verdict));
    findings_free(&f);
    run.complete = false; /* then bytes are not compared */
    u.events = &trap;
    cr_assert(oracle_schedule.judge(&e, &f) == RULING_FOUND && f.count == 1 &&
                  strstr(f.items[0].summary, "a trap in schedule reversed, while in-order runs to its end"),
              "an order that ends early");
    findings_free(&f);
    e.complete = false;
    cr_assert(oracle_schedule.judge(&e, &f) == RULING_NOT_JUDGED && !f.count, "both end early");
}
