#include "elements.h"
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "../ref/format.h"
#include "../ref/half.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- decoding ---- */

/* Memory for the parts of a table; sub values stand under one scale. */
static bool make_table(struct element_table *t, size_t rows, size_t depth, size_t sub, size_t block_values,
                       size_t block_bytes, struct error *e) {
    const size_t subs = depth / sub;
    size_t values, scales, bytes;
    *t = (struct element_table){
        .rows = rows, .depth = depth, .sub = sub, .block_values = block_values, .block_bytes = block_bytes};
    if (!size_mul(rows, depth, &values) || !size_mul(rows, subs, &scales) ||
        !size_mul(rows, depth / block_values * block_bytes, &bytes))
        return fail(e, "an operand of %zu rows of %zu values is too large to be decoded", rows, depth);
    t->q = calloc(values, 1);
    t->d = calloc(scales, sizeof *t->d);
    t->dmin = calloc(scales, sizeof *t->dmin);
    t->scale = calloc(scales, sizeof *t->scale);
    t->min = calloc(scales, sizeof *t->min);
    t->blocks = calloc(bytes, 1);
    return (t->q && t->d && t->dmin && t->scale && t->min && t->blocks) ||
           fail(e, "no memory to decode an operand of %zu rows of %zu values", rows, depth);
}

/* Of a format without integers (f32, f16, bf16) the blocks alone. */
static bool keep_blocks(const struct block_format *f, const void *data, size_t rows, size_t depth,
                        struct element_table *t, struct error *e) {
    size_t bytes;
    *t = (struct element_table){.rows = rows,
                                .depth = depth,
                                .sub = f->block_values,
                                .block_values = f->block_values,
                                .block_bytes = f->block_bytes};
    if (!size_mul(rows, depth / f->block_values * f->block_bytes, &bytes) || !(t->blocks = malloc(bytes)))
        return fail(e, "no memory to keep an operand of %zu rows of %zu values", rows, depth);
    memcpy(t->blocks, data, bytes);
    return true;
}

static bool decode_weight(const struct block_format *f, const struct contract_operands *o, struct element_table *t,
                          struct error *e) {
    if (f->sub_values == 0)
        return keep_blocks(f, o->weight, o->od, o->id, t, e);
    if (!make_table(t, o->od, o->id, f->sub_values, f->block_values, f->block_bytes, e))
        return false;
    const size_t blocks = o->od * (o->id / f->block_values), subs = f->block_values / f->sub_values;
    t->format = f;
    memcpy(t->blocks, o->weight, blocks * f->block_bytes);
    for (size_t i = 0; i < blocks; i++) {
        struct block_integers b;
        f->unpack(t->blocks + i * f->block_bytes, &b);
        memcpy(t->q + i * f->block_values, b.code, f->block_values);
        for (size_t s = 0; s < subs; s++) {
            t->d[i * subs + s] = b.d;
            t->dmin[i * subs + s] = b.dmin;
            t->scale[i * subs + s] = b.scale[s];
            t->min[i * subs + s] = b.min[s];
        }
    }
    return true;
}

/* Value k of a block stands for d * q[k]: so the block with all q = 1 stands for its scales. */
static void decode_block(const struct activation_format *f, const uint8_t *block, int8_t *q, float *d) {
    uint8_t ones[ACTIVATION_MOST_BYTES];
    float scales[ACTIVATION_MOST_VALUES];
    memcpy(q, block + f->codes_at, f->block_values);
    memcpy(ones, block, f->block_bytes);
    memset(ones + f->codes_at, 1, f->codes_bytes);
    f->dequantize(ones, scales);
    for (size_t s = 0; s < f->block_values / 32; s++)
        d[s] = scales[32 * s];
}

