/* ref/tokenizer: both kinds by hand, against the second implementation on random vocabularies, and on Gemma's. */
#include "../ref/tokenizer.h"
#include "../ref/checked.h"
#include "../ref/random.h"
#include "../ref/tokenizer_parts.h"
#include "../ref/unicode_classes.h"
#include "../ref/utf8.h"
#include "tokenizer_sample.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ids of a text, written with spaces between; "error: ..." when there are none. */
static const char *ids_of(const struct tokenizer *t, const char *text, size_t length, bool add_bos) {
    static char shown[4096];
    struct error e = {""};
    uint32_t *ids;
    size_t count;
    if (tokenizer_encode(t, text, length, add_bos, &ids, &count, &e)) {
        show_ids(shown, sizeof shown, ids, count);
        free(ids);
    } else {
        cr_expect(!ids && count == 0, "ids beside an error");
        snprintf(shown, sizeof shown, "error: %s", e.text);
    }
    return shown;
}

static void expect_ids(const struct tokenizer *t, const char *text, const char *want) {
    const char *got = ids_of(t, text, strlen(text), false);
    cr_expect_str_eq(got, want, "\"%s\": %s, expected %s", text, got, want);
}

static void expect_text(const struct tokenizer *t, const uint32_t *ids, size_t count, const char *want, size_t length) {
    size_t n = 0;
    char *got = tokenizer_decode_bytes(t, ids, count, &n), *same = tokenizer_decode(t, ids, count);
    cr_expect(got && n == length && memcmp(got, want, n) == 0 && got[n] == '\0',
              "%zu ids: \"%s\" (%zu bytes), not \"%s\"", count, got, n, want);
    cr_expect(same && memcmp(same, want, length + 1) == 0, "the two ways to decode differ");
    free(same);
    free(got);
}

Test(tokenizer, sentencepiece_by_hand) {
    struct vocabulary *v = vocabulary_new("llama", NULL);
    add_text(v, "<unk>", 2, 0);
    v->bos = add_text(v, "<s>", 3, 0); /* 1 */
    v->eos = add_text(v, "</s>", 3, 0);
    add_byte_tokens(v);           /* 3 .. 258 */
    add_text(v, "\u2581", 1, -9); /* 259 */
    add_text(v, "a", 1, -10);     /* 260 */
    add_text(v, "b", 1, -11);
    add_text(v, "c", 1, -12);
    add_text(v, "ab", 1, -2); /* 263 */
    add_text(v, "bc", 1, -1); /* 264 */
    add_text(v, "\u2581a", 1, -1);
    add_text(v, "aa", 1, -1);     /* 266 */
    add_text(v, "[x]", 4, 0);     /* 267 */
    add_text(v, "\n\n", 4, 0);    /* 268 */
    add_text(v, "ac", 5, -0.5f);  /* 269: unused */
    add_text(v, "\u2581b", 4, 9); /* 270: literal, no space and "b" */
    add_text(v, "de", 1, -0.0f);  /* 271 */
    add_text(v, "ef", 1, 0.0f);
    add_text(v, "f", 1, -9);  /* 273 */
    add_text(v, "pqr", 4, 0); /* 274 */
    add_text(v, "qrst", 4, 0);
    add_text(v, "p", 4, 0); /* 276 */
    add_text(v, "tpqu", 4, 0);
    struct opened o;
    open_vocabulary(v, &o);
    const struct tokenizer *t = o.tokenizer;
    cr_assert(t, "%s", o.e.text);
    const struct tokenizer_info *info = tokenizer_info(t);
    cr_expect(info->size == 278 && info->bos == 1 && info->eos == 2 && info->unknown == (uint32_t)TOKEN_NONE &&
                  info->add_bos && strcmp(info->model, "llama") == 0 && strcmp(info->pre, "") == 0,
              "the information differs");
    expect_ids(t, "", "");
    expect_ids(t, "abc", "265 264");             /* a space before; "bc" and "_a" have the highest score, left first */
    expect_ids(t, "babc", "259 261 260 264");    /* "bc" before "ab" */
    expect_ids(t, "baaab", "259 261 266 263");   /* of equals the leftmost: aa, then ab */
    expect_ids(t, "def", "259 271 273");         /* -0 is no lower score than 0 */
    expect_ids(t, "ac", "265 262");              /* an unused token is no text */
    expect_ids(t, "b\u00e9", "259 261 198 172"); /* a character without a token: its bytes */
    expect_ids(t, "<s>", "259 63 118 65");       /* a control token in the text is text */
    expect_ids(t, "<0x41>", "259 63 51 123 55 52 65"); /* so is the name of a byte */
    expect_ids(t, "[x]b[x][x]", "267 259 261 267 267");
    expect_ids(t, "a b\u2581b", "265 259 261 270");
    expect_ids(t, "pqrst", "276 275");               /* the longest first, then what still fits */
    expect_ids(t, "qrstpqu", "275 276 259 116 120"); /* of equal length the lower id */
    expect_ids(t, "a\n\n\nb", "265 268 259 13 261");
    cr_expect_str_eq(ids_of(t, "a\0b", 3, true), "1 265 3 261", "NUL is a character: %s", ids_of(t, "a\0b", 3, true));
    expect_ids(t, "ok\x80", "error: the text is no UTF-8: byte 0x80 at byte 2");
    expect_ids(t, "\xf0\x9f\xa6", "error: the text is no UTF-8: byte 0xf0 at byte 0");

    expect_text(t, (uint32_t[]){1, 265, 198, 172, 0, 259, 267, 269, 2}, 9, "a\u00e9 [x]", 7);
    expect_text(t, (uint32_t[]){259, 259, 261}, 3, " b", 2); /* only the first space is the added one */
    expect_text(t, (uint32_t[]){260, 3, 131, 261}, 4, "a\0\200b", 4);
    expect_text(t, NULL, 0, "", 0);
    cr_expect(!tokenizer_decode(t, (uint32_t[]){260, 278}, 2), "decoded an id out of range");
    size_t length;
    cr_expect(tokenizer_text(t, 263, &length) && length == 2 && memcmp(tokenizer_text(t, 263, &length), "ab", 2) == 0 &&
                  !tokenizer_text(t, 278, &length),
              "the text of a token differs");
    close_vocabulary(&o);
    vocabulary_free(v);
}

