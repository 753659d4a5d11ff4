/* gpu/plane_content.c, elements.c, spec_planes.c: what the launch files of our kernels say of their planes is what the
 * comment of the kernel says, built here once more from the bytes of the formats (tests/independent); and content that
 * contradicts itself is refused with its place. */
#include "../gpu/plane_content.h"
#include "../ref/checked.h"
#include "../ref/half.h"
#include "command_run.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- our kernels' planes ---- */

struct fixture {
    struct spec *spec;
    struct operands operands;
    struct shape_value values[3];
    struct shape shape;
    struct bound bound;
    struct content content;
};

static void open_fixture(struct fixture *f, int kd, size_t nt, size_t od, size_t id, enum data_class data) {
    struct error e = {""};
    char *path = must_format("gpu/kernels/mmq_wide_ldb_kd%d.yaml", kd);
    f->spec = spec_load(path, ".", &e);
    cr_assert(f->spec, "%s", e.text);
    const struct operands_request r = {.contract = contract_named(f->spec->contract),
                                       .nt = nt,
                                       .od = od,
                                       .id = id,
                                       .data = data,
                                       .key = random_key("plane_content")};
    cr_assert(operands_make(&r, &f->operands, &e), "%s", e.text);
    f->shape = operands_shape(&f->operands, f->values);
    cr_assert(bind_launch(f->spec, NULL, &f->shape, &f->operands, 1, &f->bound, &e), "%s", e.text);
    cr_assert(content_open(&f->bound, &f->operands, &f->content, &e), "%s", e.text);
    free(path);
}

static void close_fixture(struct fixture *f) {
    content_free(&f->content);
    bound_free(&f->bound);
    operands_free(&f->operands);
    spec_free(f->spec);
}

struct plain_plane { /* what a plane holds; known 0: anything */
    uint8_t bytes[49152], known[49152];
};

static void put(struct plain_plane *p, size_t at, const void *bytes, size_t n) {
    memcpy(p->bytes + at, bytes, n);
    memset(p->known + at, 1, n);
}

/* Planes of mmq_wide_ldb.cu's head: qa8, sda_q, qb8, sds. Blocks: 144 bytes of q4_K, 40 of pad40. */
static void fill_plane(const struct fixture *f, int kd, int plane, const uint32_t block[3], size_t stage,
                       struct plain_plane *out) {
    const struct contract_operands *o = &f->operands.view;
    const size_t chunks = o->id / 32, supers = o->id / 256;
    const uint8_t *weight = o->weight, *activation = o->activation;
    memset(out->known, 0, sizeof out->known);
    for (size_t line = 0; line < 128; ++line) {
        const size_t token = block[0] * 128 + line, row = block[1] * 128 + line;
        for (size_t c = 0; c < (plane == 2 ? 8 : (size_t)kd); ++c) {
            const size_t chunk = plane == 2 ? kd * stage / 8 * 8 + c : kd * stage + c;
            uint8_t zeros[40] = {0};
            const uint8_t *x = token < o->nt ? activation + (token * chunks + chunk) * 40 : zeros;
            const uint8_t *w = row < o->od ? weight + (row * supers + chunk / 8) * 144 : NULL;
            if (plane == 0) {
                put(out, (c * 128 + line) * 32, x + 4, 32);
            } else if (plane == 1) {
                int32_t sum;
                memcpy(&sum, x + 36, 4);
                const int16_t narrow = (int16_t)sum;
                const size_t at = ((c * 16 + line / 16) * 8 + line % 8) * 8 + line % 16 / 8 * 4;
                put(out, at, x, 2);
                put(out, at + 2, &narrow, 2);
            } else if (plane == 2) {
                uint8_t codes[32] = {0};
                for (unsigned j = 0; j < 32 && w != NULL; ++j) {
                    codes[j] = (uint8_t)independent_read_q4_k(w, (unsigned)c * 32 + j).code;
                }
                put(out, (c * 128 + line) * 48, codes, 32);
            } else {
                uint32_t words[2] = {0, 0};
                if (w != NULL) {
                    const struct integers v = independent_read_q4_k(w, (unsigned)(chunk % 8) * 32);
                    const float ds = (float)(independent_half_value((uint16_t)v.d) * v.scale),
                                dm = -(float)(independent_half_value((uint16_t)v.dmin) * v.min);
                    words[0] = float_bits(ds);
                    words[1] = float_bits(dm);
                }
                put(out, (c * 128 + line) * 8, words, 8);
            }
        }
    }
}

