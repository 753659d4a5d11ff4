/* gpu/case.c, gpu/case_file.c, gpu/data_real.c: the cases that files describe, their ids and order, how patterns select
 * them, and operands from a model's tensors. */
#include "../gpu/case.h"
#include "../ref/checked.h"
#include "../ref/half.h"
#include "../ref/pad40.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a project of its own in a temporary folder ---- */

static char root[] = P_tmpdir "/warpproof-XXXXXX";
static const char *const folders[] = {"gpu", "gpu/kernels", "cases", "models"};

static const char matrix_kernel[] = "kernel: tile\nsource: tile.cu\nentry: tile\ncontract: q4_k_pad40_two_term\n"
                                    "needs: [\"id % 256 == 0\", \"nt < 1000\"]\nlaunch: {grid: [1], block: [32]}\n"
                                    "args: [{in: weight, format: q4_K}, {in: activation, format: pad40}, "
                                    "{out: result, type: f32}]\n";
static const char quantiser_kernel[] = "kernel: quant\nsource: quant.cu\nentry: quant\ncontract: pad40_quantize\n"
                                       "launch: {grid: [1], block: [32]}\n"
                                       "args: [{in: activation, format: f32}, {out: result, format: pad40}]\n";
static const char foreign_kernel[] = "kernel: foreign\nptx: x.ptx\nentry: x\nlaunch: {grid: [1], block: [32]}\n"
                                     "args: [{out: y, type: f32, count: 1}]\n";

static char *under_root(const char *path) {
    return must_format("%s/%s", root, path);
}

static void put(const char *path, const void *bytes, size_t length) {
    char *full = under_root(path);
    FILE *f = fopen(full, "wb");
    cr_assert(f && fwrite(bytes, 1, length, f) == length && !fclose(f), "cannot write %s", full);
    free(full);
}

static void drop(const char *path) {
    char *full = under_root(path);
    remove(full);
    free(full);
}

static void make_project(void) {
    cr_assert_not_null(mkdtemp(root), "no temporary folder");
    for (size_t i = 0; i < 4; i++) {
        char *path = under_root(folders[i]);
        cr_assert_eq(mkdir(path, 0700), 0, "cannot make %s", path);
        free(path);
    }
    put("gpu/kernels/tile.yaml", matrix_kernel, strlen(matrix_kernel));
    put("gpu/kernels/quant.yaml", quantiser_kernel, strlen(quantiser_kernel));
    put("gpu/kernels/foreign.yaml", foreign_kernel, strlen(foreign_kernel));
}

