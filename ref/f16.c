/* f16: one binary16 a block. Both ways as half.h says. */
#include "format.h"
#include "half.h"
#include <string.h>

static void dequantize(const void *block, float *out) {
    uint16_t h;
    memcpy(&h, block, sizeof h);
    *out = half_to_float(h);
}

static void quantize(const float *in, void *block) {
    uint16_t h = half_from_float(*in);
    memcpy(block, &h, sizeof h);
}

const struct block_format format_f16 = {
    .name = "f16",
    .gguf_type = 1,
    .block_values = 1,
    .block_bytes = sizeof(uint16_t),
    .dequantize = dequantize,
    .quantize = quantize,
};
