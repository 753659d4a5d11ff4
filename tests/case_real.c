/* Class real: cases of a model's tensors, and operands from them (gpu/case.c, gpu/data_real.c). */
#include "../ref/checked.h"
#include "../ref/half.h"
#include "../ref/pad40.h"
#include "case_project.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(cases_real, .init = project_make, .fini = project_remove);

static const char real_text[] = "kernels: [tile]\nshapes: {nt: [3, 7]}\nreal: {model: tiny.gguf, tensors: \"*up*\"}\n";

Test(cases_real, an_absent_model_is_recorded_and_has_no_cases) {
    project_put_cases(real_text);
    struct case_list list = project_cases();
    cr_expect_eq(list.count, 0, "%zu cases without a model", list.count);
    cr_assert_eq(list.model_count, 1, "%zu models", list.model_count);
    cr_expect(!list.models[0]->file && !list.models[0]->why && !list.models[0]->cases &&
                  !strcmp(list.models[0]->name, "tiny.gguf"),
              "the model is not recorded as absent");
    case_list_free(&list);
}

/* The other cases are there; the reason is kept for whoever asks for the model's. */
static void expect_unreadable(const char *says) {
    struct case_list list = project_cases();
    cr_assert(list.count == 2 && list.model_count == 1, "%zu cases, %zu models", list.count, list.model_count);
    cr_expect(!list.models[0]->file && list.models[0]->why && strstr(list.models[0]->why, says), "'%s' is not in: %s",
              says, list.models[0]->why ? list.models[0]->why : "(none)");
    const char *missed;
    cr_expect_eq(project_selected(&list, "quant", &missed), 2, "the generated cases are not there");
    cr_expect(project_selected(&list, "tiny", &missed) == 0 && missed, "a case of the model is there");
    case_list_free(&list);
}

Test(cases_real, an_unreadable_model_is_recorded_with_its_reason) {
    project_put_cases(real_text);
    project_put_text("cases/b.yaml",
                     "kernels: [quant]\nshapes: {nt: [1, 2], id: [32]}\ndata: [rand]\nseeds: [1]\nreal: "
                     "{model: tiny.gguf}\n");
    project_put("models/tiny.gguf", "GGUF", 4);
    expect_unreadable("tiny.gguf: ");
    project_drop("models/tiny.gguf");
    char *path = project_path("models/tiny.gguf");
    cr_assert_eq(mkdir(path, 0700), 0, "no folder");
    expect_unreadable("tiny.gguf: ");
    free(path);
    project_drop("models/tiny.gguf");
    project_put_model("token_embd.other_");
    expect_unreadable("there is no tensor token_embd.weight");
}

Test(cases_real, tensors_that_match_become_cases) {
    project_put_model(NULL);
    project_put_cases(real_text);
    project_put_text("cases/b.yaml", "kernels: [quant]\nshapes: {nt: [3], id: [96]}\nreal: {model: tiny.gguf}\n");
    static const char *const want[] = {"q4_K/pad40/tile/nt3.od6.id512/real/tiny/blk.0.up.weight",
                                       "q4_K/pad40/tile/nt7.od6.id512/real/tiny/blk.0.up.weight",
                                       "q4_K/pad40/tile/nt3.od3.id256/real/tiny/blk.1.up.weight",
                                       "q4_K/pad40/tile/nt7.od3.id256/real/tiny/blk.1.up.weight",
                                       "f32/pad40/quant/nt3.id96/real/tiny"};
    struct case_list list = project_cases();
    cr_assert_eq(list.count, 5, "%zu cases", list.count);
    for (size_t i = 0; i < 5; i++)
        cr_expect_str_eq(list.cases[i].id, want[i], "case %zu is %s", i, list.cases[i].id);
    cr_expect(list.model_count == 1 && list.models[0]->cases == 5, "the model is counted once, with 5 cases");
    case_list_free(&list);
}

Test(cases_real, a_kernels_real_cases_come_last) {
    project_put_model(NULL);
    project_put_cases("kernels: [tile]\nshapes: {nt: [3]}\nreal: {model: tiny.gguf, tensors: blk.1.up.weight}\n");
    project_put_text("cases/b.yaml",
                     "kernels: [tile]\nshapes: {nt: [1], od: [1], id: [256]}\ndata: [rand]\nseeds: [1]\n");
    struct case_list list = project_cases();
    cr_assert_eq(list.count, 2, "%zu cases", list.count);
    cr_expect(list.cases[0].data == DATA_RAND && list.cases[1].data == DATA_REAL, "first %s", list.cases[0].id);
    case_list_free(&list);
}

Test(cases_real, names_of_tensors_are_made_printable) {
    project_put_model(NULL);
    project_put_cases("kernels: [tile]\nshapes: {nt: [1]}\nreal: {model: tiny.gguf, tensors: \"*31m*\"}\n");
    struct case_list list = project_cases();
    cr_assert_eq(list.count, 1, "%zu cases", list.count);
    cr_expect_str_eq(list.cases[0].id, "q4_K/pad40/tile/nt1.od1.id256/real/tiny/blk.1.\\x1b[31m.weight", "%s",
                     list.cases[0].id);
    const char *missed;
    cr_expect_eq(project_selected(&list, list.cases[0].id, &missed), 1, "an id with a bracket selects its case");
    case_list_free(&list);
}

