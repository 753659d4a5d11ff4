#include "svg.h"
#include "../ref/checked.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 56, TOP = 62, WIDTH = 44, HEIGHT = 18, LEGEND = 24, NOTE = 14 };

/* Light enough for black text, far enough apart for neighbours. */
static const char *const colours[SVG_COLOURS] = {"#fde0c5", "#cfe8fc", "#d9f2d0", "#f7d4e4",
                                                 "#fff3b8", "#ded9f5", "#cdeeea", "#e6e2d9"};

static void put_text(FILE *out, const char *s) {
    for (; *s; ++s)
        switch (*s) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc((unsigned char)*s < 0x20 ? ' ' : *s, out);
        }
}

static void label(FILE *out, unsigned x, unsigned y, const char *kind, const char *text) {
    fprintf(out, "<text x=\"%u\" y=\"%u\"%s>", x, y, kind);
    put_text(out, text);
    fputs("</text>\n", out);
}

/* The colours are the page's. */
static void page_cell(FILE *out, unsigned x, unsigned y, unsigned width, unsigned height, const struct svg_cell *c) {
    if (!c->label && !c->marked)
        return; /* draw() has drawn the ground */
    fprintf(out, "<rect class=\"c%u%s\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"/>\n", c->colour % SVG_COLOURS,
            c->marked ? " m" : "", x, y, width, height);
    if (c->marked)
        fprintf(out, "<path class=\"m\" d=\"M%u %uh8l-8 8z\"/>\n", x, y);
    if (c->label)
        label(out, x + width / 2, y + height / 2 + 3, c->marked ? " class=\"m\"" : "", c->label);
}

static void cell(FILE *out, unsigned x, unsigned y, unsigned width, unsigned height, const struct svg_cell *c) {
    fprintf(out, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"%s\"/>\n", x, y, width, height,
            c->label ? colours[c->colour % SVG_COLOURS] : "#ffffff");
    if (c->label)
        label(out, x + width / 2, y + height / 2 + 3, "", c->label);
}

static void heading(FILE *out, unsigned x, unsigned y, const char *const *names, unsigned i) {
    char number[16];
    snprintf(number, sizeof number, "%u", i);
    label(out, x, y, " class=\"h\"", names ? names[i] : number);
}

/* Axes, headings, and each cell as put_one draws it. w, h: of a cell. */
static void put_cells(FILE *out, const struct svg_grid *g, unsigned w, unsigned h,
                      void (*put_one)(FILE *, unsigned x, unsigned y, unsigned w, unsigned h,
                                      const struct svg_cell *)) {
    label(out, LEFT + g->columns * w / 2, TOP - 22, " class=\"h\"", g->column_axis);
    label(out, LEFT / 2 - 8, TOP - 8, " class=\"h\"", g->row_axis);
    for (unsigned c = 0; c < g->columns; ++c)
        heading(out, LEFT + c * w + w / 2, TOP - 8, g->column_names, c);
    for (unsigned r = 0; r < g->rows; ++r) {
        heading(out, LEFT / 2, TOP + r * h + h / 2 + 3, g->row_names, r);
        for (unsigned c = 0; c < g->columns; ++c)
            put_one(out, LEFT + c * w, TOP + r * h, w, h, &g->cells[(size_t)r * g->columns + c]);
    }
}

/* Ground and lines of a page's grid: two elements in place of one a cell. */
static void page_ground(FILE *out, const struct svg_grid *g, unsigned w, unsigned h) {
    fprintf(out, "<rect class=\"g\" x=\"%d\" y=\"%d\" width=\"%u\" height=\"%u\"/>\n<path class=\"l\" d=\"", LEFT, TOP,
            g->columns * w, g->rows * h);
    for (unsigned c = 1; c < g->columns; ++c)
        fprintf(out, "M%u %dv%u", LEFT + c * w, TOP, g->rows * h);
    for (unsigned r = 1; r < g->rows; ++r)
        fprintf(out, "M%d %uh%u", LEFT, TOP + r * h, g->columns * w);
    fputs("\"/>\n", out);
}

