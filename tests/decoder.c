/* ref/decoder: its functions against libm, the whole against an independent float64 decoder, steps against a prompt at
 * once, choices, and hostile model files. */
#include "../ref/decoder.h"
#include "../ref/checked.h"
#include "../ref/decoder_product.h"
#include "../ref/random.h"
#include "independent/decoder.h"
#include "tiny_model.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- functions ---- */

Test(decoder, functions_are_those_of_libm) {
    for (int i = -200000; i <= 200000; i++) {
        const double x = i * 0.0035 + 1e-9 * i;
        const double relative = math_exp(x) / exp(x) - 1;
        cr_assert(fabs(relative) < 0x1p-50, "exp(%.17g) is off by %g", x, relative);
        const double big = i * 83.7;
        cr_assert(fabs(math_sin(big) - sin(big)) < 0x1p-50 && fabs(math_cos(big) - cos(big)) < 0x1p-50,
                  "sin or cos of %.17g", big);
        const double positive = exp(x);
        const double log_error = math_log(positive) - log(positive);
        cr_assert(fabs(log_error) <= 0x1p-50 * fmax(1, fabs(x)), "log(%.17g) is off by %g", positive, log_error);
    }
    cr_assert(isnan(math_exp(NAN)), "exp of NaN");
    cr_assert(math_exp(-INFINITY) == 0 && math_exp(-800) == 0 && math_exp(INFINITY) == INFINITY &&
                  math_exp(800) == INFINITY && math_exp(0) == 1,
              "ends of exp");
    for (int i = -4000; i <= 4000; i++) {
        const float x = (float)i * 0.01f;
        const double silu = x / (1 + exp(-(double)x));
        const double gelu = 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * pow(x, 3))));
        cr_assert(fabs(math_silu(x) - silu) <= 0x1p-23 * fabs(silu), "SiLU(%g)", x);
        cr_assert(fabs(math_gelu(x) - gelu) <= 0x1p-23 * fabs(gelu) + 1e-15, "GELU(%g)", x);
    }
}

