/* warpproof plants, and the watches: every small fault of fixtures/plants/machine is named, its clean twin is silent,
 * and a watch that is off tells nothing. */
#include "../cli/plant.h"
#include "../oracles/oracle.h"
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <string.h>

/* Orders are compared by their bytes, also where nobody watches who stored them. */
Test(command_plants, orders_without_watched_stores) {
    struct result r =
        run_command("run fixtures/plants/machine/float_atomics.launch.yaml --schedule all --watches bounds");
    cr_expect(r.code == 1 && strstr(r.text, "depend on the order") && strstr(r.text, "(stores are not watched)") &&
                  !strstr(r.text, "not stored"),
              "%s", r.text);
    free(r.text);
}

/* A read that races is one fault, whichever order shows the race and whichever the read of nothing. */
Test(command_plants, a_race_is_not_uninitialised_as_well) {
    static const char *const racing[] = {"cp_async_no_barrier", "missing_barrier", "global_race", "cp_async_early"};
    for (size_t i = 0; i < sizeof racing / sizeof *racing; ++i) {
        struct result r = run_command("run fixtures/plants/machine/%s.launch.yaml --schedule all", racing[i]);
        cr_expect(r.code == 1 && strstr(r.text, "races with") && !strstr(r.text, "never written"), "%s:\n%s", racing[i],
                  r.text);
        free(r.text);
    }
    expect_result(run_command("run fixtures/plants/machine/uninit_shared.launch.yaml --schedule all"), 1,
                  "never written");
}

Test(command_plants, every_small_fault_is_named, .timeout = 600) {
    struct result r = run_command("plants --only machine");
    cr_expect(r.code == 0, "exit %d:\n%s", r.code, r.text);
    size_t n, listed = 0;
    char **names = plant_names(".", PLANT_MACHINE, &n);
    cr_assert(n >= 30, "only %zu small faults", n);
    bool seen[VERDICTS] = {false};
    for (size_t i = 0; i < n; ++i) {
        struct plant p;
        struct error e;
        cr_assert(plant_load(".", names[i], &p, &e), "%s", e.text);
        char *row = must_format("\nok   %s ", p.name);
        listed += strstr(r.text, row) != NULL;
        seen[p.verdict] = true;
        free(row), free(names[i]);
        plant_free(&p);
    }
    free(names);
    cr_expect(listed == n, "%zu of %zu plants are listed as named:\n%s", listed, n, r.text);
    cr_expect(seen[VERDICT_GUARD] && seen[VERDICT_HAZARD] && seen[VERDICT_UNWRITTEN] && seen[VERDICT_LAUNCH] &&
                  seen[VERDICT_INPUT],
              "some verdict has no small fault");
    char *last = must_format("%zu passed, 0 failed, 0 skipped\n", n);
    const size_t length = strlen(r.text), end = strlen(last);
    cr_expect(length >= end && !strcmp(r.text + length - end, last), "the last line is not \"%s\"", last);
    free(last);
    free(r.text);
}

Test(command_plants, kernels_with_a_fault_are_named, .timeout = 600) {
    if (command_stride() == 1) {
        expect_result(run_command("plants --only kernel"), 0, "ok   warp_offset_dropped");
    }
    expect_result(run_command("plants 'warp_*'"), 0, "1 passed, 0 failed, 0 skipped");
}

/* The fault of one that says its cases shows in few of the kernel's. */
Test(command_plants, a_plant_says_its_cases) {
    struct plant p;
    struct error e;
    cr_assert(plant_load(".", "matvec_units_capped", &p, &e), "%s", e.text);
    cr_expect(p.cases != NULL && strcmp(p.cases, "*.id18944/*") == 0, "cases");
    plant_free(&p);
    struct result r = run_command("plants matvec_units_capped --json /dev/stdout");
    cr_expect(strstr(r.text, ".id18944/") != NULL && strstr(r.text, ".id256/") == NULL, "%s", r.text);
    expect_result(r, 0, "1 passed, 0 failed, 0 skipped");
}

Test(command_plants, bad_arguments) {
    expect_result(run_command("plants nosuch"), 3, "no plant matches 'nosuch'");
    expect_result(run_command("plants --only machine warp_offset_dropped"), 3, "no plant is selected");
    expect_result(run_command("plants --only all"), 2, "--only all: want kernel, canary, edit or machine");
    expect_result(run_command("plants --json -"), 2, "standard output is /dev/stdout");
    expect_result(run_command("plants --plant x"), 2, "unknown or ambiguous option '--plant'");
    expect_result(run_command("plants --help"), 0, "usage: warpproof plants");
    expect_result(run_command("gate --plant uninit_shared"), 2, "warpproof plants uninit_shared");
    expect_result(run_command("list plants"), 0, "machine  uninit_shared            uninit HAZARD: ");
}

