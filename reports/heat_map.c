#include "heat_map.h"
#include <stdbool.h>
#include <string.h>

enum { LEFT = 46, TOP = 34, SIDE = 512, SHADES = 4 };

/* Pixels of a part: the longer axis takes about SIDE, and a part can be seen. */
static size_t scale_of(const struct wrong_map *m) {
    const size_t longer = m->parts[0] > m->parts[1] ? m->parts[0] : m->parts[1];
    const size_t scale = longer > 0 ? SIDE / longer : 1;
    return scale > 16 ? 16 : scale < 4 ? 4 : scale;
}

static int shade_of(uint8_t share) {
    return share == 0 ? 0 : share == 255 ? SHADES : 1 + share * (SHADES - 1) / 255;
}

static void put_shade(FILE *out, const struct wrong_map *m, int shade, size_t scale) {
    bool begun = false;
    for (size_t i = 0; i < m->parts[0]; ++i) {
        const uint8_t *line = &m->share[i * m->parts[1]];
        for (size_t j = 0, end; j < m->parts[1]; j = end) {
            for (end = j + 1; end < m->parts[1] && shade_of(line[end]) == shade_of(line[j]);) {
                ++end;
            }
            if (shade_of(line[j]) != shade) {
                continue;
            }
            if (!begun) {
                fprintf(out, "<path class=\"w%d\" d=\"", shade);
            }
            const size_t width = (end - j) * scale;
            fprintf(out, "M%zu %zuh%zuv%zuh-%zuz", LEFT + j * scale, TOP + i * scale, width, scale, width);
            begun = true;
        }
    }
    if (begun) {
        fputs("\"/>\n", out);
    }
}

/* Numbers of cells along an axis, where they are on the picture. */
static void put_axis(FILE *out, const struct wrong_map *m, int axis, size_t scale) {
    const bool down = axis == 0;
    const size_t parts = m->parts[axis], room = down ? 24 : 40;
    size_t stride = 1;
    while (stride * scale < room) {
        stride *= 2;
    }
    for (size_t i = 0; i < parts; i += stride) {
        const size_t at = i * scale + scale / 2;
        const size_t cell = i * m->step[axis] * (down && m->axis[1] == NULL ? WRONG_MAP_FOLD : 1);
        fprintf(out, "<text class=\"axis %s\" x=\"%zu\" y=\"%zu\">%zu</text>\n", down ? "end" : "mid",
                down ? (size_t)LEFT - 6 : LEFT + at, down ? TOP + at + 4 : (size_t)TOP - 6, cell);
    }
}

/* The ground of all cells that there are: the last line of a sequence may end early. */
static void put_ground(FILE *out, const struct wrong_map *m, size_t scale) {
    const size_t rest = m->n[1] > 0 ? m->cells % m->n[1] : 0, lines = m->step[0] > 0 ? m->n[0] % m->step[0] : 0;
    const bool alone = m->step[0] == 1 || lines == 1; /* the last part downwards is that line and no other */
    const bool early = rest > 0 && alone;
    const size_t full = m->parts[0] - early;
    if (full > 0) {
        fprintf(out, "<rect class=\"right\" x=\"%d\" y=\"%d\" width=\"%zu\" height=\"%zu\"/>\n", LEFT, TOP,
                m->parts[1] * scale, full * scale);
    }
    if (early) {
        fprintf(out, "<rect class=\"right\" x=\"%d\" y=\"%zu\" width=\"%zu\" height=\"%zu\"/>\n", LEFT,
                TOP + full * scale, (rest + m->step[1] - 1) / m->step[1] * scale, scale);
    }
}

/* What the colours mean, in a row below the map; out may be NULL. Returns where it ends. */
static size_t put_legend(FILE *out, const struct wrong_map *m, const char *what, size_t y) {
    static const char *const parts[] = {"right", "up to a third", "up to two thirds", "more", "all"};
    const bool single = m->step[0] * m->step[1] == 1;
    size_t x = LEFT, end = LEFT;
    for (int shade = 0; shade <= SHADES; ++shade) {
        if (single && shade > 0 && shade < SHADES) {
            continue;
        }
        char text[64];
        snprintf(text, sizeof text, "%s%s%s", single && shade > 0 ? "" : parts[shade],
                 shade == SHADES && !single ? " " : "", shade == SHADES ? what : "");
        const size_t at = x + 17;
        end = at + 7 * strlen(text); /* of letters 11 pixels high */
        x = at + 6 * strlen(text) + 22;
        if (out == NULL) {
            continue;
        }
        fprintf(out, "<rect class=\"%s%.0d\" x=\"%zu\" y=\"%zu\" width=\"12\" height=\"12\"/>\n",
                shade == 0 ? "right" : "w", shade, at - 17, y);
        fprintf(out, "<text class=\"axis\" x=\"%zu\" y=\"%zu\">%s</text>\n", at, y + 10, text);
    }
    return end;
}

void heat_map_put(FILE *out, const struct wrong_map *m, const char *what) {
    const size_t scale = scale_of(m), width = m->parts[1] * scale, height = m->parts[0] * scale;
    const size_t legend = put_legend(NULL, m, what, 0) + 4, map = LEFT + (width > 360 ? width : 360) + 60;
    const size_t all = legend > map ? legend : map;
    const char *down = m->axis[0], *across = m->axis[1] != NULL ? m->axis[1] : m->axis[0];
    fprintf(out,
            "<svg class=\"heat\" role=\"img\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" "
            "aria-label=\"%zu of %zu cell%s %s %s\">\n",
            all, TOP + height + 30, all, TOP + height + 30, m->wrong, m->cells, m->cells == 1 ? "" : "s",
            m->wrong == 1 ? "is" : "are", what);
    put_ground(out, m, scale);
    for (int shade = 1; shade <= SHADES; ++shade) {
        put_shade(out, m, shade, scale);
    }
    fprintf(out, "<text class=\"axis\" x=\"%zu\" y=\"%d\">%s</text>\n", LEFT + width + 6, TOP - 6, across);
    fprintf(out, "<text class=\"axis\" x=\"%d\" y=\"12\">%s</text>\n", 2, down);
    put_axis(out, m, 0, scale);
    put_axis(out, m, 1, scale);
    put_legend(out, m, what, TOP + height + 12);
    fputs("</svg>\n", out);
}
