/* runner_device: the same launch on a GPU of this machine, that of its options.
 *
 * Every buffer lies between two guard bands in an allocation of its own; bands and inputs are compared afterwards, so a
 * store outside a buffer is found, though not who did it. The driver builds the PTX (or takes the launch's cubin) once
 * a module and keeps it. A GPU runs one launch at a time, whoever asks. A launch that the GPU stops (an illegal
 * address, a trap) leaves a context that is good for nothing: it is reset, and the next launch starts in a new one. A
 * launch that does not end cannot be stopped from here: its GPU counts as lost and every later launch there fails.
 * Other GPUs know of neither (context.h). */
#include "device.h"
#include "../../ref/checked.h"
#include "../bind.h"
#include "context.h"
#include "globals.h"
#include <stdlib.h>
#include <string.h>

enum { BAND = GPU_BAND, BAND_BYTE = GPU_BAND_BYTE };

/* --- buffers ----------------------------------------------------------------------------------------------------- */

/* For a checker of uninitialised reads: what a launch is to write, and holds nothing but poison, is left as the driver
 * allocated it, not filled, where $WARPPROOF_DEVICE_UNFILLED is set. */
static bool leave_unfilled(const struct launch_buffer *b) {
    if (!getenv("WARPPROOF_DEVICE_UNFILLED") || (b->role != BUFFER_OUT && b->role != BUFFER_SCRATCH))
        return false;
    size_t i = 0;
    while (i < b->bytes && b->data[i] == (uint8_t)(BIND_POISON >> i % 4 * 8))
        ++i;
    return i == b->bytes;
}

/* band, contents, band. */
static bool put_buffer(const struct driver *d, const struct launch_buffer *b, cu_pointer *base, struct error *e) {
    size_t bytes;
    if (!size_add(b->bytes, 2 * (size_t)BAND, &bytes))
        return fail(e, "buffer %.200s is too large", b->name ? b->name : "");
    if (!driver_check(d, d->mem_alloc(base, bytes), e, "cuMemAlloc")) {
        *base = 0;
        return false;
    }
    uint8_t band[BAND];
    memset(band, BAND_BYTE, sizeof band);
    return driver_check(d, d->to_device(*base, band, BAND), e, "cuMemcpyHtoD") &&
           (!b->bytes || leave_unfilled(b) ||
            driver_check(d, d->to_device(*base + BAND, b->data, b->bytes), e, "cuMemcpyHtoD")) &&
           driver_check(d, d->to_device(*base + BAND + b->bytes, band, BAND), e, "cuMemcpyHtoD");
}

static void add_event(struct trace *t, struct event v) {
    t->events = must_realloc(t->events, t->event_count + 1, sizeof *t->events);
    v.plane = v.other_plane = -1;
    v.anonymous = true;
    v.store = true;
    v.bytes = 1;
    v.space = SPACE_GLOBAL;
    t->events[t->event_count++] = v;
}

/* Events for changed bytes of a band: `offset` is where the band begins, counted from the buffer. */
static void check_band(struct trace *t, const uint8_t band[BAND], int buffer, int64_t offset) {
    uint64_t changed = 0;
    int64_t first = 0;
    for (size_t i = BAND; i-- > 0;)
        if (band[i] != BAND_BYTE) {
            ++changed;
            first = offset + (int64_t)i;
        }
    if (changed)
        add_event(t, (struct event){.kind = EVENT_OUT_OF_BOUNDS, .buffer = buffer, .offset = first, .count = changed});
}

static void check_input(struct trace *t, const struct launch_buffer *b, const uint8_t *now, int buffer) {
    uint64_t changed = 0;
    int64_t first = 0;
    for (size_t i = b->bytes; i-- > 0;)
        if (now[i] != b->data[i]) {
            ++changed;
            first = (int64_t)i;
        }
    if (changed)
        add_event(t, (struct event){.kind = EVENT_READ_ONLY, .buffer = buffer, .offset = first, .count = changed});
}

