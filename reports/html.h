/* A run as one HTML page: no script, no network, light and dark, readable on a phone and on paper. */
#ifndef REPORTS_HTML_H
#define REPORTS_HTML_H

#include "../oracles/case_detail.h"
#include "evidence.h"
#include "json.h"

enum {
    HTML_GROUPS = 40,       /* kinds of failure with their whole message; of more, the ids */
    HTML_PICTURES = 20,     /* of them, those with pictures */
    HTML_IDS = 200,         /* ids of one list; the rest is counted */
    HTML_PASSED = 400,      /* right cases that are listed one by one; of more runs only the numbers */
    HTML_STAGED = 5,        /* kinds of failure that a run of many cases explains */
    HTML_MESSAGE = 1 << 14, /* bytes of one message; the rest is counted */
    HTML_FULL = 8 << 20,    /* bytes of the page after which there are no more pictures */
};

struct html_program { /* what a kernel's cases ran today */
    const char *kernel, *digest;
};

struct html {
    const char *command; /* "gate" */
    const struct outcome *outcomes;
    size_t count;
    const struct totals *totals;
    const struct recorded *recorded; /* sorted; NULL: none was read */
    const struct html_program *programs;
    size_t program_count;
    const struct case_detail *details; /* (detail_count) */
    size_t detail_count;
    bool whole; /* there is one case, and it is shown in full whatever its verdict is */
};

/* Kernels by data class; each kind of failure with the message of its most telling case, its stages and their faults,
 * where the wrong cells lie, which lanes and registers of an mma held wrong elements, which banks the accesses of
 * shared memory ask for, and what GPUs gave; skips; passes. What was left out is said. Whatever comes from files is
 * text. Writes the file whole or not at all (file.h). */
bool html_write(const char *path, const struct html *h, struct error *e);

/* The outcomes that html_write explains where they have a detail: the most telling one of each of the first HTML_STAGED
 * kinds of failure. Returns how many. */
size_t html_telling(const struct outcome *outcomes, size_t count, size_t telling[HTML_STAGED]);

#endif
