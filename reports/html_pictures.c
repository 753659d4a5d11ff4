#include "html_pictures.h"
#include "../gpu/banks.h"
#include "../ref/checked.h"
#include "heat_map.h"
#include "markup.h"
#include "prove_banks.h"
#include "svg.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAPS_OF_A_CASE = 3, SITES = 24, SITE_MAPS = 3 };

static void begin(FILE *out, const char *caption) {
    fputs("<figure>\n<figcaption>", out);
    markup_text(out, caption);
    fputs("</figcaption>\n<div class=\"wide\" tabindex=\"0\">\n", out);
}

/* legend: text of our own, or NULL. */
static void end(FILE *out, const char *legend) {
    fputs("</div>\n", out);
    if (legend != NULL) {
        fprintf(out, "<p class=\"legend\">%s</p>\n", legend);
    }
    fputs("</figure>\n", out);
}

static void put_svg(FILE *out, const char *caption, char *text, const char *legend) {
    if (text != NULL) {
        begin(out, caption);
        fputs(text, out);
        end(out, legend);
    }
    free(text);
}

#define LANE_LEGEND "T5 r1: register 1 of lane 5; colours: lane / 4"

/* ---- lanes ---- */

/* The dot-separated words of an instruction's name, at most `room`. */
static size_t words_of(const char *instruction, char words[][16], size_t room) {
    size_t n = 0;
    const char *s = instruction + (instruction[0] == '@' ? strcspn(instruction, " \t") : 0);
    s += strspn(s, " \t");
    for (size_t length = strcspn(s, ". \t"); length > 0 && n < room; length = strcspn(s, ". \t")) {
        snprintf(words[n++], sizeof words[0], "%.*s", (int)length, s);
        s += length;
        if (*s++ != '.') {
            break;
        }
    }
    return n;
}

static bool is_shape(const char *word) {
    unsigned m, n, k;
    return sscanf(word, "m%un%uk%u", &m, &n, &k) == 3;
}

static size_t operands_of_mma(char words[][16], size_t count, char names[4][48]) {
    const char *shape = NULL, *types[4] = {NULL};
    size_t type_count = 0, n = 0;
    for (size_t i = 1; i < count; ++i) {
        const char *w = words[i];
        if (is_shape(w)) {
            shape = w;
        } else if (shape != NULL && strcmp(w, "row") != 0 && strcmp(w, "col") != 0 && strcmp(w, "satfinite") != 0 &&
                   strpbrk(w, "0123456789") != NULL && type_count < 4) {
            types[type_count++] = w;
        }
    }
    if (type_count < 4) {
        return 0;
    }
    const bool halves = strcmp(types[0], "f16") == 0;
    const char *const operands[] = {"A", "B", "C", "D"};
    for (size_t i = 0; i < 4; ++i) {
        struct fragment f;
        const char *type = types[i == 1 ? 2 : 1];
        snprintf(names[n], sizeof names[n], "mma.%s.%s%s/%s", shape, i >= 2 && halves ? "f16." : "", type, operands[i]);
        n += fragment_named(names[n], &f);
    }
    return n;
}

size_t html_fragments_of(const char *instruction, char names[4][48]) {
    char words[16][16];
    const size_t count = words_of(instruction, words, 16);
    if (count > 0 && strcmp(words[0], "mma") == 0) {
        return operands_of_mma(words, count, names);
    }
    if (count == 0 || (strcmp(words[0], "ldmatrix") != 0 && strcmp(words[0], "stmatrix") != 0)) {
        return 0;
    }
    const char *matrices = "", *trans = "";
    for (size_t i = 1; i < count; ++i) {
        matrices = words[i][0] == 'x' ? words[i] : matrices;
        trans = strcmp(words[i], "trans") == 0 ? ".trans" : trans;
    }
    struct fragment f;
    snprintf(names[0], sizeof names[0], "%s.%s%s", words[0], matrices, trans);
    return fragment_named(names[0], &f);
}

static void put_lanes(FILE *out, const char *instruction) {
    char names[4][48];
    const size_t n = html_fragments_of(instruction, names);
    for (size_t i = 0; i < n; ++i) {
        struct fragment f;
        size_t size;
        char *caption = must_format("lanes: what each holds at %s", instruction);
        if (fragment_named(names[i], &f)) {
            put_svg(out, caption, svg_page_lane_map(&f, NULL, &size), LANE_LEGEND);
        }
        free(caption);
    }
}