Test(tokenizer, byte_level_by_hand) {
    struct vocabulary *v = vocabulary_new("gpt2", "gpt-2");
    add_byte_characters(v); /* 0 .. 255 */
    add_text(v, "ab", 1, 0);
    add_text(v, "bc", 1, 0);
    add_text(v, "\u0120a", 1, 0); /* 258: a space and "a" */
    add_text(v, "abc", 1, 0);
    add_text(v, "<|end|>", 3, 0); /* 260 */
    add_text(v, "  ", 4, 0);      /* 261 */
    add_text(v, "caf\u00c3\u00a9", 1, 0);
    add_merge(v, "b c");
    add_merge(v, "a b");
    add_merge(v, "\u0120 a");
    add_merge(v, "a bc");
    add_merge(v, "b c"); /* named twice */
    struct opened o;
    open_vocabulary(v, &o);
    const struct tokenizer *t = o.tokenizer;
    cr_assert(t, "%s", o.e.text);
    cr_expect(!tokenizer_info(t)->add_bos && strcmp(tokenizer_info(t)->pre, "gpt-2") == 0, "the information differs");
    expect_ids(t, "abc", "259");
    expect_ids(t, "ab", "256");
    expect_ids(t, " abc", "258 257"); /* "b c" goes first, then the space and "a" */
    expect_ids(t, "b  a", "98 261 97");
    expect_ids(t, "\u00e9\n", "195 169 10");
    expect_ids(t, "<|end|>", "60 124 101 110 100 124 62");
    cr_expect(strstr(ids_of(t, "a", 1, true), "no tokenizer.ggml.bos_token_id"), "%s", ids_of(t, "a", 1, true));
    expect_text(t, (uint32_t[]){258, 195, 169, 260, 261, 0, 255, 262}, 8, " a\u00e9  \0\377caf\u00e9", 13);
    close_vocabulary(&o);
    v->token[98].type = 3; /* now no token is the byte "b", but no merge may name it */
    while (v->merge_count > 0)
        free(v->merge[--v->merge_count]);
    open_vocabulary(v, &o);
    cr_assert(o.tokenizer, "%s", o.e.text);
    expect_ids(o.tokenizer, "ab", "error: sample.gguf: tokenizer: no token for the byte 0x62 of the text");
    close_vocabulary(&o);
    vocabulary_free(v);
}