Test(command_plants, json) {
    struct result r = run_command("plants uninit_shared --json /dev/stdout");
    cr_expect(
        strstr(r.text, "{\"plant\": \"uninit_shared\", \"group\": \"machine\", \"about\": ") &&
            strstr(r.text,
                   "\"expect\": {\"oracle\": \"uninit\", \"verdict\": \"HAZARD\"}, \"from\": [], \"named\": true, "
                   "\"clean_is_silent\": true, \"findings\": [{\"case\": \"plants/uninit_shared\", "
                   "\"oracle\": \"uninit\", \"verdict\": \"HAZARD\", \"summary\": ") &&
            strstr(r.text, "\"clean_findings\": []}\n{\"summary\": {\"passed\": 1, \"failed\": 0, "),
        "%s", r.text);
    free(r.text);
}

/* A plant that nobody names, or whose twin is red, fails. The project's folder is a copy with one plant. */
Test(command_plants, a_plant_that_proves_nothing_fails, .init = make_folder, .fini = remove_folder) {
    static const struct {
        const char *oracle, *verdict, *clean, *says;
        int code;
    } rows[] = {
        {"uninit", "HAZARD", "uninit_shared_clean", "1 passed, 0 failed, 0 skipped", 0},
        {"guard", "GUARD", "uninit_shared_clean", "p is not named by oracle guard (GUARD)", 1},
        {"uninit", "GUARD", "uninit_shared_clean", "p is not named by oracle uninit (GUARD)", 1},
        {"uninit", "HAZARD", "uninit_shared", "the clean twin of p is red", 1},
        {"uninit", "HAZARD", "nosuch", "the clean twin of p is red", 1},
        {"nosuch", "HAZARD", "uninit_shared_clean", "p.yaml:5:18: expect.oracle: no such oracle", 2},
        {"uninit", "PASS", "uninit_shared_clean", "expect.verdict: a verdict that a wrong kernel gets", 2},
    };
    enter_project(
        "cp $d/fixtures/plants/machine/uninit_shared.ptx $d/fixtures/plants/machine/uninit_shared.launch.yaml "
        "fixtures/plants/machine/");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *text = must_format("plant: p\nabout: a\nlaunch: uninit_shared.launch.yaml\nclean: {entry: %s}\nexpect: "
                                 "{oracle: %s, verdict: %s}\n",
                                 rows[i].clean, rows[i].oracle, rows[i].verdict);
        put_file("fixtures/plants/machine/p.yaml", text, strlen(text));
        expect_result(run_command("plants"), rows[i].code, rows[i].says);
        free(text);
    }
    leave_project();
}

/* With a watch off its fault is not told, with it alone it is; under the name of its oracle both times. */
Test(command_plants, watches_are_switched, .timeout = 600) {
    static const struct {
        const char *watch, *plant, *oracle;
    } rows[] = {
        {"bounds", "smem_past_arena", "guard"},        {"bounds", "read_neighbour", "guard"},
        {"bounds", "store_into_input", "guard"},       {"alignment", "misaligned_vector", "guard"},
        {"alignment", "ldmatrix_misaligned", "guard"}, {"planes", "plane_overflow", "guard"},
        {"uninit", "uninit_shared", "uninit"},         {"uninit", "uninit_output", "uninit"},
        {"uninit", "uninit_register", "uninit"},       {"hazards", "missing_barrier", "hazard"},
        {"hazards", "global_race", "hazard"},          {"hazards", "intra_warp", "hazard"},
        {"async", "exit_in_flight", "hazard"},         {"sync", "divergent_barrier", "sync"},
        {"sync", "ldmatrix_diverged", "sync"},         {"sync", "absent_lane", "sync"},
        {"stores", "never_written", "coverage"},       {"stores", "two_values", "coverage"},
    };
    bool seen[WATCHES] = {false};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *others = must_strdup("");
        for (int k = 0; k < WATCHES; ++k) {
            if (strcmp(watch_names[k], rows[i].watch) == 0) {
                seen[k] = true;
                continue;
            }
            char *more = must_format("%s%s%s", others, others[0] ? "," : "", watch_names[k]);
            free(others);
            others = more;
        }
        char *found = must_format("\"oracle\": \"%s\"", rows[i].oracle);
        for (int on = 0; on < 2; ++on) {
            struct result r = run_command("run fixtures/plants/machine/%s.launch.yaml --schedule in-order --watches %s "
                                          "--json /dev/stdout",
                                          rows[i].plant, on ? rows[i].watch : others);
            cr_expect((strstr(r.text, found) != NULL) == on, "%s with %s %s: exit %d\n%s", rows[i].plant, rows[i].watch,
                      on ? "alone" : "off", r.code, r.text);
            free(r.text);
        }
        free(found), free(others);
    }
    for (int k = 0; k < WATCHES; ++k) {
        cr_expect(seen[k], "watch %s is not tried", watch_names[k]);
    }
    /* and with none of them only the end of the launch is judged */
    expect_result(run_command("run fixtures/plants/machine/uninit_shared.launch.yaml --watches none"), 0, "PASS");
    /* What was never stored is wrong whether or not somebody counts stores. */
    expect_result(run_command("gate --watches none -j 1 --plant llama_two_of_four_elements /nt129.od70.id512/exact/"),
                  2,
                  "\nDIFFERS q8_0/q8_1_mmq_d4/mmq_llama_q8_0_j64/nt129.od70.id512/exact/s1\n  first   token 0, row 8");
    expect_result(run_command("run fixtures/plants/machine/barrier_never_full.launch.yaml --watches none"), 1,
                  "deadlock");
    expect_result(run_command("run fixtures/plants/machine/over_limit_arena.launch.yaml --watches none"), 1,
                  "233472 B of shared memory, sm_90 gives a block 232448");
    expect_result(run_command("run fixtures/plants/machine/over_limit_arena.launch.yaml --set arena=135168 --arch "
                              "sm_121"),
                  1, "135168 B of shared memory, sm_121 gives a block 101376");
}

