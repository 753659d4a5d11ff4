/* Checks of a launch that every runner needs. Source: CUDA programming guide, technical specifications per compute
 * capability (grid, block, shared memory); PTX ISA 11.4 (.maxntid, .reqntid). */
#include "launch.h"
#include "../ref/checked.h"
#include "requires.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const watch_names[WATCHES] = {"bounds",  "alignment", "planes", "uninit",
                                          "hazards", "async",     "sync",   "stores"};

/* Bytes on every architecture: static shared memory of a block, constants of a module (PTX ISA 5.1.3). */
enum { MOST_STATIC = 48 * 1024, MOST_CONSTANT = 64 * 1024 };

static bool check_dimensions(const struct launch *l, const struct ptx_function *f, struct launch_place *at,
                             struct error *e) {
    static const uint32_t most_grid[3] = {2147483647u, 65535, 65535}, most_block[3] = {1024, 1024, 64};
    const char *const dims = "xyz";
    uint64_t threads = 1, most_threads = 1;
    for (int k = 0; k < 3; ++k) {
        at->part = LAUNCH_GRID;
        if (!l->grid[k] || l->grid[k] > most_grid[k])
            return fail(e, "grid.%c is %u, must be 1 .. %u", dims[k], l->grid[k], most_grid[k]);
        at->part = LAUNCH_BLOCK;
        if (!l->block[k] || l->block[k] > most_block[k])
            return fail(e, "block.%c is %u, must be 1 .. %u", dims[k], l->block[k], most_block[k]);
        threads *= l->block[k];
        most_threads *= f->maxntid[k] ? f->maxntid[k] : 1;
    }
    if (threads > 1024)
        return fail(e, "a block of %u x %u x %u is %llu threads, at most 1024 are possible", l->block[0], l->block[1],
                    l->block[2], (unsigned long long)threads);
    if (f->maxntid[0] && threads > most_threads)
        return fail(e, "a block of %llu threads, but %.200s is compiled for at most %llu (.maxntid)",
                    (unsigned long long)threads, f->name, (unsigned long long)most_threads);
    for (int k = 0; k < 3 && f->reqntid[0]; ++k) {
        const unsigned wanted = f->reqntid[k] ? f->reqntid[k] : 1;
        if (l->block[k] != wanted)
            return fail(e, "block.%c is %u, but %.200s needs exactly %u (.reqntid)", dims[k], l->block[k], f->name,
                        wanted);
    }
    return true;
}

/* A struct by value is an array of bytes in PTX. */
static bool check_struct(const struct launch *l, size_t i, const struct launch_arg *a, const struct ptx_function *f,
                         const struct ptx_variable *v, struct error *e) {
    if (a->bytes != v->bytes)
        return fail(e, "argument %zu of %.200s is a struct of %zu bytes, the parameter %.200s has %zu", i, f->name,
                    a->bytes, v->name, v->bytes);
    if (a->alignment > v->alignment)
        return fail(e, "argument %zu of %.200s is a struct on multiples of %zu bytes, the parameter %.200s is on %zu",
                    i, f->name, a->alignment, v->name, v->alignment);
    for (size_t k = 0; k < a->member_count; ++k) {
        const struct launch_member *m = &a->members[k];
        if ((m->bytes != 1 && m->bytes != 2 && m->bytes != 4 && m->bytes != 8) || m->offset % m->bytes ||
            m->offset > a->bytes || m->bytes > a->bytes - m->offset)
            return fail(e, "argument %zu of %.200s: member %zu has %zu bytes at %zu", i, f->name, k, m->bytes,
                        m->offset);
        if (m->buffer >= 0 && ((size_t)m->buffer >= l->buffer_count || m->bytes != 8))
            return fail(e, "argument %zu of %.200s: member %zu names buffer %d of %zu", i, f->name, k, m->buffer,
                        l->buffer_count);
    }
    return true;
}

void launch_arg_bytes(const struct launch_arg *a, const uint64_t *addresses, uint8_t *out) {
    memset(out, 0, a->bytes);
    if (!a->members)
        memcpy(out, a->buffer >= 0 ? &addresses[a->buffer] : &a->value, a->bytes);
    for (size_t i = 0; i < a->member_count; ++i) {
        const struct launch_member *m = &a->members[i];
        memcpy(out + m->offset, m->buffer >= 0 ? &addresses[m->buffer] : &m->value, m->bytes);
    }
}

