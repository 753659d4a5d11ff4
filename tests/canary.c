/* The canary build (gpu/canary.h, gpu/kernels/canary.cuh): planted faults are named by oracle canary when nothing else
 * looks, clean kernels are silent, and what a kernel reports is taken with care. */
#include "../gpu/canary.h"
#include "../oracles/oracle.h"
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_all(const char *arguments, int code, const char *const *texts) {
    struct result r = run_command("%s", arguments);
    cr_expect_eq(r.code, code, "%s: exit %d, expected %d:\n%s", arguments, r.code, code, r.text);
    for (size_t i = 0; texts[i]; ++i)
        if (*texts[i] == '!') /* must not be there */
            cr_expect(!strstr(r.text, texts[i] + 1), "%s: '%s' is in\n%s", arguments, texts[i] + 1, r.text);
        else
            cr_expect(strstr(r.text, texts[i]), "%s: '%s' is missing in\n%s", arguments, texts[i], r.text);
    free(r.text);
}
#define EXPECT(arguments, code, ...) expect_all(arguments, code, (const char *const[]){__VA_ARGS__, NULL})

/* Past a plane, and before one: with the watches off there is nobody else to tell. */
Test(canary, planted_faults_are_named, .timeout = 300) {
    EXPECT("gate --canary --watches none -j 1 --plant sda_q_tiled_by_16 /nt1.od1.id256/exact/", 1,
           "GUARD q4_K/pad40/mmq_wide_ldb_kd8/nt1.od1.id256/exact/s1\n"
           "  canary  the guard after plane sda_q (8192 B) is written over, first at byte 8192 of the plane\n",
           "  word    want 0x", "  by      block (0,0,0); a guard does not say which thread\n",
           "  extent  64 words in 1 block\n", "  suspect stride or vector width larger than the plane was sized for",
           "named by oracle canary (GUARD) in 1\n",
           "gate --watches none --canary --plant sda_q_tiled_by_16 q4_K/pad40/mmq_wide_ldb_kd8/nt1.od1.id256/exact/s1");
    EXPECT(
        "gate --canary --watches none -j 1 --plant tokens_counted_from_one /nt129.od70.id256/exact/ --json /dev/stdout",
        1, "the guard before plane sda_q (4096 B) is written over, first at byte -4 of the plane\n",
        "  extent  4 words in 4 blocks\n", "  suspect negative index, or wrong base of the plane\n",
        "named by oracle canary (GUARD) in 1\n", "\"build\": \"canary\"", "\"canary\": \"found\"",
        "{\"oracle\": \"canary\", \"verdict\": \"GUARD\", \"where\": {\"buffer\": \"sda_q\", \"byte\": -4, "
        "\"block\": [0, 0, 0]}, \"want\": \"0x");
}

/* Every kernel with planes, on its smallest shapes; with the sanitisers a few. */
Test(canary, clean_kernels_are_silent, .timeout = 300) {
    const bool all = command_stride() == 1;
    struct result r = run_command("gate --canary -j 2 '*_wide_*/nt1.od1.id256/exact/s1'%s",
                                  all ? " '*/nt1.od1.id256/exact/s1' '*/nt1.od1.id32/exact/s1' "
                                        "'*_expand16/nt1.od1.id2048/exact/s1' '*/mmq_half_q6_k_dsc/nt1.*/exact/s1'"
                                        " '*/mmq_llama_*/nt1.*/exact/s1' '*/mmq_llama_q8_0_*/nt33.od129.id128/exact/s1'"
                                        " '*_streamk/nt8.od71.id512/exact/s1' '*_streamk/nt33.od71.id512/exact/s1'"
                                        " '*_streamk/nt39.od128.id384/exact/s1' '*_streamk/nt65.od71.id512/exact/s1'"
                                      : "");
    cr_expect(r.code == 0 && strstr(r.text, " 0 failed, 0 skipped"), "exit %d:\n%s", r.code, r.text);
    size_t kernels = 0;
    FILE *names = popen("grep -lE '^[[:space:]-]*planes:' gpu/kernels/*.yaml | sed 's,.*/,,; s,.yaml,,'", "r");
    cr_assert(names, "grep");
    for (char name[256]; fscanf(names, "%255s", name) == 1; ++kernels) {
        char *row = must_format("\n%s ", name);
        const bool no_cases = strcmp(name, "mmq_wide_raw_kd8") == 0; /* it was made to be refused */
        cr_expect(!all || no_cases || strstr(r.text, row), "%s has planes and did not run:\n%s", name, r.text);
        free(row);
    }
    pclose(names);
    cr_expect_gt(kernels, 60, "%zu kernels with planes", kernels);
    free(r.text);
}

