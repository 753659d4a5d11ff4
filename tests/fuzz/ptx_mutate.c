/* How the fuzzer of the PTX machine changes a text: by words, modifiers and lines, so that most results still parse.
 * fuzz_words.inc (modifiers, opcodes: the strings of the decoder) and fuzz_lines.inc (instructions of docs/machine.md)
 * are made by ci/fuzz-ptx. */
#include "../../ref/random.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const bank_words[] = {
#include "fuzz_words.inc"
};
static const char *const bank_lines[] = {
#include "fuzz_lines.inc"
};
static const char *const numbers[] = {"0",
                                      "1",
                                      "2",
                                      "3",
                                      "-1",
                                      "4",
                                      "7",
                                      "8",
                                      "15",
                                      "16",
                                      "31",
                                      "32",
                                      "33",
                                      "64",
                                      "63",
                                      "128",
                                      "255",
                                      "256",
                                      "1024",
                                      "4095",
                                      "65535",
                                      "65536",
                                      "0x7fffffff",
                                      "0x80000000",
                                      "-32768",
                                      "0xffffffff",
                                      "-2147483648",
                                      "0xfffffff0",
                                      "1099511627776",
                                      "0x7fffffffffffffff",
                                      "0f3F800000",
                                      "0f7FC00000",
                                      "0fFF800000",
                                      "0f00000001",
                                      "0d3FF0000000000000",
                                      "1.5"};
#define COUNT(a) (sizeof(a) / sizeof *(a))

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t most, unsigned seed);

static struct random_stream dice;

static size_t below(size_t n) {
    return n ? random_below(&dice, (uint32_t)n) : 0;
}

struct text {
    char *p;
    size_t n, room;
};

struct piece {
    size_t at, n;
};

/* `n` bytes instead of those of x. Nothing when there is no room. `by` may lie in the text. */
static void put(struct text *t, struct piece x, const char *by, size_t n) {
    static char kept[1 << 16];
    if (n > sizeof kept || t->n - x.n + n > t->room)
        return;
    memcpy(kept, by, n);
    memmove(t->p + x.at + n, t->p + x.at + x.n, t->n - x.at - x.n);
    memcpy(t->p + x.at, kept, n);
    t->n += n - x.n;
}

static bool in_word(char c) {
    return isalnum((unsigned char)c) || c == '%' || c == '$' || c == '_' || c == '.';
}

/* A word at or behind a place: letters, digits, and the marks of names and modifiers. n = 0: there is none. */
static struct piece word_at(const struct text *t, size_t at) {
    at = at < t->n ? at : t->n;
    while (at && at < t->n && in_word(t->p[at]) && in_word(t->p[at - 1]))
        --at;
    while (at < t->n && !in_word(t->p[at]))
        ++at;
    struct piece x = {at, 0};
    while (at + x.n < t->n && in_word(t->p[at + x.n]))
        ++x.n;
    return x;
}

static struct piece some_word(const struct text *t) {
    return word_at(t, below(t->n));
}

/* `count` lines at or around a place, with their ends. */
static struct piece lines_at(const char *p, size_t n, size_t at, size_t count) {
    while (at && p[at - 1] != '\n')
        --at;
    struct piece x = {at, 0};
    for (; count && at + x.n < n; ++x.n)
        count -= p[at + x.n] == '\n';
    return x;
}

/* Registers by their kind, numbers, everything else. */
static int kind_of(const char *p, size_t n) {
    if (!n)
        return 0;
    if (p[0] == '%')
        return n > 2 && isalpha((unsigned char)p[2]) ? 256 + p[1] + p[2] : 256 + p[1 % n];
    return isdigit((unsigned char)p[0]) ? '0' : p[0] == '.' ? '.' : isupper((unsigned char)p[0]) ? 'A' : 'a';
}

static void other_word(struct text *t) {
    const struct piece x = some_word(t);
    for (int tries = 0; tries < 32; ++tries) {
        const struct piece y = some_word(t);
        if (kind_of(t->p + x.at, x.n) != kind_of(t->p + y.at, y.n))
            continue;
        put(t, x, t->p + y.at, y.n);
        return;
    }
}

static void other_number(struct text *t) {
    struct piece x = some_word(t);
    for (int tries = 0; tries < 32 && kind_of(t->p + x.at, x.n) != '0'; ++tries)
        x = some_word(t);
    const char *by = numbers[below(COUNT(numbers))];
    put(t, x, by, strlen(by));
}

