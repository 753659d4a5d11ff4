/* Layouts once more, by another way: the PTX machine executes the loads of a plane that is filled byte by byte, or the
 * stores, and the figures of the PTX ISA say what each register holds. The proof must find the same first wrong byte of
 * a load, or none, and must refute the same stores. */
#include "../gpu/layout.h"
#include "../ref/checked.h"
#include "independent/independent.h"
#include "machine_run.h"
#include <glob.h>

enum { MOST_REGISTERS = 16, PADDING = 0xffff };

struct way {
    const struct layout *l;
    unsigned warps, registers, loads; /* registers a lane, instructions a warp and tile */
    unsigned tiles, across;
    uint16_t *plane; /* (plane_bytes): row * row_bytes + byte of the matrix */
};

static struct way way_of(const struct layout *l) {
    struct way w = {.l = l, .warps = l->wants.lanes / 32};
    const unsigned elements = l->row_bytes * 8 / l->wants.bits;
    const unsigned rows = l->mn_major ? elements : l->rows, columns = l->mn_major ? l->rows : elements;
    w.registers = l->wants.registers * l->tiles_rows * l->tiles_columns;
    w.loads = l->matrices > 0 ? w.registers / l->matrices : 4 * w.registers / l->unit;
    w.across = columns / (l->wants.columns * l->tiles_columns);
    w.tiles = rows / (l->wants.rows * l->tiles_rows) * w.across;
    cr_assert(w.registers <= MOST_REGISTERS && l->rows * l->row_bytes < PADDING, "%s is too large", l->name);
    return w;
}

/* False: two bytes lie at one place, or one outside of the plane. */
static bool fill_plane(struct way *w) {
    const struct layout *l = w->l;
    struct error e;
    w->plane = must_calloc(l->plane_bytes, sizeof *w->plane);
    memset(w->plane, 0xff, l->plane_bytes * sizeof *w->plane);
    for (unsigned row = 0; row < l->rows; ++row)
        for (unsigned byte = 0; byte < l->row_bytes; ++byte) {
            int64_t at;
            cr_assert(layout_place(l, row, byte, &at, &e), "%s", e.text);
            if (at < 0 || at >= l->plane_bytes || w->plane[at] != PADDING)
                return false;
            w->plane[at] = (uint16_t)(row * l->row_bytes + byte);
        }
    return true;
}

/* (tile, warp, load, lane): shared-memory addresses. */
static uint32_t *addresses_of(const struct way *w) {
    const struct layout *l = w->l;
    uint32_t *out = must_calloc((size_t)w->tiles * w->warps * w->loads * 32, sizeof *out), *next = out;
    struct error e;
    for (unsigned tile = 0; tile < w->tiles; ++tile)
        for (unsigned warp = 0; warp < w->warps; ++warp)
            for (unsigned load = 0; load < w->loads; ++load)
                for (unsigned lane = 0; lane < 32; ++lane) {
                    const unsigned first = tile / w->across * l->wants.rows * l->tiles_rows,
                                   k = tile % w->across * l->wants.columns * l->tiles_columns;
                    int64_t at = 0;
                    const struct shape_value values[] = {{"lane", lane},
                                                         {"g", lane >> 2},
                                                         {"t", lane & 3},
                                                         {"warp", warp},
                                                         {"tile_row", l->mn_major ? k : first},
                                                         {"tile_byte", (l->mn_major ? first : k) * l->wants.bits / 8},
                                                         {"stride", l->stride},
                                                         {"offset", l->plane_offset},
                                                         {"matrix", lane >> 3},
                                                         {"row", lane & 7},
                                                         {"step", load},
                                                         {"register", load * l->unit / 4},
                                                         {"byte", load * l->unit % 4}};
                    if (l->matrices == 0 || lane < 8 * l->matrices)
                        cr_assert(expr_eval(l->address, &(struct shape){values, 13}, &at, &e), "%s", e.text);
                    *next++ = (uint32_t)(at + l->plane_offset);
                }
    return out;
}

/* The tags that lie in the registers, (tile, warp, lane, register byte); one half of each tag a launch. False: the
 * machine has something to say of the addresses. */
