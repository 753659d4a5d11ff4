#include "tomography.h"
#include "../ref/checked.h"
#include "tomography_suspects.h"
#include <stdlib.h>
#include <string.h>

/* A larger one is clipped: a fault of layout mostly shows within two tiles and two stages. */
enum { MOST_PRODUCTS = 10 << 20, MOST_TOKENS = 136, MOST_ROWS = 136, MOST_DEPTH = 512, BUFFERS_TIMES = 4 };

/* Of a line that holds for several operands. */
static const char *joined_suspect(const char *operands, const char *own) {
    const bool weight = strstr(operands, "weight codes") != NULL && strstr(operands, "weight scales") != NULL;
    const bool activation =
        strstr(operands, "activation codes") != NULL && strstr(operands, "activation scales") != NULL;
    return own != NULL && (weight || activation) ? suspect_of_all(weight) : own;
}

void probe_line(struct tomography *x, char *operand, const char *result, char *text, const char *suspect, size_t cells,
                char *basis, bool wrong) {
    for (size_t i = 0; i < x->line_count; ++i) { /* the same of another operand is one line */
        struct tomography_line *l = &x->lines[i];
        if (strcmp(l->text, text) == 0 && l->wrong == wrong) {
            if (strcmp(l->operand, operand) != 0) {
                char *both = must_format("%s, %s", l->operand, operand);
                free(l->operand);
                l->operand = both;
                l->suspect = joined_suspect(l->operand, l->suspect);
            }
            l->cells = cells > l->cells ? cells : l->cells;
            free(operand);
            free(text);
            free(basis);
            return;
        }
    }
    x->lines = must_realloc(x->lines, x->line_count + 1, sizeof *x->lines);
    x->lines[x->line_count++] = (struct tomography_line){
        operand, result != NULL ? must_strdup(result) : NULL, text, suspect, cells, basis, wrong};
}

void probe_note(struct tomography *x, char *text) {
    x->notes = must_realloc(x->notes, x->note_count + 1, sizeof *x->notes);
    x->notes[x->note_count++] = text;
}

void probe_conclude(struct tomography *x, size_t wrong, bool stopped, const char *unit) {
    const char *why = x->why != NULL ? x->why : "the launches were used up before all was probed";
    if (x->line_count > 0 && stopped) {
        probe_note(x, must_strdup(why));
    } else if (x->line_count == 0 && stopped) { /* nothing is known of what made them wrong */
        char *text = must_format("%zu %s on coded and random operands differ from what the contract says, and on made "
                                 "ones: %s",
                                 wrong, unit, why);
        free(x->why);
        x->why = text;
        x->probed = false;
    } else if (x->line_count == 0) {
        probe_note(x, must_format("%zu %s on coded and random operands differ from what the contract says, and every "
                                  "item was consumed from its place: look at the arithmetic",
                                  wrong, unit));
    }
}

bool tomography_wrong(const struct tomography *x) {
    for (size_t i = 0; i < x->line_count; ++i) {
        if (x->lines[i].wrong) {
            return true;
        }
    }
    return false;
}

void tomography_free(struct tomography *x) {
    for (size_t i = 0; i < x->line_count; ++i) {
        free(x->lines[i].operand);
        free(x->lines[i].result);
        free(x->lines[i].text);
        free(x->lines[i].basis);
    }
    for (size_t i = 0; i < x->note_count; ++i) {
        free(x->notes[i]);
    }
    free(x->lines);
    free(x->notes);
    free(x->shape);
    free(x->why);
    *x = (struct tomography){0};
}

/* The shape with these values of nt, od and id. */
static void set_shape(struct prober *p, const struct contract_operands *view, bool rows) {
    const struct shape *s = p->trial->shape;
    const struct shape_value own[3] = {{"nt", (int64_t)view->nt}, {"id", (int64_t)view->id}, {"od", (int64_t)view->od}};
    free(p->values);
    p->values = must_calloc(s->count + 3, sizeof *p->values);
    p->shape = (struct shape){p->values, 0};
    for (size_t i = 0; i < (rows ? 3u : 2u); ++i) {
        p->values[p->shape.count++] = own[i];
    }
    for (size_t i = 0; i < s->count; ++i) {
        const char *name = s->values[i].name;
        if (strcmp(name, "nt") != 0 && strcmp(name, "id") != 0 && (strcmp(name, "od") != 0 || !rows)) {
            p->values[p->shape.count++] = s->values[i];
        }
    }
    p->view = *view;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Clips the shape where the kernel takes the smaller one. */
static bool clip(struct prober *p, struct error *e) {
    const struct trial *t = p->trial;
    const bool rows = t->contract->weight != NULL;
    const struct contract_operands *own = &t->operands->view;
    struct contract_operands small = *own;
    const size_t multiple = t->contract->depth_multiple > 0 ? t->contract->depth_multiple : 1;
    if (own->nt > MOST_PRODUCTS / own->id / (rows ? own->od : 1)) {
        small.nt = least(own->nt, MOST_TOKENS);
        small.od = least(own->od, MOST_ROWS);
        small.id = multiple >= MOST_DEPTH ? least(own->id, multiple) : least(own->id, MOST_DEPTH / multiple * multiple);
    }
    for (int i = 0; i < 2; ++i) {
        char *unmet = NULL;
        set_shape(p, i == 0 ? &small : own, rows);
        if (!bind_needs(t->spec, &p->shape, &unmet, e)) {
            return false;
        }
        if (unmet == NULL) {
            break;
        }
        if (i == 1) {
            fail(e, "%s", unmet);
            free(unmet);
            return false;
        }
        free(unmet);
    }
    if (p->view.nt != own->nt || p->view.od != own->od || p->view.id != own->id) {
        probe_note(p->out, must_format("the case is larger than what was probed: a fault past that does not show"));
    }
    char *od = rows ? must_format(", od = %zu", p->view.od) : must_strdup("");
    p->out->shape = must_format("nt = %zu%s, id = %zu", p->view.nt, od, p->view.id);
    free(od);
    return true;
}

static bool probe(struct prober *p, struct error *e) {
    const struct contract *c = p->trial->contract;
    if (c == NULL) {
        p->shape = *p->trial->shape;
        p->budget *= BUFFERS_TIMES;
        return probe_buffers(p, e);
    }
    if (!clip(p, e)) {
        return false;
    }
    if (p->view.nt > PROBE_MOST_CELLS / p->view.id ||
        (c->weight != NULL && p->view.od > PROBE_MOST_CELLS / p->view.id)) {
        p->out->why =
            must_format("an operand has more than %d values, and the kernel takes no smaller shape", PROBE_MOST_CELLS);
        return true;
    }
    return c->weight != NULL ? probe_matrix_contract(p, e) : probe_values_contract(p, e);
}

bool tomography(const struct trial *t, const struct tomography_options *o, struct tomography *out, struct error *e) {
    *out = (struct tomography){0};
    struct prober p = {
        .trial = t, .out = out, .budget = o != NULL && o->launches > 0 ? o->launches : TOMOGRAPHY_LAUNCHES};
    const bool good = probe(&p, e);
    free(p.values);
    if (!good) {
        tomography_free(out);
    }
    return good;
}
