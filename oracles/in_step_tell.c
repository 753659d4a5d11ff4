/* Puts what in_step.c found in words of the modules. */
#include "in_step_run.h"
#include <string.h>

static void fill_text(struct in_step_side *side, const struct snapshot *s) {
    side->present = s->taken;
    side->text = s->text;
}

static void fill(struct difference *d, enum difference_kind kind, const struct target *t) {
    const struct snapshot *of[2] = {&t->a, &t->b};
    size_t value = 0;
    fill_text(&d->side[0], of[0]);
    fill_text(&d->side[1], of[1]);
    const bool moves = d->apart && kind == DIFFERENCE_SHARED;
    if (!snapshots_differ(of[0], of[1], moves, &d->lane, &value,
                          &d->lanes)) { /* one has none, or it is not among those kept */
        d->lane = (unsigned)__builtin_ctz(t->b.lanes);
        d->lanes = t->b.lanes;
        value = d->apart && t->b.has_address && t->b.count > 1 ? 1 : 0;
    }
    for (int k = 0; k < 2; ++k) {
        const bool has = value < of[k]->count;
        d->side[k].executed = d->side[k].present && has && of[k]->lanes >> d->lane & 1;
        d->side[k].name = has ? of[k]->names[value] : NULL;
        d->side[k].value = has ? of[k]->values[value][d->lane] : 0;
        d->of[k].executed = has ? of[k]->lanes : 0;
        for (unsigned lane = 0; lane < 32; ++lane) {
            d->of[k].values[lane] = d->of[k].executed >> lane & 1 ? of[k]->values[value][lane] : 0;
        }
        d->bits = has && of[k]->bits[value] > d->bits ? of[k]->bits[value] : d->bits;
    }
    d->is_address = t->b.has_address && value == 0;
}

/* ---- causes ---- */

/* The nearest instructions at or above this one that the other program has not, or not so. */
static size_t near_causes(const struct aligned *p, int side, uint32_t number, uint32_t *out) {
    const struct ptx_instruction *in = aligned_instruction(p, side, number);
    size_t count = 0;
    for (uint32_t i = number + 1; in != NULL && i-- > 0 && count < CAUSES;) {
        if (aligned_instruction(p, side, i) != in - (number - i)) {
            break; /* another function's */
        }
        if (p->how[side][i] != ALIGNED_SAME) {
            out[count++] = i;
        } else if (count > 0) {
            break;
        }
    }
    return count;
}

static void add_cause(struct comparison *x, int side, uint32_t number) {
    struct in_step_causes *c = &x->out->causes;
    if (c->count[side] < CAUSES) {
        c->at[side][c->count[side]++] = (struct in_step_cause){aligned_instruction(x->programs, side, number),
                                                               (enum aligned_how)x->programs->how[side][number]};
    }
}

/* Of the two instructions, where they are no NULL; moved: what only moved may be a cause, where it accesses memory.
 * itself: what it reads differs, if anything does. False: none. */
static bool find_causes_of(struct comparison *x, const struct ptx_instruction *const of[2], int by, bool moved) {
    bool found = false;
    x->out->causes.by = by;
    for (int k = 0; k < 2; ++k) {
        const uint32_t number = of[k] != NULL ? aligned_number(x->programs, k, of[k]) : ALIGNED_NONE;
        uint32_t at[CAUSES + 1];
        size_t n = 0;
        if (number == ALIGNED_NONE) {
            continue;
        }
        if (by == CAUSE_MEMORY) {
            at[0] = aligned_effect(x->programs, k, number, moved);
            n = at[0] != ALIGNED_NONE;
        } else {
            n = by == CAUSE_NEAR ? near_causes(x->programs, k, number, at)
                                 : aligned_causes(x->programs, k, number, at, CAUSES + 1, moved);
        }
        for (size_t i = 0; i < n; ++i) {
            if (at[i] != number || x->out->earliest < 0) {
                add_cause(x, k, at[i]);
            }
        }
        found |= n > 0;
    }
    return found;
}

/* Where a lane executes it in one program alone: a guard, a branch or the predicate of one that is not alike, the last
 * one above it in either, and what else gives that predicate. */