static void check_plane(const struct fixture *f, int kd, int plane, const uint32_t block[3], size_t stage) {
    static struct plain_plane want;
    struct plane_image image = {0};
    struct error e = {""};
    cr_assert(plane_image_make(&f->content, (size_t)plane, block, stage, &image, &e), "%s", e.text);
    fill_plane(f, kd, plane, block, stage, &want);
    for (size_t i = 0; i < image.bytes; ++i) {
        cr_assert((image.byte[i].cell > 0) == want.known[i] && (!want.known[i] || image.want[i] == want.bytes[i]),
                  "kd%d plane %d block %u %u stage %zu byte %zu: %02x, want %02x (known %d)", kd, plane, block[0],
                  block[1], stage, i, image.want[i], want.bytes[i], want.known[i]);
    }
    plane_image_free(&image);
}

Test(plane_content, our_kernels_planes_are_as_their_head_says, .timeout = 120) {
    static const size_t shapes[][3] = {{70, 129, 512}, {129, 1, 256}, {1, 70, 1024}};
    for (size_t s = 0; s < 3; ++s) {
        for (int data = DATA_EXACT; data < DATA_REAL; ++data) {
            for (int kd = 4; kd <= 8; kd += 4) {
                struct fixture f = {0};
                uint64_t stages;
                struct error e = {""};
                open_fixture(&f, kd, shapes[s][0], shapes[s][1], shapes[s][2], (enum data_class)data);
                cr_assert(content_stages(&f.content, &stages, &e) && stages == shapes[s][2] / 32 / (size_t)kd);
                const uint32_t block[3] = {f.bound.launch.grid[0] - 1, f.bound.launch.grid[1] - 1, 0};
                for (size_t stage = 0; stage < stages; ++stage) {
                    for (int plane = 0; plane < 4; ++plane) {
                        check_plane(&f, kd, plane, block, stage);
                    }
                }
                close_fixture(&f);
            }
        }
    }
}

Test(plane_content, elements_have_names) {
    struct fixture f = {0};
    struct plane_image image = {0};
    struct error e = {""};
    const uint32_t block[3] = {0, 1, 0};
    open_fixture(&f, 8, 70, 257, 512, DATA_CODED);
    cr_assert(plane_image_make(&f.content, 2, block, 1, &image, &e), "%s", e.text);
    const struct plane_byte byte = image.byte[(3 * 128 + 5) * 48 + 7];
    char *element = plane_element_text(&f.content, 2, block, 1, byte);
    char *index = plane_index_text(&f.content, 2, block, 1, byte);
    int64_t row, k;
    cr_expect_str_eq(element, "weight.q of row 133, k 359");
    cr_expect_str_eq(index, "sub 3, r 5, j 7");
    cr_expect(plane_element_at(&f.content, 2, block, 1, byte, &row, &k) && row == 133 && k == 359);
    cr_expect(image.byte[32].cell == 0 && !plane_element_at(&f.content, 2, block, 1, image.byte[32], &row, &k));
    free(element), free(index);
    plane_image_free(&image);
    close_fixture(&f);
}

/* ---- content that contradicts itself: each a change of tests/foreign/tile.yaml or dot.yaml ---- */

static char *read_text(const char *path) {
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s cannot be read: tests run in the root of the project", path);
    char *text = must_calloc(1 << 14, 1);
    cr_assert(fread(text, 1, (1 << 14) - 1, file) > 0);
    fclose(file);
    return text;
}

/* Writes the launch file with `from` replaced by `to`, and the program by its path. */
static void put_changed(const char *launch, const char *from, const char *to) {
    char *text = read_text(launch), *at = strstr(text, from), *folder = realpath("tests/foreign", NULL);
    cr_assert(at && folder, "%s is not in %s", from, launch);
    char *changed = must_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    char *program = strstr(changed, "ptx: tile.ptx");
    cr_assert(program);
    char *whole = must_format("%.*sptx: %s/%s", (int)(program - changed), changed, folder, program + strlen("ptx: "));
    put_file("in.yaml", whole, strlen(whole));
    free(text), free(folder), free(changed), free(whole);
}