static bool decode_activation(const struct activation_format *f, const struct contract_operands *o,
                              struct element_table *t, struct error *e) {
    if (!f || f->codes_bytes != f->block_values)
        return true;
    if (!make_table(t, o->nt, o->id, 32, f->block_values, f->block_bytes, e))
        return false;
    const size_t a_token = o->id / f->block_values;
    t->sum = f->stored_sum ? must_calloc(o->nt * a_token, sizeof *t->sum) : NULL;
    for (size_t i = 0; i < o->nt * a_token; i++) {
        uint8_t *block = t->blocks + i * f->block_bytes;
        activation_get(f, o->activation, o->nt, o->id, i / a_token, i % a_token, block);
        decode_block(f, block, t->q + i * f->block_values, t->d + i * (f->block_values / 32));
        if (f->stored_sum)
            t->sum[i] = f->stored_sum(block);
    }
    return true;
}

static bool copy_plain(const struct spec *spec, const struct launch *l, struct elements *x, struct error *e) {
    x->plain = must_calloc(l->buffer_count + 1, sizeof *x->plain);
    x->plain_bytes = must_calloc(l->buffer_count + 1, sizeof *x->plain_bytes);
    for (size_t b = 0; b < spec->buffer_count; b++) {
        const struct spec_arg *a = spec->buffers[b];
        if ((a->kind != ARG_IN && a->kind != ARG_INOUT) || !a->count)
            continue;
        x->plain_bytes[b] = a->type_bytes;
        x->plain[b] = malloc(l->buffers[b].bytes + 1);
        if (!x->plain[b])
            return fail(e, "no memory for a copy of buffer %s", a->name);
        memcpy(x->plain[b], l->buffers[b].data, l->buffers[b].bytes);
    }
    return true;
}

bool elements_open(const struct spec *spec, const struct operands *operands, const struct launch *l, struct elements *x,
                   struct error *e) {
    *x = (struct elements){.launch = l};
    const struct contract *c = spec->contract ? contract_named(spec->contract) : NULL;
    if (!copy_plain(spec, l, x, e))
        return false;
    if (!c || !operands)
        return true;
    const struct contract_operands *o = &operands->view;
    const struct block_format *plain = format_named(c->activation);
    return (!c->weight || decode_weight(format_named(c->weight), o, &x->weight, e)) &&
           (plain ? keep_blocks(plain, o->activation, o->nt, o->id, &x->activation, e)
                  : decode_activation(activation_named(c->activation), o, &x->activation, e));
}

static void free_table(struct element_table *t) {
    free(t->q), free(t->d), free(t->dmin), free(t->scale), free(t->min), free(t->sum), free(t->blocks);
}

void elements_free(struct elements *x) {
    for (size_t i = 0; x->plain && i < x->launch->buffer_count; i++)
        free(x->plain[i]);
    free(x->plain);
    free(x->plain_bytes);
    free_table(&x->weight);
    free_table(&x->activation);
    *x = (struct elements){0};
}

/* ---- elements ---- */

static const struct element_table *table_of(const struct elements *x, enum value_field f) {
    return f <= VALUE_WEIGHT_BLOCK ? &x->weight : f < VALUE_BUFFER ? &x->activation : NULL;
}

const struct element_table *element_codes(const struct elements *x, const struct spec_value *v) {
    return v->field == VALUE_WEIGHT_Q || v->field == VALUE_ACTIVATION_Q ? table_of(x, v->field) : NULL;
}

static size_t buffer_index(const struct elements *x, const char *name) {
    size_t i = 0;
    while (i < x->launch->buffer_count && strcmp(x->launch->buffers[i].name, name))
        i++;
    return i;
}

size_t element_size(const struct elements *x, const struct spec_value *v) {
    return v->field == VALUE_BUFFER ? x->plain_bytes[buffer_index(x, v->buffer)] : value_type_bytes[v->as];
}

