/* Matrix contracts. Each launch makes one k of every token (the activation's code there is 1, elsewhere 0), or of every
 * row, the only one that counts; all other factors are 1. What a cell then holds is one item of the field that is
 * probed, and items hold digits of their own (line, place). What a right cell holds is what the contract says of the
 * same bytes, so no assumption about packing or order enters: a cell with the contract's bits is right. */
#include "../ref/checked.h"
#include "tomography_items.h"
#include "tomography_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 12, MOST_SCALE_ROUNDS = 5, PLACES_WANTED = 48, SCREENS = 2, MOST_TIMES = 64, MORE_UNIFORM = 4 };

struct reading { /* of one cell over the launches of a field */
    uint16_t got[ITEM_DIGITS], want[ITEM_DIGITS];
    float total; /* of the launch in which all items are 1; of codes without what is there anyway */
    bool same;   /* all bits are the contract's */
    bool unwritten;
};

struct matrix {
    struct prober *p;
    struct coded weight, activation;
    size_t nt, od, id, cells;
    size_t *hot;       /* (max(nt, od)) the k of each token or row */
    float *got, *want; /* (cells) of a launch */
    float *start;      /* (cells) what it holds when all products are 0 and all scales 1 */
    float *fixed;      /* (cells) the part of that which no scale is applied to */
    float *added;      /* (cells) to each code of the weight */
    bool *times_told;  /* (cells) two of each item give twice the sum: it is one of items */
    struct observations obs[FIELDS];
    uint32_t *token_of[2], *row_of[2]; /* (cells) token whose codes (sums), row whose codes (minima) the cell was seen
                                        * to consume where the k was the same for all; UINT32_MAX: one here, another
                                        * there */
    bool *known[4];                    /* (cells) of token_of and row_of: seen once */
    bool spent;
    struct error *e;
};

static const enum coded_field coded_of[FIELDS] = {CODED_CODE, CODED_D, CODED_SCALE, CODED_DMIN, CODED_MIN,
                                                  CODED_CODE, CODED_D, CODED_SUM,   CODED_CODE};

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

