/* Words for what the fields of a matrix product were seen to consume: one line a rule, with where it holds. */
#include "../ref/checked.h"
#include "index_rule.h"
#include "tomography_parts.h"
#include "tomography_suspects.h"
#include <stdlib.h>
#include <string.h>

const struct field_words field_words[FIELDS] = {
    [FIELD_WEIGHT_CODE] = {"weight codes", "row", "j", "k", "k"},
    [FIELD_WEIGHT_D] = {"weight scales", "row", "j", "block", "b"},
    [FIELD_WEIGHT_SCALE] = {"weight scales", "row", "j", "sub-block", "s"},
    [FIELD_WEIGHT_DMIN] = {"weight minima", "row", "j", "block", "b"},
    [FIELD_WEIGHT_MIN] = {"weight minima", "row", "j", "sub-block", "s"},
    [FIELD_ACTIVATION_CODE] = {"activation codes", "token", "t", "k", "k"},
    [FIELD_ACTIVATION_D] = {"activation scales", "token", "t", "chunk", "c"},
    [FIELD_ACTIVATION_SUM] = {"activation sums", "token", "t", "chunk", "c"},
    [FIELD_START] = {"accumulators", "row", "j", "k", "k"},
};

enum { RULES_A_FIELD = 3 };

struct writer {
    struct prober *p;
    size_t nt, od, id;
    enum probe_field field;
    const struct field_words *w;
    struct observations *o;
    bool *taken;       /* (o->count) told already, or right */
    const char *total; /* what is told is of all factors of a term together: "products"; or NULL */
};

/* ---- where ---- */

/* "rows 16..69, tokens 0..7": where the chosen are, of all that were looked at; and at how many cells. */
struct region {
    char *rows, *tokens, *ks; /* NULL: all */
    size_t cells, box;        /* result cells that show it, and those of that region that were looked at */
    size_t shown;             /* observations */
};

static bool in_region(const unsigned char *state, size_t i) {
    return state[i] == AXIS_WRONG;
}

static struct region region_of(const struct writer *x, const bool *chosen) {
    struct region p = {0};
    unsigned char *t = must_calloc(x->nt + 1, 1), *j = must_calloc(x->od + 1, 1), *k = must_calloc(x->id + 1, 1);
    unsigned char *cell = must_calloc(x->nt * x->od, 1);
    for (size_t i = 0; i < x->o->count; ++i) {
        const struct seen *s = &x->o->seen[i];
        const unsigned char state = chosen[i] ? AXIS_WRONG : AXIS_RIGHT;
        t[s->t] = t[s->t] < state ? state : t[s->t];
        j[s->j] = j[s->j] < state ? state : j[s->j];
        k[s->k] = k[s->k] < state ? state : k[s->k];
        p.shown += chosen[i];
        if (chosen[i] && !cell[s->t * x->od + s->j]) {
            cell[s->t * x->od + s->j] = 1;
            ++p.cells;
        }
    }
    for (size_t i = 0; i < x->o->count; ++i) {
        const struct seen *s = &x->o->seen[i];
        p.box += in_region(t, s->t) && in_region(j, s->j) && in_region(k, s->k);
    }
    p.tokens = axis_words(t, x->nt, "token");
    p.rows = axis_words(j, x->od, "row");
    p.ks = axis_words(k, x->id, "k");
    if (p.ks != NULL && strncmp(p.ks, "ks ", 3) == 0) { /* k has no plural */
        memmove(p.ks + 1, p.ks + 2, strlen(p.ks + 2) + 1);
    }
    free(t);
    free(j);
    free(k);
    free(cell);
    return p;
}

static void region_free(struct region *p) {
    free(p->rows);
    free(p->tokens);
    free(p->ks);
}

static char *region_text(const struct writer *x, const struct region *p) {
    const bool rows_first = strcmp(x->w->line, "row") == 0;
    const char *parts[3] = {rows_first ? p->rows : p->tokens, rows_first ? p->tokens : p->rows, p->ks};
    char *text = NULL;
    for (int i = 0; i < 3; ++i) {
        if (parts[i] != NULL) {
            char *longer = text == NULL ? must_strdup(parts[i]) : must_format("%s, %s", text, parts[i]);
            free(text);
            text = longer;
        }
    }
    return text != NULL ? text : must_format("every %s", x->w->line);
}

/* ---- lines ---- */

static void add(struct writer *x, const bool *chosen, const char *verb, char *what, const char *suspect) {
    const char *operand = x->total != NULL ? x->total : x->w->operand;
    struct region p = region_of(x, chosen);
    char *where = region_text(x, &p);
    char *some = p.shown == p.box ? must_strdup("") : must_format(", %zu of %zu looked at there", p.shown, p.box);
    probe_line(x->p->out, must_strdup(operand), must_format("%s %s %s", where, verb, what), suspect, p.cells,
               must_format("%zu of %zu looked at, in %zu launches%s", p.shown, x->o->count, x->o->launches, some),
               true);
    region_free(&p);
    free(where);
    free(some);
    free(what);
    for (size_t i = 0; i < x->o->count; ++i) {
        x->taken[i] |= chosen[i];
    }
}

