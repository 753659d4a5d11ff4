#include "data.h"
#include "data_packed.h"
#include "place.h"
#include <string.h>

const char *const data_class_names[DATA_CLASSES + 1] = {"exact", "coded", "adv", "rand", "real", "file", NULL};

bool data_class_made(const char *name, enum data_class *c) {
    for (int k = 0; k < DATA_REAL; ++k)
        if (!strcmp(name, data_class_names[k])) {
            *c = (enum data_class)k;
            return true;
        }
    return false;
}

static const struct data_filler *const fillers[DATA_CLASSES] = {
    [DATA_EXACT] = data_exact, [DATA_CODED] = data_coded, [DATA_ADV] = data_adv, [DATA_RAND] = data_rand};

bool data_block(const char *format, size_t *block_values, size_t *block_bytes, struct error *e) {
    if (!strcmp(format, "i8")) {
        *block_values = *block_bytes = 1;
        return true;
    }
    const struct block_format *weight = format_named(format);
    const struct activation_format *activation = weight ? NULL : activation_named(format);
    if (!weight && !activation)
        return fail(e, "there is no format %s", quote(format).text);
    *block_values = weight ? weight->block_values : activation->block_values;
    *block_bytes = weight ? weight->block_bytes : activation->block_bytes;
    return true;
}

bool data_fill(enum data_class c, const char *format, struct random_stream *s, size_t rows, size_t depth, void *bytes,
               struct error *e) {
    size_t block_values, block_bytes;
    if (!data_block(format, &block_values, &block_bytes, e))
        return false;
    if (!depth || depth % block_values)
        return fail(e, "%s data come in blocks of %zu values, depth %zu is no multiple of that", format, block_values,
                    depth);
    if (c == DATA_EXACT && depth > DATA_EXACT_DEPTH)
        return fail(e, "data of class exact serve depths up to %d, not %zu", DATA_EXACT_DEPTH, depth);
    const struct data_filler *f = fillers[c];
    while (f && f->format && strcmp(f->format, format))
        f++;
    const struct block_format *weight = format_named(format);
    const struct activation_format *activation = weight ? NULL : activation_named(format);
    if (f && f->format)
        f->fill(s, rows, depth, bytes);
    else if (f && weight && weight->pack)
        data_packed_weight(c, weight, s, rows, depth, bytes);
    else if (f && activation && activation->pack)
        data_packed_activation(c, activation, s, rows, depth, bytes);
    else
        return fail(e, "there are no data of class %s for format %s", data_class_names[c], format);
    return true;
}
