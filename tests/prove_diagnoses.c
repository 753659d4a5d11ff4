/* What is said of a wrong layout is true of every wrong address: layouts of which something false was said once, or
 * nothing, in exactly these words. */
#include "../gpu/layout.h"
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(prove_diagnoses, .init = make_folder, .fini = remove_folder);

static char *counterexample(const char *text) {
    char *path = must_format("%s/x.yaml", run_folder);
    struct statement s = {0};
    struct error e = {""};
    put_file("x.yaml", text, strlen(text));
    struct layout *l = layout_read(path, &e);
    cr_assert(l && layout_prove(l, &s, &e), "%s\n%s", text, e.text);
    layout_free(l);
    free(path);
    char *said = must_strdup(s.proved ? "(proved)" : s.counterexample);
    statement_free(&s);
    return said;
}

static void expect_words(const char *text, const char *want) {
    char *said = counterexample(text);
    cr_expect(strcmp(said, want) == 0, "%s%s\nwant\n%s", text, said, want);
    free(said);
}

#define ROWS(rows, bytes, stride, plane)                                                                               \
    "layout: x\nmatrix: {rows: " #rows ", row_bytes: " #bytes "}\nmemory: {stride: " #stride                           \
    "}\nplane: {bytes: " #plane "}\n"
#define SWIZZLED(rows, bytes, swizzle, plane)                                                                          \
    "layout: x\nmatrix: {rows: " #rows ", row_bytes: " #bytes "}\nmemory: {stride: " #bytes ", swizzle: " swizzle      \
    "}\nplane: {bytes: " #plane "}\n"

/* A half is one only where an operand's row has 32 bytes, and it is the same half everywhere. */
Test(prove_diagnoses, halves) {
    expect_words(ROWS(64, 64, 80, 5120) "load: ldmatrix.x4\naddress: (tile_row + lane % 8) * stride + tile_byte\n"
                                        "wants: mma.m8n8k16.s8 A\ntiles: {columns: 4}\n",
                 "lane 0, register 1, byte 0 holds row 0 k 0; mma wants row 0 k 16: matrices 1, 2 and 3 are matrix 0 "
                 "again");
    expect_words(ROWS(64, 64, 80, 5120) "load: ldmatrix.x4\naddress: (tile_row + lane % 16) * 80 + tile_byte + lane / "
                                        "8 % 2 * 16\nwants: mma.m16n8k16.f16 A\n",
                 "lane 0, register 1, byte 0 holds row 8 k 8 byte 0; mma wants row 8 k 0 byte 0: matrix 2 is matrix 0 "
                 "again, matrix 1 is matrix 3 again");
    expect_words(ROWS(32, 128, 144, 4608) "load: ldmatrix.x4\naddress: (tile_row + lane % 8) * stride + tile_byte + "
                                          "lane / 16 * 16\nwants: mma.m16n8k16.f16 B\ntiles: {columns: 2}\n",
                 "lane 0, register 1, byte 0 holds n 0 k 0 byte 0; mma wants n 0 k 8 byte 0: matrices 1, 2, 3 have the "
                 "places of matrices 0, 1, 1");
    expect_words(ROWS(64, 64, 80, 5120) "load: ldmatrix.x4\naddress: (tile_row + lane % 16) * 80 + tile_byte\n"
                                        "wants: mma.m16n8k16.f16 A\n",
                 "lane 0, register 2, byte 0 holds row 0 k 0 byte 0; mma wants row 0 k 8 byte 0: wrong half: bytes "
                 "0..15 of a tile's row for bytes 16..31");
}

