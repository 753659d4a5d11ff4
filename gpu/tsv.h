/* Tables of text: lines of columns that are separated by one tab. Empty lines and lines that begin with '#' are
 * skipped. Complaints are "FILE:LINE:COLUMN: message", the line and a caret. */
#ifndef GPU_TSV_H
#define GPU_TSV_H

#include "place.h"
#include <stdbool.h>
#include <stdint.h>

struct tsv {
    const char *path; /* the caller's */
    char *text;       /* (length + 1) the whole file, no zero byte in it but the last */
    size_t length;
};

struct tsv_span { /* bytes of the text */
    size_t from, to;
};

/* Regular files alone, of at most `most` bytes, without a zero byte. False with the reason in e; nothing is then to be
 * freed. */
bool tsv_open(const char *path, size_t most, struct tsv *t, struct error *e);
void tsv_close(struct tsv *t);

/* The next line that counts, from byte *at on, without its end (LF or CR LF); *at and *number (the lines before, 0 at
 * first) go on. False at the end. */
bool tsv_next(const struct tsv *t, size_t *at, size_t *number, struct tsv_span *line);
/* Its columns: how many, or SIZE_MAX when they are more than `most`, with *past = where the next one begins. */
size_t tsv_columns(const struct tsv *t, struct tsv_span line, struct tsv_span *columns, size_t most, size_t *past);

bool tsv_is(const struct tsv *t, struct tsv_span s, const char *text);
/* Decimal digits alone, without leading zeros, at most `most`. */
bool tsv_number(const struct tsv *t, struct tsv_span s, uint64_t most, uint64_t *value);
char *tsv_text(const struct tsv *t, struct tsv_span s); /* the caller frees it */
/* The bytes of a span in quotes, for messages. */
struct quoted tsv_quote(const struct tsv *t, struct tsv_span s);
/* Always false: a complaint about a byte of the text. */
bool tsv_fail(const struct tsv *t, size_t byte, struct error *e, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
