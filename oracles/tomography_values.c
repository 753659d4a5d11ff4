/* Contracts without weights. A dequantiser's codes, scales and minima hold digits of their own (row, place), all other
 * factors being 1. A quantiser's values do, under a largest value of 127 in every block, so that its scale is 1; and
 * the largest values themselves. What a right cell holds is what the contract says of the same bytes. */
#include "../ref/checked.h"
#include "../ref/half.h"
#include "tomography_items.h"
#include "tomography_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 32, LARGEST = 127, SCREENS = 2 };

struct values {
    struct prober *p;
    struct coded operand;                      /* of a dequantiser; of a quantiser the f32 input as codes */
    const struct activation_format *quantised; /* the result's, of a quantiser */
    size_t rows, depth, cells, result_bytes;
    uint8_t *got_bytes, *want_bytes;    /* (result_bytes) */
    float *got, *want;                  /* (cells) */
    bool *unwritten;                    /* (cells) in every launch so far */
    bool *same;                         /* (cells) the contract's bits in every launch so far of a field */
    uint16_t *got_digits, *want_digits; /* (cells, ITEM_DIGITS) */
    float *total;                       /* (cells) of the launch in which all items are 1 */
    bool *is_sum, *is_product;          /* (cells) `total` is added to every code, or is a factor of it */
    size_t place_values;                /* of the field that is probed */
    struct observations obs[FIELDS];
    struct error *e;
};

static const enum coded_field coded_of[] = {CODED_CODE, CODED_D, CODED_SCALE, CODED_DMIN, CODED_MIN};

/* ---- launches ---- */

static bool is_poison(const uint8_t *bytes, size_t at, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (bytes[at + i] != (uint8_t)(BIND_POISON >> 8 * ((at + i) % 4))) {
            return false;
        }
    }
    return true;
}

static void decode(const struct values *v, const uint8_t *bytes, float *out) {
    if (v->quantised != NULL) {
        activation_dequantize(v->quantised, bytes, v->rows, v->depth, out);
        return;
    }
    for (size_t i = 0; i < v->cells; ++i) {
        uint16_t h;
        if (v->result_bytes == v->cells) {
            out[i] = (int8_t)bytes[i];
        } else {
            memcpy(&h, bytes + 2 * i, sizeof h);
            out[i] = half_to_float(h);
        }
    }
}

/* A cell of a quantised result is unwritten with its whole buffer: its block is not one place. */
static void look(struct values *v) {
    const size_t n = v->result_bytes / v->cells;
    decode(v, v->got_bytes, v->got);
    decode(v, v->want_bytes, v->want);
    for (size_t i = 0; i < v->cells; ++i) {
        v->same[i] = v->same[i] && memcmp(&v->got[i], &v->want[i], sizeof(float)) == 0;
        v->unwritten[i] = v->unwritten[i] && v->quantised == NULL && is_poison(v->got_bytes, i * n, n);
    }
}

static enum probe_end launch_on(struct values *v, const void *input) {
    struct contract_operands op = v->p->view;
    op.activation = input;
    const enum probe_end end = probe_operands(v->p, &op, v->got_bytes, v->want_bytes, v->result_bytes, v->e);
    if (end == PROBE_RAN) {
        look(v);
    }
    return end;
}

static enum probe_end launch(struct values *v) {
    coded_pack(&v->operand);
    return launch_on(v, v->operand.bytes);
}

/* ---- fields ---- */

static bool is_minimum(enum probe_field f) {
    return f == FIELD_WEIGHT_DMIN || f == FIELD_WEIGHT_MIN;
}

/* A quantiser's input: value k of a chunk is the largest. */
static void fill_input(struct values *v, enum probe_field f, const struct item_plan *plan, size_t constant, size_t n,
                       size_t largest) {
    float *x = (float *)(void *)v->operand.bytes;
    for (size_t i = 0; i < v->cells; ++i) {
        const size_t item = f == FIELD_INPUT_VALUE ? i : i / CHUNK;
        const float value = plan->alphabet.values[constant != SIZE_MAX ? constant : item_digit(plan, item, n)];
        x[i] = f == FIELD_INPUT_SCALE ? LARGEST * value : i % CHUNK == largest ? LARGEST : value;
    }
}

