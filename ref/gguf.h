/* Reader of GGUF version 2 and 3 files, little-endian. Every count, length and offset of the file is taken as hostile:
 * checked against the bytes that are really there before it is used.
 * Source: ggml docs/gguf.md. */
#ifndef REF_GGUF_H
#define REF_GGUF_H

#include "error.h"
#include "format.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number of n bytes (at most 8) of a file, least significant first. */
static inline uint64_t gguf_number(const uint8_t *p, size_t n) {
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

enum gguf_value_type {
    GGUF_UINT8,
    GGUF_INT8,
    GGUF_UINT16,
    GGUF_INT16,
    GGUF_UINT32,
    GGUF_INT32,
    GGUF_FLOAT32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_UINT64,
    GGUF_INT64,
    GGUF_FLOAT64,
};

extern const char *const gguf_value_names[GGUF_FLOAT64 + 1]; /* "uint8" ... */

struct gguf_entry { /* one key of the metadata */
    char *key;      /* owned by the file, NUL-terminated; keys with NUL bytes are refused */
    enum gguf_value_type type;
    enum gguf_value_type item; /* element type when type is GGUF_ARRAY (arrays of arrays are refused) */
    uint64_t count;            /* elements of an array, else 1 */
    const uint8_t *bytes;      /* into the file: the scalar, the string's characters, or the first element */
    uint64_t length;           /* bytes of it */
};

struct gguf_tensor {
    char *name;                        /* owned by the file */
    unsigned dims;                     /* 1 .. 4 */
    uint64_t extent[4];                /* extent[0] varies fastest (values a row); unused ones are 1 */
    uint32_t type;                     /* number of the type */
    const char *type_name;             /* "q4_K", also for types that ref/ has no format for; never NULL */
    const struct block_format *format; /* NULL when ref/ cannot decode the type */
    uint64_t rows;                     /* product of extent[1..3] */
    size_t row_bytes;                  /* extent[0] / block_values * block_bytes */
    const uint8_t *data;               /* into the file, (rows, row_bytes); NULL: cut off (gguf_open_cut only) */
    uint64_t offset;                   /* of data from the start of the file */
    size_t bytes;                      /* rows * row_bytes */
};

struct gguf_file {
    char *path;
    uint32_t version;
    uint64_t alignment;
    size_t entry_count, tensor_count;
    struct gguf_entry *entries;
    struct gguf_tensor *tensors;
    const uint8_t *map; /* the whole file */
    size_t size;
    size_t entries_named, tensors_named; /* how many the header says there are; the counts above, unless cut short */
    bool cut;                            /* the file ends before its contents do */
    struct error missing;                /* cut: what the first thing is that is not there whole */
    bool mapped;                         /* map is a mapping that gguf_close gives back */
};

/* Opens and checks the whole header. On failure returns NULL with one clear line "PATH: what, at byte N". Names of the
 * file stand in messages as ref/printable.h makes them. The file is mapped: it must not be shortened while it is open.
 *
 * Refused, beside what the document calls invalid: duplicate keys and tensor names, keys and names that are empty,
 * longer than 65,535 bytes or that hold a NUL, arrays of arrays, more than 2^20 keys or tensors, tensors without
 * dimensions or with an extent of 0, tensors whose data overlap, alignments over 2^20. Accepted: any power of two up to
 * there as the alignment, gaps between tensors, bytes after the last. */
struct gguf_file *gguf_open(const char *path, struct error *e);
/* The same over bytes in memory, which stay the caller's and must outlive the result; path is for messages. */
struct gguf_file *gguf_parse(const char *path, const uint8_t *bytes, size_t size, struct error *e);
/* The same for files that may have been cut short: such a file is no error, its keys and tensors up to the cut are
 * there, and a tensor whose data are not there whole has data == NULL. Every other fault is refused as by gguf_open. */
struct gguf_file *gguf_open_cut(const char *path, struct error *e);
struct gguf_file *gguf_parse_cut(const char *path, const uint8_t *bytes, size_t size, struct error *e);
void gguf_close(struct gguf_file *f); /* f may be NULL */
const struct gguf_tensor *gguf_tensor_named(const struct gguf_file *f, const char *name);
const struct gguf_entry *gguf_entry_named(const struct gguf_file *f, const char *key);

/* out[0 .. extent[0]-1] = row `row` of the tensor as f32. False when the format has no decoder or row is too large. */
bool gguf_row(const struct gguf_tensor *t, uint64_t row, float *out, struct error *e);

#endif
