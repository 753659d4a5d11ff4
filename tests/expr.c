/* gpu/expr.c: values, precedence, every overflow, and the place of every complaint. */
#include "../gpu/expr.h"
#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct shape_value values[] = {{"n", 10},          {"m", -3},          {"z", 0},
                                            {"top", INT64_MAX}, {"low", INT64_MIN}, {"nt_2", 7}};
static const struct shape shape = {values, sizeof values / sizeof *values};

Test(expr, values) {
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"12", 12},
        {"0", 0},
        {"0x1f", 31},
        {"0xFF", 255},
        {"-5", -5},
        {"--5", 5},
        {"- - n", 10},
        {" n ", 10},
        {"n+m", 7},
        {"n-m-z", 13},
        {"10 - 4 - 3", 3},
        {"2 + 3 * 4", 14},
        {"(2 + 3) * 4", 20},
        {"100 / 7 / 2", 7},
        {"2 * 7 / 3", 4},
        {"-7 / 2", -3},
        {"7 / -2", -3},
        {"-7 % 3", -1},
        {"7 % -3", 1},
        {"-n % 3", -1},
        {"2 * -n", -20},
        {"ceil(n, 3)", 4},
        {"ceil(9, 3)", 3},
        {"ceil(1, 128)", 1},
        {"ceil(0, 128)", 0},
        {"ceil(-7, 2)", -3},
        {"ceil(low, 1)", INT64_MIN},
        {"ceil(top, 2)", 4611686018427387904},
        {"min(3, n, m)", -3},
        {"max(3, n, m)", 10},
        {"max (1,2)", 2},
        {"min(max(n, 20), ceil(100, 3))", 20},
        {"xor(12, 10)", 6},
        {"xor(-1, 5, 1)", -5},
        {"n == 10", 1},
        {"n != 10", 0},
        {"n < 10", 0},
        {"n <= 10", 1},
        {"n > m", 1},
        {"n >= 11", 0},
        {"n % 5 == 0", 1},
        {"1 + 1 == 2", 1},
        {"(1 < 2) == 1", 1},
        {"n == 1 or m == -3", 1},
        {"n == 10 and m == 3", 0},
        {"1 or 0 and 0", 1}, /* and binds tighter */
        {"5 and 7", 1},
        {"0 or 7", 1},
        {"z != 0 and 1 / z == 1", 0}, /* the right side is not evaluated */
        {"z == 0 or 1 / z == 1", 1},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"-0x8000000000000000", INT64_MIN},
        {"low % -1", 0},
        {"top + m", 9223372036854775804},
        {"nt_2 * 128*128*n / 4096", 280},
        {"n -1", 9},
        {"n\t* 2", 20},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        int64_t value = 0;
        struct spec_expr *x = expr_parse(cases[i].text, &e);
        cr_assert(x, "%s: %s", cases[i].text, e.text);
        cr_expect(expr_eval(x, &shape, &value, &e), "%s: %s", cases[i].text, e.text);
        cr_expect(value == cases[i].value, "%s is %lld, not %lld", cases[i].text, (long long)cases[i].value,
                  (long long)value);
        cr_expect(strcmp(expr_text(x), cases[i].text) == 0, "%s: text is kept as %s", cases[i].text, expr_text(x));
        expr_free(x);
    }
}