static void fill_operand(struct values *v, enum probe_field f, const struct item_plan *plan, size_t constant,
                         size_t n) {
    struct coded *c = &v->operand;
    coded_neutral(c);
    for (size_t i = 0; is_minimum(f) && i < c->rows * (c->depth / c->block); ++i) {
        c->d[i] = 0;
        c->dmin[i] = 1;
    }
    for (size_t i = 0; f == FIELD_WEIGHT_DMIN && i < c->rows * (c->depth / c->sub); ++i) {
        c->min[i] = 1;
    }
    const size_t places = coded_places(c, coded_of[f]);
    for (size_t i = 0; i < c->rows * places; ++i) {
        const size_t digit = constant != SIZE_MAX ? constant : item_digit(plan, i, n);
        coded_set(c, coded_of[f], i / places, i % places, plan->alphabet.values[digit]);
    }
}

static enum probe_end launch_items(struct values *v, enum probe_field f, const struct item_plan *plan, size_t constant,
                                   size_t n, size_t largest) {
    if (v->quantised != NULL) {
        fill_input(v, f, plan, constant, n, largest);
        return launch_on(v, v->operand.bytes);
    }
    fill_operand(v, f, plan, constant, n);
    return launch(v);
}

static uint16_t index_of(const struct alphabet *a, float value) {
    const size_t i = alphabet_index(a, value);
    return i == SIZE_MAX ? ITEM_NONE : (uint16_t)i;
}

/* How much an item of value 1 is in the result. */
static float unit_of(enum probe_field f) {
    return is_minimum(f) ? -1 : f == FIELD_INPUT_SCALE ? LARGEST : 1;
}

static void note(struct values *v, enum probe_field f, const struct item_plan *plan, size_t launches) {
    struct observations *o = &v->obs[f];
    const size_t places = v->depth / v->place_values;
    o->seen = must_realloc(o->seen, o->count + v->cells, sizeof *o->seen);
    o->launches += launches;
    o->place_values = v->place_values;
    for (size_t i = 0; i < v->cells; ++i) {
        const size_t want = item_of(plan, v->want_digits + i * ITEM_DIGITS),
                     got = item_of(plan, v->got_digits + i * ITEM_DIGITS);
        const uint32_t row = (uint32_t)(i / v->depth);
        if (want == SIZE_MAX) {
            continue;
        }
        const float added = v->total[i] - 1;
        const bool apart = f == FIELD_WEIGHT_CODE && added != 0 && isfinite(added);
        const enum seen_kind kind = v->unwritten[i]                                ? SEEN_UNWRITTEN
                                    : v->same[i] || got == want                    ? SEEN_RIGHT
                                    : got != SIZE_MAX                              ? SEEN_ONE
                                    : apart && v->is_sum[i] && fabsf(added) <= 128 ? SEEN_ADDED
                                    : apart && v->is_product[i]                    ? SEEN_FACTOR
                                                                                   : SEEN_OTHER;
        o->seen[o->count++] = (struct seen){.t = v->quantised != NULL ? row : 0,
                                            .j = v->quantised != NULL ? 0 : row,
                                            .k = (uint32_t)(i % v->depth),
                                            .want_line = (uint32_t)(want / places),
                                            .want_place = (uint32_t)(want % places),
                                            .got_line = kind == SEEN_ONE ? (uint32_t)(got / places) : 0,
                                            .got_place = kind == SEEN_ONE ? (uint32_t)(got % places) : 0,
                                            .kind = kind,
                                            .times = kind == SEEN_FACTOR ? v->total[i] : added};
    }
}

