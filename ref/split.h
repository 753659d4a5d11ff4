/* Where kernels cut the depth of a matrix product into parts that are summed apart and added up at the end: a cut moves
 * roundings, so it belongs to the numeric contract. */
#ifndef REF_SPLIT_H
#define REF_SPLIT_H

#include "error.h"
#include <stdbool.h>
#include <stddef.h>

enum split_kind {
    SPLIT_NONE,
    SPLIT_AT,      /* every cell at the same depths */
    SPLIT_STREAM_K /* tile by tile, as llama.cpp's MMQ spreads the work over so many multiprocessors */
};
enum { SPLIT_MOST_CUTS = 64 };

struct split {
    enum split_kind kind;
    size_t multiprocessors;                  /* SPLIT_STREAM_K */
    size_t cut_count, cuts[SPLIT_MOST_CUTS]; /* SPLIT_AT: depths in values, ascending, 0 < cut < id */
};

/* "none", "at:256,512" (depths in values) or "stream-k:132" (multiprocessors). Fails on anything else. */
bool split_parse(const char *text, struct split *s, struct error *e);

/* Fails when the split cannot serve a product of depth id: a cut past its end, or one that is no multiple of
 * `multiple` values. */
bool split_check(const struct split *s, size_t id, size_t multiple, struct error *e);

#endif
