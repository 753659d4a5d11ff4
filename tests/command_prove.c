/* warpproof prove fragments, as a person calls it. */
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(prove_command, .init = make_folder, .fini = remove_folder);

static char *in_folder(const char *name) {
    char *path = must_format("%s/%s", run_folder, name);
    FILE *f = fopen(path, "rb");
    cr_assert(f, "%s is not there", path);
    char *text = must_calloc(1 << 20, 1);
    const size_t n = fread(text, 1, (1 << 20) - 1, f);
    text[n] = 0;
    fclose(f);
    free(path);
    return text;
}

Test(prove_command, subjects) {
    expect_result(run_command("prove --help"), 0, "fragments");
    expect_result(run_command("prove"), 2, "want fragments or banks");
    expect_result(run_command("prove frobs"), 2, "unknown subject 'frobs'");
    expect_result(run_command("--help"), 0, "prove");
    expect_result(run_command("prove fragments --help"), 0, "usage: warpproof prove fragments");
}

Test(prove_command, fragments) {
    expect_result(run_command("prove fragments mma.m16n8k32.s8/A"), 0,
                  "6 proved, 0 refuted\n6 passed, 0 failed, 0 skipped\n");
    expect_result(run_command("prove fragments movmatrix stmatrix.x4/ldmatrix"), 0, "4 proved, 0 refuted\n");
    expect_result(run_command("prove fragments --list movmatrix"), 0, "movmatrix/twice          movmatrix.trans twice");
    expect_result(run_command("prove fragments nosuch"), 3, "no statement matches 'nosuch'");
    expect_result(run_command("prove fragments ''"), 2, "a PATTERN is empty");
    expect_result(run_command("prove fragments --nosuch"), 2, "--nosuch");
    expect_result(run_command("prove fragments --layout"), 2, "--layout");
}

Test(prove_command, layouts) {
    expect_result(run_command("prove fragments --layout fixtures/layouts/slots_48.yaml"), 0,
                  "1 proved, 0 refuted\n1 passed, 0 failed, 0 skipped\n");
    expect_result(run_command("prove fragments --layout fixtures/layouts/plants/wrong_stride.yaml --layout "
                              "fixtures/layouts/slots_48.yaml"),
                  1, "1 proved, 1 refuted\n1 passed, 1 failed, 0 skipped\n");
    expect_result(run_command("prove fragments --layout fixtures/layouts/slots_48.yaml movmatrix"), 0, "3 proved");
    expect_result(run_command("prove fragments --layout /nosuch.yaml"), 2, "/nosuch.yaml: cannot be opened");
    put_file("x.yaml", "layout: x\nfrob: 1\n", 18);
    expect_result(run_command("prove fragments --layout %s/x.yaml", run_folder), 2, "x.yaml:2:1: unknown key 'frob'");
}

/* A proof says what it leaves open. */
Test(prove_command, notes) {
    static const char text[] = "layout: n\nmatrix: {rows: 64, row_bytes: 32}\nmemory: {stride: 48}\n"
                               "plane: {bytes: 3072}\nload: ldmatrix.x4\n"
                               "address: (tile_row + 16 * warp + lane % 16) * 48 + tile_byte + lane / 16 * 16\n"
                               "wants: mma.m16n8k32.s8 A\n";
    put_file("n.yaml", text, sizeof text - 1);
    expect_result(run_command("prove fragments --layout %s/n.yaml --json %s/n.json", run_folder, run_folder), 0,
                  "rows of 32 bytes\n         note: always 0 in this matrix, so what the address does with "
                  "it is not proved: tile_byte, warp\n1 proved");
    char *json = in_folder("n.json");
    cr_expect(strstr(json, "n.yaml\", \"note\": \"always 0"), "%s", json);
    free(json);
    struct result r = run_command("prove fragments --layout fixtures/layouts/slots_48.yaml");
    cr_expect(!strstr(r.text, "note"), "%s", r.text);
    free(r.text);
}

