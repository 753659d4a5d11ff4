/* A run as one HTML page: no script, no network, light and dark, readable on a phone. */
#ifndef REPORTS_HTML_H
#define REPORTS_HTML_H

#include "evidence.h"
#include "json.h"

enum {
    HTML_GROUPS = 40,   /* kinds of failure with their whole message; of more, the ids */
    HTML_PICTURES = 20, /* of them, those with pictures */
    HTML_IDS = 200,     /* ids of one list; the rest is counted */
    HTML_PASSED = 400,  /* right cases that are listed one by one; of more runs only the numbers */
};

struct html {
    const char *command; /* "gate" */
    const struct outcome *outcomes;
    size_t count;
    const struct totals *totals;
    const struct recorded *recorded; /* sorted; NULL: none was read */
};

/* Kernels by data class; each kind of failure with the message of its most telling case, where the wrong cells lie,
 * which lanes hold what at an mma or ldmatrix, which banks the lanes of a racing access ask for; what GPUs gave; skips;
 * passes. Whatever comes from files is text. Writes the file whole or not at all (file.h). */
bool html_write(const char *path, const struct html *h, struct error *e);

#endif
