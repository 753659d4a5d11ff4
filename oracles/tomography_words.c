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
    [FIELD_INPUT_VALUE] = {"input values", "token", "t", "k", "k"},
    [FIELD_INPUT_SCALE] = {"input scales", "token", "t", "chunk", "c"},
    [FIELD_START] = {"accumulators", "row", "j", "k", "k"},
};

enum { RULES_A_FIELD = 3, FEW = 50, AXES = 3 /* rows, tokens, k */ };

/* A rule that was told, for what it says of lines and k past the end. */
struct told_rule {
    enum probe_field field;
    bool line, mixed;
    struct index_rule rule;
    unsigned bit, of; /* mixed */
};

struct rules {
    struct told_rule *items; /* (count) */
    size_t count;
};

struct writer {
    struct prober *p;
    size_t nt, od, id;
    enum probe_field field;
    const struct field_words *w;
    bool of_rows; /* the lines of the field are rows */
    struct observations *o;
    struct rules *rules;
    size_t place_values;
    bool scattered;    /* the rule that is told leaves half of the cells right */
    bool *taken;       /* (o->count) told already, or right */
    const char *total; /* what is told is of all factors of a term together: "products"; or NULL */
};

/* ---- where ---- */

/* "rows 16..69, tokens 0..7": where the chosen are, of all that were looked at; and at how many cells. */
struct region {
    char *words[AXES]; /* NULL: all */
    unsigned named;    /* axes that it takes to tell the chosen from the others, by bit */
    size_t cells, box; /* result cells that show it, and observations in the named region */
    size_t shown;      /* observations */
};

struct states {
    unsigned char *of[AXES];
};

/* How many that were looked at are in the region of these axes; those told already do not count. */
static size_t box_of(const struct writer *x, const bool *chosen, const struct states *st, unsigned axes) {
    size_t n = 0;
    for (size_t i = 0; i < x->o->count; ++i) {
        const uint32_t at[AXES] = {x->o->seen[i].j, x->o->seen[i].t, x->o->seen[i].k};
        bool in = chosen[i] || !x->taken[i];
        for (int a = 0; a < AXES; ++a) {
            in = in && ((axes & 1u << a) == 0 || st->of[a][at[a]] == AXIS_WRONG);
        }
        n += in;
    }
    return n;
}

/* The fewest axes that do it, those with words of a rule first; in a round the k of a token hangs on the token. */
static void name_axes(const struct writer *x, const bool *chosen, const struct states *st, bool scattered,
                      struct region *r) {
    static const unsigned sets[] = {0, 1, 2, 4, 3, 5, 6, 7};
    unsigned best = 7;
    size_t least = SIZE_MAX;
    for (int messy = 0; messy < 2; ++messy) {
        for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
            bool rule = true;
            for (int a = 0; a < AXES; ++a) {
                rule = rule && ((sets[i] & 1u << a) == 0 || axis_is_rule(r->words[a]));
            }
            if (!rule && messy == 0) {
                continue;
            }
            const size_t box = box_of(x, chosen, st, sets[i]);
            if (least == SIZE_MAX || 10 * box < 9 * least) { /* another axis must tell something */
                least = box;
                best = sets[i];
            }
        }
        if (scattered ? 2 * r->shown >= least : 4 * r->shown >= 3 * least) {
            break;
        }
    }
    r->named = best;
    r->box = least;
}

