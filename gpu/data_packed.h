/* Data for every format that can pack integers (ref/format.h, ref/activation.h): one rule a class, whatever the layout.
 * Formats with a filler of their own (data_exact.c ...) do not come here. */
#ifndef GPU_DATA_PACKED_H
#define GPU_DATA_PACKED_H

#include "../ref/activation.h"
#include "../ref/format.h"
#include "data.h"

/* bytes = (rows, depth / block_values) blocks, row-major, of a class that is generated. f->pack MUST be there. */
void data_packed_weight(enum data_class c, const struct block_format *f, struct random_stream *s, size_t rows,
                        size_t depth, void *bytes);
/* bytes = the buffer (activation_bytes) of nt tokens. f->pack MUST be there. */
void data_packed_activation(enum data_class c, const struct activation_format *f, struct random_stream *s, size_t nt,
                            size_t depth, void *bytes);

#endif
