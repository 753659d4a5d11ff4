/* Counts of what is executed: hand-made programs with counts worked out by hand, the kernels' closed forms, and the
 * command. */
#include "../gpu/census.h"
#include "../ref/checked.h"
#include "command_run.h"
#include "machine_run.h"
#include <unistd.h>

/* Runs the body in blocks of 64 threads with a census; the trace and *m are the caller's. */
static void run(const char *body, size_t shared, int threads, uint32_t blocks, struct ptx_module **m, struct trace *t) {
    struct error e = {""};
    uint32_t words[256] = {0};
    struct launch_buffer buffer = {
        .name = "x", .role = BUFFER_INOUT, .bytes = sizeof words, .cell_bytes = 4, .data = (uint8_t *)words};
    struct machine_test test = {.body = body,
                                .buffers = &buffer,
                                .buffer_count = 1,
                                .shared = shared,
                                .block = {64, 1, 1},
                                .grid = {blocks, 1, 1},
                                .threads = threads,
                                .options = {.census = true}};
    cr_assert(machine_try(&test, m, t, &e), "%s: %s", body, e.text);
}

static void count(const char *body, size_t shared, int threads, uint32_t blocks, struct census *c) {
    struct ptx_module *m;
    struct trace t;
    run(body, shared, threads, blocks, &m, &t);
    cr_assert(census_of(&t, c), "no counts");
    trace_free(&t);
    ptx_free(m);
}

Test(census, by_hand) {
    struct census c;
    /* 2 warps; the loop runs 3 times; one instruction is guarded off by all lanes and counts all the same */
    count("mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 add.u32 %r3, %r2, 1;\n"
          "LOOP: add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 3;\n@%p2 bra LOOP;\n"
          "shl.b32 %r4, %r1, 3;\nst.shared.u32 [%r4], %r2;\nbar.sync 0;\nld.shared.u32 %r5, [%r4];\n"
          "ld.param.u64 %rd1, [p0];\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], "
          "%r5;\nret;\n",
          1024, 1, 1, &c);
    static const struct {
        enum instruction_class k;
        uint64_t executed, wavefronts, conflicts, sectors;
    } want[] = {{CLASS_INTEGER, 2 * (1 + 3 + 1 + 2), 0, 0, 0},
                {CLASS_MOVE, 2 * 2, 0, 0, 0},
                {CLASS_COMPARE, 2 * (1 + 3), 0, 0, 0},
                {CLASS_CONTROL, 2 * (3 + 1), 0, 0, 0},
                {CLASS_ST_SHARED, 2, 4, 2, 0}, /* stride 8: lanes l and l + 16 share a bank */
                {CLASS_LD_SHARED, 2, 4, 2, 0},
                {CLASS_BARRIER, 2, 0, 0, 0},
                {CLASS_LD_PARAM, 2, 0, 0, 0},
                {CLASS_ST_GLOBAL, 2, 0, 0, 2 * 4}};
    uint64_t all = 0;
    for (size_t i = 0; i < sizeof want / sizeof *want; ++i) {
        const struct site_count *got = &c.by_class[want[i].k];
        const char *name = class_names[want[i].k];
        cr_expect_eq(got->executed, want[i].executed, "%s: %llu executed", name, (unsigned long long)got->executed);
        cr_expect_eq(got->wavefronts, want[i].wavefronts, "%s: %llu wavefronts", name,
                     (unsigned long long)got->wavefronts);
        cr_expect_eq(got->conflicts, want[i].conflicts, "%s: %llu conflicts", name, (unsigned long long)got->conflicts);
        cr_expect_eq(got->sectors, want[i].sectors, "%s: %llu sectors", name, (unsigned long long)got->sectors);
        all += want[i].executed;
    }
    cr_expect_eq(c.total.executed, all, "%llu in all, want %llu", (unsigned long long)c.total.executed,
                 (unsigned long long)all);
    uint64_t by_line = 0, line5 = 0;
    for (size_t i = 0; i < c.line_count; ++i) {
        by_line += c.lines[i].count.executed;
        line5 += c.lines[i].line == 5 ? c.lines[i].count.executed : 0;
    }
    cr_expect(by_line == all && line5 == 6, "by line %llu, line 5 %llu", (unsigned long long)by_line,
              (unsigned long long)line5);
    census_free(&c);
}

/* Counts do not depend on the threads, nor on a pass that had to be run again. */
Test(census, threads) {
    const char *body =
        "mov.u32 %r1, %ctaid.x;\nld.param.u64 %rd1, [p0];\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
        "ld.global.u32 %r2, [%rd3];\nst.global.u32 [%rd3+64], %r2;\nret;\n";
    struct census one, seven;
    count(body, 0, 1, 8, &one);
    count(body, 0, 7, 8, &seven);
    cr_expect_eq(memcmp(&one.by_class, &seven.by_class, sizeof one.by_class), 0, "counts differ");
    census_free(&one);
    census_free(&seven);
}

/* Block b stores with a stride of 4 << (3 b mod 4) bytes: blocks 1, 5 and 9 have 8 lanes in a bank, and of equals the
 * first counts, whatever the threads. */
