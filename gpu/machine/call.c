/* Calls of device functions: frames, arguments and results, the registers of an activation, and where lanes of several
 * activations stand to each other.
 *
 * A call has control = CONTROL_CALL; dst = function, or UINT32_MAX and a = register of the target's address; wide =
 * number of arguments, number of results, and for each of them, arguments first, the register file offset of its first
 * .param word, its bytes, and the offset of the words of their undefined bits, or 0. A return has control =
 * CONTROL_RETURN. Source: PTX ISA 9.0, 7.1, 9.7.12.5, 9.7.12.6. */
#include "../../ref/checked.h"
#include "machine.h"
#include <stdlib.h>
#include <string.h>

enum { LOCAL_ALIGNMENT = 16 };

static size_t words_of(size_t bytes) {
    return (bytes + 3) / 4;
}

static const struct program *program_of(const struct warp *w) {
    return w->block->machine->program;
}

/* ---- frames ---- */

static size_t saved_bytes(const struct ptx_module *m, const struct callee *c) {
    size_t results = 0;
    for (size_t i = 0; i < c->f->return_count; ++i)
        results += words_of(m->variables[c->f->returns[i]].bytes);
    return c->window_end - c->window + 4 * (size_t)(c->preds_end - c->preds) + 256 * results;
}

bool frames_open(struct block *b, struct error *e) {
    const struct program *p = b->machine->program;
    b->spare = calloc(p->module->function_count + 1, sizeof *b->spare);
    return b->spare || fail(e, "no memory for the frames of a block");
}

/* Spare frames hold on to their memory: what counts for the limit is what is in use, so that it does not matter which
 * blocks this CPU thread has run before. */
static size_t frame_bytes(const struct program *p, uint32_t function) {
    const struct callee *c = &p->callees[function];
    return sizeof(struct frame) + (c->recursive ? saved_bytes(p->module, c) : 0);
}

static void free_spare(struct block *b) {
    for (size_t i = 0; i < b->machine->program->module->function_count; ++i)
        for (struct frame *f = b->spare[i]; f; f = b->spare[i]) {
            b->spare[i] = f->next;
            free(f->saved);
            free(f);
        }
    b->spare_bytes = 0;
}

static void unlink_frame(struct frame *f, struct block *b) {
    if (f->previous)
        f->previous->next = f->next;
    else
        f->caller->child = f->next;
    if (f->next)
        f->next->previous = f->previous;
    const size_t bytes = frame_bytes(b->machine->program, f->function);
    b->frame_bytes -= bytes;
    b->spare_bytes += bytes;
    f->next = b->spare[f->function];
    b->spare[f->function] = f;
}

void frames_exit(struct frame *f, uint32_t lanes, struct block *b) {
    while (f->caller) {
        struct frame *caller = f->caller;
        f->lanes &= ~lanes;
        if (!f->lanes)
            unlink_frame(f, b);
        f = caller;
    }
}

/* Of a block that was stopped: its frames are spare ones again. */
static void drop_frames(struct frame *root, struct block *b) {
    struct frame *f = root;
    while (root->child) {
        while (f->child)
            f = f->child;
        struct frame *up = f->caller;
        unlink_frame(f, b);
        f = up;
    }
}

void frames_close(struct block *b) {
    for (uint32_t i = 0; b->warps && b->spare && i < b->machine->warps; ++i) {
        drop_frames(&b->warps[i].root, b);
        free(b->warps[i].local);
        free(b->warps[i].local_written);
    }
    if (b->spare)
        free_spare(b);
    free(b->spare);
}

