#include "operands.h"
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "place.h"
#include <stdlib.h>
#include <string.h>

enum { WEIGHT_STREAM, ACTIVATION_STREAM };

/* *bytes = size of (rows, depth) values of a format. */
static bool sized(const char *format, size_t rows, size_t depth, size_t *bytes, struct error *e) {
    size_t block_values, block_bytes, blocks;
    if (!data_block(format, &block_values, &block_bytes, e))
        return false;
    if (!depth || depth % block_values)
        return fail(e, "%s comes in blocks of %zu values, depth %zu is no multiple of that", format, block_values,
                    depth);
    if (!rows)
        return fail(e, "there must be at least one row of %s", format);
    if (!size_mul(rows, depth / block_values, &blocks) || !size_mul(blocks, block_bytes, bytes) ||
        *bytes > OPERANDS_MAX_BYTES)
        return fail(e, "%zu rows of %zu values in %s are more than %zu bytes", rows, depth, format, OPERANDS_MAX_BYTES);
    return true;
}

static uint8_t *room(size_t bytes, struct error *e) {
    uint8_t *p = malloc(bytes);
    if (!p)
        fail(e, "no memory for %zu bytes of operands", bytes);
    return p;
}

static bool real_weight(const struct operands_request *r, struct operands *o, struct error *e) {
    const struct gguf_tensor *t = r->weight;
    if (strcmp(t->type_name, r->contract->weight) || t->rows != r->od || t->extent[0] != r->id ||
        t->bytes != o->weight_bytes)
        return fail(e, "%s: tensor %s is %llu rows of %llu values in %s, not %zu of %zu in %s", r->model_path,
                    quote(t->name).text, (unsigned long long)t->rows, (unsigned long long)t->extent[0], t->type_name,
                    r->od, r->id, r->contract->weight);
    if (!data_real_check(r->model_path, t, e))
        return false;
    memcpy(o->weight, t->data, t->bytes);
    return true;
}

static bool real_activation(const struct operands_request *r, struct operands *o, struct error *e) {
    struct random_stream s = random_open(r->key, ACTIVATION_STREAM);
    const struct activation_format *format = activation_named(r->contract->activation);
    if (!format) { /* f32 */
        return data_real_activations(r->model_path, r->embedding, &s, r->nt, r->id, (float *)(void *)o->activation, e);
    }
    size_t bytes;
    if (!sized("f32", r->nt, r->id, &bytes, e))
        return false;
    float *x = (float *)(void *)room(bytes, e);
    bool good = x && data_real_activations(r->model_path, r->embedding, &s, r->nt, r->id, x, e);
    uint8_t *block = o->activation;
    for (size_t at = 0; at < r->nt * r->id && good; at += format->block_values, block += format->block_bytes)
        format->quantize(x + at, block);
    free(x);
    return good;
}

static bool generated(const struct operands_request *r, struct operands *o, struct error *e) {
    struct random_stream weight = random_open(r->key, WEIGHT_STREAM);
    struct random_stream activation = random_open(r->key, ACTIVATION_STREAM);
    const struct contract *c = r->contract;
    return (!c->weight || data_fill(r->data, c->weight, &weight, r->od, r->id, o->weight, e)) &&
           data_fill(r->data, c->activation, &activation, r->nt, r->id, o->activation, e);
}

bool operands_measure(const struct operands_request *r, struct operands *o, struct error *e) {
    const struct contract *c = r->contract;
    *o = (struct operands){0};
    if (c->depth_multiple && (!r->id || r->id % c->depth_multiple))
        return fail(e, "contract %s needs a depth that is a multiple of %zu, got %zu", c->name, c->depth_multiple,
                    r->id);
    if (r->data == DATA_EXACT && r->id > DATA_EXACT_DEPTH)
        return fail(e, "data of class exact serve depths up to %d, not %zu", DATA_EXACT_DEPTH, r->id);
    if ((c->weight && !sized(c->weight, r->od, r->id, &o->weight_bytes, e)) ||
        !sized(c->activation, r->nt, r->id, &o->activation_bytes, e))
        return false;
    size_t cells;
    if (!size_mul(r->nt, c->weight ? r->od : r->id, &cells) || cells > OPERANDS_MAX_BYTES / sizeof(float))
        return fail(e, "the result of contract %s would be more than %zu bytes", c->name, OPERANDS_MAX_BYTES);
    o->view = (struct contract_operands){.nt = r->nt, .od = c->weight ? r->od : 0, .id = r->id};
    o->result_bytes = c->result_bytes(&o->view);
    return true;
}

static bool make(const struct operands_request *r, struct operands *o, struct error *e) {
    const struct contract *c = r->contract;
    if (!operands_measure(r, o, e) || (c->weight && !(o->weight = room(o->weight_bytes, e))) ||
        !(o->activation = room(o->activation_bytes, e)))
        return false;
    o->view.weight = o->weight;
    o->view.activation = o->activation;
    if (r->data == DATA_REAL)
        return (!c->weight || real_weight(r, o, e)) && real_activation(r, o, e);
    return generated(r, o, e);
}

bool operands_make(const struct operands_request *r, struct operands *o, struct error *e) {
    if (make(r, o, e))
        return true;
    operands_free(o);
    return false;
}

void operands_free(struct operands *o) {
    free(o->weight);
    free(o->activation);
    *o = (struct operands){0};
}