/* What `from`, `says` and `edits` may be. */
Test(command_plants, hostile_files, .init = make_folder, .fini = remove_folder) {
#define HEAD     "plant: p\nabout: a\nlaunch: uninit_shared.launch.yaml\nclean: {entry: uninit_shared_clean}\n"
#define EXPECTED "expect: {oracle: uninit, verdict: HAZARD}\n"
#define REFUSED  HEAD "expect: {oracle: input, verdict: "
    static const struct {
        const char *text, *says;
        int code;
    } rows[] = {
        {HEAD EXPECTED "from: [C17, B102, C01]\n", "real faults: 3, in 1 plants", 0},
        {HEAD EXPECTED "from: C17\n", "p.yaml:6:7: from must be a list, not a single value", 2},
        {HEAD EXPECTED "from: []\n", "p.yaml:6:7: from: the list is empty", 2},
        {HEAD EXPECTED "from: [C17, C17]\n", "p.yaml:6:13: from: C17 stands there twice", 2},
        {HEAD EXPECTED "from: [C1]\n", "p.yaml:6:8: from: want entries such as C17 or B102", 2},
        {HEAD EXPECTED "from: [C017]\n", "from: want entries", 2},
        {HEAD EXPECTED "from: [C1017]\n", "from: want entries", 2},
        {HEAD EXPECTED "from: [c17]\n", "from: want entries", 2},
        {HEAD EXPECTED "from: [D17]\n", "from: want entries", 2},
        {HEAD EXPECTED "from: [C17x]\n", "from: want entries", 2},
        {HEAD EXPECTED "from: [C]\n", "from: want entries", 2},
        {HEAD EXPECTED "from: ['']\n", "p.yaml:6:8: from is empty", 2},
        {HEAD EXPECTED "from: [[C17]]\n", "p.yaml:6:8: from must be a single value", 2},
        {HEAD EXPECTED "from: [C17]\nfrom: [C17]\n", "p.yaml:7:1", 2},
        {HEAD EXPECTED "form: [C17]\n", "did you mean 'from'", 2},
        {REFUSED "INPUT}\n", "p.yaml:5:9: expect.says: oracle input needs a part of its words", 2},
        {REFUSED "LAUNCH, says: x}\n", "expect.verdict: a verdict that a wrong kernel gets", 2},
        {REFUSED "INPUT, says: ''}\n", "p.yaml:5:47: says is empty", 2},
        {REFUSED "INPUT, says: x}\n", "p is not named by oracle input (INPUT)", 1},
        {HEAD "expect: {oracle: uninit, verdict: HAZARD, says: read of}\n", "p is not named by oracle uninit", 1},
        {HEAD "expect: {oracle: uninit, verdict: HAZARD, says: never written}\n", "1 of 1 killed, 1 rightly", 0},
    };
    enter_project(
        "cp $d/fixtures/plants/machine/uninit_shared.ptx $d/fixtures/plants/machine/uninit_shared.launch.yaml "
        "fixtures/plants/machine/");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        put_file("fixtures/plants/machine/p.yaml", rows[i].text, strlen(rows[i].text));
        expect_result(run_command("plants"), rows[i].code, rows[i].says);
    }
    leave_project();
}

