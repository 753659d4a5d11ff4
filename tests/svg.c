/* Pictures are well-formed, complete, and the same every time. */
#include "../reports/svg.h"
#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t occurrences(const char *text, const char *what) {
    size_t n = 0;
    for (const char *s = text; (s = strstr(s, what)) != NULL; s += strlen(what))
        ++n;
    return n;
}

/* Tags nest, text holds no markup, attributes are quoted: enough of XML for what we write. */
static void expect_well_formed(const char *name, const char *text, size_t size) {
    const char *open[16];
    size_t lengths[16], depth = 0;
    cr_assert_eq(strlen(text), size, "%s: a zero byte inside", name);
    cr_expect(strncmp(text, "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 40) == 0, "%s: %.60s", name, text);
    for (const char *s = text; *s;) {
        if (*s == '&')
            cr_assert(!strncmp(s, "&lt;", 4) || !strncmp(s, "&gt;", 4) || !strncmp(s, "&amp;", 5) ||
                          !strncmp(s, "&quot;", 6),
                      "%s: %.20s", name, s);
        if (*s != '<') {
            cr_assert(*s == '\n' || ((unsigned char)*s >= 0x20 && *s != '>'), "%s: %.20s", name, s);
            ++s;
            continue;
        }
        const char *end = strchr(s, '>');
        cr_assert(end, "%s: a tag without an end", name);
        const bool close = s[1] == '/', empty = end[-1] == '/';
        const size_t n = strcspn(s + 1 + close, " />");
        if (close) {
            cr_assert(depth > 0 && lengths[depth - 1] == n && !strncmp(open[depth - 1], s + 2, n), "%s: %.20s", name,
                      s);
            --depth;
        } else if (!empty) {
            cr_assert(depth < 16, "%s: too deep", name);
            open[depth] = s + 1;
            lengths[depth++] = n;
        }
        size_t quotes = 0;
        for (const char *q = s; q < end; ++q)
            quotes += *q == '"';
        cr_assert(quotes % 2 == 0, "%s: %.40s", name, s);
        s = end + 1;
    }
    cr_expect_eq(depth, 0, "%s: %zu tags are open", name, depth);
}

Test(svg, every_lane_map) {
    size_t count;
    struct fragment *all = fragment_list(&count);
    for (size_t i = 0; i < count; ++i) {
        const struct fragment *f = &all[i];
        if (f->lanes == 128 && f->columns > 64)
            continue;
        size_t size, again_size;
        char *text = svg_lane_map(f, &size), *again = svg_lane_map(f, &again_size);
        cr_assert(text && again && size == again_size && !memcmp(text, again, size), "%s: not the same twice", f->name);
        expect_well_formed(f->name, text, size);
        /* each (lane, register) is there; cells and the background are all the rectangles */
        const size_t run = strstr(f->name, ".trans") ? 1 : 32 / f->bits, cells = (size_t)f->rows * f->columns / run;
        cr_expect_eq(occurrences(text, "<rect "), cells + 1, "%s: %zu cells", f->name, occurrences(text, "<rect "));
        char *last = must_format(">T%u r%u%s<", f->lanes - 1, f->registers - 1, run == 1 && f->bits < 32 ? ".1" : "");
        cr_expect_eq(occurrences(text, last), 1, "%s: %s", f->name, last);
        free(last);
        free(text);
        free(again);
    }
    free(all);
}

static struct layout *read_layout(const char *path) {
    struct error e = {""};
    struct layout *l = layout_read(path, &e);
    cr_assert(l, "%s", e.text);
    return l;
}

static char *draw_layout(const struct layout *l, size_t *size) {
    struct error e = {""};
    char *text = svg_layout(l, size, &e);
    cr_assert(text, "%s", e.text);
    return text;
}

/* Takes the text that is drawn today. */
static void expect_kept(const char *path, const char *arguments, char *text, size_t size) {
    char *kept = must_calloc(size + 2, 1);
    FILE *file = fopen(path, "rb");
    cr_assert(file, "%s is not there", path);
    const size_t n = fread(kept, 1, size + 1, file);
    fclose(file);
    cr_expect(n == size && memcmp(kept, text, size) == 0, "%s is out of date: warpproof prove fragments %s --svg %s",
              path, arguments, path);
    free(kept);
    free(text);
}

Test(svg, pictures_of_the_documents) {
    struct fragment f;
    size_t size;
    cr_assert(fragment_named("mma.m16n8k32.s8 A", &f), "no operand");
    char *text = svg_lane_map(&f, &size);
    expect_kept("docs/images/mma.m16n8k32.s8-A.svg", "mma.m16n8k32.s8/A/bijection", text, size);
    struct layout *l = read_layout("fixtures/layouts/slots_48.yaml");
    text = draw_layout(l, &size);
    expect_kept("docs/images/layout-slots_48.svg", "--layout fixtures/layouts/slots_48.yaml", text, size);
    layout_free(l);
}

Test(svg, layouts) {
    struct layout *l = read_layout("fixtures/layouts/slots_48.yaml");
    size_t size;
    char *text = draw_layout(l, &size);
    expect_well_formed("slots_48", text, size);
    cr_expect_eq(occurrences(text, "<rect "), 1 + 3072 / 16, "a cell for 16 bytes");
    /* row 1 begins in bank 12, at byte 48: line 0, fourth cell */
    cr_expect(strstr(text, "<rect x=\"368\" y=\"62\" width=\"104\" height=\"18\" fill=\"#cfe8fc\"/>\n"
                           "<text x=\"420\" y=\"74\">T1 r1 b0</text>\n"),
              "%s", text);
    cr_expect(strstr(text, ">T31 r15 b16<") && strstr(text, ">r16 b0<") && !strstr(text, " r16 b0<"),
              "lanes of the first tile alone: %s", text);
    free(text);
    /* the plane begins a bank group later; the bytes do not lie where 16-byte chunks begin; no more than 64 lines */
    l->plane_offset = 1040;
    l->plane_bytes = 65536;
    free(l->name);
    l->name = must_strdup("<\x01\xff>");
    text = draw_layout(l, &size);
    expect_well_formed("moved", text, size);
    cr_expect(strstr(text, ">&lt;\\x01\\xff&gt;: row r") && strstr(text, "the first 8192 bytes") &&
                  strstr(text, "<text x=\"212\" y=\"74\">T0 r0 b0</text>") && strstr(text, ">1024<"),
              "%s", text);
    cr_expect_eq(occurrences(text, "<rect "), 1 + 8 * SVG_LINES, "64 lines");
    free(text);
    layout_free(l);
    l = read_layout("fixtures/layouts/scalar_loads.yaml");
    text = draw_layout(l, &size);
    cr_expect(strstr(text, ">T0+3 r0 b0<"), "four lanes load from one chunk: %s", text);
    cr_expect(strstr(text, "T0+7: those of lane 0 and 7 more lanes<"), "the legend: %s", text);
    free(text);
    layout_free(l);
    /* Rows of 32 bytes, 40 apart: bytes 32..47 are padding and the first half of row 1. */
    l = read_layout("fixtures/layouts/slots_48.yaml");
    l->stride = 40;
    text = draw_layout(l, &size);
    expect_well_formed("mixed", text, size);
    cr_expect(strstr(text, ">T1 r1 b0 +1<") && strstr(text, ">T17 r1 b8<") && strstr(text, ">r1 b24 +1<") &&
                  strstr(text, "+3: and 3 more pieces, of other rows or padding"),
              "cells of several rows: %s", text);
    free(text);
    layout_free(l);
    l = read_layout("fixtures/layouts/plants/past_the_plane.yaml");
    l->plane_bytes = 100;
    text = draw_layout(l, &size);
    expect_well_formed("past", text, size);
    free(text);
    layout_free(l);
}

Test(svg, where_cells_are) {
    struct fragment f;
    size_t size;
    cr_assert(fragment_named("mma.m16n8k32.s8 B", &f), "no operand");
    char *text = svg_lane_map(&f, &size);
    /* k 4..7 of n 1: below the first row of k, second column; lane 5 */
    cr_expect(strstr(text, "<rect x=\"102\" y=\"80\" width=\"46\" height=\"18\" fill=\"#cfe8fc\"/>\n"
                           "<text x=\"125\" y=\"92\">T5 r0</text>\n"),
              "%s", text);
    cr_expect(strstr(text, ">28..31<") && strstr(text, ">n<") && strstr(text, ">k<"), "headings");
    free(text);
}

Test(svg, grids) {
    static const struct svg_cell cells[] = {
        {"a<b>&\"c\"", 0, false}, {NULL, 0, false}, {"x\ny", 9, false}, {"z", 7, false}};
    static const char *const names[] = {"left", "right"};
    const struct svg_grid g = {.title = "1 < 2",
                               .row_axis = "r",
                               .column_axis = "c",
                               .rows = 2,
                               .columns = 2,
                               .cells = cells,
                               .column_names = names,
                               .legend = cells,
                               .legend_count = 2};
    size_t size;
    char *text = svg_grid(&g, &size);
    expect_well_formed("grid", text, size);
    cr_expect(strstr(text, "a&lt;b&gt;&amp;&quot;c&quot;") && strstr(text, ">x y<") && strstr(text, ">1 &lt; 2<"),
              "escapes: %s", text);
    cr_expect(strstr(text, ">right<") && occurrences(text, "<rect ") == 1 + 4 + 2, "cells and legend: %s", text);
    free(text);
}

Test(svg, bank_maps) {
    struct svg_touch touches[33];
    size_t size;
    for (unsigned i = 0; i < 32; ++i)
        touches[i] = (struct svg_touch){i, i * 2 % 32, i / 16};
    touches[32] = (struct svg_touch){31, 2, 0};
    char *text = svg_bank_map("stride 2", touches, 33, &size);
    expect_well_formed("banks", text, size);
    cr_expect_eq(occurrences(text, "<rect "), 1 + 64, "two wavefronts of 32 banks");
    cr_expect(strstr(text, ">T1+1<") && strstr(text, ">T17<"), "lanes: %s", text);
    free(text);
    touches[1] = touches[2] = touches[0];
    text = svg_bank_map("one word", touches, 3, &size);
    cr_expect(strstr(text, ">T0+2<"), "three in one: %s", text);
    free(text);
    text = svg_bank_map("nothing", NULL, 0, &size);
    expect_well_formed("nothing", text, size);
    free(text);
}