void frames_start(struct warp *w, uint32_t lanes) {
    struct block *b = w->block;
    const struct program *p = program_of(w);
    const struct callee *entry = &p->callees[p->order[0]];
    const uint32_t end = entry->local_start + entry->local_bytes; /* the module's variables come first */
    uint32_t from[LANES] = {0}, to[LANES];
    drop_frames(&w->root, b);
    w->root = (struct frame){.function = p->order[0], .lanes = lanes};
    for (int i = 0; i < LANES; ++i) {
        w->root.base[i] = 0; /* the module's local variables are there in every thread */
        w->root.end[i] = to[i] = end;
    }
    w->frame = &w->root;
    const size_t lowest = words_of(entry->f->param_bytes), words = words_of(entry->f->frame_bytes);
    if (words > lowest) /* .param variables of the entry's calls: a read of one that nothing has set is the poison */
        memset(w->regs + (uint32_t)(entry->words + 128 * (uint32_t)lowest), 0xff, 128 * (words - lowest));
    if (end && local_room(w, end)) /* always so: decode.c has looked at its size */
        local_clear(w, ALL_LANES, from, to);
}

static struct frame *new_frame(struct warp *w, struct frame *caller, uint32_t function, uint32_t back) {
    struct block *b = w->block;
    const struct callee *c = &program_of(w)->callees[function];
    struct frame *f = b->spare[function];
    const size_t bytes = frame_bytes(program_of(w), function);
    if (b->frame_bytes + bytes > MOST_STACK_BYTES)
        return NULL;
    b->frame_bytes += bytes;
    if (f) {
        b->spare[function] = f->next;
        b->spare_bytes -= bytes;
    } else {
        if (b->spare_bytes > MOST_STACK_BYTES)
            free_spare(b);
        f = must_calloc(1, sizeof *f);
        f->saved = c->recursive ? must_calloc(bytes - sizeof *f, 1) : NULL;
    }
    f->caller = caller;
    f->child = f->previous = NULL;
    f->next = caller->child;
    if (f->next)
        f->next->previous = f;
    caller->child = f;
    f->function = function;
    f->back = back;
    f->depth = caller->depth + 1;
    f->lanes = 0;
    return f;
}

int frame_order(const struct frame *a, uint32_t pc_a, const struct frame *b, uint32_t pc_b) {
    uint32_t in_a = UINT32_MAX, in_b = UINT32_MAX; /* the functions in which they are, as seen from the common frame */
    while (a != b) {
        const bool up_a = a->depth >= b->depth, up_b = b->depth >= a->depth;
        if (up_a) {
            pc_a = a->back - 1;
            in_a = a->function;
            a = a->caller;
        }
        if (up_b) {
            pc_b = b->back - 1;
            in_b = b->function;
            b = b->caller;
        }
    }
    if (pc_a != pc_b)
        return pc_a < pc_b ? -1 : 1;
    if (in_a == in_b)
        return 0;
    if (in_a == UINT32_MAX || in_b == UINT32_MAX) /* who is about to call comes first */
        return in_a == UINT32_MAX ? -1 : 1;
    return in_a < in_b ? -1 : 1;
}

/* ---- registers of an activation ---- */

