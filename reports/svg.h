/* Pictures as SVG text: a grid of labelled, coloured cells with headings and a legend. The same input gives the same
 * bytes. */
#ifndef REPORTS_SVG_H
#define REPORTS_SVG_H

#include "../gpu/fragment.h"
#include "../gpu/layout.h"
#include "../oracles/lane_map.h"
#include <stddef.h>

enum { SVG_COLOURS = 8 };

struct svg_cell {
    const char *label; /* NULL: an empty cell */
    unsigned colour;   /* 0 .. SVG_COLOURS-1 */
    bool marked;       /* by a corner and a frame: not by colour alone */
};

struct svg_grid {
    const char *title, *row_axis, *column_axis;
    unsigned rows, columns;
    const struct svg_cell *cells;                       /* (rows * columns) row by row */
    const char *const *row_names, *const *column_names; /* (rows), (columns); NULL: 0, 1, 2 ... */
    const struct svg_cell *legend;                      /* (legend_count), may be NULL */
    size_t legend_count;
    const char *const *notes; /* (note_count) lines below all, may be NULL */
    size_t note_count;
    unsigned cell_width, cell_height; /* pixels; 0: 44 and 18 */
    bool page;                        /* a piece of an HTML page, whose style has the colours; without title and notes,
                                       * which are the page's to write */
};

/* The whole document, (*size) bytes and a zero byte; freed by the caller. NULL: no memory. */
char *svg_grid(const struct svg_grid *g, size_t *size);

/* A fragment in the usual look: its tile as a grid (B with k downwards), each cell "T<lane> r<register>"; the elements
 * of a register that lie side by side are one cell, else ".<element>" follows. */
char *svg_lane_map(const struct fragment *f, size_t *size);
/* The same for an HTML page, with what was wrong marked; wrong: of f, or NULL. */
char *svg_page_lane_map(const struct fragment *f, const struct lane_map *wrong, size_t *size);

/* A layout: shared memory in lines of 128 bytes, 16 bytes (four banks) a cell, each with the row and byte of the matrix
 * that come first there (+n: as many more pieces of other rows or of padding), coloured by row, and before them the
 * lanes of warp 0 whose addresses of the first tile lead there (T0+7: lane 0 and seven more). At most SVG_LINES lines
 * are drawn. NULL, and why in e: no memory, or an expression has no value. */
enum { SVG_LINES = 64 };
char *svg_layout(const struct layout *l, size_t *size, struct error *e);

/* One word that a lane touches, and in which wavefront of the access. */
struct svg_touch {
    unsigned lane, bank, wavefront;
};
/* Wavefronts downwards, the 32 banks across, in each cell the lanes that touch it. */
char *svg_bank_map(const char *title, const struct svg_touch *touches, size_t count, size_t *size);
char *svg_page_bank_map(const char *title, const struct svg_touch *touches, size_t count, size_t *size);

#endif
