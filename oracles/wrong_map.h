/* Where the wrong cells of a result lie, in so few parts that they can be drawn and kept for every red case. */
#ifndef ORACLES_WRONG_MAP_H
#define ORACLES_WRONG_MAP_H

#include <stddef.h>
#include <stdint.h>

enum { WRONG_MAP_PARTS = 128 /* on an axis, at most */, WRONG_MAP_FOLD = 64 };

struct wrong_map {
    const char *axis[2]; /* "token" downwards, "row" across; static; [1] NULL: a sequence, of WRONG_MAP_FOLD a line */
    size_t n[2];         /* cells along each axis */
    size_t step[2];      /* cells that one part takes along each */
    size_t parts[2];
    size_t cells, wrong; /* of the whole result */
    uint8_t *share;      /* (parts[0], parts[1]) wrong cells of each part: 0 none, 255 all, else in proportion */
};

/* wrong: (n0, n1), nonzero = wrong; n1 = 1 and axis1 = NULL for a sequence of n0. The
 * caller frees it. */
struct wrong_map *wrong_map_of(const uint8_t *wrong, size_t n0, size_t n1, const char *axis0, const char *axis1);
void wrong_map_free(struct wrong_map *m); /* may be NULL */

#endif
