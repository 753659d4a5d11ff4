/* Rules for maps of indices and of elements, and words for where they hold. */
#include "../oracles/element_rule.h"
#include "../oracles/index_rule.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct index_pair pairs[256];

static void expect_rule(size_t n, long long (*to)(long long i), const char *text) {
    struct index_rule r;
    size_t wrong, right;
    for (size_t i = 0; i < n; ++i) {
        pairs[i] = (struct index_pair){i, (size_t)to((long long)i), 1};
    }
    cr_assert(index_rule_find(pairs, n, &r, &wrong, &right), "no rule for %s", text);
    char *got = index_rule_text(&r, "j");
    cr_expect_str_eq(got, text, "got \"%s\", want \"%s\"", got, text);
    free(got);
}

static long long mod_16(long long i) {
    return i % 16;
}
static long long next(long long i) {
    return i + 1;
}
static long long xor_16(long long i) {
    return i ^ 16;
}
static long long first_of_two(long long i) {
    return i & ~1;
}
static long long middle_dropped(long long i) {
    return i & ~0x30;
}
static long long next_of_8(long long i) {
    return i / 8 * 8 + (i + 1) % 8;
}
static long long bits_exchanged(long long i) {
    return (i & ~24) | (i & 8) << 1 | (i & 16) >> 1;
}
static long long constant(long long i) {
    return (void)i, 3;
}
static long long second_of_two(long long i) {
    return i | 1;
}
static long long divided(long long i) {
    return i / 16;
}

Test(probe_rules, of_indices) {
    expect_rule(70, mod_16, "j mod 16");
    expect_rule(70, next, "j + 1");
    expect_rule(64, xor_16, "j xor 16");
    expect_rule(70, first_of_two, "j - j mod 2");
    expect_rule(128, middle_dropped, "j without its bits of 48 (0x30)");
    expect_rule(64, next_of_8, "j + 1 within each 8");
    expect_rule(64, bits_exchanged, "j with its bits of 8 and 16 exchanged");
    expect_rule(70, constant, "3");
    expect_rule(70, second_of_two, "j or 1");
    expect_rule(70, divided, "j div 16");
}

Test(probe_rules, take_most_and_leave_the_rest) {
    struct index_rule r;
    size_t wrong, right;
    for (size_t i = 0; i < 64; ++i) {
        pairs[i] = (struct index_pair){i, i < 16 ? i : i < 60 ? i % 16 : 63 - i, 1};
    }
    cr_expect(index_rule_find(pairs, 64, &r, &wrong, &right) && r.kind == RULE_MOD && r.a == 16 && wrong == 44 &&
              right == 16);
    for (size_t i = 0; i < 64; ++i) {
        pairs[i].to = i;
    }
    cr_expect(!index_rule_find(pairs, 64, &r, &wrong, &right) && !index_rule_find(pairs, 0, &r, &wrong, &right));
    r = index_rule_of_pair(128, 0);
    cr_expect(r.kind == RULE_MOD && r.a == 128);
    r = index_rule_of_pair(5, 6);
    cr_expect(index_rule_apply(&r, 5) == 6);
}

static void expect_axis(const char *states, const char *text) {
    unsigned char state[256];
    const size_t n = strlen(states);
    for (size_t i = 0; i < n; ++i) {
        state[i] = states[i] == '#' ? AXIS_WRONG : states[i] == '.' ? AXIS_RIGHT : AXIS_UNSEEN;
    }
    char *got = axis_words(state, n, "row");
    cr_expect(text == NULL ? got == NULL : got != NULL && strcmp(got, text) == 0, "%s: got \"%s\", want \"%s\"", states,
              got ? got : "(all)", text ? text : "(all)");
    free(got);
}

Test(probe_rules, words_for_an_axis) {
    expect_axis("########", NULL);
    expect_axis("##  # ##", NULL); /* of those looked at */
    expect_axis("........", NULL);
    expect_axis("....####", "rows 4..7");
    expect_axis("...#....", "row 3");
    expect_axis(".#.#.#.#", "odd rows");
    expect_axis("#.#.#.#.", "even rows");
    expect_axis("..##..##..##..##", "rows with row mod 4 in 2..3");
    expect_axis(".#......#..#....", "3 of 16 rows, first 1, last 11");
    cr_expect(axis_is_rule("rows 4..7") && axis_is_rule(NULL) && !axis_is_rule("3 of 16 rows, first 1, last 11"));
}

static void expect_element(size_t n, long long (*of)(long long i), const char *text) {
    struct element_point points[256];
    struct element_rule r;
    size_t covered;
    for (size_t i = 0; i < n; ++i) {
        points[i] = (struct element_point){i, (size_t)of((long long)i)};
    }
    cr_assert(element_rule_find(points, n, &r, &covered) && covered == n, "no rule for %s", text);
    char *got = element_rule_text(&r);
    cr_expect_str_eq(got, text, "got \"%s\", want \"%s\"", got, text);
    free(got);
}

static long long same(long long i) {
    return i;
}
static long long fourth(long long i) {
    return 4 * i + 1;
}
static long long div_64(long long i) {
    return i / 64;
}
static long long backwards(long long i) {
    return 199 - i;
}
static long long turned(long long i) {
    return (i + 5) % 64;
}
static long long transposed(long long i) {
    return i % 20 * 10 + i / 20;
}
static long long pitched(long long i) {
    return i / 20 * 32 + i % 20;
}
static long long folded(long long i) {
    return i / 32 * 16 + i % 16;
}
static long long each_backwards(long long i) {
    return i / 32 * 32 + 31 - i % 32;
}

Test(probe_rules, of_elements) {
    expect_element(200, same, "i");
    expect_element(200, fourth, "4 * i + 1");
    expect_element(200, div_64, "i div 64");
    expect_element(200, backwards, "199 - i");
    expect_element(200, turned, "(i + 5) mod 64");
    expect_element(200, transposed, "(i mod 20) * 10 + i div 20");
    expect_element(200, pitched, "(i div 20) * 32 + i mod 20");
    expect_element(96, folded, "(i div 32) * 16 + i mod 16");
    expect_element(64, each_backwards, "i xor 31");
    expect_element(200, constant, "3");
}
