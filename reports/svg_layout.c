/* Pictures of layouts. */
#include "../ref/checked.h"
#include "../ref/printable.h"
#include "svg.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 128, CHUNKS = LINE / 16 };

static char *label_of(const struct layout_chunk *c) {
    char lanes[32] = "", more[16] = "";
    const int count = __builtin_popcount(c->lanes);
    if (count > 0)
        snprintf(lanes, sizeof lanes, count > 1 ? "T%d+%d " : "T%d ", __builtin_ctz(c->lanes), count - 1);
    if (c->pieces > 1)
        snprintf(more, sizeof more, " +%u", c->pieces - 1);
    return c->row >= 0 ? must_format("%sr%lld b%lld%s", lanes, (long long)c->row, (long long)c->byte, more)
           : count > 0 ? must_format("%s?", lanes)
                       : NULL;
}

/* The lines below the picture: what its labels mean, as far as it has them. */
static size_t explain(const struct layout *l, const struct layout_chunk *chunks, size_t count, const char *notes[3]) {
    bool mixed = false;
    size_t n = 0;
    for (size_t i = 0; i < count; ++i)
        mixed = mixed || (chunks[i].row >= 0 && chunks[i].pieces > 1);
    if (l->access != LAYOUT_WGMMA)
        notes[n++] = "T4: the address of lane 4 leads here, for the first tile; T0+7: those of lane 0 and 7 more lanes";
    notes[n++] = mixed
                     ? "r2 b0: byte 0 of row 2 comes first in these 16 bytes; +3: and 3 more pieces, of other rows or "
                       "padding; white: padding"
                     : "r2 b0: these 16 bytes are those of row 2 from byte 0 on; white: padding";
    notes[n++] = "colours: row % 8";
    return n;
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
        size_t longest = 16;
        for (size_t i = 0; i < (size_t)lines * CHUNKS; ++i) {
            cells[i] = (struct svg_cell){.label = label_of(&chunks[i]),
                                         .colour = chunks[i].row < 0 ? SVG_COLOURS - 1
                                                                     : (unsigned)chunks[i].row % SVG_COLOURS};
            const size_t length = cells[i].label ? strlen(cells[i].label) : 0;
            longest = length > longest ? length : longest;
        }
        for (unsigned i = 0; i < lines; ++i)
            names[i] = must_format("%u", (l->plane_offset / LINE + i) * LINE);
        char *title =
            must_format("%s: row r, byte b of the matrix%s%s%s", printable(name, sizeof name, l->name, strlen(l->name)),
                        l->access == LAYOUT_WGMMA ? "" : "; T: lanes of ",
                        l->access == LAYOUT_WGMMA ? "" : l->access_name, lines < all ? "; the first 8192 bytes" : "");
        const char *notes[3];
        const size_t note_count = explain(l, chunks, (size_t)lines * CHUNKS, notes);
        text = svg_grid(&(struct svg_grid){.title = title,
                                           .notes = notes,
                                           .note_count = note_count,
                                           .row_axis = "byte",
                                           .column_axis = "bank",
                                           .rows = lines,
                                           .columns = CHUNKS,
                                           .cells = cells,
                                           .row_names = (const char *const *)names,
                                           .column_names = banks,
                                           .cell_width = 8 + 6 * (unsigned)longest},
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