/* All that are repeated; and what the address does not follow. */
Test(prove_diagnoses, repetitions) {
    expect_words(ROWS(64, 64, 80, 5120) "load: ldmatrix.x4\naddress: (tile_row + lane % 8) * 80 + tile_byte + lane / "
                                        "16 * 16\nwants: mma.m16n8k16.f16 A\n",
                 "lane 0, register 1, byte 0 holds row 0 k 0 byte 0; mma wants row 8 k 0 byte 0: matrix 1 is matrix 0 "
                 "again, matrix 3 is matrix 2 again");
    expect_words(SWIZZLED(64, 32, "{bits: [4, 4], by: row, from: 2}",
                          2048) "load: ldmatrix.x4\naddress: (tile_row + row + matrix / 32 + 8) * 32 + xor(matrix % 2, "
                                "row / 4) * 16\n"
                                "wants: mma.m16n8k64.u4 B\ntiles: {rows: 2}\n",
                 "lane 0, register 0, byte 0 holds n 8 k 0..1; mma wants n 0 k 0..1: matrix 0 is matrix 2 again, "
                 "matrix 1 is matrix 3 again");
    expect_words(ROWS(64, 64, 80, 5120) "load: ldmatrix.x1\naddress: (tile_row + row) * 80 + tile_byte\n"
                                        "wants: mma.m16n8k16.f16 A\n",
                 "lane 0, register 1, byte 0 holds row 0 k 0 byte 0; mma wants row 8 k 0 byte 0: left out of the "
                 "address: step");
    expect_words(ROWS(64, 64, 80, 5120) "load: ldmatrix.x2\naddress: (tile_row + row + matrix * 8) * 80 + tile_byte + "
                                        "step / 2 * 16\nwants: mma.m16n8k16.f16 A\n",
                 "lane 0, register 2, byte 0 holds row 0 k 0 byte 0; mma wants row 0 k 8 byte 0: wrong half: bytes "
                 "0..15 of a tile's row for bytes 16..31");
    expect_words(ROWS(16, 64, 80, 1280) "load: ldmatrix.x2\naddress: (tile_row + row + matrix * 8) * 80 + step / 4 * "
                                        "16\nwants: mma.m16n8k16.f16 A\ntiles: {columns: 2}\n",
                 "lane 0, register 2, byte 0 holds row 0 k 0 byte 0; mma wants row 0 k 8 byte 0: without effect in "
                 "the address: step");
    expect_words(ROWS(16, 32, 48, 768) "load: ld.shared.b32\naddress: g * stride + t * 4\nwants: mma.m16n8k32.s8 A\n",
                 "lane 0, register 1, byte 0 holds row 0 k 0; mma wants row 8 k 0: left out of the address: register");
}