static void copy_lanes(void *to, const void *from, size_t bytes, uint32_t mask, bool wide) {
    if (mask == ALL_LANES) {
        memcpy(to, from, bytes);
        return;
    }
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        if (wide)
            for (size_t i = lane; i < bytes / 8; i += LANES)
                ((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
        else
            for (size_t i = lane; i < bytes / 4; i += LANES)
                ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
    }
}

/* Between the registers and where they are kept. */
static void copy_window(struct warp *w, const struct callee *c, uint8_t *saved, uint32_t mask, bool save) {
    const uint32_t bounds[] = {c->window, c->window_wide, c->window_shadow, c->window_end};
    uint8_t *window = w->regs + c->window;
    for (int i = 0; i < 3; ++i) {
        uint8_t *here = window + (bounds[i] - c->window), *kept = saved + (bounds[i] - c->window);
        copy_lanes(save ? kept : here, save ? here : kept, bounds[i + 1] - bounds[i], mask, i == 1);
    }
    uint32_t *preds = (uint32_t *)(void *)(saved + (c->window_end - c->window));
    for (uint32_t i = c->preds; i < c->preds_end; ++i) {
        uint32_t *here = &w->preds[i], *kept = &preds[i - c->preds], *to = save ? kept : here;
        *to = (*to & ~mask) | ((save ? *here : *kept) & mask);
    }
}

static void copy_words(const struct warp *w, uint32_t to, uint32_t from, size_t bytes, uint32_t mask) {
    copy_lanes(w->regs + to, w->regs + from, 128 * words_of(bytes), mask, false);
}

/* Undefined bits; 0: all are defined, or nobody asks. */
static void copy_undefined(const struct warp *w, uint32_t to, const uint8_t *from, size_t bytes, uint32_t mask) {
    if (to && from)
        copy_lanes(w->regs + to, from, 128 * words_of(bytes), mask, false);
    for (uint32_t k = 0; to && !from && k < words_of(bytes); ++k)
        for (uint32_t left = mask; left; left &= left - 1)
            reg32(w, to + 128 * k)[__builtin_ctz(left)] = 0;
}

static uint32_t word_offset(const struct callee *c, const struct ptx_variable *v) {
    return c->words + 128 * (uint32_t)(v->offset / 4);
}

/* What the function may read before it writes it holds the poison: registers, predicates, results, .param variables. */
static void poison_window(struct warp *w, const struct callee *c, uint32_t mask) {
    const struct program *p = program_of(w);
    for (uint32_t k = c->undefined; k < c->undefined_end; ++k)
        for (uint32_t left = mask; left; left &= left - 1) {
            const unsigned lane = (unsigned)__builtin_ctz(left);
            if (p->undefined_wide[k])
                reg64(w, p->undefined[k])[lane] = UINT64_MAX;
            else
                reg32(w, p->undefined[k])[lane] = UINT32_MAX;
        }
    for (uint32_t i = c->preds; i < c->preds_end; ++i)
        w->preds[i] &= ~mask;
    for (size_t k = words_of(c->f->param_bytes); k < words_of(c->f->frame_bytes); ++k) {
        uint32_t *word = reg32(w, c->words + 128 * (uint32_t)k);
        for (int i = 0; i < LANES; ++i)
            word[i] |= mask >> i & 1 ? UINT32_MAX : 0;
    }
}

/* ---- calls ---- */

/* Arguments and results have the sizes that the function wants. */
static bool has_shape(const struct program *p, const struct callee *c, const uint32_t *list) {
    const struct ptx_function *f = c->f;
    if (list[0] != f->param_count || list[1] != f->return_count)
        return false;
    for (uint32_t i = 0; i < list[0] + list[1]; ++i) {
        const int v = i < list[0] ? f->params[i] : f->returns[i - list[0]];
        if (p->module->variables[v].bytes != list[3 + 3 * i])
            return false;
    }
    return true;
}

static struct frame *bad_call(struct warp *w, const struct record *r, uint32_t mask, enum event_kind kind,
                              int64_t offset, size_t bytes) {
    const struct event v = {.kind = kind,
                            .space = kind == EVENT_STACK ? SPACE_LOCAL : SPACE_NONE,
                            .buffer = -1,
                            .plane = -1,
                            .other_plane = -1,
                            .offset = offset,
                            .bytes = bytes};
    stop_block(w, r, (unsigned)__builtin_ctz(mask), v);
    return NULL;
}

/* Local memory of the lanes that come to frame f. False: there is not so much. */
static bool enter_local(struct warp *w, struct frame *f, const struct callee *c, uint32_t mask) {
    const uint32_t alignment = c->local_alignment > LOCAL_ALIGNMENT ? c->local_alignment : LOCAL_ALIGNMENT;
    uint32_t most = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t base = f->caller->end[lane];
        if (c->local_bytes)
            base = (base + FRAME_GAP + alignment - 1) / alignment * alignment; /* far from 2^32: see MOST_LOCAL */
        f->base[lane] = base;
        f->end[lane] = base + c->local_bytes;
        most = f->end[lane] > most ? f->end[lane] : most;
    }
    if (!local_room(w, most))
        return false;
    if (c->local_bytes)
        local_clear(w, mask, f->base, f->end);
    return true;
}

