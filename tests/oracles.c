/* Each judge is shown clean evidence and must stay silent, then one planted fault of each kind and must name it. */
#include "../gpu/data.h"
#include "../oracles/oracle.h"
#include "../ref/half.h"
#include "../ref/rcp_approx.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

extern const struct oracle oracle_launch, oracle_guard, oracle_sync, oracle_uninit, oracle_coverage, oracle_approximate,
    oracle_parity, oracle_truth;

enum { NT = 3, OD = 34, CELLS = NT * OD };
#define POISON 0x7fa5dead

/* A launch that left exactly the right result: want[c] = c + 1, every cell stored once by its own thread. */
static float want[CELLS], got[CELLS];
static uint8_t stores[4 * CELLS], input[16];
static struct cell_history cells[CELLS];
static struct launch_buffer buffers[2];
static struct launch_plane planes[2] = {{"qa8", 0, 256}, {"sds", 256, 128}};
static struct ptx_module module;
static struct launch l;
static struct trace_site sites[2] = {
    {.file = "gpu/kernels/k.cu", .line = 10, .ptx_line = 100, .text = "st.global.f32 [%rd1], %f1"},
    {.file = "gpu/kernels/asm.cuh",
     .line = 20,
     .ptx_line = 200,
     .text = "ldmatrix",
     .inlined_file = "gpu/kernels/k.cu",
     .inlined_line = 30}};
static struct buffer_coverage coverage[2];
static struct event events[2];
static struct trace trace;
static uint8_t weight[OD * 144], activation[NT * 8 * 40];
static struct contract_operands operands = {.weight = weight, .activation = activation, .nt = NT, .od = OD, .id = 256};
static const struct contract *contract;
static const uint8_t *expected[2];
static struct evidence evidence;
static struct findings findings;

static void clean(void) {
    findings_free(&findings);
    for (int c = 0; c < CELLS; ++c) {
        want[c] = got[c] = (float)(c + 1);
        cells[c].first = cells[c].last = (struct cell_writer){.block = 0, .thread = (uint32_t)c, .instruction = 0};
    }
    memset(stores, 1, sizeof stores);
    buffers[0] =
        (struct launch_buffer){.name = "x", .role = BUFFER_IN, .bytes = sizeof input, .cell_bytes = 4, .data = input};
    buffers[1] = (struct launch_buffer){.name = "result",
                                        .role = BUFFER_OUT,
                                        .bytes = sizeof got,
                                        .cell_bytes = 4,
                                        .is_f32 = true,
                                        .data = (uint8_t *)got};
    l = (struct launch){.module = &module,
                        .grid = {1, 1, 1},
                        .block = {128, 1, 1},
                        .shared_bytes = 384,
                        .buffers = buffers,
                        .buffer_count = 2,
                        .planes = planes,
                        .plane_count = 2};
    coverage[1] = (struct buffer_coverage){stores, cells};
    trace = (struct trace){.events = events,
                           .sites = sites,
                           .site_count = 2,
                           .coverage = coverage,
                           .buffer_count = 2,
                           .has_coverage = true};
    contract = contract_named("q4_k_pad40_two_term");
    expected[1] = (const uint8_t *)want;
    evidence = (struct evidence){.launch = &l,
                                 .trace = &trace,
                                 .contract = contract,
                                 .operands = &operands,
                                 .expected = expected,
                                 .poison = POISON,
                                 .complete = true,
                                 .result = SIZE_MAX,
                                 .schedule = "in-order"};
}

/* Expects exactly one finding of that verdict whose summary or lines hold the text. */
static const struct finding *expect(const struct oracle *o, enum verdict v, const char *text) {
    const enum ruling r = o->judge(&evidence, &findings);
    cr_assert(r == RULING_FOUND && findings.count == 1, "%s: ruling %d, %zu findings, want one", o->name, (int)r,
              findings.count);
    const struct finding *f = &findings.items[0];
    cr_assert(f->verdict == v, "%s: verdict %s, want %s", o->name, verdict_name(f->verdict), verdict_name(v));
    bool found = strstr(f->summary, text) != NULL;
    for (size_t i = 0; i < f->line_count; ++i) {
        found |= strstr(f->lines[i].text, text) != NULL;
    }
    cr_assert(found, "%s: \"%s\" does not say \"%s\"", o->name, f->summary, text);
    cr_assert(strcmp(f->oracle, o->name) == 0, "finding of %s calls itself %s", o->name, f->oracle);
    return f;
}