/* Row `row` of the embedding, strung together with those after it, over its root mean square. */
static void expect_token(const struct gguf_tensor *embedding, size_t row, const float *got, size_t depth, size_t t) {
    float x[1024];
    double squares = 0;
    for (size_t k = 0; k < depth; k += 64, row = (row + 1) % 40)
        cr_assert(gguf_row(embedding, row, x + k, NULL), "row %zu", row);
    for (size_t k = 0; k < depth; k++)
        squares += (double)x[k] * x[k];
    for (size_t k = 0; k < depth; k++) {
        const float want = (float)(x[k] / sqrt(squares / (double)depth + 1e-6));
        cr_expect_eq(float_bits(want), float_bits(got[k]), "token %zu, k %zu: want %a, got %a", t, k, (double)want,
                     (double)got[k]);
    }
}

Test(cases_real, real_operands_are_tensor_bytes_and_embedding_rows) {
    project_put_model(NULL);
    project_put_cases(
        "kernels: [tile, quant]\nshapes: {nt: [40], id: [96]}\nreal: {model: tiny.gguf, tensors: blk.0.up.weight}\n");
    struct case_list list = project_cases();
    struct error e = {""};
    struct operands matrix, rows;
    cr_assert(list.count == 2 && case_operands(&list.cases[0], &matrix, &e), "%zu cases: %s", list.count, e.text);
    cr_assert(case_operands(&list.cases[1], &rows, &e), "%s", e.text);
    const struct gguf_tensor *t = gguf_tensor_named(list.models[0]->file, "blk.0.up.weight");
    cr_expect(matrix.weight_bytes == t->bytes && !memcmp(matrix.weight, t->data, t->bytes), "weights are the tensor's");
    const struct gguf_tensor *embedding = gguf_tensor_named(list.models[0]->file, "token_embd.weight");
    for (int which = 0; which < 2; which++) {
        /* The same draw: stream 1 of the id's key; a row that is taken gives way to the next free one. */
        struct random_stream s = random_open(random_key(list.cases[which].id), 1);
        bool used[40] = {false};
        const size_t depth = list.cases[which].depth;
        for (size_t token = 0; token < 40; token++) {
            size_t row = random_below(&s, 40);
            while (used[row])
                row = (row + 1) % 40;
            used[row] = true;
            if (which) {
                expect_token(embedding, row, (const float *)rows.view.activation + token * depth, depth, token);
                continue;
            }
            float x[512];
            double squares = 0;
            for (size_t k = 0; k < depth; k += 64)
                cr_assert(gguf_row(embedding, (row + k / 64) % 40, x + k, &e), "%s", e.text);
            for (size_t k = 0; k < depth; k++)
                squares += (double)x[k] * x[k];
            for (size_t k = 0; k < depth; k++)
                x[k] = (float)(x[k] / sqrt(squares / (double)depth + 1e-6));
            for (size_t k = 0; k < depth; k += 32) {
                struct block_pad40 want;
                pad40_quantize(x + k, &want);
                cr_expect_eq(memcmp(&want,
                                    (const struct block_pad40 *)matrix.view.activation + (token * depth + k) / 32,
                                    sizeof want),
                             0, "token %zu, block %zu", token, k / 32);
            }
        }
    }
    operands_free(&matrix);
    operands_free(&rows);
    case_list_free(&list);
}

Test(cases_real, real_data_that_prove_nothing_are_refused) {
    project_put_model(NULL);
    project_put_cases("kernels: [tile]\nshapes: {nt: [41]}\nreal: {model: tiny.gguf, tensors: blk.0.up.weight}\n");
    struct case_list list = project_cases();
    struct operands o;
    struct error e = {""};
    cr_expect_not(case_operands(&list.cases[0], &o, &e), "41 different tokens from 40 rows");
    cr_expect(strstr(e.text, "'token_embd.weight' has 40 rows, too few for 41"), "says: %s", e.text);
    /* An infinite scale in row 2 of the weight: equal bits would be equal NaNs. */
    struct test_case c = list.cases[0];
    struct gguf_tensor t = *c.tensor;
    uint8_t *bytes = must_calloc(t.bytes, 1);
    memcpy(bytes, t.data, t.bytes);
    bytes[2 * t.row_bytes + 1] = 0x7c;
    t.data = bytes;
    c.tensor = &t;
    c.nt = 3;
    cr_expect_not(case_operands(&c, &o, &e), "an infinite scale was accepted");
    cr_expect(strstr(e.text, "tensor 'blk.0.up.weight', row 2: a value is not finite"), "says: %s", e.text);
    c.od = 5;
    cr_expect_not(case_operands(&c, &o, &e), "another shape than the tensor's");
    cr_expect(strstr(e.text, "6 rows of 512 values in q4_K, not 5"), "says: %s", e.text);
    free(bytes);
    case_list_free(&list);
}