/* How often each index was consumed for each; the right ones too. */
struct pairs {
    struct index_pair *items; /* (count) */
    size_t count;
};

static int by_indices(const void *a, const void *b) {
    const struct index_pair *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : x->to < y->to ? -1 : x->to > y->to;
}

static struct pairs pairs_of(const struct writer *x, bool line) {
    struct pairs p = {.items = must_calloc(x->o->count + 1, sizeof *p.items)};
    size_t n = 0;
    for (size_t i = 0; i < x->o->count; ++i) {
        const struct seen *s = &x->o->seen[i];
        if (s->kind == SEEN_RIGHT || (s->kind == SEEN_ONE && !x->taken[i])) {
            const bool right = s->kind == SEEN_RIGHT;
            const size_t from = line ? s->want_line : s->want_place;
            p.items[n++] = (struct index_pair){from, right ? from : line ? s->got_line : s->got_place, 1};
        }
    }
    qsort(p.items, n, sizeof *p.items, by_indices);
    for (size_t i = 0; i < n; ++i) {
        if (p.count > 0 && by_indices(&p.items[p.count - 1], &p.items[i]) == 0) {
            ++p.items[p.count - 1].count;
        } else {
            p.items[p.count++] = p.items[i];
        }
    }
    return p;
}

static size_t wrong_pairs(const struct pairs *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->count; ++i) {
        n += p->items[i].from != p->items[i].to ? p->items[i].count : 0;
    }
    return n;
}

/* A bit of the line is that of the other axis: rows and tokens of a fragment mixed up. */
struct mixed {
    unsigned bit, of;    /* line with bit `bit` taken from bit `of` of the other's index */
    size_t wrong, right; /* observations that follow it */
};

static size_t mixed_apply(const struct writer *x, const struct mixed *r, const struct seen *s) {
    const size_t other = strcmp(x->w->line, "row") == 0 ? s->t : s->j, bit = (size_t)1 << r->bit;
    return (s->want_line & ~bit) | (other >> r->of & 1) << r->bit;
}

static struct mixed find_mixed(const struct writer *x) {
    enum { BITS = 8 };
    struct mixed best = {0};
    for (unsigned i = 0; i < BITS * BITS; ++i) {
        struct mixed r = {.bit = i / BITS, .of = i % BITS};
        for (size_t k = 0; k < x->o->count; ++k) {
            const struct seen *s = &x->o->seen[k];
            const bool one = s->kind == SEEN_ONE && !x->taken[k];
            const size_t got = s->kind == SEEN_RIGHT ? s->want_line : s->got_line;
            if ((one || s->kind == SEEN_RIGHT) && got == mixed_apply(x, &r, s)) {
                r.wrong += got != s->want_line;
                r.right += got == s->want_line;
            }
        }
        best = r.wrong > best.wrong || (r.wrong == best.wrong && r.right > best.right) ? r : best;
    }
    return best;
}

static void tell_mixed(struct writer *x, const struct mixed *r, bool *chosen) {
    const bool rows = strcmp(x->w->line, "row") == 0;
    for (size_t i = 0; i < x->o->count; ++i) {
        const struct seen *s = &x->o->seen[i];
        chosen[i] = s->kind == SEEN_ONE && !x->taken[i] && s->want_line != s->got_line &&
                    mixed_apply(x, r, s) == s->got_line;
    }
    add(x, chosen, "consumed",
        must_format("%s %s with its bit of %u taken from the %s's bit of %u", x->w->line, x->w->letter, 1u << r->bit,
                    rows ? "token" : "row", 1u << r->of),
        suspect_of_mixed(x->field));
}

/* One rule of the lines (rows, tokens) or the places (k, sub-blocks). False: there is no more. */
static bool tell_rule(struct writer *x, bool line, bool *chosen) {
    struct pairs p = pairs_of(x, line);
    struct index_rule r;
    size_t covered = 0, right = 0;
    const size_t wrong = wrong_pairs(&p);
    const bool found = wrong > 0 && index_rule_find(p.items, p.count, &r, &covered, &right);
    const struct mixed m = line && wrong > 0 && right == 0 ? find_mixed(x) : (struct mixed){0};
    free(p.items);
    if (m.wrong > 0 && 8 * m.wrong >= wrong && m.wrong + m.right > covered + right && 4 * m.wrong >= 3 * covered) {
        tell_mixed(x, &m, chosen);
        return true;
    }
    if (!found || 8 * covered < wrong) {
        return false;
    }
    for (size_t i = 0; i < x->o->count; ++i) {
        const struct seen *s = &x->o->seen[i];
        const size_t want = line ? s->want_line : s->want_place, got = line ? s->got_line : s->got_place;
        chosen[i] = s->kind == SEEN_ONE && !x->taken[i] && want != got &&
                    index_rule_apply(&r, want) == (long long)got;
    }
    const char *letter = line ? x->w->letter : x->w->place_letter, *name = line ? x->w->line : x->w->place;
    char *rule = index_rule_text(&r, letter);
    const bool twice = strcmp(name, letter) == 0;
    add(x, chosen, "consumed", must_format("%s%s%s (want %s)", twice ? "" : name, twice ? "" : " ", rule, letter),
        suspect_of_rule(x->field, line, &r));
    free(rule);
    return true;
}

