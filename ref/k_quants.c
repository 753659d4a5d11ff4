#include "k_quants.h"

void k_values(const struct block_integers *b, size_t sub_values, float *out) {
    for (size_t s = 0; s < K_VALUES / sub_values; s++) {
        float scale = b->d * (float)b->scale[s], min = b->dmin * (float)b->min[s];
        for (size_t k = s * sub_values; k < (s + 1) * sub_values; k++) {
            float product = scale * (float)b->code[k];
            out[k] = product - min;
        }
    }
}
