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

enum { MAPS_OF_A_CASE = 3 };

static void begin(FILE *out, const char *caption) {
    fputs("<figure tabindex=\"0\">\n<figcaption>", out);
    markup_text(out, caption);
    fputs("</figcaption>\n", out);
}

static void put_svg(FILE *out, const char *caption, char *text) {
    static const char space[] = " xmlns=\"http://www.w3.org/2000/svg\""; /* within HTML it goes without saying */
    if (text == NULL) {
        return;
    }
    const char *rest = strstr(text, space);
    begin(out, caption);
    if (rest != NULL) {
        fprintf(out, "%.*s role=\"img\"%s", (int)(rest - text), text, rest + strlen(space));
    }
    fputs("</figure>\n", out);
    free(text);
}

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
            put_svg(out, caption, svg_lane_map(&f, &size));
        }
        free(caption);
    }
}

/* ---- banks ---- */

/* The access of a finding as an access that banks are known of; 0: it is none. */
static bool bank_op_of(const struct finding *f, struct bank_op *op) {
    char words[16][16], name[48];
    const size_t n = words_of(f->where.instruction, words, 16);
    if (n == 0 || f->shared.lanes == 0) {
        return false;
    }
    const bool load = strcmp(words[0], "ld") == 0, store = strcmp(words[0], "st") == 0;
    if (load || store) {
        snprintf(name, sizeof name, "%s%u", words[0], 8 * f->shared.bytes);
    } else {
        char names[4][48];
        const bool matrices = strcmp(words[0], "mma") != 0 && html_fragments_of(f->where.instruction, names) == 1;
        snprintf(name, sizeof name, "%s", matrices ? names[0] : "");
    }
    bool good = bank_op_named(name, op);
    for (size_t lane = 0; good && lane < 32; ++lane) {
        good = !(f->shared.lanes >> lane & 1) || f->shared.at[lane] % op->bytes == 0;
    }
    return good;
}

static void put_banks(FILE *out, const struct finding *f) {
    struct bank_op op;
    if (!bank_op_of(f, &op)) {
        return;
    }
    const uint32_t active = f->shared.lanes & bank_op_lanes(&op);
    const struct bank_plan p = bank_plan(&op, f->shared.at, active);
    char *caption = must_format("banks at %s, block (%u,%u,%u) warp %u: wavefronts %u, conflicts %u",
                                f->where.instruction, f->where.block[0], f->where.block[1], f->where.block[2],
                                f->where.warp, p.count.wavefronts, p.count.conflicts);
    size_t size;
    put_svg(out, caption, banks_access_svg(op.name, &op, f->shared.at, active, &size));
    free(caption);
}

/* ---- a case ---- */

static void put_wrong(FILE *out, const struct finding *f) {
    const struct wrong_map *m = f->wrong;
    const char *what = f->verdict == VERDICT_UNWRITTEN ? "not written" : "wrong";
    char *part =
        m->step[0] * m->step[1] > 1
            ? must_format("; a square is %zu by %zu cells, its colour says how many of them", m->step[0], m->step[1])
            : must_strdup("");
    char *caption = must_format("%s: %zu of %zu cells are %s%s%s", f->where.buffer != NULL ? f->where.buffer : "",
                                m->wrong, m->cells, what, m->axis[1] == NULL ? ", in lines of cells" : "", part);
    begin(out, caption);
    heat_map_put(out, m, what);
    fputs("</figure>\n", out);
    free(caption);
    free(part);
}

void html_pictures(FILE *out, const struct outcome *o) {
    const char *shown[MAPS_OF_A_CASE] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < o->findings.count; ++i) {
        if (o->findings.items[i].wrong != NULL) {
            put_wrong(out, &o->findings.items[i]);
        }
    }
    for (size_t i = 0; i < o->findings.count && count < MAPS_OF_A_CASE; ++i) {
        const char *instruction = o->findings.items[i].where.instruction;
        bool again = instruction == NULL;
        for (size_t k = 0; k < count; ++k) {
            again |= instruction != NULL && strcmp(shown[k], instruction) == 0;
        }
        if (!again) {
            put_lanes(out, instruction);
            put_banks(out, &o->findings.items[i]);
            shown[count++] = instruction;
        }
    }
}