/* Equal sizes do not make 3.0f an integer. Untyped parameters (.b) and half precision take any bits of their size. */
static bool check_kind(size_t i, const struct launch_arg *a, const struct ptx_function *f, const struct ptx_variable *v,
                       struct error *e) {
    const bool wants_float = v->type == PTX_F32 || v->type == PTX_F64;
    const bool is_signed = v->type >= PTX_S8 && v->type <= PTX_S64;
    const bool wants_integer = is_signed || (v->type >= PTX_U8 && v->type <= PTX_U64);
    const bool gives_float = a->buffer < 0 && a->is_float;
    if (gives_float ? !wants_integer : !wants_float)
        return true;
    return fail(e, "argument %zu of %.200s is %s, the parameter %.200s is %s (.%c%zu)", i, f->name,
                a->buffer >= 0 ? "a buffer"
                : gives_float  ? "a floating-point number"
                               : "an integer",
                v->name, wants_float ? "a floating-point number" : "an integer",
                wants_float ? 'f'
                : is_signed ? 's'
                            : 'u',
                8 * v->bytes);
}

static bool check_arguments(const struct launch *l, const struct ptx_function *f, struct launch_place *at,
                            struct error *e) {
    *at = (struct launch_place){LAUNCH_ARGUMENT, l->arg_count > f->param_count ? f->param_count : SIZE_MAX};
    if (l->arg_count != f->param_count)
        return fail(e, "%.200s has %zu parameter%s, the launch gives %zu argument%s", f->name, f->param_count,
                    plural(f->param_count), l->arg_count, plural(l->arg_count));
    for (size_t i = 0; i < l->arg_count; ++i) {
        const struct launch_arg *a = &l->args[i];
        const struct ptx_variable *v = &l->module->variables[f->params[i]];
        const bool array = v->bytes != ptx_type_bytes(v->type);
        at->argument = i;
        if (a->members && v->type == PTX_B8) {
            if (!check_struct(l, i, a, f, v, e))
                return false;
            continue;
        }
        if (a->members || array)
            return fail(e, "parameter %zu of %.200s, %.200s, is %s of %zu bytes, the argument is %s", i, f->name,
                        v->name, array ? "an array (a struct by value)" : "a scalar", v->bytes,
                        a->members ? "a struct" : "none");
        if (a->bytes != 1 && a->bytes != 2 && a->bytes != 4 && a->bytes != 8)
            return fail(e, "argument %zu of %.200s has %zu bytes, must have 1, 2, 4 or 8", i, f->name, a->bytes);
        if (a->bytes != v->bytes)
            return fail(e, "argument %zu of %.200s has %zu bytes, the parameter %.200s has %zu", i, f->name, a->bytes,
                        v->name, v->bytes);
        if (a->buffer < -1 || (a->buffer >= 0 && (size_t)a->buffer >= l->buffer_count))
            return fail(e, "argument %zu of %.200s names buffer %d of %zu", i, f->name, a->buffer, l->buffer_count);
        if (a->buffer >= 0 && a->bytes != 8)
            return fail(e, "argument %zu of %.200s is a buffer, its parameter must have 8 bytes", i, f->name);
        if (!check_kind(i, a, f, v, e))
            return false;
    }
    at->part = LAUNCH_OTHER;
    for (size_t i = 0; i < l->buffer_count; ++i) {
        const struct launch_buffer *b = &l->buffers[i];
        const char *name = b->name ? b->name : "";
        if (b->bytes && !b->data)
            return fail(e, "buffer %zu (%.200s) has no data", i, name);
        if (b->role != BUFFER_IN && (!b->cell_bytes || b->bytes % b->cell_bytes))
            return fail(e, "buffer %zu (%.200s): %zu bytes are no whole number of cells of %zu bytes", i, name,
                        b->bytes, b->cell_bytes);
    }
    return true;
}

static bool check_planes(const struct launch *l, struct error *e) {
    size_t end = 0;
    for (size_t i = 0; i < l->plane_count; ++i) {
        const struct launch_plane *p = &l->planes[i];
        const char *name = p->name ? p->name : "";
        if (p->offset != end)
            return fail(e, "plane %.200s starts at byte %zu of the arena, the one before it ends at %zu", name,
                        p->offset, end);
        if (!p->bytes || p->bytes > l->shared_bytes - end)
            return fail(e, "plane %.200s has %zu bytes, %zu are left of the arena's %zu", name, p->bytes,
                        l->shared_bytes - end, l->shared_bytes);
        end += p->bytes;
    }
    if (l->plane_count && end != l->shared_bytes)
        return fail(e, "the planes end at byte %zu, the arena has %zu", end, l->shared_bytes);
    return true;
}

const struct ptx_variable *launch_variable(const struct ptx_module *m, const char *name) {
    for (size_t i = 0; i < m->variable_count; ++i) {
        const struct ptx_variable *v = &m->variables[i];
        if (v->space == PTX_GLOBAL && v->function < 0 && !strcmp(v->name, name))
            return v;
    }
    return NULL;
}

static bool check_globals(const struct launch *l, struct error *e) {
    for (size_t i = 0; i < l->global_count; ++i) {
        const struct launch_global *g = &l->globals[i];
        const struct ptx_variable *v = launch_variable(l->module, g->name);
        if (!v)
            return fail(e, "%.600s has no .global variable %.200s", l->module->path, g->name);
        if (v->bytes != g->bytes)
            return fail(e, "%.600s: the .global variable %.200s has %zu bytes, not %zu", l->module->path, g->name,
                        v->bytes, g->bytes);
    }
    return true;
}

