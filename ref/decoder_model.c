/* Hyperparameters and tensors of a model file, every one of them checked. */
#include "checked.h"
#include "decoder.h"
#include "half.h"
#include "printable.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 1024, MOST_HEADS = 1024, MOST_WIDTH = 1 << 20, MOST_VOCABULARY = 1 << 24, MOST_CONTEXT = 1 << 24 };

struct opening {
    const struct gguf_file *f;
    struct decoder_model *m;
    bool *used;  /* (tensor_count) the tensors that have a place */
    size_t room; /* floats of m->memory not yet given out */
    float *next;
    struct error *e;
};

static bool refuse(const struct opening *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(const struct opening *o, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char path[512];
    return fail(o->e, "%s: %s", printable(path, sizeof path, o->f->path, strlen(o->f->path)), text);
}

struct shown { /* a text of the file, for a message */
    char text[128];
};
static struct shown show(const void *text, size_t length) {
    struct shown s = {""};
    printable(s.text, sizeof s.text, text, length);
    return s;
}

/* ---- keys ---- */

enum { KEY_NAME = 128 };
static const struct gguf_entry *key_of(const struct opening *o, const char *name, char key[KEY_NAME]) {
    snprintf(key, KEY_NAME, "%s.%s", o->m->architecture, name);
    return gguf_entry_named(o->f, key);
}

/* *value = an integer in least .. most, of any unsigned type, or of a signed one that is not negative. A key that is
 * absent leaves *value as it is, when it may be. */
static bool count_key(const struct opening *o, const char *name, bool needed, size_t least, size_t most,
                      size_t *value) {
    char key[KEY_NAME];
    const struct gguf_entry *k = key_of(o, name, key);
    if (!k)
        return !needed || refuse(o, "key %s is missing", key);
    static const uint8_t width[GGUF_FLOAT64 + 1] = {
        [GGUF_UINT8] = 1,  [GGUF_INT8] = 1,  [GGUF_UINT16] = 2, [GGUF_INT16] = 2,
        [GGUF_UINT32] = 4, [GGUF_INT32] = 4, [GGUF_UINT64] = 8, [GGUF_INT64] = 8};
    if (!width[k->type])
        return refuse(o, "key %s is of type %s, not an integer", key, gguf_value_names[k->type]);
    const uint64_t v = gguf_number(k->bytes, width[k->type]);
    const bool is_signed =
        k->type == GGUF_INT8 || k->type == GGUF_INT16 || k->type == GGUF_INT32 || k->type == GGUF_INT64;
    if (is_signed && v >> (8 * width[k->type] - 1))
        return refuse(o, "key %s is negative", key);
    if (v < least || v > most)
        return refuse(o, "key %s is %llu, not in %zu .. %zu", key, (unsigned long long)v, least, most);
    *value = (size_t)v;
    return true;
}

/* *value = a float32 in least .. most. */
static bool real_key(const struct opening *o, const char *name, bool needed, double least, double most, double *value) {
    char key[KEY_NAME];
    const struct gguf_entry *k = key_of(o, name, key);
    if (!k)
        return !needed || refuse(o, "key %s is missing", key);
    if (k->type != GGUF_FLOAT32)
        return refuse(o, "key %s is of type %s, not float32", key, gguf_value_names[k->type]);
    const double v = bits_float((uint32_t)gguf_number(k->bytes, 4));
    if (!(v >= least && v <= most)) /* NaN too */
        return refuse(o, "key %s is %g, not in %g .. %g", key, v, least, most);
    *value = v;
    return true;
}

static bool key_is(const struct gguf_entry *k, const char *text) {
    return k->type == GGUF_STRING && k->length == strlen(text) && !memcmp(k->bytes, text, k->length);
}

static bool read_architecture(struct opening *o) {
    static const char *const names[] = {"llama", "qwen2", "gemma3"};
    const struct gguf_entry *k = gguf_entry_named(o->f, "general.architecture");
    if (!k || k->type != GGUF_STRING)
        return refuse(o, "key general.architecture is %s", k ? "no string" : "missing");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (key_is(k, names[i]))
            o->m->architecture = names[i];
    return o->m->architecture ||
           refuse(o, "architecture %s is none of llama, qwen2 and gemma3", show(k->bytes, k->length).text);
}

/* What would make another function of the model. */
static bool refuse_unknown(const struct opening *o) {
    static const char *const zero[] = {"expert_count", "expert_used_count"};
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) {
        size_t none = 0;
        if (!count_key(o, zero[i], false, 0, 0, &none))
            return false;
    }
    static const char *const absent[] = {
        "attn_logit_softcapping", "final_logit_softcapping", "attention.scale",          "logit_scale",
        "attention.causal",       "attention.clamp_kqv",     "attention.max_alibi_bias", "residual_scale",
        "embedding_scale",        "rope.dimension_sections", "use_parallel_residual",    "tensor_data_layout"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        char key[KEY_NAME];
        if (key_of(o, absent[i], key))
            return refuse(o, "key %s is not supported", key);
    }
    char window[KEY_NAME];
    if (!key_is(gguf_entry_named(o->f, "general.architecture"), "gemma3") &&
        key_of(o, "attention.sliding_window", window))
        return refuse(o, "key %s is supported of gemma3 only", window);
    return true;
}