/* Every item of the field has the value of that index, or its n-th digit. */
static void fill(struct matrix *m, enum probe_field f, const struct item_plan *plan, size_t constant, size_t n) {
    struct coded *c = operand_of(m, f);
    const enum coded_field field = coded_of[f];
    const size_t places = coded_places(c, field);
    const bool mask = f == FIELD_ACTIVATION_CODE && !has_zero_code(&m->weight); /* codes of other k would count */
    for (size_t i = 0; i < c->rows * places; ++i) {
        if (!mask || i % places == m->hot[0]) {
            const size_t digit = constant != SIZE_MAX ? constant : item_digit(plan, i, n);
            coded_set(c, field, i / places, i % places, plan->alphabet.values[digit]);
        }
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

static float sign_of(enum probe_field f) {
    return is_minimum(f) ? -1 : 1;
}

static bool is_code(enum probe_field f) {
    return f == FIELD_WEIGHT_CODE || f == FIELD_ACTIVATION_CODE;
}

static bool is_poison(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == BIND_POISON;
}

/* What a cell holds in units of one item of value 1. */
static float of_items(const struct matrix *m, enum probe_field f, size_t i) {
    const float there = is_code(f) ? m->start[i] : m->fixed[i];
    return (m->got[i] - there - (f == FIELD_WEIGHT_CODE ? m->added[i] : 0)) * sign_of(f);
}

static bool is_total(float x) {
    return x != 0 && isfinite(x);
}

static uint16_t index_of(const struct alphabet *a, float value) {
    const size_t i = alphabet_index(a, value);
    return i == SIZE_MAX ? ITEM_NONE : (uint16_t)i;
}

static void compare(const struct matrix *m, struct reading *r) {
    for (size_t i = 0; i < m->cells; ++i) {
        r[i].same = r[i].same && memcmp(&m->got[i], &m->want[i], sizeof(float)) == 0;
        r[i].unwritten = r[i].unwritten && is_poison(m->got[i]);
    }
}

static void read_digit(const struct matrix *m, enum probe_field f, const struct item_plan *plan, size_t n,
                       struct reading *r) {
    compare(m, r);
    for (size_t i = 0; i < m->cells; ++i) {
        /* a scale is a factor of all that a cell holds, however much that is */
        const float unit = is_code(f) ? 1 : r[i].total;
        r[i].got[n] = is_total(unit) ? index_of(&plan->alphabet, of_items(m, f, i) / unit) : ITEM_NONE;
        r[i].want[n] = index_of(&plan->alphabet, m->want[i] * sign_of(f));
    }
}

static enum seen_kind kind_of(const struct matrix *m, enum probe_field f, size_t i, const struct reading *r,
                              size_t got) {
    const float total = r->total;
    if (r->unwritten) {
        return SEEN_UNWRITTEN;
    }
    const bool whole = is_code(f) || f == FIELD_ACTIVATION_SUM; /* a term is there once, or it is not */
    if (got != SIZE_MAX && (total == 1 || !whole)) {
        return SEEN_ONE;
    }
    return total == 0 ? SEEN_NOTHING
           : total > 1 && total <= MOST_TIMES && total == floorf(total) && (!is_code(f) || m->times_told[i])
               ? SEEN_TIMES
               : SEEN_OTHER;
}

/* The k that cell i must have looked at, where another token's (row's) codes choose it. SIZE_MAX: not told. */
static size_t hot_of(const struct matrix *m, enum probe_field f, size_t i, bool same) {
    const uint32_t line = hot_rows(f) ? m->row_of[is_minimum(f)][i] : m->token_of[is_minimum(f)][i];
    /* codes that have something added hide which token's code was met */
    return same ? m->hot[0] : line == UINT32_MAX || m->added[i] != 0 ? SIZE_MAX : m->hot[line];
}

static void note(struct matrix *m, enum probe_field f, const struct item_plan *plan, const struct reading *r, bool same,
                 size_t launches) {
    const struct coded *c = operand_of(m, f);
    const size_t places = coded_places(c, coded_of[f]), values = coded_place_values(c, coded_of[f]);
    struct observations *o = &m->obs[f];
    o->seen = must_realloc(o->seen, o->count + m->cells, sizeof *o->seen);
    o->launches += launches;
    o->place_values = values;
    for (size_t i = 0; i < m->cells; ++i) {
        const size_t own = same ? m->hot[0] : m->hot[hot_rows(f) ? i % m->od : i / m->od], k = hot_of(m, f, i, same);
        size_t want = item_of(plan, r[i].want);
        const size_t got = item_of(plan, r[i].got);
        if (want == SIZE_MAX || k == SIZE_MAX) {
            continue; /* not even the contract's result says what it consumed */
        }
        if (k != own) { /* the place is the other line's, the line is still this one's */
            want = want / places * places + k / values;
        }
        enum seen_kind kind = k == own && r[i].same ? SEEN_RIGHT : kind_of(m, f, i, &r[i], got);
        kind = kind == SEEN_ONE && got == want ? SEEN_RIGHT : kind;
        o->seen[o->count++] = (struct seen){.t = (uint32_t)(i / m->od),
                                            .j = (uint32_t)(i % m->od),
                                            .k = (uint32_t)k,
                                            .want_line = (uint32_t)(want / places),
                                            .want_place = (uint32_t)(want % places),
                                            .got_line = kind == SEEN_ONE ? (uint32_t)(got / places) : 0,
                                            .got_place = kind == SEEN_ONE ? (uint32_t)(got % places) : 0,
                                            .kind = kind,
                                            .times = r[i].total};
    }
}

/* The lines of these choose the k that the fields of the other operand are looked at. */
static bool is_choice(const struct matrix *m, enum probe_field f) {
    return is_code(f) || f == FIELD_ACTIVATION_SUM || f == FIELD_WEIGHT_MIN ||
           (f == FIELD_WEIGHT_DMIN && m->weight.format->min_most == 1);
}

/* Which line each cell was seen to consume, at one k and then at another. */
static void keep_map(struct matrix *m, enum probe_field f, const struct item_plan *plan, const struct reading *r) {
    const size_t places = coded_places(operand_of(m, f), coded_of[f]);
    uint32_t *map = (hot_rows(f) ? m->token_of : m->row_of)[is_minimum(f)];
    bool *known = m->known[2 * !hot_rows(f) + is_minimum(f)];
    for (size_t i = 0; i < m->cells; ++i) {
        const size_t got = is_code(f) && r[i].total != 1 ? SIZE_MAX : item_of(plan, r[i].got);
        if (got != SIZE_MAX) {
            const uint32_t line = (uint32_t)(got / places);
            map[i] = !known[i] || map[i] == line ? line : UINT32_MAX;
            known[i] = true;
        }
    }
}

/* One launch with all items at the value of that index (SIZE_MAX: their n-th digits). */
static enum probe_end launch_items(struct matrix *m, enum probe_field f, const struct item_plan *plan, size_t constant,
                                   size_t n) {
    base(m, f);
    fill(m, f, plan, constant, n);
    return launch(m);
}

/* Before the first codes are read: what a cell holds when nothing is multiplied, and when all codes are 0. */
static enum probe_end read_start(struct matrix *m, const struct item_plan *plan) {
    base(m, FIELD_WEIGHT_CODE);
    memset(m->activation.code, 0, m->nt * m->id * sizeof *m->activation.code);
    enum probe_end end = launch(m);
    struct observations *o = &m->obs[FIELD_START];
    o->seen = must_calloc(m->cells, sizeof *o->seen);
    for (size_t i = 0; end == PROBE_RAN && i < m->cells; ++i) {
        const float x = m->got[i];
        const bool right = x == 0 && m->want[i] == 0;
        o->seen[o->count++] = (struct seen){.t = (uint32_t)(i / m->od),
                                            .j = (uint32_t)(i % m->od),
                                            .kind = right          ? SEEN_RIGHT
                                                    : is_poison(x) ? SEEN_UNWRITTEN
                                                    : isfinite(x)  ? SEEN_ADDED
                                                                   : SEEN_OTHER,
                                            .times = x};
        m->start[i] = isfinite(x) && m->want[i] == 0 ? x : 0;
    }
    for (size_t i = 0; end == PROBE_RAN && i < m->od * (m->id / m->weight.block); ++i) {
        m->weight.d[i] = 2;
    }
    end = end == PROBE_RAN ? launch(m) : end;
    for (size_t i = 0; end == PROBE_RAN && i < m->cells; ++i) {
        m->fixed[i] = m->got[i] == m->start[i] ? m->start[i] : 0;
    }
    o->launches = 2;
    o->place_values = 1;
    if (end == PROBE_RAN && plan->zero != SIZE_MAX) {
        end = launch_items(m, FIELD_WEIGHT_CODE, plan, plan->zero, 0);
        for (size_t i = 0; end == PROBE_RAN && i < m->cells; ++i) {
            const float x = of_items(m, FIELD_WEIGHT_CODE, i);
            m->added[i] = isfinite(x) && fabsf(x) <= 128 && x == floorf(x) ? x : 0;
        }
    }
    return end;
}

/* Whether the codes 2 give twice what the codes 1 gave. */
static enum probe_end read_twos(struct matrix *m, enum probe_field f, const struct item_plan *plan,
                                const struct reading *r) {
    const enum probe_end end = launch_items(m, f, plan, plan->two, 0);
    for (size_t i = 0; end == PROBE_RAN && i < m->cells; ++i) {
        m->times_told[i] = of_items(m, f, i) == 2 * r[i].total;
    }
    return end;
}

static enum probe_end read_field(struct matrix *m, enum probe_field f, const struct item_plan *plan,
                                 struct reading *r) {
    enum probe_end end = launch_items(m, f, plan, plan->one, 0);
    if (end != PROBE_RAN) {
        return end;
    }
    compare(m, r);
    bool several = false;
    for (size_t i = 0; i < m->cells; ++i) {
        r[i].total = of_items(m, f, i);
        several |= r[i].total != 1 && r[i].total != 0;
    }
    if (is_code(f) && several && plan->two != SIZE_MAX) {
        end = read_twos(m, f, plan, r);
    }
    for (size_t n = 0; end == PROBE_RAN && n < plan->digits; ++n) {
        end = launch_items(m, f, plan, SIZE_MAX, n);
        if (end == PROBE_RAN) {
            read_digit(m, f, plan, n, r);
        }
    }
    return end;
}

/* Codes that have something added: the rest of what they show is right, or told as ever. */
static void note_added(struct matrix *m) {
    struct observations *o = &m->obs[FIELD_WEIGHT_CODE];
    for (size_t i = 0; i < o->count; ++i) {
        const float x = m->added[o->seen[i].t * m->od + o->seen[i].j];
        if (x != 0 && o->seen[i].kind == SEEN_RIGHT) {
            o->seen[i].kind = SEEN_ADDED;
            o->seen[i].times = x;
        }
    }
}

/* Probes a field, the k being those of m->hot. True also when there is nothing to probe; false: m->e. */
static bool probe_field(struct matrix *m, enum probe_field f, bool same, bool first) {
    struct item_plan plan;
    enum probe_end end = PROBE_RAN;
    if (item_plan(operand_of(m, f), coded_of[f], &plan)) {
        const size_t before = m->p->budget;
        struct reading *r = must_calloc(m->cells, sizeof *r);
        for (size_t i = 0; i < m->cells; ++i) {
            r[i].same = r[i].unwritten = true;
        }
        if (first && f == FIELD_WEIGHT_CODE) {
            end = read_start(m, &plan);
        }
        end = end == PROBE_RAN ? read_field(m, f, &plan, r) : end;
        if (end == PROBE_RAN) {
            note(m, f, &plan, r, same, before - m->p->budget);
        }
        if (end == PROBE_RAN && same && is_choice(m, f)) {
            keep_map(m, f, &plan, r);
        }
        free(r);
    }
    item_plan_free(&plan);
    m->spent |= end == PROBE_SPENT || end == PROBE_STOPPED;
    return end != PROBE_FAILED;
}

/* ---- the whole ---- */

/* round: of those in which the lines have different k; 0: all the same. */
static bool wanted(const struct matrix *m, enum probe_field f, size_t round) {
    const bool minima = m->weight.format->min_most > 0 && !m->weight.plain;
    if ((is_minimum(f) && !minima) || (f == FIELD_ACTIVATION_D && m->activation.plain) ||
        (f == FIELD_ACTIVATION_CODE && round > 0 && !has_zero_code(&m->weight))) {
        return false;
    }
    const size_t lines = hot_rows(f) ? m->od : m->nt;
    return round <= 1 || ((round - 1) * lines < PLACES_WANTED && (is_code(f) || round <= MOST_SCALE_ROUNDS));
}

static bool probe_all(struct matrix *m, size_t round, bool first) {
    static const enum probe_field order[] = {FIELD_WEIGHT_CODE, FIELD_ACTIVATION_CODE, FIELD_ACTIVATION_D,
                                             FIELD_WEIGHT_D,    FIELD_WEIGHT_SCALE,    FIELD_ACTIVATION_SUM,
                                             FIELD_WEIGHT_MIN,  FIELD_WEIGHT_DMIN};
    for (size_t i = 0; i < sizeof order / sizeof *order && !m->spent; ++i) {
        if (wanted(m, order[i], round) && !probe_field(m, order[i], round == 0, first)) {
            return false;
        }
    }
    return true;
}

/* The k of each token (row) in a round: far apart for neighbours, all different until the depth is through. */
static void choose_hot(struct matrix *m, size_t round) {
    const size_t lines = m->nt > m->od ? m->nt : m->od, far = m->id / PLACES_WANTED;
    const size_t step = far > 37 ? far | 1 : 37;
    for (size_t i = 0; i < lines; ++i) {
        m->hot[i] = (i * step + round * (lines * step + 101) + 5) % m->id;
    }
}

static void same_hot(struct matrix *m, size_t k) {
    const size_t lines = m->nt > m->od ? m->nt : m->od;
    for (size_t i = 0; i < lines; ++i) {
        m->hot[i] = k;
    }
}

/* Some cells consume one line at one k, another at another: what lines there are is read k by k. */
static bool has_conflict(const struct matrix *m) {
    for (size_t i = 0; i < 2 * m->cells; ++i) {
        if (m->token_of[i / m->cells][i % m->cells] == UINT32_MAX ||
            m->row_of[i / m->cells][i % m->cells] == UINT32_MAX) {
            return true;
        }
    }
    return false;
}

static bool experiments(struct matrix *m) {
    same_hot(m, 5 % m->id);
    bool good = probe_all(m, 0, true);
    same_hot(m, m->id - 11 % m->id);
    good = good && probe_all(m, 0, false);
    for (size_t i = 1; good && has_conflict(m) && i <= MORE_UNIFORM; ++i) {
        same_hot(m, (i * m->id / (MORE_UNIFORM + 1) + 18 * i) % m->id);
        good = probe_all(m, 0, false);
    }
    for (size_t i = 1; good && i <= MOST_ROUNDS; ++i) {
        choose_hot(m, i);
        good = probe_all(m, i, false);
    }
    note_added(m);
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
    probe_sift(m->p, m->obs, place_values);
    probe_summarise(m->p, m->obs);
    probe_conclude(x, wrong, m->spent, "results");
    return true;
}

static bool open_matrix(struct matrix *m) {
    const struct contract *c = m->p->trial->contract;
    m->e->text[0] = 0;
    if (!coded_open(c->weight, m->od, m->id, &m->weight, m->e) ||
        !coded_open(c->activation, m->nt, m->id, &m->activation, m->e)) {
        m->p->out->why =
            must_format("the formats of contract %s have no integers that operands could be made of", c->name);
        return false;
    }
    m->hot = must_calloc(m->nt > m->od ? m->nt : m->od, sizeof *m->hot);
    m->got = must_calloc(m->cells, sizeof *m->got);
    m->want = must_calloc(m->cells, sizeof *m->want);
    m->start = must_calloc(m->cells, sizeof *m->start);
    m->fixed = must_calloc(m->cells, sizeof *m->fixed);
    m->added = must_calloc(m->cells, sizeof *m->added);
    m->times_told = must_calloc(m->cells, sizeof *m->times_told);
    for (int i = 0; i < 4; ++i) {
        m->known[i] = must_calloc(m->cells, sizeof *m->known[i]);
    }
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
    free(m.start);
    free(m.fixed);
    free(m.added);
    free(m.times_told);
    for (int i = 0; i < 4; ++i) {
        free(m.known[i]);
    }
    coded_free(&m.weight);
    coded_free(&m.activation);
    return good;
}
