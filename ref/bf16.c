/* bf16: one bfloat16 a block, the upper 16 bits of a binary32.
 * Source: ggml, `ggml_compute_bf16_to_fp32` and `ggml_compute_fp32_to_bf16` of ggml-impl.h, bit for bit: to nearest,
 * ties to even; subnormals kept; |x| >= 2^128 - 2^119 gives infinity; a NaN keeps its sign and upper payload and turns
 * quiet (older releases of ggml flushed subnormals to zero). */
#include "format.h"
#include "half.h"
#include <string.h>

static void dequantize(const void *block, float *out) {
    uint16_t h;
    memcpy(&h, block, sizeof h);
    uint32_t bits = (uint32_t)h << 16;
    memcpy(out, &bits, sizeof bits);
}

static uint16_t from_bits(uint32_t f) {
    if ((f & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(f >> 16 | 0x40);
    return (uint16_t)((f + 0x7fff + (f >> 16 & 1)) >> 16); /* a carry raises the exponent, up to infinity, rightly */
}

static void quantize(const float *in, void *block) {
    uint16_t h = from_bits(float_bits(*in));
    memcpy(block, &h, sizeof h);
}

const struct block_format format_bf16 = {
    .name = "bf16",
    .gguf_type = 30,
    .block_values = 1,
    .block_bytes = sizeof(uint16_t),
    .dequantize = dequantize,
    .quantize = quantize,
};