Test(tokenizer, whole_pieces_of_llama_are_not_merged) {
    for (int llama = 0; llama < 2; llama++) {
        struct vocabulary *v = vocabulary_new("gpt2", llama ? "llama-bpe" : "qwen2");
        add_byte_characters(v);
        add_text(v, "ab", 1, 0);
        add_text(v, "abc", 1, 0);
        add_merge(v, "a b");
        struct opened o;
        open_vocabulary(v, &o);
        cr_assert(o.tokenizer, "%s", o.e.text);
        expect_ids(o.tokenizer, "abc", llama ? "257" : "256 99");
        cr_expect(tokenizer_info(o.tokenizer)->add_bos == llama, "begins with a token");
        close_vocabulary(&o);
        vocabulary_free(v);
    }
}

/* ---- random texts ---- */

/* Characters of every class, many of them often. */
static const char *const pool[] = {"a",      "b",      "c",      "S",      "t",      " ",      " ",      " ",
                                   "\n",     "\r",     "\t",     "'",      "'re",    "'LL",    "'s",     "1",
                                   "2",      "345",    ".",      "$",      "+",      "_",      "\u00e9", "\u4e2d",
                                   "\u0663", "\u00b2", "\u3000", "\u00a0", "\u0301", "\u20ac", "\u2581", "\U0001f984"};

static size_t random_text(struct random_stream *s, char *out, size_t pieces, size_t kinds) {
    size_t n = 0;
    for (size_t i = 0; i < pieces; i++) {
        const char *piece = pool[random_below(s, (uint32_t)kinds)];
        memcpy(out + n, piece, strlen(piece));
        n += strlen(piece);
    }
    return n;
}

enum { POOL = sizeof pool / sizeof *pool, MOST_PIECES = 40, TEXT_ROOM = MOST_PIECES * 4 };

Test(tokenizer, pre_tokenisers_are_their_expressions) {
    static const char *const names[] = {"gpt-2", "qwen2", "llama-bpe", "default"};
    struct random_stream s = random_open(random_key("pre-tokenisers"), 0);
    size_t pieces = 0;
    for (size_t trial = 0; trial < 20000; trial++) {
        char text[TEXT_ROOM];
        const size_t length = random_text(&s, text, 1 + random_below(&s, MOST_PIECES - 1), POOL);
        uint32_t c[TEXT_ROOM];
        uint8_t class[TEXT_ROOM];
        size_t start[TEXT_ROOM + 1], n = 0;
        for (size_t at = 0; at < length; n++) {
            start[n] = at;
            at += utf8_decode((uint8_t *)text + at, length - at, &c[n]);
            class[n] = (uint8_t)unicode_class(c[n]);
        }
        start[n] = length;
        const struct independent_tokenizer second = {.pre = names[trial % 4], .class_of = class_letter};
        const struct pre_tokenizer *first = pre_tokenizer_named((const uint8_t *)second.pre, strlen(second.pre));
        bool want[TEXT_ROOM + 1] = {false}, got[TEXT_ROOM + 1] = {false};
        independent_pieces(&second, (uint8_t *)text, length, want);
        want[0] = want[length] = false;
        for (size_t i = 0; i < n; pieces++) {
            const size_t piece = first->piece(c + i, class + i, n - i);
            cr_assert(piece >= 1 && piece <= n - i, "%s: a piece of %zu characters", second.pre, piece);
            i += piece;
            got[start[i]] = i < n;
        }
        cr_assert(memcmp(want, got, sizeof want) == 0, "%s: \"%.*s\" is cut elsewhere", second.pre, (int)length, text);
    }
    cr_expect(pieces > 100000, "%zu pieces only", pieces);
}

/* A token to make longer ones of; of single bytes, those that the texts have. */
static struct independent_token random_part(struct random_stream *s, const struct vocabulary *v, bool byte_level) {
    static const uint8_t often[] = {'a', 'b', 'c', 'S', 't', ' ', '\n', 0xc3, 0xa9};
    for (;;) {
        uint32_t id = random_below(s, (uint32_t)v->size);
        if (byte_level && id < 256 && random_below(s, 20) > 0)
            id = often[random_below(s, sizeof often)];
        if (v->token[id].type == 1)
            return v->token[id];
    }
}

