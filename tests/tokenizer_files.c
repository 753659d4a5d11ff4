/* ref/tokenizer: hostile files, long texts, the characters of Unicode. */
#include "../ref/checked.h"
#include "../ref/random.h"
#include "../ref/tokenizer_parts.h"
#include "../ref/utf8.h"
#include "tokenizer_sample.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- hostile files ---- */

static void no_model(struct vocabulary *v) {
    v->model = NULL;
}
static void other_model(struct vocabulary *v) {
    v->model = "bert\x1b[2J";
}
static void other_pre(struct vocabulary *v) {
    v->pre = "deepseek-llm";
}
static void no_tokens(struct vocabulary *v) {
    v->size = 0;
}
static void no_scores(struct vocabulary *v) {
    v->no_scores = true;
}
static void no_types(struct vocabulary *v) {
    v->no_types = true;
}
static void no_merges(struct vocabulary *v) {
    v->no_merges = true;
}
static void few_scores(struct vocabulary *v) {
    v->drop_scores = 1;
}
static void few_types(struct vocabulary *v) {
    v->drop_types = 259;
}
static void integer_scores(struct vocabulary *v) {
    v->score_type = GGUF_INT32;
}
static void float_types(struct vocabulary *v) {
    v->type_type = GGUF_FLOAT32;
}
static void nan_score(struct vocabulary *v) {
    v->token[7].score = NAN;
}
static void infinite_score(struct vocabulary *v) {
    v->token[258].score = -INFINITY;
}
static void type_zero(struct vocabulary *v) {
    v->token[256].type = 0;
}
static void type_seven(struct vocabulary *v) {
    v->token[256].type = 7;
}
static void type_negative(struct vocabulary *v) {
    v->token[256].type = -1;
}
static void bos_beyond(struct vocabulary *v) {
    v->bos = 259;
}
static void eos_beyond(struct vocabulary *v) {
    v->eos = 0xffffffff;
}
static void squeeze(struct vocabulary *v) {
    v->squeeze = 1;
}
static void byte_missing(struct vocabulary *v) {
    v->token[255].type = 1;
}
static void byte_no_name(struct vocabulary *v) {
    v->token[256].type = 6;
}
static void byte_twice(struct vocabulary *v) {
    add_text(v, "<0xff>", 6, 0);
}
static void byte_signed(struct vocabulary *v) {
    add_text(v, "<0x+f>", 6, 0);
}
static void empty(struct vocabulary *v) {
    add_text(v, "", 1, 0);
}
static void empty_user(struct vocabulary *v) {
    add_text(v, "", 4, 0);
}
static void user_no_utf8(struct vocabulary *v) {
    add_text(v, "\x80", 4, 0);
}
static void twice(struct vocabulary *v) {
    add_text(v, "qq", 1, 0);
    add_text(v, "qq", 1, 0);
}
static void user_twice(struct vocabulary *v) {
    add_text(v, "[x]", 4, 0);
}
static void merge_no_space(struct vocabulary *v) {
    add_merge(v, "ab");
}
static void merge_half(struct vocabulary *v) {
    add_merge(v, "a ");
}
static void merge_empty(struct vocabulary *v) {
    add_merge(v, "");
}
static void merge_space(struct vocabulary *v) {
    add_merge(v, " ");
}
static void merge_left(struct vocabulary *v) {
    add_merge(v, "xyz b");
}
static void merge_right(struct vocabulary *v) {
    add_merge(v, "a xyz");
}
static void merge_product(struct vocabulary *v) {
    add_merge(v, "b a");
}
static void merge_control(struct vocabulary *v) {
    add_text(v, "s>", 1, 0);
    add_merge(v, "< s>"); /* <s> is a control token */
}

static void huge(struct vocabulary *v) {
    char text[MOST_TOKEN_BYTES + 1];
    memset(text, 'q', sizeof text);
    add_token(v, text, sizeof text, 1, 0);
}

/* Over a thousand tokens of one hash: found by trying, as a hostile file would be. */
static void collide(struct vocabulary *v) {
    char text[16];
    for (uint32_t i = 0, n = 0; n < MOST_PROBES + 2; i++) {
        const int length = snprintf(text, sizeof text, "q%u", i);
        if ((token_hash((uint8_t *)text, (size_t)length) & 4095) == 5) {
            add_token(v, text, (size_t)length, 1, 0);
            n++;
        }
    }
}

