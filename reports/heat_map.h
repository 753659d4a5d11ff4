/* Wrong cells of a result as a picture for an HTML page, whose style gives its colours. */
#ifndef REPORTS_HEAT_MAP_H
#define REPORTS_HEAT_MAP_H

#include "../oracles/wrong_map.h"
#include <stdio.h>

/* An svg element, what: "wrong" or "not written", for who cannot see it: classes right (all cells that there are), w1
 * .. w4 (parts with few .. only wrong cells), axis, axis mid, axis end (text). A path a shade, a run of equal parts in
 * a line one rectangle of it. */
void heat_map_put(FILE *out, const struct wrong_map *m, const char *what);

#endif
