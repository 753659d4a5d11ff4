/* gpu/case.c: the cases that files describe, their ids and order, how patterns select them, and what is refused. Class
 * real is in tests/case_real.c, raw files in tests/case_files.c. */
#include "../ref/checked.h"
#include "case_project.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(cases, .init = project_make, .fini = project_remove);

/* ---- ids and order ---- */

Test(cases, ids_are_paths_in_a_fixed_order) {
    project_put_text("cases/b.yaml", "kernels: [quant]\nshapes: {nt: [33], id: [512, 32]}\ndata: [adv]\nseeds: [0]\n");
    project_put_cases(
        "kernels: [quant, tile]\nshapes: {nt: [2, 1], od: [70], id: [256]}\ndata: [rand, exact]\nseeds: [7, 1]\n");
    static const char *const want[] = {
        "f32/pad40/quant/nt2.id256/exact/s7",      "f32/pad40/quant/nt2.id256/exact/s1",
        "f32/pad40/quant/nt2.id256/rand/s7",       "f32/pad40/quant/nt2.id256/rand/s1",
        "f32/pad40/quant/nt1.id256/exact/s7",      "f32/pad40/quant/nt1.id256/exact/s1",
        "f32/pad40/quant/nt1.id256/rand/s7",       "f32/pad40/quant/nt1.id256/rand/s1",
        "f32/pad40/quant/nt33.id512/adv/s0",       "f32/pad40/quant/nt33.id32/adv/s0",
        "q4_K/pad40/tile/nt2.od70.id256/exact/s7", "q4_K/pad40/tile/nt2.od70.id256/exact/s1",
        "q4_K/pad40/tile/nt2.od70.id256/rand/s7",  "q4_K/pad40/tile/nt2.od70.id256/rand/s1",
        "q4_K/pad40/tile/nt1.od70.id256/exact/s7", "q4_K/pad40/tile/nt1.od70.id256/exact/s1",
        "q4_K/pad40/tile/nt1.od70.id256/rand/s7",  "q4_K/pad40/tile/nt1.od70.id256/rand/s1",
    };
    struct case_list list = project_cases();
    cr_expect_eq(list.count, sizeof want / sizeof *want, "%zu cases", list.count);
    for (size_t i = 0; i < list.count && i < sizeof want / sizeof *want; i++)
        cr_expect_str_eq(list.cases[i].id, want[i], "case %zu is %s, not %s", i, list.cases[i].id, want[i]);
    cr_expect_eq(list.kernel_count, 2, "a kernel was read twice");
    case_list_free(&list);
}

Test(cases, of_the_lattice_come_when_asked_for) {
    project_put_cases("kernels: [tile]\nshapes: {nt: [3], od: [5], id: [256]}\ndata: [rand]\nseeds: [1]\n");
    struct case_list list;
    struct error e = {""};
    cr_expect_not(project_load_whole(&list, &e), "a lattice without files was accepted");
    cr_expect(strstr(e.text, "there is no cases file *.yaml in ") && strstr(e.text, "/cases/all"), "says: %s", e.text);
    project_put_text("cases/all/a.yaml",
                     "kernels: [tile]\nshapes: {nt: [3, 4], od: [5], id: [256]}\ndata: [rand]\nseeds: [1]\n");
    list = project_cases();
    cr_expect_eq(list.count, 1, "%zu quick cases", list.count);
    case_list_free(&list);
    cr_assert(project_load_whole(&list, &e), "%s", e.text);
    cr_expect_eq(list.count, 2, "%zu cases, one of which stands in both folders", list.count);
    cr_expect_str_eq(list.cases[0].id, "q4_K/pad40/tile/nt3.od5.id256/rand/s1");
    cr_expect_str_eq(list.cases[1].id, "q4_K/pad40/tile/nt4.od5.id256/rand/s1");
    case_list_free(&list);
    project_put_text("cases/all/a.yaml",
                     "kernels: [tile]\nshapes: {nt: [4, 4], od: [5], id: [256]}\ndata: [rand]\nseeds: [1]\n");
    cr_expect_not(project_load_whole(&list, &e), "two cases of one id in the lattice were accepted");
    cr_expect(strstr(e.text, "nt4.od5.id256/rand/s1 stands already at "), "says: %s", e.text);
}

Test(cases, data_depend_on_the_id_alone) {
    project_put_cases("kernels: [tile]\nshapes: {nt: [3], od: [5], id: [256]}\ndata: [rand]\nseeds: [1]\n");
    struct case_list few = project_cases();
    project_put_cases(
        "kernels: [quant, tile]\nshapes: {nt: [9, 3], od: [5], id: [512, 256]}\ndata: [rand, adv]\nseeds: [2, 1]\n");
    struct case_list many = project_cases();
    struct operands a, b;
    struct error e = {""};
    cr_assert(case_operands(&few.cases[0], &a, &e), "%s", e.text);
    size_t found = 0;
    for (size_t i = 0; i < many.count; i++) {
        cr_assert(case_operands(&many.cases[i], &b, &e), "%s", e.text);
        bool same = a.weight_bytes == b.weight_bytes && a.activation_bytes == b.activation_bytes &&
                    !memcmp(a.weight, b.weight, a.weight_bytes) &&
                    !memcmp(a.activation, b.activation, a.activation_bytes);
        cr_expect_eq(same, !strcmp(few.cases[0].id, many.cases[i].id), "%s", many.cases[i].id);
        found += same;
        operands_free(&b);
    }
    cr_expect_eq(found, 1, "the case was found %zu times", found);
    operands_free(&a);
    case_list_free(&few);
    case_list_free(&many);
}

