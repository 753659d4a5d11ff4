/* What went wrong, in words for a person. Every function of the project that can fail on bad input takes one. */
#ifndef REF_ERROR_H
#define REF_ERROR_H

#include <stdbool.h>

struct error {
    char text[2048]; /* one message, complete and without a newline at its end; may hold a caret on further lines */
};

/* Writes the message and returns false, so that a caller can say `return fail(e, "...")`. e may be NULL. */
bool fail(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