struct frame *call_enter(struct warp *w, const struct record *r, uint32_t mask, uint32_t *went) {
    const struct program *p = program_of(w);
    const uint32_t *list = w->wide + r->wide;
    uint32_t function = r->dst;
    if (function == UINT32_MAX) {
        const uint64_t *target = reg64(w, r->a), first = target[__builtin_ctz(mask)];
        uint32_t same = 0;
        for (uint32_t left = mask; left; left &= left - 1)
            if (target[__builtin_ctz(left)] == first)
                same |= left & -left;
        mask = same;
        const uint64_t index = (first - CODE_WINDOW) / CODE_BYTES;
        if (first < CODE_WINDOW || first % CODE_BYTES || index >= p->module->function_count || !p->callees[index].f ||
            p->callees[index].f->entry || !has_shape(p, &p->callees[index], list))
            return bad_call(w, r, mask, EVENT_BAD_TARGET, (int64_t)first, 8);
        function = (uint32_t)index;
    }
    *went = mask;
    const struct callee *c = &p->callees[function];
    const uint32_t back = w->pc + 1;
    struct frame *caller = w->frame, *f = caller->child;
    while (f && (f->back != back || f->function != function))
        f = f->next;
    if (!f && caller->depth + 1 < MOST_DEPTH)
        f = new_frame(w, caller, function, back);
    if (!f)
        return bad_call(w, r, mask, EVENT_STACK, caller->depth + 1, 0);
    f->lanes |= mask;
    if (!enter_local(w, f, c, mask))
        return bad_call(w, r, mask, EVENT_STACK, caller->depth + 1, c->local_bytes);
    if (f->saved)
        copy_window(w, c, f->saved, mask, true);
    for (uint32_t i = 0; i < list[0]; ++i) {
        const uint32_t *one = list + 2 + 3 * i;
        copy_words(w, word_offset(c, &p->module->variables[c->f->params[i]]), one[0], one[1], mask);
        copy_undefined(w, p->param_shadows[c->f->params[i]], one[2] ? w->regs + one[2] : NULL, one[1], mask);
    }
    poison_window(w, c, mask);
    return f;
}

struct frame *call_leave(struct warp *w, uint32_t mask, uint32_t *back) {
    struct frame *f = w->frame, *caller = f->caller;
    const struct program *p = program_of(w);
    const struct callee *c = &p->callees[f->function];
    const uint32_t *list = w->wide + p->records[f->back - 1].wide, *to = list + 2 + 3 * list[0];
    const size_t kept = c->window_end - c->window + 4 * (size_t)(c->preds_end - c->preds);
    uint8_t *results = f->saved ? f->saved + kept : NULL; /* they outlive the window, in which the caller may be */
    for (int pass = 0; pass < 2; ++pass) {
        uint8_t *at = results;
        for (uint32_t i = 0; i < list[1]; ++i) {
            const uint32_t *one = to + 3 * i, undefined = p->param_shadows[c->f->returns[i]];
            const size_t bytes = 128 * words_of(one[1]);
            const uint8_t *from = w->regs + word_offset(c, &p->module->variables[c->f->returns[i]]),
                          *bits = undefined ? w->regs + undefined : NULL;
            if (!results && pass) {
                copy_lanes(w->regs + one[0], from, bytes, mask, false);
                copy_undefined(w, one[2], bits, one[1], mask);
            } else if (results && pass) {
                copy_lanes(w->regs + one[0], at, bytes, mask, false);
                copy_undefined(w, one[2], bits ? at + bytes : NULL, one[1], mask);
            } else if (results) {
                copy_lanes(at, from, bytes, mask, false);
                if (bits)
                    copy_lanes(at + bytes, bits, bytes, mask, false);
            }
            at = results ? at + 2 * bytes : NULL;
        }
        if (!pass && f->saved)
            copy_window(w, c, f->saved, mask, false);
    }
    *back = f->back;
    f->lanes &= ~mask;
    if (!f->lanes)
        unlink_frame(f, w->block);
    return caller;
}
