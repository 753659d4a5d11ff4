/* ref/gguf_types.c: the table against the formats of ref/ and against the published bits a value. */
#include "../ref/gguf_types.h"
#include "../ref/format.h"
#include <criterion/criterion.h>
#include <string.h>

Test(gguf_types, agree_with_formats_and_published_sizes) {
    for (size_t i = 0; block_formats[i]; i++) {
        const struct block_format *format = block_formats[i];
        cr_assert(format->gguf_type < GGUF_TYPE_COUNT, "%s: number %u", format->name, format->gguf_type);
        const struct gguf_type *type = &gguf_types[format->gguf_type];
        cr_assert(strcmp(type->name, format->name) == 0, "type %u: %s, %s", format->gguf_type, type->name,
                  format->name);
        cr_assert(type->block_values == format->block_values && type->block_bytes == format->block_bytes,
                  "%s: the block sizes differ", format->name);
    }
    /* bits a value, published with each type */
    const struct {
        uint32_t type;
        double bits;
    } published[] = {{2, 4.5},   {3, 5.0},     {6, 5.5},     {7, 6.0},     {8, 8.5},     {10, 2.625},  {11, 3.4375},
                     {12, 4.5},  {13, 5.5},    {14, 6.5625}, {16, 2.0625}, {17, 2.3125}, {18, 3.0625}, {19, 1.5625},
                     {20, 4.5},  {21, 3.4375}, {22, 2.5625}, {23, 4.25},   {29, 1.75},   {34, 1.6875}, {35, 2.0625},
                     {39, 4.25}, {40, 4.5},    {41, 1.125},  {42, 2.25}};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const struct gguf_type *type = &gguf_types[published[i].type];
        double bits = 8.0 * (double)type->block_bytes / (double)type->block_values;
        cr_assert(memcmp(&bits, &published[i].bits, sizeof bits) == 0, "%s: %g bits a value", type->name, bits);
    }
}