static bool execute(const struct way *w, uint32_t *addresses, uint16_t *got) {
    const struct layout *l = w->l;
    const unsigned blocks = w->tiles * w->warps, words = (l->plane_bytes + 3) / 4;
    char body[8192], module[128];
    size_t n = (size_t)snprintf(
        body, sizeof body,
        "ld.param.u64 %%rd1, [p0];\nld.param.u64 %%rd2, [p1];\nld.param.u64 %%rd3, [p2];\nmov.u32 %%r1, %%tid.x;\n"
        "mov.u32 %%r2, %%ctaid.x;\nmov.u32 %%r3, memory;\nmov.u32 %%r4, %%r1;\n"
        "COPY:\nsetp.ge.u32 %%p1, %%r4, %u;\n@%%p1 bra DONE;\nmul.wide.u32 %%rd4, %%r4, 4;\n"
        "add.s64 %%rd4, %%rd1, %%rd4;\nld.global.b32 %%r5, [%%rd4];\nmad.lo.u32 %%r6, %%r4, 4, %%r3;\n"
        "st.shared.b32 [%%r6+%u], %%r5;\nadd.u32 %%r4, %%r4, 32;\nbra COPY;\nDONE:\nbar.sync 0;\n"
        "mad.lo.u32 %%r7, %%r2, %u, %%r1;\nmul.wide.u32 %%rd5, %%r7, 4;\nadd.s64 %%rd5, %%rd2, %%rd5;\n"
        "mad.lo.u32 %%r8, %%r2, 32, %%r1;\nmul.wide.u32 %%rd6, %%r8, %u;\nadd.s64 %%rd6, %%rd3, %%rd6;\n",
        words, l->plane_offset, 32 * w->loads, 4 * w->registers);
    snprintf(module, sizeof module, ".shared .align 1024 .b8 memory[%u];\n", l->plane_offset + 4 * words);
    const unsigned each = l->matrices > 0 ? l->matrices : l->unit / 4;
    cr_assert_geq(l->unit, 4, "%s: bytes and halves are not loaded here", l->name);
    for (unsigned load = 0; load < w->loads; ++load) {
        char list[128] = "";
        for (unsigned r = 0; r < each; ++r)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%%r%u", r ? "," : "", 20 + load * each + r);
        n += (size_t)snprintf(body + n, sizeof body - n, "ld.global.b32 %%r9, [%%rd5+%u];\nadd.u32 %%r9, %%r9, %%r3;\n",
                              128 * load);
        if (l->matrices > 0)
            n += (size_t)snprintf(body + n, sizeof body - n,
                                  "ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 {%s}, [%%r9];\n", l->matrices,
                                  l->trans ? ".trans" : "", list);
        else
            n += (size_t)snprintf(body + n, sizeof body - n, "ld.shared.%s {%s}, [%%r9];\n",
                                  each == 4   ? "v4.b32"
                                  : each == 2 ? "v2.b32"
                                              : "b32",
                                  list);
    }
    for (unsigned r = 0; r < w->registers; ++r)
        n += (size_t)snprintf(body + n, sizeof body - n, "st.global.b32 [%%rd6+%u], %%r%u;\n", 4 * r, 20 + r);
    snprintf(body + n, sizeof body - n, "ret;\n");

    uint8_t *image = must_calloc(words, 4), *out = must_calloc((size_t)blocks * 32 * w->registers, 4);
    bool good = true;
    for (int half = 0; half < 2 && good; ++half) {
        for (unsigned i = 0; i < l->plane_bytes; ++i)
            image[i] = (uint8_t)(w->plane[i] >> 8 * half);
        struct launch_buffer buffers[] = {
            {.name = "plane", .role = BUFFER_IN, .bytes = 4 * words, .cell_bytes = 4, .data = image},
            {.name = "at",
             .role = BUFFER_IN,
             .bytes = (size_t)128 * blocks * w->loads,
             .cell_bytes = 4,
             .data = (uint8_t *)addresses},
            {.name = "out",
             .role = BUFFER_OUT,
             .bytes = (size_t)128 * blocks * w->registers,
             .cell_bytes = 4,
             .data = out}};
        struct ptx_module *m;
        struct trace t;
        struct error e = {""};
        good = machine_try(
            &(struct machine_test){
                .module_level = module, .body = body, .buffers = buffers, .buffer_count = 3, .grid = {blocks, 1, 1}},
            &m, &t, &e);
        cr_assert(m, "%s: %s", l->name, e.text);
        good = good && t.event_count == 0;
        for (size_t i = 0; i < (size_t)128 * blocks * w->registers; ++i)
            got[i] |= (uint16_t)(out[i] << 8 * half);
        trace_free(&t);
        ptx_free(m);
    }
    free(image);
    free(out);
    return good;
}

/* The plane after the stores of registers that hold `want` (tile, warp, lane, register byte), PADDING where nothing was
 * stored. False as for execute. */
