#include "format.h"
#include <string.h>

extern const struct block_format format_f32, format_f16, format_q8_0, format_q4_k;

const struct block_format *const block_formats[] = {&format_f32, &format_f16, &format_q8_0, &format_q4_k, NULL};

const struct block_format *format_named(const char *name) {
    for (const struct block_format *const *f = block_formats; *f; f++)
        if (!strcmp((*f)->name, name))
            return *f;
    return NULL;
}

const struct block_format *format_of_type(uint32_t gguf_type) {
    for (const struct block_format *const *f = block_formats; *f; f++)
        if ((*f)->gguf_type == gguf_type)
            return *f;
    return NULL;
}
