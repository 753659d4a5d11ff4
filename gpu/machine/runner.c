/* runner_machine: a launch on the PTX machine.
 *
 * Blocks run in parallel, each on one CPU thread, and nothing in the result depends on how they are spread: coverage
 * and events merge by the blocks' places in the order of the schedule (their numbers, when it is in order), and of two
 * blocks that store to one byte the later one wins, as if the blocks had run in that order. What a block reads of
 * another block's stores in the same launch is open on hardware; here the launch is then run once more, one block after
 * the other.
 *
 * A trap, or a block past its step budget, ends the grid: blocks above the lowest one that did so do not count. Which
 * blocks had already run by then depends on the threads, so everything is put back and blocks 0 .. that one are run
 * again, in the same way for every number of threads. Other events let the grid go on; a deadlock ends its block. */
#include "../../ref/checked.h"
#include "../census.h"
#include "async.h"
#include "hazard.h"
#include "isa.h"
#include "schedule.h"
#include "watch.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHARED_POISON = 64, MOST_THREADS = 1024 };
static const uint64_t most_blocks = UINT32_MAX - 1; /* region.winner counts them in 32 bits */

/* --- regions: buffers of the launch, then .global and .const variables of the module ---------------------------- */

static bool open_region(struct region *g, struct buffer_coverage *c, bool noted, bool strong, struct error *e,
                        const char *name) {
    if (!g->writable)
        return true;
    size_t bytes;
    const unsigned even = (unsigned)__builtin_ctzll(g->cell_bytes | 16); /* factors of 2 that both have */
    if (!size_mul(g->bytes, sizeof *g->winner, &bytes) || !size_mul(g->cell_bytes, 16u >> even, &g->lock_bytes))
        return fail(e, "buffer %.200s is too large", name);
    g->winner = calloc(g->bytes + 1, sizeof *g->winner);
    if (c) {
        g->coverage = c;
        c->stores = calloc(g->bytes + 1, 1);
        c->cells = calloc(g->bytes / g->cell_bytes + 1, sizeof *c->cells);
    }
    g->notes_stores = noted && (strong || !c);
    g->direct = !noted && !c && !g->watched_reads;
    if (noted)
        g->traffic = calloc(g->bytes / 4 + 1, sizeof *g->traffic);
    if (!g->winner || (noted && !g->traffic) || (c && (!c->stores || !c->cells)))
        return fail(e, "no memory to watch the %zu bytes of buffer %.200s", g->bytes, name);
    return true;
}

/* data = what the variable holds at the start, with the addresses that its initial value names put in. */
static bool fill_variable(const struct launch *l, const struct ptx_variable *v, uint8_t *data, struct error *e) {
    if (v->initial)
        memcpy(data, v->initial, v->bytes);
    for (size_t i = 0; i < v->relocation_count; ++i) {
        const struct ptx_relocation *r = &v->relocations[i];
        uint64_t address = 0;
        if (r->function >= 0)
            address = function_address(r->function);
        else if (!module_address(l, r->variable, &address))
            return fail(e, "%.600s: the initial value of %.200s is an address that the machine has none for",
                        l->module->path, v->name);
        if (r->generic && r->variable >= 0 && l->module->variables[r->variable].space == PTX_SHARED)
            address += SHARED_WINDOW;
        address += (uint64_t)r->addend;
        memcpy(data + r->offset, &address, r->bytes);
    }
    return true;
}

/* Of a variable that the launch sets, which is there (launch_check). */
static struct region *global_region(struct machine *m, const struct launch_global *g) {
    return &m->regions[m->launch->buffer_count + launch_variable(m->launch->module, g->name)->number];
}