Test(oracles, are_silent_on_clean_evidence) {
    clean();
    const struct oracle *const judges[] = {&oracle_launch,   &oracle_guard,       &oracle_sync,  &oracle_uninit,
                                           &oracle_coverage, &oracle_approximate, &oracle_parity};
    for (size_t i = 0; i < 7; ++i) {
        cr_assert(judges[i]->judge(&evidence, &findings) == RULING_CLEAN && findings.count == 0,
                  "%s is red on clean evidence", judges[i]->name);
    }
}

Test(oracles, parity_names_cell_values_and_site) {
    clean();
    got[OD + 16] = -want[OD + 16];
    const struct finding *f = expect(&oracle_parity, VERDICT_DIFFERS, "token 1, row 16");
    cr_assert(f->want == float_bits(want[OD + 16]) && f->got == float_bits(got[OD + 16]), "want and got are wrong");
    cr_assert(f->where.line == 10 && f->where.warp == 1 && f->where.lane == 18, "writer is line %d warp %u lane %u",
              f->where.line, f->where.warp, f->where.lane);
    cr_assert(f->where.cell[0] == 1 && f->where.cell[1] == 16 && f->where.offset == 4 * (OD + 16), "place is wrong");
    findings_free(&findings);
}

/* Equal bytes or not: a launch with an approximate instruction is APPROXIMATE, and no difference makes it red. */
Test(oracles, approximate_instructions_prove_nothing) {
    clean();
    trace.event_count = 1;
    events[0] = (struct event){.kind = EVENT_APPROXIMATE, .instruction = 0, .warp = 2, .lane = 3, .count = 1};
    const struct finding *f = expect(&oracle_approximate, VERDICT_APPROXIMATE, "st.global.f32 has no bit-exact model");
    cr_assert(f->where.line == 10 && f->where.warp == 2 && f->where.lane == 3, "line %d warp %u lane %u", f->where.line,
              f->where.warp, f->where.lane);
    findings_free(&findings);
    cr_assert(oracle_parity.judge(&evidence, &findings) == RULING_CLEAN && findings.count == 0,
              "parity is red though no byte differs");
    got[3] = 0;
    expect(&oracle_parity, VERDICT_APPROXIMATE, "says nothing about the kernel");
    findings_free(&findings);
    trace.event_count = 0;
    expect(&oracle_parity, VERDICT_DIFFERS, "row 3");
    findings_free(&findings);
}

Test(oracles, parity_compares_bits_not_values) {
    clean();
    want[0] = 0.0f;
    got[0] = -0.0f;
    expect(&oracle_parity, VERDICT_DIFFERS, "0x80000000");
    clean();
    want[5] = bits_float(0x7fffffff);
    got[5] = bits_float(0x7fc00000);
    expect(&oracle_parity, VERDICT_DIFFERS, "0x7fc00000");
    clean();
    want[5] = got[5] = bits_float(0x7fffffff);
    cr_assert(oracle_parity.judge(&evidence, &findings) == RULING_CLEAN, "the same NaN bits are equal");
    findings_free(&findings);
}

Test(oracles, parity_sees_the_last_unit) {
    clean();
    got[7] = bits_float(float_bits(want[7]) + 1);
    expect(&oracle_parity, VERDICT_DIFFERS, "off by at most 1 units in the last place");
    cr_assert(strstr(findings.items[0].suspects, "rounding") != NULL, "suspects \"%s\"", findings.items[0].suspects);
    findings_free(&findings);
}

/* A kernel that is right by another contract is told so; one wrong cell, and it is not. */
Test(oracles, parity_names_the_contract_that_a_kernel_follows) {
    clean();
    struct random_stream s = random_open(random_key("oracles/other"), 0);
    struct error e;
    cr_assert(data_fill(DATA_RAND, "q4_K", &s, OD, 256, weight, &e) &&
                  data_fill(DATA_RAND, "pad40", &s, NT, 256, activation, &e),
              "%s", e.text);
    contract->evaluate(&operands, want);
    contract_named("q4_k_pad40_rank_1")->evaluate(&operands, got);
    expect(&oracle_parity, VERDICT_DIFFERS, "these are the bits of contract q4_k_pad40_rank_1 in every cell");
    cr_assert(strstr(findings.items[0].suspects, "another contract"), "suspects \"%s\"", findings.items[0].suspects);
    findings_free(&findings);
    got[3] = bits_float(float_bits(got[3]) ^ 1);
    cr_assert(oracle_parity.judge(&evidence, &findings) == RULING_FOUND &&
                  !strstr(findings.items[0].suspects, "another contract"),
              "one cell of neither contract: \"%s\"", findings.items[0].suspects);
    findings_free(&findings);
}

