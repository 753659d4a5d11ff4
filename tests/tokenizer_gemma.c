/* ref/tokenizer on the vocabulary of Gemma 3 270M: llama.cpp's own ids, and the second implementation. */
#include "../ref/checked.h"
#include "../ref/random.h"
#include "../ref/utf8.h"
#include "tokenizer_sample.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct gguf_file *gemma(void) {
    static const char path[] = "build/models/gemma-3-270m-q4_k_m.gguf";
    if (access(path, F_OK) != 0)
        cr_skip_test("%s is absent; `make models` fetches it", path);
    struct error e;
    struct gguf_file *f = gguf_open(path, &e);
    cr_assert(f, "%s", e.text);
    return f;
}

/* Prompts as llama.cpp cut them (its run of this file on a CPU, October 2026), and what it wrote after them, which need
 * not be how it would cut that text. */
static const struct {
    const char *text;
    uint32_t ids[8];
    size_t count;
} prompts[] = {
    {"The capital of France is", {2, 818, 5279, 529, 7001, 563}, 6},
    {"Water is made of hydrogen and", {2, 17390, 563, 1603, 529, 13076, 532}, 7},
    {"one two three four five six", {2, 811, 1156, 1806, 2390, 3493, 3962}, 7},
    {"The speed of light is", {2, 818, 4249, 529, 2214, 563}, 6},
};

Test(tokenizer_gemma, prompts_of_llama_cpp) {
    struct gguf_file *f = gemma();
    struct error e;
    struct tokenizer *t = tokenizer_open(f, &e);
    cr_assert(t, "%s", e.text);
    const struct tokenizer_info *info = tokenizer_info(t);
    cr_expect(info->size == 262144 && info->bos == 2 && info->eos == 1 && info->unknown == 3 && info->add_bos,
              "the information differs");
    for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
        uint32_t *ids;
        size_t count;
        cr_assert(tokenizer_encode(t, prompts[i].text, strlen(prompts[i].text), true, &ids, &count, &e), "%s", e.text);
        cr_expect(count == prompts[i].count && memcmp(ids, prompts[i].ids, count * sizeof *ids) == 0,
                  "\"%s\" has other ids", prompts[i].text);
        char *text = tokenizer_decode(t, ids, count);
        cr_expect_str_eq(text, prompts[i].text, "\"%s\" comes back as \"%s\"", prompts[i].text, text);
        free(text);
        free(ids);
    }
    tokenizer_free(t);
    gguf_close(f);
}

/* The arrays of the file, read here by the layout of GGUF. */
static struct independent_token *tokens_of(const struct gguf_file *f, size_t *size) {
    const struct gguf_entry *texts = gguf_entry_named(f, "tokenizer.ggml.tokens"),
                            *types = gguf_entry_named(f, "tokenizer.ggml.token_type"),
                            *scores = gguf_entry_named(f, "tokenizer.ggml.scores");
    struct independent_token *token = must_calloc(texts->count, sizeof *token);
    const uint8_t *p = texts->bytes;
    for (size_t i = 0; i < texts->count; i++) {
        uint64_t length;
        memcpy(&length, p, 8);
        token[i].text = p + 8;
        token[i].length = length;
        memcpy(&token[i].type, types->bytes + 4 * i, 4);
        memcpy(&token[i].score, scores->bytes + 4 * i, 4);
        p += 8 + length;
    }
    *size = texts->count;
    return token;
}

/* Text of tokens drawn from the vocabulary, of characters drawn from Unicode, and of spaces and newlines. */
static size_t random_gemma_text(struct random_stream *s, const struct independent_token *token, size_t size, char *out,
                                size_t room) {
    const size_t wanted = random_below(s, (uint32_t)room - 64);
    size_t n = 0;
    while (n < wanted) {
        const uint32_t kind = random_below(s, 8);
        if (kind < 4) { /* early tokens are the common ones */
            const struct independent_token *k = &token[random_below(s, kind < 3 ? 20000 : (uint32_t)size)];
            if (k->type == 3 || utf8_fault(k->text, k->length) < k->length)
                continue;
            for (size_t i = 0; i < k->length; i++) {
                const bool space = k->length - i >= 3 && memcmp(k->text + i, "\u2581", 3) == 0;
                out[n++] = space ? ' ' : (char)k->text[i];
                i += space ? 2 : 0;
            }
        } else if (kind == 4) {
            const uint32_t c = random_below(s, 0xd7ff);
            n += utf8_encode(random_below(s, 4) ? c : 0x10000 + c * 16, (uint8_t *)out + n);
        } else {
            for (uint32_t k = 1 + random_below(s, 5); k > 0; k--)
                out[n++] = kind == 5 ? '\n' : kind == 6 ? (char)('0' + random_below(s, 10)) : ' ';
        }
    }
    return n;
}

Test(tokenizer_gemma, agrees_with_the_second_implementation) {
    struct gguf_file *f = gemma();
    struct error e;
    struct tokenizer *t = tokenizer_open(f, &e);
    cr_assert(t, "%s", e.text);
    size_t size;
    struct independent_token *token = tokens_of(f, &size);
    struct independent_tokenizer second = {.token = token, .size = size, .pre = "", .class_of = class_letter};
    independent_sort_tokens(&second);
    size_t ids_compared = 0, differ = 0;
    struct random_stream s = random_open(random_key("gemma's texts"), 0);
    for (size_t trial = 0; trial < 400; trial++) {
        char text[320], words[2048];
        const size_t length = random_gemma_text(&s, token, size, text, sizeof text);
        second.broken = TOKENIZER_RIGHT;
        cr_assert(tokenizers_agree(t, &second, text, length, words, sizeof words), "text %zu: %s", trial, words);
        second.broken = TOKENIZER_SHORTEST;
        differ += !tokenizers_agree(t, &second, text, length, words, sizeof words);
        uint32_t *ids;
        size_t count, n;
        cr_assert(tokenizer_encode(t, text, length, false, &ids, &count, &e), "%s", e.text);
        char *back = tokenizer_decode_bytes(t, ids, count, &n);
        cr_expect(memmem(text, length, "\u2581", 3) || (n == length && memcmp(back, text, n) == 0),
                  "text %zu comes back as \"%s\"", trial, back);
        ids_compared += count;
        free(back);
        free(ids);
    }
    cr_expect(ids_compared > 10000 && differ > 20, "%zu ids, and a fault shows in %zu texts", ids_compared, differ);
    free(second.order);
    free(token);
    tokenizer_free(t);
    gguf_close(f);
}