Test(decoder, the_lowest_index_wins_a_tie_and_nan_is_refused) {
    struct decoder_choice c;
    struct error e = {""};
    const struct {
        float logits[5];
        size_t count;
        uint32_t id, other;
        double margin;
    } cases[] = {
        {{1, 3, 3, 2, 3}, 5, 1, 2, 0},
        {{3, 1, 2, 3, 0}, 5, 0, 3, 0},
        {{1, 2, 3, 4, 5}, 5, 4, 3, 1},
        {{5, 4, 3, 2, 1}, 5, 0, 1, 1},
        {{2, 5, 2, 2, 2}, 5, 1, 0, 3},
        {{0, 0, 0, 0, 0}, 5, 0, 1, 0},
        {{-INFINITY, -INFINITY, -1, 0, 0}, 3, 2, 0, INFINITY},
        {{7, 0, 0, 0, 0}, 1, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert(decoder_choose(cases[i].logits, cases[i].count, &c, &e), "%zu: %s", i, e.text);
        cr_assert(c.id == cases[i].id && c.other == cases[i].other && c.margin == cases[i].margin,
                  "%zu: %u over %u by %g", i, c.id, c.other, c.margin);
    }
    cr_assert(!decoder_choose((const float[]){1, NAN, NAN}, 3, &c, &e) && strstr(e.text, "token id 1 is NaN"), "%s",
              e.text);
}

/* ---- the whole ---- */

struct opened {
    struct bytes bytes;
    struct gguf_file *file;
    struct decoder_model *model;
};

static struct opened open_tiny(const char *architecture, const char *format, const struct tiny_fault *fault) {
    struct error e = {""};
    struct opened o = {.bytes = tiny_model(architecture, format_named(format), fault)};
    o.file = gguf_parse("tiny.gguf", o.bytes.p, o.bytes.n, &e);
    cr_assert(o.file, "%s %s: %s", architecture, format, e.text);
    o.model = decoder_model_open(o.file, &e);
    cr_assert(o.model, "%s %s: %s", architecture, format, e.text);
    return o;
}

static void close_tiny(struct opened *o) {
    decoder_model_close(o->model);
    gguf_close(o->file);
    free(o->bytes.p);
}

static double *values_of(const struct gguf_file *f, const char *name) {
    const struct gguf_tensor *t = gguf_tensor_named(f, name);
    if (!t)
        return NULL;
    double *v = must_calloc(t->rows * t->extent[0], sizeof *v);
    float *line = must_calloc(t->extent[0], sizeof *line);
    for (uint64_t r = 0; r < t->rows; r++) {
        cr_assert(gguf_row(t, r, line, NULL), "%s", name);
        for (uint64_t k = 0; k < t->extent[0]; k++)
            v[r * t->extent[0] + k] = line[k];
    }
    free(line);
    return v;
}

static double *layer_values(const struct gguf_file *f, size_t layer, const char *name) {
    char *full = must_format("blk.%zu.%s", layer, name);
    double *v = values_of(f, full);
    free(full);
    return v;
}

enum { MOST = 16 };

/* The description from the file's own tensors and what tiny_model.c says of its keys. */
static struct model_description describe(const struct gguf_file *f, const char *architecture,
                                         struct model_layer layers[TINY_LAYERS]) {
    const bool gemma = !strcmp(architecture, "gemma3"), llama = !strcmp(architecture, "llama");
    struct model_description m = {.layers = TINY_LAYERS,
                                  .width = TINY_WIDTH,
                                  .hidden = TINY_HIDDEN,
                                  .heads = TINY_HEADS,
                                  .key_heads = TINY_KEY_HEADS,
                                  .size = TINY_KEY_SIZE,
                                  .vocabulary = TINY_VOCABULARY,
                                  .epsilon = 1e-6f,
                                  .embedding_scale = gemma ? sqrt(TINY_WIDTH) : 1,
                                  .neighbours = llama,
                                  .tanh_gelu = gemma,
                                  .layer = layers,
                                  .embedding = values_of(f, "token_embd.weight"),
                                  .head = values_of(f, gemma ? "token_embd.weight" : "output.weight"),
                                  .norm = values_of(f, "output_norm.weight")};
    for (size_t i = 0; i < TINY_LAYERS; i++)
        layers[i] = (struct model_layer){.q = layer_values(f, i, "attn_q.weight"),
                                         .k = layer_values(f, i, "attn_k.weight"),
                                         .v = layer_values(f, i, "attn_v.weight"),
                                         .o = layer_values(f, i, "attn_output.weight"),
                                         .gate = layer_values(f, i, "ffn_gate.weight"),
                                         .up = layer_values(f, i, "ffn_up.weight"),
                                         .down = layer_values(f, i, "ffn_down.weight"),
                                         .q_bias = layer_values(f, i, "attn_q.bias"),
                                         .k_bias = layer_values(f, i, "attn_k.bias"),
                                         .v_bias = layer_values(f, i, "attn_v.bias"),
                                         .norm = layer_values(f, i, "attn_norm.weight"),
                                         .ffn_norm = layer_values(f, i, "ffn_norm.weight"),
                                         .q_norm = layer_values(f, i, "attn_q_norm.weight"),
                                         .k_norm = layer_values(f, i, "attn_k_norm.weight"),
                                         .post_norm = layer_values(f, i, "post_attention_norm.weight"),
                                         .post_ffw_norm = layer_values(f, i, "post_ffw_norm.weight"),
                                         .base = llama || (gemma && i == 0) ? 10000 : 1000000,
                                         .window = gemma && i == 0 ? TINY_WINDOW : 0};
    return m;
}

static void free_description(struct model_description *m, struct model_layer *layers) {
    free((void *)m->embedding);
    free((void *)m->head);
    free((void *)m->norm);
    for (size_t i = 0; i < m->layers; i++) {
        const struct model_layer *l = &layers[i];
        const double *const all[] = {
            l->q,      l->k,      l->v,    l->o,        l->gate,   l->up,     l->down,      l->q_bias,
            l->k_bias, l->v_bias, l->norm, l->ffn_norm, l->q_norm, l->k_norm, l->post_norm, l->post_ffw_norm};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            free((void *)all[k]);
    }
}

static const struct decoder_arm truth = {.product = product_truth_arm};
static const uint32_t prompt[MOST] = {1, 17, 42, 255, 3, 3, 99, 200, 128, 64, 31, 7, 287, 0, 150, 211};

/* logits of the last of `count` ids fed at once. */
static void decode_at_once(const struct decoder_model *m, size_t count, const struct decoder_arm *arm, float *logits) {
    struct error e = {""};
    struct decoder *d = decoder_open(m, count, &e);
    cr_assert(d && decoder_feed(d, prompt, count, arm, logits, &e), "%s", e.text);
    decoder_close(d);
}

/* How far f32 is from float64, in the largest logit. A value is rounded R times on its way from the embedding to a
 * logit: for each layer the chains of attention (key_size for a score, the positions for a value) and some twenty
 * single operations, each by at most 2^-24 of what it adds to; norms bring what was lost in a layer back to the size of
 * the stream. Roundings that point the same way in all of them would add up to R * 2^-24 of the largest logit. */
static double allowed(size_t count) {
    return (TINY_LAYERS * (TINY_KEY_SIZE + count + 20.0) + 8) * 0x1p-24;
}

static double distance(const float *logits, const double *right) {
    double worst = 0, largest = 0;
    for (size_t i = 0; i < TINY_VOCABULARY; i++) {
        worst = fmax(worst, fabs(logits[i] - right[i]));
        largest = fmax(largest, fabs(right[i]));
    }
    return worst / largest;
}

Test(decoder, matches_an_independent_float64_decoder) {
    static const char *const formats[] = {"f32", "q4_0", "iq3_s", NULL};
    double *right = must_calloc(MOST * TINY_VOCABULARY, sizeof *right);
    float logits[TINY_VOCABULARY];
    for (size_t a = 0; tiny_architectures[a]; a++)
        for (size_t f = 0; formats[f]; f++) {
            struct opened o = open_tiny(tiny_architectures[a], formats[f], NULL);
            struct model_layer layers[TINY_LAYERS];
            struct model_description m = describe(o.file, tiny_architectures[a], layers);
            independent_decode(&m, prompt, MOST, right);
            for (size_t count = 1; count <= MOST; count += 3) {
                decode_at_once(o.model, count, &truth, logits);
                const double far = distance(logits, right + (count - 1) * TINY_VOCABULARY);
                cr_expect(far <= allowed(count), "%s %s, %zu tokens: %g of the largest logit, allowed %g",
                          tiny_architectures[a], formats[f], count, far, allowed(count));
            }
            free_description(&m, layers);
            close_tiny(&o);
        }
    free(right);
}

/* Every part of the description, changed a little, must be seen by the same comparison. */
Test(decoder, the_comparison_sees_every_part) {
    double *right = must_calloc(MOST * TINY_VOCABULARY, sizeof *right);
    float logits[TINY_VOCABULARY];
    for (size_t a = 0; tiny_architectures[a]; a++) {
        struct opened o = open_tiny(tiny_architectures[a], "f32", NULL);
        struct model_layer layers[TINY_LAYERS];
        const struct model_description whole = describe(o.file, tiny_architectures[a], layers);
        const struct model_layer kept[TINY_LAYERS] = {layers[0], layers[1]};
        const bool gemma = !strcmp(tiny_architectures[a], "gemma3"), qwen = !strcmp(tiny_architectures[a], "qwen2");
        decode_at_once(o.model, MOST, &truth, logits);
        for (int fault = 0; fault < 12; fault++) {
            struct model_description m = whole;
            layers[0] = kept[0];
            layers[1] = kept[1];
            switch (fault) {
            case 0:
                m.epsilon *= 100;
                break;
            case 1:
                m.neighbours = !m.neighbours;
                break;
            case 2:
                m.tanh_gelu = !m.tanh_gelu;
                break;
            case 3:
                layers[0].base *= 1.01;
                break;
            case 4:
                layers[1].base *= 1.01;
                break;
            case 5:
                layers[0].window = gemma ? TINY_WINDOW + 1 : MOST - 1;
                break;
            case 6:
                layers[1].window = MOST - 1;
                break;
            case 7:
                m.embedding_scale *= 1.0001;
                break;
            case 8:
                layers[1].q_bias = qwen ? NULL : kept[0].up;
                break;
            case 9:
                layers[0].norm = kept[1].norm;
                break;
            case 10:
                layers[1].post_ffw_norm = gemma ? kept[0].post_ffw_norm : kept[0].norm;
                break;
            case 11:
                layers[1].q_norm = layers[1].k_norm = gemma ? kept[1].k_norm : kept[0].norm;
                break;
            }
            independent_decode(&m, prompt, MOST, right);
            const double far = distance(logits, right + (MOST - 1) * TINY_VOCABULARY);
            cr_expect(far > allowed(MOST), "%s: fault %d is not seen: %g", tiny_architectures[a], fault, far);
        }
        struct model_description all = whole;
        layers[0] = kept[0];
        layers[1] = kept[1];
        free_description(&all, layers);
        close_tiny(&o);
    }
    free(right);
}

/* Keys and values of earlier calls are those of a prompt at once: the same bits, where a product's bits do not depend
 * on how many tokens come along. */
Test(decoder, steps_have_the_bits_of_a_prompt_at_once) {
    const struct decoder_arm plain = {.product = product_plain_arm};
    for (size_t a = 0; tiny_architectures[a]; a++) {
        struct opened o = open_tiny(tiny_architectures[a], "q5_0", NULL);
        float at_once[TINY_VOCABULARY], logits[TINY_VOCABULARY];
        decode_at_once(o.model, MOST, &plain, at_once);
        static const size_t cuts[][5] = {{16}, {1, 15}, {9, 1, 1, 5}, {15, 1}};
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
            struct error e = {""};
            struct decoder *d = decoder_open(o.model, MOST, &e);
            size_t at = 0;
            for (size_t i = 0; cuts[c][i]; at += cuts[c][i++])
                cr_assert(decoder_feed(d, prompt + at, cuts[c][i], &plain, logits, &e), "%s", e.text);
            cr_assert(at == MOST && !memcmp(logits, at_once, sizeof logits), "%s: cut %zu has other bits",
                      tiny_architectures[a], c);
            cr_assert(!decoder_feed(d, prompt, 1, &plain, logits, &e) && strstr(e.text, "do not fit"), "%s", e.text);
            decoder_close(d);
        }
        close_tiny(&o);
    }
}