Test(oracles, parity_refuses_an_expectation_that_proves_nothing) {
    clean();
    for (int c = 0; c < CELLS; ++c) {
        want[c] = got[c] = bits_float(0x7fffffff);
    }
    expect(&oracle_parity, VERDICT_INPUT, "prove nothing");
    findings_free(&findings);
}

Test(oracles, parity_without_the_measured_table_is_approximate) {
    clean();
    struct contract needs_table = *contract;
    needs_table.rcp_table = true;
    evidence.contract = &needs_table;
    expect(&oracle_parity, VERDICT_APPROXIMATE, "0 of 102 cells differ");
    findings_free(&findings);
    got[5] = -1; /* no DIFFERS either: the expectation is not the hardware's */
    expect(&oracle_parity, VERDICT_APPROXIMATE, "1 of 102 cells differ");
    findings_free(&findings);
    struct error e;
    cr_assert(rcp_approx_load("fixtures/golden/rcp_approx_sm90.bin.zz", &e), "%s", e.text);
    expect(&oracle_parity, VERDICT_DIFFERS, "token 0, row 5");
    findings_free(&findings);
    got[5] = want[5];
    cr_assert(oracle_parity.judge(&evidence, &findings) == RULING_CLEAN, "with the table equal bits are proof");
}

Test(oracles, parity_without_expectation_is_not_judged) {
    clean();
    expected[1] = NULL;
    cr_assert(oracle_parity.judge(&evidence, &findings) == RULING_NOT_JUDGED, "parity judged without right bytes");
}

Test(oracles, coverage_names_cells_never_written) {
    clean();
    memset(stores + 4 * (OD + 33), 0, 4);
    const struct finding *f = expect(&oracle_coverage, VERDICT_UNWRITTEN, "1 of 102 cells of result never written");
    cr_assert(f->where.cell[0] == 1 && f->where.cell[1] == 33, "place is wrong");
    cr_assert(oracle_parity.judge(&evidence, &findings) == RULING_CLEAN,
              "parity must leave unwritten cells to coverage");
    findings_free(&findings);

    clean(); /* one byte of a cell is enough */
    stores[4 * 5 + 2] = 0;
    expect(&oracle_coverage, VERDICT_UNWRITTEN, "1 of 102 cells of result written in part, without 1 of its 4 bytes");
    findings_free(&findings);
    memset(stores + 4 * 7, 0, 3);
    expect(&oracle_coverage, VERDICT_UNWRITTEN,
           "2 of 102 cells of result written in part, without 1 to 3 of their 4 bytes");
    cr_assert(strstr(findings.items[0].suspects, "narrower") != NULL, "suspects \"%s\"", findings.items[0].suspects);
    findings_free(&findings);
    memset(stores + 4 * 9, 0, 4);
    expect(&oracle_coverage, VERDICT_UNWRITTEN, "without 1 to 3 of their 4 bytes, and 1 never written");
    clean();
    memset(stores, 0, sizeof stores);
    expect(&oracle_coverage, VERDICT_UNWRITTEN, "102 of 102");
    cr_assert(strstr(findings.items[0].suspects, "nothing was written") != NULL, "suspects \"%s\"",
              findings.items[0].suspects);
    findings_free(&findings);
}

Test(oracles, coverage_by_poison_where_stores_are_not_counted) {
    clean();
    trace.has_coverage = false;
    cr_assert(oracle_coverage.judge(&evidence, &findings) == RULING_CLEAN, "no poison is left");
    const uint32_t poison = POISON;
    memcpy(&got[3], &poison, 4);
    expect(&oracle_coverage, VERDICT_UNWRITTEN, "1 of 102");
    findings_free(&findings);
    float right = want[3];
    memcpy(&want[3], &poison, 4); /* the right value is poison by chance: there is nothing to tell */
    cr_assert(oracle_coverage.judge(&evidence, &findings) == RULING_CLEAN, "the right value was called unwritten");
    memcpy(&got[4], &poison, 4);
    expect(&oracle_coverage, VERDICT_UNWRITTEN, "1 of 102");
    findings_free(&findings);
    memcpy(&want[3], &right, 4);
}

