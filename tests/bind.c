/* gpu/bind.c, gpu/fill.c: a launch file, a shape and operands become exactly the launch they describe. */
#include "../gpu/bind.h"
#include "../gpu/fill.h"
#include "../ref/checked.h"
#include "../ref/half.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file in memory; its path in out. It stays as long as the process. */
static void memory_file(const void *bytes, size_t length, char out[32]) {
    int fd = memfd_create("bind", 0);
    cr_assert(fd >= 0 && write(fd, bytes, length) == (ssize_t)length, "no file in memory");
    snprintf(out, 32, "/proc/self/fd/%d", fd);
}

static struct spec *spec_of(const char *text) {
    char path[32];
    struct error e = {""};
    memory_file(text, strlen(text), path);
    struct spec *s = spec_load(path, ".", &e);
    cr_assert_not_null(s, "the launch file is refused: %s", e.text);
    return s;
}

static const char matrix[] =
    "kernel: tile\n"
    "source: tile.cu\n"
    "entry: tile_entry\n"
    "contract: q4_k_pad40_two_term\n"
    "needs: [\"id % 512 == 0\", \"nt * 2 < id\"]\n"
    "launch: {grid: [\"ceil(nt, 32)\", \"ceil(od, 16)\", 3], block: [32, 4], shared: \"64 + nt\", "
    "steps: \"1000 * id\"}\n"
    "args:\n"
    "  - {out: result, type: f32}\n"
    "  - {in: activation, format: pad40}\n"
    "  - {i32: nt}\n"
    "  - {in: weight, format: q4_K}\n"
    "  - {u64: \"od * id\"}\n"
    "  - {inout: scratch, type: u16, count: \"nt + 1\", fill: iota}\n"
    "planes: [{name: a, bytes: 64}, {name: b, bytes: nt}]\n"
    "counts: {mma: \"tiles * id\"}\n";

static struct operands operands_of(size_t nt, size_t od, size_t id) {
    const struct operands_request r = {.contract = contract_named("q4_k_pad40_two_term"),
                                       .nt = nt,
                                       .od = od,
                                       .id = id,
                                       .data = DATA_CODED,
                                       .key = random_key("bind")};
    struct operands o;
    struct error e = {""};
    cr_assert(operands_make(&r, &o, &e), "%s", e.text);
    return o;
}

Test(bind, a_matrix_product_becomes_the_launch_it_describes) {
    struct spec *s = spec_of(matrix);
    struct operands o = operands_of(33, 70, 512);
    struct shape_value values[3];
    const struct shape shape = operands_shape(&o, values);
    struct bound b;
    struct error e = {""};
    cr_assert(bind_launch(s, NULL, &shape, &o, 1, &b, &e), "%s", e.text);
    const struct launch *l = &b.launch;
    cr_expect(l->grid[0] == 2 && l->grid[1] == 5 && l->grid[2] == 3, "grid %u %u %u", l->grid[0], l->grid[1],
              l->grid[2]);
    cr_expect(l->block[0] == 32 && l->block[1] == 4 && l->block[2] == 1, "block %u %u %u", l->block[0], l->block[1],
              l->block[2]);
    cr_expect(l->shared_bytes == 97 && l->step_budget == 512000, "shared %zu, steps %llu", l->shared_bytes,
              (unsigned long long)l->step_budget);
    cr_expect_str_eq(l->entry, "tile_entry", "entry");
    cr_assert(l->plane_count == 2 && l->planes[1].offset == 64 && l->planes[1].bytes == 33, "planes");

    cr_assert(l->buffer_count == 4 && l->arg_count == 6, "%zu buffers, %zu args", l->buffer_count, l->arg_count);
    cr_expect(b.result == 0 && l->buffers[0].role == BUFFER_OUT, "the result is buffer %zu", b.result);
    cr_expect(l->buffers[0].bytes == 33 * 70 * 4 && l->buffers[0].cell_bytes == 4, "result %zu bytes of %zu",
              l->buffers[0].bytes, l->buffers[0].cell_bytes);
    for (size_t i = 0; i < 33 * 70; i++) {
        uint32_t word;
        memcpy(&word, l->buffers[0].data + 4 * i, 4);
        cr_expect_eq(word, 0x7fa5dead, "result word %zu is 0x%08x", i, word);
    }
    cr_expect(l->buffers[1].bytes == o.activation_bytes && l->buffers[1].role == BUFFER_IN &&
                  !memcmp(l->buffers[1].data, o.activation, o.activation_bytes),
              "activation");
    cr_expect(l->buffers[2].bytes == o.weight_bytes && l->buffers[2].role == BUFFER_IN &&
                  !memcmp(l->buffers[2].data, o.weight, o.weight_bytes),
              "weight");
    cr_expect(l->buffers[3].bytes == 68 && l->buffers[3].cell_bytes == 2 && l->buffers[3].role == BUFFER_INOUT,
              "scratch");
    for (unsigned i = 0; i < 34; i++)
        cr_expect(l->buffers[3].data[2 * i] == i && !l->buffers[3].data[2 * i + 1], "scratch element %u", i);

    static const struct launch_arg want[] = {{.buffer = 0, .bytes = 8},
                                             {.buffer = 1, .bytes = 8},
                                             {.buffer = -1, .value = 33, .bytes = 4},
                                             {.buffer = 2, .bytes = 8},
                                             {.buffer = -1, .value = 70 * 512, .bytes = 8},
                                             {.buffer = 3, .bytes = 8}};
    for (size_t i = 0; i < 6; i++)
        cr_expect(l->args[i].buffer == want[i].buffer && l->args[i].value == want[i].value &&
                      l->args[i].bytes == want[i].bytes && l->args[i].is_float == want[i].is_float,
                  "argument %zu: buffer %d, value %llu, %zu bytes", i, l->args[i].buffer,
                  (unsigned long long)l->args[i].value, l->args[i].bytes);

    int64_t mma;
    cr_expect(spec_eval(s->counts[0].value, &b.shape, &mma, &e) && mma == 30 * 512, "tiles * id: %s", e.text);
    bound_free(&b);
    operands_free(&o);
    spec_free(s);
}