Test(census, the_worst_access_of_a_place) {
    const char *body = "mov.u32 %r1, %ctaid.x;\nmul.lo.u32 %r2, %r1, 3;\nand.b32 %r3, %r2, 3;\nadd.u32 %r4, %r3, 2;\n"
                       "mov.u32 %r5, %tid.x;\nshl.b32 %r6, %r5, %r4;\nst.shared.u32 [%r6], %r5;\nret;\n";
    for (int threads = 1; threads <= 7; threads += 3) {
        struct ptx_module *m;
        struct trace t;
        run(body, 2048, threads, 12, &m, &t);
        size_t found = 0;
        for (size_t i = 0; i < t.site_count; ++i) {
            const struct site_access *w = &t.worst[i];
            if (w->lanes == 0)
                continue;
            ++found;
            cr_expect(w->lanes == UINT32_MAX && w->bytes == 4 && w->warp == 0 && w->block == 1 && w->wavefronts == 8 &&
                          w->conflicts == 7,
                      "block %llu warp %u: %u wavefronts, %u conflicts", (unsigned long long)w->block, w->warp,
                      w->wavefronts, w->conflicts);
            for (uint32_t lane = 0; lane < 32; ++lane)
                cr_expect_eq(w->at[lane], lane * 32, "lane %u at %u", lane, w->at[lane]);
        }
        cr_expect_eq(found, 1, "%zu places", found);
        trace_free(&t);
        ptx_free(m);
    }
}

TestSuite(census_command, .init = make_folder, .fini = remove_folder);

Test(census_command, kernels_and_their_closed_forms) {
    expect_result(run_command("census mmq_wide_ldb_kd8"), 0, "mma                     4096      0.250");
    expect_result(run_command("census mmq_wide_ldb_kd4 --set nt=129 --set od=1 --set id=512 --lines 1"), 0,
                  "--lines 0");
    expect_result(run_command("census gpu/kernels/quantize_pad40.yaml --lines 0"), 0, "gpu/kernels/quantize_pad40.cu");
    expect_result(run_command("census docs/examples/dequant_q8.yaml --json %s/c.json", run_folder), 0, "ld.global");
    expect_result(run_command("census docs/examples/dequant_q8.yaml --json /dev/stdout"), 0,
                  "{\"kernel\": \"dequant_q8\", \"macs\": 0");
    cr_expect_eq(files_in_folder(), 1, "one file");
}

Test(census_command, an_input_is_not_replaced) {
    static const char *const commands[] = {"run", "census"}, *const files[] = {"difference.yaml", "difference.ptx"};
    expect_result(run_command("--help; cp docs/examples/difference.* %s", run_folder), 0, "usage");
    for (int k = 0; k < 4; ++k)
        expect_result(
            run_command("%s %s/difference.yaml --json %s/%s", commands[k / 2], run_folder, run_folder, files[k % 2]), 2,
            "is the input");
    expect_result(run_command("run %s/difference.yaml", run_folder), 0, "PASS");
}

Test(census_command, wrong_closed_forms) {
    char ptx[4096], text[8192], path[8192];
    cr_assert(realpath("tests/foreign/double.ptx", ptx), "tests run in the project's folder");
    static const struct {
        const char *count, *want;
        int code;
    } rows[] = {{"{st.global: 4}", "warp inst", 0},
                {"{st.global: 5}", "st.global: the launch file's closed form says 5, 4 were executed", 1},
                {"{st.global: \"0 - 1\"}", "says -1", 1},
                {"{frob: 5}", "counts: nothing is called 'frob'", 2},
                {"{st.global: \"4 / (n - 100)\"}", "division by zero", 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        snprintf(text, sizeof text,
                 "kernel: double_i32\nptx: %s\nshape: {n: 100}\nlaunch: {grid: [1], block: [128]}\nargs:\n"
                 "  - {in: x, type: i32, count: n, fill: iota}\n  - {out: y, type: i32, count: n}\n  - {i32: "
                 "n}\ncounts: %s\n",
                 ptx, rows[i].count);
        put_file("launch.yaml", text, strlen(text));
        snprintf(path, sizeof path, "census %s/launch.yaml", run_folder);
        expect_result(run_command("%s", path), rows[i].code, rows[i].want);
    }
}

/* Work left out and work done twice show in the multiply-adds, without any bit being looked at. */
Test(census_command, counts_of_planted_faults) {
    static const struct {
        const char *plant, *says;
    } rows[] = {{"matvec_units_capped", "macs: the launch file's closed form says 75776, 65536 were executed"},
                {"matvec_pieces_doubled", "macs: the launch file's closed form says 75776, 113664 were executed"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *command = must_format("sed \"s,^source: .*,ptx: $PWD/fixtures/ptx/plants/%s.ptx,\" "
                                    "gpu/kernels/matvec_q6_k.yaml > %s/launch.yaml",
                                    rows[i].plant, run_folder);
        cr_assert(system(command) == 0, "no launch file");
        free(command);
        expect_result(run_command("census %s/launch.yaml --set nt=1 --set od=4 --set id=18944", run_folder), 1,
                      rows[i].says);
    }
    expect_result(run_command("census matvec_q6_k --set nt=1 --set od=4 --set id=18944"), 0,
                  "75776 multiply-adds by mma and dp4a");
}

Test(census_command, usage) {
    expect_result(run_command("census --help"), 0, "usage: warpproof census");
    expect_result(run_command("census"), 2, "want one kernel");
    expect_result(run_command("census a b"), 2, "want one kernel");
    expect_result(run_command("census nosuch"), 2, "nosuch: no kernel and no launch file of that name");
    expect_result(run_command("census mmq_wide_ldb_kd8 --lines -1"), 2, "--lines -1");
    expect_result(run_command("census mmq_wide_ldb_kd8 --set foo=1"), 2, "--set foo");
    expect_result(run_command("census mmq_wide_ldb_kd8 --set id=100"), 2, "100");
    expect_result(run_command("census mmq_wide_ldb_kd8 --arch sm_1"), 2, "--arch sm_1");
    expect_result(run_command("census mmq_wide_ldb_kd8 --nosuch"), 2, "--nosuch");
}
