/* f32: one binary32 a block, bits unchanged. */
#include "format.h"
#include <string.h>

static void dequantize(const void *block, float *out) {
    memcpy(out, block, sizeof *out);
}

static void quantize(const float *in, void *block) {
    memcpy(block, in, sizeof *in);
}

const struct block_format format_f32 = {
    .name = "f32",
    .gguf_type = 0,
    .block_values = 1,
    .block_bytes = sizeof(float),
    .dequantize = dequantize,
    .quantize = quantize,
};