static bool get_buffer(const struct driver *d, struct launch_buffer *b, cu_pointer base, int index, struct trace *t,
                       struct error *e) {
    uint8_t band[BAND];
    if (!driver_check(d, d->to_host(band, base, BAND), e, "cuMemcpyDtoH"))
        return false;
    check_band(t, band, index, -BAND);
    if (!driver_check(d, d->to_host(band, base + BAND + b->bytes, BAND), e, "cuMemcpyDtoH"))
        return false;
    check_band(t, band, index, (int64_t)b->bytes);
    if (!b->bytes)
        return true;
    if (b->role != BUFFER_IN)
        return driver_check(d, d->to_host(b->data, base + BAND, b->bytes), e, "cuMemcpyDtoH");
    uint8_t *now = malloc(b->bytes);
    if (!now)
        return fail(e, "no memory for a copy of %zu bytes", b->bytes);
    const bool ok = driver_check(d, d->to_host(now, base + BAND, b->bytes), e, "cuMemcpyDtoH");
    if (ok)
        check_input(t, b, now, index);
    free(now);
    return ok;
}

/* --- the launch -------------------------------------------------------------------------------------------------- */

/* Starts it and waits. A fault of the kernel becomes t->device_fault; false: it could not be run, or does not end. */
static bool launch_and_wait(struct gpu *g, const struct launch *l, cu_function function, const cu_pointer *bases,
                            struct trace *t, struct error *e) {
    uint64_t *addresses = must_calloc(l->buffer_count + 1, sizeof *addresses);
    for (size_t i = 0; i < l->buffer_count; ++i)
        addresses[i] = bases[i] + BAND;
    void **params = gpu_params(l, addresses);
    free(addresses);
    const int most = gpu_longest();
    const double start = gpu_seconds_now();
    cu_result r = g->driver->launch(function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
                                    (unsigned)l->shared_bytes, NULL, params, NULL);
    const bool started = r == CU_SUCCESS;
    if (started)
        r = gpu_wait(g, most);
    t->seconds = gpu_seconds_now() - start;
    gpu_params_free(l, params);
    if (r == CU_SUCCESS)
        return true;
    if (started && r == CU_NOT_READY)
        return fail(e, "%.200s did not end within %d second%s on the GPU", l->entry, most, most == 1 ? "" : "s");
    t->device_fault = driver_error(g->driver, r);
    if (started)
        gpu_reset(g);
    return true;
}

static bool run_entered(struct gpu *g, const struct launch *l, struct trace *t, struct error *e) {
    const struct driver *d = g->driver;
    cu_function function;
    if (!gpu_function(g, l, &function, e) || !gpu_allow_shared(g, l, function, &t->device_fault, e))
        return false;
    if (t->device_fault)
        return true;
    cu_pointer *bases = must_calloc(l->buffer_count + 1, sizeof *bases);
    bool ok = true;
    for (size_t i = 0; ok && i < l->buffer_count; ++i)
        ok = put_buffer(d, &l->buffers[i], &bases[i], e);
    ok = ok && globals_put(g, l, e) && launch_and_wait(g, l, function, bases, t, e);
    ok = ok && (t->device_fault || globals_get(g, l, e));
    for (size_t i = 0; ok && !t->device_fault && i < l->buffer_count; ++i)
        ok = get_buffer(d, &l->buffers[i], bases[i], (int)i, t, e);
    for (size_t i = 0; g->alive && i < l->buffer_count; ++i)
        if (bases[i])
            d->mem_free(bases[i]);
    free(bases);
    return ok;
}

static bool device_run(const struct launch *l, struct trace *t, struct error *e) {
    *t = (struct trace){.on_gpu = true};
    if (!driver_open(e) || !launch_check(l, e))
        return false;
    struct gpu *g = gpu_enter(l->options.gpu, e);
    const bool ok = g && run_entered(g, l, t, e);
    if (g)
        gpu_leave(g);
    if (!ok)
        trace_free(t);
    return ok;
}

const struct runner runner_device = {.name = "device", .run = device_run};
