#include "wrong_map.h"
#include "../ref/checked.h"
#include <stdlib.h>

static size_t divided(size_t a, size_t b) {
    return a / b + (a % b != 0);
}

/* Cells of the result in part (i, j): fewer at its edges. */
static size_t cells_of(const struct wrong_map *m, size_t i, size_t j) {
    size_t cells = 0;
    for (size_t a = i * m->step[0]; a < (i + 1) * m->step[0] && a < m->n[0]; ++a) {
        const size_t first = j * m->step[1], past = (j + 1) * m->step[1] < m->n[1] ? (j + 1) * m->step[1] : m->n[1];
        const size_t line = a * m->n[1]; /* a sequence ends within its last line */
        const size_t end = line + past < m->cells ? past : m->cells > line ? m->cells - line : 0;
        cells += end > first ? end - first : 0;
    }
    return cells;
}

struct wrong_map *wrong_map_of(const uint8_t *wrong, size_t n0, size_t n1, const char *axis0, const char *axis1) {
    struct wrong_map *m = must_calloc(1, sizeof *m);
    const size_t cells = n0 * n1;
    m->axis[0] = axis0;
    m->axis[1] = axis1;
    m->cells = cells;
    m->n[0] = axis1 != NULL ? n0 : divided(cells, WRONG_MAP_FOLD);
    m->n[1] = axis1 != NULL ? n1 : cells < WRONG_MAP_FOLD ? cells : WRONG_MAP_FOLD;
    for (int i = 0; i < 2; ++i) {
        m->step[i] = divided(m->n[i], WRONG_MAP_PARTS);
        m->parts[i] = m->step[i] > 0 ? divided(m->n[i], m->step[i]) : 0;
    }
    const size_t parts = m->parts[0] * m->parts[1];
    size_t *count = must_calloc(parts + 1, sizeof *count);
    m->share = must_calloc(parts + 1, 1);
    for (size_t c = 0; c < cells; ++c) {
        if (wrong[c]) {
            ++count[c / m->n[1] / m->step[0] * m->parts[1] + c % m->n[1] / m->step[1]];
            ++m->wrong;
        }
    }
    for (size_t i = 0; i < m->parts[0]; ++i) {
        for (size_t j = 0; j < m->parts[1]; ++j) {
            const size_t at = i * m->parts[1] + j, all = count[at] > 0 ? cells_of(m, i, j) : 0;
            m->share[at] = (uint8_t)(count[at] == 0     ? 0
                                     : count[at] == all ? 255
                                                        : 1 + (double)count[at] / (double)all * 253);
        }
    }
    free(count);
    return m;
}

void wrong_map_free(struct wrong_map *m) {
    if (m != NULL) {
        free(m->share);
        free(m);
    }
}