Test(bind, a_quantiser_has_cells_of_four_bytes) {
    struct error e = {""};
    struct spec *s = spec_load("gpu/kernels/quantize_pad40.yaml", ".", &e);
    cr_assert_not_null(s, "%s", e.text);
    const struct operands_request r = {
        .contract = contract_named("pad40_quantize"), .nt = 3, .id = 96, .data = DATA_RAND, .key = 1};
    struct operands o;
    cr_assert(operands_make(&r, &o, &e), "%s", e.text);
    struct shape_value values[3];
    const struct shape shape = operands_shape(&o, values);
    cr_expect_eq(shape.count, 2, "a quantiser has no od");
    struct bound b;
    cr_assert(bind_launch(s, NULL, &shape, &o, 1, &b, &e), "%s", e.text);
    cr_assert_eq(b.result, 1, "the result is buffer %zu", b.result);
    cr_expect(b.launch.buffers[1].bytes == 3 * 3 * 40 && b.launch.buffers[1].cell_bytes == 4, "%zu bytes, cells of %zu",
              b.launch.buffers[1].bytes, b.launch.buffers[1].cell_bytes);
    bound_free(&b);
    operands_free(&o);
    spec_free(s);
}

/* Binding a launch file without a contract must fail and say so. */
static void refused(const char *text, struct shape shape, const char *says) {
    struct spec *s = spec_of(text);
    struct bound b;
    struct error e = {""};
    cr_expect_not(bind_launch(s, NULL, &shape, NULL, 1, &b, &e), "accepted: %s", text);
    cr_expect(strstr(e.text, says), "'%s' is not in: %s", says, e.text);
    cr_expect(!b.launch.buffers && !b.launch.args && !b.shape.values, "memory was left");
    spec_free(s);
}

Test(bind, unmet_needs_name_the_launch_file_the_need_and_the_values) {
    struct spec *s = spec_of(matrix);
    struct operands o = operands_of(33, 70, 256);
    struct shape_value values[3];
    const struct shape shape = operands_shape(&o, values);
    struct bound b;
    struct error e = {""};
    cr_expect_not(bind_launch(s, NULL, &shape, &o, 1, &b, &e), "a depth of 256 was accepted");
    char *want = must_format("%s: tile needs id %% 512 == 0, got id = 256", s->path);
    cr_expect_str_eq(e.text, want, "says: %s", e.text);
    free(want);
    const struct shape_value two[] = {{"nt", 300}, {"od", 1}, {"id", 512}};
    char *unmet = NULL;
    cr_expect(bind_needs(s, &(struct shape){two, 3}, &unmet, &e), "%s", e.text);
    cr_expect(unmet && !strcmp(unmet, "tile needs nt * 2 < id, got nt = 300, id = 512"), "says: %s", unmet);
    free(unmet);
    const struct shape_value met[] = {{"nt", 3}, {"od", 1}, {"id", 512}};
    cr_expect(bind_needs(s, &(struct shape){met, 3}, &unmet, &e) && !unmet, "a need that is met: %s", unmet);
    cr_expect_not(bind_needs(s, &(struct shape){met, 1}, &unmet, &e), "a need without its name was evaluated");
    operands_free(&o);
    spec_free(s);
}