Test(canary, what_has_no_canary_build) {
    EXPECT("gate --canary /quantize_pad40/ /expand_q6_k/", 3,
           "warpproof gate: no kernel of the selected cases has a canary build: none has planes of shared memory\n");
    EXPECT("gate --canary nosuch", 3, "no case matches 'nosuch'");
    EXPECT("gate --canary --plant dequantize_tail_dropped", 2,
           "plant dequantize_tail_dropped has no canary build: its file has no `canary`\n");
    EXPECT("gate --canary --plant tokens_counted_from_one mmq_wide_ldb", 3,
           "no case of kernel 'mmq_wide_sync_kd4' is selected, which plant tokens_counted_from_one is of\n");
    EXPECT("gate --canary --arch sm_121 mmq_wide_compact_kd8/nt1.od1.id256/exact", 3,
           "SKIPPED q4_K/pad40/mmq_wide_compact_kd8/nt1.od1.id256/exact/s1: the canary build takes 105472 B of shared "
           "memory, sm_121 gives a block 101376\n",
           "0 passed, 0 failed, 1 skipped\n");
}

#define SMALL "gate --canary --watches none -j 1 nt1.od1.id64/exact"

#define PROJECT                                                                                                        \
    "rm -r fixtures/golden fixtures/ptx && ln -s $d/fixtures/golden fixtures/ && "                                     \
    "mkdir -p fixtures/ptx/canary && ln -s $d/fixtures/ptx/gemm_f16.ptx fixtures/ptx/ && "                             \
    "cp $d/gpu/kernels/gemm_f16.yaml gpu/kernels/ && "                                                                 \
    "cp $d/fixtures/ptx/canary/gemm_f16.ptx good.ptx && cp good.ptx fixtures/ptx/canary/gemm_f16.ptx && "              \
    "printf 'kernels: [gemm_f16]\\nshapes: {nt: [1], od: [1], id: [64]}\\ndata: [exact]\\nseeds: [1]\\n'"              \
    " > fixtures/cases/a.yaml"

static void shell(const char *lines) { /* in the project */
    char *put = must_format("d=$PWD; cd %s && %s", run_folder, lines);
    cr_assert(system(put) == 0, "%s", put);
    free(put);
}