/* Text, caret (bytes from the start of the text), message. Found while parsing, or else while evaluating. */
Test(expr, complaints) {
    static const struct {
        bool parses;
        const char *text;
        size_t caret;
        const char *message;
    } cases[] = {
        {true, "1 / z", 2, "division by zero"},
        {true, "(n) % (z * 2)", 4, "division by zero"},
        {true, "low / -1", 4, "the result does not fit 64 bits"},
        {true, "-low", 0, "the result does not fit 64 bits"},
        {true, "1 + top", 2, "the result does not fit 64 bits"},
        {true, "low - 1", 4, "the result does not fit 64 bits"},
        {true, "m - top * 2", 8, "the result does not fit 64 bits"},
        {true, "ceil(n, z)", 0, "ceil(a, b) needs b > 0, and b is 0"},
        {true, "1 + ceil(n, m)", 4, "ceil(a, b) needs b > 0, and b is -3"},
        {true, "n + od", 4, "'od' has no value; known: n, m, z, top, low, nt_2"},
        {true, "z or 1 / z", 7, "division by zero"},
        {false, "", 0, "expected a value, but the expression ends"},
        {false, "n + ", 4, "expected a value, but the expression ends"},
        {false, "(n", 2,
         "expected ')', but the expression ends; a comma inside [...] or {...} needs quotes around the expression"},
        {false, "n)", 1, "expected an operator, found ')'"},
        {false, "n ** 2", 3, "expected a value, found '*'"},
        {false, "1 < 2 < 3", 6, "comparisons do not chain: join two with 'and'"},
        {false, "n == == 1", 5, "expected a value, found '=='"},
        {false, "n = 1", 2, "'=' is written '=='"},
        {false, "n || 1", 2, "|| is written 'or'"},
        {false, "!n", 0, "there is no '!': compare with == 0"},
        {false, "n ! 2", 2, "there is no '!': compare with == 0"},
        {false, "not n", 0, "there is no 'not': compare with == 0"},
        {false, "010", 0, "'010' has a leading zero; decimal or 0x"},
        {false, "n + 12ab", 4, "'12ab' is not an integer"},
        {false, "0X10", 0, "'0X10' is not an integer"},
        {false, "1.5", 1, "numbers are integers: no '.'"},
        {false, "9223372036854775808", 0, "'9223372036854775808' does not fit 64 bits"},
        {false, "-9223372036854775809", 1, "'-9223372036854775809' does not fit 64 bits"},
        {false, "99999999999999999999999", 0, "'99999999999999999999999' does not fit 64 bits"},
        {false, "n + Od", 4, "names are lower case: a-z, 0-9 and _"},
        {false, "and", 0, "expected a value, found 'and'"},
        {false, "n and or m", 6, "expected a value, found 'or'"},
        {false, "n andm", 2, "expected an operator, found 'andm'"},
        {false, "min(n)", 5, "expected ',' and a second argument, found ')'"},
        {false, "max()", 4, "expected a value, found ')'"},
        {false, "ceil(1, 2, 3)", 9, "expected ')' after two arguments, found ','"},
        {false, "min(1, 2", 8,
         "expected ',' or ')', but the expression ends; a comma inside [...] or {...} needs quotes around the "
         "expression"},
        {false, "mix(1, 2)", 0, "there is no function 'mix'; there are ceil, min, max and xor; did you mean 'min'?"},
        {false, "n $ 2", 2, "expected an operator, found '$'"},
        {false, "n \xc3\xb7 2", 2, "expected an operator, found '\xc3\xb7'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        int64_t value = 0;
        struct spec_expr *x = expr_parse(cases[i].text, &e);
        cr_expect(!x == !cases[i].parses, "%s: %s", cases[i].text, x ? "was accepted" : e.text);
        if (x)
            cr_expect(!expr_eval(x, &shape, &value, &e), "%s: has the value %lld", cases[i].text, (long long)value);
        char *want = must_format("%s\n  %s\n  %*s^", cases[i].message, cases[i].text, (int)cases[i].caret, "");
        cr_expect(strcmp(e.text, want) == 0, "%s: got\n%s\nwant\n%s", cases[i].text, e.text, want);
        free(want);
        expr_free(x);
    }
}

/* prefix repeated, then middle, then suffix repeated. */
static char *nested(const char *prefix, int depth, const char *middle, const char *suffix) {
    char *text = must_calloc(strlen(middle) + 1 + (size_t)depth * (strlen(prefix) + strlen(suffix)), 1);
    for (int i = 0; i < depth; i++)
        strcat(text, prefix);
    strcat(text, middle);
    for (int i = 0; i < depth; i++)
        strcat(text, suffix);
    return text;
}

Test(expr, depth_and_length) {
    static const struct {
        const char *prefix, *middle, *suffix, *message;
        int depth;
    } cases[] = {
        {"(", "1", ")", NULL, 64},
        {"(", "1", ")", "nested deeper", 65},
        {"(", "", "", "nested deeper", 900},
        {"-", "n", "", NULL, 64},
        {"-", "n", "", "nested deeper", 65},
        {"max(1,", "2", ")", NULL, 64},
        {"max(1,", "2", ")", "nested deeper", 65},
        {"1+", "1", "", NULL, 499}, /* a long chain is not deep */
        {"1 and ", "1", "", NULL, 160},
        {"1+", "1", "", "longer than", 500},
        {"n", "", "", NULL, 1},
        {"n", "", "", "a name longer", 65},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        int64_t value;
        char *text = nested(cases[i].prefix, cases[i].depth, cases[i].middle, cases[i].suffix);
        struct spec_expr *x = expr_parse(text, &e);
        cr_expect(!x == !!cases[i].message, "%d of %s: %s", cases[i].depth, cases[i].prefix, x ? "accepted" : e.text);
        if (x)
            cr_expect(expr_eval(x, &shape, &value, &e), "%d of %s: %s", cases[i].depth, cases[i].prefix, e.text);
        else
            cr_expect(strstr(e.text, cases[i].message), "%d of %s: %s", cases[i].depth, cases[i].prefix, e.text);
        expr_free(x);
        free(text);
    }
}

Test(expr, names) {
    struct error e = {""};
    struct spec_expr *x = expr_parse("ceil(nt, 128) * tiles", &e);
    cr_assert(x, "%s", e.text);
    static const struct {
        const char *name;
        bool used;
    } uses[] = {{"nt", true}, {"tiles", true}, {"n", false}, {"tile", false}, {"tiles_", false}, {"ceil", false}};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        cr_expect(expr_uses(x, uses[i].name) == uses[i].used, "%s", uses[i].name);
    expr_free(x);
    static const char *const good[] = {"n", "_", "nt", "a9", "z_1"}, *const bad[] = {"",     "9",   "N",  "a-b",
                                                                                     "a b",  "and", "or", "not",
                                                                                     "ceil", "min", "max"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_expect(expr_is_name(good[i]), "'%s' is a name", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect(!expr_is_name(bad[i]), "'%s' is no name", bad[i]);
}

/* Every text of up to 40 random tokens ends in a value or in a complaint whose caret is within the text. */
Test(expr, random_tokens) {
    static const char *const tokens[] = {"n",  "m", "z",    "top",  "low",  "1",  "0x10", "9223372036854775807",
                                         "+",  "-", "*",    "/",    "%",    "(",  ")",    "ceil(",
                                         "==", "<", "and",  "or",   "min(", ",",  " ",    "max(",
                                         "=",  "!", "\xff", "foo(", "A",    "-1", ">=",   "!="};
    uint64_t state = 1;
    size_t accepted = 0;
    for (int i = 0; i < 20000; i++) {
        char text[1024] = "";
        state = state * 6364136223846793005u + 1442695040888963407u;
        for (uint64_t left = 1 + (state >> 40) % 12; left > 0; left--) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            strcat(text, tokens[(state >> 33) % (sizeof tokens / sizeof *tokens)]);
        }
        struct error e = {""};
        int64_t value;
        struct spec_expr *x = expr_parse(text, &e);
        bool ok = x && expr_eval(x, &shape, &value, &e);
        cr_expect(ok || e.text[0], "%s: refused without a word", text);
        accepted += ok;
        expr_free(x);
    }
    cr_expect(accepted > 100, "only %zu texts had a value: the test tests little", accepted);
}
