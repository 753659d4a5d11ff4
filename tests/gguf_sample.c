#include "gguf_sample.h"
#include "../ref/checked.h"
#include "../ref/gguf.h"
#include <string.h>

void put(struct bytes *b, const void *p, size_t n) {
    while (b->n + n > b->room) {
        b->room = b->room ? 2 * b->room : 256;
        b->p = must_realloc(b->p, b->room, 1);
    }
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

void put_number(struct bytes *b, uint64_t v, size_t n) {
    for (size_t i = 0; i < n; i++)
        put(b, &(uint8_t){(uint8_t)(i < 8 ? v >> 8 * i : 0)}, 1);
}

void put_string(struct bytes *b, const char *s) {
    put_number(b, strlen(s), 8);
    put(b, s, strlen(s));
}

void pad(struct bytes *b, size_t alignment) {
    while (b->n % alignment != 0)
        put_number(b, 0, 1);
}

void patch(struct bytes *b, size_t at, uint64_t v, size_t n) {
    for (size_t i = 0; i < n; i++)
        b->p[at + i] = (uint8_t)(v >> 8 * i);
}

struct sample sample_file(uint32_t version) {
    struct sample s = {.t = {{.name = "blk.0.weight", .type = 12, .dims = 2, .extent = {512, 3}, .bytes = 3 * 2 * 144},
                             {.name = "norm", .type = 0, .dims = 1, .extent = {5}, .bytes = 20},
                             {.name = "rare", .type = 34, .dims = 2, .extent = {256, 1}, .bytes = 54},
                             {.name = "four", .type = 24, .dims = 4, .extent = {2, 3, 2, 5}, .bytes = 60}}};
    struct bytes *b = &s.file;
    put(b, "GGUF", 4);
    put_number(b, version, 4);
    put_number(b, 4, 8);
    put_number(b, 15, 8);
    s.at_keys = b->n;
    static const size_t width[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    for (unsigned type = 0; type < 13; type++) {
        if (type == GGUF_ARRAY)
            continue;
        char key[] = "sample.a";
        key[7] = (char)(key[7] + (int)type);
        put_string(b, key);
        put_number(b, type, 4);
        if (type == GGUF_BOOL)
            s.at_bool = b->n;
        if (type == GGUF_STRING) {
            s.at_string = b->n;
            put_string(b, "text");
        } else {
            put_number(b, type == GGUF_BOOL ? 1 : 0x41 + type, width[type]);
        }
    }
    put_string(b, "general.alignment");
    s.at_alignment_type = b->n;
    put_number(b, GGUF_UINT32, 4);
    s.at_alignment = b->n;
    put_number(b, ALIGNMENT, 4);
    put_string(b, "strings");
    put_number(b, GGUF_ARRAY, 4);
    s.at_items = b->n;
    put_number(b, GGUF_STRING, 4);
    put_number(b, 2, 8);
    put_string(b, "one");
    put_string(b, "");
    put_string(b, "bools");
    put_number(b, GGUF_ARRAY, 4);
    put_number(b, GGUF_BOOL, 4);
    put_number(b, 3, 8);
    s.at_bools = b->n;
    put(b, "\1\0\1", 3);

    size_t offset = 0;
    for (size_t i = 0; i < 4; i++) {
        struct sample_tensor *t = &s.t[i];
        t->at_name = b->n;
        put_string(b, t->name);
        t->at_dims = b->n;
        put_number(b, t->dims, 4);
        t->at_extent = b->n;
        for (unsigned k = 0; k < t->dims; k++)
            put_number(b, t->extent[k], 8);
        t->at_type = b->n;
        put_number(b, t->type, 4);
        t->at_offset = b->n;
        put_number(b, offset, 8);
        offset = (offset + t->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    s.header_end = b->n;
    for (size_t i = 0; i < 4; i++) {
        pad(b, ALIGNMENT);
        s.t[i].at_data = b->n;
        for (size_t k = 0; k < s.t[i].bytes; k++)
            put_number(b, (k * 37 + i) & 0x3f, 1);
    }
    return s;
}
