/* Pictures of layouts. */
#include "../ref/checked.h"
#include "../ref/printable.h"
#include "svg.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 128, CHUNKS = LINE / 16 };

static char *label_of(const struct layout_chunk *c) {
    char lanes[32] = "";
    if (c->lanes > 0)
        snprintf(lanes, sizeof lanes, c->lanes > 1 ? "T%u+%u " : "T%u ", c->lane, c->lanes - 1);
    return c->row >= 0    ? must_format("%sr%lld b%lld", lanes, (long long)c->row, (long long)c->byte)
           : c->lanes > 0 ? must_format("%s?", lanes)
                          : NULL;
}

char *svg_layout(const struct layout *l, size_t *size, struct error *e) {
    static const char *const banks[CHUNKS] = {"0..3",   "4..7",   "8..11",  "12..15",
                                              "16..19", "20..23", "24..27", "28..31"};
    const unsigned all = (l->plane_offset % LINE + l->plane_bytes + LINE - 1) / LINE,
                   lines = all < SVG_LINES ? all : SVG_LINES;
    struct layout_chunk *chunks = must_calloc((size_t)lines * CHUNKS, sizeof *chunks);
    struct svg_cell *cells = must_calloc((size_t)lines * CHUNKS, sizeof *cells);
    char **names = must_calloc(lines + 1, sizeof *names), *text = NULL, name[96];
    if (layout_chunks(l, chunks, (size_t)lines * CHUNKS, e)) {
        for (size_t i = 0; i < (size_t)lines * CHUNKS; ++i)
            cells[i] = (struct svg_cell){label_of(&chunks[i]),
                                         chunks[i].row < 0 ? SVG_COLOURS - 1 : (unsigned)chunks[i].row % SVG_COLOURS};
        for (unsigned i = 0; i < lines; ++i)
            names[i] = must_format("%u", (l->plane_offset / LINE + i) * LINE);
        char *title =
            must_format("%s: row r, byte b of the matrix%s%s%s", printable(name, sizeof name, l->name, strlen(l->name)),
                        l->access == LAYOUT_WGMMA ? "" : "; T: lanes of ",
                        l->access == LAYOUT_WGMMA ? "" : l->access_name, lines < all ? "; the first 8192 bytes" : "");
        text = svg_grid(&(struct svg_grid){.title = title,
                                           .row_axis = "byte",
                                           .column_axis = "bank",
                                           .rows = lines,
                                           .columns = CHUNKS,
                                           .cells = cells,
                                           .row_names = (const char *const *)names,
                                           .column_names = banks,
                                           .cell_width = 104},
                        size);
        free(title);
        if (!text)
            fail(e, "no memory for the picture");
    }
    for (size_t i = 0; i < (size_t)lines * CHUNKS; ++i)
        free((char *)cells[i].label);
    for (unsigned i = 0; i < lines; ++i)
        free(names[i]);
    free(names);
    free(cells);
    free(chunks);
    return text;
}
