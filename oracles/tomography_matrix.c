/* Matrix contracts. Each launch makes one k of every token (the activation's code there is 1, elsewhere 0), or of every
 * row, the only one that counts; all other factors are 1. What a cell then holds is one item of the field that is
 * probed, and items hold digits of their own (line, place). What a right cell holds is what the contract says of the
 * same bytes, so no assumption about packing or order enters: a cell with the contract's bits is right. */
#include "../ref/checked.h"
#include "tomography_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAUNCHES_A_FIELD = 8, MOST_ROUNDS = 6, PLACES_WANTED = 48, SCREENS = 2 };

struct matrix {
    struct prober *p;
    struct coded weight, activation;
    size_t nt, od, id, cells;
    size_t *hot; /* (max(nt, od)) the k of each token or row */
    float *got, *want; /* (cells) of a launch */
    struct observations obs[FIELDS];
    uint32_t *token_of[2], *row_of[2]; /* (cells) token whose codes (sums), row whose codes (minima) the cell was seen
                                        * to consume where the k was the same for all; UINT32_MAX: not told */
    bool spent;
    struct error *e;
};

static const enum coded_field coded_of[FIELDS] = {CODED_CODE, CODED_D,    CODED_SCALE, CODED_DMIN,
                                                  CODED_MIN,  CODED_CODE, CODED_D,     CODED_SUM};

static bool of_weight(enum probe_field f) {
    return f <= FIELD_WEIGHT_MIN;
}

static struct coded *operand_of(struct matrix *m, enum probe_field f) {
    return of_weight(f) ? &m->weight : &m->activation;
}

static bool is_minimum(enum probe_field f) {
    return f == FIELD_WEIGHT_DMIN || f == FIELD_WEIGHT_MIN || f == FIELD_ACTIVATION_SUM;
}

/* The k that counts is chosen by the rows, not by the tokens. */
static bool hot_rows(enum probe_field f) {
    return f == FIELD_ACTIVATION_CODE || f == FIELD_ACTIVATION_SUM;
}

/* ---- operands ---- */

static bool has_zero_code(const struct coded *c) {
    struct alphabet a = coded_alphabet(c, CODED_CODE);
    const bool zero = alphabet_index(&a, 0) != SIZE_MAX;
    free(a.values);
    return zero;
}

static void hot_tokens(struct matrix *m) {
    for (size_t t = 0; t < m->nt; ++t) {
        m->activation.code[t * m->id + m->hot[t]] = 1;
    }
}

/* Everything but the field. same: the k is one for all. */
static void base(struct matrix *m, enum probe_field f) {
    struct coded *w = &m->weight, *a = &m->activation;
    coded_neutral(w);
    coded_neutral(a);
    if (is_minimum(f)) {
        for (size_t i = 0; i < w->rows * w->depth / w->block; ++i) {
            w->d[i] = 0;
            w->dmin[i] = 1;
        }
    }
    if (!hot_rows(f)) {
        hot_tokens(m);
        for (size_t i = 0; f == FIELD_WEIGHT_DMIN && i < w->rows * w->depth / w->sub; ++i) {
            w->min[i] = 1;
        }
        return;
    }
    for (size_t j = 0; j < m->od; ++j) {
        if (f == FIELD_ACTIVATION_SUM && w->format->min_most > 1) {
            w->min[j * coded_places(w, CODED_MIN) + m->hot[j] / w->sub] = 1;
        } else if (f == FIELD_ACTIVATION_SUM) {
            for (size_t b = 0; b < w->depth / w->block; ++b) {
                w->dmin[j * (w->depth / w->block) + b] = b == m->hot[j] / w->block;
            }
        } else if (has_zero_code(w)) {
            for (size_t k = 0; k < m->id; ++k) {
                w->code[j * m->id + k] = k == m->hot[j];
            }
        }
    }
}

/* Every item of the field is the same, or its digit of base `base`, counted from the lowest. */
static void fill(struct matrix *m, enum probe_field f, const struct alphabet *a, size_t constant, size_t power) {
    struct coded *c = operand_of(m, f);
    const enum coded_field field = coded_of[f];
    const size_t places = coded_places(c, field);
    const bool mask = f == FIELD_ACTIVATION_CODE && !has_zero_code(&m->weight); /* codes of other k would count */
    for (size_t i = 0; i < c->rows * places; ++i) {
        const size_t digit = power > 0 ? i / power % a->count : constant;
        if (mask && i % places != m->hot[0]) {
            continue;
        }
        coded_set(c, field, i / places, i % places, a->values[digit]);
    }
}