static void merge_long(struct vocabulary *v) {
    char text[2 * MOST_TOKEN_BYTES + 2];
    memset(text, 'q', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    add_token(v, text, MOST_TOKEN_BYTES, 1, 0);
    text[MOST_TOKEN_BYTES] = ' ';
    add_merge(v, text);
}

static const struct {
    const char *words;
    void (*bend)(struct vocabulary *v);
    enum { BOTH, SPM, BPE } kind;
} hostile[] = {
    {"no key tokenizer.ggml.model", no_model, BOTH},
    {"the model \"bert\\x1b[2J\" is not served; served: llama, gpt2", other_model, BOTH},
    {"the pre-tokeniser \"deepseek-llm\" is not served; served: gpt-2, qwen2, llama-bpe, default", other_pre, BPE},
    {"0 tokens, 1 .. 16777216 are served", no_tokens, BOTH},
    {"no key tokenizer.ggml.scores", no_scores, SPM},
    {"no key tokenizer.ggml.token_type", no_types, SPM},
    {"no key tokenizer.ggml.merges", no_merges, BPE},
    {"tokenizer.ggml.scores has 258 elements for 259 tokens", few_scores, SPM},
    {"tokenizer.ggml.token_type has 0 elements for 259 tokens", few_types, BOTH},
    {"tokenizer.ggml.scores is no array of float32", integer_scores, SPM},
    {"tokenizer.ggml.token_type is no array of int32", float_types, BOTH},
    {"the score of token 7 is not finite", nan_score, SPM},
    {"the score of token 258 is not finite", infinite_score, SPM},
    {"token 256 has the unknown type 0", type_zero, BOTH},
    {"token 256 has the unknown type 7", type_seven, BOTH},
    {"token 256 has the unknown type -1", type_negative, BOTH},
    {"tokenizer.ggml.bos_token_id is 259, of 259 tokens", bos_beyond, BOTH},
    {"tokenizer.ggml.eos_token_id is 4294967295, of 259 tokens", eos_beyond, BOTH},
    {"remove_extra_whitespaces is not served", squeeze, BOTH},
    {"255 of 256 byte tokens", byte_missing, SPM},
    {"byte token 256 is \"a\", not <0xNN>", byte_no_name, SPM},
    {"tokens 255 and 259 are both byte 0xff", byte_twice, SPM},
    {"byte token 259 is \"<0x+f>\", not <0xNN>", byte_signed, BOTH},
    {"token 259 is empty", empty, BOTH},
    {"token 259 is empty", empty_user, BOTH},
    {"user-defined token 259 is no UTF-8", user_no_utf8, BOTH},
    {"tokens 259 and 260 have the same text, \"qq\"", twice, BOTH},
    {"tokens 258 and 259 have the same text", user_twice, BOTH},
    {"token 259 has 1025 bytes, at most 1024 are served", huge, BOTH},
    {"over 1000 tokens share a hash", collide, BOTH},
    {"merge 1, \"ab\", is not two texts with a space between", merge_no_space, BPE},
    {"merge 1, \"a \", is not two texts with a space between", merge_half, BPE},
    {"merge 1, \"\", is not two texts with a space between", merge_empty, BPE},
    {"merge 1, \" \", is not two texts with a space between", merge_space, BPE},
    {"merge 1, \"xyz b\": its left side is no normal token", merge_left, BPE},
    {"merge 1, \"a xyz\": its right side is no normal token", merge_right, BPE},
    {"merge 1, \"b a\": both together are no normal token", merge_product, BPE},
    {"merge 1, \"< s>\": both together are no normal token", merge_control, BPE},
    {": both together are no normal token", merge_long, BPE},
};

Test(tokenizer_files, hostile_files_are_refused_with_one_line) {
    size_t tried = 0;
    for (int byte_level = 0; byte_level < 2; byte_level++) {
        struct vocabulary *v = small_vocabulary(byte_level);
        struct opened o;
        open_vocabulary(v, &o);
        cr_assert(o.tokenizer, "a good file: %s", o.e.text);
        close_vocabulary(&o);
        vocabulary_free(v);
        for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
            if (hostile[i].kind == (byte_level ? SPM : BPE))
                continue;
            v = small_vocabulary(byte_level);
            const size_t whole = v->size;
            hostile[i].bend(v);
            open_vocabulary(v, &o);
            cr_expect(!o.tokenizer, "accepted, expected \"%s\"", hostile[i].words);
            cr_expect(o.tokenizer || (strncmp(o.e.text, "sample.gguf: tokenizer: ", 24) == 0 &&
                                      strstr(o.e.text, hostile[i].words) && !strpbrk(o.e.text, "\n\x1b")),
                      "\"%s\" lacks \"%s\"", o.e.text, hostile[i].words);
            tried++;
            close_vocabulary(&o);
            v->size = v->size < whole ? whole : v->size; /* so that its texts are freed */
            vocabulary_free(v);
        }
    }
    cr_expect(tried == 58, "%zu files", tried);
}

/* Any byte of a file may be another one: refused or served, and what is served encodes. */
Test(tokenizer_files, bent_files_do_no_harm) {
    size_t served = 0, refused = 0;
    for (int byte_level = 0; byte_level < 2; byte_level++) {
        struct vocabulary *v = small_vocabulary(byte_level);
        struct bytes b = vocabulary_file(v);
        struct random_stream s = random_open(random_key("bent tokenizers"), (uint32_t)byte_level);
        for (size_t trial = 0; trial < 6000; trial++) {
            uint8_t *copy = must_calloc(b.n, 1);
            memcpy(copy, b.p, b.n);
            for (size_t k = 0; k < 1 + trial % 3; k++)
                copy[24 + random_below(&s, (uint32_t)b.n - 24)] = (uint8_t)random_below(&s, trial % 2 ? 256 : 8);
            struct error e = {""};
            struct gguf_file *f = gguf_parse("bent.gguf", copy, b.n, &e);
            struct tokenizer *t = f ? tokenizer_open(f, &e) : NULL;
            cr_assert(t || e.text[0], "refused without a word");
            served += t != NULL;
            refused += t == NULL;
            uint32_t *ids = NULL;
            size_t count;
            if (t && tokenizer_encode(t, "abba [x] \u00e9", 11, false, &ids, &count, &e))
                free(tokenizer_decode(t, ids, count));
            free(ids);
            tokenizer_free(t);
            gguf_close(f);
            free(copy);
        }
        free(b.p);
        vocabulary_free(v);
    }
    cr_expect(served > 500 && refused > 500, "%zu served, %zu refused", served, refused);
}

