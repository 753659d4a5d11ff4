/* The functions of a program, one after the other: the entry, then those that it may call. Each has its own registers,
 * .param words and predicates in the register file, so that decoding grows with the text and not with the calls. */
#include "../../ref/checked.h"
#include "origin.h"
#include "undefined.h"
#include <stdlib.h>
#include <string.h>

/* Registers of up to 32 bits, the words of the .param frame, wider registers (struct callee, window). */
static bool place_registers(struct decoder *d) {
    struct callee *c = d->c;
    const struct ptx_function *f = d->f;
    d->slot = must_calloc(f->register_count, sizeof *d->slot);
    d->read_across = must_calloc(f->register_count, sizeof *d->read_across);
    c->window = (uint32_t)d->file_end;
    c->preds = d->pred_end;
    for (size_t i = 0; i < f->register_count; ++i) {
        const enum ptx_type t = f->registers[i].type;
        if (t == PTX_PRED) {
            d->slot[i] = d->pred_end++;
        } else if (type_bits(t) <= 32) {
            d->slot[i] = (uint32_t)d->file_end;
            d->file_end += 128;
        }
    }
    size_t scratch = 0;
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const size_t bytes = call_scratch(&f->instructions[i]);
        scratch = bytes > scratch ? bytes : scratch;
    }
    if (f->frame_bytes > MOST_FRAME)
        return fail(d->e,
                    "%.600s:%d: the parameters of %.200s and of its calls take %zu bytes, at most %d are possible",
                    d->m->path, f->ptx_line, f->name, f->frame_bytes, MOST_FRAME);
    /* An entry's own parameters are constants. */
    const size_t lowest = f->entry ? (f->param_bytes + 3) / 4 : 0, frame = (f->frame_bytes + 3) / 4;
    c->words = (uint32_t)d->file_end - 128 * (uint32_t)lowest;
    d->scratch = 4 * (frame > lowest ? frame : lowest);
    d->file_end += 128 * (frame > lowest ? frame - lowest : 0) + 32 * scratch;
    c->window_wide = (uint32_t)d->file_end;
    for (size_t i = 0; i < f->register_count; ++i) {
        const enum ptx_type t = f->registers[i].type;
        if (t == PTX_PRED || type_bits(t) <= 32)
            continue;
        d->slot[i] = (uint32_t)d->file_end;
        d->file_end += 4 * type_bits(t);
    }
    c->window_shadow = c->window_end = (uint32_t)d->file_end;
    return true;
}

/* Local memory of the function, and of its parameters whose address is taken. */
static bool place_frame(struct decoder *d) {
    struct callee *c = d->c;
    const struct ptx_function *f = d->f;
    size_t alignment = f->local_alignment ? f->local_alignment : 1, start = 0;
    d->spill = must_calloc(f->param_count + 1, sizeof *d->spill);
    if (f->entry)
        start = (d->m->local_bytes + alignment - 1) / alignment * alignment;
    size_t end = f->local_bytes;
    for (size_t i = 0; i < f->instruction_count && !f->entry && end <= MOST_LOCAL; ++i)
        for (size_t k = 0; k < f->instructions[i].operand_count; ++k) {
            const struct ptx_operand *o = &f->instructions[i].operands[k];
            const int n = o->kind == PTX_OP_VARIABLE && own_param(d, o) ? formal(d, o->variable) : -1;
            if (n < 0 || d->spill[n])
                continue;
            const struct ptx_variable *v = &d->m->variables[o->variable];
            end = (end + v->alignment - 1) / v->alignment * v->alignment;
            d->spill[n] = (uint32_t)end + 1;
            end += v->bytes;
            alignment = v->alignment > alignment ? v->alignment : alignment;
        }
    const uint32_t limit = local_limit((d->l->block[0] * d->l->block[1] * d->l->block[2] + LANES - 1) / LANES);
    if (end > limit || start > limit - end)
        return fail(
            d->e, "%.600s:%d: %.200s takes %zu bytes of local memory, at most %u are possible in a block of this size",
            d->m->path, f->ptx_line, f->name, start + end, limit);
    c->local_start = (uint32_t)start;
    c->local_bytes = (uint32_t)end;
    c->local_alignment = (uint32_t)alignment;
    return true;
}

void reach(struct decoder *d, size_t function) {
    struct program *p = d->p;
    if (p->callees[function].f || d->m->functions[function].declared_only)
        return;
    p->callees[function].f = &d->m->functions[function];
    p->order[p->order_count++] = (uint32_t)function;
}

/* Offsets and record numbers have 32 bits. */
static bool check_room(const struct decoder *d) {
    const char *entry = d->p->entry->name;
    if (d->file_end > UINT32_MAX / 2)
        return fail(d->e, "%.600s: entry %.200s has too many registers", d->m->path, entry);
    return d->p->record_count <= UINT32_MAX / 2 ||
           fail(d->e, "%.600s: entry %.200s has too many instructions", d->m->path, entry);
}