Test(bind, operands_must_be_there_and_of_the_shape) {
    struct spec *s = spec_of(matrix);
    struct operands o = operands_of(33, 70, 512);
    const struct shape_value other[] = {{"nt", 32}, {"od", 70}, {"id", 512}};
    struct bound b;
    struct error e = {""};
    cr_expect_not(bind_launch(s, NULL, &(struct shape){other, 3}, &o, 1, &b, &e), "another shape was accepted");
    cr_expect(strstr(e.text, "operands made for nt = 33 cannot serve 32"), "says: %s", e.text);
    cr_expect_not(bind_launch(s, NULL, &(struct shape){other, 3}, NULL, 1, &b, &e), "no operands were accepted");
    cr_expect(strstr(e.text, "operands of contract q4_k_pad40_two_term are missing"), "says: %s", e.text);
    operands_free(&o);
    spec_free(s);
}

#define FOREIGN(args, launch) "kernel: k\nptx: k.ptx\nentry: k\nlaunch: {" launch "}\nargs:\n" args
#define LAUNCH                "grid: [1], block: [32]"

/* Variables of the module are memory of the launch as buffers are. */
Test(bind, variables_count_as_buffers_do) {
    static const struct {
        const char *variable, *says;
    } rows[] = {
        {".global .b8 g[1024];", NULL},
        {".global .b8 g[4294967295];",
         "with buffer x and 4294967295 bytes of .global variables the launch takes more than 4294967296 bytes"},
        {".global .b8 g[4294967295], h[2];",
         "k.ptx: the .global variables take 4294967297 bytes, a launch may take 4294967296 with its buffers"},
        {".global .b8 g[1099511627776];", "k.ptx: the .global variables take 1099511627776 bytes"},
        {".const .b8 g[4294967295];", NULL}, /* has a limit of its own */
    };
    struct spec *s = spec_of(FOREIGN("  - {in: x, type: u8, count: 3, fill: zero}\n", LAUNCH));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *text = must_format(".version 9.0\n.target sm_80\n.address_size 64\n%s\n.visible .entry k() { ret; }\n",
                                 rows[i].variable);
        struct error e = {""};
        struct ptx_module *m = ptx_parse("k.ptx", text, strlen(text), &e);
        cr_assert_not_null(m, "%s", e.text);
        struct bound b;
        const bool good = bind_launch(s, m, &(struct shape){NULL, 0}, NULL, 1, &b, &e);
        cr_expect(good == !rows[i].says && (good || strstr(e.text, rows[i].says)), "%s: %s", rows[i].variable,
                  good ? "accepted" : e.text);
        if (good)
            bound_free(&b);
        ptx_free(m);
        free(text);
    }
    spec_free(s);
}

Test(bind, values_out_of_range_are_refused) {
    const struct shape_value v[] = {{"n", 0}, {"big", (int64_t)1 << 40}};
    const struct shape shape = {v, 2};
    refused(FOREIGN("  - {in: x, type: f32, count: n, fill: zero}\n", LAUNCH), shape, "the value 0 is not in 1 ..");
    refused(FOREIGN("  - {in: x, type: f32, count: big, fill: zero}\n", LAUNCH), shape, "more than 4294967296 bytes");
    refused(FOREIGN("  - {in: x, type: f64, count: \"big * 4000000\", fill: zero}\n", LAUNCH), shape,
            "larger than the address space");
    refused(FOREIGN("  - {in: x, type: u8, count: 4096, fill: zero}\n  - {out: y, type: f32, count: \"1073741824 - "
                    "1023\"}\n",
                    LAUNCH),
            shape, "with buffer y the launch takes more than");
    refused(FOREIGN("  - {i32: big}\n", LAUNCH), shape, "is not in -2147483648 .. 2147483647");
    refused(FOREIGN("  - {i32: missing}\n", LAUNCH), shape, "missing");
    refused(FOREIGN("  - {i32: n}\n", "grid: [n], block: [32]"), shape, "is not in 1 ..");
    refused(FOREIGN("  - {i32: n}\n", "grid: [1], block: [big]"), shape, "is not in 1 ..");
    refused(FOREIGN("  - {i32: n}\n", "grid: [2000000000, 2000000000, 2000000000], block: [1]"), shape,
            "more than 2^63 blocks");
    refused(FOREIGN("  - {i32: n}\n", "grid: [1], block: [1], shared: \"0 - 1\""), shape, "is not in 0 ..");
    refused(FOREIGN("  - {i32: n}\n", "grid: [1], block: [1], steps: 0"), shape, "is not in 1 ..");
}

