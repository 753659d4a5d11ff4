/* Layout files: the examples are proved, every plant is refuted in exactly these words, and what is no layout is an
 * error with its place. */
#include "../gpu/layout.h"
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct statement prove(const char *path) {
    struct error e = {""};
    struct statement s = {0};
    struct layout *l = layout_read(path, &e);
    cr_assert(l, "%s", e.text);
    cr_assert(layout_prove(l, &s, &e), "%s", e.text);
    layout_free(l);
    return s;
}

static size_t files(const char *pattern) {
    glob_t g;
    cr_assert(glob(pattern, 0, NULL, &g) == 0, "no %s", pattern);
    const size_t n = g.gl_pathc;
    globfree(&g);
    return n;
}

Test(prove_layouts, examples) {
    glob_t g;
    cr_assert(glob("fixtures/layouts/*.yaml", 0, NULL, &g) == 0, "no examples");
    for (size_t i = 0; i < g.gl_pathc; ++i) {
        struct statement s = prove(g.gl_pathv[i]);
        cr_expect(s.proved && s.domain >= 1024, "%s: %llu bytes, %s", g.gl_pathv[i], (unsigned long long)s.domain,
                  s.proved ? "proved" : s.counterexample);
        statement_free(&s);
    }
    globfree(&g);
}