Test(prove_command, json) {
    expect_result(
        run_command("prove fragments movmatrix --layout fixtures/layouts/plants/word_offset.yaml --json %s/p.json",
                    run_folder),
        1, "2 proved, 1 refuted");
    char *text = in_folder("p.json");
    cr_expect(
        strstr(text, "{\"subject\": \"fragments\", \"statements\": [{\"name\": \"layout/word_offset\"") == text &&
            strstr(text, "\"domain\": 1, \"result\": \"refuted\", \"counterexample\": \"lane 0, register 0, byte 0 "
                         "holds row 0 k 4;") &&
            strstr(text, "\"file\": \"fixtures/layouts/plants/word_offset.yaml\", \"wrong_byte\": {\"warp\": 0, "
                         "\"lane\": 0, \"register\": 0, \"byte\": 0, \"holds\": \"row 0 k 4\", \"wants\": \"row 0 "
                         "k 0\", \"mistake\": \"word offset: every address is 1 word (4 bytes) too high\"}}") &&
            strstr(text, "{\"name\": \"movmatrix/twice\"") && strstr(text, "\"proved\": 2, \"refuted\": 1}\n"),
        "%s", text);
    free(text);
    expect_result(run_command("prove fragments movmatrix --json %s", run_folder), 2, "cannot write");
    cr_expect_eq(files_in_folder(), 1, "one file");
}

Test(prove_command, pictures) {
    expect_result(run_command("prove fragments mma.m16n8k16.f16 --svg %s/maps", run_folder), 0, "proved");
    char *text = in_folder("maps/mma.m16n8k16.f16-B.svg");
    cr_expect(strstr(text, "<svg "), "%s", text);
    free(text);
    expect_result(run_command("prove fragments mma.m16n8k32.s8/A/bijection --svg %s/a.svg", run_folder), 0, "1 proved");
    text = in_folder("a.svg");
    cr_expect(strstr(text, ">T31 r3<"), "%s", text);
    free(text);
    expect_result(run_command("prove fragments mma.m16n8k32.s8 --svg %s/b.svg", run_folder), 2,
                  "4 pictures are selected; name a folder");
    expect_result(run_command("prove fragments movmatrix --svg %s/b.svg", run_folder), 2, "no operand is selected");
    expect_result(run_command("prove fragments ldmatrix --svg %s/no/where", run_folder), 2, "No such file");
    cr_expect_eq(files_in_folder(), 2, "the folder and a.svg");
    expect_result(run_command("prove fragments --layout fixtures/layouts/slots_48.yaml --svg %s/b.svg", run_folder), 0,
                  "1 proved");
    text = in_folder("b.svg");
    cr_expect(strstr(text, ">T1 r1 b0<"), "%s", text);
    free(text);
    expect_result(run_command("prove fragments --layout fixtures/layouts/slots_48.yaml movmatrix ldmatrix.x1/bijection "
                              "--svg %s/maps",
                              run_folder),
                  0, "4 proved");
    free(in_folder("maps/layout-slots_48.svg"));
    free(in_folder("maps/ldmatrix.x1.svg"));
    put_file("x.yaml",
             "layout: '../x/y'\nmatrix: {rows: 16, row_bytes: 32}\nmemory: {stride: 48}\nplane: {bytes: 768}\n"
             "load: ldmatrix.x4\naddress: lane\nwants: mma.m16n8k32.s8 A\n",
             149);
    expect_result(run_command("prove fragments --layout %s/x.yaml --svg %s/maps", run_folder, run_folder), 1,
                  "REFUTED");
    free(in_folder("maps/layout-..-x-y.svg"));
}

Test(prove_command, outputs) {
    put_file("l.yaml", "layout: x\n", 10);
    put_file("g.zz", "x", 1);
    expect_result(run_command("prove fragments --layout %s/l.yaml --json %s/l.yaml", run_folder, run_folder), 2,
                  "l.yaml is the input");
    expect_result(run_command("prove fragments --golden %s/g.zz --json %s/g.zz", run_folder, run_folder), 2,
                  "g.zz is the input");
    expect_result(run_command("prove fragments ldmatrix --golden %s/g.zz --runner machine --record %s/g.zz", run_folder,
                              run_folder),
                  2, "g.zz is the input");
    expect_result(run_command("prove fragments ldmatrix --runner machine --record %s", run_folder), 2, "cannot write");
    expect_result(run_command("prove fragments ldmatrix --json -"), 2, "--json -: want the name of a file");
    expect_result(run_command("prove fragments ldmatrix --json ''"), 2, "--json: want the name of a file");
    expect_result(run_command("prove fragments movmatrix --json /dev/stdout"), 0, "\"result\": \"proved\"");
}

