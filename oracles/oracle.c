#include "oracle.h"
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "../ref/half.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct oracle oracle_launch, oracle_guard, oracle_sync, oracle_uninit, oracle_hazard, oracle_coverage,
    oracle_approximate, oracle_parity, oracle_schedule, oracle_truth, oracle_canary, oracle_census;

const struct oracle *const oracles[] = {
    &oracle_launch,   &oracle_guard,       &oracle_sync,   &oracle_uninit,   &oracle_hazard,
    &oracle_coverage, &oracle_approximate, &oracle_parity, &oracle_schedule, &oracle_truth,
    &oracle_canary,   &oracle_census,      NULL,
};

void where_site(struct where *p, const struct trace *t, size_t instruction) {
    if (instruction >= t->site_count) {
        return;
    }
    const struct trace_site *s = &t->sites[instruction];
    p->file = s->file != NULL && s->line > 0 ? must_strdup(s->file) : NULL;
    p->line = s->line;
    p->inlined_file = p->file != NULL && s->inlined_file != NULL ? must_strdup(s->inlined_file) : NULL;
    p->inlined_line = s->inlined_line;
    p->ptx_line = s->ptx_line;
    p->place = s->place;
    p->instruction = s->text != NULL ? must_strdup(s->text) : NULL;
}

void where_writer(struct where *p, const struct launch *l, const struct trace *t, const struct cell_writer *w) {
    p->has_thread = true;
    p->block[0] = (uint32_t)(w->block % l->grid[0]);
    p->block[1] = (uint32_t)(w->block / l->grid[0] % l->grid[1]);
    p->block[2] = (uint32_t)(w->block / l->grid[0] / l->grid[1]);
    p->warp = w->thread / 32;
    p->lane = w->thread % 32;
    where_site(p, t, w->instruction);
}

const char *where_text(const struct where *p) {
    static _Thread_local char text[2 * 4096 + 64]; /* two paths of the longest kind */
    if (p->file != NULL && p->inlined_file != NULL && strcmp(p->file, p->inlined_file) != 0) {
        snprintf(text, sizeof text, "%s:%d (inlined at %s:%d)", p->file, p->line, p->inlined_file, p->inlined_line);
    } else if (p->file != NULL) {
        snprintf(text, sizeof text, "%s:%d", p->file, p->line);
    } else if (p->ptx_line > 0) {
        snprintf(text, sizeof text, "PTX line %d", p->ptx_line);
    } else {
        snprintf(text, sizeof text, "unknown place");
    }
    return text;
}

char *writer_text(const struct launch *l, const struct trace *t, const struct cell_writer *w) {
    struct where p = {.cell = {-1, -1}};
    where_writer(&p, l, t, w);
    char *text = must_format("block (%u,%u,%u) warp %u lane %u at %s", p.block[0], p.block[1], p.block[2], p.warp,
                             p.lane, where_text(&p));
    free(p.file);
    free(p.inlined_file);
    free(p.instruction);
    return text;
}

bool trace_same_line(const struct trace *t, size_t a, size_t b) {
    if (a == b) {
        return true;
    }
    if (a >= t->site_count || b >= t->site_count) {
        return false;
    }
    const struct trace_site *x = &t->sites[a], *y = &t->sites[b];
    return x->file != NULL && y->file != NULL && x->line > 0 && x->line == y->line && strcmp(x->file, y->file) == 0;
}

bool trace_same_place(const struct trace *t, size_t a, size_t b) {
    if (a == b) {
        return true;
    }
    if (a >= t->site_count || b >= t->site_count) {
        return false;
    }
    const struct trace_site *x = &t->sites[a], *y = &t->sites[b];
    const size_t n = x->text != NULL ? strcspn(x->text, " \t") : 0;
    return x->place != 0 && x->place == y->place && x->text != NULL && y->text != NULL &&
           strcspn(y->text, " \t") == n && strncmp(x->text, y->text, n) == 0;
}

static bool same_fault(const struct evidence *e, const struct event *a, const struct event *b) {
    return a->kind == b->kind && a->plane == b->plane && a->other_plane == b->other_plane && a->buffer == b->buffer &&
           a->store == b->store && (a->space != SPACE_GLOBAL || a->name == b->name) &&
           trace_same_line(e->trace, a->instruction, b->instruction);
}