static bool open_regions(struct machine *m, struct trace *t, struct error *e) {
    const struct launch *l = m->launch;
    const struct ptx_module *module = l->module;
    const bool noted = m->parallel || !(l->options.unwatched & WATCH_HAZARDS);
    m->regions = must_calloc(l->buffer_count + module->variable_count, sizeof *m->regions);
    if (l->buffer_count + module->variable_count > MOST_REGIONS)
        return fail(e, "%.600s: more than %d buffers and variables", module->path, MOST_REGIONS);
    for (size_t i = 0; i < l->buffer_count; ++i) {
        const struct launch_buffer *b = &l->buffers[i];
        struct region *g = &m->regions[m->region_count++];
        *g = (struct region){.base = (uint64_t)m->region_count << BUFFER_SHIFT,
                             .bytes = b->bytes,
                             .data = b->data,
                             .writable = b->role != BUFFER_IN,
                             .buffer = (int)i,
                             .cell_bytes = b->cell_bytes,
                             .written = b->written,
                             .watched_reads =
                                 (b->role == BUFFER_OUT || b->role == BUFFER_SCRATCH) && watches(m, WATCH_UNINIT)};
        if (!open_region(g, watches(m, WATCH_STORES) ? &t->coverage[i] : NULL, noted, m->strong, e,
                         b->name ? b->name : ""))
            return false;
    }
    for (size_t i = 0; i < module->variable_count; ++i) {
        const struct ptx_variable *v = &module->variables[i];
        if (v->space != PTX_GLOBAL && v->space != PTX_CONST)
            continue;
        struct region *g = &m->regions[m->region_count++];
        *g = (struct region){.base = (uint64_t)m->region_count << BUFFER_SHIFT,
                             .bytes = v->bytes,
                             .data = calloc(v->bytes + 1, 1),
                             .writable = v->space == PTX_GLOBAL,
                             .buffer = -1,
                             .name = v->name,
                             .cell_bytes = 1};
        if (!g->data)
            return fail(e, "no memory for the %zu bytes of %.200s", v->bytes, v->name);
        if (!fill_variable(l, v, g->data, e) || !open_region(g, NULL, noted, m->strong, e, v->name))
            return false;
        if (g->writable && l->variables && l->variables[i])
            memcpy(g->data, l->variables[i], v->bytes);
    }
    for (size_t i = 0; i < l->global_count; ++i)
        memcpy(global_region(m, &l->globals[i])->data, l->globals[i].data, l->globals[i].bytes);
    return true;
}

/* What the launch is asked for. */
static void read_globals(struct machine *m) {
    const struct launch *l = m->launch;
    for (size_t i = 0; i < l->global_count; ++i)
        memcpy(l->globals[i].data, global_region(m, &l->globals[i])->data, l->globals[i].bytes);
}

/* For the launch that follows. */
static void keep_variables(struct machine *m) {
    const struct launch *l = m->launch;
    struct region *g = m->regions + l->buffer_count;
    for (size_t i = 0; l->variables && i < l->module->variable_count; ++i) {
        const struct ptx_variable *v = &l->module->variables[i];
        if (v->space == PTX_GLOBAL) {
            free(l->variables[i]);
            l->variables[i] = g->data;
            g->data = NULL;
        }
        g += v->space == PTX_GLOBAL || v->space == PTX_CONST;
    }
}

static void close_regions(struct machine *m) {
    for (size_t i = 0; i < m->region_count; ++i) {
        free(m->regions[i].winner);
        free(m->regions[i].traffic);
        free(m->regions[i].suspects);
        free(m->regions[i].heads);
        if (m->regions[i].buffer < 0)
            free(m->regions[i].data);
    }
    free(m->regions);
}

/* Contents of the writable regions before the launch, for a second pass. */
static uint8_t **save_regions(const struct machine *m, struct error *e) {
    uint8_t **saved = must_calloc(m->region_count, sizeof *saved);
    for (size_t i = 0; i < m->region_count; ++i) {
        const struct region *g = &m->regions[i];
        if (!g->writable || !g->bytes)
            continue;
        saved[i] = malloc(g->bytes);
        if (!saved[i]) {
            for (size_t k = 0; k < i; ++k)
                free(saved[k]);
            free(saved);
            fail(e, "no memory for a copy of %zu bytes", g->bytes);
            return NULL;
        }
        memcpy(saved[i], g->data, g->bytes);
    }
    return saved;
}

static void restore_regions(struct machine *m, uint8_t *const *saved) {
    for (size_t i = 0; i < m->region_count; ++i) {
        struct region *g = &m->regions[i];
        if (!saved[i])
            continue;
        memcpy(g->data, saved[i], g->bytes);
        memset(g->winner, 0, g->bytes * sizeof *g->winner);
        if (atomic_exchange(&g->met, false))
            memset(g->traffic, 0, (g->bytes / 4 + 1) * sizeof *g->traffic);
        if (g->coverage) {
            memset(g->coverage->stores, 0, g->bytes);
            memset(g->coverage->cells, 0, g->bytes / g->cell_bytes * sizeof *g->coverage->cells);
        }
    }
}

/* --- shared memory ---------------------------------------------------------------------------------------------- */