bool element_known(const struct elements *x, const struct spec_value *v, struct error *e) {
    if (v->field == VALUE_BUFFER)
        return true;
    const struct element_table *t = table_of(x, v->field);
    const struct block_format *f = t->format;
    const bool scales = f && (f->scale_least != 1 || f->scale_most != 1), minima = f && f->min_most > 0;
    const bool block = v->field == VALUE_WEIGHT_BLOCK || v->field == VALUE_ACTIVATION_BLOCK;
    const bool known = t->rows && (block || t->q) &&
                       (v->field == VALUE_ACTIVATION_SUM                               ? t->sum != NULL
                        : v->field == VALUE_WEIGHT_SCALE                               ? scales
                        : v->field == VALUE_WEIGHT_MIN                                 ? minima && f->min_most > 1
                        : v->field == VALUE_WEIGHT_DMIN || v->field == VALUE_WEIGHT_DM ? minima
                                                                                       : true);
    return known || fail(e, "%s: the operand's format does not have it", value_field_names[v->field]);
}

/* A number as it lies in memory: integers keep their low bytes, floats are rounded to nearest even. */
static void put_number(enum value_type as, bool real, float f, int32_t i, uint8_t out[8]) {
    const uint32_t bits = as == VALUE_F16   ? half_from_float(real ? f : (float)i)
                          : as == VALUE_F32 ? float_bits(real ? f : (float)i)
                                            : (uint32_t)i;
    memcpy(out, &bits, sizeof bits);
}

static bool block_bytes(const struct element_table *t, const struct spec_value *v, size_t block, int64_t at,
                        uint8_t out[8]) {
    const size_t n = value_type_bytes[v->as];
    if (at < 0 || (uint64_t)at > t->block_bytes || n > t->block_bytes - (size_t)at)
        return false;
    memcpy(out, t->blocks + block * t->block_bytes + at, n);
    return true;
}

bool element_bytes(const struct elements *x, const struct spec_value *v, int64_t row, int64_t k, int64_t at,
                   uint8_t out[8]) {
    memset(out, 0, 8);
    if (v->field == VALUE_BUFFER) {
        const size_t b = buffer_index(x, v->buffer), n = x->plain_bytes[b];
        if (at < 0 || (uint64_t)at >= x->launch->buffers[b].bytes / n)
            return false;
        memcpy(out, x->plain[b] + (size_t)at * n, n);
        return true;
    }
    const struct element_table *t = table_of(x, v->field);
    if (row < 0 || k < 0 || (uint64_t)row >= t->rows || (uint64_t)k >= t->depth)
        return false;
    const size_t i = (size_t)row * t->depth + (size_t)k, s = i / t->sub, block = i / t->block_values;
    switch (v->field) {
    case VALUE_WEIGHT_Q:
    case VALUE_ACTIVATION_Q:
        put_number(v->as, false, 0, t->q[i], out);
        return true;
    case VALUE_WEIGHT_D:
    case VALUE_ACTIVATION_D:
        put_number(v->as, true, t->d[s], 0, out);
        return true;
    case VALUE_WEIGHT_DMIN:
        put_number(v->as, true, t->dmin[s], 0, out);
        return true;
    case VALUE_WEIGHT_SCALE:
        put_number(v->as, false, 0, t->scale[s], out);
        return true;
    case VALUE_WEIGHT_MIN:
        put_number(v->as, false, 0, t->min[s], out);
        return true;
    case VALUE_WEIGHT_DS:
        put_number(v->as, true, t->d[s] * (float)t->scale[s], 0, out);
        return true;
    case VALUE_WEIGHT_DM:
        put_number(v->as, true, -(t->dmin[s] * (float)t->min[s]), 0, out);
        return true;
    case VALUE_ACTIVATION_SUM:
        put_number(v->as, false, 0, t->sum[block], out);
        return true;
    default:
        return block_bytes(t, v, block, at, out);
    }
}

char *element_text(const struct spec_value *v, int64_t row, int64_t k, int64_t at) {
    if (v->field == VALUE_BUFFER)
        return must_format("%s[%" PRId64 "]", v->buffer, at);
    const char *line = v->field >= VALUE_ACTIVATION_Q ? "token" : "row";
    if (v->at)
        return must_format("byte %" PRId64 " of %s of %s %" PRId64 ", k %" PRId64, at, value_field_names[v->field],
                           line, row, k);
    return must_format("%s of %s %" PRId64 ", k %" PRId64, value_field_names[v->field], line, row, k);
}