static bool find_control(struct comparison *x, const struct ptx_instruction *const of[2]) {
    static const char *const ways[] = {"bra", "brx", "ret", "exit", "setp"};
    bool found = false;
    for (int k = 0; k < 2; ++k) {
        const uint32_t number = of[k] != NULL ? aligned_number(x->programs, k, of[k]) : ALIGNED_NONE;
        size_t count = 0;
        for (uint32_t i = number != ALIGNED_NONE ? number + 1 : 0; i-- > 0 && count < 2;) {
            const struct ptx_instruction *in = aligned_instruction(x->programs, k, i);
            if (in != of[k] - (number - i)) {
                break; /* another function's */
            }
            const enum aligned_how how = (enum aligned_how)x->programs->how[k][i];
            bool decides = in->guard >= 0;
            for (size_t w = 0; w < sizeof ways / sizeof *ways; ++w) {
                decides |= strcmp(in->opcode, ways[w]) == 0;
            }
            if (decides && how != ALIGNED_SAME && how != ALIGNED_MOVED) {
                add_cause(x, k, i);
                ++count;
            }
        }
        found |= count > 0;
    }
    x->out->causes.by = found ? CAUSE_CONTROL : x->out->causes.by;
    return found;
}

/* No step differs, nor the output: what accesses memory, waits or synchronises and is not alike; what stands in one
 * program alone goes first. */
static void find_effects(struct comparison *x) {
    x->out->causes.by = CAUSE_EFFECT;
    for (int moved = 0; moved < 2; ++moved) {
        for (int k = 0; k < 2; ++k) {
            for (uint32_t i = 0; i < x->programs->count[k]; ++i) {
                const enum aligned_how how = (enum aligned_how)x->programs->how[k][i];
                if (how != ALIGNED_SAME && (how == ALIGNED_MOVED) == (moved == 1) &&
                    aligned_accesses_memory(aligned_instruction(x->programs, k, i))) {
                    add_cause(x, k, i);
                }
            }
        }
    }
}

static void find_causes(struct comparison *x) {
    struct in_step *out = x->out;
    const struct ptx_instruction *of[2] = {NULL, NULL};
    const bool step = out->earliest >= 0, paired = step && !out->first[out->earliest].apart;
    for (int k = 0; k < 2; ++k) {
        of[k] = step                 ? out->first[out->earliest].side[k].text
                : out->parting.found ? out->parting.side[k].text
                                     : out->output.by[k].text;
    }
    if (paired && of[1] != NULL) {
        const uint32_t number = aligned_number(x->programs, 1, of[1]);
        out->first[out->earliest].how = (enum aligned_how)x->programs->how[1][number];
    }
    const struct difference *d = step ? &out->first[out->earliest] : NULL;
    if (paired && d->side[0].executed != d->side[1].executed && find_control(x, of)) {
        return;
    }
    if (!step && !out->parting.found && out->output.buffer == NULL) {
        find_effects(x);
        return;
    }
    for (int moved = 0; moved < 2 && (paired || !out->parting.found); ++moved) {
        if (find_causes_of(x, of, CAUSE_OPERANDS, moved) || find_causes_of(x, of, CAUSE_MEMORY, moved)) {
            break;
        }
    }
    if (out->causes.count[0] + out->causes.count[1] == 0 && !paired) {
        find_causes_of(x, of, CAUSE_NEAR, false);
    }
}

static void find_earliest(struct comparison *x) {
    x->out->earliest = -1;
    for (int k = 0; k < DIFFERENCES; ++k) {
        if (!x->out->first[k].found) {
            continue;
        }
        if (x->out->earliest < 0 || in_step_is_earlier(&x->targets[k].when, &x->targets[x->out->earliest].when)) {
            x->out->earliest = k;
        }
    }
}

/* Each has a text of its own. */
static const struct ptx_instruction *instruction_of(const struct ptx_module *m, const char *text) {
    for (size_t f = 0; f < m->function_count; ++f) {
        for (size_t i = 0; i < m->functions[f].instruction_count; ++i) {
            if (m->functions[f].instructions[i].text == text) {
                return &m->functions[f].instructions[i];
            }
        }
    }
    return NULL;
}