static bool check_target(const struct launch *l, const struct ptx_function *f, struct error *e) {
    const struct arch *arch = l->options.arch ? l->options.arch : arch_default();
    const char *which = l->options.arch ? "" : ", the default of --arch";
    char *why;
    if (!target_fits(l->module, arch, &why)) {
        fail(e, "%.600s:%d: %s, and the launch is for %s%s", l->module->path, l->module->target_line, why, arch->name,
             which);
        free(why);
        return false;
    }
    return !f->cluster[0] || arch->sm >= 90 ||
           fail(e, "%.600s:%d: %.200s has clusters, which need sm_90, and the launch is for %s", l->module->path,
                f->ptx_line, f->name, arch->name);
}

bool launch_check_at(const struct launch *l, struct launch_place *at, struct error *e) {
    *at = (struct launch_place){LAUNCH_OTHER, SIZE_MAX};
    if (!l->module || !l->entry)
        return fail(e, "a launch needs a module and an entry");
    const struct ptx_function *f = ptx_entry_named(l->module, l->entry);
    at->part = LAUNCH_ENTRY;
    if (!f)
        return fail(e, "%.500s has no entry %.200s", l->module->path, l->entry);
    at->part = LAUNCH_OTHER;
    if (!check_target(l, f, e) || !check_globals(l, e) || !check_dimensions(l, f, at, e) ||
        !check_arguments(l, f, at, e))
        return false;
    at->part = LAUNCH_PLANES;
    return check_planes(l, e);
}

bool launch_check(const struct launch *l, struct error *e) {
    struct launch_place at;
    return launch_check_at(l, &at, e);
}

char *launch_excess(const struct launch *l, const char **suspects) {
    const struct arch *arch = l->options.arch ? l->options.arch : arch_default();
    const size_t constants = ptx_space_bytes(l->module, PTX_CONST);
    if (constants > MOST_CONSTANT) {
        if (suspects)
            *suspects = "a table that belongs into .global memory";
        return must_format("%zu B of .const variables, a module has at most %d", constants, MOST_CONSTANT);
    }
    if (suspects)
        *suspects = "a tile or a number of stages that was sized for another architecture";
    const size_t fixed = ptx_static_shared(l->module, ptx_entry_named(l->module, l->entry));
    if (fixed > MOST_STATIC)
        return must_format("%zu B of static shared memory, a block has at most %d", fixed, MOST_STATIC);
    if (l->shared_bytes <= arch->shared_block && fixed <= arch->shared_block - l->shared_bytes)
        return NULL;
    size_t all;
    if (!size_add(fixed, l->shared_bytes, &all))
        all = SIZE_MAX;
    return must_format("%zu B of shared memory, %s gives a block %zu", all, arch->name, arch->shared_block);
}

void launch_refused(const struct launch *l, struct trace *t) {
    *t = (struct trace){.events = must_calloc(1, sizeof *t->events), .event_count = 1};
    t->events[0] = (struct event){
        .kind = EVENT_LIMIT, .space = SPACE_SHARED, .buffer = -1, .plane = -1, .other_plane = -1, .count = 1};
    t->coverage = must_calloc(l->buffer_count, sizeof *t->coverage);
    t->buffer_count = l->buffer_count;
}

bool trace_refused(const struct trace *t) {
    for (size_t i = 0; i < t->event_count; ++i) {
        if (t->events[i].kind == EVENT_LIMIT) {
            return true;
        }
    }
    return false;
}

bool trace_complete(const struct trace *t) {
    for (size_t i = 0; i < t->event_count; ++i)
        switch (t->events[i].kind) {
        case EVENT_TRAP:
        case EVENT_DEADLOCK:
        case EVENT_STEP_BUDGET:
        case EVENT_LIMIT:
        case EVENT_ASSERT:
        case EVENT_BAD_TARGET:
        case EVENT_STACK:
            return false;
        default:
            break;
        }
    return !t->device_fault;
}

void schedule_name(const struct schedule *s, char name[SCHEDULE_NAME]) {
    if (s->order == SCHEDULE_RANDOM)
        snprintf(name, SCHEDULE_NAME, "random:%" PRIu64, s->seed);
    else
        strcpy(name, s->order == SCHEDULE_REVERSED ? "reversed" : "in-order");
}

void trace_free(struct trace *t) {
    for (size_t i = 0; t->coverage && i < t->buffer_count; ++i) {
        free(t->coverage[i].stores);
        free(t->coverage[i].cells);
    }
    free(t->coverage);
    for (size_t i = 0; i < t->print_count; ++i)
        free(t->prints[i].text);
    free(t->prints);
    free(t->assertion);
    free(t->counts);
    free(t->worst);
    free(t->order_open);
    free(t->device_fault);
    free(t->events);
    free(t->sites);
    *t = (struct trace){0};
}
