#include "../../ref/half.h"
#include "../independent/independent.h"
#include "witness.h"
#include <stdio.h>
#include <string.h>

enum { BATCH_BYTES = 1 << 16 };

struct difference {
    size_t index, element; /* block number, value in it; of the lowest block */
    uint32_t ref, other;
};

static bool is_nan(uint32_t bits) {
    return (bits & 0x7fffffff) > 0x7f800000;
}

/* How many values of a block differ; the first goes to *d. */
static size_t differences(const float *ref, const float *other, size_t n, struct difference *d) {
    if (!memcmp(ref, other, n * sizeof *ref))
        return 0;
    size_t differing = 0;
    for (size_t k = 0; k < n; k++) {
        uint32_t r = float_bits(ref[k]), o = float_bits(other[k]);
        if (r == o || (is_nan(r) && is_nan(o)))
            continue;
        if (!differing++) {
            d->element = k;
            d->ref = r;
            d->other = o;
        }
    }
    return differing;
}

static void print_block(const struct block_format *f, const struct difference *first, bool finite) {
    uint8_t block[FORMAT_MOST_VALUES * 4 + 64];
    block_of(f, first->index, finite, block);
    printf("      block %zu:", first->index);
    for (size_t i = 0; i < f->block_bytes; i++)
        printf("%s%02x", i % 32 ? "" : "\n        ", block[i]);
    printf("\n");
}

void compare_decoder(const struct block_format *f, const char *witness, decode_blocks *decode, const void *context,
                     size_t blocks, bool finite) {
    size_t n = f->block_values, edges = block_edges(f), total = edges + blocks, differing = 0;
    size_t batch = BATCH_BYTES / (n * sizeof(float)), batches = (total + batch - 1) / batch;
    struct difference first = {.index = SIZE_MAX};
#pragma omp parallel for schedule(dynamic) reduction(+ : differing)
    for (size_t b = 0; b < batches; b++) {
        uint8_t bytes[BATCH_BYTES];
        float ref[BATCH_BYTES / sizeof(float)], other[BATCH_BYTES / sizeof(float)];
        size_t from = b * batch, count = total - from < batch ? total - from : batch;
        for (size_t i = 0; i < count; i++) {
            block_of(f, from + i, finite, bytes + i * f->block_bytes);
            f->dequantize(bytes + i * f->block_bytes, ref + i * n);
        }
        decode(context, bytes, other, count);
        for (size_t i = 0; i < count; i++) {
            struct difference d = {.index = from + i};
            if (!differences(ref + i * n, other + i * n, n, &d))
                continue;
            differing++;
#pragma omp critical
            if (d.index < first.index)
                first = d;
        }
    }
    if (!differing) {
        report(PASSED, witness, f->name, "dequantize", "%zu blocks, 0 differ", total);
        return;
    }
    report(FAILED, witness, f->name, "dequantize",
           "%zu blocks, %zu differ; first: block %zu value %zu, ref 0x%08x %.9g, %s 0x%08x %.9g", total, differing,
           first.index, first.element, first.ref, bits_float(first.ref), witness, first.other, bits_float(first.other));
    print_block(f, &first, finite);
}

struct second {
    independent_decoder *decode;
    const struct block_format *format;
};

static void decode_independent(const void *context, const uint8_t *blocks, float *out, size_t count) {
    const struct second *second = context;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits[FORMAT_MOST_VALUES];
        second->decode(blocks + i * second->format->block_bytes, bits);
        memcpy(out + i * second->format->block_values, bits, second->format->block_values * sizeof *bits);
    }
}

void compare_independent(const struct block_format *f, size_t blocks) {
    struct second second = {independent_decoder_of(f->name), f};
    if (!second.decode)
        report(SKIPPED, "independent", f->name, "dequantize", "no second decoder in tests/independent");
    else
        compare_decoder(f, "independent", decode_independent, &second, blocks, true);
}