Test(decoder, a_sequence_is_bounded) {
    struct error e = {""};
    struct opened o = open_tiny("llama", "f32", NULL);
    cr_assert(!decoder_open(o.model, TINY_CONTEXT + 1, &e) && strstr(e.text, "context of the model, 64"), "%s", e.text);
    struct decoder *d = decoder_open(o.model, 4, &e);
    const uint32_t bad[] = {1, TINY_VOCABULARY};
    cr_assert(!decoder_feed(d, bad, 2, &truth, NULL, &e) && strstr(e.text, "token id 288 is not in the vocabulary"),
              "%s", e.text);
    cr_assert(!decoder_feed(d, bad, 0, &truth, NULL, &e), "nothing is fed");
    decoder_close(d);
    close_tiny(&o);
}

/* ---- hostile files ---- */

Test(decoder, hostile_models_are_refused_by_name) {
    const struct {
        const char *architecture, *words;
        struct tiny_fault fault;
    } cases[] = {
        {"llama", "tensor blk.1.ffn_up.weight is missing", {.drop = "blk.1.ffn_up.weight"}},
        {"llama", "tensor token_embd.weight is missing", {.drop = "token_embd.weight"}},
        {"llama", "tensor output_norm.weight is missing", {.drop = "output_norm.weight"}},
        {"qwen2", "tensor blk.0.attn_k.bias is missing", {.drop = "blk.0.attn_k.bias"}},
        {"gemma3", "tensor blk.1.attn_q_norm.weight is missing", {.drop = "blk.1.attn_q_norm.weight"}},
        {"gemma3", "tensor blk.0.post_ffw_norm.weight is missing", {.drop = "blk.0.post_ffw_norm.weight"}},
        {"llama", "key general.architecture is missing", {.drop = ":general.architecture"}},
        {"mamba", "architecture mamba is none of llama, qwen2 and gemma3", {0}},
        {"llama", "key llama.block_count is missing", {.drop = "block_count"}},
        {"llama",
         "key llama.attention.layer_norm_rms_epsilon is missing",
         {.drop = "attention.layer_norm_rms_epsilon"}},
        {"gemma3", "key gemma3.attention.sliding_window is missing", {.drop = "attention.sliding_window"}},
        {"llama", "key llama.attention.head_count is 0", {.key = "attention.head_count"}},
        {"llama", "key llama.attention.head_count_kv is 0", {.key = "attention.head_count_kv"}},
        {"llama", "key llama.block_count is 0", {.key = "block_count"}},
        {"llama", "key llama.block_count is 4294967295", {.key = "block_count", .value = UINT32_MAX}},
        {"llama", "tensor blk.2.attn_q.weight is missing", {.key = "block_count", .value = 1000}},
        {"llama", "tensor blk.1.attn_norm.weight has no place", {.key = "block_count", .value = 1}},
        {"llama", "key llama.embedding_length is 4294967295", {.key = "embedding_length", .value = UINT32_MAX}},
        {"llama",
         "tensor token_embd.weight is 256 x 288 values, not 512 x 288",
         {.key = "embedding_length", .value = 512}},
        {"llama", "3 heads cannot share 2 key heads evenly", {.key = "attention.head_count", .value = 3}},
        {"llama", "a width of 256 does not divide among 6 heads", {.key = "attention.head_count", .value = 6}},
        {"llama", "4 heads cannot share 3 key heads evenly", {.key = "attention.head_count_kv", .value = 3}},
        {"llama",
         "tensor blk.0.attn_k.weight is 256 x 128 values, not 256 x 256",
         {.key = "attention.head_count_kv", .value = 4}},
        {"llama", "key llama.context_length is 0", {.key = "context_length"}},
        {"llama", "key llama.expert_count is 8", {.key = "expert_count", .value = 8}},
        {"llama", "key llama.attention.key_length is 0", {.key = "attention.key_length"}},
        {"llama", "7 values of a head cannot be turned in pairs", {.key = "rope.dimension_count", .value = 7}},
        {"llama", "key llama.rope.dimension_count is 66", {.key = "rope.dimension_count", .value = 66}},
        {"llama", "the vocabulary has 100 tokens", {.key = "vocab_size", .value = 100}},
        {"gemma3", "key gemma3.attention.sliding_window is 0", {.key = "attention.sliding_window"}},
        {"llama",
         "key llama.attention.sliding_window is supported of gemma3 only",
         {.key = "attention.sliding_window"}},
        {"qwen2", "key qwen2.use_parallel_residual is not supported", {.key = "use_parallel_residual"}},
        {"llama", "key llama.rope.freq_base is nan", {.real = "rope.freq_base", .real_value = NAN}},
        {"llama", "key llama.rope.freq_base is 0", {.real = "rope.freq_base"}},
        {"llama", "key llama.rope.freq_base is inf", {.real = "rope.freq_base", .real_value = INFINITY}},
        {"llama",
         "key llama.attention.layer_norm_rms_epsilon is -1",
         {.real = "attention.layer_norm_rms_epsilon", .real_value = -1}},
        {"llama",
         "key llama.final_logit_softcapping is not supported",
         {.real = "final_logit_softcapping", .real_value = 30}},
        {"llama",
         "key llama.rope.scaling.type is yarn; supported: none, linear",
         {.text = "rope.scaling.type", .text_value = "yarn"}},
        {"llama", "key llama.rope.scaling.type is \\x1b[31m", {.text = "rope.scaling.type", .text_value = "\x1b[31m"}},
        {"llama",
         "tensor blk.0.attn_q.weight is 512 x 256 values, not 256 x 256",
         {.tensor = "blk.0.attn_q.weight", .extent = {512, 256}}},
        {"llama",
         "tensor blk.0.attn_q.weight is 256 x 512 values, not 256 x 256",
         {.tensor = "blk.0.attn_q.weight", .extent = {256, 512}}},
        {"llama",
         "tensor blk.0.attn_norm.weight has 128 values, not 256",
         {.tensor = "blk.0.attn_norm.weight", .extent = {128, 1}}},
        {"llama", "the vocabulary has 287 tokens", {.tokens = 287}},
        {"llama", "tensor blk.1.ffn_down.weight, row 255: a value is not finite", {.nan = "blk.1.ffn_down.weight"}},
        {"llama", "tensor token_embd.weight, row 287: a value is not finite", {.nan = "token_embd.weight"}},
        {"gemma3",
         "tensor blk.1.attn_k_norm.weight, row 0: a value is not finite",
         {.nan = "blk.1.attn_k_norm.weight"}},
        {"llama",
         "tensor blk.0.attn_qkv.weight has no place in architecture llama",
         {.extra = "blk.0.attn_qkv.weight"}},
        {"llama", "tensor rope_freqs.weight has 256 values, not 32", {.extra = "rope_freqs.weight"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct bytes b = tiny_model(cases[i].architecture, format_named("q8_0"), &cases[i].fault);
        struct gguf_file *f = gguf_parse("hostile.gguf", b.p, b.n, &e);
        cr_assert(f, "%s: %s", cases[i].words, e.text);
        struct decoder_model *m = decoder_model_open(f, &e);
        cr_expect(!m && strstr(e.text, cases[i].words) && !strncmp(e.text, "hostile.gguf: ", 14) &&
                      !strchr(e.text, '\n'),
                  "want '%s', got '%s'", cases[i].words, m ? "(taken)" : e.text);
        decoder_model_close(m);
        gguf_close(f);
        free(b.p);
    }
}

/* Files with a few bytes of the header changed: taken or refused with one line, and what is taken can be decoded. */
Test(decoder, damaged_headers_neither_crash_nor_hang) {
    struct bytes whole = tiny_model("gemma3", format_named("q4_0"), NULL);
    const size_t header = 3000;
    uint8_t *damaged = must_calloc(whole.n, 1);
    struct random_stream s = random_open(random_key("damaged headers"), 0);
    size_t taken = 0, refused = 0;
    for (int i = 0; i < 1500; i++) {
        struct error e = {""};
        memcpy(damaged, whole.p, whole.n);
        for (uint32_t n = 1 + random_below(&s, 3); n > 0; n--)
            damaged[24 + random_below(&s, header)] = (uint8_t)(random_u32(&s) >> random_below(&s, 8));
        struct gguf_file *f = gguf_parse("damaged.gguf", damaged, whole.n, &e);
        struct decoder_model *m = f ? decoder_model_open(f, &e) : NULL;
        refused += f && !m;
        cr_assert(m || e.text[0], "refused without a word");
        if (m) {
            struct decoder *d = decoder_open(m, 2, &e);
            float *logits = must_calloc(m->vocabulary, sizeof *logits);
            const uint32_t id = 0;
            if (d && i % 8 == 0)
                taken += decoder_feed(d, &id, 1, &truth, logits, &e);
            free(logits);
            decoder_close(d);
        }
        decoder_model_close(m);
        gguf_close(f);
    }
    cr_assert(taken > 10 && refused > 100, "%zu taken, %zu refused by the decoder", taken, refused);
    free(damaged);
    free(whole.p);
}

/* What real files have, too, and must be taken. */
Test(decoder, variants_are_taken) {
    const struct {
        const char *architecture;
        struct tiny_fault fault;
    } cases[] = {
        {"llama", {.tied = true}},
        {"qwen2", {.tied = true}},
        {"llama", {.tokens = TINY_VOCABULARY}},
        {"llama", {.key = "vocab_size", .value = TINY_VOCABULARY}},
        {"llama", {.text = "rope.scaling.type", .text_value = "none"}},
        {"gemma3",
         {.text = "rope.scaling.type", .text_value = "linear", .real = "rope.scaling.factor", .real_value = 8}},
        {"llama", {.key = "rope.dimension_count", .value = 32}},
        {"gemma3", {.drop = "attention.sliding_window_pattern"}},
        {"llama", {.drop = "rope.freq_base"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float logits[TINY_VOCABULARY];
        struct opened o = open_tiny(cases[i].architecture, "q4_0", &cases[i].fault);
        decode_at_once(o.model, MOST, &truth, logits);
        close_tiny(&o);
    }
}