/* A file that is not there shows that filling has begun; with a size that is refused it must not have. */
Test(bind, nothing_is_filled_before_all_values_are_good) {
    const struct shape_value v[] = {{"big", (int64_t)1 << 32}};
    const struct shape shape = {v, 1};
#define ABSENT "  - {in: x, type: u8, count: 4096, fill: {file: /nonexistent/x.bin}}\n"
    refused(FOREIGN(ABSENT, LAUNCH), shape, "/nonexistent/x.bin");
    refused(FOREIGN(ABSENT "  - {i32: big}\n", LAUNCH), shape, "is not in -2147483648 .. 2147483647");
    refused(FOREIGN(ABSENT "  - {in: y, type: u8, count: big, fill: random}\n", LAUNCH), shape,
            "with buffer y the launch takes more than");
    refused(FOREIGN(ABSENT "  - {out: y, type: u8, count: \"big / 2\", expect: /nonexistent/y.bin}\n", LAUNCH), shape,
            "with buffer y the launch takes more than");
    refused(FOREIGN(ABSENT "  - {out: y, type: u8, count: \"big - big\"}\n", LAUNCH), shape,
            "the value 0 is not in 1 ..");
#undef ABSENT
}

Test(bind, scalars_keep_their_kind) {
    struct spec *s = spec_of(FOREIGN("  - {i32: 3}\n  - {f32: 3}\n  - {f64: 3.0}\n  - {u64: 3}\n", LAUNCH));
    struct bound b;
    struct error e = {""};
    cr_assert(bind_launch(s, NULL, &(struct shape){NULL, 0}, NULL, 1, &b, &e), "%s", e.text);
    static const bool is_float[] = {false, true, true, false};
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(b.launch.args[i].is_float, is_float[i], "argument %zu", i);
    bound_free(&b);
    spec_free(s);
}

static const char *const types[] = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"};
static const size_t type_bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};

static double number(const char *type, const uint8_t *data) {
    uint64_t bits = 0;
    double value;
    if (!strcmp(type, "f64")) {
        memcpy(&value, data, 8);
        return value;
    }
    memcpy(&bits, data, !strcmp(type, "f32") ? 4 : 2);
    return !strcmp(type, "f32")   ? bits_float((uint32_t)bits)
           : !strcmp(type, "f16") ? half_to_float((uint16_t)bits)
                                  : bits_float((uint32_t)bits << 16);
}

Test(bind, random_fills_cover_the_range_of_every_type) {
    static uint8_t a[8 * 4096], again[8 * 4096], other[8 * 4096];
    for (size_t t = 0; t < 12; t++) {
        const size_t bytes = 4096 * type_bytes[t];
        fill_random(types[t], 4096, 1, a);
        fill_random(types[t], 4096, 1, again);
        fill_random(types[t], 4096, 2, other);
        cr_expect_eq(memcmp(a, again, bytes), 0, "%s: not a function of the key", types[t]);
        cr_expect_neq(memcmp(a, other, bytes), 0, "%s: the key does not matter", types[t]);
        uint8_t ones = 0, zeros = 0;
        double least = 2, most = -2;
        for (size_t i = 0; i < 4096; i++) {
            ones |= a[i * type_bytes[t] + type_bytes[t] - 1];
            zeros |= (uint8_t)~a[i * type_bytes[t] + type_bytes[t] - 1];
            if (t >= 8) {
                const double x = number(types[t], a + i * type_bytes[t]);
                least = x < least ? x : least;
                most = x > most ? x : most;
            }
        }
        if (t < 8)
            cr_expect(ones == 255 && zeros == 255, "%s: a bit of the top byte never changes", types[t]);
        else
            cr_expect(least >= -1 && least < -0.98 && most < 1 && most > 0.98, "%s: %g .. %g", types[t], least, most);
    }
}

