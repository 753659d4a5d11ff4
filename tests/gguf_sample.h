/* GGUF files for tests, written field by field, and the hostile ones of the field. */
#ifndef TESTS_GGUF_SAMPLE_H
#define TESTS_GGUF_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
    uint8_t *p;
    size_t n, room;
};

void put(struct bytes *b, const void *p, size_t n);
void put_number(struct bytes *b, uint64_t v, size_t n); /* n bytes, little-endian */
void put_string(struct bytes *b, const char *s);        /* length, characters */
void pad(struct bytes *b, size_t alignment);
void patch(struct bytes *b, size_t at, uint64_t v, size_t n); /* overwrites n bytes at a place */

/* A tensor of the sample and where its fields stand in the file. */
struct sample_tensor {
    const char *name;
    uint32_t type;
    unsigned dims;
    uint64_t extent[4];
    size_t bytes;
    size_t at_name, at_dims, at_extent, at_type, at_offset, at_data;
};

struct sample {
    struct bytes file;
    struct sample_tensor t[4];
    size_t at_keys, at_alignment_type, at_alignment, at_bool, at_bools, at_string, at_items, header_end;
};

enum { VERSION_AT = 4, TENSORS_AT = 8, KEYS_AT = 16, ALIGNMENT = 64 };

/* Four tensors (a decodable super-block format, plain f32, one without decoder, four dimensions) and a key of every
 * type and two arrays. The file ends with the data of the last tensor. The caller frees file.p. */
struct sample sample_file(uint32_t version);

/* Files after the reports of the field, facts of which are kept by number (B115 ...): what is bad, and words of the
 * message that says so. Ended by NULL; make fills *b, which the caller frees. */
struct hostile_gguf {
    const char *id, *about, *words;
    void (*make)(struct bytes *b);
};
extern const struct hostile_gguf hostile_gguf[];

#endif