/* Those that both line and place of are wrong are told with the line: the place of another line says nothing more,
 * unless it follows a rule of its own. */
static void tell_ones(struct writer *x, bool *chosen) {
    for (int line = 1; line >= 0; --line) {
        bool *before = must_calloc(x->o->count + 1, sizeof *before);
        memcpy(before, x->taken, x->o->count * sizeof *before);
        for (int n = 0; n < RULES_A_FIELD && tell_rule(x, line != 0, chosen); ++n) {
        }
        for (size_t i = 0; line && i < x->o->count; ++i) { /* a wrong place is a line of its own */
            const struct seen *s = &x->o->seen[i];
            if (x->taken[i] && !before[i] && s->got_place != s->want_place) {
                x->taken[i] = false;
            }
        }
        free(before);
    }
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < x->o->count; ++i) {
        chosen[i] = x->o->seen[i].kind == SEEN_ONE && !x->taken[i];
        first = chosen[i] && first == SIZE_MAX ? i : first;
    }
    if (first != SIZE_MAX) {
        const struct seen *s = &x->o->seen[first];
        add(x, chosen, "consumed",
            must_format("others without a rule, such as %s %u, %s %u for %s %u, %s %u", x->w->line, s->got_line,
                        x->w->place, s->got_place, x->w->line, s->want_line, x->w->place, s->want_place),
            NULL);
    }
}

/* "56", "2 to 57" */
static char *range_text(float least, float most) {
    return least == most ? must_format("%g", (double)least) : must_format("%g to %g", (double)least, (double)most);
}

static void tell_kind(struct writer *x, enum seen_kind kind, bool *chosen) {
    float least = 0, most = 0;
    size_t n = 0;
    for (size_t i = 0; i < x->o->count; ++i) {
        const struct seen *s = &x->o->seen[i];
        chosen[i] = s->kind == kind;
        if (chosen[i]) {
            least = n == 0 || s->times < least ? s->times : least;
            most = n == 0 || s->times > most ? s->times : most;
            ++n;
        }
    }
    if (n == 0) {
        return;
    }
    const char *suspect = suspect_of_kind(x->field, kind, least, most);
    char *range = range_text(least, most);
    const bool start = x->field == FIELD_START;
    switch (kind) {
    case SEEN_NOTHING:
        add(x, chosen, "consumed", must_strdup("nothing"), suspect);
        break;
    case SEEN_TIMES:
        add(x, chosen, "consumed", must_format("%s items in place of one", range), suspect);
        break;
    case SEEN_ADDED:
        add(x, chosen, start ? "held" : "consumed",
            must_format(start ? "%s where every product is 0" : "codes with %s added", range), suspect);
        break;
    case SEEN_MINIMUM:
        add(x, chosen, "consumed", must_strdup("the minimum in place of the scale"), suspect);
        break;
    case SEEN_SCALE:
        add(x, chosen, "consumed", must_strdup("the scale in place of the minimum"), suspect);
        break;
    case SEEN_UNWRITTEN:
        add(x, chosen, "of the result", must_strdup("was never written"), suspect);
        break;
    default:
        add(x, chosen, start ? "held" : "consumed",
            must_strdup(start ? "no number where every product is 0" : "what is no item, or a sum of several"),
            suspect);
    }
    free(range);
}

static void tell_field(struct prober *p, enum probe_field f, struct observations *o) {
    struct writer x = {.p = p,
                       .nt = p->view.nt,
                       .od = p->view.od > 0 ? p->view.od : 1,
                       .id = p->view.id,
                       .field = f,
                       .w = &field_words[f],
                       .o = o};
    x.taken = must_calloc(o->count + 1, sizeof *x.taken);
    bool *chosen = must_calloc(o->count + 1, sizeof *chosen);
    tell_ones(&x, chosen);
    for (int kind = SEEN_ONE + 1; kind < SEEN_KINDS; ++kind) {
        x.total = kind == SEEN_UNWRITTEN                                                 ? "result"
                  : kind != SEEN_NOTHING && kind != SEEN_TIMES                           ? NULL
                  : f == FIELD_WEIGHT_CODE || f == FIELD_ACTIVATION_CODE                 ? "products"
                  : f == FIELD_ACTIVATION_SUM || f == FIELD_WEIGHT_MIN                   ? "minimum terms"
                                                                                         : NULL;
        tell_kind(&x, (enum seen_kind)kind, chosen);
    }
    free(x.taken);
    free(chosen);
}

void probe_summarise(struct prober *p, struct observations obs[FIELDS], const size_t place_values[FIELDS]) {
    (void)place_values;
    tell_field(p, FIELD_START, &obs[FIELD_START]);
    for (int f = 0; f < FIELD_START; ++f) {
        tell_field(p, (enum probe_field)f, &obs[f]);
    }
}
