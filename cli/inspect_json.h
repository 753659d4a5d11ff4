/* What `inspect --json` prints: one line a key with --keys, one a tensor, one for the file. */
#ifndef CLI_INSPECT_JSON_H
#define CLI_INSPECT_JSON_H

#include "../ref/gguf_scan.h"

/* {"key", "type", "value"}; of an array {"key", "type": "array", "item", "count"}. 64-bit integers are exact. */
bool inspect_json_key(const struct gguf_entry *entry, struct error *e);

/* {"tensor", "type", "extents": [...], "bytes", "offset", "whole", and where it was scanned "least", "largest",
 * "not_finite", "scales": {"count", "nan", "infinite", "median", "looks_swapped"}}.
 * least and largest are null when no value is finite, the median when no scale is finite and not 0.
 * scan: NULL when it was not scanned. False without memory. */
bool inspect_json_tensor(const struct gguf_tensor *t, const struct gguf_scan *scan, struct error *e);

/* {"file", "version", "bytes", "alignment", "keys", "tensors", "listed", "suspicious", "whole", "missing"} */
bool inspect_json_file(const struct gguf_file *f, size_t listed, size_t suspicious, struct error *e);

#endif