static void find_writer(const struct in_step_ran *r, const struct ptx_module *m, size_t buffer, size_t cell,
                        struct output_difference *o, int side) {
    for (size_t i = r->runs.count; i-- > 0;) {
        const struct trace *t = &r->runs.traces[i];
        const struct launch *l = r->runs.runs[i].launch;
        const struct buffer_coverage *c = &t->coverage[buffer];
        const size_t bytes = l->buffers[buffer].cell_bytes;
        bool stored = false;
        for (size_t k = 0; t->has_coverage && c->stores != NULL && k < bytes; ++k) {
            stored |= (c->stores[cell * bytes + k] & 127) != 0;
        }
        if (!stored || c->cells == NULL) {
            continue;
        }
        const struct cell_writer *w = &c->cells[cell].last;
        o->by[side].stored = true;
        o->by[side].block[0] = w->block % l->grid[0];
        o->by[side].block[1] = w->block / l->grid[0] % l->grid[1];
        o->by[side].block[2] = w->block / l->grid[0] / l->grid[1];
        o->by[side].warp = w->thread / 32;
        o->by[side].lane = w->thread % 32;
        o->by[side].text = w->instruction < t->site_count ? instruction_of(m, t->sites[w->instruction].text) : NULL;
        return;
    }
}

static void find_output(const struct in_step_ran *a, const struct in_step_ran *b,
                        const struct ptx_module *const modules[2], struct output_difference *o) {
    for (size_t i = 0; i < b->bound.launch.buffer_count && o->buffer == NULL; ++i) {
        const struct launch_buffer *x = &a->bound.launch.buffers[i], *y = &b->bound.launch.buffers[i];
        if ((x->role != BUFFER_OUT && x->role != BUFFER_INOUT) || memcmp(x->data, y->data, x->bytes) == 0) {
            continue;
        }
        o->buffer = x->name;
        o->cell_bytes = x->cell_bytes;
        o->is_f32 = x->is_f32;
        o->cells = x->bytes / x->cell_bytes;
        for (size_t k = 0; k < o->cells; ++k) {
            if (memcmp(x->data + k * x->cell_bytes, y->data + k * x->cell_bytes, x->cell_bytes) != 0 &&
                o->wrong++ == 0) {
                o->cell = k;
            }
        }
        o->offset = o->cell * x->cell_bytes;
        for (; x->cell_bytes > 8 && x->data[o->offset] == y->data[o->offset];) {
            ++o->offset;
        }
        const size_t left = (o->cell + 1) * x->cell_bytes - o->offset, bytes = left < 8 ? left : 8;
        memcpy(&o->value[0], x->data + o->offset, bytes);
        memcpy(&o->value[1], y->data + o->offset, bytes);
        find_writer(a, modules[0], i, o->cell, o, 0);
        find_writer(b, modules[1], i, o->cell, o, 1);
    }
}

void in_step_tell(struct comparison *x, struct in_step_ran *a, const struct in_step_ran *b) {
    struct parting *p = &x->out->parting;
    for (int k = 0; k < DIFFERENCES; ++k) {
        if (x->out->first[k].found) {
            fill(&x->out->first[k], (enum difference_kind)k, &x->targets[k]);
        }
    }
    if (p->found) {
        const uint32_t *grid = bound_launch(&a->bound, p->launch - 1)->grid;
        p->block[0] = (uint32_t)(x->parting.when.block % grid[0]);
        p->block[1] = (uint32_t)(x->parting.when.block / grid[0] % grid[1]);
        p->block[2] = (uint32_t)(x->parting.when.block / grid[0] / grid[1]);
        fill_text(&p->side[0], &x->parting.a);
        fill_text(&p->side[1], &x->parting.b);
    }
    find_earliest(x);
    x->out->ran[0] = sequence_complete(&a->runs);
    x->out->ran[1] = sequence_complete(&b->runs);
    find_output(a, b, x->out->modules, &x->out->output);
    find_causes(x);
}
