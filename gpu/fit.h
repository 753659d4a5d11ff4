/* A raw file has not the size that was expected: what its size would fit. */
#ifndef GPU_FIT_H
#define GPU_FIT_H

#include <stdbool.h>
#include <stddef.h>

/* "; that is od = 64" or "; that is q6_K": one other number of rows, another depth, or the same shape in other formats
 * that make up `bytes` bytes; "" when nothing does. weight: rows are od and the formats block formats, else nt and
 * activation formats. The caller frees it. */
char *fit_hint(const char *format, bool weight, size_t rows, size_t depth, size_t bytes);

#endif
