/* What the bytes of a tensor look like: the range of its values, and whether its scales can be right. */
#ifndef REF_GGUF_SCAN_H
#define REF_GGUF_SCAN_H

#include "gguf.h"
#include "value_range.h"
#include <stdbool.h>
#include <stdint.h>

struct gguf_scan {
    struct value_range range; /* of the values */
    /* The scale fields d and dmin of all blocks; in f32, f16 and bf16 the values themselves. A format whose scale is a
     * bare power of two (mxfp4) has none here. */
    uint64_t scales, scales_nan, scales_infinite;
    double median; /* of the magnitudes that are neither 0 nor NaN, lower one of two; 0 when there are none */
    /* Read with their bytes swapped the scales make more sense: see gguf_scan.c for the rule. */
    bool looks_swapped;
    double swapped_median;
};

/* Scans a whole tensor, which must have a format and its data; false when memory runs out. */
bool gguf_scan(const struct gguf_tensor *t, struct gguf_scan *out, struct error *e);

#endif