static enum probe_end launch(struct matrix *m) {
    coded_pack(&m->weight);
    coded_pack(&m->activation);
    struct contract_operands op = m->p->view;
    op.weight = m->weight.bytes;
    op.activation = m->activation.bytes;
    return probe_operands(m->p, &op, (uint8_t *)m->got, (uint8_t *)m->want, m->cells * sizeof *m->got, m->e);
}

/* ---- one field at one choice of k ---- */

struct digits {
    size_t constant; /* index of the value 1 */
    size_t powers[MOST_LAUNCHES_A_FIELD], count;
};

static bool plan_digits(const struct alphabet *a, size_t items, struct digits *d) {
    *d = (struct digits){.constant = alphabet_index(a, 1)};
    if (a->count < 2 || d->constant == SIZE_MAX) {
        return false;
    }
    for (size_t power = 1; power < items || power == 1; power *= a->count) {
        if (d->count == MOST_LAUNCHES_A_FIELD) {
            return false;
        }
        d->powers[d->count++] = power;
    }
    return true;
}

struct reading { /* of one cell over the launches of a field */
    size_t got, want; /* item; SIZE_MAX: none that can be told */
    float total;      /* of the launch in which all items are 1 */
    bool same;        /* all bits are the contract's */
};

static void read_launch(const struct matrix *m, const struct alphabet *a, float factor, size_t power,
                        struct reading *r) {
    for (size_t i = 0; i < m->cells; ++i) {
        r[i].same = r[i].same && memcmp(&m->got[i], &m->want[i], sizeof(float)) == 0;
        if (power == 0) {
            r[i].total = m->got[i] / factor;
            continue;
        }
        const size_t got = alphabet_index(a, m->got[i] / factor), want = alphabet_index(a, m->want[i] / factor);
        r[i].got = got == SIZE_MAX || r[i].got == SIZE_MAX ? SIZE_MAX : r[i].got + got * power;
        r[i].want = want == SIZE_MAX || r[i].want == SIZE_MAX ? SIZE_MAX : r[i].want + want * power;
    }
}

static enum seen_kind kind_of(const struct reading *r, size_t items, bool right) {
    if (right) {
        return SEEN_RIGHT;
    }
    if (r->total == 1) {
        return r->got < items ? SEEN_ONE : SEEN_OTHER;
    }
    return r->total == 0                                                                    ? SEEN_NOTHING
           : r->total > 0 && r->total == floorf(r->total) && r->total <= 65536 /* f32 holds */ ? SEEN_TIMES
                                                                                           : SEEN_OTHER;
}

/* The k that cell i must have looked at, where another token's (row's) codes choose it. SIZE_MAX: not told. */
static size_t hot_of(const struct matrix *m, enum probe_field f, size_t i, bool same) {
    const size_t t = i / m->od, j = i % m->od;
    if (same) {
        return m->hot[0];
    }
    const uint32_t line = hot_rows(f) ? m->row_of[is_minimum(f)][i] : m->token_of[is_minimum(f)][i];
    (void)t, (void)j;
    return line == UINT32_MAX ? SIZE_MAX : m->hot[line];
}

static void note(struct matrix *m, enum probe_field f, const struct reading *r, bool same, size_t launches) {
    const struct coded *c = operand_of(m, f);
    const size_t places = coded_places(c, coded_of[f]), values = coded_place_values(c, coded_of[f]);
    struct observations *o = &m->obs[f];
    o->seen = must_realloc(o->seen, o->count + m->cells, sizeof *o->seen);
    o->launches += launches;
    for (size_t i = 0; i < m->cells; ++i) {
        const size_t own = same ? m->hot[0] : m->hot[hot_rows(f) ? i % m->od : i / m->od], k = hot_of(m, f, i, same);
        if (r[i].want >= c->rows * places || k == SIZE_MAX) {
            continue; /* not even the contract's result says what it consumed: another item of the same value */
        }
        size_t want = r[i].want;
        if (k != own) { /* the place is the other token's, the line is still this one's */
            want = want / places * places + k / values;
        }
        const enum seen_kind kind = kind_of(&r[i], c->rows * places, k == own ? r[i].same : r[i].got == want);
        o->seen[o->count++] = (struct seen){.t = (uint32_t)(i / m->od),
                                            .j = (uint32_t)(i % m->od),
                                            .k = (uint32_t)k,
                                            .want_line = (uint32_t)(want / places),
                                            .want_place = (uint32_t)(want % places),
                                            .got_line = (uint32_t)(r[i].got / places),
                                            .got_place = (uint32_t)(r[i].got % places),
                                            .kind = kind == SEEN_ONE && r[i].got == want ? SEEN_RIGHT : kind,
                                            .times = r[i].total};
    }
}