/* ---- selection ---- */

Test(cases, patterns_select_by_id_glob_or_part) {
    project_put_cases(
        "kernels: [tile, quant]\nshapes: {nt: [1, 11], od: [5], id: [256, 512]}\ndata: [exact, rand]\nseeds: [1, "
        "11]\n");
    struct case_list list = project_cases();
    cr_assert_eq(list.count, 32, "%zu cases", list.count);
    static const struct {
        const char *pattern;
        size_t count;
    } rows[] = {
        {NULL, 32},
        {"tile", 16},
        {"q4_K/pad40/tile/nt1.od5.id256/exact/s1", 1}, /* a whole id: not also s11, of which it is a part */
        {"tile/nt1.od5.id256/exact/s1", 2},            /* a part */
        {"*/exact/*", 16},                             /* * crosses slashes */
        {"*/s1", 16},
        {"exact*", 0}, /* a glob matches whole ids */
        {"*nt?.*", 16},
        {"*id[3-9]*rand*", 8},
        {"nosuchcase", 0},
        {"", 0}, /* part of every id, and surely not meant */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *missed;
        size_t n = project_selected(&list, rows[i].pattern, &missed);
        cr_expect_eq(n, rows[i].count, "'%s' selects %zu", rows[i].pattern, n);
        cr_expect(missed == (rows[i].count ? NULL : rows[i].pattern), "'%s': missed is %s", rows[i].pattern, missed);
    }
    bool chosen[32];
    const char *missed, *three[] = {"quant", "absent", "f32/", "gone"};
    cr_expect_eq(case_select(&list, three, 4, chosen, &missed), 16, "patterns add up");
    cr_expect_str_eq(missed, "absent", "missed is %s", missed);
    case_list_free(&list);
}

/* ---- errors ---- */

