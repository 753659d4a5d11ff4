/* gpu/spec.c: every form of a launch file is read, every bad one of tests/errors is refused with exactly its text, and
 * no file makes the reader crash, leak or print. */
#include "../gpu/spec.h"
#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file in memory; its path in out. The descriptor stays open until the caller closes it. */
static int memory_file(const void *bytes, size_t length, char out[32]) {
    int fd = memfd_create("launch", 0);
    cr_assert(fd >= 0 && write(fd, bytes, length) == (ssize_t)length, "no file in memory");
    snprintf(out, 32, "/proc/self/fd/%d", fd);
    return fd;
}

static struct spec *load_text(const char *text, struct error *e) {
    char path[32];
    int fd = memory_file(text, strlen(text), path);
    struct spec *s = spec_load(path, "root", e);
    close(fd);
    return s;
}

/* From here to the end of the process stderr and stdout go to a file; returns it. */
static int capture_output(void) {
    int fd = memfd_create("output", 0);
    fflush(NULL);
    cr_assert(fd >= 0 && dup2(fd, 2) == 2 && dup2(fd, 1) == 1, "output cannot be captured");
    return fd;
}

static void check_silence(int fd) {
    fflush(NULL);
    cr_expect(lseek(fd, 0, SEEK_END) == 0, "something was printed");
}

/* ---- the folder of errors ---- */

static const char errors[] = "tests/errors";

static char *slurp(const char *path) {
    FILE *f = fopen(path, "rb");
    cr_assert(f, "%s cannot be read: tests run in the root of the project", path);
    char *text = must_calloc(1 << 16, 1);
    size_t n = fread(text, 1, (1 << 16) - 1, f);
    fclose(f);
    if (n > 0 && text[n - 1] == '\n')
        text[n - 1] = 0;
    return text;
}

/* The complaint about errors/<name>/in.yaml with the folder cut off; empty when it was accepted. */
static void complaint(const char *name, struct error *e) {
    char *folder = must_format("%s/%s/", errors, name), *path = must_format("%sin.yaml", folder);
    struct spec *s = spec_load(path, ".", e);
    if (s)
        e->text[0] = 0;
    if (strncmp(e->text, folder, strlen(folder)) == 0)
        memmove(e->text, e->text + strlen(folder), strlen(e->text) - strlen(folder) + 1);
    spec_free(s);
    free(path);
    free(folder);
}

Test(spec, bad_launch_files) {
    DIR *dir = opendir(errors);
    cr_assert(dir, "no folder %s: tests run in the root of the project", errors);
    int silence = capture_output();
    size_t count = 0;
    for (struct dirent *d; (d = readdir(dir));) {
        if (d->d_name[0] == '.')
            continue;
        char *path = must_format("%s/%s/error", errors, d->d_name), *want = slurp(path);
        struct error e = {""};
        complaint(d->d_name, &e);
        cr_expect(strcmp(e.text, want) == 0, "%s/%s: got\n%s\nwant\n%s", errors, d->d_name, e.text, want);
        count++;
        free(want);
        free(path);
    }
    closedir(dir);
    cr_expect(count >= 130, "only %zu bad launch files", count);
    check_silence(silence);
}

/* The comparison above can fail: another file's text is not this one's, and an accepted file is no complaint. */
Test(spec, bad_launch_files_are_told_apart) {
    struct error a = {""}, b = {""}, accepted = {""};
    complaint("key-typo", &a);
    complaint("key-unknown", &b);
    cr_expect(a.text[0] && strcmp(a.text, b.text) != 0, "two mistakes, one text: %s", a.text);
    struct spec *s = load_text("kernel: k\nptx: k.ptx\nlaunch: {grid: [1], block: [32]}\n", &accepted);
    cr_expect(s && !accepted.text[0], "a good file: %s", accepted.text);
    spec_free(s);
}

/* ---- good files ---- */