static void open_ranges(struct machine *m) {
    const struct launch *l = m->launch;
    m->static_bytes = m->dynamic_start = ptx_static_shared(l->module, m->program->entry);
    for (size_t i = 0; i < l->module->variable_count; ++i) {
        const struct ptx_variable *v = &l->module->variables[i];
        if (v->space == PTX_SHARED && v->external && v->offset > m->dynamic_start)
            m->dynamic_start = v->offset;
    }
    m->shared_bytes = m->dynamic_start + l->shared_bytes;
    m->ranges = must_calloc(l->plane_count + 2, sizeof *m->ranges);
    m->planes = l->plane_count && watches(m, WATCH_PLANES);
    if (!m->planes && m->dynamic_start == m->static_bytes) { /* no gap: one array */
        m->ranges[m->range_count++] = (struct range){.lo = 0, .hi = m->shared_bytes, .plane = -1};
        return;
    }
    if (m->static_bytes)
        m->ranges[m->range_count++] = (struct range){.lo = 0, .hi = m->static_bytes, .plane = -1};
    if (!m->planes)
        m->ranges[m->range_count++] = (struct range){.lo = m->dynamic_start, .hi = m->shared_bytes, .plane = -1};
    for (size_t i = 0; m->planes && i < l->plane_count; ++i)
        m->ranges[m->range_count++] = (struct range){.lo = m->dynamic_start + l->planes[i].offset,
                                                     .hi = m->dynamic_start + l->planes[i].offset + l->planes[i].bytes,
                                                     .plane = (int)i};
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

static void splat(const struct warp *w, uint32_t offset, bool wide, uint64_t bits) {
    for (int i = 0; i < LANES; ++i) {
        if (wide)
            reg64(w, offset)[i] = bits;
        else
            reg32(w, offset)[i] = (uint32_t)bits;
    }
}

static bool block_open(struct block *b, struct machine *m, struct error *e) {
    const struct program *p = m->program;
    const size_t pred_bytes = (p->pred_count * sizeof(uint32_t) + 63) / 64 * 64;
    *b = (struct block){.machine = m};
    b->poison = (m->shared_bytes + 63) / 64 * 64;
    b->warps = calloc(m->warps, sizeof *b->warps);
    b->sites = calloc(p->access_count + 1, sizeof *b->sites);
    b->shared = aligned_alloc(64, b->poison + SHARED_POISON);
    b->memory = aligned_alloc(64, m->warps * (p->file_bytes + pred_bytes));
    b->counts = m->launch->options.census ? must_calloc(p->site_count + 1, sizeof *b->counts) : NULL;
    b->worst = m->launch->options.census ? must_calloc(p->site_count + 1, sizeof *b->worst) : NULL;
    events_open(&b->events, p->site_count + 1);
    if (!b->warps || !b->sites || !b->shared || !b->memory)
        return fail(e, "no memory for the registers of a block (%zu bytes)",
                    m->warps * (p->file_bytes + pred_bytes) + b->poison);
    for (size_t i = 0; i < p->access_count; ++i)
        b->sites[i] = (struct site_range){.lo = UINT64_MAX, .hi = 0, .host = b->shared};
    memset(b->memory, 0, m->warps * (p->file_bytes + pred_bytes));
    for (uint32_t i = 0; i < m->warps; ++i) {
        struct warp *w = &b->warps[i];
        w->regs = b->memory + i * (p->file_bytes + pred_bytes);
        w->preds = (uint32_t *)(void *)(w->regs + p->file_bytes);
        w->wide = p->wide;
        w->block = b;
        w->number = i;
        for (size_t k = 0; k < p->constant_count; ++k)
            splat(w, p->constants[k].offset, p->constants[k].wide, p->constants[k].bits);
    }
    return frames_open(b, e) && prints_open(b) && watch_open(b, e);
}

static void block_close(struct block *b) {
    watch_close(b);
    frames_close(b);
    prints_close(b);
    async_close(b);
    free(b->warps), free(b->sites), free(b->shared), free(b->memory), free(b->counts), free(b->worst);
    events_close(&b->events);
}

static void fill_special(const struct warp *w, const struct block *b, enum special s, uint32_t offset) {
    const uint32_t *ntid = b->machine->launch->block;
    for (uint32_t i = 0; i < LANES; ++i) {
        const uint32_t thread = w->number * LANES + i;
        const uint32_t values[SPECIALS] = {thread % ntid[0],
                                           thread / ntid[0] % ntid[1],
                                           thread / ntid[0] / ntid[1],
                                           b->id[0],
                                           b->id[1],
                                           b->id[2],
                                           w->number,
                                           i,
                                           1u << i,
                                           ALL_LANES >> (31 - i),
                                           (1u << i) - 1,
                                           ALL_LANES << i,
                                           i == 31 ? 0 : ALL_LANES << (i + 1)};
        reg32(w, offset)[i] = values[s];
    }
}

/* Everything a block can see is as at the start of any other one, so that its run depends on its number alone. */
static void block_start(struct block *b, uint64_t place) {
    const struct machine *m = b->machine;
    const uint64_t number = block_at(m, place);
    const struct program *p = m->program;
    const uint32_t *grid = m->launch->grid;
    b->number = number;
    b->place = place;
    b->draws = random_open(m->launch->options.schedule.seed, (uint32_t)number);
    b->id[0] = (uint32_t)(number % grid[0]);
    b->id[1] = (uint32_t)(number / grid[0] % grid[1]);
    b->id[2] = (uint32_t)(number / grid[0] / grid[1]);
    b->steps = 0;
    b->event_order = 0;
    b->stopped = b->ends_grid = false;
    async_start(b);
    memset(b->barriers, 0, sizeof b->barriers);
    memset(b->shared, 0xff, b->poison + SHARED_POISON);
    for (size_t i = 0; i < p->access_count; ++i) /* what a site knows of global memory holds for every block */
        if (p->accesses[i].space == PTX_SHARED || p->accesses[i].space == PTX_REG)
            b->sites[i] = (struct site_range){.lo = UINT64_MAX, .hi = 0, .host = b->shared};
    for (uint32_t i = 0; i < m->warps; ++i) {
        struct warp *w = &b->warps[i];
        const uint32_t left = m->threads - i * LANES;
        warp_start(w, left < LANES ? (1u << left) - 1 : ALL_LANES);
        for (size_t k = 0; k < p->undefined_count; ++k)
            splat(w, p->undefined[k], p->undefined_wide[k], UINT64_MAX);
        memset(w->preds, 0, p->pred_count * sizeof *w->preds);
        w->preds[PRED_TRUE] = ALL_LANES;
        for (int s = 0; s < SPECIALS; ++s)
            if (p->special[s])
                fill_special(w, b, (enum special)s, p->special[s]);
    }
}

static void lower_stop(struct machine *m, uint64_t place) {
    uint64_t now = atomic_load(&m->stop_after);
    while (place < now && !atomic_compare_exchange_weak(&m->stop_after, &now, place)) {
    }
}

/* The launch as a whole has its budget too: LAUNCH_TOTAL_BLOCKS times that of a block. */
static bool exhausted(const struct machine *m) {
    return atomic_load_explicit(&m->spent, memory_order_relaxed) / LAUNCH_TOTAL_BLOCKS > m->budget;
}

/* Runs the first `count` blocks; *steps and the blocks' events and macs add up. */
static void run_blocks(struct machine *m, struct block *blocks, int threads, uint64_t count, uint64_t *steps) {
    uint64_t total = 0;
    atomic_store(&m->stop_after, UINT64_MAX);
    atomic_store(&m->spent, 0);
#pragma omp parallel num_threads(threads) reduction(+ : total)
    {
        struct block *b = &blocks[omp_get_thread_num()];
#pragma omp for schedule(dynamic)
        for (uint64_t i = 0; i < count; ++i) {
            if (i > atomic_load_explicit(&m->stop_after, memory_order_relaxed) || exhausted(m) || unfollowed(m))
                continue;
            block_start(b, i);
            block_run(b);
            total += b->steps;
            atomic_fetch_add(&m->spent, b->steps);
            if (b->ends_grid)
                lower_stop(m, i);
        }
    }
    *steps = total;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Everything is as before the launch. */
static void start_over(struct machine *m, struct block *blocks, int threads, uint8_t *const *saved) {
    restore_regions(m, saved);
    atomic_store(&m->open, 0);
    for (int i = 0; i < threads; ++i) {
        events_close(&blocks[i].events);
        events_open(&blocks[i].events, m->program->site_count + 1);
        prints_clear(&blocks[i]);
        blocks[i].macs = 0;
        if (blocks[i].counts) {
            memset(blocks[i].counts, 0, (m->program->site_count + 1) * sizeof *blocks[i].counts);
            memset(blocks[i].worst, 0, (m->program->site_count + 1) * sizeof *blocks[i].worst);
        }
    }
}

/* All blocks, again where the first pass may depend on how they were spread over the threads (see the head), and again
 * where words of global memory must be judged exactly (hazard_global.c). False: e says what there was no memory for. */
static bool run_passes(struct machine *m, struct block *blocks, int threads, uint8_t *const *saved, uint64_t *steps,
                       struct error *e) {
    run_blocks(m, blocks, threads, m->blocks, steps);
    if (unfollowed(m)) /* the events of this run are not wanted */
        return true;
    const uint64_t last = atomic_load(&m->stop_after);
    const bool parallel = threads > 1;
    if (parallel && last != UINT64_MAX && !hazard_blocks_met(m)) {
        start_over(m, blocks, threads, saved);
        run_blocks(m, blocks, threads, last + 1, steps);
    }
    if (parallel && hazard_blocks_met(m)) {
        start_over(m, blocks, threads, saved);
        run_blocks(m, blocks, 1, m->blocks, steps);
    }
    if (m->launch->options.unwatched & WATCH_HAZARDS)
        return true;
    *e = (struct error){0};
    if (hazard_suspects(m, e)) {
        hazard_exact_open(m);
        start_over(m, blocks, threads, saved);
        run_blocks(m, blocks, 1, m->blocks, steps);
        hazard_exact_close(m);
    }
    return !e->text[0];
}

static void add_counts(struct trace *t, const struct block *b, size_t sites) {
    const struct site_count *from = b->counts;
    if (!from)
        return;
    t->counts = t->counts ? t->counts : must_calloc(sites + 1, sizeof *t->counts);
    t->worst = t->worst ? t->worst : must_calloc(sites + 1, sizeof *t->worst);
    for (size_t i = 0; i < sites; ++i) {
        census_keep_worst(&t->worst[i], &b->worst[i]);
        struct site_count *to = &t->counts[i];
        to->executed += from[i].executed;
        to->requests += from[i].requests;
        to->wavefronts += from[i].wavefronts;
        to->conflicts += from[i].conflicts;
        to->sectors += from[i].sectors;
    }
}

static bool run_launch(struct machine *m, int threads, struct trace *t, struct error *e) {
    struct block *blocks = must_calloc((size_t)threads, sizeof *blocks);
    uint8_t **saved = save_regions(m, e);
    bool ok = saved;
    int opened = 0;
    double start = 0;
    while (ok && opened < threads)
        ok = block_open(&blocks[opened++], m, e);
    if (ok) {
        start = now();
        ok = run_passes(m, blocks, threads, saved, &t->warp_instructions, e);
        ok = ok && (unfollowed(m) || !exhausted(m) ||
                    fail(e,
                         "the launch ran past %llu warp instructions in all (%d blocks' budgets of %llu); a "
                         "larger one needs `steps` in its launch file",
                         (unsigned long long)m->budget * LAUNCH_TOTAL_BLOCKS, LAUNCH_TOTAL_BLOCKS,
                         (unsigned long long)m->budget));
    }
    if (ok) {
        t->seconds = now() - start;
        struct event_table all;
        events_open(&all, m->program->site_count + 1);
        for (int i = 0; i < threads; ++i) {
            events_merge(&all, &blocks[i].events);
            t->macs += blocks[i].macs;
            add_counts(t, &blocks[i], m->program->site_count);
        }
        t->events = events_sorted(&all);
        t->event_count = all.count;
        events_close(&all);
        prints_merge(t, blocks, threads);
        t->order_open = hazard_order_open(m, t);
    }
    for (int i = 0; i < opened; ++i)
        block_close(&blocks[i]);
    free(blocks);
    if (ok && unfollowed(m)) /* once more then, from the start */
        restore_regions(m, saved);
    for (size_t i = 0; saved && i < m->region_count; ++i)
        free(saved[i]);
    free(saved);
    return ok;
}

/* --- the runner -------------------------------------------------------------------------------------------------- */

static void fill_sites(struct trace *t, const struct ptx_module *module, const struct ptx_function *f, size_t first) {
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        const bool known = in->file >= 0 && (size_t)in->file < module->file_count;
        const bool inlined = in->inlined_file >= 0 && (size_t)in->inlined_file < module->file_count;
        t->sites[first + i] = (struct trace_site){.file = known ? module->files[in->file] : NULL,
                                                  .line = in->line,
                                                  .inlined_file = inlined ? module->files[in->inlined_file] : NULL,
                                                  .inlined_line = in->inlined_line,
                                                  .place = in->place,
                                                  .ptx_line = in->ptx_line,
                                                  .text = in->text,
                                                  .instruction_class = census_class(in)};
    }
}

/* While the machine runs, cells hold 1 + the blocks' places. */
static void finish_coverage(struct trace *t, const struct machine *m) {
    const struct launch *l = m->launch;
    for (size_t i = 0; i < t->buffer_count; ++i) {
        struct buffer_coverage *c = &t->coverage[i];
        for (size_t k = 0; c->cells && k < l->buffers[i].bytes / l->buffers[i].cell_bytes; ++k)
            if (c->cells[k].first.block) {
                c->cells[k].first.block = block_at(m, c->cells[k].first.block - 1);
                c->cells[k].last.block = block_at(m, c->cells[k].last.block - 1);
            }
    }
}

/* How many blocks a launch may have: their beginnings alone are within its budget, or the usual one if that is more. */
static uint64_t blocks_in(uint64_t budget) {
    const uint64_t b = (budget > LAUNCH_STEP_BUDGET ? budget : LAUNCH_STEP_BUDGET) / LAUNCH_BLOCK_STEPS;
    return b < most_blocks / LAUNCH_TOTAL_BLOCKS ? b * LAUNCH_TOTAL_BLOCKS : most_blocks;
}

/* *again: enum follow: the launch is to be run once more, and this followed too; its buffers are as they were. */
static bool run_program(const struct launch *l, unsigned follows, struct trace *t, unsigned *again, struct error *e) {
    *t = (struct trace){0};
    *again = 0;
    if (!launch_check(l, e))
        return false;
    char *excess = launch_excess(l, NULL);
    const struct isa *isa = isa_choose(e);
    struct program *p = isa ? decode(l, isa, follows, e) : NULL;
    if (p && excess)
        launch_refused(l, t);
    if (!p || excess) {
        free(excess), program_free(p);
        return p;
    }
    struct machine *m = must_calloc(1, sizeof *m);
    m->launch = l;
    m->program = p;
    m->threads = l->block[0] * l->block[1] * l->block[2];
    m->warps = (m->threads + LANES - 1) / LANES;
    m->budget = l->step_budget ? l->step_budget : LAUNCH_STEP_BUDGET;
    m->blocks = (uint64_t)l->grid[0] * l->grid[1];
    const uint64_t most = blocks_in(m->budget);
    const bool few = !__builtin_mul_overflow(m->blocks, (uint64_t)l->grid[2], &m->blocks) && m->blocks <= most;
    t->buffer_count = l->buffer_count;
    t->coverage = must_calloc(l->buffer_count, sizeof *t->coverage);
    uint64_t threads = l->threads > 0 ? (uint64_t)l->threads : (uint64_t)omp_get_max_threads();
    threads = threads > MOST_THREADS ? MOST_THREADS : threads;
    threads = threads > m->blocks ? m->blocks : threads;
    m->parallel = threads > 1;
    if (few)
        order_blocks(m);
    for (int i = 0; i < STORE_LOCKS; ++i)
        atomic_flag_clear(&m->locks[i]);
    for (size_t i = 0; i < p->access_count; ++i)
        m->strong |= p->accesses[i].strong && p->accesses[i].space != PTX_SHARED;
    open_ranges(m);
    bool ok = few || fail(e, "a grid of %u x %u x %u blocks is more than the machine runs (%llu)%s", l->grid[0],
                          l->grid[1], l->grid[2], (unsigned long long)most,
                          most < most_blocks ? "; a larger one needs `steps` in its launch file" : "");
    ok = ok && open_regions(m, t, e) && run_launch(m, (int)threads, t, e);
    if (ok) {
        t->has_coverage = watches(m, WATCH_STORES);
        t->site_count = p->site_count;
        t->sites = must_calloc(t->site_count, sizeof *t->sites);
        for (size_t i = 0; i < p->order_count; ++i)
            fill_sites(t, l->module, p->callees[p->order[i]].f, p->callees[p->order[i]].site);
        finish_coverage(t, m);
        *again = unfollowed(m);
        if (!*again) {
            read_globals(m);
            keep_variables(m);
        }
    } else {
        trace_free(t);
    }
    close_regions(m);
    free(m->ranges);
    free(m);
    program_free(p);
    return ok;
}

static bool machine_run(const struct launch *l, struct trace *t, struct error *e) {
    for (unsigned follows = 0, again;; follows |= again) {
        if (!run_program(l, follows, t, &again, e))
            return false;
        if (!again)
            return true;
        trace_free(t);
    }
}

const struct runner runner_machine = {.name = "machine", .run = machine_run};
