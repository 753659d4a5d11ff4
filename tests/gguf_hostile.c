#include "gguf_sample.h"
#include <string.h>

/* A header, then one f32 tensor "t" with these extents; no data. */
static void header(struct bytes *b, uint64_t tensors, uint64_t keys) {
    put(b, "GGUF", 4);
    put_number(b, 3, 4);
    put_number(b, tensors, 8);
    put_number(b, keys, 8);
}

static void tensor(struct bytes *b, const char *name, uint32_t dims, const uint64_t *extent, uint32_t type,
                   uint64_t offset) {
    put_string(b, name);
    put_number(b, dims, 4);
    for (uint32_t i = 0; i < dims && i < 16; i++)
        put_number(b, extent[i], 8);
    put_number(b, type, 4);
    put_number(b, offset, 8);
}

static void one_tensor(struct bytes *b, uint32_t dims, const uint64_t *extent, uint32_t type) {
    header(b, 1, 0);
    tensor(b, "t", dims, extent, type, 0);
    pad(b, 32);
    put_number(b, 0, 8);
}

static const uint64_t plenty[16] = {4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static void product_wraps(struct bytes *b) {
    one_tensor(b, 3, (const uint64_t[]){1, UINT64_C(1) << 32, UINT64_C(1) << 32}, 0);
}
static void bytes_wrap(struct bytes *b) {
    one_tensor(b, 2, (const uint64_t[]){UINT64_C(1) << 32, UINT64_C(1) << 32}, 0);
}
/* Two tensors of 2^63 bytes, one after the other: the second ends at 2^64 and more. */
static const uint64_t half_of_all[] = {UINT64_C(1) << 61};
static void sum_wraps(struct bytes *b) {
    header(b, 2, 0);
    tensor(b, "b", 1, half_of_all, 0, UINT64_C(1) << 63);
    tensor(b, "a", 1, half_of_all, 0, 0);
    pad(b, 32);
}
static void sum_wraps_after_a_cut(struct bytes *b) {
    header(b, 2, 0);
    tensor(b, "a", 1, half_of_all, 0, 0);
    tensor(b, "b", 1, half_of_all, 0, UINT64_C(1) << 63);
    pad(b, 32);
}
static void zero_extent(struct bytes *b) {
    one_tensor(b, 2, (const uint64_t[]){4, 0}, 0);
}
static void alignment(struct bytes *b, uint32_t type, uint64_t value, size_t bytes) {
    header(b, 1, 1);
    put_string(b, "general.alignment");
    put_number(b, type, 4);
    put_number(b, value, bytes);
    tensor(b, "t", 1, plenty, 0, 0);
    pad(b, 32);
    put_number(b, 0, 16);
}
static void alignment_u8(struct bytes *b) {
    alignment(b, 0, 32, 1);
}
static void alignment_u64(struct bytes *b) {
    alignment(b, 10, 32, 8);
}
static void alignment_string(struct bytes *b) {
    alignment(b, 8, 0, 8);
}
static void alignment_zero(struct bytes *b) {
    alignment(b, 4, 0, 4);
}
static void alignment_huge(struct bytes *b) {
    alignment(b, 4, 1 << 30, 4);
}
static void dims_9(struct bytes *b) {
    one_tensor(b, 9, plenty, 0);
}
static void dims_all_ones(struct bytes *b) {
    one_tensor(b, UINT32_MAX, plenty, 0);
}
static void many_strings(struct bytes *b) {
    header(b, 0, 1);
    put_string(b, "strings");
    put_number(b, 9, 4);
    put_number(b, 8, 4);
    put_number(b, 1 << 30, 8);
    while (b->n < 160)
        put_number(b, 0, 1);
}
static void many_tensors(struct bytes *b) {
    header(b, 1 << 30, 0);
    while (b->n < 160)
        put_number(b, 0, 1);
}
static void type_minus_one(struct bytes *b) {
    one_tensor(b, 1, plenty, UINT32_MAX);
}
static void big_endian(struct bytes *b) {
    put(b, "GGUF", 4);
    put(b, "\0\0\0\3", 4);
    put(b, "\0\0\0\0\0\0\0\1", 8);
    put(b, "\0\0\0\0\0\0\0\0", 8);
    put_number(b, 0, 40);
}

const struct hostile_gguf hostile_gguf[] = {
    {"B115", "extents 2^32 x 2^32: their product is 0 modulo 2^64", "product of its extents does not fit",
     product_wraps},
    {"B115", "rows of 2^34 bytes, 2^32 of them", "its bytes do not fit 64 bits", bytes_wrap},
    {"B115", "two tensors of 2^63 bytes: the sum wraps", "its data end past 64 bits", sum_wraps},
    {"B115", "the same after one that is cut off", "\"a\": its 9223372036854775808 bytes of data end at byte",
     sum_wraps_after_a_cut},
    {"B116", "an extent of 0", "extent 1 is 0", zero_extent},
    {"B116", "the alignment as uint8", "value type 0, expected 4", alignment_u8},
    {"B116", "the alignment as uint64", "value type 10, expected 4", alignment_u64},
    {"B116", "the alignment as a string", "value type 8, expected 4", alignment_string},
    {"B116", "alignment 0", "alignment 0, expected a power of two", alignment_zero},
    {"B118", "9 dimensions", "9 dimensions, expected 1 .. 4", dims_9},
    {"B118", "2^32 - 1 dimensions", "4294967295 dimensions, expected 1 .. 4", dims_all_ones},
    {"B120", "2^30 strings in 160 bytes", "the file ends inside", many_strings},
    {"B120", "2^30 tensors in 160 bytes", "1073741824 tensors, expected at most", many_tensors},
    {"B120", "type number -1", "type number 4294967295 is unknown", type_minus_one},
    {"B120", "alignment 2^30", "alignment 1073741824, expected a power of two up to", alignment_huge},
    {"B121", "a big-endian file", "a big-endian file of version 3", big_endian},
    {NULL, NULL, NULL, NULL},
};
