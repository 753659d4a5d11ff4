/* Cases whose operands lie in raw files (gpu/case_file.c). */
#include "case_project.h"
#include <criterion/criterion.h>
#include <string.h>

TestSuite(cases_files, .init = project_make, .fini = project_remove);

#define FILES "kernels: [tile]\nfiles:\n  - {name: dump, nt: 2, od: 3, id: 256, weight: {file: w.bin}, "

/* cases/w.bin and cases/x.bin: 3 rows q4_K and 2 tokens pad40 of depth 256; cases/y.bin: the result. */
static void put_dump(uint8_t y[24]) {
    const struct operands_request r = {
        .contract = contract_named("q4_k_pad40_two_term"), .nt = 2, .od = 3, .id = 256, .data = DATA_RAND, .key = 3};
    struct operands o;
    struct error e = {""};
    cr_assert(operands_make(&r, &o, &e), "%s", e.text);
    r.contract->evaluate(&o.view, y);
    project_put("cases/w.bin", o.weight, o.weight_bytes);
    project_put("cases/x.bin", o.activation, o.activation_bytes);
    project_put("cases/y.bin", y, 24);
    operands_free(&o);
}

static void drop_dump(void) {
    project_drop("cases/w.bin");
    project_drop("cases/x.bin");
    project_drop("cases/y.bin");
}

Test(cases_files, raw_files_are_cases) {
    uint8_t y[24], result[24];
    put_dump(y);
    project_put_cases(FILES
                      "activation: {file: x.bin}, expect: {file: y.bin}}\n"
                      "  - {name: again, nt: 1, od: 1, id: 512, weight: {file: w2.bin}, activation: {file: x.bin}}\n");
    project_put("cases/w2.bin", y, 24);
    struct case_list list;
    struct error e = {""};
    cr_expect_not(project_load(&list, &e), "a weight of another size was accepted");
    cr_expect(strstr(e.text, "a.yaml:4:5: ") && strstr(e.text, "w2.bin has 24 bytes"), "says: %s", e.text);
    project_drop("cases/w2.bin");
    project_put_cases(FILES "activation: {file: x.bin}, expect: {file: y.bin}}\n");
    list = project_cases();
    cr_assert_eq(list.count, 1, "%zu cases", list.count);
    cr_expect(!strcmp(list.cases[0].id, "q4_K/pad40/tile/nt2.od3.id256/file/dump"), "id %s", list.cases[0].id);
    struct operands o;
    cr_assert(case_operands(&list.cases[0], &o, &e), "%s", e.text);
    list.cases[0].contract->evaluate(&o.view, result);
    cr_expect(!memcmp(result, y, sizeof y) && o.expected && !memcmp(o.expected, y, sizeof y), "other operands");
    operands_free(&o);
    case_list_free(&list);
    /* made cases beside them, which come first */
    project_put_cases(
        "kernels: [tile]\nshapes: {nt: [1], od: [1], id: [256]}\ndata: [rand]\nseeds: [1]\nfiles:\n"
        "  - {name: dump, nt: 2, od: 3, id: 256, weight: {file: w.bin}, activation: {file: x.bin, sha256: "
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef}}\n");
    list = project_cases();
    cr_assert_eq(list.count, 2, "%zu cases", list.count);
    cr_expect(list.cases[0].data == DATA_RAND && list.cases[1].data == DATA_FILE, "first %s", list.cases[0].id);
    cr_expect(!case_operands(&list.cases[1], &o, &e) && strstr(e.text, ", expected 0123"), "digest: %s", e.text);
    case_list_free(&list);
    drop_dump();
}

