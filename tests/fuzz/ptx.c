/* libFuzzer target: PTX text through the front end, and every entry of what parses on the PTX machine, in a plausible
 * launch. The sanitisers judge; beside them: a refusal has a message, events are sound, inputs stay as they were, and
 * the instruction sets of the CPU agree in every bit and event.
 *
 * The text may end in "//" and hexadecimal digits: what the launch looks like (struct knobs). So a file that broke
 * something is PTX as it stands. */
#include "../../gpu/machine/isa.h"
#include "../../ref/checked.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 4, ARGS = 16, MEMBERS = 8, MOST_ENTRIES = 3, MOST_VARIABLE_BYTES = 4 << 20 };

static uint64_t knobs;

/* The next choice of 0 .. n - 1. n is a power of two. */
static unsigned choose(unsigned n) {
    const unsigned chosen = knobs & (n - 1);
    knobs /= n;
    return chosen;
}

/* The digits at the end of the text, or 0. */
static uint64_t read_knobs(const uint8_t *bytes, size_t size) {
    size_t at = size;
    while (at && strchr("0123456789abcdef", bytes[at - 1]) && bytes[at - 1])
        --at;
    if (at < 2 || bytes[at - 1] != '/' || bytes[at - 2] != '/' || size - at > 16)
        return 0;
    char digits[17] = "";
    memcpy(digits, bytes + at, size - at);
    return strtoull(digits, NULL, 16);
}

struct setting { /* a launch, and what it points to */
    struct launch l;
    struct launch_buffer buffers[BUFFERS];
    struct launch_arg args[ARGS];
    struct launch_member members[ARGS][MEMBERS];
    struct launch_plane planes[2];
    uint8_t *before[BUFFERS];
};

static void set_buffers(struct setting *s) {
    static const size_t sizes[] = {1024, 4096, 64, 16};
    const unsigned roles = choose(16), size = choose(4), cell = choose(4);
    for (unsigned i = 0; i < BUFFERS; ++i) {
        const bool in = roles >> i & 1;
        struct launch_buffer *b = &s->buffers[i];
        *b = (struct launch_buffer){.name = "b",
                                    .role = in      ? BUFFER_IN
                                            : i & 1 ? BUFFER_OUT
                                                    : BUFFER_INOUT,
                                    .bytes = sizes[(size + i) % 4],
                                    .cell_bytes = (size_t)4 >> cell ? (size_t)4 >> cell : 8,
                                    .data = must_calloc(sizes[(size + i) % 4], 1)};
        for (size_t k = 0; k < b->bytes; ++k)
            b->data[k] = (uint8_t)(k % 4 ? 0 : k / 4 * 3 + i); /* small words */
        s->before[i] = must_calloc(b->bytes, 1);
        memcpy(s->before[i], b->data, b->bytes);
    }
}

static void set_struct(struct setting *s, unsigned i, const struct ptx_variable *v) {
    struct launch_arg *a = &s->args[i];
    *a = (struct launch_arg){.buffer = -1, .bytes = v->bytes, .members = s->members[i], .alignment = 1};
    for (size_t at = 0; at + 8 <= v->bytes && a->member_count < MEMBERS; at += 8) {
        const size_t k = a->member_count++;
        a->members[k] = (struct launch_member){.offset = at, .bytes = 8, .buffer = k % 3 == 2 ? -1 : (int)k % BUFFERS};
        a->members[k].value = 5 + k;
    }
}

static bool set_args(struct setting *s, const struct ptx_module *m, const struct ptx_function *f) {
    static const uint64_t values[] = {8, 1, 100, UINT64_MAX};
    const unsigned value = choose(4), no_buffer = choose(4) == 3;
    if (f->param_count > ARGS)
        return false;
    for (unsigned i = 0, buffer = 0; i < f->param_count; ++i) {
        const struct ptx_variable *v = &m->variables[f->params[i]];
        struct launch_arg *a = &s->args[i];
        if (v->bytes != ptx_type_bytes(v->type)) {
            set_struct(s, i, v);
            continue;
        }
        *a = (struct launch_arg){.buffer = -1, .bytes = v->bytes, .value = values[(value + i) % 4]};
        a->is_float = v->type == PTX_F32 || v->type == PTX_F64;
        if (v->bytes == 8 && !a->is_float && !no_buffer)
            a->buffer = (int)(buffer++ % BUFFERS);
    }
    return true;
}