/* scattered: half of the cells of a region are right by themselves. */
static struct region region_of(const struct writer *x, const bool *chosen, bool scattered) {
    static const char *const names[AXES] = {"row", "token", "k"};
    const size_t sizes[AXES] = {x->od, x->nt, x->id};
    struct region r = {0};
    struct states st;
    unsigned char *cell = must_calloc(x->p->each_value ? x->nt * x->od * x->id : x->nt * x->od, 1);
    for (int a = 0; a < AXES; ++a) {
        st.of[a] = must_calloc(sizes[a] + 1, 1);
    }
    for (size_t i = 0; i < x->o->count; ++i) {
        const struct seen *s = &x->o->seen[i];
        const uint32_t at[AXES] = {s->j, s->t, s->k};
        const unsigned char state = chosen[i] ? AXIS_WRONG : x->taken[i] ? AXIS_UNSEEN : AXIS_RIGHT;
        for (int a = 0; a < AXES; ++a) {
            st.of[a][at[a]] = st.of[a][at[a]] < state ? state : st.of[a][at[a]];
        }
        r.shown += chosen[i];
        const size_t line = s->t * x->od + s->j, c = x->p->each_value ? line * x->id + s->k : line;
        r.cells += chosen[i] && !cell[c];
        cell[c] |= chosen[i];
    }
    for (int a = 0; a < AXES; ++a) {
        r.words[a] = axis_words(st.of[a], sizes[a], names[a]);
    }
    char *ks = r.words[AXES - 1];
    if (ks != NULL && strncmp(ks, "ks ", 3) == 0) { /* k has no plural */
        memmove(ks + 1, ks + 2, strlen(ks + 2) + 1);
    }
    name_axes(x, chosen, &st, scattered, &r);
    for (int a = 0; a < AXES; ++a) {
        free(st.of[a]);
    }
    free(cell);
    return r;
}

static void region_free(struct region *r) {
    for (int a = 0; a < AXES; ++a) {
        free(r->words[a]);
    }
}

static char *region_text(const struct writer *x, const struct region *r) {
    const bool rows_first = x->of_rows;
    const int order[AXES] = {!rows_first, rows_first, 2};
    char *text = NULL;
    for (int i = 0; i < AXES; ++i) {
        const char *words = (r->named & 1u << order[i]) != 0 ? r->words[order[i]] : NULL;
        if (words != NULL) {
            char *longer = text == NULL ? must_strdup(words) : must_format("%s, %s", text, words);
            free(text);
            text = longer;
        }
    }
    return text != NULL ? text : must_format("every %s", x->w->line);
}

/* ---- lines ---- */