Test(prove_layouts, plants) {
    static const struct {
        const char *name, *want;
    } rows[] = {
        {"halves_exchanged",
         "lane 0, register 0, byte 0 holds row 0 k 16; mma wants row 0 k 0: matrices 0 and 2, 1 and 3 exchanged"},
        {"matrices_1_2",
         "lane 0, register 1, byte 0 holds row 0 k 16; mma wants row 8 k 0: matrices 1 and 2 exchanged"},
        {"matrices_exchanged",
         "lane 0, register 0, byte 0 holds row 8 k 0; mma wants row 0 k 0: matrices 0 and 1, 2 and 3 exchanged"},
        {"misaligned", "lane 1 gives the address 40, no multiple of 16: misaligned 16-byte row; the stride of 40 bytes "
                       "is no multiple of 16"},
        {"not_injective", "row 0 byte 16 and row 1 byte 0 of the matrix both lie at byte 16 of the plane: the stride "
                          "of 16 bytes is less than a row's 32"},
        {"out_of_plane", "row 43 byte 0 of the matrix lies at byte 2064 of a plane of 2048 bytes: out of the plane"},
        {"past_the_plane", "lane 0, register 0, byte 0 holds byte 3072 of a plane of 3072 bytes; mma wants row 48 k 0: "
                           "out of the plane; row offset: 32 of 128 addresses are 16 rows too high"},
        {"row_offset", "lane 0, register 0, byte 0 holds row 1 k 0; mma wants row 0 k 0: row offset: every address is "
                       "1 row too high"},
        {"store_exchanged", "lane 0, register 0, byte 0 is mma's row 0 col 0 byte 0 and goes to the place of row 8 col "
                            "0 byte 0: matrices 0 and 1 exchanged"},
        {"trans_missing", "lane 0, register 0, byte 2 holds n 1 k 0 byte 0; mma wants n 0 k 1 byte 0: transposed: the "
                          "layout needs .trans"},
        {"trans_of_bytes", "lane 0, register 0, byte 1 holds n 1 k 0; mma wants n 0 k 1: no address is right: .trans "
                           "exchanges 16-bit units, and the elements have 8 bits"},
        {"wgmma_leading", "wgmma wants row 0 k 16 and reads byte 256 of the plane: row 0 k 32: wrong leading offset: "
                          "the descriptor says 256, 128 would be right"},
        {"wgmma_misaligned", "the operand at row 0 byte 32 of the matrix starts at 1032, no multiple of 16"},
        {"wgmma_offsets",
         "wgmma wants row 0 k 16 and reads byte 512 of the plane: row 8 k 0: leading and stride exchanged"},
        {"wgmma_past",
         "the operand at row 0 byte 32 of the matrix starts at byte 4096 of a plane of 4096 bytes: out of the plane"},
        {"wgmma_plane", "wgmma wants n 0 k 0 byte 0 and reads byte 32 of the plane: n 0 k 16 byte 0: the pattern "
                        "begins where the plane does, at 1280, and wgmma takes it from the shared-memory address: "
                        "begin the plane at a multiple of 1024"},
        {"wgmma_start", "wgmma wants n 0 k 0 byte 0 and reads byte 32 of the plane: n 0 k 16 byte 0: the start address "
                        "is 32 bytes too high"},
        {"wgmma_stride", "wgmma wants n 8 k 0 byte 0 and reads byte 576 of the plane: n 4 k 0 byte 0: wrong stride "
                         "offset: the descriptor says 512, 1024 would be right"},
        {"wgmma_swizzle", "wgmma wants n 1 k 0 byte 0 and reads byte 64 of the plane: n 0 k 32 byte 0: wrong swizzle: "
                          "the descriptor says 64B, the layout has 128B"},
        {"wgmma_warp",
         "warp 1 lane 0, register 0, byte 0 holds row 0 k 0; wgmma wants row 16 k 0: left out of the address: "
         "warp"},
        {"k_left_out",
         "lane 0, register 0, byte 0 holds row 0 k 0; mma wants row 0 k 32: left out of the address: tile_byte"},
        {"rows_left_out",
         "lane 0, register 0, byte 0 holds row 0 k 0; mma wants row 16 k 0: left out of the address: tile_row"},
        {"store_columns", "lane 1 gives the address 4, no multiple of 8: misaligned 8-byte access; 8 would be right"},
        {"word_offset", "lane 0, register 0, byte 0 holds row 0 k 4; mma wants row 0 k 0: word offset: every address "
                        "is 1 word (4 bytes) too high"},
        {"wrong_half", "lane 0, register 2, byte 0 holds row 0 k 0; mma wants row 0 k 16: wrong half: bytes 0..15 of a "
                       "row for bytes 16..31"},
        {"wrong_half_of_k", "lane 0, register 0, byte 0 holds n 0 k 16; mma wants n 0 k 0: wrong half: bytes 16..31 of "
                            "a tile's row for bytes 0..15"},
        {"wrong_slot_stride", "lane 0, register 0, byte 0 holds padding, byte 32 of the plane; mma wants n 0 k 32: "
                              "wrong slot stride: the addresses step 32 bytes a slot, the slots lie 48 apart"},
        {"wrong_stride", "lane 0, register 1, byte 0 holds row 5 k 16; mma wants row 8 k 0: wrong stride: the "
                         "addresses step 32 bytes a row, the rows lie 48 apart"},
        {"xor_missing", "lane 4, register 0, byte 0 holds row 1 k 8 byte 0; mma wants row 1 k 0 byte 0: the address "
                        "has no xor, the layout has one"},
        {"xor_of_plane",
         "lane 0, register 0, byte 0 holds row 0 k 16 byte 0; mma wants row 0 k 0 byte 0: the xor takes bits of the "
         "address in the plane, not in shared memory, where the plane begins at 1280"},
        {"xor_other",
         "lane 4, register 0, byte 0 holds row 1 k 8 byte 0; mma wants row 1 k 0 byte 0: wrong xor: that of the "
         "addresses has bits 4..5 by row bits from 1 on, that of the layout bits 4..6 by address bits from 7 on"},
        {"xor_then_add", "lane 4, register 2, byte 0 holds row 1 k 24 byte 0; mma wants row 1 k 8 byte 0: xor before "
                         "the addition: swizzle(a) + 16 where swizzle(a + 16) is wanted"},
        {"k_after_xor", "lane 8, register 0, byte 0 holds row 2 k 48 byte 0; mma wants row 2 k 16 byte 0: xor before "
                        "the addition: swizzle(a) + tile_byte where swizzle(a + tile_byte) is wanted"},
        {"matrix_again", "lane 0, register 1, byte 0 holds row 0 k 0 byte 0; mma wants row 8 k 0 byte 0: matrix 1 is "
                         "matrix 0 again, matrix 3 is matrix 2 again"},
        {"plane_misaligned", "lane 0 gives the address 8, no multiple of 16: misaligned 16-byte row; the plane begins "
                             "at 8, no multiple of 16"},
        {"step_left_out", "lane 0, register 1, byte 0 holds row 0 k 0 byte 0; mma wants row 8 k 0 byte 0: left out of "
                          "the address: step"},
        {"tiles_exchanged", "lane 0, register 2, byte 0 holds n 0 k 16 byte 0; mma wants n 8 k 0 byte 0: every address "
                            "is right for tiles: {rows: 1, columns: 2}"},
        {"xor_of_offset", "lane 0, register 0, byte 0 holds row 0 k 8 byte 0; mma wants row 0 k 0 byte 0: word offset: "
                          "before the swizzle every address is 4 words (16 bytes) too high"},
        {"xor_too_much", "lane 4, register 0, byte 0 holds row 1 k 8 byte 0; mma wants row 1 k 0 byte 0: the address "
                         "has an xor (bits 4..6 by row bits from 0 on), the layout has none"},
    };
    cr_expect_eq(files("fixtures/layouts/plants/*.yaml"), sizeof rows / sizeof *rows, "a plant without its words");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *path = must_format("fixtures/layouts/plants/%s.yaml", rows[i].name);
        struct statement s = prove(path);
        cr_expect(!s.proved && strcmp(s.counterexample, rows[i].want) == 0, "%s: \"%s\", want \"%s\"", rows[i].name,
                  s.proved ? "(proved)" : s.counterexample, rows[i].want);
        statement_free(&s);
        free(path);
    }
}