static bool begins(const char *text, const char *opcode) {
    return strncmp(text, opcode, strlen(opcode)) == 0;
}

const char *access_word(const struct trace *t, size_t instruction, bool store) {
    const char *text = instruction < t->site_count ? t->sites[instruction].text : NULL;
    if (text != NULL && begins(text, "cp.async")) {
        return "copy";
    }
    if (text != NULL && (begins(text, "atom.") || begins(text, "red."))) {
        return "atomic";
    }
    return store ? "store" : "load";
}

char *access_text(const struct evidence *e, size_t instruction, size_t bytes, bool store) {
    return must_format("%zu-byte %s", bytes, access_word(e->trace, instruction, store));
}

bool evidence_fragments(const struct evidence *e) {
    const struct ptx_module *m = e->launch->module;
    for (size_t i = 0; m != NULL && i < m->function_count; ++i) {
        for (size_t k = 0; k < m->functions[i].instruction_count; ++k) {
            const char *opcode = m->functions[i].instructions[k].opcode;
            if (strcmp(opcode, "mma") == 0 || strcmp(opcode, "ldmatrix") == 0) {
                return true;
            }
        }
    }
    return false;
}

bool event_repeats(const struct evidence *e, size_t i) {
    for (size_t k = 0; k < i; ++k) {
        if (same_fault(e, &e->trace->events[k], &e->trace->events[i])) {
            return true;
        }
    }
    return false;
}

struct finding *finding_of_event(struct findings *out, const char *oracle, enum verdict v, const struct evidence *e,
                                 size_t i, char *summary, const char *suspects) {
    const struct event *event = &e->trace->events[i];
    uint64_t accesses = 0, instructions = 0;
    for (size_t k = i; k < e->trace->event_count; ++k) {
        if (same_fault(e, event, &e->trace->events[k])) {
            accesses += e->trace->events[k].count;
            ++instructions;
        }
    }
    struct finding *f = findings_add(out, oracle, v);
    f->summary = summary;
    f->suspects = must_strdup(suspects);
    f->extent = accesses;
    f->where.has_thread = true;
    memcpy(f->where.block, event->block, sizeof f->where.block);
    f->where.warp = event->warp;
    f->where.lane = event->lane;
    if (!event->anonymous) {
        where_site(&f->where, e->trace, event->instruction);
    }
    f->shared.lanes = event->lanes.mask;
    f->shared.bytes = (unsigned)event->bytes;
    memcpy(f->shared.at, event->lanes.at, sizeof f->shared.at);
    finding_line(f, oracle, "%s", summary);
    if (event->anonymous) {
        f->where.has_thread = false;
        finding_line(f, "by", "a real GPU does not say which thread; --runner machine does");
        return f;
    }
    finding_line(f, "by",
                 "block (%u,%u,%u) warp %u lane %u first; %" PRIu64 " lane%s in all, at %" PRIu64 " instruction%s",
                 event->block[0], event->block[1], event->block[2], event->warp, event->lane, accesses,
                 plural(accesses), instructions, plural(instructions));
    finding_line(f, "site", "%s  %s", where_text(&f->where), f->where.instruction ? f->where.instruction : "");
    return f;
}

/* The token and the block that a byte of a buffer belongs to. In a layout of the format's own it is the block that
 * shows the byte when all others are zero; false where no block does. */
static bool block_of(const struct activation_format *f, const struct contract_operands *o, size_t bytes, size_t at,
                     size_t *token, size_t *block) {
    const size_t blocks = o->id / f->block_values; /* a token */
    if (f->get == NULL) {
        *token = at / f->block_bytes / blocks;
        *block = at / f->block_bytes % blocks;
        return true;
    }
    uint8_t *marked = must_calloc(bytes, 1), seen[ACTIVATION_MOST_BYTES];
    bool found = false;
    marked[at] = 0xff;
    for (size_t i = 0; i < o->nt * blocks && !found; ++i) {
        *token = i / blocks;
        *block = i % blocks;
        f->get(marked, o->nt, o->id, *token, *block, seen);
        for (size_t k = 0; k < f->block_bytes && !found; ++k) {
            found = seen[k] != 0;
        }
    }
    free(marked);
    return found;
}

