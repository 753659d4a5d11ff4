#include "operands.h"
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "../ref/format.h"
#include "fit.h"
#include "place.h"
#include "raw.h"
#include <stdlib.h>
#include <string.h>

enum { WEIGHT_STREAM, ACTIVATION_STREAM };

/* *bytes = size of a buffer of (rows, depth) values of a format. */
static bool sized(const char *format, size_t rows, size_t depth, size_t *bytes, struct error *e) {
    size_t block_values, block_bytes;
    const struct activation_format *activation = format_named(format) ? NULL : activation_named(format);
    if (!data_block(format, &block_values, &block_bytes, e))
        return false;
    if (!depth || depth % block_values)
        return fail(e, "%s comes in blocks of %zu values, depth %zu is no multiple of that", format, block_values,
                    depth);
    if (!rows)
        return fail(e, "there must be at least one row of %s", format);
    if (!(activation ? activation_bytes(activation, rows, depth, bytes)
                     : size_mul(rows, depth / block_values, bytes) && size_mul(*bytes, block_bytes, bytes)) ||
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

/* blocks = x (rows, depth) in a block format, as its quantiser has it. */
static void quantize_blocks(const struct block_format *f, const float *x, size_t values, uint8_t *blocks) {
    for (size_t i = 0; i < values / f->block_values; i++)
        f->quantize(x + i * f->block_values, blocks + i * f->block_bytes);
}

static bool real_activation(const struct operands_request *r, struct operands *o, struct error *e) {
    struct random_stream s = random_open(r->key, ACTIVATION_STREAM);
    const struct activation_format *format = activation_named(r->contract->activation);
    const struct block_format *block = format_named(r->contract->activation); /* a dequantiser's, or plain floats */
    if (block && !strcmp(block->name, "f32"))
        return data_real_activations(r->model_path, r->embedding, &s, r->nt, r->id, (float *)(void *)o->activation, e);
    if (block && !block->quantize)
        return fail(e, "there are no data of class real for format %s, which has no quantiser", block->name);
    size_t bytes;
    if (!sized("f32", r->nt, r->id, &bytes, e))
        return false;
    float *x = (float *)(void *)room(bytes, e);
    bool good = x && data_real_activations(r->model_path, r->embedding, &s, r->nt, r->id, x, e);
    if (good && block)
        quantize_blocks(block, x, r->nt * r->id, o->activation);
    else if (good)
        activation_quantize(format, x, r->nt, r->id, o->activation);
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

/* One of the files of a request. */
struct file_part {
    const struct operand_file *file;
    const char *name, *format; /* "weight"; of an operand, NULL for the result */
    size_t rows, bytes;        /* rows of an operand */
};

static bool open_part(const struct operands_request *r, const struct file_part *p, struct raw_file *f,
                      struct error *e) {
    if (!raw_open(p->file->path, f, e))
        return false;
    if (f->bytes == p->bytes)
        return true;
    raw_close(f);
    if (!p->format)
        return fail(e, "%s has %zu bytes, the result has %zu", p->file->path, f->bytes, p->bytes);
    const bool weight = !strcmp(p->name, "weight");
    char *hint = fit_hint(p->format, weight, p->rows, r->id, f->bytes);
    fail(e, "%s has %zu bytes, the %s of %s = %zu, id = %zu in %s has %zu%s", p->file->path, f->bytes, p->name,
         weight ? "od" : "nt", p->rows, r->id, p->format, p->bytes, hint);
    free(hint);
    return false;
}

/* data = the file; NULL: its size alone is looked at. */
static bool read_part(const struct operands_request *r, const struct file_part *p, uint8_t *data, struct error *e) {
    struct raw_file f;
    struct error why;
    bool good = open_part(r, p, &f, &why);
    if (good) {
        good = !data || (raw_read(&f, data, &why) && raw_has_digest(f.path, data, f.bytes, p->file->sha256, &why));
        raw_close(&f);
    }
    return good ||
           (p->file->doc ? yaml_fail(p->file->doc, p->file->node, 0, e, "%s", why.text) : fail(e, "%s", why.text));
}

/* Contracts take sums of quants; another one that fits 16 bits is arithmetic all the same, and noted. */
static bool sums_fit(const struct operands_request *r, struct operands *o, struct error *e) {
    const struct activation_format *f = activation_named(r->contract->activation);
    if (f)
        o->sums = activation_check_sums(f, o->activation, r->nt, r->id);
    struct error why;
    if (o->sums.outside == 0)
        return true;
    fail(&why,
         "%s: token %zu, block %zu: the stored sum is %d, that of its quants is %d, and a sum of 32 is -4096 .. 4064",
         r->activation_file.path, o->sums.token, o->sums.index, o->sums.stored, o->sums.right);
    return r->activation_file.doc ? yaml_fail(r->activation_file.doc, r->activation_file.node, 0, e, "%s", why.text)
                                  : fail(e, "%s", why.text);
}

static bool from_files(const struct operands_request *r, struct operands *o, struct error *e) {
    const struct contract *c = r->contract;
    const struct file_part weight = {&r->weight_file, "weight", c->weight, r->od, o->weight_bytes},
                           activation = {&r->activation_file, "activation", c->activation, r->nt, o->activation_bytes},
                           expect = {&r->expect_file, "result", NULL, 0, o->result_bytes};
    return (!c->weight || read_part(r, &weight, o->weight, e)) && read_part(r, &activation, o->activation, e) &&
           (!o->activation || sums_fit(r, o, e)) && (!expect.file->path || read_part(r, &expect, o->expected, e));
}

bool operands_check_files(const struct operands_request *r, struct error *e) {
    struct operands sizes;
    return operands_measure(r, &sizes, e) && from_files(r, &sizes, e);
}

static bool split_fits(const struct operands_request *r, struct error *e) {
    const struct contract *c = r->contract;
    if (r->split.kind != SPLIT_NONE && !c->splits)
        return fail(e, "contract %s has no split: its sums go through the whole depth", c->name);
    return split_check(&r->split, r->id, c->depth_multiple, e);
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
    size_t cells, result;
    if (!size_mul(r->nt, c->weight ? r->od : r->id, &cells) || cells > OPERANDS_MAX_BYTES / sizeof(float) ||
        (strcmp(c->result, "f32") && !sized(c->result, r->nt, r->id, &result, e)))
        return fail(e, "the result of contract %s would be more than %zu bytes", c->name, OPERANDS_MAX_BYTES);
    if (!split_fits(r, e))
        return false;
    o->view = (struct contract_operands){.nt = r->nt, .od = c->weight ? r->od : 0, .id = r->id, .split = r->split};
    o->result_bytes = c->result_bytes(&o->view);
    return true;
}

static bool make(const struct operands_request *r, struct operands *o, struct error *e) {
    const struct contract *c = r->contract;
    if (!operands_measure(r, o, e) || (c->weight && !(o->weight = room(o->weight_bytes, e))) ||
        !(o->activation = room(o->activation_bytes, e)) ||
        (r->expect_file.path && !(o->expected = room(o->result_bytes, e))))
        return false;
    o->view.weight = o->weight;
    o->view.activation = o->activation;
    if (r->data == DATA_FILE)
        return from_files(r, o, e);
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
    free(o->expected);
    *o = (struct operands){0};
}