Test(prove_diagnoses, stores) {
    static const char store[] = "layout: x\nmatrix: {rows: 16, row_bytes: 32}\nmemory: {stride: 48}\nplane: {bytes: "
                                "768}\nstore: stmatrix.x4\naddress: %s\nwants: mma.m16n8k32.s8 A\n";
    static const char *const rows[][2] = {
        {"(lane % 8 + (matrix == 1) * 8) * 48 + lane / 16 * 16",
         "lane 0, register 3, byte 0 is mma's row 8 k 16 and goes to the place of row 0 k 16: matrix 3 has the place "
         "of "
         "matrix 2"},
        {"lane % 8 * 48 + lane / 16 * 16", "lane 0, register 1, byte 0 is mma's row 8 k 0 and goes to the place of row "
                                           "0 k 0: matrices 1, 3 have the places of matrices 0, 2"},
        {"lane % 16 * 48 + lane / 16 * 16 + (lane == 3) * 7 + (lane == 9) * 5",
         "lane 3 gives the address 151, no multiple of 16: misaligned 16-byte row; 144 would be right"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *text = must_format(store, rows[i][0]);
        expect_words(text, rows[i][1]);
        free(text);
    }
}

/* A cause is named where it is one. */
Test(prove_diagnoses, overlaps) {
    static const char slots[] = "layout: x\nmatrix: {rows: 32, row_bytes: 64}\nmemory: {stride: %s}\nplane: {bytes: "
                                "8192}\nload: ldmatrix.x4\naddress: lane\nwants: mma.m16n8k16.f16 A\n";
    static const char *const rows[][2] = {
        {"64, slot: {bytes: 32, stride: 1024}",
         "row 0 byte 32 and row 16 byte 0 of the matrix both lie at byte 1024 of the plane"},
        {"64, slot: {bytes: 32, stride: 16}", "row 0 byte 16 and row 0 byte 32 of the matrix both lie at byte 16 of "
                                              "the plane: the slot stride of 16 bytes is less than a slot's 32"},
        {"48", "row 0 byte 48 and row 1 byte 0 of the matrix both lie at byte 48 of the plane: the stride of 48 bytes "
               "is less than a row's 64"},
        {"64, swizzle: {bits: [4, 4], by: address, from: 4}",
         "row 0 byte 0 and row 0 byte 16 of the matrix both lie at byte 0 of the plane: the swizzle brings two places "
         "to one"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *text = must_format(slots, rows[i][0]);
        expect_words(text, rows[i][1]);
        free(text);
    }
    /* rows 32 bytes apart, whose slots lie 1040 apart: no two bytes at one place */
    char *text = must_format(slots, "32, slot: {bytes: 32, stride: 1040}"), *said = counterexample(text);
    cr_expect(!strstr(said, "both lie"), "%s", said);
    free(said);
    free(text);
}

/* A distance is said of the address, or of what it is before the swizzle. */
Test(prove_diagnoses, offsets) {
    expect_words(
        SWIZZLED(64, 128, "{bits: [5, 6], by: row, from: 0}",
                 8192) "store: st.shared.v2.b32\naddress: (16 * warp + g + register / 2 % 2 * 8) * stride + xor(1 + "
                       "tile_byte / 32 + register / 4, g % 4) * 32 + t * 8\nwants: wgmma.m64n32.f32 D\n",
        "warp 0 lane 0, register 0, byte 0 is wgmma's row 0 col 0 byte 0 and goes to the place of row 0 col 8 "
        "byte 0: word offset: before the swizzle every address is 8 words (32 bytes) too high");
    expect_words(SWIZZLED(64, 128, "128B", 8192) "load: ldmatrix.x4\naddress: xor((tile_row + lane % 16) * 128 + "
                                                 "tile_byte + lane / 16 * 8, lane % 8 * "
                                                 "16)\nwants: mma.m16n8k32.e4m3 A\n",
                 "lane 16 gives the address 8, no multiple of 16: misaligned 16-byte row; word offset: before the "
                 "swizzle the addresses of lanes 16..31 are 2 words (8 bytes) too low");
    expect_words("layout: x\nmatrix: {rows: 16, row_bytes: 64}\nmemory: {stride: 64, slot: {bytes: 32, stride: 1024}}\n"
                 "plane: {bytes: 2048}\nload: ldmatrix.x4\naddress: lane % 16 * 64 + tile_byte / 32 * 1024 + lane / 16 "
                 "* 16 + (lane / 16 == 0) * 16\nwants: mma.m16n8k16.f16 A\n",
                 "lane 0, register 0, byte 0 holds row 0 k 8 byte 0; mma wants row 0 k 0 byte 0: wrong half: bytes "
                 "16..31 of a tile's row for bytes 0..15");
    expect_words("layout: x\nmatrix: {rows: 16, row_bytes: 32}\nmemory: {stride: 48}\nplane: {bytes: 768, offset: 8}\n"
                 "load: ldmatrix.x4\naddress: lane % 16 * 48 + lane / 16 * 16\nwants: mma.m16n8k32.s8 A\n",
                 "lane 0 gives the address 8, no multiple of 16: misaligned 16-byte row; the plane begins at 8, no "
                 "multiple of 16");
}

Test(prove_diagnoses, swizzles) {
    expect_words(
        SWIZZLED(64, 128, "128B",
                 8192) "load: ldmatrix.x4\naddress: (tile_row + lane % 16) * 128 + xor(lane / 16, lane % 8) * 16 + "
                       "tile_byte\nwants: mma.m16n8k16.f16 A\n",
        "lane 8, register 0, byte 0 holds row 2 k 48 byte 0; mma wants row 2 k 16 byte 0: xor before the "
        "addition: swizzle(a) + tile_byte where swizzle(a + tile_byte) is wanted");
    expect_words(ROWS(64, 128, 128, 8192) "load: ldmatrix.x4\naddress: (tile_row + lane % 16) * 128 + xor(tile_byte / "
                                          "16 + lane / 16, lane % 8) * 16\nwants: mma.m16n8k16.f16 A\n",
                 "lane 4, register 0, byte 0 holds row 1 k 8 byte 0; mma wants row 1 k 0 byte 0: the address has an "
                 "xor (bits 4..6 by row bits from 0 on), the layout has none");
    expect_words(
        SWIZZLED(64, 128, "128B",
                 8192) "load: ldmatrix.x4\naddress: (tile_row + lane % 16) * 128 + xor(tile_byte, 0) + lane / 16 * 16\n"
                       "wants: mma.m16n8k16.f16 A\n",
        "lane 4, register 0, byte 0 holds row 1 k 8 byte 0; mma wants row 1 k 0 byte 0: the address is the "
        "one without a swizzle, the layout has one");
}

Test(prove_diagnoses, tiles) {
    expect_words(ROWS(32, 128, 144, 4608) "load: ldmatrix.x4\naddress: (tile_row + lane % 8) * stride + tile_byte + "
                                          "lane / 8 * 16\nwants: mma.m16n8k16.f16 B\ntiles: {rows: 2}\n",
                 "lane 0, register 2, byte 0 holds n 0 k 16 byte 0; mma wants n 8 k 0 byte 0: every address is right "
                 "for tiles: {rows: 1, columns: 2}");
}