static void page_draw(FILE *out, const struct svg_grid *g) {
    enum { ABOVE = 26 }; /* where the title would be */
    const unsigned w = g->cell_width ? g->cell_width : WIDTH, h = g->cell_height ? g->cell_height : HEIGHT,
                   width = LEFT + g->columns * w + 12, height = TOP - ABOVE + g->rows * h + 4;
    fprintf(out, "<svg class=\"grid\" role=\"img\" width=\"%u\" height=\"%u\" viewBox=\"0 %d %u %u\" aria-label=\"",
            width, height, ABOVE, width, height);
    put_text(out, g->title);
    fputs("\">\n", out);
    page_ground(out, g, w, h);
    put_cells(out, g, w, h, page_cell);
    fputs("</svg>\n", out);
}

static void draw(FILE *out, const struct svg_grid *g) {
    const unsigned w = g->cell_width ? g->cell_width : WIDTH, h = g->cell_height ? g->cell_height : HEIGHT,
                   grid_width = g->columns * w, bottom = TOP + g->rows * h,
                   legend_width = (unsigned)g->legend_count * (w + 8);
    const unsigned title_width = 16 + 8 * (unsigned)strlen(g->title);
    unsigned width = LEFT + (grid_width > legend_width ? grid_width : legend_width) + 12;
    width = title_width > width ? title_width : width;
    for (size_t i = 0; i < g->note_count; ++i) {
        const unsigned note = 20 + 6 * (unsigned)strlen(g->notes[i]) + (unsigned)strlen(g->notes[i]) / 4;
        width = note > width ? note : width;
    }
    const unsigned legend = g->legend_count ? LEGEND : 0,
                   height = bottom + 12 + legend + NOTE * (unsigned)g->note_count;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n"
            "<style>text{font:10px monospace;text-anchor:middle}text.t{font-size:13px;text-anchor:start}"
            "text.h{fill:#666666}text.n{fill:#666666;text-anchor:start}rect{stroke:#888888;stroke-width:0.5}</style>\n"
            "<rect x=\"0\" y=\"0\" width=\"%u\" height=\"%u\" fill=\"#ffffff\"/>\n",
            width, height, width, height, width, height);
    label(out, 8, 20, " class=\"t\"", g->title);
    put_cells(out, g, w, h, cell);
    for (size_t i = 0; i < g->legend_count; ++i)
        cell(out, LEFT + (unsigned)i * (w + 8), bottom + 10, w, h, &g->legend[i]);
    for (size_t i = 0; i < g->note_count; ++i)
        label(out, 8, bottom + legend + NOTE * (unsigned)(i + 1) + 2, " class=\"n\"", g->notes[i]);
    fputs("</svg>\n", out);
}

char *svg_grid(const struct svg_grid *g, size_t *size) {
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out)
        return NULL;
    (g->page ? page_draw : draw)(out, g);
    const bool lost = ferror(out) != 0;
    if (fclose(out) != 0 || lost) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- lane maps ---- */

/* Elements of a register that make one cell: all of them, where they always lie side by side. */
static unsigned run_of(const struct fragment *f) {
    const unsigned elements = fragment_elements(f);
    for (unsigned lane = 0; lane < f->lanes; ++lane)
        for (unsigned r = 0; r < f->registers; ++r)
            for (unsigned i = 1; i < elements; ++i) {
                const struct fragment_cell a = f->at(f, lane, r, 0), b = f->at(f, lane, r, i);
                if (b.row != a.row || b.column != a.column + i)
                    return 1;
            }
    return elements;
}

static char **run_names(unsigned count, unsigned run) {
    char **names = must_calloc(count + 1, sizeof *names);
    for (unsigned i = 0; i < count; ++i)
        names[i] = run == 1 ? must_format("%u", i) : must_format("%u..%u", i * run, i * run + run - 1);
    return names;
}

static void free_names(char **names) {
    for (size_t i = 0; names[i]; ++i)
        free(names[i]);
    free(names);
}

