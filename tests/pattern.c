/* Words for sets of wrong cells. */
#include "../oracles/pattern.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static uint8_t grid[300 * 300];

static void set(size_t n0, size_t n1, bool (*wrong)(size_t i, size_t j)) {
    for (size_t i = 0; i < n0; ++i) {
        for (size_t j = 0; j < n1; ++j) {
            grid[i * n1 + j] = wrong(i, j);
        }
    }
}

static bool rows_from_16(size_t i, size_t j) {
    return (void)i, j >= 16;
}
static bool odd_rows(size_t i, size_t j) {
    return (void)i, j % 2 == 1;
}
static bool second_half(size_t i, size_t j) {
    return (void)i, j % 16 >= 8;
}
static bool one(size_t i, size_t j) {
    return i == 3 && j == 5;
}
static bool last_row(size_t i, size_t j) {
    return (void)i, j == 69;
}
static bool tile_two(size_t i, size_t j) {
    return (void)j, i >= 128;
}
static bool box(size_t i, size_t j) {
    return i >= 128 && j >= 128;
}
static bool everything(size_t i, size_t j) {
    return (void)i, (void)j, true;
}
static bool most_from_16(size_t i, size_t j) {
    return (void)i, j >= 16 && (j * j) % 3 != 0;
}
static bool rows_16_mod_128(size_t i, size_t j) {
    return (void)i, j % 128 >= 16;
}

static void expect(size_t n0, size_t n1, bool (*wrong)(size_t, size_t), const char *text, const char *suspect) {
    set(n0, n1, wrong);
    struct pattern p = pattern_of(grid, n0, n1, "token", "row", true);
    cr_expect(strcmp(p.text, text) == 0, "got \"%s\", want \"%s\"", p.text, text);
    cr_expect(suspect == NULL ? p.suspects == NULL : p.suspects != NULL && strstr(p.suspects, suspect) != NULL,
              "suspects of \"%s\": \"%s\", want \"%s\"", text, p.suspects ? p.suspects : "(none)",
              suspect ? suspect : "(none)");
    free(p.text);
}

Test(pattern, names_rows_and_tokens) {
    expect(33, 70, rows_from_16, "1782 of 2310 wrong: every row >= 16; rows 0..15 right", "per-warp offset");
    expect(33, 70, odd_rows, "1155 of 2310 wrong: every row with row mod 2 = 1", "pair");
    expect(33, 70, second_half, "1056 of 2310 wrong: every row with row mod 16 >= 8; the others right", "second half");
    expect(33, 70, one, "1 of 2310 wrong: token 3, row 5 alone", NULL);
    expect(33, 70, last_row, "33 of 2310 wrong: row 69 alone", "tail");
    expect(257, 70, tile_two, "9030 of 17990 wrong: every token >= 128; tokens 0..127 right", "second tile");
    expect(129, 129, box, "1 of 16641 wrong: token 128, row 128 alone", "tail");
    expect(33, 70, most_from_16, "1188 of 2310 wrong: 36 of the rows >= 16; rows 0..15 right", "per-warp offset");
    expect(33, 70, everything, "all 2310 cells wrong", NULL);
    expect(5, 257, rows_16_mod_128, "1120 of 1285 wrong: every row with row mod 128 >= 16; the others right",
           "per-warp offset");
}

Test(pattern, counts_the_cells_of_a_partial_box) {
    memset(grid, 0, sizeof grid);
    grid[0 * 10 + 2] = grid[1 * 10 + 3] = 1; /* two of the four cells of tokens 0..1 x rows 2..3 */
    struct pattern p = pattern_of(grid, 4, 10, "token", "row", true);
    cr_expect(strstr(p.text, "2 of the 4 cells there") != NULL, "got \"%s\"", p.text);
    free(p.text);
}

Test(pattern, plain_sequences) {
    memset(grid, 0, sizeof grid);
    grid[7] = 1;
    struct pattern p = pattern_of(grid, 10, 1, "cell", NULL, true);
    cr_expect(strcmp(p.text, "1 of 10 wrong: cell 7") == 0, "got \"%s\"", p.text);
    free(p.text);
}

/* Without an mma no pattern is laid to its fragments; other mistakes are named as ever. */
Test(pattern, fragments_only_where_there_are_some) {
    memset(grid, 0, sizeof grid);
    memset(grid + 8, 1, 8);
    struct pattern with = pattern_of(grid, 16, 1, "cell", NULL, true),
                   none = pattern_of(grid, 16, 1, "cell", NULL, false);
    cr_expect(with.suspects != NULL && strstr(with.suspects, "16-row fragment") != NULL && none.suspects == NULL);
    cr_expect_str_eq(with.text, none.text);
    free(with.text);
    free(none.text);
    memset(grid, 0, sizeof grid);
    for (size_t i = 0; i < 16; ++i) {
        grid[i] = i % 2;
    }
    none = pattern_of(grid, 16, 1, "cell", NULL, false);
    cr_expect(none.suspects != NULL && strstr(none.suspects, "one element of a pair") != NULL);
    free(none.text);
}

static void rule(const size_t *from, const size_t *to, size_t n, const char *want) {
    char *text = pattern_rule(from, to, n, "j");
    cr_expect(want == NULL ? text == NULL : text != NULL && strcmp(text, want) == 0, "got \"%s\", want \"%s\"",
              text ? text : "(none)", want ? want : "(none)");
    free(text);
}

Test(pattern, finds_the_rule_of_a_map) {
    rule((size_t[]){16, 17, 40}, (size_t[]){0, 1, 8}, 3, "j mod 16");
    rule((size_t[]){16, 17, 40}, (size_t[]){17, 18, 41}, 3, "j + 1");
    rule((size_t[]){16, 17, 40}, (size_t[]){12, 13, 36}, 3, "j - 4");
    rule((size_t[]){16, 17, 40}, (size_t[]){17, 16, 41}, 3, "j xor 1");
    rule((size_t[]){16, 17, 40}, (size_t[]){0, 0, 0}, 3, "0");
    rule((size_t[]){16, 17, 40}, (size_t[]){3, 9, 1}, 3, NULL);
}
