#include "../../ref/random.h"
#include "witness.h"
#include <string.h>

/* ---- floating-point fields: their bits, wherever they lie ---- */

enum { MOST_FIELDS = 2, FIELD_SCATTERED = 255 };

struct fields {
    size_t count, bytes; /* all fields of a format have one width */
    uint8_t at[MOST_FIELDS];
    uint32_t exponent; /* all ones: infinity or NaN */
};

static struct fields fields_of(const struct block_format *f) {
    static const uint32_t exponents[] = {[1] = 0xff, [2] = 0x7c00, [4] = 0x7f800000};
    if (f->block_values == 1) /* f32, f16, bf16: the block is the field */
        return (struct fields){.count = 1,
                               .bytes = f->block_bytes,
                               .exponent = strcmp(f->name, "bf16") ? exponents[f->block_bytes] : 0x7f80};
    /* iq1_m keeps the binary16 d in the top four bits of its four last 16-bit words, lowest nibble first. */
    if (!strcmp(f->name, "iq1_m"))
        return (struct fields){.count = 1, .bytes = 2, .at = {FIELD_SCATTERED}, .exponent = exponents[2]};
    struct fields fields = {.bytes = f->d.bytes, .exponent = exponents[f->d.bytes]};
    if (f->d.bytes)
        fields.at[fields.count++] = f->d.at;
    if (f->dmin.bytes)
        fields.at[fields.count++] = f->dmin.at;
    return fields;
}

static uint32_t get_field(const struct block_format *f, const struct fields *fields, size_t i, const uint8_t *block) {
    uint32_t bits = 0;
    if (fields->at[i] == FIELD_SCATTERED)
        for (unsigned n = 0; n < 4; n++)
            bits |= (uint32_t)(block[f->block_bytes - 8 + 2 * n + 1] >> 4) << 4 * n;
    else
        memcpy(&bits, block + fields->at[i], fields->bytes);
    return bits;
}

static void set_field(const struct block_format *f, const struct fields *fields, size_t i, uint32_t bits,
                      uint8_t *block) {
    if (fields->at[i] == FIELD_SCATTERED)
        for (unsigned n = 0; n < 4; n++) {
            uint8_t *byte = block + f->block_bytes - 8 + 2 * n + 1;
            *byte = (uint8_t)((*byte & 15) | (bits >> 4 * n & 15) << 4);
        }
    else
        memcpy(block + fields->at[i], &bits, fields->bytes);
}

/* The extremes of a field: 1 first, what is not finite last. */
static size_t field_edges(size_t bytes, bool finite, const uint32_t **edges) {
    static const uint32_t half[] = {0x3c00, 0xbc00, 0x0000, 0x8000, 0x0001, 0x83ff, 0x0400,
                                    0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfdff};
    static const uint32_t single[] = {0x3f800000, 0xbf800000, 0,          0x80000000, 1,
                                      0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                      0xff800000, 0x7fc00000, 0xff812345};
    static const uint32_t exponent[] = {127, 128, 0, 1, 2, 253, 254, 255};
    switch (bytes) {
    case 2:
        *edges = half;
        return finite ? 9 : 13;
    case 4:
        *edges = single;
        return finite ? 9 : 13;
    case 1:
        *edges = exponent;
        return finite ? 7 : 8;
    default:
        *edges = NULL;
        return 0;
    }
}

/* The bits, with an exponent of all ones made one less. */
static uint32_t finite_field(const struct fields *fields, uint32_t bits) {
    uint32_t e = fields->exponent;
    return (bits & e) == e ? bits ^ (e & -e) : bits;
}

/* ---- blocks ---- */

static void random_bytes(struct random_stream *s, uint8_t *out, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 4) {
        uint32_t word = random_u32(s);
        memcpy(out + at, &word, bytes - at < 4 ? bytes - at : 4);
    }
}

enum { EDGES_BY_FIELD = 13 * 13 * 3 };

size_t block_edges(const struct block_format *f) {
    if (f->block_bytes == 2) /* f16, bf16: all there are */
        return 1 << 16;
    return 2 + 2 * 8 * f->block_bytes + EDGES_BY_FIELD;
}

static void edge_of(const struct block_format *f, const struct fields *fields, size_t index, bool finite,
                    struct random_stream *s, uint8_t *block) {
    size_t bits = 8 * f->block_bytes;
    const uint32_t *edges;
    size_t edge_count = field_edges(fields->bytes, finite, &edges);
    if (index < 2) { /* all bits alike */
        memset(block, index ? 0xff : 0, f->block_bytes);
    } else if ((index -= 2) < 2 * bits) { /* one bit unlike the others, under fields of 1 */
        bool set = index < bits;
        memset(block, set ? 0 : 0xff, f->block_bytes);
        for (size_t i = 0; i < fields->count; i++)
            set_field(f, fields, i, edges[0], block);
        block[index % bits / 8] ^= (uint8_t)(1u << index % 8);
    } else { /* every pair of extremes over zeros, ones and random bits */
        index -= 2 * bits;
        size_t fill = index % 3;
        index /= 3;
        if (fill < 2)
            memset(block, fill ? 0xff : 0, f->block_bytes);
        else
            random_bytes(s, block, f->block_bytes);
        for (size_t i = 0; i < fields->count; i++, index /= 13)
            set_field(f, fields, i, edges[index % 13 % edge_count], block);
    }
}

void block_of(const struct block_format *f, size_t index, bool finite, uint8_t *block) {
    struct fields fields = fields_of(f);
    struct random_stream s = random_open(random_key(f->name), (uint32_t)index);
    size_t edges = block_edges(f);
    if (index < edges && f->block_bytes == 2)
        memcpy(block, &(uint16_t){(uint16_t)index}, 2);
    else if (index < edges)
        edge_of(f, &fields, index, finite, &s, block);
    else
        random_bytes(&s, block, f->block_bytes);
    bool any_bits = !finite && (index < edges || index % 8 == 0);
    for (size_t i = 0; i < fields.count && !any_bits; i++)
        set_field(f, &fields, i, finite_field(&fields, get_field(f, &fields, i, block)), block);
}