static bool read_sizes(struct opening *o) {
    struct decoder_model *m = o->m;
    if (!count_key(o, "block_count", true, 1, MOST_LAYERS, &m->layers) ||
        !count_key(o, "context_length", true, 1, MOST_CONTEXT, &m->context) ||
        !count_key(o, "embedding_length", true, 1, MOST_WIDTH, &m->width) ||
        !count_key(o, "feed_forward_length", true, 1, MOST_WIDTH, &m->hidden) ||
        !count_key(o, "attention.head_count", true, 1, MOST_HEADS, &m->heads))
        return false;
    m->key_heads = m->heads;
    if (!count_key(o, "attention.head_count_kv", false, 1, MOST_HEADS, &m->key_heads))
        return false;
    if (m->heads % m->key_heads)
        return refuse(o, "%zu heads cannot share %zu key heads evenly", m->heads, m->key_heads);
    m->key_size = m->value_size = 0;
    if (!count_key(o, "attention.key_length", false, 1, MOST_WIDTH, &m->key_size) ||
        !count_key(o, "attention.value_length", false, 1, MOST_WIDTH, &m->value_size))
        return false;
    if ((!m->key_size || !m->value_size) && m->width % m->heads)
        return refuse(o, "a width of %zu does not divide among %zu heads, and there is no attention.key_length",
                      m->width, m->heads);
    m->key_size = m->key_size ? m->key_size : m->width / m->heads;
    m->value_size = m->value_size ? m->value_size : m->width / m->heads;
    double epsilon;
    if (!real_key(o, "attention.layer_norm_rms_epsilon", true, 0, 1, &epsilon))
        return false;
    m->epsilon = (float)epsilon;
    return true;
}

/* ---- rotary ---- */

/* Linear scaling is the factor that positions are divided by. */
static bool read_scaling(const struct opening *o, double *scaling) {
    char key[KEY_NAME];
    const struct gguf_entry *type = key_of(o, "rope.scaling.type", key);
    *scaling = 1;
    if (type && !key_is(type, "none") && !key_is(type, "linear"))
        return type->type == GGUF_STRING
                   ? refuse(o, "key %s is %s; supported: none, linear", key, show(type->bytes, type->length).text)
                   : refuse(o, "key %s is no string", key);
    if (type && key_is(type, "none"))
        return true;
    return real_key(o, type ? "rope.scaling.factor" : "rope.scale_linear", false, 1e-3, 1e6, scaling) &&
           (type || *scaling != 1 || real_key(o, "rope.scaling.factor", false, 1e-3, 1e6, scaling));
}