/* Which line each cell was seen to consume. */
static void keep_map(const struct matrix *m, enum probe_field f, const struct reading *r, uint32_t *map, bool first) {
    const size_t places = coded_places(operand_of((struct matrix *)m, f), coded_of[f]);
    const size_t items = operand_of((struct matrix *)m, f)->rows * places;
    for (size_t i = 0; i < m->cells; ++i) {
        const uint32_t line = r[i].total == 1 && r[i].got < items ? (uint32_t)(r[i].got / places) : UINT32_MAX;
        map[i] = first || map[i] == line ? line : UINT32_MAX;
    }
}

/* Probes a field, the k being those of m->hot. True also when there is nothing to probe; false: m->e. */
static bool probe_field(struct matrix *m, enum probe_field f, bool same, uint32_t *map, bool first) {
    struct coded *c = operand_of(m, f);
    struct alphabet a = coded_alphabet(c, coded_of[f]);
    const size_t items = c->rows * coded_places(c, coded_of[f]);
    const float factor = is_minimum(f) ? -1 : 1;
    struct digits d;
    enum probe_end end = PROBE_RAN;
    if (plan_digits(&a, items, &d) && m->p->budget > d.count) {
        struct reading *r = must_calloc(m->cells, sizeof *r);
        for (size_t i = 0; i < m->cells; ++i) {
            r[i].same = true;
        }
        for (size_t n = 0; end == PROBE_RAN && n <= d.count; ++n) {
            const size_t power = n > 0 ? d.powers[n - 1] : 0;
            base(m, f);
            fill(m, f, &a, d.constant, power);
            end = launch(m);
            if (end == PROBE_RAN) {
                read_launch(m, &a, factor, power, r);
            }
        }
        if (end == PROBE_RAN) {
            note(m, f, r, same, d.count + 1);
        }
        if (end == PROBE_RAN && map != NULL) {
            keep_map(m, f, r, map, first);
        }
        free(r);
    } else if (a.count >= 2) {
        m->spent = true;
    }
    free(a.values);
    m->spent |= end == PROBE_SPENT || end == PROBE_STOPPED;
    return end != PROBE_FAILED;
}

/* ---- the whole ---- */

static bool probe_all(struct matrix *m, bool same, bool first) {
    static const enum probe_field order[FIELDS] = {FIELD_ACTIVATION_CODE, FIELD_WEIGHT_CODE,  FIELD_ACTIVATION_D,
                                                   FIELD_WEIGHT_D,        FIELD_WEIGHT_SCALE, FIELD_ACTIVATION_SUM,
                                                   FIELD_WEIGHT_MIN,      FIELD_WEIGHT_DMIN};
    const bool minima = m->weight.format->min_most > 0 && !m->weight.plain;
    const bool fixed = m->weight.format->min_most == 1;
    for (size_t i = 0; i < FIELDS && !m->spent; ++i) {
        const enum probe_field f = order[i];
        if ((is_minimum(f) && !minima) || (f == FIELD_ACTIVATION_D && m->activation.plain) ||
            (f == FIELD_ACTIVATION_CODE && !same && !has_zero_code(&m->weight))) {
            continue;
        }
        uint32_t *map = !same                                                         ? NULL
                        : f == FIELD_ACTIVATION_CODE                                  ? m->token_of[0]
                        : f == FIELD_ACTIVATION_SUM                                   ? m->token_of[1]
                        : f == FIELD_WEIGHT_CODE                                      ? m->row_of[0]
                        : f == FIELD_WEIGHT_MIN || (fixed && f == FIELD_WEIGHT_DMIN) ? m->row_of[1]
                                                                                      : NULL;
        if (!probe_field(m, f, same, map, first)) {
            return false;
        }
    }
    return true;
}

/* The k of each token (row) in a round: far apart for neighbours, all different until the depth is through. */
static void choose_hot(struct matrix *m, size_t round) {
    const size_t lines = m->nt > m->od ? m->nt : m->od;
    for (size_t i = 0; i < lines; ++i) {
        m->hot[i] = (i * 37 + round * 101 + 5) % m->id;
    }
}

static void same_hot(struct matrix *m, size_t k) {
    const size_t lines = m->nt > m->od ? m->nt : m->od;
    for (size_t i = 0; i < lines; ++i) {
        m->hot[i] = k;
    }
}