/* ---- banks ---- */

/* An access of shared memory as one that banks are known of; false: it is none. */
static bool bank_op_of(const char *instruction, uint32_t lanes, const uint32_t at[32], unsigned bytes,
                       struct bank_op *op) {
    char words[16][16], name[48];
    const size_t n = words_of(instruction, words, 16);
    if (n == 0 || lanes == 0) {
        return false;
    }
    const bool load = strcmp(words[0], "ld") == 0, store = strcmp(words[0], "st") == 0;
    if (load || store) {
        snprintf(name, sizeof name, "%s%u", words[0], 8 * bytes);
    } else {
        char names[4][48];
        const bool matrices = strcmp(words[0], "mma") != 0 && html_fragments_of(instruction, names) == 1;
        snprintf(name, sizeof name, "%s", matrices ? names[0] : "");
    }
    bool good = bank_op_named(name, op);
    for (size_t lane = 0; good && lane < 32; ++lane) {
        good = !(lanes >> lane & 1) || at[lane] % op->bytes == 0;
    }
    return good;
}

#define BANK_LEGEND                                                                                                    \
    "T4: lane 4 takes a word of this bank in this wavefront; T0+7: lane 0 and 7 more lanes take the same word; "       \
    "colours: the first lane / 4"

/* "launch 2, gpu/kernels/x.cu:143"; the caller frees it. */
static char *place_text(const struct where *p) {
    return p->launch > 0 ? must_format("launch %zu, %s", p->launch, where_text(p)) : must_strdup(where_text(p));
}

/* "st.shared.v4.u32"; the caller frees it. */
static char *name_text(const struct where *p) {
    const char *text = p->instruction != NULL ? p->instruction : "";
    text += text[0] == '@' ? strcspn(text, " \t") : 0;
    text += strspn(text, " \t");
    return must_format("%.*s", (int)strcspn(text, " \t"), text);
}