static void remove_project(void) {
    static const char *const files[] = {"gpu/kernels/tile.yaml", "gpu/kernels/quant.yaml", "gpu/kernels/foreign.yaml",
                                        "cases/a.yaml",          "cases/b.yaml",           "models/tiny.gguf"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        drop(files[i]);
    for (size_t i = 4; i-- > 0;)
        drop(folders[i]);
    rmdir(root);
}

TestSuite(cases, .init = make_project, .fini = remove_project);

static bool load(struct case_list *list, struct error *e) {
    char *cases = under_root("cases"), *models = under_root("models");
    bool good = case_list_load(cases, root, models, list, e);
    free(cases);
    free(models);
    return good;
}

static struct case_list loaded(void) {
    struct case_list list;
    struct error e = {""};
    cr_assert(load(&list, &e), "%s", e.text);
    return list;
}

static void put_text(const char *path, const char *text) {
    put(path, text, strlen(text));
}
static void put_cases(const char *text) {
    put_text("cases/a.yaml", text);
}

/* ---- a tiny model ---- */

struct bytes {
    uint8_t data[65536];
    size_t count;
};

static void add(struct bytes *b, const void *p, size_t n) {
    cr_assert(b->count + n <= sizeof b->data, "the tiny model is not tiny");
    memcpy(b->data + b->count, p, n);
    b->count += n;
}
static void add_u32(struct bytes *b, uint32_t x) {
    add(b, &x, 4);
}
static void add_u64(struct bytes *b, uint64_t x) {
    add(b, &x, 8);
}

enum { Q8_0 = 8, Q4_K = 12 };
static const struct {
    const char *name;
    uint32_t type;
    uint64_t width, rows;
    size_t bytes;
} tensors[] = {
    {"token_embd.weight", Q8_0, 64, 40, 40 * 2 * 34}, {"blk.0.up.weight", Q4_K, 512, 6, 6 * 2 * 144},
    {"blk.0.norm.weight", Q8_0, 32, 1, 34},           {"blk.1.up.weight", Q4_K, 256, 3, 3 * 144},
    {"blk.1.\x1b[31m.weight", Q4_K, 256, 1, 144},
};
enum { TENSORS = 5 };

static size_t aligned(size_t n) {
    return (n + 31) / 32 * 32;
}

/* GGUF version 3: the tensors above with bytes of a sane pattern; scales are f16 numbers near 1/16. embedding: the
 * name of the first. */
static void put_model_with(const char *embedding) {
    static struct bytes b;
    b.count = 0;
    add(&b, "GGUF", 4);
    add_u32(&b, 3);
    add_u64(&b, TENSORS);
    add_u64(&b, 0);
    size_t offset = 0;
    for (size_t i = 0; i < TENSORS; i++) {
        const char *name = i ? tensors[i].name : embedding;
        add_u64(&b, strlen(name));
        add(&b, name, strlen(name));
        add_u32(&b, 2);
        add_u64(&b, tensors[i].width);
        add_u64(&b, tensors[i].rows);
        add_u32(&b, tensors[i].type);
        add_u64(&b, offset);
        offset = aligned(offset + tensors[i].bytes);
    }
    for (size_t i = 0; i < TENSORS; i++) {
        static const uint8_t zeros[32];
        add(&b, zeros, aligned(b.count) - b.count);
        const size_t block = tensors[i].type == Q8_0 ? 34 : 144;
        for (size_t k = 0; k < tensors[i].bytes; k++) {
            uint8_t byte = (uint8_t)(k * 37 + k / block * 11 + i);
            size_t in = k % block;
            if (in < (block == 34 ? 2 : 4)) /* d, dmin: 0x2c00 .. 0x2cff */
                byte = in % 2 ? 0x2c : byte;
            add(&b, &byte, 1);
        }
    }
    put("models/tiny.gguf", b.data, b.count);
}

static void put_model(void) {
    put_model_with(tensors[0].name);
}

/* ---- ids and order ---- */

Test(cases, ids_are_paths_in_a_fixed_order) {
    put_text("cases/b.yaml", "kernels: [quant]\nshapes: {nt: [33], id: [512, 32]}\ndata: [adv]\nseeds: [0]\n");
    put_cases(
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
    struct case_list list = loaded();
    cr_expect_eq(list.count, sizeof want / sizeof *want, "%zu cases", list.count);
    for (size_t i = 0; i < list.count && i < sizeof want / sizeof *want; i++)
        cr_expect_str_eq(list.cases[i].id, want[i], "case %zu is %s, not %s", i, list.cases[i].id, want[i]);
    cr_expect_eq(list.kernel_count, 2, "a kernel was read twice");
    case_list_free(&list);
}

Test(cases, data_depend_on_the_id_alone) {
    put_cases("kernels: [tile]\nshapes: {nt: [3], od: [5], id: [256]}\ndata: [rand]\nseeds: [1]\n");
    struct case_list few = loaded();
    put_cases(
        "kernels: [quant, tile]\nshapes: {nt: [9, 3], od: [5], id: [512, 256]}\ndata: [rand, adv]\nseeds: [2, 1]\n");
    struct case_list many = loaded();
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

static size_t selected(const struct case_list *list, const char *pattern, const char **missed) {
    bool *chosen = must_calloc(list->count, sizeof *chosen);
    size_t n = case_select(list, pattern ? &pattern : NULL, pattern ? 1 : 0, chosen, missed), marked = 0;
    for (size_t i = 0; i < list->count; i++)
        marked += chosen[i];
    cr_expect_eq(n, marked, "%s: %zu chosen, %zu counted", pattern, marked, n);
    free(chosen);
    return n;
}

Test(cases, patterns_select_by_id_glob_or_part) {
    put_cases("kernels: [tile, quant]\nshapes: {nt: [1, 11], od: [5], id: [256, 512]}\ndata: [exact, rand]\nseeds: [1, "
              "11]\n");
    struct case_list list = loaded();
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
        size_t n = selected(&list, rows[i].pattern, &missed);
        cr_expect_eq(n, rows[i].count, "'%s' selects %zu", rows[i].pattern, n);
        cr_expect(missed == (rows[i].count ? NULL : rows[i].pattern), "'%s': missed is %s", rows[i].pattern, missed);
    }
    bool chosen[32];
    const char *missed, *three[] = {"quant", "absent", "f32/", "gone"};
    cr_expect_eq(case_select(&list, three, 4, chosen, &missed), 16, "patterns add up");
    cr_expect_str_eq(missed, "absent", "missed is %s", missed);
    case_list_free(&list);
}

/* ---- class real ---- */

static const char real_text[] = "kernels: [tile]\nshapes: {nt: [3, 7]}\nreal: {model: tiny.gguf, tensors: \"*up*\"}\n";

Test(cases, an_absent_model_is_recorded_and_has_no_cases) {
    put_cases(real_text);
    struct case_list list = loaded();
    cr_expect_eq(list.count, 0, "%zu cases without a model", list.count);
    cr_assert_eq(list.model_count, 1, "%zu models", list.model_count);
    cr_expect(!list.models[0]->file && !list.models[0]->why && !list.models[0]->cases &&
                  !strcmp(list.models[0]->name, "tiny.gguf"),
              "the model is not recorded as absent");
    case_list_free(&list);
}

/* The other cases are there; the reason is kept for whoever asks for the model's. */
static void expect_unreadable(const char *says) {
    struct case_list list = loaded();
    cr_assert(list.count == 2 && list.model_count == 1, "%zu cases, %zu models", list.count, list.model_count);
    cr_expect(!list.models[0]->file && list.models[0]->why && strstr(list.models[0]->why, says), "'%s' is not in: %s",
              says, list.models[0]->why ? list.models[0]->why : "(none)");
    const char *missed;
    cr_expect_eq(selected(&list, "quant", &missed), 2, "the generated cases are not there");
    cr_expect(selected(&list, "tiny", &missed) == 0 && missed, "a case of the model is there");
    case_list_free(&list);
}

Test(cases, an_unreadable_model_is_recorded_with_its_reason) {
    put_cases(real_text);
    put_text("cases/b.yaml", "kernels: [quant]\nshapes: {nt: [1, 2], id: [32]}\ndata: [rand]\nseeds: [1]\nreal: "
                             "{model: tiny.gguf}\n");
    put("models/tiny.gguf", "GGUF", 4);
    expect_unreadable("tiny.gguf: ");
    drop("models/tiny.gguf");
    char *path = under_root("models/tiny.gguf");
    cr_assert_eq(mkdir(path, 0700), 0, "no folder");
    expect_unreadable("tiny.gguf: ");
    free(path);
    drop("models/tiny.gguf");
    put_model_with("token_embd.other_");
    expect_unreadable("there is no tensor token_embd.weight");
}

Test(cases, tensors_that_match_become_cases) {
    put_model();
    put_cases(real_text);
    put_text("cases/b.yaml", "kernels: [quant]\nshapes: {nt: [3], id: [96]}\nreal: {model: tiny.gguf}\n");
    static const char *const want[] = {"q4_K/pad40/tile/nt3.od6.id512/real/tiny/blk.0.up.weight",
                                       "q4_K/pad40/tile/nt7.od6.id512/real/tiny/blk.0.up.weight",
                                       "q4_K/pad40/tile/nt3.od3.id256/real/tiny/blk.1.up.weight",
                                       "q4_K/pad40/tile/nt7.od3.id256/real/tiny/blk.1.up.weight",
                                       "f32/pad40/quant/nt3.id96/real/tiny"};
    struct case_list list = loaded();
    cr_assert_eq(list.count, 5, "%zu cases", list.count);
    for (size_t i = 0; i < 5; i++)
        cr_expect_str_eq(list.cases[i].id, want[i], "case %zu is %s", i, list.cases[i].id);
    cr_expect(list.model_count == 1 && list.models[0]->cases == 5, "the model is counted once, with 5 cases");
    case_list_free(&list);
}

Test(cases, a_kernels_real_cases_come_last) {
    put_model();
    put_cases("kernels: [tile]\nshapes: {nt: [3]}\nreal: {model: tiny.gguf, tensors: blk.1.up.weight}\n");
    put_text("cases/b.yaml", "kernels: [tile]\nshapes: {nt: [1], od: [1], id: [256]}\ndata: [rand]\nseeds: [1]\n");
    struct case_list list = loaded();
    cr_assert_eq(list.count, 2, "%zu cases", list.count);
    cr_expect(list.cases[0].data == DATA_RAND && list.cases[1].data == DATA_REAL, "first %s", list.cases[0].id);
    case_list_free(&list);
}

Test(cases, names_of_tensors_are_made_printable) {
    put_model();
    put_cases("kernels: [tile]\nshapes: {nt: [1]}\nreal: {model: tiny.gguf, tensors: \"*31m*\"}\n");
    struct case_list list = loaded();
    cr_assert_eq(list.count, 1, "%zu cases", list.count);
    cr_expect_str_eq(list.cases[0].id, "q4_K/pad40/tile/nt1.od1.id256/real/tiny/blk.1.\\x1b[31m.weight", "%s",
                     list.cases[0].id);
    const char *missed;
    cr_expect_eq(selected(&list, list.cases[0].id, &missed), 1, "an id with a bracket selects its case");
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

Test(cases, real_operands_are_tensor_bytes_and_embedding_rows) {
    put_model();
    put_cases(
        "kernels: [tile, quant]\nshapes: {nt: [40], id: [96]}\nreal: {model: tiny.gguf, tensors: blk.0.up.weight}\n");
    struct case_list list = loaded();
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

Test(cases, real_data_that_prove_nothing_are_refused) {
    put_model();
    put_cases("kernels: [tile]\nshapes: {nt: [41]}\nreal: {model: tiny.gguf, tensors: blk.0.up.weight}\n");
    struct case_list list = loaded();
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

/* ---- raw files ---- */

#define FILES "kernels: [tile]\nfiles:\n  - {name: dump, nt: 2, od: 3, id: 256, weight: {file: w.bin}, "

/* cases/w.bin and cases/x.bin: 3 rows q4_K and 2 tokens pad40 of depth 256; cases/y.bin: the result. */
static void put_dump(uint8_t y[24]) {
    const struct operands_request r = {
        .contract = contract_named("q4_k_pad40_two_term"), .nt = 2, .od = 3, .id = 256, .data = DATA_RAND, .key = 3};
    struct operands o;
    struct error e = {""};
    cr_assert(operands_make(&r, &o, &e), "%s", e.text);
    r.contract->evaluate(&o.view, y);
    put("cases/w.bin", o.weight, o.weight_bytes);
    put("cases/x.bin", o.activation, o.activation_bytes);
    put("cases/y.bin", y, 24);
    operands_free(&o);
}

static void drop_dump(void) {
    drop("cases/w.bin");
    drop("cases/x.bin");
    drop("cases/y.bin");
}

Test(cases, raw_files_are_cases) {
    uint8_t y[24], result[24];
    put_dump(y);
    put_cases(FILES "activation: {file: x.bin}, expect: {file: y.bin}}\n"
                    "  - {name: again, nt: 1, od: 1, id: 512, weight: {file: w2.bin}, activation: {file: x.bin}}\n");
    put("cases/w2.bin", y, 24);
    struct case_list list;
    struct error e = {""};
    cr_expect_not(load(&list, &e), "a weight of another size was accepted");
    cr_expect(strstr(e.text, "a.yaml:4:5: ") && strstr(e.text, "w2.bin has 24 bytes"), "says: %s", e.text);
    drop("cases/w2.bin");
    put_cases(FILES "activation: {file: x.bin}, expect: {file: y.bin}}\n");
    list = loaded();
    cr_assert_eq(list.count, 1, "%zu cases", list.count);
    cr_expect(!strcmp(list.cases[0].id, "q4_K/pad40/tile/nt2.od3.id256/file/dump"), "id %s", list.cases[0].id);
    struct operands o;
    cr_assert(case_operands(&list.cases[0], &o, &e), "%s", e.text);
    list.cases[0].contract->evaluate(&o.view, result);
    cr_expect(!memcmp(result, y, sizeof y) && o.expected && !memcmp(o.expected, y, sizeof y), "other operands");
    operands_free(&o);
    case_list_free(&list);
    /* made cases beside them, which come first */
    put_cases("kernels: [tile]\nshapes: {nt: [1], od: [1], id: [256]}\ndata: [rand]\nseeds: [1]\nfiles:\n"
              "  - {name: dump, nt: 2, od: 3, id: 256, weight: {file: w.bin}, activation: {file: x.bin, sha256: "
              "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef}}\n");
    list = loaded();
    cr_assert_eq(list.count, 2, "%zu cases", list.count);
    cr_expect(list.cases[0].data == DATA_RAND && list.cases[1].data == DATA_FILE, "first %s", list.cases[0].id);
    cr_expect(!case_operands(&list.cases[1], &o, &e) && strstr(e.text, ", expected 0123"), "digest: %s", e.text);
    case_list_free(&list);
    drop_dump();
}

Test(cases, bad_raw_files_are_refused_with_their_place) {
    uint8_t y[24];
    put_dump(y);
    put_text("gpu/kernels/infile.yaml",
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
        put_cases(bad[i].text);
        cr_expect_not(load(&list, &e), "file %zu was accepted", i);
        cr_expect(strstr(e.text, bad[i].says), "file %zu says: %s", i, e.text);
        cr_expect(!list.cases && !list.kernels && !list.files, "file %zu left memory", i);
    }
    drop("gpu/kernels/infile.yaml");
    drop_dump();
}

/* ---- errors ---- */

Test(cases, bad_files_are_refused_with_their_place) {
    put_model();
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
        put_cases(bad[i].text);
        cr_expect_not(load(&list, &e), "file %zu was accepted", i);
        cr_expect(strstr(e.text, bad[i].says), "file %zu says: %s", i, e.text);
        cr_expect(!list.cases && !list.kernels && !list.models, "file %zu left memory", i);
    }
    drop("cases/a.yaml");
    struct case_list list;
    struct error e = {""};
    cr_expect_not(load(&list, &e), "a folder without cases was accepted");
    cr_expect(strstr(e.text, "there is no cases file"), "says: %s", e.text);
}

Test(cases, the_number_of_cases_is_bounded) {
    char *numbers = must_calloc(1 << 16, 1), *text;
    for (int i = 0; i < 4097; i++)
        sprintf(numbers + strlen(numbers), "%s%d", i ? ", " : "", i);
    text = must_format("kernels: [quant]\nshapes: {nt: [%s], id: [%s]}\ndata: [rand]\nseeds: [%s]\n", numbers + 3,
                       "32, 64", numbers);
    put_cases(text);
    struct case_list list;
    struct error e = {""};
    cr_expect_not(load(&list, &e), "2^25 cases were accepted");
    cr_expect(strstr(e.text, "more than 1048576 cases"), "says: %s", e.text);
    free(numbers);
    free(text);
}

Test(shipped_cases, of_the_project_are_all_well_formed) {
    struct case_list list;
    struct error e = {""};
    cr_assert(case_list_load("fixtures/cases", ".", "build/models", &list, &e),
              "%s (tests run in the root of the project)", e.text);
    size_t classes[DATA_CLASSES] = {0};
    for (size_t i = 0; i < list.count; i++)
        classes[list.cases[i].data]++;
    for (enum data_class c = 0; c < DATA_REAL; c++)
        cr_expect(classes[c] >= 24, "class %s has %zu cases", data_class_names[c], classes[c]);
    cr_expect_eq(classes[DATA_REAL] > 0, list.model_count && list.models[0]->file, "real cases without a model");
    const char *missed;
    cr_expect_eq(selected(&list, "q4_K/pad40/mmq_wide_ldb_kd8/nt70.od129.id512/adv/s1", &missed), 1,
                 "a known case is gone");
    case_list_free(&list);
}