/* A modifier becomes another one, goes, or gets one more behind it; the same with a whole word. */
static void other_modifier(struct text *t) {
    struct piece x = some_word(t);
    const char *by = bank_words[below(COUNT(bank_words))];
    size_t first = x.n;
    for (size_t i = 1 + below(x.n); i < x.n; ++i)
        if (t->p[x.at + i] == '.') {
            first = i;
            break;
        }
    if (first == x.n) {
        if (!below(4))
            put(t, x, by, strlen(by));
        return;
    }
    size_t n = 1;
    while (first + n < x.n && t->p[x.at + first + n] != '.')
        ++n;
    const unsigned what = (unsigned)below(4);
    if (what == 0)
        put(t, (struct piece){x.at + first, n}, "", 0);
    else if (what == 1) {
        put(t, (struct piece){x.at + first + 1, 0}, ".", 1);
        put(t, (struct piece){x.at + first + 1, 0}, by, strlen(by));
    } else
        put(t, (struct piece){x.at + first + 1, n - 1}, by, strlen(by));
}

static void swap_words(struct text *t) {
    struct piece x = some_word(t);
    const struct piece y = word_at(t, x.at + x.n + below(30));
    char kept[64];
    if (x.n > sizeof kept || y.at < x.at + x.n)
        return;
    memcpy(kept, t->p + x.at, x.n);
    const size_t x_bytes = x.n, before = t->n;
    put(t, x, t->p + y.at, y.n);
    put(t, (struct piece){y.at + (t->n - before), y.n}, kept, x_bytes);
}

static void copy_lines(struct text *t, const char *from, size_t from_n, size_t count) {
    const struct piece x = lines_at(from, from_n, below(from_n), 1 + below(count));
    put(t, (struct piece){lines_at(t->p, t->n, below(t->n), 1).at, 0}, from + x.at, x.n);
}

static void known_line(struct text *t) {
    const char *by = bank_lines[below(COUNT(bank_lines))];
    const size_t at = lines_at(t->p, t->n, below(t->n), 1).at;
    put(t, (struct piece){at, 0}, "\n", 1);
    put(t, (struct piece){at, 0}, by, strlen(by));
}

static void guard_line(struct text *t) {
    static const char *const guards[] = {"@%p1 ", "@!%p1 ", "@%p2 ", "@!%p3 "};
    const size_t at = lines_at(t->p, t->n, below(t->n), 1).at;
    put(t, (struct piece){at, 0}, guards[below(COUNT(guards))], strlen(guards[0]));
}

/* The digits behind the last "//". */
static void other_launch(struct text *t) {
    char digits[24];
    size_t at = t->n;
    while (at && isxdigit((unsigned char)t->p[at - 1]))
        --at;
    const bool there = at >= 2 && t->p[at - 1] == '/' && t->p[at - 2] == '/';
    const uint64_t high = random_u32(&dice), low = random_u32(&dice);
    const int n = snprintf(digits, sizeof digits, "//%llx", (unsigned long long)(high << 32 | low));
    const size_t from = there ? at - 2 : t->n;
    put(t, (struct piece){from, t->n - from}, digits, (size_t)n);
}

static void change(struct text *t) {
    switch (below(20)) {
    case 0:
        t->n = LLVMFuzzerMutate((uint8_t *)t->p, t->n, t->room);
        break;
    case 1:
    case 2:
        other_launch(t);
        break;
    case 3:
    case 4:
    case 5:
    case 6:
        other_word(t);
        break;
    case 7:
    case 8:
        other_number(t);
        break;
    case 9:
    case 10:
    case 11:
        other_modifier(t);
        break;
    case 12:
        swap_words(t);
        break;
    case 13:
        put(t, lines_at(t->p, t->n, below(t->n), 1 + below(3)), "", 0);
        break;
    case 14:
        copy_lines(t, t->p, t->n, 4);
        break;
    case 15:
        guard_line(t);
        break;
    default:
        known_line(t);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    dice = random_open(seed, 0);
    struct text t = {(char *)data, size, most};
    do
        change(&t);
    while (below(3));
    return t.n;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t most, unsigned seed) {
    dice = random_open(seed, 0);
    struct text t = {(char *)out, a_size < most ? a_size : most, most};
    memcpy(out, a, t.n);
    copy_lines(&t, (const char *)b, b_size, 12);
    return t.n;
}