/* what: which access this is. */
static void put_access(FILE *out, const char *what, const struct where *at, uint32_t lanes,
                       const uint32_t addresses[32], unsigned bytes) {
    struct bank_op op;
    struct svg_touch touches[BANKS_TOUCHES];
    if (at->instruction == NULL || !bank_op_of(at->instruction, lanes, addresses, bytes, &op)) {
        return;
    }
    const uint32_t active = lanes & bank_op_lanes(&op);
    const struct bank_plan p = bank_plan(&op, addresses, active);
    char *place = place_text(at), *name = name_text(at);
    char *caption =
        must_format("banks, %s: %s at %s, block (%u,%u,%u) warp %u: wavefronts %u, conflicts %u", what, name, place,
                    at->block[0], at->block[1], at->block[2], at->warp, p.count.wavefronts, p.count.conflicts);
    size_t size;
    const size_t count = banks_touches(&op, addresses, active, touches);
    put_svg(out, caption, svg_page_bank_map(op.name, touches, count, &size), BANK_LEGEND);
    free(caption);
    free(place);
    free(name);
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* One place in the source, as far as a finding says. */
static bool same_place(const struct where *a, const struct where *b) {
    return a->line == b->line && (a->file != NULL || a->ptx_line == b->ptx_line) && same_text(a->file, b->file) &&
           a->inlined_line == b->inlined_line && same_text(a->inlined_file, b->inlined_file);
}

static void put_site(FILE *out, const struct bank_site *b) {
    char *place = place_text(&b->where);
    char *name = name_text(&b->where);
    fputs("<tr><th scope=\"row\">", out);
    markup_text(out, place);
    fputs("</th><td class=\"word\"><code>", out);
    markup_text(out, name);
    fprintf(out,
            "</code></td><td>%" PRIu64 "</td><td>%" PRIu64 "</td><td class=\"%s\">%" PRIu64 "</td><td>%u</td></tr>\n",
            b->count.requests, b->count.wavefronts, b->count.conflicts > 0 ? "some" : "dim", b->count.conflicts,
            b->worst.wavefronts);
    free(place);
    free(name);
}

static void put_sites(FILE *out, const struct bank_sites *s) {
    if (s->count == 0) {
        return;
    }
    fputs("<h3>Banks of shared memory</h3>\n<div class=\"wide\" tabindex=\"0\">\n<table>\n<thead><tr>"
          "<th scope=\"col\">place</th><th scope=\"col\" class=\"word\">instruction</th><th scope=\"col\">accesses</th>"
          "<th scope=\"col\">wavefronts</th><th scope=\"col\">conflicts</th><th scope=\"col\">worst access</th>"
          "</tr></thead>\n<tbody>\n",
          out);
    size_t maps = 0;
    for (size_t i = 0; i < s->count && i < SITES; ++i) {
        put_site(out, &s->items[i]);
    }
    fputs(
        "</tbody>\n</table>\n</div>\n<p class=\"legend\">of all warps; worst access: wavefronts of the one that takes "
        "most</p>\n",
        out);
    if (s->count > SITES) {
        fprintf(out, "<p class=\"dim\">and %zu more places, with fewer</p>\n", s->count - SITES);
    }
    for (size_t i = 0; i < s->count && maps < SITE_MAPS && s->items[i].worst.conflicts > 0; ++i, ++maps) {
        const struct bank_site *b = &s->items[i];
        put_access(out, "worst access", &b->where, b->worst.lanes, b->worst.at, b->worst.bytes);
    }
}

/* ---- cells ---- */

static void put_wrong(FILE *out, const struct finding *f) {
    const struct wrong_map *m = f->wrong;
    const bool parts = m->step[0] * m->step[1] > 1;
    const char *what = f->verdict == VERDICT_UNWRITTEN ? "not written" : "wrong";
    char *part =
        parts ? must_format("; a square is %zu by %zu cells, its colour says how many of them", m->step[0], m->step[1])
              : must_strdup("");
    char *caption = must_format("%s: %zu of %zu cell%s %s %s%s%s", f->where.buffer != NULL ? f->where.buffer : "",
                                m->wrong, m->cells, m->cells == 1 ? "" : "s", m->wrong == 1 ? "is" : "are", what,
                                m->axis[1] == NULL ? ", in lines of cells" : "", part);
    begin(out, caption);
    heat_map_put(out, m, what);
    end(out, NULL);
    free(caption);
    free(part);
}

void html_wrong_cells(FILE *out, const struct outcome *o) {
    size_t count = 0;
    for (size_t i = 0; i < o->findings.count && count < MAPS_OF_A_CASE; ++i) {
        if (o->findings.items[i].wrong != NULL) {
            put_wrong(out, &o->findings.items[i]);
            ++count;
        }
    }
}

/* ---- stages ---- */

static void put_wrong_lanes(FILE *out, const struct lane_map *m) {
    struct fragment f;
    size_t size, wrong = 0, registers = 0;
    if (!fragment_named(m->fragment, &f)) {
        return;
    }
    for (unsigned r = 0; r < f.registers && r < LANE_MAP_REGISTERS; ++r) {
        for (unsigned lane = 0; lane < 32; ++lane, ++registers) {
            wrong += m->wrong[r][lane] > 0;
        }
    }
    char *caption =
        must_format("lanes of %s: %zu of %zu registers of a warp were given something wrong, %" PRIu64 " times in all",
                    m->fragment, wrong, registers, m->all);
    put_svg(out, caption, svg_page_lane_map(&f, m, &size),
            "framed, with a filled corner: wrong in some mma; " LANE_LEGEND);
    free(caption);
}

void html_fault_pictures(FILE *out, const struct finding *f, const struct bank_sites *banks) {
    if (f->lanes != NULL) {
        put_wrong_lanes(out, f->lanes);
    }
    for (size_t i = 0; i < banks->count; ++i) {
        const struct bank_site *b = &banks->items[i];
        if (same_place(&b->where, &f->where)) {
            put_access(out, "worst access of this place", &b->where, b->worst.lanes, b->worst.at, b->worst.bytes);
            return;
        }
    }
}

void html_access_pictures(FILE *out, const struct outcome *o, const struct bank_sites *banks) {
    const char *shown[MAPS_OF_A_CASE] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < o->findings.count && count < MAPS_OF_A_CASE; ++i) {
        const struct finding *f = &o->findings.items[i];
        const char *instruction = f->where.instruction;
        bool again = instruction == NULL;
        for (size_t k = 0; k < count; ++k) {
            again |= instruction != NULL && strcmp(shown[k], instruction) == 0;
        }
        if (!again) {
            put_lanes(out, instruction);
            put_access(out, "as found", &f->where, f->shared.lanes, f->shared.at, f->shared.bytes);
            shown[count++] = instruction;
        }
    }
    if (banks != NULL) {
        put_sites(out, banks);
    }
}
