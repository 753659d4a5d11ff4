/* Pre-tokenisers: where byte-level BPE cuts a text before it merges. Each is a regular expression, tried at the end of
 * the last piece; the first alternative that matches is the next piece. Written out by hand below, because they need no
 * search: letters L, numbers N, punctuation P and white space \s are disjoint.
 *
 * gpt-2      's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 * qwen2      '[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|
 *             ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 * llama-bpe  the same with \p{N}{1,3} for \p{N}
 * default    llama.cpp's, of files that name none: cut out [\p{P}$+<=>^~|]+, cut the rest as gpt-2 does, then numbers
 *            from what goes before them, then each three digits [0-9]
 *
 * Source: the tokenizer files of these models; llama.cpp, where "default" is what it does without a name. Letters,
 * numbers and punctuation are those of the Unicode version of ref/unicode_classes.c. */
#include "tokenizer_parts.h"
#include "unicode_classes.h"
#include <string.h>

/* How many characters from `at` are of the class. */
static size_t run(const uint8_t *class, size_t n, size_t at, enum unicode_class which) {
    size_t end = at;
    while (end < n && class[end] == which)
        end++;
    return end - at;
}

/* How many are neither space nor letter nor number. */
static size_t run_of_others(const uint8_t *class, size_t n, size_t at) {
    size_t end = at;
    while (end < n && (class[end] == UNICODE_OTHER || class[end] == UNICODE_PUNCTUATION))
        end++;
    return end - at;
}

static bool is_newline(uint32_t c) {
    return c == '\r' || c == '\n';
}

/* 's 't 're 've 'm 'll 'd: characters of it, or 0. any_case: capitals of ASCII too. */
static size_t contraction(const uint32_t *c, size_t n, bool any_case) {
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (c[0] != '\'')
        return 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t length = strlen(endings[i]);
        size_t k = 0;
        while (k < length && k + 1 < n &&
               (c[k + 1] == (uint32_t)endings[i][k] || (any_case && c[k + 1] + 32 == (uint32_t)endings[i][k])))
            k++;
        if (k == length)
            return 1 + length;
    }
    return 0;
}

/* \s+(?!\S)|\s+ at a space: all of them at the end of the text; else all but the last, which goes with what follows. */
static size_t spaces(const uint8_t *class, size_t n) {
    const size_t k = run(class, n, 0, UNICODE_SPACE);
    return k < n && k > 1 ? k - 1 : k;
}

static size_t gpt2_piece(const uint32_t *c, const uint8_t *class, size_t n) {
    const size_t apostrophe = contraction(c, n, false);
    if (apostrophe > 0)
        return apostrophe;
    const size_t lead = c[0] == ' ' && n > 1 ? 1 : 0;
    switch ((enum unicode_class) class[lead]) {
    case UNICODE_LETTER:
    case UNICODE_NUMBER:
        return lead + run(class, n, lead, class[lead]);
    case UNICODE_OTHER:
    case UNICODE_PUNCTUATION:
        return lead + run_of_others(class, n, lead);
    case UNICODE_SPACE:
        break;
    }
    return spaces(class, n);
}

/* qwen2 and llama-bpe; digits: at most so many numbers are one piece. */
static size_t modern_piece(const uint32_t *c, const uint8_t *class, size_t n, size_t digits) {
    const size_t apostrophe = contraction(c, n, true);
    if (apostrophe > 0)
        return apostrophe;
    if (class[0] == UNICODE_LETTER)
        return run(class, n, 0, UNICODE_LETTER);
    if (class[0] == UNICODE_NUMBER)
        return run(class, n < digits ? n : digits, 0, UNICODE_NUMBER);
    if (!is_newline(c[0]) && n > 1 && class[1] == UNICODE_LETTER)
        return 1 + run(class, n, 1, UNICODE_LETTER);
    const size_t lead = c[0] == ' ' && n > 1 ? 1 : 0;
    size_t end = lead + run_of_others(class, n, lead);
    if (end > lead) {
        while (end < n && is_newline(c[end]))
            end++;
        return end;
    }
    const size_t blank = run(class, n, 0, UNICODE_SPACE);
    for (end = blank; end > 0; end--)
        if (is_newline(c[end - 1]))
            return end;
    return spaces(class, n);
}

static size_t qwen2_piece(const uint32_t *c, const uint8_t *class, size_t n) {
    return modern_piece(c, class, n, 1);
}

static size_t llama_piece(const uint32_t *c, const uint8_t *class, size_t n) {
    return modern_piece(c, class, n, 3);
}

static bool is_cut_out(uint32_t c, uint8_t class) {
    return class == UNICODE_PUNCTUATION || (c > 0 && c < 0x80 && strchr("$+<=>^~|", (int)c));
}

static bool is_digit(uint32_t c) {
    return c >= '0' && c <= '9';
}

/* Numbers at the start: three digits, or what goes before three digits, or all. */
static size_t default_number(const uint32_t *c, const uint8_t *class, size_t n) {
    size_t at = 0;
    for (; at < n && class[at] == UNICODE_NUMBER; at++)
        if (n - at >= 3 && is_digit(c[at]) && is_digit(c[at + 1]) && is_digit(c[at + 2]))
            return at > 0 ? at : 3;
    return at;
}

static size_t default_piece(const uint32_t *c, const uint8_t *class, size_t n) {
    size_t end = 0;
    while (end < n && is_cut_out(c[end], class[end]))
        end++;
    if (end > 0)
        return end;
    if (class[0] == UNICODE_NUMBER)
        return default_number(c, class, n);
    size_t piece = gpt2_piece(c, class, n);
    for (size_t i = 0; i < n && i < piece + 2; i++) /* as far as gpt2_piece looks; the text ends before a cut-out */
        if (is_cut_out(c[i], class[i])) {
            piece = gpt2_piece(c, class, i);
            break;
        }
    return class[piece - 1] == UNICODE_NUMBER ? 1 : piece; /* the space before a number is by itself */
}

static const struct pre_tokenizer pre_tokenizers[] = {
    {"gpt-2", gpt2_piece, false, false},
    {"qwen2", qwen2_piece, false, false},
    {"llama-bpe", llama_piece, true, true},
    {"default", default_piece, false, false},
};

const struct pre_tokenizer *pre_tokenizer_named(const uint8_t *name, size_t length) {
    for (size_t i = 0; i < sizeof pre_tokenizers / sizeof *pre_tokenizers; i++)
        if (strlen(pre_tokenizers[i].name) == length && memcmp(pre_tokenizers[i].name, name, length) == 0)
            return &pre_tokenizers[i];
    return NULL;
}

const char *pre_tokenizer_names(void) {
    return "gpt-2, qwen2, llama-bpe, default";
}