static const char every_form[] = "# every key and every form of an argument\n"
                                 "kernel: foreign.v2\n"
                                 "about: \"adds: x and y\"\n"
                                 "ptx: build/foreign.ptx\n"
                                 "entry: _Z3addPiS_$x\n"
                                 "needs: [\"n % 4 == 0\", n > 0 and m < 100]\n"
                                 "launch:\n"
                                 "  grid: [\"ceil(n, 128)\", m, 1]\n"
                                 "  block: [0x20, 4]\n"
                                 "  shared: 1024 * m\n"
                                 "  steps: 1000000\n"
                                 "args:\n"
                                 "  - {in: x, type: i32, count: \"2 * n\", fill: random}\n"
                                 "  - {in: y, type: u8, count: 16, fill: iota}\n"
                                 "  - in: z\n"
                                 "    type: bf16\n"
                                 "    count: 16\n"
                                 "    fill:\n"
                                 "      file: data/z.bin\n"
                                 "      sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
                                 "  - {in: w, type: f64, count: n, fill: {file: /w.bin}}\n"
                                 "  - {inout: acc, type: u64, count: n, fill: zero, expect: acc.bin}\n"
                                 "  - {out: r, type: f32, count: n, expect: 'right/r.bin'}\n"
                                 "  - {out: s, type: f16, count: n}\n"
                                 "  - {i32: n}\n"
                                 "  - {u64: n * m}\n"
                                 "  - {i8: -1}\n"
                                 "  - {f32: 0.1}\n"
                                 "  - {f64: -0x1.8p+1}\n"
                                 "planes:\n"
                                 "  - name: qa8\n"
                                 "    bytes: 512 * m\n"
                                 "    dims: {r: 4, c: 2 * m}\n"
                                 "    strides: [64, 4 + 4]\n"
                                 "    content: [{value: x, at: r * 4 + c, outside: zero}, {value: acc, at: s + bx}]\n"
                                 "    when: r < n\n"
                                 "  - {name: sds, bytes: 512 * m, row: 32, stride: 48}\n"
                                 "stages: {count: n / 4, full_at: 2 * s + 1}\n"
                                 "mma: {a: {value: y, at: m}, b: {value: y, at: n + k, outside: any}, from: 0}\n"
                                 "counts: {mma: tiles * n, ld.shared: 4}\n"
                                 "shape: {n: 1000, m: 0x10, low: -9223372036854775808}\n";

static void expect_text(const char *what, const char *got, const char *want) {
    cr_expect(got && strcmp(got, want) == 0, "%s is %s, not %s", what, got ? got : "NULL", want);
}

static void expect_value(const char *what, const struct spec_expr *x, const struct shape *shape, int64_t want) {
    struct error e = {""};
    int64_t got = 0;
    cr_assert(x, "%s is absent", what);
    cr_expect(spec_eval(x, shape, &got, &e), "%s: %s", what, e.text);
    cr_expect(got == want, "%s is %lld, not %lld", what, (long long)got, (long long)want);
}

