/* What `inspect --json` writes: one line a tensor, then one for the file. */
#ifndef CLI_INSPECT_JSON_H
#define CLI_INSPECT_JSON_H

#include "../ref/gguf_scan.h"

/* {"tensor", "type", "extents": [...], "bytes", "offset", "whole", and where it was scanned "least", "largest",
 * "not_finite", "scales": {"count", "nan", "infinite", "median", "looks_swapped"}}, then
 * {"file", "version", "bytes", "alignment", "keys", "tensors", "listed", "suspicious", "whole", "missing"}.
 * least and largest are null when no value is finite. */
struct inspect_json;
struct inspect_json *inspect_json_begin(const char *path, struct error *e); /* NULL without memory */
bool inspect_json_tensor(struct inspect_json *j, const struct gguf_tensor *t, const struct gguf_scan *scan,
                         struct error *e);
/* Adds the last line and writes the file, whole or not at all. */
bool inspect_json_end(struct inspect_json *j, const struct gguf_file *f, size_t listed, size_t suspicious,
                      struct error *e);
void inspect_json_free(struct inspect_json *j); /* may be NULL */

#endif