Test(bind, iota_counts_and_wraps_where_a_type_ends) {
    static uint8_t a[8 * 4096];
    static const size_t wrap[] = {[8] = 2048, [9] = 256, [10] = 1 << 24, [11] = 1 << 24};
    for (size_t t = 0; t < 12; t++) {
        fill_iota(types[t], 4096, a);
        for (size_t i = 0; i < 4096; i++) {
            uint64_t bits = 0;
            memcpy(&bits, a + i * type_bytes[t], type_bytes[t]);
            if (t < 8)
                cr_expect_eq(bits, type_bytes[t] == 1 ? i % 256 : i, "%s: element %zu", types[t], i);
            else
                cr_expect(number(types[t], a + i * type_bytes[t]) == (double)(i % wrap[t]), "%s: element %zu", types[t],
                          i);
        }
    }
}

Test(bind, random_data_depend_on_kernel_buffer_and_seed_alone) {
    static const char text[] = FOREIGN("  - {in: x, type: u32, count: 64, fill: random}\n"
                                       "  - {in: y, type: u32, count: 64, fill: random}\n",
                                       LAUNCH);
    struct spec *s = spec_of(text), *elsewhere = spec_of(text);
    struct bound a, b, c;
    struct error e = {""};
    const struct shape none = {NULL, 0};
    cr_assert(bind_launch(s, NULL, &none, NULL, 1, &a, &e) && bind_launch(elsewhere, NULL, &none, NULL, 1, &b, &e) &&
                  bind_launch(s, NULL, &none, NULL, 2, &c, &e),
              "%s", e.text);
    cr_expect_eq(memcmp(a.launch.buffers[0].data, b.launch.buffers[0].data, 256), 0, "the path of the file matters");
    cr_expect_neq(memcmp(a.launch.buffers[0].data, a.launch.buffers[1].data, 256), 0, "the buffer does not matter");
    cr_expect_neq(memcmp(a.launch.buffers[0].data, c.launch.buffers[0].data, 256), 0, "the seed does not matter");
    cr_expect(a.result == SIZE_MAX && !a.expected[0], "a foreign kernel without a result or expected bytes");
    bound_free(&a);
    bound_free(&b);
    bound_free(&c);
    spec_free(s);
    spec_free(elsewhere);
}

/* sha256 of "abc", FIPS 180-2 appendix B.1 */
static const char abc_digest[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

Test(bind, files_fill_buffers_and_say_what_is_right) {
    char abc[32];
    memory_file("abc", 3, abc);
    char *text = must_format(FOREIGN("  - {in: x, type: u8, count: 3, fill: {file: %s, sha256: %s}}\n"
                                     "  - {out: y, type: i8, count: n, expect: %s}\n",
                                     LAUNCH),
                             abc, abc_digest, abc);
    struct spec *s = spec_of(text);
    const struct shape_value three = {"n", 3}, four = {"n", 4};
    struct bound b;
    struct error e = {""};
    cr_assert(bind_launch(s, NULL, &(struct shape){&three, 1}, NULL, 1, &b, &e), "%s", e.text);
    cr_expect_eq(memcmp(b.launch.buffers[0].data, "abc", 3), 0, "the file's bytes are not in the buffer");
    cr_expect(!b.expected[0] && b.expected[1] && !memcmp(b.expected[1], "abc", 3), "expected bytes");
    cr_expect_eq(memcmp(b.launch.buffers[1].data, "\xad\xde\xa5", 3), 0, "an output starts as poison");
    bound_free(&b);
    refused(text, (struct shape){&four, 1}, "expect: ");
    refused(text, (struct shape){&four, 1}, "has 3 bytes, the buffer has 4");
    spec_free(s);
    free(text);

    const struct shape none = {NULL, 0};
    text = must_format(FOREIGN("  - {in: x, type: u8, count: 3, fill: {file: %s, sha256: %.63se}}\n", LAUNCH), abc,
                       abc_digest);
    refused(text, none, "has sha256 ba7816bf");
    free(text);
    refused(FOREIGN("  - {in: x, type: u8, count: 3, fill: {file: /nonexistent/x.bin}}\n", LAUNCH), none,
            "cannot read /nonexistent/x.bin");
    refused(FOREIGN("  - {in: x, type: u8, count: 3, fill: {file: /dev/zero}}\n", LAUNCH), none,
            "is not a regular file");
    char folder[] = P_tmpdir "/warpproof-XXXXXX";
    cr_assert_not_null(mkdtemp(folder), "no temporary folder");
    char *pipe = must_format("%s/pipe", folder);
    cr_assert_eq(mkfifo(pipe, 0600), 0, "no pipe");
    text = must_format(FOREIGN("  - {in: x, type: u8, count: 3, fill: {file: %s}}\n", LAUNCH), pipe);
    refused(text, none, "is not a regular file");
    free(text);
    unlink(pipe);
    rmdir(folder);
    free(pipe);
}
