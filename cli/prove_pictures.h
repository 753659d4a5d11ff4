/* Pictures of operands and layouts, as files. */
#ifndef CLI_PROVE_PICTURES_H
#define CLI_PROVE_PICTURES_H

#include "../gpu/layout.h"
#include "../ref/error.h"
#include "call_files.h"
#include <stdbool.h>
#include <stddef.h>

struct pictures_wanted {
    const char *to;           /* FILE.svg, which takes one, or a folder, made if need be; NULL: none are */
    const char *const *files; /* (layout_count) of the layouts */
    struct layout **layouts;  /* (layout_count) */
    size_t layout_count;
    const char *const
        *patterns; /* operands, by their names or their first statement's; none beside layouts: no operand */
    size_t pattern_count;
};

struct pictures {
    const char *to;
    struct picture {
        const struct layout *layout; /* else the operand */
        struct fragment operand;
        char *path; /* owned */
    } * items;
    size_t count;
};

/* Which pictures there are and where they go, which is added to f. False: a FILE.svg was to take more than one. */
bool pictures_plan(const struct pictures_wanted *w, struct pictures *p, struct call_files *f, struct error *e);
/* Writes all of them. False: one cannot be written, or there is none. */
bool pictures_write(const struct pictures *p, struct error *e);
void pictures_free(struct pictures *p);

#endif