/* ---- single changes of one good layout ---- */

TestSuite(prove_layout_text, .init = make_folder, .fini = remove_folder);

static const char *const good[] = {"layout: x\n",
                                   "matrix: {rows: 16, row_bytes: 32}\n",
                                   "memory: {stride: 48}\n",
                                   "plane: {bytes: 768}\n",
                                   "load: ldmatrix.x4\n",
                                   "address: lane % 16 * 48 + lane / 16 * 16\n",
                                   "wants: mma.m16n8k32.s8 A\n"};

/* The layout with line `line` (0: none) replaced, and whether it was read and what it says. */
static bool read_changed(unsigned line, const char *text, struct layout **l, struct error *e) {
    char *all = must_strdup(""), *path = must_format("%s/x.yaml", run_folder);
    for (unsigned i = 0; i < sizeof good / sizeof *good; ++i) {
        char *longer = must_format("%s%s%s", all, i + 1 == line ? text : good[i], i + 1 == line && *text ? "\n" : "");
        free(all);
        all = longer;
    }
    put_file("x.yaml", all, strlen(all));
    *l = layout_read(path, e);
    free(all);
    free(path);
    return *l != NULL;
}

Test(prove_layout_text, errors) {
    static const struct {
        unsigned line;
        const char *text, *want;
    } rows[] = {
        {1, "", "x.yaml:1:1: a layout needs the key 'layout'"},
        {1, "layout: [x]", "x.yaml:1:9: layout must be a single value"},
        {1, "layout: x\nlayuot: y", "x.yaml:2:1: unknown key 'layuot'; did you mean 'layout'?"},
        {1, "layout: x\nabout: {a: b}", "x.yaml:2:8: about must be a single value"},
        {2, "", "needs the key 'matrix'"},
        {2, "matrix: {rows: 16}", "x.yaml:2:9: matrix needs the key 'row_bytes'"},
        {2, "matrix: {rows: 0, row_bytes: 32}", "x.yaml:2:16: matrix.rows: 0 is not in 1 .. 262144"},
        {2, "matrix: {rows: 262144, row_bytes: 2}",
         "x.yaml:2:35: matrix.row_bytes: 262144 rows of 2 bytes are 524288 bytes; at most 262144 are proved"},
        {2, "matrix: {rows: 16, row_bytes: 32, major: n}", "x.yaml:2:42: matrix.major cannot be 'n'"},
        {2, "matrix: {rows: 24, row_bytes: 32}",
         "x.yaml:7:8: the matrix holds 24 row x 32 k of mma.m16n8k32.s8/A, which takes 16 x 32 at a time"},
        {2, "matrix: {rows: 16, row_bytes: 16}", "x.yaml:7:8: the matrix holds 16 row x 16 k"},
        {3, "memory: {}", "x.yaml:3:9: memory needs the key 'stride'"},
        {3, "memory: {stride: 48, at: row}", "x.yaml:3:9: memory.at says where a byte lies"},
        {3, "memory: {at: row +}", "x.yaml:3:19: expected a value"},
        {3, "memory: {stride: 48, slot: {bytes: 16}}", "x.yaml:3:28: memory.slot needs the key 'stride'"},
        {3, "memory: {stride: 48, swizzle: 16B}", "x.yaml:3:31: memory.swizzle cannot be '16B'"},
        {3, "memory: {stride: 48, swizzle: {bits: [4], by: row, from: 0}}", "must be [first, last]"},
        {3, "memory: {stride: 48, swizzle: {bits: [4, 3], by: row, from: 0}}",
         "x.yaml:3:42: memory.swizzle.bits: 3 is not in 4 .. 17"},
        {3, "memory: {stride: 48, swizzle: {bits: [4, 40], by: row, from: 0}}", "40 is not in 4 .. 17"},
        {3, "memory: {stride: 48, swizzle: {bits: [4, 6], by: col, from: 0}}", "memory.swizzle.by cannot be 'col'"},
        {3, "memory: {stride: 48, swizzle: {bits: [4, 6], by: row}}", "memory.swizzle needs the key 'from'"},
        {4, "plane: 768", "x.yaml:4:8: plane must be a mapping of keys to values"},
        {4, "plane: {bytes: 99999999}", "99999999 is not in 1 .. 262144"},
        {5, "", "x.yaml:1:1: a layout needs `load` or `store`, one of them"},
        {5, "load: ldmatrix.x4\nstore: stmatrix.x4", "x.yaml:6:8: a layout needs `load` or `store`, one of them"},
        {5, "load: ldmatrix.x3", "x.yaml:5:7: load cannot be 'ldmatrix.x3'; did you mean"},
        {5, "store: ldmatrix.x4", "x.yaml:5:8: store cannot be 'ldmatrix.x4'; did you mean 'stmatrix.x4'?"},
        {5, "load: ld.shared.v4.b32\nmatrix2: 1", "unknown key 'matrix2'"},
        {5, "load: ldmatrix.x4\ndescriptor: {stride: 16}", "x.yaml:6:13: a descriptor is of `load: wgmma` alone"},
        {5, "load: wgmma", "x.yaml:1:1: a layout needs the key 'descriptor'"},
        {5, "load: wgmma\ndescriptor: {stride: 256}", "x.yaml:6:13: descriptor needs the key 'leading'"},
        {5, "load: wgmma\ndescriptor: {swizzle: 64B}", "x.yaml:6:13: descriptor needs the key 'stride'"},
        {5, "load: wgmma\ndescriptor: {swizzle: 64B, stride: 8}", "descriptor.stride: 8 is no multiple of 16"},
        {5, "load: wgmma\ndescriptor: {swizzle: 64B, stride: 262144}", "262144 is not in 0 .. 262128"},
        {5, "load: wgmma\ndescriptor: {swizzle: 64B, stride: 512, base: 1}", "unknown key 'base'"},
        {5, "load: wgmma\ndescriptor: {swizzle: 64B, stride: 512}",
         "x.yaml:8:8: wants: wgmma reads no operand 'mma.m16n8k32.s8 A'; want one like"},
        {6, "", "needs the key 'address'"},
        {6, "address: lane $ 2", "x.yaml:6:15: expected an operator"},
        {7, "wants: mma.m16n8k32.s9 A", "x.yaml:7:8: wants: no operand is called 'mma.m16n8k32.s9 A'"},
        {7, "wants: mma.m16n8k32.s8 A\ntiles: {rows: 65}", "tiles.rows: 65 is not in 1 .. 64"},
        {7, "wants: mma.m16n8k32.s8 A\ntiles: {rows: 2}", "which takes 32 x 32 at a time"},
        {7, "wants: wgmma.n8k32.s8 B", "no operand is called 'wgmma.n8k32.s8 B'"},
        {7, "wants: mma.m16n8k16.s8 A", "ldmatrix.x4 moves 4 registers, and 1 x mma.m16n8k16.s8/A have 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct layout *l;
        struct error e = {""};
        cr_expect(!read_changed(rows[i].line, rows[i].text, &l, &e), "accepted: %s", rows[i].text);
        cr_expect(strstr(e.text, rows[i].want), "%s: \"%s\", want \"%s\"", rows[i].text, e.text, rows[i].want);
        layout_free(l);
    }
}

/* Expressions that have no value are errors of the file when it is proved. */
Test(prove_layout_text, expressions_without_a_value) {
    static const struct {
        unsigned line;
        const char *text, *want;
    } rows[] = {
        {6, "address: lane / (lane - 3)", "x.yaml:6:15: division by zero"},
        {6, "address: tid * 16", "x.yaml:6:10: 'tid' has no value; known: lane, g, t, warp"},
        {6, "address: register * 16", "x.yaml:6:10: 'register' has no value"},
        {6, "address: lane * 0x7fffffffffffffff * 2", "x.yaml:6:36: the result does not fit 64 bits"},
        {6, "address: lane * 0x10000000", "x.yaml:6:10: the address 1342177280 is far beyond shared memory"},
        {3, "memory: {at: col * 32 + byte}", "x.yaml:3:14: 'col' has no value; known: row, byte"},
        {3, "memory: {at: row * 0x100000000 + byte}", "the address 4294967296 is far beyond shared memory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct layout *l;
        struct statement s = {0};
        struct error e = {""};
        cr_assert(read_changed(rows[i].line, rows[i].text, &l, &e), "%s: %s", rows[i].text, e.text);
        cr_expect(!layout_prove(l, &s, &e) && strstr(e.text, rows[i].want), "%s: \"%s\", want \"%s\"", rows[i].text,
                  e.text, rows[i].want);
        statement_free(&s);
        layout_free(l);
    }
}

/* Mistakes that no fixture has. */
Test(prove_layout_text, mistakes) {
    static const struct {
        unsigned line;
        const char *text, *want;
    } rows[] = {
        {6, "address: lane % 16 * 48", "wrong half: bytes 0..15 of a row for bytes 16..31"},
        {6, "address: lane % 16 * 48 + lane / 16 * 16 - 48",
         "holds byte -48 of a plane of 768 bytes; mma wants row 0 k 0: out of the plane; row offset: every address is "
         "1 row too low"},
        {6, "address: lane % 16 * 48 + lane / 16 * 16 + 8",
         "misaligned 16-byte row; word offset: every address is 2 words (8 bytes) too high"},
        {6, "address: lane % 16 * 48 + lane / 16 * 16 + 3",
         "misaligned 16-byte row; byte offset: every address is 3 bytes too high"},
        {6, "address: (lane % 16) * 48 + lane / 16 * 16 + (lane == 5) * 48",
         "row offset: the address of lane 5 is 1 row too high"},
        {6, "address: (lane % 8 + (lane / 8 + 1) % 4 % 2 * 8) * 48 + (lane / 8 + 1) % 4 / 2 * 16",
         "matrices in the order 1 2 3 0"},
        {6, "address: lane % 8 * 48 + lane / 16 * 16", "matrix 1 is matrix 0 again"},
        {6, "address: xor(lane, 9) % 16 * 48 + lane / 16 * 16 + lane % 3 * 48",
         "lane 0's address is 432, 0 would be right"},
        {6, "address: lane % 16 * 48 + lane / 16 * 32",
         "word offset: the addresses of lanes 16..31 are 4 words (16 bytes) too high"},
        {5, "load: ldmatrix.x4.trans", "transposed once too often: the layout needs no .trans"},
        {3, "memory: {at: byte * 16 + row}",
         "no address is right: the 16 bytes that one address stands for do not lie together"},
        {3, "memory: {at: row * 32 + byte / 2}",
         "row 0 byte 0 and row 0 byte 1 of the matrix both lie at byte 0 of the plane"},
        {3, "memory: {at: row * 48 + byte - 1}",
         "row 0 byte 0 of the matrix lies at byte -1 of a plane of 768 bytes: out of the plane"},
        {3, "memory: {stride: 40}", "wrong stride: the addresses step 48 bytes a row, the rows lie 40 apart"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct layout *l;
        struct statement s = {0};
        struct error e = {""};
        cr_assert(read_changed(rows[i].line, rows[i].text, &l, &e), "%s: %s", rows[i].text, e.text);
        cr_assert(layout_prove(l, &s, &e), "%s: %s", rows[i].text, e.text);
        cr_expect(!s.proved && strstr(s.counterexample, rows[i].want), "%s: \"%s\", want \"%s\"", rows[i].text,
                  s.proved ? "(proved)" : s.counterexample, rows[i].want);
        statement_free(&s);
        layout_free(l);
    }
}