static enum probe_end read_field(struct values *v, enum probe_field f, const struct item_plan *plan, size_t largest) {
    const float unit = unit_of(f);
    for (size_t i = 0; i < v->cells; ++i) {
        v->same[i] = v->unwritten[i] = true;
        v->is_sum[i] = v->is_product[i] = true;
    }
    enum probe_end end = launch_items(v, f, plan, plan->one, 0, largest);
    for (size_t i = 0; end == PROBE_RAN && i < v->cells; ++i) {
        v->total[i] = v->got[i] / unit;
    }
    for (size_t n = 0; end == PROBE_RAN && n < plan->digits; ++n) {
        end = launch_items(v, f, plan, SIZE_MAX, n, largest);
        for (size_t i = 0; end == PROBE_RAN && i < v->cells; ++i) {
            /* a scale is a factor of whatever the code is taken for */
            const float total = f == FIELD_WEIGHT_CODE || v->quantised != NULL || v->total[i] == 0 ? 1 : v->total[i];
            v->got_digits[i * ITEM_DIGITS + n] = index_of(&plan->alphabet, v->got[i] / unit / total);
            v->want_digits[i * ITEM_DIGITS + n] = index_of(&plan->alphabet, v->want[i] / unit);
            v->is_sum[i] = v->is_sum[i] && v->got[i] - v->want[i] == v->total[i] - 1;
            v->is_product[i] = v->is_product[i] && v->got[i] == v->total[i] * v->want[i];
        }
    }
    if (end == PROBE_RAN) {
        note(v, f, plan, plan->digits + 1);
    }
    return end;
}

static struct alphabet integers(int first, int last) {
    struct alphabet a = {.count = (size_t)(last - first) + 1};
    a.values = must_calloc(a.count, sizeof *a.values);
    for (size_t i = 0; i < a.count; ++i) {
        a.values[i] = (float)(first + (int)i);
    }
    return a;
}

static bool plan_field(struct values *v, enum probe_field f, struct item_plan *plan) {
    if (v->quantised == NULL) {
        v->place_values = coded_place_values(&v->operand, coded_of[f]);
        return item_plan(&v->operand, coded_of[f], plan);
    }
    const bool scale = f == FIELD_INPUT_SCALE;
    v->place_values = scale ? CHUNK : 1;
    return item_plan_of(scale ? integers(1, 500) : integers(1 - LARGEST, LARGEST - 1),
                        scale ? v->cells / CHUNK : v->cells, plan);
}

static bool probe_field(struct values *v, enum probe_field f, size_t largest, bool *spent) {
    struct item_plan plan;
    const bool can = plan_field(v, f, &plan);
    const enum probe_end end = can ? read_field(v, f, &plan, largest) : PROBE_RAN;
    item_plan_free(&plan);
    *spent |= end == PROBE_SPENT || end == PROBE_STOPPED;
    return end != PROBE_FAILED;
}

static bool probe_all(struct values *v, bool *spent) {
    if (v->quantised != NULL) {
        return probe_field(v, FIELD_INPUT_VALUE, 0, spent) &&
               (*spent || probe_field(v, FIELD_INPUT_VALUE, 17, spent)) &&
               (*spent || probe_field(v, FIELD_INPUT_SCALE, 0, spent));
    }
    const bool minima = !v->operand.plain && v->operand.format->min_most > 0;
    for (int f = FIELD_WEIGHT_CODE; f <= FIELD_WEIGHT_MIN && !*spent; ++f) {
        if ((minima || !is_minimum((enum probe_field)f)) && !probe_field(v, (enum probe_field)f, 0, spent)) {
            return false;
        }
    }
    return true;
}

/* What is wrong with a cell is said of the first field that shows it. */
static void sift(struct values *v) {
    bool *said = must_calloc(v->cells, sizeof *said);
    for (int f = 0; f < FIELDS; ++f) {
        for (size_t i = 0; i < v->obs[f].count; ++i) {
            struct seen *s = &v->obs[f].seen[i];
            const size_t cell = (s->t + s->j) * v->depth + s->k;
            if (s->kind > SEEN_ONE) {
                s->kind = said[cell] ? SEEN_RIGHT : s->kind;
                said[cell] = true;
            }
        }
    }
    free(said);
}