static bool execute_stores(const struct way *w, uint32_t *addresses, const uint16_t *want, uint16_t *plane) {
    const struct layout *l = w->l;
    const unsigned blocks = w->tiles * w->warps, words = (l->plane_bytes + 3) / 4,
                   each = l->matrices ? l->matrices : l->unit / 4;
    const size_t bytes = (size_t)128 * blocks * w->registers;
    char body[8192], module[128];
    cr_assert_geq(l->unit, 4, "%s: bytes and halves are not stored here", l->name);
    size_t n = (size_t)snprintf(
        body, sizeof body,
        "ld.param.u64 %%rd1, [p0];\nld.param.u64 %%rd2, [p1];\nld.param.u64 %%rd3, [p2];\nmov.u32 %%r1, %%tid.x;\n"
        "mov.u32 %%r2, %%ctaid.x;\nmov.u32 %%r3, memory;\nmov.u32 %%r4, %%r1;\nmov.u32 %%r5, -1;\n"
        "FILL:\nsetp.ge.u32 %%p1, %%r4, %u;\n@%%p1 bra FILLED;\nmad.lo.u32 %%r6, %%r4, 4, %%r3;\n"
        "st.shared.b32 [%%r6+%u], %%r5;\nadd.u32 %%r4, %%r4, 32;\nbra FILL;\nFILLED:\nbar.sync 0;\n"
        "mad.lo.u32 %%r7, %%r2, %u, %%r1;\nmul.wide.u32 %%rd5, %%r7, 4;\nadd.s64 %%rd5, %%rd2, %%rd5;\n"
        "mad.lo.u32 %%r8, %%r2, 32, %%r1;\nmul.wide.u32 %%rd6, %%r8, %u;\nadd.s64 %%rd6, %%rd1, %%rd6;\n",
        words, l->plane_offset, 32 * w->loads, 4 * w->registers);
    snprintf(module, sizeof module, ".shared .align 1024 .b8 memory[%u];\n", l->plane_offset + 4 * words);
    for (unsigned r = 0; r < w->registers; ++r)
        n += (size_t)snprintf(body + n, sizeof body - n, "ld.global.b32 %%r%u, [%%rd6+%u];\n", 20 + r, 4 * r);
    for (unsigned store = 0; store < w->loads; ++store) {
        char list[128] = "";
        for (unsigned r = 0; r < each; ++r)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%%r%u", r ? "," : "", 20 + store * each + r);
        n += (size_t)snprintf(body + n, sizeof body - n, "ld.global.b32 %%r9, [%%rd5+%u];\nadd.u32 %%r9, %%r9, %%r3;\n",
                              128 * store);
        if (l->matrices > 0)
            n += (size_t)snprintf(body + n, sizeof body - n,
                                  "stmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%r9], {%s};\n", l->matrices,
                                  l->trans ? ".trans" : "", list);
        else
            n += (size_t)snprintf(body + n, sizeof body - n, "st.shared.%s [%%r9], {%s};\n",
                                  each == 4   ? "v4.b32"
                                  : each == 2 ? "v2.b32"
                                              : "b32",
                                  list);
    }
    snprintf(body + n, sizeof body - n,
             "bar.sync 0;\nmov.u32 %%r4, %%r1;\nCOPY:\nsetp.ge.u32 %%p1, %%r4, %u;\n@%%p1 bra DONE;\n"
             "mad.lo.u32 %%r7, %%r2, %u, %%r4;\nmul.wide.u32 %%rd4, %%r7, 4;\nadd.s64 %%rd4, %%rd3, %%rd4;\n"
             "mad.lo.u32 %%r6, %%r4, 4, %%r3;\nld.shared.b32 %%r5, [%%r6+%u];\nst.global.b32 [%%rd4], %%r5;\n"
             "add.u32 %%r4, %%r4, 32;\nbra COPY;\nDONE:\nret;\n",
             words, words, l->plane_offset);

    uint8_t *in = must_calloc(bytes, 1), *out = must_calloc((size_t)blocks * words, 4);
    uint16_t *both = must_calloc((size_t)blocks * words * 4, sizeof *both);
    bool good = true;
    for (int half = 0; half < 2 && good; ++half) {
        for (size_t i = 0; i < bytes; ++i)
            in[i] = (uint8_t)(want[i] >> 8 * half);
        struct launch_buffer buffers[] = {
            {.name = "registers", .role = BUFFER_IN, .bytes = bytes, .cell_bytes = 4, .data = in},
            {.name = "at",
             .role = BUFFER_IN,
             .bytes = (size_t)128 * blocks * w->loads,
             .cell_bytes = 4,
             .data = (uint8_t *)addresses},
            {.name = "out", .role = BUFFER_OUT, .bytes = (size_t)4 * blocks * words, .cell_bytes = 4, .data = out}};
        struct ptx_module *m;
        struct trace t;
        struct error e = {""};
        struct machine_test test = {
            .module_level = module, .body = body, .buffers = buffers, .buffer_count = 3, .grid = {blocks, 1, 1}};
        good = machine_try(&test, &m, &t, &e);
        cr_assert(m, "%s: %s", l->name, e.text);
        good = good && t.event_count == 0;
        for (size_t i = 0; i < (size_t)4 * blocks * words; ++i)
            both[i] |= (uint16_t)(out[i] << 8 * half);
        trace_free(&t);
        ptx_free(m);
    }
    memset(plane, 0xff, l->plane_bytes * sizeof *plane);
    for (size_t i = 0; i < (size_t)4 * blocks * words; ++i)
        if (both[i] != PADDING && i % (4 * words) < l->plane_bytes)
            plane[i % (4 * words)] = both[i];
    free(in);
    free(out);
    free(both);
    return good;
}