static const char small_layout[] = "layout: %s\nmatrix: {rows: 16, row_bytes: 32}\nmemory: {stride: 48}\n"
                                   "plane: {bytes: 768}\nload: ldmatrix.x4\n"
                                   "address: lane %% 16 * 48 + lane / 16 * 16\nwants: mma.m16n8k32.s8 A\n";

static void put_layout(const char *file, const char *name) {
    char *text = must_format(small_layout, name);
    put_file(file, text, strlen(text));
    free(text);
}

/* No output replaces an input or another output, by whatever path; and then nothing is written at all. */
Test(prove_command, files_apart) {
    const char *const d = run_folder;
    put_layout("l.svg", "x-y");
    put_layout("m.yaml", "x/y");
    char *to = must_format("%s/l.svg", d), *link = must_format("%s/link.svg", d);
    cr_assert(symlink(to, link) == 0);
    free(to);
    free(link);
    expect_result(run_command("prove fragments --layout %s/l.svg --svg %s/l.svg", d, d), 2, "l.svg is the input");
    expect_result(run_command("prove fragments --layout %s/link.svg --svg %s/l.svg", d, d), 2, "l.svg is the input");
    expect_result(run_command("prove fragments --layout %s/l.svg --svg %s/./l.svg", d, d), 2, "l.svg is the input");
    expect_result(run_command("prove fragments movmatrix ldmatrix.x1/bijection --json %s/o.svg --svg %s/o.svg", d, d),
                  2, "--json and --svg name one file");
    expect_result(run_command("prove fragments movmatrix --json %s/o --svg %s/./o", d, d), 2,
                  "--json and --svg name one file");
    expect_result(run_command("prove fragments movmatrix --runner machine --record %s/o --json %s/o", d, d), 2,
                  "--json and --record name one file");
    expect_result(run_command("prove fragments movmatrix --runner machine --record %s/o --golden %s/o", d, d), 2,
                  "/o is the input");
    expect_result(run_command("prove fragments --layout %s/l.svg --layout %s/m.yaml --svg %s/pictures", d, d, d), 2,
                  "m.yaml name one file");
    expect_result(run_command("prove banks --layout %s/m.yaml --svg %s/./m.yaml", d, d), 2, "m.yaml is the input");
    expect_result(run_command("prove banks --rows 8 --row-bytes 16 --stride 16 --json %s/o --svg %s/./o", d, d), 2,
                  "--json and --svg name one file");
    cr_expect_eq(files_in_folder(), 3, "something was written");
    put_layout("layout-z.svg", "z");
    expect_result(run_command("prove fragments --layout %s/layout-z.svg --svg %s", d, d), 2,
                  "layout-z.svg is the input");
    expect_result(run_command("prove fragments --layout %s/m.yaml --svg %s --json %s/layout-x-y.svg", d, d, d), 2,
                  "name one file");
    cr_expect_eq(files_in_folder(), 4, "something was written");
    expect_result(run_command("prove fragments movmatrix --json /dev/null"), 0, "proved");
    expect_result(run_command("prove fragments --layout %s/m.yaml --svg %s/x.SVG", d, d), 0, "proved");
    free(in_folder("x.SVG"));
}