/* A layer of gemma3 is global when it is the last of its pattern. */
static bool read_windows(struct opening *o, const struct rotary *global) {
    struct decoder_model *m = o->m;
    size_t window = 0, pattern = 6;
    double base = 10000;
    if (!count_key(o, "attention.sliding_window", true, 1, MOST_CONTEXT, &window) ||
        !count_key(o, "attention.sliding_window_pattern", false, 1, MOST_LAYERS, &pattern) ||
        !real_key(o, "rope.freq_base_swa", false, 1, 1e12, &base))
        return false;
    for (size_t i = 0; i < m->layers; i++)
        if (i % pattern != pattern - 1) {
            m->layer[i].window = window;
            m->layer[i].rotary = *global;
            m->layer[i].rotary.base = base;
            m->layer[i].rotary.scaling = 1;
        }
    return true;
}

static const float *vector_of(struct opening *o, const char *name, size_t values, bool needed, bool *good);

static bool read_rotary(struct opening *o) {
    struct decoder_model *m = o->m;
    struct rotary r = {.values = m->key_size, .interleaved = !strcmp(m->architecture, "llama"), .base = 10000};
    if (!count_key(o, "rope.dimension_count", false, 2, m->key_size, &r.values) ||
        !real_key(o, "rope.freq_base", false, 1, 1e12, &r.base) || !read_scaling(o, &r.scaling))
        return false;
    if (r.values % 2)
        return refuse(o, "%zu values of a head cannot be turned in pairs", r.values);
    bool good = true;
    if (!strcmp(m->architecture, "llama"))
        r.factors = vector_of(o, "rope_freqs.weight", r.values / 2, false, &good);
    for (size_t i = 0; good && r.factors && i < r.values / 2; i++)
        good = r.factors[i] > 0 || refuse(o, "tensor rope_freqs.weight: factor %zu is not positive", i);
    for (size_t i = 0; i < m->layers; i++)
        m->layer[i].rotary = r;
    return good && (strcmp(m->architecture, "gemma3") || read_windows(o, &r));
}

/* ---- tensors ---- */

static const struct gguf_tensor *take(struct opening *o, const char *name) {
    const struct gguf_tensor *t = gguf_tensor_named(o->f, name);
    if (t)
        o->used[t - o->f->tensors] = true;
    return t;
}

/* A scale of a block: binary16 and f32 are finite unless all exponent bits are set, a power of two unless it is 255. */
static bool field_finite(const uint8_t *block, struct block_field field) {
    const uint64_t v = gguf_number(block + field.at, field.bytes);
    return field.bytes == 0 || (field.bytes == 1   ? v != 0xff
                                : field.bytes == 2 ? (v & 0x7c00) != 0x7c00
                                                   : (v & 0x7f800000) != 0x7f800000);
}

/* Whether all values of a row are finite. With finite scales in f16 those of a block are: integers of at most 16 bits
 * multiply them. */
static bool row_finite(const struct gguf_tensor *t, uint64_t row, float *line) {
    const struct block_format *f = t->format;
    const uint8_t *block = t->data + row * t->row_bytes;
    if (f->d.bytes == 2) {
        for (size_t i = 0; i < t->row_bytes; i += f->block_bytes)
            if (!field_finite(block + i, f->d) || !field_finite(block + i, f->dmin))
                return false;
        return true;
    }
    if (!gguf_row(t, row, line, NULL))
        return false;
    for (uint64_t k = 0; k < t->extent[0]; k++)
        if (!isfinite(line[k]))
            return false;
    return true;
}

static bool all_finite(const struct opening *o, const struct gguf_tensor *t) {
    uint64_t bad = UINT64_MAX;
    bool short_of_memory = false;
#pragma omp parallel if (t->bytes > 1 << 20)
    {
        float *line = calloc(t->extent[0], sizeof *line);
#pragma omp for reduction(min : bad) reduction(|| : short_of_memory)
        for (uint64_t row = 0; row < t->rows; row++) {
            short_of_memory = short_of_memory || !line;
            if (line && row < bad && !row_finite(t, row, line))
                bad = row;
        }
        free(line);
    }
    if (short_of_memory)
        return refuse(o, "no memory for a row of tensor %s", show(t->name, strlen(t->name)).text);
    return bad == UINT64_MAX || refuse(o, "tensor %s, row %llu: a value is not finite",
                                       show(t->name, strlen(t->name)).text, (unsigned long long)bad);
}