Test(cases, bad_files_are_refused_with_their_place) {
    project_put_model(NULL);
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"kernels: [tile]\nshape: {nt: [1]}\n", "a.yaml:2:1"},
        {"kernels: [tile]\nshapes: {nt: [1], od: [1], id: [256]}\n", "needs `data`, `real` or `files`"},
        {"shapes: {nt: [1]}\ndata: [exact]\n", "kernels"},
        {"kernels: []\nshapes: {nt: [1]}\ndata: [exact]\n", "a.yaml:1:10: kernels is empty"},
        {"kernels: [tile, none]\nshapes: {nt: [1]}\ndata: [exact]\n", "a.yaml:1:17: there is no kernel none"},
        {"kernels: [../kernels/tile]\nshapes: {nt: [1]}\ndata: [exact]\n", "a.yaml:1:11: kernels is not a plain file"},
        {"kernels: [foreign]\nshapes: {nt: [1]}\ndata: [exact]\n", "kernel foreign has no contract"},
        {"kernels: [tile]\nshapes: {nt: [1], od: [1], id: [256]}\ndata: [exact, exact]\nseeds: [1]\n", "a.yaml:3:15"},
        {"kernels: [tile]\nshapes: {nt: [1], od: [1], id: [256]}\ndata: [real]\nseeds: [1]\n", "a.yaml:3:8"},
        {"kernels: [tile]\nshapes: {nt: [1], od: [1], id: [256]}\ndata: [fancy]\nseeds: [1]\n", "fancy"},
        {"kernels: [tile]\nshapes: {nt: [1], od: [1], id: [256]}\ndata: []\nseeds: [1]\n", "data is empty"},
        {"kernels: [tile]\nshapes: {nt: [1], od: [1], id: [256]}\ndata: [exact]\n", "seeds"},
        {"kernels: [tile]\nshapes: {nt: [1], id: [256]}\ndata: [exact]\nseeds: [1]\n", "od"},
        {"kernels: [quant]\nshapes: {nt: [1], od: [1], id: [256]}\ndata: [exact]\nseeds: [1]\n",
         "a.yaml:2:23: od is not used: no kernel here has weights"},
        {"kernels: [tile]\nshapes: {nt: [0], od: [1], id: [256]}\ndata: [exact]\nseeds: [1]\n", "a.yaml:2:15"},
        {"kernels: [tile]\nshapes: {nt: [1.5], od: [1], id: [256]}\ndata: [exact]\nseeds: [1]\n", "a.yaml:2:15"},
        {"kernels: [tile]\nshapes: {nt: 1, od: [1], id: [256]}\ndata: [exact]\nseeds: [1]\n", "a.yaml:2:14"},
        {"kernels: [tile]\nshapes: {nt: [1], od: [1], id: [100]}\ndata: [exact]\nseeds: [1]\n",
         "a.yaml:2:9: tile needs id % 256 == 0, got id = 100 (q4_K/pad40/tile/nt1.od1.id100/exact/s1)"},
        {"kernels: [quant]\nshapes: {nt: [1], id: [100]}\ndata: [exact]\nseeds: [1]\n", "a.yaml:2:9: "},
        {"kernels: [tile]\nshapes: {nt: [1], od: [1], id: [16640]}\ndata: [exact]\nseeds: [1]\n", "depths up to 16384"},
        {"kernels: [tile]\nshapes: {nt: [1], od: [2000000000], id: [2560]}\ndata: [rand]\nseeds: [1]\n",
         "more than 4294967296 bytes"},
        {"kernels: [tile]\nshapes: {nt: [1, 2, 1], od: [1], id: [256]}\ndata: [exact]\nseeds: [1]\n",
         "case q4_K/pad40/tile/nt1.od1.id256/exact/s1 stands already at"},
        {"kernels: [tile]\nshapes: {nt: [1], od: [1]}\nreal: {model: tiny.gguf, tensors: \"*\"}\n",
         "od is not used: the tensors give it"},
        {"kernels: [tile]\nshapes: {nt: [1]}\nseeds: [1]\nreal: {model: tiny.gguf, tensors: \"*\"}\n",
         "seeds is not used"},
        {"kernels: [tile]\nshapes: {nt: [1]}\nreal: {model: tiny.gguf}\n", "tensors"},
        {"kernels: [quant]\nshapes: {nt: [1], id: [32]}\nreal: {model: tiny.gguf, tensors: \"*\"}\n",
         "a.yaml:3:35: tensors is not used"},
        {"kernels: [tile]\nshapes: {nt: [1]}\nreal: {model: ../models/tiny.gguf, tensors: \"*\"}\n",
         "real.model is not a plain file name"},
        {"kernels: [tile]\nshapes: {nt: [1]}\nreal: {model: tiny.gguf, tensors: \"attn*\"}\n", "no q4_K tensor of "},
        {"kernels: [tile]\nshapes: {nt: [1000]}\nreal: {model: tiny.gguf, tensors: \"*up*\"}\n",
         "a.yaml:3:7: tile needs nt < 1000, got nt = 1000"},
        {"- kernels\n", "a.yaml:1:1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct case_list list;
        struct error e = {""};
        project_put_cases(bad[i].text);
        cr_expect_not(project_load(&list, &e), "file %zu was accepted", i);
        cr_expect(strstr(e.text, bad[i].says), "file %zu says: %s", i, e.text);
        cr_expect(!list.cases && !list.kernels && !list.models, "file %zu left memory", i);
    }
    project_drop("cases/a.yaml");
    struct case_list list;
    struct error e = {""};
    cr_expect_not(project_load(&list, &e), "a folder without cases was accepted");
    cr_expect(strstr(e.text, "there is no cases file"), "says: %s", e.text);
}

Test(cases, the_number_of_cases_is_bounded) {
    char *numbers = must_calloc(1 << 16, 1), *text;
    for (int i = 0; i < 4097; i++)
        sprintf(numbers + strlen(numbers), "%s%d", i ? ", " : "", i);
    text = must_format("kernels: [quant]\nshapes: {nt: [%s], id: [%s]}\ndata: [rand]\nseeds: [%s]\n", numbers + 3,
                       "32, 64", numbers);
    project_put_cases(text);
    struct case_list list;
    struct error e = {""};
    cr_expect_not(project_load(&list, &e), "2^25 cases were accepted");
    cr_expect(strstr(e.text, "more than 1048576 cases"), "says: %s", e.text);
    free(numbers);
    free(text);
}

Test(shipped_cases, of_the_project_are_all_well_formed) {
    struct case_list list;
    struct error e = {""};
    cr_assert(case_list_load("fixtures/cases", ".", "build/models", true, &list, &e),
              "%s (tests run in the root of the project)", e.text);
    size_t classes[DATA_CLASSES] = {0};
    for (size_t i = 0; i < list.count; i++)
        classes[list.cases[i].data]++;
    for (enum data_class c = 0; c < DATA_REAL; c++)
        cr_expect(classes[c] >= 24, "class %s has %zu cases", data_class_names[c], classes[c]);
    cr_expect_eq(classes[DATA_REAL] > 0, list.model_count && list.models[0]->file, "real cases without a model");
    const char *missed;
    cr_expect_eq(project_selected(&list, "q4_K/pad40/mmq_wide_ldb_kd8/nt70.od129.id512/adv/s1", &missed), 1,
                 "a known case is gone");
    case_list_free(&list);
}