Test(prove_command, options_given_twice) {
    static const char *const rows[] = {
        "fragments --svg a --svg b",
        "fragments --json a --json b",
        "fragments --runner machine --runner machine",
        "fragments --record a --record b",
        "fragments --golden a --golden b",
        "banks --layout fixtures/layouts/slots_48.yaml --layout fixtures/layouts/dense_32.yaml",
        "banks --table a --table b",
        "banks --rows 8 --rows 8",
        "banks --mask 1 --mask 2",
        "banks --xor 1 --xor 2",
        "banks --json a --json a",
        "banks --svg a --svg a",
        "banks --op ld8 --op ld8"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *want =
            must_format("%.*s is given twice", (int)strcspn(strstr(rows[i], "--"), " "), strstr(rows[i], "--"));
        expect_result(run_command("prove %s", rows[i]), 2, want);
        free(want);
    }
    expect_result(run_command("prove fragments --list --list movmatrix/twice"), 0, "movmatrix/twice");
}

/* Each pattern selects something, also beside layouts and other patterns. */
Test(prove_command, patterns) {
    const char *const layout = "--layout fixtures/layouts/slots_48.yaml";
    expect_result(run_command("prove fragments %s nosuch", layout), 3, "no statement matches 'nosuch'");
    expect_result(run_command("prove fragments %s movmatrix layout/slots_48", layout), 3,
                  "no statement matches 'layout/slots_48'");
    expect_result(run_command("prove fragments movmatrix nosuch"), 3, "no statement matches 'nosuch'");
    expect_result(run_command("prove fragments --list movmatrix nosuch"), 3, "no statement matches 'nosuch'");
    expect_result(run_command("prove banks rows/ nosuch"), 3, "no statement matches 'nosuch'");
    expect_result(run_command("prove fragments movmatrix/executed"), 3,
                  "'movmatrix/executed' selects kernels alone: they need --runner or --golden");
    expect_result(run_command("prove fragments --list executed"), 0, "movmatrix/executed ");
    expect_result(run_command("prove fragments --list --svg x"), 2, "--svg does not go with --list");
    expect_result(run_command("prove fragments --list --json x"), 2, "--json does not go with --list");
    expect_result(run_command("prove fragments --list --runner machine"), 2, "--runner does not go with --list");
    expect_result(run_command("prove fragments --list --golden x"), 2, "--golden does not go with --list");
}

Test(prove_command, runners) {
    expect_result(run_command("prove fragments matrix.x2/executed --runner machine --record %s/r.zz", run_folder), 0,
                  "2 proved, 0 refuted\n2 passed, 0 failed, 0 skipped\n");
    expect_result(run_command("prove fragments executed --golden %s/r.zz", run_folder), 0,
                  "2 passed, 0 failed, 144 skipped\n");
    expect_result(run_command("prove fragments executed --golden %s/none.zz", run_folder), 2, "cannot be opened");
    expect_result(run_command("prove --help >/dev/null; cp %s/r.zz %s/longer.zz; printf x >>%s/longer.zz", run_folder,
                              run_folder, run_folder),
                  0, "");
    expect_result(run_command("prove fragments executed --golden %s/longer.zz", run_folder), 2,
                  "not a record of fragments");
    put_file("bad.zz", "0123456789abcdef", 16);
    expect_result(run_command("prove fragments executed --golden %s/bad.zz", run_folder), 2,
                  "not a record of fragments");
    expect_result(run_command("prove fragments movmatrix --runner cpu"), 2, "--runner cpu: want machine or device");
    expect_result(run_command("prove fragments movmatrix --record x"), 2, "--record needs --runner");
    expect_result(run_command("prove fragments movmatrix/twice --runner machine"), 2, "no pattern selects a kernel");
    expect_result(run_command("prove fragments 'wgmma*executed*' --runner machine --record %s/none.zz", run_folder), 3,
                  "0 proved, 0 refuted\n0 passed, 0 failed, 105 skipped\n");
    expect_result(run_command("prove fragments movmatrix/executed --golden %s/r.zz", run_folder), 3,
                  "0 passed, 0 failed, 1 skipped\n");
    expect_result(run_command("prove fragments --layout fixtures/layouts/slots_48.yaml --runner machine"), 2,
                  "beside --layout, name some by a PATTERN");
    expect_result(run_command("prove fragments --layout fixtures/layouts/slots_48.yaml ldmatrix.x1/executed --runner "
                              "machine"),
                  0, "2 proved, 0 refuted");
}
