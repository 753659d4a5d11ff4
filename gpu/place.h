/* A place in a text file and complaints about it: "FILE:LINE:COLUMN: message", the source line, and a caret. */
#ifndef GPU_PLACE_H
#define GPU_PLACE_H

#include "../ref/error.h"
#include <stdarg.h>
#include <stddef.h>

/* Keeps its own copies, so that it outlives the file it came from. */
struct place {
    char *path;   /* NULL: not from a file; messages then have no FILE:LINE:COLUMN */
    char *source; /* the line, without its end */
    int line;     /* from 1 */
    size_t byte;  /* of source; the column shown is counted in characters from 1 */
};

/* The place of text[byte], where text has `length` bytes of UTF-8 and a zero byte after them. Past the end it is the
 * end of the last line. path may be NULL. The caller frees it. */
struct place place_at(const char *path, const char *text, size_t length, size_t byte);
void place_free(struct place *p);
/* Always false, for `return place_fail(...)`; the caret is `offset` bytes right of the place. */
bool place_fail(const struct place *p, size_t offset, struct error *e, const char *format, va_list args);

/* The same for a byte of a text, as of place_at. */
bool place_fail_at(const char *path, const char *text, size_t length, size_t byte, struct error *e, const char *format,
                   va_list args);

/* Untrusted text for a message, in single quotes: made printable, and cut when long. */
struct quoted {
    char text[84];
};
struct quoted quote(const char *text);

/* The entry of a list (ended by NULL) nearest to a word by edit distance (insert, delete, replace, swap of
 * neighbours), or NULL when none is within a third of the word's length (within 1 for short words). */
const char *nearest(const char *word, const char *const *list);

#endif
