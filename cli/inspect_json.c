#include "inspect_json.h"
#include "../reports/json_node.h"
#include <inttypes.h>

static bool put_line(struct fy_document *d, struct fy_node *root, struct error *e) {
    const bool good = json_line(stdout, d, root) || ferror(stdout); /* a full disk is told at the end, once */
    fy_document_destroy(d);
    return good || fail(e, "no memory for a line of JSON");
}

static void add_bool(struct fy_document *d, struct fy_node *map, const char *key, bool value) {
    json_add(d, map, key, json_number(d, value ? "true" : "false"));
}

static void add_scan(struct fy_document *d, struct fy_node *m, const struct gguf_scan *s) {
    const bool any = s->least <= s->most;
    json_add(d, m, "least", any ? json_number(d, "%.9g", s->least) : json_number(d, "null"));
    json_add(d, m, "largest", any ? json_number(d, "%.9g", s->most) : json_number(d, "null"));
    json_add(d, m, "not_finite", json_number(d, "%" PRIu64, s->not_finite));
    if (s->scales == 0)
        return;
    struct fy_node *scales = fy_node_create_mapping(d);
    json_add(d, scales, "count", json_number(d, "%" PRIu64, s->scales));
    json_add(d, scales, "nan", json_number(d, "%" PRIu64, s->scales_nan));
    json_add(d, scales, "infinite", json_number(d, "%" PRIu64, s->scales_infinite));
    json_add(d, scales, "median", json_number(d, "%.9g", s->median));
    add_bool(d, scales, "looks_swapped", s->looks_swapped);
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
    add_bool(d, m, "whole", t->data != NULL);
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
    add_bool(d, m, "whole", !f->cut);
    json_add_string(d, m, "missing", f->cut ? f->missing.text : NULL);
    return put_line(d, m, e);
}
