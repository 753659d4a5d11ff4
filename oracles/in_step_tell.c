/* Puts what in_step.c found in words of the modules. */
#include "in_step_run.h"
#include <string.h>

static const struct trace *trace_of(const struct in_step_ran *r, size_t launch) {
    return launch <= r->runs.count ? &r->runs.traces[launch - 1] : NULL;
}

static void fill_site(struct in_step_side *side, const struct snapshot *s, const struct trace *t) {
    side->present = s->taken && t != NULL && s->site < t->site_count;
    if (side->present) {
        side->site = t->sites[s->site];
    }
}

static void fill(struct difference *d, enum difference_kind kind, const struct target *t, const struct in_step_ran *a,
                 const struct in_step_ran *b) {
    const struct snapshot *of[2] = {&t->a, &t->b};
    size_t value = 0;
    fill_site(&d->side[0], of[0], trace_of(a, d->launch));
    fill_site(&d->side[1], of[1], trace_of(b, d->launch));
    const bool moves = d->apart && kind == DIFFERENCE_SHARED;
    if (!snapshots_differ(of[0], of[1], moves, &d->lane, &value, &d->lanes)) { /* one has none, or it is not among those kept */
        d->lane = (unsigned)__builtin_ctz(t->b.lanes);
        d->lanes = t->b.lanes;
        value = d->apart && t->b.has_address && t->b.count > 1 ? 1 : 0;
    }
    for (int k = 0; k < 2; ++k) {
        const bool has = value < of[k]->count;
        d->side[k].executed = d->side[k].present && has && of[k]->lanes >> d->lane & 1;
        d->side[k].name = has ? of[k]->names[value] : NULL;
        d->side[k].value = has ? of[k]->values[value][d->lane] : 0;
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

static struct trace_site site_of(const struct ptx_module *m, const struct ptx_instruction *in) {
    const bool known = in->file >= 0 && (size_t)in->file < m->file_count,
               inlined = in->inlined_file >= 0 && (size_t)in->inlined_file < m->file_count;
    return (struct trace_site){.file = known ? m->files[in->file] : NULL,
                               .line = in->line,
                               .inlined_file = inlined ? m->files[in->inlined_file] : NULL,
                               .inlined_line = in->inlined_line,
                               .ptx_line = in->ptx_line,
                               .text = in->text};
}

static void find_causes(struct comparison *x) {
    struct in_step *out = x->out;
    const struct target *t = out->earliest >= 0 ? &x->targets[out->earliest] : &x->parting;
    const struct snapshot *of[2] = {&t->a, &t->b};
    if (out->earliest < 0 && !out->parting.found) {
        return;
    }
    bool found = false;
    const bool paired = out->earliest >= 0 && !out->first[out->earliest].apart;
    for (int near = !paired; near < 2 && !found; ++near) {
        out->causes.near = near;
        for (int k = 0; k < 2; ++k) {
            uint32_t at[CAUSES + 1];
            if (!of[k]->taken) {
                continue;
            }
            const uint32_t number = aligned_number(x->programs, k, of[k]->text);
            const size_t n = number == ALIGNED_NONE ? 0
                             : near                 ? near_causes(x->programs, k, number, at)
                                                    : aligned_causes(x->programs, k, number, at, CAUSES + 1);
            for (size_t i = 0; i < n; ++i) {
                if (at[i] != number && out->causes.count[k] < CAUSES) {
                    out->causes.at[k][out->causes.count[k]++] =
                        (struct in_step_cause){site_of(x->programs->modules[k], aligned_instruction(x->programs, k, at[i])),
                                               (enum aligned_how)x->programs->how[k][at[i]]};
                }
            }
            found |= n > 0;
        }
    }
    if (paired && of[1]->taken) {
        out->first[out->earliest].how =
            (enum aligned_how)x->programs->how[1][aligned_number(x->programs, 1, of[1]->text)];
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

static void find_writer(const struct in_step_ran *r, size_t buffer, size_t cell, struct output_difference *o, int side) {
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
        o->by[side].site = w->instruction < t->site_count ? t->sites[w->instruction] : (struct trace_site){0};
        return;
    }
}

static void find_output(const struct in_step_ran *a, const struct in_step_ran *b, struct output_difference *o) {
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
        find_writer(a, i, o->cell, o, 0);
        find_writer(b, i, o->cell, o, 1);
    }
}

void in_step_tell(struct comparison *x, struct in_step_ran *a, const struct in_step_ran *b) {
    struct parting *p = &x->out->parting;
    for (int k = 0; k < DIFFERENCES; ++k) {
        if (x->out->first[k].found) {
            fill(&x->out->first[k], (enum difference_kind)k, &x->targets[k], a, b);
        }
    }
    if (p->found) {
        const uint32_t *grid = bound_launch(&a->bound, p->launch - 1)->grid;
        p->block[0] = (uint32_t)(x->parting.when.block % grid[0]);
        p->block[1] = (uint32_t)(x->parting.when.block / grid[0] % grid[1]);
        p->block[2] = (uint32_t)(x->parting.when.block / grid[0] / grid[1]);
        fill_site(&p->side[0], &x->parting.a, trace_of(a, p->launch));
        fill_site(&p->side[1], &x->parting.b, trace_of(b, p->launch));
    }
    find_earliest(x);
    find_causes(x);
    x->out->ran[0] = sequence_complete(&a->runs);
    x->out->ran[1] = sequence_complete(&b->runs);
    find_output(a, b, &x->out->output);
}