Test(plane_content, contradictions_have_a_place, .init = make_folder, .fini = remove_folder, .timeout = 120) {
    static const struct {
        const char *launch, *from, *to, *says;
    } rows[] = {
        {"tile", "(bx * 32 + r) * cols + s", "(bx * 32 + q) * cols + s",
         "in.yaml:17:40: 'q' has no value; known: r, c, s, bx, by, bz, rows, cols, tiles\n"},
        {"tile", "[132, 4]", "[136, 4]",
         "in.yaml:16:20: plane tile at (r 31, c 2): the cell does not lie in the plane"},
        {"tile", "[132, 4]", "[64, 4]", "in.yaml:16:19: plane tile at (r 1, c 0): the cell shares a byte with another"},
        {"tile", "[132, 4]", "[-132, 4]", "in.yaml:16:15: the value -132 is not in 0 .. 2147483647"},
        {"tile", "r: 32,", "r: 0,", "in.yaml:15:15: the value 0 is not in 1 .. 2147483647"},
        {"tile", "r: 32, c: 32", "r: 2147483647, c: 2147483647",
         "15:15: plane tile has more cells than its 4224 bytes"},
        {"tile", "r: 32,", "r: s + 1,", "in.yaml:15:15: 's' has no value; known: rows, cols, tiles"},
        {"tile", "    when: bx * 32 + r < rows and s * 32 + c < cols\n", "",
         "in.yaml:17:29: plane tile at (r 6, c 0): there is no x[3150]; `outside` says what stands for it"},
        {"tile", "(bx * 32 + r) * cols +", "9223372036854775807 * (r + 1) +", "in.yaml:17:"},
        {"tile", "* cols + s", "/ c + s", "in.yaml:17:43: division by zero"},
        {"tile", "2 * s}", "2 - 2 * s}", "in.yaml:19:44: stage 1 is full at barrier 0, before the stage ahead of it"},
        {"tile", "2 * s}", "2 * s - 1}", "in.yaml:19:44: the value -1 is not in 0 .. 9223372036854775807"},
        {"tile", "\"ceil(cols, 32)\", full", "99999999999, full",
         "in.yaml:19:17: the value 99999999999 is not in 1 .."},
        {"tile", "\"ceil(cols, 32)\", full", "cols - 45, full", "in.yaml:19:17: the value 0 is not in 1 .."},
        {"dot", "at: m * depth", "at: n * depth", "in.yaml:13:21: 'n' has no value; known: m, k, i, warp, bx"},
        {"dot", "at: m * depth", "at: m * depth * 9", "in.yaml:13:21: mma: there is no a[1728]; `outside` says what"},
        {"dot", "from: 0", "from: -1", "in.yaml:15:9: the value -1 is not in 0 .. 9223372036854775807"},
        {"dot", "{in: b, type: i8, count: 8", "{in: b, type: i16, count: 8",
         "in.yaml:14:21: mma: elements of 8 bits are compared, not of 16"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *launch = must_format("tests/foreign/%s.yaml", rows[i].launch);
        put_changed(launch, rows[i].from, rows[i].to);
        expect_result(run_command("explain %s/in.yaml", run_folder), 2, rows[i].says);
        free(launch);
    }
}

/* A name of the shape that an index would hide, from the file or from --set. */
Test(plane_content, names_are_not_hidden, .init = make_folder, .fini = remove_folder) {
    static const struct {
        const char *launch, *from, *to, *set, *says;
    } rows[] = {
        {"dot", "shape: {depth: 96}", "shape: {depth: 96, n: 1}", "", "in.yaml:13:21: 'n' is a name of the shape and"},
        {"dot", "{i32: depth}", "{i32: depth + 0 * k}", "--set k=1", "in.yaml:13:21: 'k' is a name of the shape and"},
        {"tile", "{i32: cols}", "{i32: cols + 0 * s}", "--set s=1", "in.yaml:15:15: 's' is a name of the shape and"},
        {"tile", "{i32: cols}", "{i32: cols + 0 * r}", "--set r=1", "in.yaml:15:15: 'r' is a name of the shape and"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *launch = must_format("tests/foreign/%s.yaml", rows[i].launch);
        put_changed(launch, rows[i].from, rows[i].to);
        expect_result(run_command("explain %s/in.yaml %s", run_folder, rows[i].set), 2, rows[i].says);
        free(launch);
    }
}

/* A field that the operand's format does not have. */
Test(plane_content, a_field_that_is_not_there) {
    struct fixture f = {0};
    struct error e = {""};
    open_fixture(&f, 8, 1, 1, 256, DATA_CODED);
    const struct spec_value scale = {.field = VALUE_WEIGHT_SCALE}, block = {.field = VALUE_ACTIVATION_BLOCK};
    cr_expect(element_known(&f.content.elements, &scale, &e) && element_known(&f.content.elements, &block, &e));
    free(f.content.elements.activation.sum);
    f.content.elements.activation.sum = NULL;
    const struct spec_value sum = {.field = VALUE_ACTIVATION_SUM};
    cr_expect(!element_known(&f.content.elements, &sum, &e) &&
                  strcmp(e.text, "activation.sum: the operand's format does not have it") == 0,
              "%s", e.text);
    close_fixture(&f);
}