static void set_block(struct launch *l, const struct ptx_function *f) {
    static const uint32_t shapes[][3] = {{32, 1, 1}, {64, 1, 1}, {40, 1, 1}, {8, 4, 2}};
    memcpy(l->block, shapes[choose(4)], sizeof l->block);
    l->grid[0] = 1 + choose(2);
    l->grid[1] = l->grid[2] = 1;
    for (int k = 0; f->reqntid[0] && k < 3; ++k)
        l->block[k] = f->reqntid[k] && f->reqntid[k] <= 1024 ? f->reqntid[k] : 1;
    if (f->maxntid[0] && f->maxntid[0] < l->block[0])
        l->block[0] = f->maxntid[0];
}

static void set_options(struct setting *s) {
    static const size_t arenas[] = {0, 2048, 100, 16384};
    struct launch *l = &s->l;
    l->shared_bytes = arenas[choose(4)];
    if (choose(2) && l->shared_bytes) {
        s->planes[0] = (struct launch_plane){"low", 0, l->shared_bytes / 2};
        s->planes[1] = (struct launch_plane){"high", l->shared_bytes / 2, l->shared_bytes - l->shared_bytes / 2};
        l->planes = s->planes;
        l->plane_count = 2;
    }
    l->step_budget = 400 + 800 * choose(4);
    l->threads = 1;
    l->options.census = choose(2);
    l->options.unwatched = choose(4) == 3 ? choose(256) : 0;
    const struct arch *arch = &archs[choose(8)];
    l->options.arch = choose(2) ? arch : arch_default();
    l->options.schedule.order = (enum schedule_order)(choose(4) % 3);
    l->options.schedule.async_early = choose(2);
    l->options.schedule.seed = knobs;
}

static bool set_up(struct setting *s, const struct ptx_module *m, const struct ptx_function *f) {
    *s = (struct setting){0};
    s->l = (struct launch){.module = m,
                           .entry = f->name,
                           .buffers = s->buffers,
                           .buffer_count = BUFFERS,
                           .args = s->args,
                           .arg_count = f->param_count};
    set_block(&s->l, f);
    set_options(s);
    set_buffers(s);
    return set_args(s, m, f);
}

static void tear_down(struct setting *s) {
    for (unsigned i = 0; i < BUFFERS; ++i) {
        free(s->buffers[i].data);
        free(s->before[i]);
    }
}

static void must(bool good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "ERROR: %s\n", what);
    abort();
}

static void check_trace(const struct setting *s, const struct trace *t) {
    for (size_t i = 0; i < t->event_count; ++i) {
        const struct event *v = &t->events[i];
        must(v->kind < EVENT_KINDS && v->count > 0 && v->lane < LANES && v->warp < 32 && v->block[0] < s->l.grid[0] &&
                 v->buffer < BUFFERS && v->plane < 2 && v->other_plane < 2,
             "an unsound event");
        must(v->kind == EVENT_LIMIT || v->instruction < t->site_count, "an event of no instruction");
        must(!v->other.present || (v->other.instruction < t->site_count && v->other.lane < LANES),
             "an event with an unsound other side");
    }
    for (size_t i = 0; i < t->print_count; ++i)
        must(t->prints[i].text && t->prints[i].instruction < t->site_count, "an unsound printed line");
    for (unsigned i = 0; i < BUFFERS; ++i)
        must(s->buffers[i].role != BUFFER_IN || !memcmp(s->buffers[i].data, s->before[i], s->buffers[i].bytes),
             "an input was changed");
}

static bool same_access(const struct event_access *a, const struct event_access *b) {
    return a->present == b->present && a->store == b->store && !memcmp(a->block, b->block, sizeof a->block) &&
           a->warp == b->warp && a->lane == b->lane && a->instruction == b->instruction && a->bytes == b->bytes;
}