Test(cases_files, bad_raw_files_are_refused_with_their_place) {
    uint8_t y[24];
    put_dump(y);
    project_put_text(
        "gpu/kernels/infile.yaml",
        "kernel: infile\nsource: x.cu\ncontract: pad40_quantize\nlaunch: {grid: [1], block: [32]}\nargs: [{in: "
        "activation, format: f32, fill: {file: x}}, {out: result, format: pad40}]\n");
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"kernels: [tile]\nfiles: []\n", "a.yaml:2:8: files is empty"},
        {"kernels: [tile]\nfiles: {name: x}\n", "a.yaml:2:8: files must be a list"},
        {"kernels: [tile]\nfiles: [x]\n", "a.yaml:2:9: an entry of files must be"},
        {FILES "activation: {file: x.bin}, fill: zero}\n", "unknown key 'fill'"},
        {FILES "activation: x.bin}\n", "activation must be"},
        {FILES "activation: {path: x.bin}}\n", "unknown key 'path'"},
        {FILES "activation: {file: absent.bin}}\n", "absent.bin: No such file"},
        {FILES "activation: {file: w.bin}}\n",
         "w.bin has 432 bytes, the activation of nt = 2, id = 256 in pad40 has 640"},
        {FILES "activation: {file: x.bin}, expect: {file: x.bin}}\n", "x.bin has 640 bytes, the result has 24"},
        {FILES "activation: {file: x.bin, sha256: 01}}\n", "sha256: not 64 lower-case hex digits"},
        {FILES "activation: {file: \"x\\ny\"}}\n", "a path stands on one line"},
        {FILES "expect: {file: y.bin}}\n", "activation"},
        {FILES "activation: {file: x.bin}}\nshapes: {nt: [1]}\n", "a.yaml:4:9: not used: the entries of `files`"},
        {FILES "activation: {file: x.bin}}\nseeds: [1]\n", "a.yaml:4:8: not used: the entries of `files`"},
        {FILES "activation: {file: x.bin}}\n  - {name: dump, nt: 2, od: 3, id: 256, weight: {file: w.bin}, activation: "
               "{file: x.bin}}\n",
         "case q4_K/pad40/tile/nt2.od3.id256/file/dump stands already at"},
        {"kernels: [tile]\nfiles:\n  - {name: a/b, nt: 1, od: 1, id: 256, weight: {file: w}, activation: {file: x}}\n",
         "name is not a plain file name"},
        {"kernels: [tile]\nfiles:\n  - {name: a, nt: 0, od: 1, id: 256, weight: {file: w}, activation: {file: x}}\n",
         "a.yaml:3:19: "},
        {"kernels: [tile]\nfiles:\n  - {name: a, nt: 1, od: 1, id: 100, weight: {file: w}, activation: {file: x}}\n",
         "tile needs id % 256 == 0, got id = 100"},
        {"kernels: [tile]\nfiles:\n  - {name: a, nt: 1, od: 1, id: 256, activation: {file: x}}\n", "weight"},
        {"kernels: [quant]\nfiles:\n  - {name: a, nt: 1, od: 1, id: 256, activation: {file: x}}\n",
         "not used: no kernel here has weights"},
        {"kernels: [tile, quant]\nfiles:\n  - {name: a, nt: 1, od: 1, id: 256, weight: {file: w}, activation: {file: "
         "x}}\n",
         "files serve kernels with weights or kernels without, not both"},
        {"kernels: [tile]\nshapes: {nt: [1], od: [1], id: [256]}\ndata: [file]\nseeds: [1]\n",
         "class file needs files and is asked for by the key `files`"},
        {"kernels: [infile]\nshapes: {nt: [1], id: [256]}\ndata: [rand]\nseeds: [1]\n",
         "kernel infile has its operands in files"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct case_list list;
        struct error e = {""};
        project_put_cases(bad[i].text);
        cr_expect_not(project_load(&list, &e), "file %zu was accepted", i);
        cr_expect(strstr(e.text, bad[i].says), "file %zu says: %s", i, e.text);
        cr_expect(!list.cases && !list.kernels && !list.files, "file %zu left memory", i);
    }
    project_drop("gpu/kernels/infile.yaml");
    drop_dump();
}