/* Of a launch file and of PTX; and edits that are none. */
Test(command_plants, edits, .init = make_folder, .fini = remove_folder) {
#define EDIT(edits) "plant: p\nabout: a\nkernel: quantize_pad40\n" edits
#define DIFFER      "expect: {oracle: parity, verdict: DIFFERS}\n"
#define ONE(text)   EDIT("edits: [{" text "}]\n" DIFFER)
    static const struct {
        const char *text, *says;
        int code;
    } rows[] = {
        {ONE("in: ptx, text: cvt.rni, becomes: cvt.rzi"), "1 of 1 killed, 1 rightly named", 0},
        {ONE("in: ptx, text: cvt.rni, becomes: cvt.rzi, times: 1"), "1 of 1 killed, 1 rightly named", 0},
        {ONE("in: launch, text: '{i32: nt}', becomes: '{i32: nt + 0}'"), "0 of 1 killed, 0 rightly named", 1},
        {ONE("in: ptx, text: cvt.rnj, becomes: x"), "'cvt.rnj' stands 0 times in ", 1},
        {ONE("in: ptx, text: shfl, becomes: x"), "'shfl' stands 12 times in ", 1},
        {ONE("in: ptx, text: cvt.rni, becomes: cvt.rnj"), "quantize_pad40.ptx:127:", 1},
        {ONE("in: launch, text: 'block:', becomes: 'black:'"), "quantize_pad40.yaml:7:", 1},
        {ONE("in: launch, text: nt, becomes: nt"), "p.yaml:4:41: becomes: the same as text", 2},
        {ONE("in: launch, text: '', becomes: nt"), "p.yaml:4:28: text is empty", 2},
        {ONE("in: cuda, text: a, becomes: b"), "p.yaml:4:14: in cannot be 'cuda'; allowed: launch, ptx", 2},
        {ONE("in: ptx, text: a, becomes: b, times: 0"), "times", 2},
        {ONE("in: ptx, text: a, becomes: [b]"), "becomes must be a single value", 2},
        {ONE("in: ptx, text: a"), "becomes", 2},
        {ONE("in: ptx, text: a, becomes: b, from: c"), "from", 2},
        {EDIT("edits: []\n" DIFFER), "p.yaml:4:8: edits: the list is empty", 2},
        {EDIT("edits: [a]\n" DIFFER), "p.yaml:4:9: an edit must be a mapping", 2},
        {EDIT(DIFFER), "edits", 2},
        {EDIT("edits: [{in: ptx, text: a, becomes: b}]\nptx: a.ptx\n" DIFFER), "p.yaml:5:1", 2},
    };
    enter_project("mkdir -p fixtures/plants/edit fixtures/cases gpu/kernels && "
                  "cp $d/gpu/kernels/quantize_pad40.yaml gpu/kernels/ && "
                  "printf 'kernels: [quantize_pad40]\\nshapes: {nt: [1], id: [32, 64]}\\ndata: [rand]\\nseeds: [1]\\n'"
                  " > fixtures/cases/a.yaml");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        put_file("fixtures/plants/edit/p.yaml", rows[i].text, strlen(rows[i].text));
        expect_result(run_command("plants"), rows[i].code, rows[i].says);
    }
    expect_result(run_command("gate --plant p"), 2, "edits");
    put_file("fixtures/plants/edit/p.yaml", rows[0].text, strlen(rows[0].text));
    expect_result(run_command("gate --plant p"), 2, "plant p is one of a kernel's words: warpproof plants p");
    expect_result(run_command("list plants"), 0, "edit     p                        parity DIFFERS: a\n");
    leave_project();
}

/* A plant is run until it is named; its canary build is a plant of its own. */
Test(command_plants, canary_builds_and_entries) {
    struct result r = run_command("plants sda_q_tiled_by_16 --json /dev/stdout");
    cr_expect(strstr(r.text, "\"group\": \"canary\"") &&
                  strstr(r.text, "\"expect\": {\"oracle\": \"canary\", \"verdict\": \"GUARD\"}, \"from\": [\"C30\"]") &&
                  strstr(r.text, "real faults: 1, in 1 plants") && strstr(r.text, "2 of 2 killed, 2 rightly named"),
              "%s", r.text);
    free(r.text);
    expect_result(run_command("explain */quantize_pad40/nt1.id32/rand/s1 --plant codes_truncated"), 2,
                  "plant codes_truncated is one of a kernel's words: warpproof plants codes_truncated");
    expect_result(run_command("plants --only canary"), 0, "canary             2       2              2");
    expect_result(run_command("plants --only edit 'codes_*'"), 0, "clean twins: 1 runs, 0 false alarms");
    r = run_command("list plants");
    cr_expect(r.code == 0 && strstr(r.text, "canary   sda_q_tiled_by_16        canary GUARD: ") &&
                  strstr(r.text, " [C30]\n"),
              "%s", r.text);
    free(r.text);
}
