#include "activation.h"
#include "checked.h"
#include <string.h>

extern const struct activation_format activation_pad40;
extern const struct activation_format activation_pad40_t;
extern const struct activation_format activation_q8_1;
extern const struct activation_format activation_q8_1_cuda;
extern const struct activation_format activation_q8_1_mmq_d4;
extern const struct activation_format activation_q8_1_mmq_ds4;
extern const struct activation_format activation_q8_1_mmq_d2s6;
extern const struct activation_format activation_q8_k;

/* clang-format off */
const struct activation_format *const activation_formats[] = {
    &activation_pad40,
    &activation_pad40_t,
    &activation_q8_1,
    &activation_q8_1_cuda,
    &activation_q8_1_mmq_d4,
    &activation_q8_1_mmq_ds4,
    &activation_q8_1_mmq_d2s6,
    &activation_q8_k,
    NULL,
};
/* clang-format on */

const struct activation_format *activation_named(const char *name) {
    for (const struct activation_format *const *f = activation_formats; *f; f++)
        if (!strcmp((*f)->name, name))
            return *f;
    return NULL;
}

bool activation_bytes(const struct activation_format *f, size_t nt, size_t id, size_t *bytes) {
    size_t blocks;
    if (f->buffer_bytes)
        return f->buffer_bytes(nt, id, bytes);
    return size_mul(nt, id / f->block_values, &blocks) && size_mul(blocks, f->block_bytes, bytes);
}

static size_t row_major(const struct activation_format *f, size_t id, size_t token, size_t index) {
    return (token * (id / f->block_values) + index) * f->block_bytes;
}

void activation_get(const struct activation_format *f, const void *buffer, size_t nt, size_t id, size_t token,
                    size_t index, void *block) {
    if (f->get)
        f->get(buffer, nt, id, token, index, block);
    else
        memcpy(block, (const uint8_t *)buffer + row_major(f, id, token, index), f->block_bytes);
}

void activation_put(const struct activation_format *f, void *buffer, size_t nt, size_t id, size_t token, size_t index,
                    const void *block) {
    if (f->put)
        f->put(buffer, nt, id, token, index, block);
    else
        memcpy((uint8_t *)buffer + row_major(f, id, token, index), block, f->block_bytes);
}

void activation_quantize(const struct activation_format *f, const float *x, size_t nt, size_t id, void *buffer) {
    size_t bytes;
    if (activation_bytes(f, nt, id, &bytes))
        memset(buffer, 0, bytes);
#pragma omp parallel for schedule(static)
    for (size_t t = 0; t < nt; t++)
        for (size_t b = 0; b < id / f->block_values; b++) {
            uint8_t block[ACTIVATION_MOST_BYTES];
            f->quantize(x + t * id + b * f->block_values, block);
            activation_put(f, buffer, nt, id, t, b, block);
        }
}

void activation_dequantize(const struct activation_format *f, const void *buffer, size_t nt, size_t id, float *x) {
#pragma omp parallel for schedule(static)
    for (size_t t = 0; t < nt; t++)
        for (size_t b = 0; b < id / f->block_values; b++) {
            uint8_t block[ACTIVATION_MOST_BYTES];
            activation_get(f, buffer, nt, id, t, b, block);
            f->dequantize(block, x + t * id + b * f->block_values);
        }
}

struct activation_sums activation_check_sums(const struct activation_format *f, const void *buffer, size_t nt,
                                             size_t id) {
    struct activation_sums s = {0};
    for (size_t t = 0; t < nt && f->stored_sum; t++)
        for (size_t b = 0; b < id / f->block_values; b++) {
            uint8_t block[ACTIVATION_MOST_BYTES];
            activation_get(f, buffer, nt, id, t, b, block);
            const int32_t stored = f->stored_sum(block);
            int32_t right = 0;
            for (size_t k = 0; k < f->codes_bytes; k++)
                right += (int8_t)block[f->codes_at + k];
            if (stored == right)
                continue;
            const bool outside = stored < -4096 || stored > 4064; /* 32 times -128 and 127 */
            if (s.wrong == 0 || (outside && s.outside == 0)) {
                s.token = t;
                s.index = b;
                s.stored = stored;
                s.right = right;
            }
            s.wrong++;
            s.outside += outside;
        }
    return s;
}