static bool matrix(struct opening *o, const char *name, size_t od, size_t id, const struct gguf_tensor **out) {
    const struct gguf_tensor *t = take(o, name);
    if (!t)
        return refuse(o, "tensor %s is missing", name);
    if (t->extent[0] != id || t->extent[1] != od || t->rows != od)
        return refuse(o, "tensor %s is %llu x %llu values%s, not %zu x %zu", name, (unsigned long long)t->extent[0],
                      (unsigned long long)t->extent[1], t->dims > 2 ? " in more dimensions" : "", id, od);
    if (!t->format)
        return refuse(o, "tensor %s is of type %s, which cannot be decoded", name, t->type_name);
    *out = t;
    return all_finite(o, t);
}

/* A vector of f32 (or f16, bf16: widened), in memory of the model's. NULL, and *good false, when it is wrong, or
 * missing though needed. */
static const float *vector_of(struct opening *o, const char *name, size_t values, bool needed, bool *good) {
    const struct gguf_tensor *t = *good ? take(o, name) : NULL;
    if (!t) {
        *good = *good && (!needed || refuse(o, "tensor %s is missing", name));
        return NULL;
    }
    if (t->extent[0] != values || t->rows != 1)
        *good = refuse(o, "tensor %s has %llu values, not %zu", name,
                       (unsigned long long)(t->rows == 1 ? t->extent[0] : t->rows), values);
    else if (!t->format || t->format->sub_values || t->format->block_values != 1)
        *good = refuse(o, "tensor %s is of type %s, not f32, f16 or bf16", name, t->type_name);
    if (!*good || !(*good = all_finite(o, t)))
        return NULL;
    float *v = o->next;
    o->next += values;
    o->room -= values; /* memory_for counted it */
    *good = gguf_row(t, 0, v, o->e);
    return v;
}

/* Memory for every vector of the file. */
static bool memory_for(struct opening *o) {
    size_t total = 1;
    for (size_t i = 0; i < o->f->tensor_count; i++) {
        const struct gguf_tensor *t = &o->f->tensors[i];
        if (t->rows == 1 && !size_add(total, t->extent[0], &total))
            return refuse(o, "the vectors are larger than the address space");
    }
    o->m->memory = o->next = calloc(total, sizeof *o->next);
    o->room = total;
    return o->next || refuse(o, "no memory for %zu values of vectors", total);
}

static bool read_layer(struct opening *o, size_t i) {
    struct decoder_model *m = o->m;
    struct decoder_layer *l = &m->layer[i];
    const bool gemma = !strcmp(m->architecture, "gemma3");
    const size_t q = m->heads * m->key_size, k = m->key_heads * m->key_size, v = m->key_heads * m->value_size;
    const struct {
        const char *name;
        size_t od, id;
    } weights[LAYER_WEIGHTS] = {
        [WEIGHT_Q] = {"attn_q", q, m->width},
        [WEIGHT_K] = {"attn_k", k, m->width},
        [WEIGHT_V] = {"attn_v", v, m->width},
        [WEIGHT_O] = {"attn_output", m->width, m->heads * m->value_size},
        [WEIGHT_GATE] = {"ffn_gate", m->hidden, m->width},
        [WEIGHT_UP] = {"ffn_up", m->hidden, m->width},
        [WEIGHT_DOWN] = {"ffn_down", m->width, m->hidden},
    };
    char name[96];
    bool good = true;
    for (size_t w = 0; w < LAYER_WEIGHTS; w++) {
        const bool bias_needed = !strcmp(m->architecture, "qwen2") && w <= WEIGHT_V;
        snprintf(name, sizeof name, "blk.%zu.%s.weight", i, weights[w].name);
        if (!matrix(o, name, weights[w].od, weights[w].id, &l->weight[w].tensor))
            return false;
        snprintf(name, sizeof name, "blk.%zu.%s.bias", i, weights[w].name);
        if (!gemma)
            l->weight[w].bias = vector_of(o, name, weights[w].od, bias_needed, &good);
    }
    const struct {
        const char *name;
        size_t values;
        const float **to;
        bool gemma;
    } vectors[] = {
        {"attn_norm", m->width, &l->attention_norm, false},
        {"ffn_norm", m->width, &l->ffn_norm, false},
        {"attn_q_norm", m->key_size, &l->q_norm, true},
        {"attn_k_norm", m->key_size, &l->k_norm, true},
        {"post_attention_norm", m->width, &l->post_attention_norm, true},
        {"post_ffw_norm", m->width, &l->post_ffw_norm, true},
    };
    for (size_t n = 0; n < sizeof vectors / sizeof *vectors; n++) {
        snprintf(name, sizeof name, "blk.%zu.%s.weight", i, vectors[n].name);
        if (gemma || !vectors[n].gemma)
            *vectors[n].to = vector_of(o, name, vectors[n].values, true, &good);
    }
    return good;
}