/* ---- long texts ---- */

/* A quadratic loop would take hours of this. */
Test(tokenizer_files, long_texts_take_linear_time, .timeout = 300) {
    enum { LONG = 10000000 };
    static const char *const names[] = {"gpt-2", "qwen2", "llama-bpe", "default", NULL};
    static const char *const units[] = {"a", "1", " ", "\n", "'", "a ", "1 ", " \n", ".a", "\u4e2d", "ab1 .\n", "[ "};
    char *text = must_calloc(LONG, 1);
    for (size_t kind = 0; kind < 5; kind++) {
        struct vocabulary *v = vocabulary_new(kind < 4 ? "gpt2" : "llama", names[kind]);
        if (kind < 4)
            add_byte_characters(v);
        else
            add_byte_tokens(v);
        for (size_t n = 1; n <= 64; n *= 2) {
            char as[80] = "", pair[160];
            memset(as, 'a', n);
            if (n > 1 || kind == 4)
                add_text(v, as, 1, -(float)n);
            snprintf(pair, sizeof pair, "%s %s", as, as);
            if (n < 64)
                add_merge(v, pair);
        }
        add_text(v, "\n\n", 4, 0);
        add_text(v, "[ [ [", 4, 0);
        struct opened o;
        open_vocabulary(v, &o);
        cr_assert(o.tokenizer, "%s", o.e.text);
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            const size_t unit = strlen(units[u]), length = (u == 0 && kind == 4 ? LONG : LONG / 20) / unit * unit;
            for (size_t i = 0; i < length; i++)
                text[i] = units[u][i % unit];
            uint32_t *ids;
            size_t count;
            struct error e;
            cr_assert(tokenizer_encode(o.tokenizer, text, length, false, &ids, &count, &e), "%s", e.text);
            cr_expect(count >= length / 64 && count <= 4 * length, "%zu ids of %zu bytes", count, length);
            free(ids);
        }
        close_vocabulary(&o);
        vocabulary_free(v);
    }
    free(text);
}

/* ---- characters ---- */

Test(tokenizer_files, classes_of_characters) {
    static const struct {
        uint32_t c;
        char letter;
    } known[] = {{'a', 'L'},    {'Z', 'L'},    {'5', 'N'},    {'_', 'P'},    {'$', '-'},     {'\'', 'P'},
                 {' ', 'Z'},    {'\t', 'Z'},   {'\r', 'Z'},   {0x1c, '-'},   {0x85, 'Z'},    {0xa0, 'Z'},
                 {0xaa, 'L'},   {0xb2, 'N'},   {0xbf, 'P'},   {0xd7, '-'},   {0x301, '-'},   {0x663, 'N'},
                 {0x1680, 'Z'}, {0x180e, '-'}, {0x2028, 'Z'}, {0x200b, '-'}, {0x2166, 'N'},  {0x3000, 'Z'},
                 {0x4e2d, 'L'}, {0x9fff, 'L'}, {0xac00, 'L'}, {0xe000, '-'}, {0x1f984, '-'}, {0x10ffff, '-'}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        cr_expect(class_letter(known[i].c) == known[i].letter, "U+%04X: %c", known[i].c, class_letter(known[i].c));
    size_t spaces = 0;
    for (uint32_t c = 0; c <= 0x10ffff; c++)
        spaces += class_letter(c) == 'Z';
    cr_expect(spaces == 25, "%zu characters of white space, Unicode has 25", spaces);
}

Test(tokenizer_files, utf8_there_and_back) {
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        if (c == 0xd800)
            c = 0xe000;
        uint8_t bytes[4];
        uint32_t back = 0;
        const size_t n = utf8_encode(c, bytes);
        cr_assert(utf8_decode(bytes, n, &back) == n && back == c, "U+%04X", c);
        cr_assert(n == 1 || utf8_decode(bytes, n - 1, &back) == 0, "U+%04X, cut", c);
    }
    static const char *const bad[] = {"\x80",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x80\x80",
                                      "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80", "\xe2\x28\xa1",
                                      "\xff"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect(utf8_fault((const uint8_t *)bad[i], strlen(bad[i])) == 0, "%zu: taken for UTF-8", i);
    cr_expect(utf8_fault((const uint8_t *)"a\u00e9\xff", 4) == 3, "the place of a fault");
}
