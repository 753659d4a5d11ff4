/* Data of every generated class for binary16 operands of a matrix product. */
#ifndef GPU_DATA_F16_H
#define GPU_DATA_F16_H

#include "../ref/random.h"
#include <stddef.h>

/* data_filler.fill of each class. */
void data_f16_exact(struct random_stream *s, size_t rows, size_t depth, void *bytes);
void data_f16_coded(struct random_stream *s, size_t rows, size_t depth, void *bytes);
void data_f16_adv(struct random_stream *s, size_t rows, size_t depth, void *bytes);
void data_f16_rand(struct random_stream *s, size_t rows, size_t depth, void *bytes);

#endif