/* Launch files, builds and plants that are not what they should be. */
Test(canary, builds_and_launch_files_that_disagree, .init = make_folder, .fini = remove_folder, .timeout = 300) {
    enter_project(PROJECT);
    static const struct {
        const char *lines; /* of shell, before the run */
        int code;
        const char *texts[4]; /* the last is NULL */
    } rows[] = {
        {":", 0, {"1 passed, 0 failed, 0 skipped"}},
        /* planes that are not the kernel's: its xs reaches into the guard that the launch file has it ask for */
        {"sed -i '/name: xs/{n;s/10240/9216/};/name: ws/{n;s/10240/11264/}' gpu/kernels/gemm_f16.yaml",
         1,
         {"GUARD f16/f16/gemm_f16/nt1.od1.id64/exact/s1\n  canary  the guard after plane xs (9216 B) is written over",
          "planes that are not those of the launch file"}},
        {"sed -i '/name: xs/{n;s/9216/10230/};/name: ws/{n;s/11264/10250/}' gpu/kernels/gemm_f16.yaml",
         2,
         {"plane xs has 10230 bytes; a guard after it begins at a multiple of 16"}},
        /* planes that do not fit: told in the numbers of the launch file */
        {"sed -i '/name: xs/{n;s/10230/10224/};/name: ws/{n;s/10250/36864/}' gpu/kernels/gemm_f16.yaml",
         2,
         {"plane ws has 36864 bytes, 10256 are left of the arena's 20480", "!guard"}},
        {"cp $d/gpu/kernels/gemm_f16.yaml gpu/kernels/; cp $d/fixtures/ptx/gemm_f16.ptx fixtures/ptx/canary/",
         2,
         {"fixtures/ptx/canary/gemm_f16.ptx has no .global variable canary_report"}},
        /* a kernel that does not look */
        {"sed '/^.extern .shared/i .visible .global .align 4 .b8 canary_report[6220];' $d/fixtures/ptx/gemm_f16.ptx > "
         "fixtures/ptx/canary/gemm_f16.ptx",
         1,
         {"  canary  block (0,0,0) has not looked at its guards\n", "a kernel without SHARED_ARENA"}},
        {"sed 's/canary_report.6220/canary_report[6224/' good.ptx > fixtures/ptx/canary/gemm_f16.ptx",
         2,
         {"the .global variable canary_report has 6224 bytes, not 6220"}},
        /* a build of other sources: its accumulators start with the wrong numbers */
        {"sed 's/0f00000000/0f3F800000/' good.ptx > fixtures/ptx/canary/gemm_f16.ptx",
         1,
         {"  canary  1 of 1 cells of result are not those of the plain build\n", "  first   token 0, row 0   plain 0x",
          "a plane is read past its end or before its start"}},
        /* a kernel that leaves no guard to look at, and one that takes back what it said */
        {"sed '0,/^{/s/^{/{\\n.reg .b32 %none; mov.u32 %none, 0; st.global.u32 [canary_report+8], %none;/' good.ptx > "
         "fixtures/ptx/canary/gemm_f16.ptx",
         1,
         {"  canary  the kernel has written over its report of the guards (canary_report)\n",
          "  report  not as the host wrote it: how many guards there are\n", "!of this edge"}},
        {"sed -i '/name: xs/{n;s/10240/9216/};/name: ws/{n;s/10240/11264/}' gpu/kernels/gemm_f16.yaml && sed "
         "'s/^\tret;/{ .reg .b32 %none; mov.u32 %none, 0; st.global.u32 [canary_report], %none; }\\n&/' good.ptx > "
         "fixtures/ptx/canary/gemm_f16.ptx",
         1,
         {"  report  not as the host wrote it: records past those that are counted\n"}},
        {"rm fixtures/ptx/canary/gemm_f16.ptx", 2, {"canary/gemm_f16.ptx: No such file"}},
        {"printf 'plant: p\\nabout: a\\nkernel: gemm_f16\\nptx: p.ptx\\nexpect: {oracle: guard, verdict: GUARD}\\n"
         "canary: HAZARD\\n' > fixtures/plants/p.yaml",
         2,
         {"fixtures/plants/p.yaml:6:9: canary: want GUARD or DIFFERS"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        shell(rows[i].lines);
        const bool plant = strstr(rows[i].lines, "plants/p.yaml");
        expect_all(plant ? SMALL " --plant p" : SMALL, rows[i].code, rows[i].texts);
    }
    leave_project();
}

/* Shell text that gives gemm_f16 other planes and launches. */
#define LAUNCH_FILE(text)                                                                                              \
    "sed -i '/^planes:/,$d' gpu/kernels/gemm_f16.yaml && printf '" text "' >> gpu/kernels/gemm_f16.yaml"
#define TWO_PLANES "planes: [{name: xs, bytes: 9216}, {name: ws, bytes: 11264}]\\n"

/* A changed word makes the launch run in other orders too, where the same words change. */
Test(canary, no_finding_is_told_again_of_other_orders, .init = make_folder, .fini = remove_folder, .timeout = 300) {
    enter_project(PROJECT);
    shell(LAUNCH_FILE(TWO_PLANES "then:\\n"
                                 "  - entry: gemm_f16\\n"
                                 "    launch: {grid: [1, 1], block: [128], shared: 20480}\\n"
                                 "    args: [{buffer: weight}, {buffer: activation}, {buffer: result}, {i32: nt}, "
                                 "{i32: od}, {i32: id}]\\n"
                                 "    " TWO_PLANES));
    EXPECT(SMALL, 1, "  launch  1 of 2: entry gemm_f16\n", "  launch  2 of 2: entry gemm_f16\n", "schedule ok",
           "!in schedule", "!more findings", " gate --watches none --canary f16/");
    EXPECT("gate --canary --watches hazards,async -j 1 nt1.od1.id64/exact", 1, "hazard ok", "!not proved for every");
    /* more words than are told, other ones in each order */
    shell("cp $d/gpu/kernels/gemm_f16.yaml gpu/kernels/ && " LAUNCH_FILE(
        "planes: [{name: xs, bytes: 10368}, {name: w0, bytes: 1024}, {name: w1, bytes: 1024}, {name: w2, bytes: 1024},"
        " {name: w3, bytes: 1024}, {name: w4, bytes: 1024}, {name: ws, bytes: 4992}]\\n"));
    EXPECT(SMALL, 1, " in 1 block, of the 256 that are told of 1024 changed ones", "schedule ok", "!in schedule",
           " gate --watches none --canary f16/");
    EXPECT(SMALL " --schedule reversed", 1, "the guard before plane w0 ");
    leave_project();
}

/* ---- what a kernel reports ---- */

enum { WORDS = 3 + CANARY_MOST_GUARDS + CANARY_ROOM * 6, RECORD = 3 + CANARY_MOST_GUARDS };

struct told {
    struct launch launch;
    struct launch_global global;
    struct launch_plane planes[4];
    uint32_t words[WORDS];
};

/* A launch of 3 x 2 x 1 blocks with planes a (64 B), b (32 B) and their guards. */
static void begin(struct told *t) {
    *t = (struct told){.planes = {{"a", 0, 64}, {"guard", 64, 1024}, {"b", 1088, 32}, {"guard", 1120, 1024}}};
    t->global = (struct launch_global){CANARY_VARIABLE, sizeof t->words, (uint8_t *)t->words};
    t->launch = (struct launch){
        .grid = {3, 2, 1}, .planes = t->planes, .plane_count = 4, .globals = &t->global, .global_count = 1};
    t->words[1] = 1;
    memcpy(t->words + 2, (const uint32_t[]){2, 64, 1120}, 12); /* guards, and where they begin */
}

static void record(struct told *t, uint32_t x, uint32_t yz, uint32_t plane, uint32_t side, int32_t offset) {
    const uint32_t values[6] = {x, yz, plane, side, (uint32_t)offset, 77};
    if (t->words[0] < CANARY_ROOM)
        memcpy(t->words + RECORD + 6 * t->words[0], values, sizeof values);
    ++t->words[0];
}

Test(canary, records_are_sorted) {
    static struct told t;
    static struct canary_report r;
    begin(&t);
    record(&t, 0, 1, 0, 0, 8);  /* block (0,1,0): after a */
    record(&t, 2, 0, 1, 1, -4); /* block (2,0,0): before b */
    record(&t, 2, 0, 0, 0, 12);
    record(&t, 2, 0, 0, 0, 0);
    cr_assert(canary_read(&t.launch, &r), "it is a canary launch");
    cr_expect(r.looked && r.changed == 4 && r.count == 4, "%d, %zu changed, %zu told", r.looked, r.changed, r.count);
    static const struct {
        uint32_t x, y;
        size_t plane, guard, word;
        int64_t offset;
    } want[] = {{2, 0, 0, 0, 0, 0}, {2, 0, 0, 0, 3, 12}, {2, 0, 1, 0, 255, -4}, {0, 1, 0, 0, 2, 8}};
    for (size_t i = 0; i < 4; ++i) {
        const struct canary_record *x = &r.records[i];
        cr_expect(x->block[0] == want[i].x && x->block[1] == want[i].y && x->block[2] == 0 &&
                      x->plane == want[i].plane && x->offset == want[i].offset && x->word == 77 &&
                      x->want == canary_word(x->block, want[i].guard, want[i].word),
                  "record %zu: block (%u,%u,%u), plane %zu, offset %lld, want 0x%08x", i, x->block[0], x->block[1],
                  x->block[2], x->plane, (long long)x->offset, x->want);
    }
    t.launch.global_count = 0;
    cr_expect(!canary_read(&t.launch, &r), "no launch of a canary build");
}

/* The kernel under test may have written over its own report. */
Test(canary, records_that_cannot_be_are_left_out) {
    static const struct {
        uint32_t x, yz, plane, side;
        int32_t offset;
    } rows[] = {
        {3, 0, 0, 0, 0},
        {0, 2, 0, 0, 0},
        {0, 1 << 16, 0, 0, 0},
        {0, 0, 2, 0, 0},
        {0, 0, UINT32_MAX, 0, 0},
        {0, 0, 0, 1, -4},
        /* nothing before plane 0 */ {0, 0, 0, 2, 0},
        {0, 0, 0, 0, 1024},
        {0, 0, 0, 0, -4},
        {0, 0, 0, 0, 2},
        {0, 0, 1, 1, 0},
        {2, 1, 1, 1, -1024}, /* nearer to plane 0 */
        {0, 0, 0, 0, 512},   /* nearer to plane 1 */
        {0, 0, 1, 1, -1028},
        {0, 0, 0, 0, INT32_MIN},
        {0, 0, 1, 1, INT32_MAX},
    };
    static struct told t;
    static struct canary_report r;
    begin(&t);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        record(&t, rows[i].x, rows[i].yz, rows[i].plane, rows[i].side, rows[i].offset);
    record(&t, 2, 1, 1, 1, -512);
    cr_assert(canary_read(&t.launch, &r), "it is a canary launch");
    cr_expect(r.count == 1 && r.records[0].block[0] == 2 && r.records[0].offset == -512, "%zu told", r.count);
    for (size_t i = 0; i < 2 * CANARY_ROOM; ++i)
        record(&t, i % 3, i / 3 % 2, 1, 0, (int32_t)(i / 6) * 4);
    t.words[0] = UINT32_MAX; /* more than there is room for */
    cr_assert(canary_read(&t.launch, &r), "it is a canary launch");
    cr_expect(r.changed == UINT32_MAX && r.count == CANARY_ROOM - sizeof rows / sizeof *rows, "%zu told of %zu",
              r.count, r.changed);
}

extern const struct oracle oracle_canary;

/* Expects the findings of a run, by their lines; "": none. */
static void expect_judged(const struct evidence *e, const char *const *texts) {
    struct findings f = {0};
    const enum ruling ruling = oracle_canary.judge(e, &f);
    char *all = must_strdup("");
    for (size_t i = 0; i < f.count; ++i)
        for (size_t k = 0; k < f.items[i].line_count; ++k) {
            char *longer = must_format("%s%s: %s\n", all, f.items[i].lines[k].label, f.items[i].lines[k].text);
            free(all);
            all = longer;
        }
    cr_expect_eq(ruling, *texts[0] ? RULING_FOUND : RULING_CLEAN, "ruling %d:\n%s", (int)ruling, all);
    for (size_t i = 0; texts[i]; ++i)
        cr_expect(*texts[i] ? strstr(all, texts[i]) != NULL : !*all, "'%s' is missing in\n%s", texts[i], all);
    free(all);
    findings_free(&f);
}
#define JUDGED(...)  expect_judged(&e, (const char *const[]){__VA_ARGS__, NULL})
#define WRITTEN_OVER "canary: the kernel has written over its report of the guards (canary_report)\n"

Test(canary, reports_that_are_written_over_are_not_believed) {
    static struct told t;
    const struct trace trace = {0};
    struct evidence e = {.launch = &t.launch, .trace = &trace, .complete = true};
    begin(&t);
    JUDGED("");
    static const struct {
        size_t word;
        uint32_t value;
        const char *text;
    } rows[] = {
        {1, 2, "report: not as the host wrote it: the word that says whether block (0,0,0) has looked\n"},
        {2, 0, "report: not as the host wrote it: how many guards there are\n"},
        {2, UINT32_MAX, "report: not as the host wrote it: how many guards there are\n"},
        {3, 68, "report: not as the host wrote it: where the guards begin\n"},
        {4, 0, "report: not as the host wrote it: where the guards begin\n"},
        {5, 4, "report: not as the host wrote it: the places of guards that are not there\n"},
        {RECORD - 1, 4, "report: not as the host wrote it: the places of guards that are not there\n"},
        {RECORD + 5, 77, "report: not as the host wrote it: records past those that are counted\n"},
        {WORDS - 1, 77, "report: not as the host wrote it: records past those that are counted\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        begin(&t);
        t.words[rows[i].word] = rows[i].value;
        JUDGED(WRITTEN_OVER, rows[i].text, "extent: it says that 0 words of guards changed, which proves nothing now");
    }
    memset(t.words, 0, sizeof t.words); /* reset */
    JUDGED(WRITTEN_OVER, "how many guards there are\n", "canary: block (0,0,0) has not looked at its guards\n");
    /* a count out of nowhere: all records are one, of 0 where the guard has another word */
    begin(&t);
    t.words[0] = 100000;
    JUDGED(WRITTEN_OVER, "records: 255 of 256 cannot be, are there twice or are of a word that is right\n",
           "it says that 100000 words",
           "extent: 1 word of this edge in 1 block, of the 1 that are left of 256 records");
    /* of the word that is right there */
    begin(&t);
    record(&t, 0, 0, 0, 0, 4);
    t.words[RECORD + 5] = canary_word((const uint32_t[]){0, 0, 0}, 0, 1);
    JUDGED(WRITTEN_OVER, "records: 1 of 1 cannot be");
    e.complete = false; /* counted, and stopped before it was told */
    JUDGED("canary: 1 word of guards are written over; the launch ended before it told of them\n");
}

/* A copied guard is not right elsewhere: words differ from word to word, guard to guard and block to block. */
Test(canary, words_are_of_one_place) {
    enum { BLOCKS = 12, GUARDS = 7, ALL = BLOCKS * GUARDS * CANARY_BYTES / 4 };
    static uint32_t words[ALL];
    size_t n = 0, equal = 0;
    for (uint32_t b = 0; b < BLOCKS; ++b)
        for (size_t g = 0; g < GUARDS; ++g)
            for (size_t w = 0; w < CANARY_BYTES / 4; ++w)
                words[n++] = canary_word((const uint32_t[]){b % 3, b / 3 % 2, b / 6}, g, w);
    for (size_t d = 1; d <= CANARY_BYTES / 4; ++d)
        for (size_t i = d; i < ALL; ++i)
            equal += words[i] == words[i - d];
    for (size_t i = CANARY_BYTES / 4 * GUARDS; i < ALL; ++i)
        equal += words[i] == words[i % (CANARY_BYTES / 4 * GUARDS)];
    cr_expect_leq(equal, 4, "%zu words are what neighbours are", equal);
}