Test(spec, every_form) {
    struct error e = {""};
    struct spec *s = load_text(every_form, &e);
    cr_assert(s, "%s", e.text);
    struct shape shape = {s->defaults, s->default_count};
    expect_text("kernel", s->kernel, "foreign.v2");
    expect_text("about", s->about, "adds: x and y");
    expect_text("ptx", s->ptx, "/proc/self/fd/build/foreign.ptx");
    expect_text("entry", s->entry, "_Z3addPiS_$x");
    cr_expect(!s->source && !s->contract, "neither source nor contract was given");
    cr_assert(s->need_count == 2 && s->arg_count == 12 && s->plane_count == 2 && s->count_count == 2 &&
                  s->default_count == 3,
              "%zu needs, %zu args, %zu planes, %zu counts, %zu defaults", s->need_count, s->arg_count, s->plane_count,
              s->count_count, s->default_count);
    cr_expect(s->defaults[2].value == INT64_MIN, "low is %lld", (long long)s->defaults[2].value);
    expect_text("needs", spec_expr_text(s->needs[1]), "n > 0 and m < 100");
    const struct spec_content *content = &s->planes[0].content;
    cr_assert(content->dim_count == 2 && content->value_count == 2 && content->when && s->mma.given &&
              s->planes[1].content.dim_count == 0);
    expect_text("first index", content->dims[0].name, "r");
    expect_value("second count", content->dims[1].count, &shape, 32);
    expect_value("second stride", content->dims[1].stride, &shape, 8);
    expect_text("second value", content->values[1].buffer, "acc");
    cr_expect(content->values[0].field == VALUE_BUFFER && content->values[0].outside == OUTSIDE_ZERO &&
              content->values[1].outside == OUTSIDE_ERROR && s->mma.b.outside == OUTSIDE_ANY);
    expect_text("at", spec_expr_text(content->values[0].at), "r * 4 + c");
    expect_value("stages", s->stages.count, &shape, 250);
    expect_value("from", s->mma.from, &shape, 0);
    expect_value("grid x", s->grid[0], &shape, 8);
    expect_value("grid y", s->grid[1], &shape, 16);
    expect_value("grid z", s->grid[2], &shape, 1);
    expect_value("block x", s->block[0], &shape, 32);
    expect_value("block y", s->block[1], &shape, 4);
    cr_expect(!s->block[2], "block has two dimensions");
    expect_value("shared", s->shared, &shape, 16384);
    expect_value("steps", s->steps, &shape, 1000000);
    expect_value("plane bytes", s->planes[0].bytes, &shape, 8192);
    cr_expect(!s->planes[0].row && !s->planes[0].stride, "no row was given");
    expect_value("row", s->planes[1].row, &shape, 32);
    expect_value("stride", s->planes[1].stride, &shape, 48);
    expect_text("count", s->counts[1].name, "ld.shared");
    static const struct {
        enum spec_arg_kind kind;
        const char *name, *type;
        size_t bytes;
        int64_t count; /* -1: a scalar */
        enum spec_fill fill;
        int line;
    } args[] = {
        {ARG_IN, "x", "i32", 4, 2000, FILL_RANDOM, 13},    {ARG_IN, "y", "u8", 1, 16, FILL_IOTA, 14},
        {ARG_IN, "z", "bf16", 2, 16, FILL_FILE, 15},       {ARG_IN, "w", "f64", 8, 1000, FILL_FILE, 21},
        {ARG_INOUT, "acc", "u64", 8, 1000, FILL_ZERO, 22}, {ARG_OUT, "r", "f32", 4, 1000, FILL_NONE, 23},
        {ARG_OUT, "s", "f16", 2, 1000, FILL_NONE, 24},     {ARG_SCALAR, "i32", NULL, 4, -1, FILL_NONE, 25},
        {ARG_SCALAR, "u64", NULL, 8, -1, FILL_NONE, 26},   {ARG_SCALAR, "i8", NULL, 1, -1, FILL_NONE, 27},
        {ARG_SCALAR, "f32", NULL, 4, -1, FILL_NONE, 28},   {ARG_SCALAR, "f64", NULL, 8, -1, FILL_NONE, 29},
    };
    for (size_t i = 0; i < sizeof args / sizeof *args; i++) {
        const struct spec_arg *a = &s->args[i];
        expect_text("argument", a->name, args[i].name);
        cr_expect(a->kind == args[i].kind && a->fill == args[i].fill && a->type_bytes == args[i].bytes &&
                      a->line == args[i].line && !a->format,
                  "%s: kind %d, fill %d, %zu bytes, line %d", a->name, (int)a->kind, (int)a->fill, a->type_bytes,
                  a->line);
        if (args[i].count >= 0) {
            expect_text("type", a->type, args[i].type);
            expect_value(a->name, a->count, &shape, args[i].count);
        }
    }
    expect_text("fill path", s->args[2].fill_path, "/proc/self/fd/data/z.bin");
    expect_text("digest", s->args[2].fill_sha256, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    expect_text("fill path", s->args[3].fill_path, "/w.bin");
    cr_expect(!s->args[3].fill_sha256, "no digest was given");
    expect_text("expect", s->args[4].expect_path, "/proc/self/fd/acc.bin");
    expect_text("expect", s->args[5].expect_path, "/proc/self/fd/right/r.bin");
    static const uint64_t bits[] = {1000, 16000, 0xff, 0x3dcccccd, 0xc008000000000000};
    for (size_t i = 0; i < 5; i++) {
        uint64_t got = 0;
        cr_expect(spec_scalar(&s->args[7 + i], &shape, &got, &e), "%s", e.text);
        cr_expect(got == bits[i], "scalar %zu is %#llx, not %#llx", i, (unsigned long long)got,
                  (unsigned long long)bits[i]);
    }
    static const char *const used[] = {"n", "m", "tiles"};
    for (size_t i = 0; i < 3; i++)
        cr_expect(spec_uses(s, used[i]), "%s is used", used[i]);
    cr_expect(!spec_uses(s, "od") && !spec_uses(s, "low"), "od and low are not used");
    spec_free(s);
}

/* Fields lie as in C; padding has no member. */
Test(spec, structs_by_value) {
    struct error e = {""};
    struct spec *s = load_text("kernel: k\nptx: k.ptx\nlaunch: {grid: [1], block: [32]}\nshape: {n: 300}\nargs:\n"
                               "  - {struct: [{u8: 7}, {i32: \"n + 1\"}, {struct: [{i16: -2}, {f64: 1.5}]}, {u8: 9}]}\n"
                               "  - {struct: [{f32: 1}, {f32: 2}, {f32: 3}, {f32: 4}], align: 16}\n"
                               "  - {struct: [{u32: 1}, {u32: 2}, {u32: 3}]}\n",
                               &e);
    cr_assert(s, "%s", e.text);
    const struct shape shape = {s->defaults, s->default_count};
    static const struct launch_member members[] = {
        {0, 1, -1, 7}, {4, 4, -1, 301}, {8, 2, -1, 0xfffe}, {16, 8, -1, 0x3ff8000000000000}, {24, 1, -1, 9}};
    static const size_t sizes[] = {32, 16, 12}, alignments[] = {8, 16, 4};
    for (size_t i = 0; i < 3; i++) {
        struct launch_arg a;
        cr_assert(spec_struct(&s->args[i], &shape, &a, &e), "%s", e.text);
        cr_expect(a.bytes == sizes[i] && a.alignment == alignments[i], "struct %zu: %zu bytes on %zu", i, a.bytes,
                  a.alignment);
        cr_assert(i || a.member_count == 5, "%zu members", a.member_count);
        for (size_t k = 0; !i && k < 5; k++)
            cr_expect(a.members[k].offset == members[k].offset && a.members[k].bytes == members[k].bytes &&
                          a.members[k].value == members[k].value && a.members[k].buffer < 0,
                      "member %zu: %zu bytes at %zu, %llx", k, a.members[k].bytes, a.members[k].offset,
                      (unsigned long long)a.members[k].value);
        free(a.members);
    }
    cr_expect(spec_uses(s, "n"), "n is used in a field");
    spec_free(s);
}

Test(spec, kernels_of_the_project) {
    static const struct {
        const char *path, *ptx;
        size_t args;
    } files[] = {{"gpu/kernels/mmq_wide_ldb_kd8.yaml", "./fixtures/ptx/mmq_wide_ldb.ptx", 6},
                 {"gpu/kernels/mmq_wide_ldb_kd4.yaml", "./fixtures/ptx/mmq_wide_ldb.ptx", 6},
                 {"gpu/kernels/quantize_pad40.yaml", "./fixtures/ptx/quantize_pad40.ptx", 4}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct error e = {""};
        struct spec *s = spec_load(files[i].path, ".", &e);
        cr_assert(s, "%s", e.text);
        expect_text("ptx", s->ptx, files[i].ptx);
        expect_text("entry", s->entry, s->kernel);
        cr_expect(s->arg_count == files[i].args && s->args[0].format && s->contract, "%s: the arguments", s->path);
        spec_free(s);
    }
}

/* ---- evaluation ---- */

Test(spec, needs) {
    static const struct {
        int64_t n, m;
        const char *unmet, *error;
    } cases[] = {{8, 2, NULL, NULL},
                 {7, 2, "n % 4 == 0", NULL},
                 {8, 0, NULL, "division by zero"},
                 {8, 9, "8 / m > 0", NULL},
                 {7, 0, "n % 4 == 0", NULL}};
    struct error e = {""};
    struct spec *s = load_text("kernel: k\nptx: k.ptx\nneeds: [n % 4 == 0, 8 / m > 0]\n"
                               "launch: {grid: [1], block: [32]}\n",
                               &e);
    cr_assert(s, "%s", e.text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shape_value values[] = {{"n", cases[i].n}, {"m", cases[i].m}};
        const char *unmet = NULL;
        bool ok = spec_needs(s, &(struct shape){values, 2}, &unmet, &e);
        cr_expect(ok == !cases[i].error, "case %zu: %s", i, e.text);
        cr_expect(ok || strstr(e.text, cases[i].error), "case %zu: %s", i, e.text);
        cr_expect(!cases[i].unmet == !unmet && (!unmet || strcmp(unmet, cases[i].unmet) == 0), "case %zu: unmet %s", i,
                  unmet ? unmet : "none");
    }
    spec_free(s);
}

/* The place of an error that only a shape brings to light is the expression in the file, long closed by then. */
Test(spec, late_errors_have_a_place) {
    static const char text[] = "kernel: k\nptx: k.ptx\nlaunch: {grid: [\"ceil(n, 128)\", 'od / z'], block: [32]}\n"
                               "args:\n  - {i32: n * 1000000}\n  - {u8: n}\n";
    struct shape_value values[] = {{"n", 3000}, {"z", 0}};
    struct shape shape = {values, 2}, none = {NULL, 0};
    struct error e = {""};
    struct spec *s = load_text(text, &e);
    int64_t value;
    uint64_t bits;
    cr_assert(s, "%s", e.text);
    const char *line3 = "  launch: {grid: [\"ceil(n, 128)\", 'od / z'], block: [32]}\n";
    char *want[] = {
        must_format("%s:3:23: 'n' has no value; known: none\n%s%24s^", s->path, line3, ""),
        must_format("%s:3:34: 'od' has no value; known: n, z\n%s%35s^", s->path, line3, ""),
        must_format(
            "%s:5:11: the value 3000000000 is not in -2147483648 .. 2147483647\n    - {i32: n * 1000000}\n%12s^",
            s->path, ""),
        must_format("%s:6:10: the value 3000 is not in 0 .. 255\n    - {u8: n}\n%11s^", s->path, ""),
    };
    bool refused[4];
    struct error got[4];
    refused[0] = !spec_eval(s->grid[0], &none, &value, &got[0]);
    refused[1] = !spec_eval(s->grid[1], &shape, &value, &got[1]);
    refused[2] = !spec_scalar(&s->args[0], &shape, &bits, &got[2]);
    refused[3] = !spec_scalar(&s->args[1], &shape, &bits, &got[3]);
    for (size_t i = 0; i < 4; i++) {
        cr_expect(refused[i], "case %zu was accepted", i);
        cr_expect(strcmp(got[i].text, want[i]) == 0, "got\n%s\nwant\n%s", got[i].text, want[i]);
        free(want[i]);
    }
    spec_free(s);
}

/* ---- hostile files ---- */

Test(spec, random_damage) {
    static const char alphabet[] = "[]{}:,-?&*!|>'\"%@`# \n\t\\0aZ~=<\xff\xc3\x01";
    uint64_t state = 7;
    size_t accepted = 0, length = sizeof every_form - 1;
    int silence = capture_output();
    for (int i = 0; i < 4000; i++) {
        char text[sizeof every_form + 8], path[32];
        memcpy(text, every_form, length);
        size_t n = length;
        state = state * 6364136223846793005u + 1442695040888963407u;
        for (uint64_t edits = 1 + (state >> 40) % 4; edits > 0; edits--) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t at = (state >> 33) % n;
            char c = alphabet[(state >> 20) % (sizeof alphabet - 1)];
            switch ((state >> 60) % 4) {
            case 0: /* insert */
                memmove(text + at + 1, text + at, n - at);
                n++;
                text[at] = c;
                break;
            case 1: /* delete */
                memmove(text + at, text + at + 1, n - at - 1);
                n--;
                break;
            case 2: /* cut off */
                n = edits == 1 ? at + 1 : n;
                break;
            default:
                text[at] = c;
            }
        }
        struct error e = {""};
        int fd = memory_file(text, n, path);
        struct spec *s = spec_load(path, ".", &e);
        close(fd);
        cr_expect(s || strncmp(e.text, path, strlen(path)) == 0, "mutation %d: refused with '%s'", i, e.text);
        accepted += s != NULL;
        spec_free(s);
    }
    cr_expect(accepted > 40 && accepted < 3000, "%zu of 4000 were accepted: the damage tests little", accepted);
    check_silence(silence);
}