void where_cell(struct where *p, const struct evidence *e, size_t buffer, size_t cell) {
    const struct launch_buffer *b = &e->launch->buffers[buffer];
    p->buffer = must_strdup(b->name);
    p->offset = (int64_t)(cell * b->cell_bytes);
    if (e->contract != NULL && strcmp(e->contract->result, "f32") == 0 && e->operands->od > 0) {
        p->cell[0] = (int64_t)(cell / e->operands->od);
        p->cell[1] = (int64_t)(cell % e->operands->od);
        p->axis[0] = "token";
        p->axis[1] = "row";
        return;
    }
    const struct activation_format *f = e->contract != NULL ? activation_named(e->contract->result) : NULL;
    if (f != NULL) {
        size_t token, block;
        if (block_of(f, e->operands, b->bytes, cell * b->cell_bytes, &token, &block)) {
            p->cell[0] = (int64_t)token;
            p->cell[1] = (int64_t)block;
            p->axis[0] = "token";
            p->axis[1] = "block";
            return;
        }
        /* padding of the layout, which belongs to no token */
    }
    p->cell[0] = (int64_t)cell;
    p->axis[0] = "element";
}

uint64_t cell_value(const uint8_t *bytes, size_t n) {
    uint64_t v = 0;
    memcpy(&v, bytes, n);
    return v;
}

char *cell_text(uint64_t v, unsigned bytes, bool is_f32) {
    return is_f32 ? must_format("0x%08x %.9g", (unsigned)v, (double)bits_float((uint32_t)v))
                  : must_format("0x%0*" PRIx64, (int)bytes * 2, v);
}

/* A byte still is as the launch found it: not stored, or, where stores are not counted, poison. */
static bool byte_unwritten(const struct evidence *e, size_t buffer, size_t i) {
    const struct launch_buffer *b = &e->launch->buffers[buffer];
    if (e->trace->has_coverage) {
        return (e->trace->coverage[buffer].stores[i] & 127) == 0 && (b->written == NULL || b->written[i] == 0);
    }
    uint8_t poison[4];
    memcpy(poison, &e->poison, 4);
    return b->data[i] == poison[i % 4];
}

static bool stores(const struct launch *l, const struct trace *t, size_t buffer, size_t cell) {
    const size_t n = l->buffers[buffer].cell_bytes;
    bool stored = false;
    for (size_t i = 0; t->has_coverage && i < n; ++i) {
        stored |= (t->coverage[buffer].stores[cell * n + i] & 127) != 0;
    }
    return stored;
}

static bool last_store(struct launch_run last, const struct launch_run *before, size_t count, size_t buffer,
                       size_t cell, struct launch_run *by) {
    for (*by = last; !stores(by->launch, by->trace, buffer, cell); *by = before[--count]) {
        if (count == 0) {
            return false;
        }
    }
    return true;
}

bool evidence_store(const struct evidence *e, size_t buffer, size_t cell, struct launch_run *by) {
    const struct launch_run own = {e->launch, e->trace, e->number, e->all, e->complete};
    return last_store(own, e->before, e->before_count, buffer, cell, by);
}

bool schedule_store(const struct evidence *e, const struct schedule_run *o, size_t buffer, size_t cell,
                    struct launch_run *by) {
    const struct launch_run own = {o->launch, o->trace, e->number, e->all, o->complete};
    return last_store(own, o->before, e->before_count, buffer, cell, by);
}

size_t evidence_unwritten(const struct evidence *e, size_t buffer, size_t cell) {
    const size_t n = e->launch->buffers[buffer].cell_bytes;
    size_t unwritten = 0;
    for (size_t i = 0; i < n; ++i) {
        unwritten += byte_unwritten(e, buffer, cell * n + i);
    }
    if (e->trace->has_coverage) {
        return unwritten;
    }
    const uint8_t *want = e->expected[buffer];
    const bool right = want != NULL && memcmp(want + cell * n, e->launch->buffers[buffer].data + cell * n, n) == 0;
    return unwritten == n && !right ? n : 0;
}
