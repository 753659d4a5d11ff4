#include "inspect_json.h"
#include "../ref/checked.h"
#include "../ref/half.h"
#include "../reports/json_node.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool put_line(struct fy_document *d, struct fy_node *root, struct error *e) {
    const bool good = json_line(stdout, d, root) || ferror(stdout); /* a full disk is told at the end, once */
    fy_document_destroy(d);
    return good || fail(e, "no memory for a line of JSON");
}

/* JSON has no NaN and no infinity: those are strings. */
static struct fy_node *real_node(struct fy_document *d, double x, int digits) {
    return isfinite(x) ? json_number(d, "%.*g", digits, x)
                       : json_string(d, isnan(x) ? "NaN"
                                        : x > 0  ? "Infinity"
                                                 : "-Infinity");
}

static struct fy_node *value_node(struct fy_document *d, const struct gguf_entry *entry) {
    const uint8_t *p = entry->bytes;
    double x;
    char *text;
    struct fy_node *n;
    switch (entry->type) {
    case GGUF_INT8:
        return json_number(d, "%d", (int8_t)p[0]);
    case GGUF_INT16:
        return json_number(d, "%d", (int16_t)gguf_number(p, 2));
    case GGUF_INT32:
        return json_number(d, "%" PRId32, (int32_t)gguf_number(p, 4));
    case GGUF_INT64:
        return json_number(d, "%" PRId64, (int64_t)gguf_number(p, 8));
    case GGUF_FLOAT32:
        return real_node(d, bits_float((uint32_t)gguf_number(p, 4)), 9);
    case GGUF_FLOAT64:
        memcpy(&x, p, sizeof x);
        return real_node(d, x, 17);
    case GGUF_BOOL:
        return json_bool(d, p[0] != 0);
    case GGUF_STRING:
        text = must_calloc(entry->length + 1, 1); /* a NUL inside ends what is shown */
        memcpy(text, p, entry->length);
        n = json_string(d, text);
        free(text);
        return n;
    default:
        return json_number(d, "%" PRIu64, gguf_number(p, entry->length)); /* the unsigned ones */
    }
}

bool inspect_json_key(const struct gguf_entry *entry, struct error *e) {
    struct fy_document *d = fy_document_create(NULL);
    struct fy_node *m = fy_node_create_mapping(d);
    json_add_string(d, m, "key", entry->key);
    json_add_string(d, m, "type", gguf_value_names[entry->type]);
    if (entry->type == GGUF_ARRAY) {
        json_add_string(d, m, "item", gguf_value_names[entry->item]);
        json_add(d, m, "count", json_number(d, "%" PRIu64, entry->count));
    } else {
        json_add(d, m, "value", value_node(d, entry));
    }
    return put_line(d, m, e);
}

static void add_scan(struct fy_document *d, struct fy_node *m, const struct gguf_scan *s) {
    const bool any = s->range.least <= s->range.largest;
    json_add(d, m, "least", json_real(d, any, s->range.least));
    json_add(d, m, "largest", json_real(d, any, s->range.largest));
    json_add(d, m, "not_finite", json_number(d, "%" PRIu64, s->range.not_finite));
    if (s->scales == 0)
        return;
    struct fy_node *scales = fy_node_create_mapping(d);
    json_add(d, scales, "count", json_number(d, "%" PRIu64, s->scales));
    json_add(d, scales, "nan", json_number(d, "%" PRIu64, s->scales_nan));
    json_add(d, scales, "infinite", json_number(d, "%" PRIu64, s->scales_infinite));
    json_add(d, scales, "median", json_real(d, s->median > 0, s->median));
    json_add(d, scales, "looks_swapped", json_bool(d, s->looks_swapped));
    json_add(d, m, "scales", scales);
}

bool inspect_json_tensor(const struct gguf_tensor *t, const struct gguf_scan *scan, struct error *e) {
    struct fy_document *d = fy_document_create(NULL);
    struct fy_node *m = fy_node_create_mapping(d), *extents = fy_node_create_sequence(d);
    json_add_string(d, m, "tensor", t->name);
    json_add_string(d, m, "type", t->type_name);
    for (unsigned i = 0; i < t->dims; i++)
        fy_node_sequence_append(extents, json_number(d, "%" PRIu64, t->extent[i]));
    json_add(d, m, "extents", extents);
    json_add(d, m, "bytes", json_number(d, "%zu", t->bytes));
    json_add(d, m, "offset", json_number(d, "%" PRIu64, t->offset));
    json_add(d, m, "whole", json_bool(d, t->data != NULL));
    if (scan)
        add_scan(d, m, scan);
    return put_line(d, m, e);
}

bool inspect_json_file(const struct gguf_file *f, size_t listed, size_t suspicious, struct error *e) {
    struct fy_document *d = fy_document_create(NULL);
    struct fy_node *m = fy_node_create_mapping(d);
    json_add_string(d, m, "file", f->path);
    json_add(d, m, "version", json_number(d, "%" PRIu32, f->version));
    json_add(d, m, "bytes", json_number(d, "%zu", f->size));
    json_add(d, m, "alignment", json_number(d, "%" PRIu64, f->alignment));
    json_add(d, m, "keys", json_number(d, "%zu", f->entries_named));
    json_add(d, m, "tensors", json_number(d, "%zu", f->tensors_named));
    json_add(d, m, "listed", json_number(d, "%zu", listed));
    json_add(d, m, "suspicious", json_number(d, "%zu", suspicious));
    json_add(d, m, "whole", json_bool(d, !f->cut));
    json_add_string(d, m, "missing", f->cut ? f->missing.text : NULL);
    return put_line(d, m, e);
}