Test(oracles, coverage_tells_races_from_benign_double_stores) {
    clean();
    memset(stores + 40, 2, 4); /* cell 10 stored twice by two threads, same bytes */
    cells[10].last.thread = 77;
    cr_assert(oracle_coverage.judge(&evidence, &findings) == RULING_CLEAN, "same bytes twice is benign");
    memset(stores + 40, 0x82, 4); /* different bytes, but a barrier in between */
    cr_assert(oracle_coverage.judge(&evidence, &findings) == RULING_CLEAN, "ordered stores are no race");
    cells[10].raced = true;
    const struct finding *f = expect(&oracle_coverage, VERDICT_HAZARD, "1 cell of result stored by different threads");
    cr_assert(f->where.warp == 2 && f->where.lane == 13, "last writer is warp %u lane %u", f->where.warp,
              f->where.lane);
    findings_free(&findings);
    cells[10].raced = false;
    cells[10].last.block = 1; /* blocks are never ordered */
    l.grid[0] = 2;
    expect(&oracle_coverage, VERDICT_HAZARD, "1 cell of result stored by different threads");
    findings_free(&findings);
}

static void plant_event(struct event v) {
    clean();
    events[0] = v;
    trace.event_count = 1;
}

Test(oracles, guard_names_each_kind) {
    const struct event base = {.space = SPACE_GLOBAL,
                               .store = true,
                               .buffer = 1,
                               .plane = -1,
                               .other_plane = -1,
                               .offset = sizeof got,
                               .bytes = 4,
                               .block = {1, 2, 0},
                               .warp = 3,
                               .lane = 4,
                               .instruction = 0,
                               .count = 9};
    struct event v = base;
    v.kind = EVENT_OUT_OF_BOUNDS;
    plant_event(v);
    const struct finding *f =
        expect(&oracle_guard, VERDICT_GUARD, "4-byte store at byte 408 of buffer result (408 B): out of bounds");
    cr_assert(f->where.line == 10 && f->where.block[1] == 2 && f->where.lane == 4, "place is wrong");
    v.kind = EVENT_READ_ONLY;
    v.buffer = 0;
    plant_event(v);
    expect(&oracle_guard, VERDICT_GUARD, "an input is written");
    v = base;
    v.kind = EVENT_MISALIGNED;
    v.store = false;
    v.bytes = 16;
    plant_event(v);
    expect(&oracle_guard, VERDICT_GUARD, "16-byte load at byte 408 of buffer result (408 B): misaligned");
    v.buffer = -1; /* a generic address of shared memory */
    v.kind = EVENT_OUT_OF_BOUNDS;
    v.offset = (int64_t)1 << 62;
    v.window = SPACE_SHARED;
    plant_event(v);
    expect(&oracle_guard, VERDICT_GUARD,
           "16-byte load at 0x4000000000000000 of global memory, which is an address of "
           "shared memory: out of bounds");
    static struct ptx_variable table = {.name = "table", .bytes = 64};
    module.variables = &table;
    module.variable_count = 1;
    v.window = SPACE_NONE;
    v.offset = 64;
    v.name = table.name;
    plant_event(v);
    f = expect(&oracle_guard, VERDICT_GUARD, "16-byte load at byte 64 of variable table (64 B): out of bounds");
    cr_assert(strcmp(f->where.buffer, "table") == 0, "buffer is %s", f->where.buffer);
    module.variable_count = 0;
    static const struct {
        const char *text, *what;
    } accesses[] = {{"cp.async.ca.shared.global [%r1], [%rd1], 16", "16-byte copy at"},
                    {"red.global.add.u32 [%rd1], %r1", "16-byte atomic at"},
                    {"atom.global.add.u32 %r2, [%rd1], %r1", "16-byte atomic at"},
                    {"redux.sync.add.u32 %r1, %r2, -1", "16-byte load at"}};
    for (size_t i = 0; i < sizeof accesses / sizeof *accesses; ++i) {
        const char *kept = sites[0].text;
        sites[0].text = accesses[i].text;
        plant_event(v);
        expect(&oracle_guard, VERDICT_GUARD, accesses[i].what);
        sites[0].text = kept;
    }
    v = base;
    v.kind = EVENT_PLANE;
    v.space = SPACE_SHARED;
    v.buffer = -1;
    v.plane = 0;
    v.other_plane = 1;
    v.offset = 256;
    plant_event(v);
    f = expect(&oracle_guard, VERDICT_GUARD, "plane qa8 (256 B): reaches into sds");
    cr_assert(strcmp(f->where.buffer, "qa8") == 0, "buffer is %s", f->where.buffer);
    findings_free(&findings);
}