/* (lane of all warps, register byte) of a tile, by the figures. */
static void wanted(const struct way *w, unsigned tile, uint16_t *want) {
    const struct layout *l = w->l;
    const struct fragment *f = &l->wants;
    const unsigned bytes = f->bits / 8 + (f->bits < 8);
    for (unsigned part = 0; part < l->tiles_rows * l->tiles_columns; ++part)
        for (unsigned row = 0; row < f->rows; ++row)
            for (unsigned k = 0; k < f->columns; k += f->bits < 8 ? 2 : 1) {
                const struct holder h = f->operand == FRAGMENT_A
                                            ? independent_a(f->rows, f->columns * f->bits / 8, f->bits, row, k)
                                        : f->operand == FRAGMENT_B ? independent_b(f->bits, row, k)
                                                                   : independent_c(row, k);
                const unsigned down = (tile / w->across * l->tiles_rows + part / l->tiles_columns) * f->rows + row,
                               right = (tile % w->across * l->tiles_columns + part % l->tiles_columns) * f->columns + k;
                for (unsigned b = 0; b < bytes; ++b)
                    want[h.thread * 4 * w->registers + part * 4 * f->registers + h.element * f->bits / 8 + b] =
                        (uint16_t)((l->mn_major ? right : down) * l->row_bytes +
                                   (l->mn_major ? down : right) * f->bits / 8 + b);
            }
}

/* Where the first wrong byte is, in the order of the proof: "lane 4, register 2, byte 0 "; NULL: none is. */
static char *first_wrong(const struct way *w, const uint16_t *got) {
    const size_t each = (size_t)128 * w->warps * w->registers;
    uint16_t *want = must_calloc(each, sizeof *want);
    char *where = NULL;
    for (unsigned tile = 0; tile < w->tiles && !where; ++tile) {
        wanted(w, tile, want);
        for (size_t i = 0; i < each && !where; ++i)
            if (got[tile * each + i] != want[i])
                where = must_format("%s, register %zu, byte %zu ",
                                    fragment_lane_name(&w->l->wants, (unsigned)(i / 4 / w->registers)).text,
                                    i / 4 % w->registers, i % 4);
    }
    free(want);
    return where;
}

/* Whether the machine ran it to the end. */
static bool expect_same(const char *what, const struct layout *l) {
    struct error e = {""};
    struct statement s;
    cr_assert(layout_prove(l, &s, &e), "%s", e.text);
    struct way w = way_of(l);
    uint16_t *got = must_calloc((size_t)128 * w.tiles * w.warps * w.registers, sizeof *got);
    uint32_t *addresses = addresses_of(&w);
    const bool filled = fill_plane(&w), ran = filled && execute(&w, addresses, got);
    char *where = ran ? first_wrong(&w, got) : NULL;
    if (!ran)
        cr_expect(!s.proved, "%s: the machine refuses what is proved", what);
    else if (!where)
        cr_expect(s.proved, "%s: the machine has all bytes right; %s", what, s.counterexample);
    else
        cr_expect(!s.proved && strncmp(s.counterexample, where, strlen(where)) == 0,
                  "%s: on the machine %sis wrong; %s", what, where, s.proved ? "it is proved" : s.counterexample);
    free(where);
    free(got);
    free(addresses);
    free(w.plane);
    statement_free(&s);
    return ran;
}