static void add(struct writer *x, const bool *chosen, const char *verb, char *what, const char *suspect) {
    const char *operand = x->total != NULL ? x->total : x->w->operand;
    struct region p = region_of(x, chosen, x->scattered);
    char *where = region_text(x, &p);
    char *some = p.shown == p.box ? must_strdup("") : must_format(", %zu of %zu looked at there", p.shown, p.box);
    probe_line(x->p->out, must_strdup(operand), NULL, must_format("%s %s %s", where, verb, what), suspect, p.cells,
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

/* All wrong ones are of one index that took one other. */
static bool only_pair(const struct pairs *p, struct index_rule *r, size_t *covered) {
    size_t n = 0, at = 0;
    for (size_t i = 0; i < p->count; ++i) {
        n += p->items[i].from != p->items[i].to;
        at = p->items[i].from != p->items[i].to ? i : at;
    }
    if (n != 1) {
        return false;
    }
    *r = index_rule_of_pair(p->items[at].from, p->items[at].to);
    *covered = p->items[at].count;
    return true;
}

/* Items stored line after line and read place after place, g at a time, or the other way round: how many wrong ones
 * that explains. Fills chosen. */
static size_t transposed(const struct writer *x, size_t lines, size_t places, size_t g, bool inverse, bool *chosen) {
    const size_t groups = places / g;
    size_t n = 0;
    for (size_t i = 0; i < x->o->count; ++i) {
        const struct seen *s = &x->o->seen[i];
        const size_t group = s->want_place / g;
        const size_t at = inverse ? s->want_line * groups + group : group * lines + s->want_line;
        const size_t line = inverse ? at % lines : at / groups, to = inverse ? at / lines : at % groups;
        chosen[i] =
            s->kind == SEEN_ONE && !x->taken[i] && s->got_line == line && s->got_place == to * g + s->want_place % g;
        n += chosen[i];
    }
    return n;
}

static void tell_transposed(struct writer *x, bool *chosen) {
    size_t wrong = 0;
    for (size_t i = 0; i < x->o->count; ++i) {
        wrong += x->o->seen[i].kind == SEEN_ONE && !x->taken[i];
    }
    const size_t lines = field_of_rows(x->field) ? x->od : x->nt, places = x->id / x->place_values;
    for (size_t g = 1; wrong > 0 && g <= places / 2; g *= 2) {
        for (int inverse = 0; inverse < 2 && places % g == 0; ++inverse) {
            if (4 * transposed(x, lines, places, g, inverse != 0, chosen) >= 3 * wrong) {
                char *of = g == 1 ? must_format("%s", x->w->place) : must_format("groups of %zu %ss", g, x->w->place);
                add(x, chosen, "consumed",
                    must_format("%ss and %s%s transposed", x->w->line, of, g == 1 && of[0] != 'k' ? "s" : ""),
                    inverse ? "stored place after place, and read line after line"
                            : "stored line after line, and read place after place");
                free(of);
                return;
            }
        }
    }
}

static void keep_rule(struct writer *x, struct told_rule r) {
    r.field = x->field;
    x->rules->items = must_realloc(x->rules->items, x->rules->count + 1, sizeof r);
    x->rules->items[x->rules->count++] = r;
}

/* A bit of the line is that of the other axis: rows and tokens of a fragment mixed up. */
struct mixed {
    unsigned bit, of;    /* line with bit `bit` taken from bit `of` of the other's index */
    size_t wrong, right; /* observations that follow it */
};

static size_t mixed_apply(const struct writer *x, const struct mixed *r, const struct seen *s) {
    const size_t other = x->of_rows ? s->t : s->j, bit = (size_t)1 << r->bit;
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
    const bool rows = x->of_rows;
    for (size_t i = 0; i < x->o->count; ++i) {
        const struct seen *s = &x->o->seen[i];
        chosen[i] =
            s->kind == SEEN_ONE && !x->taken[i] && s->want_line != s->got_line && mixed_apply(x, r, s) == s->got_line;
    }
    x->scattered = true;
    add(x, chosen, "consumed",
        must_format("%s %s with its bit of %u taken from the %s's bit of %u", x->w->line, x->w->letter, 1u << r->bit,
                    rows ? "token" : "row", 1u << r->of),
        suspect_of_mixed(x->field));
    x->scattered = false;
    keep_rule(x, (struct told_rule){.line = true, .mixed = true, .bit = r->bit, .of = r->of});
}

/* One rule of the lines (rows, tokens) or the places (k, sub-blocks). False: there is no more. */
static bool tell_rule(struct writer *x, bool line, bool first, bool *chosen) {
    struct pairs p = pairs_of(x, line);
    struct index_rule r;
    size_t covered = 0, right = 0;
    const size_t wrong = wrong_pairs(&p);
    bool found = wrong > 0 && index_rule_find(p.items, p.count, &r, &covered, &right);
    const bool single = !found && only_pair(&p, &r, &covered);
    found |= single;
    const struct mixed m = line && wrong > 0 && right == 0 && !single ? find_mixed(x) : (struct mixed){0};
    free(p.items);
    if (m.wrong > 0 && 8 * m.wrong >= wrong && m.wrong + m.right > covered + right && 4 * m.wrong >= 3 * covered) {
        tell_mixed(x, &m, chosen);
        return true;
    }
    if (!found || 8 * covered < wrong || (!first && FEW * covered < x->o->count)) {
        return false;
    }
    for (size_t i = 0; i < x->o->count; ++i) {
        const struct seen *s = &x->o->seen[i];
        const size_t want = line ? s->want_line : s->want_place, got = line ? s->got_line : s->got_place;
        chosen[i] = s->kind == SEEN_ONE && !x->taken[i] && want != got && index_rule_apply(&r, want) == (long long)got;
    }
    const char *letter = line ? x->w->letter : x->w->place_letter, *name = line ? x->w->line : x->w->place;
    char *rule = index_rule_text(&r, letter);
    const char *before = strcmp(name, letter) == 0 ? "" : name, *space = before[0] != 0 ? " " : "";
    add(x, chosen, "consumed", must_format("%s%s%s (want %s)", before, space, rule, letter),
        suspect_of_rule(x->field, line, &r));
    free(rule);
    keep_rule(x, (struct told_rule){.line = line, .rule = r});
    return true;
}

/* Those that both line and place of are wrong are told with the line: the place of another line says nothing more,
 * unless it follows a rule of its own. */
static void tell_ones(struct writer *x, bool *chosen) {
    tell_transposed(x, chosen);
    /* a second rule of few may be luck */
    for (int line = 1; line >= 0; --line) {
        bool *before = must_calloc(x->o->count + 1, sizeof *before);
        memcpy(before, x->taken, x->o->count * sizeof *before);
        for (int n = 0; n < RULES_A_FIELD && tell_rule(x, line != 0, n == 0, chosen); ++n) {
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

/* A rule that was told leads this cell past the last row, token or k: there is nothing to be consumed. */
static bool past_the_end(const struct writer *x, const struct seen *s) {
    for (size_t i = 0; i < x->rules->count; ++i) {
        const struct told_rule *r = &x->rules->items[i];
        const bool weight = field_of_rows(r->field);
        const size_t own = weight ? s->j : s->t, other = weight ? s->t : s->j, bit = (size_t)1 << r->bit;
        const size_t end = !r->line ? x->id : weight ? x->od : x->nt;
        const bool code = field_is_code(r->field);
        const long long to = r->mixed  ? (long long)((own & ~bit) | (other >> r->of & 1) << r->bit)
                             : r->line ? index_rule_apply(&r->rule, own)
                             : code    ? index_rule_apply(&r->rule, s->k)
                                       : 0;
        if (to < 0 || (size_t)to >= end) {
            return true;
        }
    }
    return false;
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
        chosen[i] = s->kind == kind && (kind != SEEN_NOTHING || !past_the_end(x, s));
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
        add(x, chosen, "never", must_strdup("written"), suspect);
        break;
    default:
        add(x, chosen, start ? "held" : "consumed",
            must_strdup(start ? "no number where every product is 0" : "what is no item, or a sum of several"),
            suspect);
    }
    free(range);
}

static void tell_field(struct prober *p, enum probe_field f, struct observations *o, struct rules *rules, bool ones) {
    if (o->count == 0) {
        return;
    }
    struct writer x = {.p = p,
                       .nt = p->view.nt,
                       .od = p->view.od > 0 ? p->view.od : 1,
                       .id = p->view.id,
                       .field = f,
                       .w = &field_words[f],
                       .of_rows = strcmp(field_words[f].line, "row") == 0,
                       .o = o,
                       .rules = rules,
                       .place_values = o->place_values};
    x.taken = must_calloc(o->count + 1, sizeof *x.taken);
    bool *chosen = must_calloc(o->count + 1, sizeof *chosen);
    if (ones) {
        tell_ones(&x, chosen);
    }
    for (int kind = SEEN_ONE + 1; !ones && kind < SEEN_KINDS; ++kind) {
        x.total = kind == SEEN_UNWRITTEN                               ? "result"
                  : kind != SEEN_NOTHING && kind != SEEN_TIMES         ? NULL
                  : x.p->each_value                                    ? NULL
                  : field_is_code(f)                                   ? "products"
                  : f == FIELD_ACTIVATION_SUM || f == FIELD_WEIGHT_MIN ? "minimum terms"
                                                                       : NULL;
        tell_kind(&x, (enum seen_kind)kind, chosen);
    }
    free(x.taken);
    free(chosen);
}

void probe_summarise(struct prober *p, struct observations obs[FIELDS]) {
    struct rules rules = {0};
    tell_field(p, FIELD_START, &obs[FIELD_START], &rules, false);
    for (int ones = 1; ones >= 0; --ones) {
        for (int f = 0; f < FIELD_START; ++f) {
            tell_field(p, (enum probe_field)f, &obs[f], &rules, ones != 0);
        }
    }
    free(rules.items);
}