bool decode_body(struct decoder *d, int function) {
    struct program *p = d->p;
    d->function = function;
    d->f = &d->m->functions[function];
    d->c = &p->callees[function];
    d->c->site = (uint32_t)p->site_count;
    d->c->first = (uint32_t)p->record_count;
    size_t *start = must_calloc(d->f->instruction_count + 1, sizeof *start);
    bool ok = place_registers(d) && place_frame(d);
    d->index = 0;
    d->guard = 0;
    d->first = false;
    d->temps = d->pred_temps = 0;
    d->c->undefined = (uint32_t)p->undefined_count;
    if (ok) {
        undefined_open(d);
        d->c->window_end = (uint32_t)d->file_end;
        d->c->preds_end = d->pred_end;
        ok = check_room(d);
    }
    if (ok)
        decode_prologue(d);
    for (size_t i = 0; ok && i < d->f->instruction_count; ++i) {
        d->in = &d->f->instructions[i];
        d->index = i;
        d->first = true;
        d->taken = d->temps = d->pred_temps = 0;
        d->guard = 0;
        if (d->in->guard >= 0)
            d->guard = d->slot[d->in->guard] | (d->in->guard_negated ? GUARD_NEGATED : 0);
        start[i] = p->record_count;
        count_executed(d);
        ok = on_architecture(d) && origin_aside(d) && undefined_before(d, decode_one) && decode_one(d) && step_aside(d);
        gather_asides(d, start[i]);
        ok = ok && check_room(d);
    }
    if (ok) {
        /* Falling off the end is an exit, or a return. */
        d->guard = 0;
        d->first = false;
        start[d->f->instruction_count] = p->record_count;
        if (d->f->entry)
            emit(d, NULL, BLEND_NONE, 0, 0, 0, 0, 0)->control = CONTROL_EXIT;
        else
            decode_return(d);
        link_records(d, start);
        find_undefined(d);
        p->site_count += d->f->instruction_count;
    }
    undefined_close(d);
    free(start), free(d->slot), free(d->read_across), free(d->spill);
    d->slot = NULL, d->read_across = NULL, d->spill = NULL;
    return ok;
}

/* Functions that can be called through their address: those that code of the program, or a variable, names. */
void reach_taken(struct decoder *d) {
    for (size_t i = 0; i < d->m->function_count; ++i)
        if (d->address_taken[i] && !d->m->functions[i].entry)
            reach(d, i);
}

/* ---- recursion ---- */

struct edges { /* who calls whom, as nodes of program.order, and one more: "any function by its address" */
    size_t nodes, count;
    uint32_t *from, *to;
};

static struct edges call_graph(const struct decoder *d) {
    const struct program *p = d->p;
    struct edges g = {.nodes = p->order_count + 1};
    size_t calls = 0;
    uint32_t *node = must_calloc(d->m->function_count, sizeof *node);
    for (size_t i = 0; i < p->order_count; ++i)
        node[p->order[i]] = (uint32_t)i;
    for (size_t i = 0; i < p->record_count; ++i)
        calls += p->records[i].control == CONTROL_CALL;
    g.from = must_calloc(calls + p->order_count, sizeof *g.from);
    g.to = must_calloc(calls + p->order_count, sizeof *g.to);
    for (size_t i = 0, k = 0; i < p->record_count; ++i) {
        while (k + 1 < p->order_count && i >= p->callees[p->order[k + 1]].first)
            ++k;
        if (p->records[i].control != CONTROL_CALL)
            continue;
        g.from[g.count] = (uint32_t)k;
        g.to[g.count++] = p->records[i].dst == UINT32_MAX ? (uint32_t)p->order_count : node[p->records[i].dst];
    }
    for (size_t i = 0; i < p->order_count; ++i)
        if (d->address_taken[p->order[i]]) {
            g.from[g.count] = (uint32_t)p->order_count;
            g.to[g.count++] = (uint32_t)i;
        }
    free(node);
    return g;
}

/* Takes away, again and again, the nodes that are at the end of no edge that is left. */
static void peel(const struct edges *g, const uint32_t *start, const uint32_t *end, bool *gone) {
    uint32_t *open = must_calloc(g->nodes, sizeof *open), *ready = must_calloc(g->nodes, sizeof *ready);
    uint32_t *first = must_calloc(g->nodes + 1, sizeof *first), *next = must_calloc(g->nodes, sizeof *next);
    uint32_t *sorted = must_calloc(g->count, sizeof *sorted);
    size_t waiting = 0;
    for (size_t i = 0; i < g->count; ++i) {
        ++first[start[i] + 1];
        open[end[i]] += !gone[start[i]];
    }
    for (size_t i = 0; i < g->nodes; ++i) {
        first[i + 1] += first[i];
        next[i] = first[i];
        if (!gone[i] && !open[i])
            ready[waiting++] = (uint32_t)i;
    }
    for (size_t i = 0; i < g->count; ++i)
        sorted[next[start[i]]++] = end[i];
    while (waiting) {
        const uint32_t node = ready[--waiting];
        gone[node] = true;
        for (uint32_t i = first[node]; i < first[node + 1]; ++i)
            if (!gone[sorted[i]] && !--open[sorted[i]])
                ready[waiting++] = sorted[i];
    }
    free(open), free(ready), free(first), free(next), free(sorted);
}

/* A function that may be active when it is called: one on a cycle of calls. Between two cycles there may be some more,
 * which only costs them time. Linear in the number of calls. */
void find_recursion(struct decoder *d) {
    struct edges g = call_graph(d);
    bool *gone = must_calloc(g.nodes, sizeof *gone);
    peel(&g, g.to, g.from, gone); /* what calls nothing that is left */
    peel(&g, g.from, g.to, gone); /* what nothing that is left calls */
    for (size_t i = 0; i < d->p->order_count; ++i)
        d->p->callees[d->p->order[i]].recursive = !gone[i];
    free(gone), free(g.from), free(g.to);
}