/* A random vocabulary over the first `kinds` of the pool. */
static struct vocabulary *random_vocabulary(struct random_stream *s, bool byte_level, size_t kinds) {
    static const char *const names[] = {"gpt-2", "qwen2", "llama-bpe", "default"};
    struct vocabulary *v = vocabulary_new(byte_level ? "gpt2" : "llama", byte_level ? names[random_below(s, 4)] : NULL);
    if (byte_level) {
        add_byte_characters(v);
    } else {
        if (random_below(s, 4) > 0)
            add_byte_tokens(v);
        add_text(v, "\u2581", 1, -(float)random_below(s, 5));
        for (size_t i = 0; i < kinds; i++)
            if (*pool[i] != ' ' && strcmp(pool[i], "\u2581") != 0 && random_below(s, 8) > 0)
                add_text(v, pool[i], 1, -(float)random_below(s, 5));
        v->space_prefix = (long)random_below(s, 3) - 1;
    }
    const size_t parts = v->size, wanted = parts + random_below(s, 60);
    for (size_t trial = 0; trial < 1000 && v->size < wanted; trial++) {
        const struct independent_token a = random_part(s, v, byte_level), b = random_part(s, v, byte_level);
        char both[256], pair[256];
        snprintf(both, sizeof both, "%.*s%.*s", (int)a.length, a.text, (int)b.length, b.text);
        snprintf(pair, sizeof pair, "%.*s %.*s", (int)a.length, a.text, (int)b.length, b.text);
        bool known = a.length + b.length > 24;
        for (size_t i = 0; i < v->size; i++)
            known |= v->token[i].length == strlen(both) && memcmp(v->token[i].text, both, strlen(both)) == 0;
        if (!known)
            add_text(v, both, 1, (float)random_below(s, 6) - 4);
        if (byte_level && random_below(s, 4) > 0 && a.length + b.length <= 24)
            add_merge(v, pair);
    }
    for (size_t i = v->merge_count; i > 1; i--) { /* any order: a product may merge before its parts can */
        const size_t k = random_below(s, (uint32_t)i);
        char *swap = v->merge[i - 1];
        v->merge[i - 1] = v->merge[k];
        v->merge[k] = swap;
    }
    for (size_t i = random_below(s, 4); i > 0; i--) {
        char text[TEXT_ROOM];
        const size_t length = random_text(s, text, 1 + random_below(s, 3), kinds);
        bool known = false;
        for (size_t k = 0; k < v->size; k++)
            known |= v->token[k].length == length && memcmp(v->token[k].text, text, length) == 0;
        if (!known)
            add_token(v, text, length, 4, 0);
    }
    return v;
}

Test(tokenizer, agrees_with_the_second_implementation) {
    size_t texts = 0, differ[4] = {0};
    for (uint32_t trial = 0; trial < 400; trial++) {
        struct random_stream s = random_open(random_key("tokenizer"), trial);
        const size_t kinds = trial % 3 == 0 ? POOL : 8;
        struct vocabulary *v = random_vocabulary(&s, trial % 2, kinds);
        struct independent_tokenizer second = independent_of(v);
        struct opened o;
        open_vocabulary(v, &o);
        cr_assert(o.tokenizer, "vocabulary %u: %s", trial, o.e.text);
        for (size_t i = 0; i < 40; i++, texts++) {
            char text[TEXT_ROOM], words[2048];
            const size_t length = random_text(&s, text, random_below(&s, MOST_PIECES), kinds);
            cr_assert(tokenizers_agree(o.tokenizer, &second, text, length, words, sizeof words), "vocabulary %u: %s",
                      trial, words);
            for (unsigned broken = TOKENIZER_RIGHTMOST; broken <= TOKENIZER_NO_WHOLE_WORDS; broken++) {
                second.broken = (enum tokenizer_broken)broken;
                differ[broken] += !tokenizers_agree(o.tokenizer, &second, text, length, words, sizeof words);
            }
            second.broken = TOKENIZER_RIGHT;
            /* And back: byte by byte the same text, if there were ids. */
            uint32_t *ids;
            size_t count, n;
            if (!tokenizer_encode(o.tokenizer, text, length, false, &ids, &count, NULL))
                continue;
            char *back = tokenizer_decode_bytes(o.tokenizer, ids, count, &n);
            const bool spaced = strcmp(v->model, "llama") == 0; /* there U+2581 comes back as a space */
            cr_expect((spaced && (memmem(text, length, "\u2581", 3) || v->space_prefix != 0)) ||
                          (n == length && memcmp(back, text, n) == 0),
                      "vocabulary %u: \"%.*s\" comes back as \"%s\"", trial, (int)length, text, back);
            free(back);
            free(ids);
        }
        close_vocabulary(&o);
        free(second.order);
        vocabulary_free(v);
    }
    cr_expect(texts == 16000, "%zu texts", texts);
    for (unsigned broken = TOKENIZER_RIGHTMOST; broken <= TOKENIZER_NO_WHOLE_WORDS; broken++)
        cr_expect(differ[broken] > 20, "fault %u shows in %zu texts only", broken, differ[broken]);
}