static bool experiments(struct matrix *m) {
    const size_t fewer = m->nt < m->od ? m->nt : m->od;
    const size_t rounds = fewer >= PLACES_WANTED ? 1 : PLACES_WANTED / fewer + 1;
    same_hot(m, 5 % m->id);
    bool good = probe_all(m, true, true);
    same_hot(m, m->id - 11 % m->id);
    good = good && (m->spent || probe_all(m, true, false));
    for (size_t i = 0; good && !m->spent && i < (rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS); ++i) {
        choose_hot(m, i);
        good = probe_all(m, false, false);
    }
    return good;
}

/* Whether the kernel has the contract's bits on data where every item differs. *wrong: cells that have not. */
static enum probe_end screen(struct matrix *m, enum data_class class, size_t *wrong) {
    const struct contract *c = m->p->trial->contract;
    struct operands o;
    struct operands_request r = {.contract = c,
                                 .nt = m->nt,
                                 .od = m->od,
                                 .id = m->id,
                                 .split = m->p->view.split,
                                 .data = class,
                                 .key = random_key("probe")};
    if (!operands_make(&r, &o, m->e)) {
        return PROBE_FAILED;
    }
    const enum probe_end end =
        probe_operands(m->p, &o.view, (uint8_t *)m->got, (uint8_t *)m->want, m->cells * sizeof *m->got, m->e);
    for (size_t i = 0; end == PROBE_RAN && i < m->cells; ++i) {
        *wrong += memcmp(&m->got[i], &m->want[i], sizeof(float)) != 0;
    }
    operands_free(&o);
    return end;
}

static bool probe(struct matrix *m) {
    struct tomography *x = m->p->out;
    size_t wrong = 0;
    for (int i = 0; i < SCREENS; ++i) {
        const enum probe_end end = screen(m, i == 0 ? DATA_CODED : DATA_RAND, &wrong);
        if (end != PROBE_RAN) {
            return end != PROBE_FAILED;
        }
    }
    x->probed = true;
    x->cells = m->cells;
    if (wrong == 0) {
        return true;
    }
    if (!experiments(m)) {
        return false;
    }
    size_t place_values[FIELDS];
    for (int f = 0; f < FIELDS; ++f) {
        place_values[f] = coded_place_values(operand_of(m, (enum probe_field)f), coded_of[f]);
    }
    probe_summarise(m->p, m->obs, place_values);
    if (x->line_count == 0) {
        probe_note(x, must_format("%zu of %zu results on coded and random operands have other bits than the contract "
                                  "says, and every item was consumed from its place: look at the arithmetic",
                                  wrong, SCREENS * m->cells));
    }
    if (m->spent) {
        probe_note(x, must_format("%s", x->why != NULL ? x->why : "the launches were used up before all was probed"));
    }
    return true;
}

static bool open_matrix(struct matrix *m) {
    const struct contract *c = m->p->trial->contract;
    m->e->text[0] = 0;
    if (!coded_open(c->weight, m->od, m->id, &m->weight, m->e) ||
        !coded_open(c->activation, m->nt, m->id, &m->activation, m->e)) {
        m->p->out->why = must_format("the formats of contract %s have no integers that operands could be made of",
                                     c->name);
        return false;
    }
    m->hot = must_calloc(m->nt > m->od ? m->nt : m->od, sizeof *m->hot);
    m->got = must_calloc(m->cells, sizeof *m->got);
    m->want = must_calloc(m->cells, sizeof *m->want);
    for (int i = 0; i < 2; ++i) {
        m->token_of[i] = must_calloc(m->cells, sizeof *m->token_of[i]);
        m->row_of[i] = must_calloc(m->cells, sizeof *m->row_of[i]);
        for (size_t k = 0; k < m->cells; ++k) {
            m->token_of[i][k] = (uint32_t)(k / m->od);
            m->row_of[i][k] = (uint32_t)(k % m->od);
        }
    }
    return true;
}

bool probe_matrix_contract(struct prober *p, struct error *e) {
    struct matrix m = {.p = p, .nt = p->view.nt, .od = p->view.od, .id = p->view.id, .e = e};
    m.cells = m.nt * m.od;
    const bool good = open_matrix(&m) ? probe(&m) : e->text[0] == 0;
    for (int f = 0; f < FIELDS; ++f) {
        free(m.obs[f].seen);
    }
    for (int i = 0; i < 2; ++i) {
        free(m.token_of[i]);
        free(m.row_of[i]);
    }
    free(m.hot);
    free(m.got);
    free(m.want);
    coded_free(&m.weight);
    coded_free(&m.activation);
    return good;
}