/* ---- the whole ---- */

static enum probe_end screen(struct values *v, enum data_class class, size_t *wrong) {
    const struct operands_request r = {.contract = v->p->trial->contract,
                                       .nt = v->rows,
                                       .id = v->depth,
                                       .split = v->p->view.split,
                                       .data = class,
                                       .key = random_key("probe")};
    struct operands o;
    if (!operands_make(&r, &o, v->e)) {
        return PROBE_FAILED;
    }
    const enum probe_end end = launch_on(v, o.activation);
    for (size_t i = 0; end == PROBE_RAN && i < v->result_bytes; ++i) {
        *wrong += v->got_bytes[i] != v->want_bytes[i];
    }
    operands_free(&o);
    return end;
}

static bool probe(struct values *v) {
    struct tomography *x = v->p->out;
    size_t wrong = 0;
    bool spent = false;
    for (int i = 0; i < SCREENS; ++i) {
        const enum probe_end end = screen(v, i == 0 ? DATA_CODED : DATA_RAND, &wrong);
        if (end != PROBE_RAN) {
            return end != PROBE_FAILED;
        }
    }
    x->probed = true;
    x->cells = v->cells;
    if (wrong == 0) {
        return true;
    }
    if (!probe_all(v, &spent)) {
        return false;
    }
    sift(v);
    v->p->each_value = true;
    if (v->quantised == NULL) { /* its lines are rows, and there is one token */
        v->p->view.od = v->rows;
        v->p->view.nt = 1;
    }
    probe_summarise(v->p, v->obs);
    probe_conclude(x, wrong, spent, "bytes of results");
    return true;
}

static bool open_values(struct values *v) {
    const struct contract *c = v->p->trial->contract;
    v->quantised = activation_named(c->result);
    v->e->text[0] = 0;
    v->cells = v->rows * v->depth;
    v->result_bytes = c->result_bytes(&v->p->view);
    const bool plain = v->result_bytes == v->cells || v->result_bytes == 2 * v->cells;
    if ((v->quantised == NULL && !plain) || !coded_open(c->activation, v->rows, v->depth, &v->operand, v->e)) {
        v->p->out->why =
            must_format("the formats of contract %s have no integers that operands could be made of", c->name);
        return false;
    }
    v->got_bytes = must_calloc(v->result_bytes + 1, 1);
    v->want_bytes = must_calloc(v->result_bytes + 1, 1);
    v->got = must_calloc(v->cells, sizeof *v->got);
    v->want = must_calloc(v->cells, sizeof *v->want);
    v->total = must_calloc(v->cells, sizeof *v->total);
    v->is_sum = must_calloc(v->cells, sizeof *v->is_sum);
    v->is_product = must_calloc(v->cells, sizeof *v->is_product);
    v->unwritten = must_calloc(v->cells, sizeof *v->unwritten);
    v->same = must_calloc(v->cells, sizeof *v->same);
    v->got_digits = must_calloc(v->cells * ITEM_DIGITS, sizeof *v->got_digits);
    v->want_digits = must_calloc(v->cells * ITEM_DIGITS, sizeof *v->want_digits);
    return true;
}

bool probe_values_contract(struct prober *p, struct error *e) {
    struct values v = {.p = p, .rows = p->view.nt, .depth = p->view.id, .e = e};
    const bool good = open_values(&v) ? probe(&v) : e->text[0] == 0;
    for (int f = 0; f < FIELDS; ++f) {
        free(v.obs[f].seen);
    }
    free(v.got_bytes);
    free(v.want_bytes);
    free(v.got);
    free(v.want);
    free(v.total);
    free(v.is_sum);
    free(v.is_product);
    free(v.unwritten);
    free(v.same);
    free(v.got_digits);
    free(v.want_digits);
    coded_free(&v.operand);
    return good;
}