Test(oracles, sync_and_launch_name_each_kind) {
    struct event v = {.kind = EVENT_DIVERGENT_BARRIER, .buffer = -1, .plane = -1, .other_plane = -1, .instruction = 1};
    plant_event(v);
    expect(&oracle_sync, VERDICT_HAZARD, "barrier");
    v.kind = EVENT_DIVERGENT_ALIGNED;
    plant_event(v);
    expect(&oracle_sync, VERDICT_HAZARD, "warp-wide");
    findings_free(&findings);
    expect(&oracle_sync, VERDICT_HAZARD, "gpu/kernels/asm.cuh:20 (inlined at gpu/kernels/k.cu:30)");
    v.kind = EVENT_DEADLOCK;
    plant_event(v);
    expect(&oracle_sync, VERDICT_HAZARD, "deadlock");
    v.kind = EVENT_TRAP;
    plant_event(v);
    expect(&oracle_launch, VERDICT_LAUNCH, "trap");
    v.kind = EVENT_STEP_BUDGET;
    plant_event(v);
    expect(&oracle_launch, VERDICT_INPUT, "budget");
    findings_free(&findings);
}

Test(oracles, uninit_names_each_kind) {
    static const struct {
        struct event event;
        const char *text, *suspect, *buffer;
    } rows[] = {
        {{.space = SPACE_SHARED, .plane = 1, .buffer = -1, .offset = 12, .bytes = 16},
         "16-byte load: byte 12 of plane sds was never written",
         "not filled",
         "sds"},
        {{.space = SPACE_SHARED, .plane = -1, .buffer = -1, .offset = 3, .bytes = 4},
         "4-byte load: byte 3 of shared memory was never written",
         "not filled",
         "shared memory"},
        {{.space = SPACE_GLOBAL, .plane = -1, .buffer = 1, .offset = 40, .bytes = 4},
         "4-byte load: byte 40 of buffer result was never written",
         "inout",
         "result"},
        {{.space = SPACE_LOCAL, .plane = -1, .buffer = -1, .offset = 8, .bytes = 8},
         "8-byte load: byte 8 of local memory was never written",
         "not filled",
         "local memory"},
        {{.space = SPACE_REGISTER, .plane = -1, .buffer = -1, .bytes = 4, .name = "%r7"},
         "register %r7 is used, and its value was never defined",
         "accumulator",
         "%r7"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        clean();
        trace.event_count = 1;
        events[0] = rows[i].event;
        events[0].kind = EVENT_UNINITIALISED;
        events[0].count = 1;
        const struct finding *f = expect(&oracle_uninit, VERDICT_HAZARD, rows[i].text);
        cr_expect(strstr(f->suspects, rows[i].suspect), "row %zu suspects \"%s\"", i, f->suspects);
        cr_expect(!strcmp(f->where.buffer, rows[i].buffer) && f->where.offset == rows[i].event.offset,
                  "row %zu names %s", i, f->where.buffer);
        findings_free(&findings);
        /* a race of the same instruction is the fault then */
        trace.event_count = 2;
        events[1] = events[0];
        events[1].kind = EVENT_RACE;
        cr_expect(oracle_uninit.judge(&evidence, &findings) == RULING_CLEAN, "row %zu: one fault twice", i);
        events[1].instruction = 1;
        cr_expect(oracle_uninit.judge(&evidence, &findings) == RULING_FOUND, "row %zu: another one's race", i);
        findings_free(&findings);
        l.options.unwatched = WATCH_UNINIT;
        trace.event_count = 0;
        cr_expect(oracle_uninit.judge(&evidence, &findings) == RULING_NOT_JUDGED, "not watched");
    }
}

/* A watch that is off is said to be off: nothing found by it means nothing. */
Test(oracles, say_what_is_not_watched) {
    static const struct {
        const struct oracle *oracle;
        uint32_t off;
        enum ruling ruling;
    } rows[] = {
        {&oracle_guard, WATCH_BOUNDS | WATCH_PLANES, RULING_CLEAN},
        {&oracle_guard, WATCH_BOUNDS | WATCH_PLANES | WATCH_ALIGNMENT, RULING_NOT_JUDGED},
        {&oracle_sync, WATCH_SYNC, RULING_NOT_JUDGED},
        {&oracle_uninit, WATCH_UNINIT, RULING_NOT_JUDGED},
        {&oracle_coverage, WATCH_STORES, RULING_NOT_JUDGED},
        {&oracle_launch, WATCH_ALL, RULING_CLEAN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        clean();
        l.options.unwatched = rows[i].off;
        cr_expect(rows[i].oracle->judge(&evidence, &findings) == rows[i].ruling, "row %zu", i);
        l.options.unwatched = 0;
        cr_expect(rows[i].oracle->judge(&evidence, &findings) == RULING_CLEAN, "row %zu, watched", i);
    }
}

Test(oracles, truth_names_a_contract_outside_its_bound) {
    clean();
    weight[1] = 0x3c; /* row 0: d = 1, all else zero, so every cell of the truth is 0 +- 0 */
    memset(want, 0, sizeof want);
    cr_assert(oracle_truth.judge(&evidence, &findings) == RULING_CLEAN, "zeros are the right result of zero operands");
    want[40] = 1.0f;
    expect(&oracle_truth, VERDICT_INPUT, "cell 40");
    findings_free(&findings);
    evidence.contract = NULL;
    cr_assert(oracle_truth.judge(&evidence, &findings) == RULING_NOT_JUDGED, "no contract, no truth");
}

/* The sizes are those of the launched entry, whatever another entry of the module has. */
Test(oracles, guard_gives_the_size_of_shared_memory) {
    static const char text[] = ".version 9.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 arena[];\n"
                               ".visible .entry other() {\n.shared .align 4 .b8 z[128];\nret;\n}\n"
                               ".visible .entry small() {\n.shared .align 4 .b8 s[64];\nret;\n}\n"
                               ".visible .entry none() {\nret;\n}\n";
    static const struct {
        const char *entry;
        size_t dynamic;
        const char *says;
    } rows[] = {{"none", 512, "4-byte load at byte 512 of the shared arena (512 B): out of bounds"},
                {"small", 0, "4-byte load at byte 512 of static shared memory (64 B): out of bounds"},
                {"small", 512, "4-byte load at byte 512 of shared memory (64 B static, 512 B dynamic): out of bounds"}};
    struct error e = {""};
    struct ptx_module *m = ptx_parse("k.ptx", text, strlen(text), &e);
    cr_assert(m, "%s", e.text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        plant_event((struct event){.kind = EVENT_OUT_OF_BOUNDS,
                                   .space = SPACE_SHARED,
                                   .buffer = -1,
                                   .plane = -1,
                                   .other_plane = -1,
                                   .offset = 512,
                                   .bytes = 4,
                                   .count = 1});
        l.module = m;
        l.entry = rows[i].entry;
        l.shared_bytes = rows[i].dynamic;
        l.plane_count = 0;
        expect(&oracle_guard, VERDICT_GUARD, rows[i].says);
    }
    findings_free(&findings);
    ptx_free(m);
}

/* The contract and the launch file's bytes for the same result: where they part, nobody is right, and it is said whose
 * bits the kernel has. */
Test(oracles, parity_refuses_two_answers) {
    static float file[CELLS];
    clean();
    memcpy(file, want, sizeof file);
    evidence.result = 1;
    evidence.recorded = (const uint8_t *)file;
    cr_assert(oracle_parity.judge(&evidence, &findings) == RULING_CLEAN, "red on two answers that agree");
    got[OD + 3] = 7;
    expect(&oracle_parity, VERDICT_DIFFERS, "token 1, row 3");
    findings_free(&findings);
    clean();
    evidence.result = 1;
    evidence.recorded = (const uint8_t *)file;
    file[OD + 3] = -want[OD + 3];
    expect(&oracle_parity, VERDICT_INPUT, "disagree in 1 of ");
    findings_free(&findings);
    expect(&oracle_parity, VERDICT_INPUT, "has the contract's bits in every cell");
    findings_free(&findings);
    got[OD + 3] = file[OD + 3];
    expect(&oracle_parity, VERDICT_INPUT, "has the file's bits in every cell");
    cr_assert(strstr(findings.items[0].suspects, "another contract or split"), "suspects %s",
              findings.items[0].suspects);
    findings_free(&findings);
    got[0] = 9;
    expect(&oracle_parity, VERDICT_INPUT, "has the contract's bits in ");
    findings_free(&findings);
    evidence.result = 0; /* the bytes are another buffer's */
    expect(&oracle_parity, VERDICT_DIFFERS, "token 0, row 0");
    findings_free(&findings);
}
