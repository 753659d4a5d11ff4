/* Text to token ids, the slow way: every pair is looked at before every merge, user-defined tokens are searched for one
 * by one, and pre-tokenisers are their regular expressions, run by a backtracking matcher. */
#include "independent.h"
#include <stdlib.h>
#include <string.h>

/* ---- the vocabulary ---- */

static int compare(const uint8_t *a, size_t a_length, const uint8_t *b, size_t b_length) {
    const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int by_text(const void *a, const void *b, void *context) {
    const struct independent_token *token = context, *x = &token[*(const uint32_t *)a],
                                   *y = &token[*(const uint32_t *)b];
    return compare(x->text, x->length, y->text, y->length);
}

void independent_sort_tokens(struct independent_tokenizer *t) {
    t->order = malloc((t->size + 1) * sizeof *t->order);
    t->ordered = 0;
    for (uint32_t id = 0; id < t->size; id++)
        if (t->token[id].type == 1 || (t->byte_level && t->token[id].type == 4))
            t->order[t->ordered++] = id;
    qsort_r(t->order, t->ordered, sizeof *t->order, by_text, (void *)(uintptr_t)t->token);
}

static long find(const struct independent_tokenizer *t, const uint8_t *text, size_t length) {
    size_t low = 0, high = t->ordered;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct independent_token *token = &t->token[t->order[middle]];
        const int order = compare(token->text, token->length, text, length);
        if (order == 0)
            return t->order[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* ---- characters ---- */

static size_t character(const uint8_t *s, uint32_t *c) { /* of well-formed text */
    const size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    *c = n == 1 ? s[0] : s[0] % (0x80u >> n);
    for (size_t i = 1; i < n; i++)
        *c = *c * 64 + s[i] % 64;
    return n;
}

/* ---- regular expressions: as far as those of pre-tokenisers go ---- */

struct subject {
    const uint8_t *text;
    size_t length;
    char (*class_of)(uint32_t c);
};

/* Whether character c belongs to the element at *p of a pattern (a character, an escape); *p moves past it. */
static bool element(const struct subject *s, const char **p, uint32_t c) {
    const char *at = *p;
    if (*at != '\\') {
        *p = at + 1;
        return c == (uint8_t)*at;
    }
    *p = at + (at[1] == 'p' ? 5 : 2); /* \p{L} */
    switch (at[1]) {
    case 'p':
        return s->class_of(c) == at[3];
    case 's':
        return s->class_of(c) == 'Z';
    case 'S':
        return s->class_of(c) != 'Z';
    case 'r':
        return c == '\r';
    case 'n':
        return c == '\n';
    default:
        return c == (uint8_t)at[1];
    }
}

/* The same for an element or a bracket. */
static bool atom(const struct subject *s, const char **p, uint32_t c) {
    if (**p != '[')
        return element(s, p, c);
    const bool negated = (*p)[1] == '^';
    bool in = false;
    for (*p += 1 + negated; **p != ']';) {
        const char *first = *p;
        bool here = element(s, p, c);
        if (*first != '\\' && **p == '-' && (*p)[1] != ']') {
            here = c >= (uint8_t)*first && c <= (uint8_t)(*p)[1];
            *p += 2;
        }
        in |= here;
    }
    ++*p;
    return in != negated;
}

/* The end of a match of one alternative, p up to '|' or the end, from byte `at`; -1: none. */
static long match(const struct subject *s, const char *p, size_t at) {
    if (*p == '|' || *p == '\0')
        return (long)at;
    uint32_t c = 0;
    if (strncmp(p, "(?!\\S)", 6) == 0) {
        if (at < s->length) {
            character(s->text + at, &c);
            if (s->class_of(c) != 'Z')
                return -1;
        }
        return match(s, p + 6, at);
    }
    const char *after = p;
    atom(s, &after, 0);
    size_t least = 1, most = 1;
    if (*after == '?')
        least = 0;
    else if (*after == '*')
        least = 0, most = SIZE_MAX;
    else if (*after == '+')
        most = SIZE_MAX;
    else if (*after == '{')
        least = (size_t)(after[1] - '0'), most = (size_t)(after[3] - '0'), after += 4;
    if (*after == '?' || *after == '*' || *after == '+' || *after == '}')
        after++;
    size_t *end = malloc((s->length - at + 2) * sizeof *end), n = 0; /* after so many repetitions */
    end[0] = at;
    while (n < most && end[n] < s->length) {
        const char *q = p;
        const size_t bytes = character(s->text + end[n], &c);
        if (!atom(s, &q, c))
            break;
        end[n + 1] = end[n] + bytes;
        n++;
    }
    long result = -1;
    for (size_t k = n + 1; k-- > least && result < 0;)
        result = match(s, after, end[k]);
    free(end);
    return result;
}

static long match_any(const struct subject *s, const char *pattern, size_t at) {
    for (const char *p = pattern;; p++) {
        const long end = match(s, p, at);
        if (end > (long)at)
            return end;
        for (bool bracket = false; *p && (bracket || *p != '|'); p++) {
            if (*p == '\\')
                p++;
            else if (*p == '[' || *p == ']')
                bracket = *p == '[';
        }
        if (!*p)
            return -1;
    }
}

/* cut[i]: a piece ends before byte i. Cuts each piece that is there once more: matches, and what is between them. */
static void split(const struct independent_tokenizer *t, const uint8_t *text, size_t length, const char *pattern,
                  bool *cut) {
    for (size_t from = 0, to; from < length; from = to) {
        for (to = from + 1; to < length && !cut[to];)
            to++;
        const struct subject s = {text + from, to - from, t->class_of};
        for (size_t at = 0; at < s.length;) {
            const long end = match_any(&s, pattern, at);
            uint32_t c;
            if (end < 0) {
                at += character(s.text + at, &c);
                continue;
            }
            cut[from + at] = true;
            at = (size_t)end;
            if (at < s.length)
                cut[from + at] = true;
        }
    }
}

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
#define MODERN(NUMBERS)                                                                                                \
    "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" NUMBERS                     \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const struct {
    const char *name, *patterns[5]; /* one after the other */
} pre_tokenizers[] = {
    {"gpt-2", {GPT2 "|\\s+"}},
    {"qwen2", {MODERN("\\p{N}")}},
    {"llama-bpe", {MODERN("\\p{N}{1,3}")}},
    {"default", {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
};

void independent_pieces(const struct independent_tokenizer *t, const uint8_t *text, size_t length, bool *cut) {
    for (size_t i = 0; i < sizeof pre_tokenizers / sizeof *pre_tokenizers; i++)
        for (size_t k = 0; strcmp(pre_tokenizers[i].name, t->pre) == 0 && pre_tokenizers[i].patterns[k]; k++)
            split(t, text, length, pre_tokenizers[i].patterns[k], cut);
}

/* ---- merging ---- */

struct symbols {
    const uint8_t *text;
    size_t *start, count; /* start[count]: the end */
};

static long merge_index(const struct independent_tokenizer *t, const struct symbols *s, size_t i) {
    const size_t left = s->start[i + 1] - s->start[i], right = s->start[i + 2] - s->start[i + 1];
    for (size_t m = 0; m < t->merge_count; m++)
        if (strlen(t->merges[m]) == left + 1 + right && memcmp(t->merges[m], s->text + s->start[i], left) == 0 &&
            t->merges[m][left] == ' ' && memcmp(t->merges[m] + left + 1, s->text + s->start[i + 1], right) == 0)
            return (long)m;
    return -1;
}

/* How good it is to merge symbols i and i + 1: more is better, -infinity never. */
static double merit(const struct independent_tokenizer *t, const struct symbols *s, size_t i) {
    if (t->byte_level) {
        const long m = merge_index(t, s, i);
        return m < 0 ? -1e300 : -(double)m;
    }
    const long id = find(t, s->text + s->start[i], s->start[i + 2] - s->start[i]);
    return id < 0 ? -1e300 : (double)t->token[id].score;
}

static void merge(const struct independent_tokenizer *t, struct symbols *s) {
    for (;;) {
        size_t best = SIZE_MAX;
        double most = -1e300;
        for (size_t i = 0; i + 1 < s->count; i++) {
            const double m = merit(t, s, i);
            if (m > most || (t->broken == TOKENIZER_RIGHTMOST && m == most && m > -1e300)) {
                most = m;
                best = i;
            }
        }
        if (best == SIZE_MAX)
            return;
        memmove(s->start + best + 1, s->start + best + 2, (s->count - best - 1) * sizeof *s->start);
        s->count--;
    }
}

/* ---- a text ---- */

struct result {
    uint32_t *ids;
    size_t count;
    bool good;
};

static size_t put_character(uint32_t c, uint8_t *out) {
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    out[0] = (uint8_t)(0xc0 + c / 64); /* c < 0x800 here */
    out[1] = (uint8_t)(0x80 + c % 64);
    return 2;
}

/* The character that a byte-level vocabulary writes for each byte. */
static void byte_characters(uint32_t out[256]) {
    uint32_t next = 256;
    for (uint32_t b = 0; b < 256; b++) {
        const bool seen = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
        out[b] = seen ? b : next++;
    }
}

static void byte_tokens(const struct independent_tokenizer *t, const uint8_t *text, size_t length, struct result *r) {
    for (size_t i = 0; i < length; i++) {
        static const char digits[] = "0123456789ABCDEF";
        const char name[] = {'<', '0', 'x', digits[text[i] / 16], digits[text[i] % 16], '>'};
        size_t id = 0;
        while (id < t->size && !(t->token[id].type == 6 && memcmp(t->token[id].text, name, sizeof name) == 0))
            id++;
        r->good &= id < t->size;
        r->ids[r->count++] = (uint32_t)id;
    }
}

/* Merges a written piece, which is cut into characters, and adds what comes out. */
static void add_piece(const struct independent_tokenizer *t, const uint8_t *text, size_t length, struct result *r) {
    struct symbols s = {text, malloc((length + 1) * sizeof *s.start), 0};
    const long whole = t->byte_level && strcmp(t->pre, "llama-bpe") == 0 && t->broken != TOKENIZER_NO_WHOLE_WORDS
                           ? find(t, text, length)
                           : -1;
    uint32_t c;
    for (size_t at = 0; at < length && whole < 0; at += character(text + at, &c))
        s.start[s.count++] = at;
    s.start[s.count] = length;
    if (whole >= 0)
        r->ids[r->count++] = (uint32_t)whole;
    merge(t, &s);
    for (size_t i = 0; i < s.count && r->good; i++) {
        const size_t bytes = s.start[i + 1] - s.start[i];
        const long id = find(t, text + s.start[i], bytes);
        if (id >= 0)
            r->ids[r->count++] = (uint32_t)id;
        else if (t->byte_level)
            r->good = false;
        else
            byte_tokens(t, text + s.start[i], bytes, r);
    }
    free(s.start);
}

static void encode_byte_level(const struct independent_tokenizer *t, const uint8_t *text, size_t length,
                              struct result *r) {
    uint32_t characters[256];
    byte_characters(characters);
    bool *cut = calloc(length + 1, sizeof *cut);
    uint8_t *written = malloc(2 * length + 1);
    independent_pieces(t, text, length, cut);
    for (size_t from = 0, to; from < length; from = to) {
        size_t n = 0;
        to = from;
        do
            n += put_character(characters[text[to++]], written + n);
        while (to < length && !cut[to]);
        add_piece(t, written, n, r);
    }
    free(written);
    free(cut);
}

static void encode_spaced(const struct independent_tokenizer *t, const uint8_t *text, size_t length, struct result *r) {
    uint8_t *written = malloc(3 * length + 4);
    size_t n = 0;
    if (t->space_prefix)
        memcpy(written, "\u2581", n = 3);
    for (size_t i = 0; i < length; i++)
        if (text[i] == ' ') {
            memcpy(written + n, "\u2581", 3);
            n += 3;
        } else {
            written[n++] = text[i];
        }
    add_piece(t, written, n, r);
    free(written);
}

static void encode_run(const struct independent_tokenizer *t, const uint8_t *text, size_t length, struct result *r) {
    if (length > 0 && t->byte_level)
        encode_byte_level(t, text, length, r);
    else if (length > 0)
        encode_spaced(t, text, length, r);
}

/* owner[i]: 1 + the user-defined token that byte i belongs to. */
static void own(const struct independent_tokenizer *t, const uint8_t *text, size_t length, uint32_t *owner,
                bool *begins) {
    uint32_t *user = malloc((t->size + 1) * sizeof *user);
    size_t users = 0;
    for (uint32_t id = 0; id < t->size; id++)
        if (t->token[id].type == 4)
            user[users++] = id;
    for (size_t n = length; n > 0; n--) /* the longest first */
        for (size_t u = 0; u < users; u++) {
            const struct independent_token *token = &t->token[user[u]];
            if (token->length != (t->broken == TOKENIZER_SHORTEST ? length + 1 - n : n))
                continue;
            for (size_t at = 0; at + token->length <= length; at++) {
                bool free = memcmp(text + at, token->text, token->length) == 0;
                for (size_t i = at; i < at + token->length && free; i++)
                    free = owner[i] == 0;
                for (size_t i = at; i < at + token->length && free; i++)
                    owner[i] = user[u] + 1;
                begins[at] |= free;
            }
        }
    free(user);
}

size_t independent_encode(const struct independent_tokenizer *t, const uint8_t *text, size_t length, uint32_t *ids) {
    struct result r = {.ids = ids, .good = true};
    uint32_t *owner = calloc(length + 1, sizeof *owner);
    bool *begins = calloc(length + 1, sizeof *begins);
    own(t, text, length, owner, begins);
    for (size_t from = 0, to; from < length; from = to) {
        to = from + 1;
        while (to < length && owner[to] == owner[from] && !begins[to])
            to++;
        if (owner[from] > 0)
            r.ids[r.count++] = owner[from] - 1;
        else
            encode_run(t, text + from, to - from, &r);
    }
    free(begins);
    free(owner);
    return r.good ? r.count : SIZE_MAX;
}