static bool same_event(const struct event *a, const struct event *b) {
    return a->kind == b->kind && a->space == b->space && a->store == b->store && a->buffer == b->buffer &&
           a->plane == b->plane && a->other_plane == b->other_plane && a->offset == b->offset && a->bytes == b->bytes &&
           !memcmp(a->block, b->block, sizeof a->block) && a->warp == b->warp && a->lane == b->lane &&
           a->instruction == b->instruction && a->name == b->name && a->count == b->count &&
           same_access(&a->other, &b->other);
}

static void check_same(const struct setting *a, const struct trace *t, const struct setting *b, const struct trace *u) {
    must(t->event_count == u->event_count && t->warp_instructions == u->warp_instructions && t->macs == u->macs &&
             t->print_total == u->print_total,
         "two instruction sets count otherwise");
    must(!t->order_open == !u->order_open && (!t->order_open || !strcmp(t->order_open, u->order_open)),
         "two instruction sets differ in what is left open");
    for (size_t i = 0; i < t->event_count; ++i)
        must(same_event(&t->events[i], &u->events[i]), "two instruction sets have other events");
    for (size_t i = 0; i < t->print_count; ++i)
        must(!strcmp(t->prints[i].text, u->prints[i].text), "two instruction sets print otherwise");
    for (unsigned i = 0; i < BUFFERS; ++i)
        must(!memcmp(a->buffers[i].data, b->buffers[i].data, a->buffers[i].bytes),
             "two instruction sets give other bytes");
}

static bool run(const struct setting *s, const char *set, struct trace *t) {
    struct error e = {""};
    setenv("WARPPROOF_ISA", set, 1);
    if (runner_machine.run(&s->l, t, &e)) {
        check_trace(s, t);
        return true;
    }
    must(e.text[0] && !t->events && !t->sites, "a refusal without a message, or with a trace");
    return false;
}

static const char *best_set(void) {
    static const struct isa *best;
    if (!best) {
        unsetenv("WARPPROOF_ISA");
        best = isa_choose(NULL);
    }
    return best->name;
}

static void run_entry(const struct ptx_module *m, const struct ptx_function *f, uint64_t chosen) {
    struct setting first, second;
    struct trace t = {0}, u = {0};
    const char *const best = best_set();
    knobs = chosen;
    const bool twice = choose(4) == 3, plain = choose(2);
    const uint64_t rest = knobs;
    if (set_up(&first, m, f)) {
        const bool ran = run(&first, plain ? "base" : best, &t);
        knobs = rest;
        if (twice && set_up(&second, m, f)) {
            must(run(&second, plain ? best : "base", &u) == ran, "only one instruction set runs it");
            if (ran)
                check_same(&first, &t, &second, &u);
        }
        if (twice)
            tear_down(&second);
    }
    tear_down(&first);
    trace_free(&t);
    trace_free(&u);
}

/* What a text may honestly ask for is bounded, so that only memory past it is a finding. */
static bool is_small(const struct ptx_module *m) {
    size_t total = 0;
    for (size_t i = 0; i < m->variable_count; ++i) {
        if (m->variables[i].bytes > MOST_VARIABLE_BYTES)
            return false;
        total += m->variables[i].bytes;
    }
    return total <= MOST_VARIABLE_BYTES;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct error e = {""};
    struct ptx_module *m = ptx_parse("fuzz.ptx", (const char *)bytes, size, &e);
    must(m || !strncmp(e.text, "fuzz.ptx:", 9), "a refusal of the text without its place");
    const uint64_t chosen = read_knobs(bytes, size);
    size_t entries = 0;
    for (size_t i = 0; m && is_small(m) && i < m->function_count && entries < MOST_ENTRIES; ++i)
        if (m->functions[i].entry && !m->functions[i].declared_only) {
            run_entry(m, &m->functions[i], chosen);
            ++entries;
        }
    ptx_free(m);
    return 0;
}