static bool read_ends(struct opening *o) {
    struct decoder_model *m = o->m;
    const struct gguf_tensor *t = take(o, "token_embd.weight");
    if (!t)
        return refuse(o, "tensor token_embd.weight is missing");
    if (t->rows > MOST_VOCABULARY)
        return refuse(o, "tensor token_embd.weight has %llu rows, more than %d", (unsigned long long)t->rows,
                      MOST_VOCABULARY);
    m->vocabulary = t->rows;
    size_t said = m->vocabulary;
    if (!count_key(o, "vocab_size", false, 1, MOST_VOCABULARY, &said))
        return false;
    const struct gguf_entry *tokens = gguf_entry_named(o->f, "tokenizer.ggml.tokens");
    if (said != m->vocabulary || (tokens && tokens->count != m->vocabulary))
        return refuse(o, "tensor token_embd.weight has %zu rows, but the vocabulary has %llu tokens", m->vocabulary,
                      (unsigned long long)(said != m->vocabulary ? said : tokens->count));
    if (!matrix(o, "token_embd.weight", m->vocabulary, m->width, &m->embedding))
        return false;
    m->head.tensor = m->embedding;
    if (gguf_tensor_named(o->f, "output.weight") &&
        !matrix(o, "output.weight", m->vocabulary, m->width, &m->head.tensor))
        return false;
    bool good = true;
    m->output_norm = vector_of(o, "output_norm.weight", m->width, true, &good);
    if (strcmp(m->architecture, "gemma3"))
        m->head.bias = vector_of(o, "output.bias", m->vocabulary, false, &good);
    return good;
}

/* A tensor without a place is a part of the model that would be left out. */
static bool all_used(const struct opening *o) {
    for (size_t i = 0; i < o->f->tensor_count; i++)
        if (!o->used[i]) {
            const char *name = o->f->tensors[i].name;
            return refuse(o, "tensor %s has no place in architecture %s", show(name, strlen(name)).text,
                          o->m->architecture);
        }
    return true;
}

static bool read_model(struct opening *o) {
    struct decoder_model *m = o->m;
    if (o->f->cut)
        return refuse(o, "the file is cut short");
    if (!read_architecture(o) || !refuse_unknown(o) || !read_sizes(o) || !memory_for(o))
        return false;
    const bool gemma = !strcmp(m->architecture, "gemma3");
    m->gelu = gemma;
    m->embedding_scale = gemma ? (float)sqrt((double)m->width) : 1;
    m->attention_scale =
        (float)(1 / sqrt(gemma && m->layers == 62 ? (double)m->width / (double)m->heads : (double)m->key_size));
    m->layer = must_calloc(m->layers, sizeof *m->layer);
    if (!read_ends(o))
        return false;
    for (size_t i = 0; i < m->layers; i++)
        if (!read_layer(o, i))
            return false;
    return read_rotary(o) && all_used(o);
}

struct decoder_model *decoder_model_open(const struct gguf_file *f, struct error *e) {
    struct decoder_model *m = must_calloc(1, sizeof *m);
    m->file = f;
    struct opening o = {.f = f, .m = m, .used = must_calloc(f->tensor_count + 1, sizeof *o.used), .e = e};
    const bool good = read_model(&o);
    free(o.used);
    if (good)
        return m;
    decoder_model_close(m);
    return NULL;
}

void decoder_model_close(struct decoder_model *m) {
    if (!m)
        return;
    free(m->layer);
    free(m->memory);
    free(m);
}