static bool expect_same_stores(const char *what, const struct layout *l) {
    struct error e = {""};
    struct statement s;
    cr_assert(layout_prove(l, &s, &e), "%s", e.text);
    struct way w = way_of(l);
    const size_t each = (size_t)128 * w.warps * w.registers;
    uint16_t *want = must_calloc(each * w.tiles, sizeof *want), *plane = must_calloc(l->plane_bytes, sizeof *plane);
    uint32_t *addresses = addresses_of(&w);
    for (unsigned tile = 0; tile < w.tiles; ++tile)
        wanted(&w, tile, want + tile * each);
    const bool filled = fill_plane(&w), ran = filled && execute_stores(&w, addresses, want, plane),
               same = ran && memcmp(plane, w.plane, l->plane_bytes * sizeof *plane) == 0;
    cr_expect_eq(same, s.proved, "%s: on the machine the plane %s; %s", what,
                 !ran   ? "is not stored"
                 : same ? "is right"
                        : "is wrong",
                 s.proved ? "it is proved" : s.counterexample);
    free(want);
    free(plane);
    free(addresses);
    free(w.plane);
    statement_free(&s);
    return ran;
}

Test(prove_layouts, as_the_machine_runs_them) {
    static const char *const patterns[] = {"fixtures/layouts/*.yaml", "fixtures/layouts/plants/*.yaml"};
    size_t ran = 0, stored = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i) {
        glob_t g;
        cr_assert(glob(patterns[i], 0, NULL, &g) == 0, "no %s", patterns[i]);
        for (size_t k = 0; k < g.gl_pathc; ++k) {
            struct error e = {""};
            struct layout *l = layout_read(g.gl_pathv[k], &e);
            cr_assert(l, "%s", e.text);
            if (l->access == LAYOUT_LDMATRIX || l->access == LAYOUT_LD_SHARED)
                ran += expect_same(g.gl_pathv[k], l);
            else if (l->access != LAYOUT_WGMMA)
                stored += expect_same_stores(g.gl_pathv[k], l);
            layout_free(l);
        }
        globfree(&g);
    }
    cr_expect(ran >= 22 && stored >= 3, "%zu layouts were loaded, %zu stored", ran, stored);
}

/* Addresses put together from right and wrong parts: the proof and the machine agree on all of them. */
Test(prove_layouts, combined_as_the_machine_loads_them) {
    static const char *const operands[] = {"mma.m16n8k32.s8/A", "mma.m16n8k16.bf16/A", "mma.m16n8k8.tf32/A",
                                           "mma.m16n8k64.u4/A"},
                             *const rows[] = {"lane % 16", "lane % 8 + lane / 16 * 8", "lane % 15", "lane % 16 + 1"},
                             *const strides[] = {"stride", "64", "80"},
                             *const bytes[] = {"lane / 16 * 16", "lane / 8 % 2 * 16", "16", "lane / 16 * 32"};
    size_t ran = 0, proved = 0;
    for (unsigned n = 0; n < 4 * 4 * 3 * 4 * 3 * 3; ++n) {
        struct error e;
        char byte[96], inner[64];
        snprintf(inner, sizeof inner, "tile_byte + %s", bytes[n / 48 % 4]);
        const unsigned x = n / 192 % 3, swizzle = n / 576;
        snprintf(byte, sizeof byte,
                 x == 0   ? "%s"
                 : x == 1 ? "xor(%s, lane %% 4 * 16)"
                          : "xor(%s, lane / 2 %% 4 * 16)",
                 inner);
        char *address = must_format("(tile_row + %s) * %s + %s", rows[n / 4 % 4], strides[n / 16 % 3], byte);
        struct layout l = {.name = address,
                           .rows = 32,
                           .row_bytes = 64,
                           .stride = swizzle == 2 ? 80 : 64,
                           .swizzle = swizzle == 1 ? LAYOUT_BY_ROW : LAYOUT_NO_SWIZZLE,
                           .swizzle_first = 4,
                           .swizzle_last = 5,
                           .swizzle_from = n % 8 / 4,
                           .plane_bytes = 2720,
                           .access = LAYOUT_LDMATRIX,
                           .access_name = "ldmatrix.x4",
                           .matrices = 4,
                           .unit = 16,
                           .address = expr_parse(address, &e),
                           .tiles_rows = 1,
                           .tiles_columns = 1};
        cr_assert(l.address && fragment_named(operands[n % 4], &l.wants) && layout_check(&l, &e), "%s", address);
        struct statement s;
        cr_assert(layout_prove(&l, &s, &e), "%s", e.text);
        proved += s.proved;
        statement_free(&s);
        ran += expect_same(address, &l);
        expr_free(l.address);
        free(address);
    }
    cr_expect(ran > 1000 && proved >= 16 && proved < ran / 2, "%zu were loaded, %zu are proved", ran, proved);
}