static char *lane_map(const struct fragment *f, const struct lane_map *wrong, bool page, size_t *size) {
    const bool down = f->operand == FRAGMENT_B; /* k downwards */
    const unsigned run = run_of(f), across = f->columns / run, cells = f->rows * across,
                   elements = fragment_elements(f);
    struct svg_cell *grid = must_calloc(cells, sizeof *grid);
    for (unsigned lane = 0; lane < f->lanes; ++lane)
        for (unsigned r = 0; r < f->registers; ++r)
            for (unsigned i = 0; i < elements; i += run) {
                const struct fragment_cell c = f->at(f, lane, r, i);
                const unsigned at = down ? c.column / run * f->rows + c.row : c.row * across + c.column / run;
                free((char *)grid[at].label);
                grid[at] = (struct svg_cell){
                    run == elements ? must_format("T%u r%u", lane, r) : must_format("T%u r%u.%u", lane, r, i),
                    lane / 4 % SVG_COLOURS,
                    wrong != NULL && lane < 32 && r < LANE_MAP_REGISTERS && wrong->wrong[r][lane] > 0};
            }
    char **along = run_names(across, run), **rows = run_names(f->rows, 1);
    char *title = must_format("%s: %s T, register r of each element, %u bits", f->name,
                              f->lanes > 32 ? "thread" : "lane", f->bits);
    const char *const note = "colours: lane / 4";
    const struct svg_grid g = {.title = title,
                               .notes = &note,
                               .note_count = 1,
                               .row_axis = down ? f->column_name : f->row_name,
                               .column_axis = down ? f->row_name : f->column_name,
                               .rows = down ? across : f->rows,
                               .columns = down ? f->rows : across,
                               .cells = grid,
                               .row_names = (const char *const *)(down ? along : rows),
                               .column_names = (const char *const *)(down ? rows : along),
                               .cell_width = run == elements ? f->lanes > 32 ? 60 : 46 : 60,
                               .page = page};
    char *text = svg_grid(&g, size);
    for (unsigned i = 0; i < cells; ++i)
        free((char *)grid[i].label);
    free(grid);
    free_names(along);
    free_names(rows);
    free(title);
    return text;
}

char *svg_lane_map(const struct fragment *f, size_t *size) {
    return lane_map(f, NULL, false, size);
}

char *svg_page_lane_map(const struct fragment *f, const struct lane_map *wrong, size_t *size) {
    return lane_map(f, wrong, true, size);
}

/* ---- bank maps ---- */

static char *bank_map(const char *title, const struct svg_touch *touches, size_t count, bool page, size_t *size) {
    enum { BANKS = 32 };
    unsigned rows = 1;
    for (size_t i = 0; i < count; ++i)
        rows = touches[i].wavefront + 1 > rows ? touches[i].wavefront + 1 : rows;
    struct svg_cell *cells = must_calloc((size_t)rows * BANKS, sizeof *cells);
    unsigned *lanes = must_calloc((size_t)rows * BANKS, sizeof *lanes); /* how many share a cell */
    for (size_t i = 0; i < count; ++i) {
        const size_t at = (size_t)touches[i].wavefront * BANKS + touches[i].bank % BANKS;
        char *longer = lanes[at]++ == 0 ? must_format("T%u", touches[i].lane)
                       : lanes[at] == 2
                           ? must_format("%s+1", cells[at].label)
                           : must_format("%.*s+%u", (int)strcspn(cells[at].label, "+"), cells[at].label, lanes[at] - 1);
        free((char *)cells[at].label);
        cells[at].label = longer;
        cells[at].colour = lanes[at] == 1 ? touches[i].lane / 4 % SVG_COLOURS : cells[at].colour;
    }
    static const char *const notes[] = {
        "T4: lane 4 takes a word of this bank in this wavefront; T0+7: lane 0 and 7 more "
        "lanes take the same word",
        "colours: the first lane / 4"};
    const struct svg_grid g = {.title = title,
                               .notes = notes,
                               .note_count = 2,
                               .row_axis = "wave",
                               .column_axis = "bank",
                               .rows = rows,
                               .columns = BANKS,
                               .cells = cells,
                               .cell_width = page ? 30 : 38,
                               .page = page};
    char *text = svg_grid(&g, size);
    for (size_t i = 0; i < (size_t)rows * BANKS; ++i)
        free((char *)cells[i].label);
    free(cells);
    free(lanes);
    return text;
}

char *svg_bank_map(const char *title, const struct svg_touch *touches, size_t count, size_t *size) {
    return bank_map(title, touches, count, false, size);
}

char *svg_page_bank_map(const char *title, const struct svg_touch *touches, size_t count, size_t *size) {
    return bank_map(title, touches, count, true, size);
}
