/* Pictures of operands and layouts, as files. */
#ifndef CLI_PROVE_PICTURES_H
#define CLI_PROVE_PICTURES_H

#include "../ref/error.h"
#include <stdbool.h>
#include <stddef.h>

struct pictures {
    const char *to; /* FILE.svg, which takes one, or a folder, made if need be */
    const char **layouts;
    size_t layout_count;
    const char *const
        *patterns; /* operands, by their names or their first statement's; none beside layouts: no operand */
    size_t pattern_count;
};

/* Writes all of them. False: one cannot be written, or a FILE.svg was to take none or more than one. */
bool prove_pictures(const struct pictures *p, struct error *e);

#endif
