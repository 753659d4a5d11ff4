#include "timing.h"
#include "../../ref/checked.h"
#include <stdlib.h>

/* QUEUE: as many launches a stream takes for sure before the host has to wait for the GPU. */
enum { LEAD = 2, QUEUE = 256, ALIGNMENT = 256 /* as cuMemAlloc gives it */ };
enum { BAND = GPU_BAND, BAND_BYTE = GPU_BAND_BYTE };

size_t timing_copies(size_t bytes, size_t l2_bytes) {
    const size_t others = bytes ? (TIMING_L2_TIMES * l2_bytes + bytes - 1) / bytes : 1;
    return others < 1 ? 2 : others >= TIMING_MOST_COPIES ? TIMING_MOST_COPIES : others + 1;
}

bool gpu_figures(struct gpu *g, struct gpu_figures *f, struct error *e) {
    const struct driver *d = g->driver;
    int l2 = 0;
    size_t free_bytes;
    *f = (struct gpu_figures){0};
    if (!driver_check(d, d->device_attribute(&l2, CU_L2_CACHE_BYTES, g->device), e, "the size of the L2") ||
        !driver_check(d, d->device_attribute(&f->multiprocessors, CU_MULTIPROCESSORS, g->device), e,
                      "the number of multiprocessors") ||
        !driver_check(d, d->mem_info(&free_bytes, &f->memory_bytes), e, "cuMemGetInfo"))
        return false;
    f->l2_bytes = l2 > 0 ? (size_t)l2 : 0;
    if (d->device_attribute(&f->clock_khz, CU_CLOCK_KHZ, g->device) != CU_SUCCESS)
        f->clock_khz = 0;
    if (d->device_attribute(&f->memory_clock_khz, CU_MEMORY_CLOCK_KHZ, g->device) != CU_SUCCESS)
        f->memory_clock_khz = 0;
    return true;
}

/* --- time -------------------------------------------------------------------------------------------------------- */

static bool start_next(struct timed *t, struct error *e) {
    const bool ok = t->start(t, t->next, e);
    t->next = (t->next + 1) % t->copies;
    t->launched += ok && t->launched < t->copies;
    return ok;
}

/* After a launch that did not start: whether an earlier one is to blame, whose fault shows at any later call. */
static enum timing refused(struct timed *t) {
    if (gpu_wait(t->gpu, gpu_longest()) != CU_SUCCESS && t->gpu->alive)
        gpu_reset(t->gpu);
    return TIMING_STOPPED;
}

static enum timing wait(struct timed *t, struct error *e) {
    const cu_result r = gpu_wait(t->gpu, gpu_longest());
    if (r == CU_SUCCESS)
        return TIMING_DONE;
    if (r == CU_NOT_READY) {
        fail(e, "a launch did not end within %d second%s on the GPU", gpu_longest(), plural((size_t)gpu_longest()));
        return TIMING_FAILED;
    }
    driver_check(t->gpu->driver, r, e, "the GPU stopped a launch");
    gpu_reset(t->gpu); /* a fault leaves a context that is good for nothing */
    return TIMING_STOPPED;
}

static enum timing run_between(struct timed *t, size_t launches, cu_event begin, cu_event end, double *seconds,
                               struct error *e) {
    const struct driver *d = t->gpu->driver;
    double began = 0;
    for (size_t i = 0; i < LEAD + launches; ++i) {
        began = i == LEAD ? gpu_seconds_now() : began;
        if (i == LEAD + QUEUE)
            t->start_seconds = (gpu_seconds_now() - began) / QUEUE;
        if ((i == LEAD && !driver_check(d, d->event_record(begin, NULL), e, "cuEventRecord")) || !start_next(t, e))
            return refused(t);
    }
    if (launches <= QUEUE)
        t->start_seconds = (gpu_seconds_now() - began) / (double)launches;
    if (!driver_check(d, d->event_record(end, NULL), e, "cuEventRecord"))
        return refused(t);
    const enum timing done = wait(t, e);
    float milliseconds = 0;
    if (done != TIMING_DONE)
        return done;
    if (!driver_check(d, d->event_elapsed(&milliseconds, begin, end), e, "cuEventElapsedTime"))
        return TIMING_FAILED;
    if (seconds)
        *seconds = 1e-3 * (double)milliseconds / (double)launches;
    return TIMING_DONE;
}

enum timing timed_run(struct timed *t, size_t launches, double *seconds, struct error *e) {
    const struct driver *d = t->gpu->driver;
    cu_event begin = NULL, end = NULL;
    enum timing result = TIMING_FAILED;
    if (driver_check(d, d->event_create(&begin, 0), e, "cuEventCreate") &&
        driver_check(d, d->event_create(&end, 0), e, "cuEventCreate"))
        result = run_between(t, launches, begin, end, seconds, e);
    if (begin && t->gpu->alive)
        d->event_destroy(begin);
    if (end && t->gpu->alive)
        d->event_destroy(end);
    return result;
}

/* --- copies of a launch ------------------------------------------------------------------------------------------ */

static bool start_launches(struct timed *t, size_t copy, struct error *e) {
    struct launch_copies *c = (struct launch_copies *)t; /* its first member */
    const struct driver *d = t->gpu->driver;
    for (size_t i = 0; i < c->launch_count; ++i) {
        const struct launch *l = bound_launch(c->bound, i);
        if (!driver_check(d,
                          d->launch(c->functions[i], l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                                    l->block[2], (unsigned)l->shared_bytes, NULL, c->params[copy * c->launch_count + i],
                                    NULL),
                          e, l->entry))
            return false;
    }
    return true;
}

/* All copies of buffer i = its bytes on the host. */
static bool fill(const struct launch_copies *c, size_t i, struct error *e) {
    const struct driver *d = c->timed.gpu->driver;
    const struct launch_buffer *b = &c->bound->launch.buffers[i];
    bool ok = !b->bytes || driver_check(d, d->to_device(c->bases[i], b->data, b->bytes), e, "cuMemcpyHtoD");
    for (size_t k = 1; ok && b->bytes && k < c->timed.copies; ++k)
        ok = driver_check(d, d->on_device(c->bases[i] + k * c->strides[i], c->bases[i], b->bytes), e, "cuMemcpyDtoD");
    return ok;
}

/* The sizes; fails where they do not fit. */
static bool measure(struct launch_copies *c, size_t l2_bytes, struct error *e) {
    const struct launch *l = &c->bound->launch;
    for (size_t i = 0; i < l->buffer_count; ++i) {
        size_t rounded;
        if (l->buffers[i].role == BUFFER_INOUT)
            return fail(e, "buffer %.200s is inout: a second launch would not find what the first one did",
                        l->buffers[i].name);
        if (!size_add(l->buffers[i].bytes, ALIGNMENT - 1, &rounded) ||
            !size_add(c->timed.bytes, rounded / ALIGNMENT * ALIGNMENT, &c->timed.bytes))
            return fail(e, "the buffers are larger than the address space");
        if (!size_add(rounded / ALIGNMENT * ALIGNMENT, 2 * (size_t)BAND, &c->strides[i]))
            return fail(e, "the buffers are larger than the address space");
    }
    c->timed.copies = timing_copies(c->timed.bytes, l2_bytes);
    return true;
}

static bool allocate(struct launch_copies *c, struct error *e) {
    const struct driver *d = c->timed.gpu->driver;
    for (size_t i = 0; i < c->bound->launch.buffer_count; ++i) {
        size_t bytes;
        if (!size_mul(c->strides[i], c->timed.copies, &bytes))
            return fail(e, "%zu copies are larger than the address space", c->timed.copies);
        const cu_result r = d->mem_alloc(&c->bases[i], bytes);
        if (r != CU_SUCCESS) {
            c->bases[i] = 0;
            struct error why;
            driver_check(d, r, &why, "cuMemAlloc");
            return fail(e, "%.400s (%zu copies of %zu bytes)", why.text, c->timed.copies, c->timed.bytes);
        }
        c->bases[i] += BAND;
        if (!driver_check(d, d->memset_words(c->bases[i] - BAND, BAND_BYTE * UINT32_C(0x01010101), bytes / 4), e,
                          "cuMemsetD32"))
            return false;
    }
    return true;
}

static void make_params(struct launch_copies *c) {
    const size_t buffers = c->bound->launch.buffer_count;
    uint64_t *addresses = must_calloc(buffers + 1, sizeof *addresses);
    c->params = must_calloc(c->timed.copies * c->launch_count, sizeof *c->params);
    for (size_t k = 0; k < c->timed.copies; ++k) {
        for (size_t i = 0; i < buffers; ++i)
            addresses[i] = c->bases[i] + k * c->strides[i];
        for (size_t i = 0; i < c->launch_count; ++i)
            c->params[k * c->launch_count + i] = gpu_params(bound_launch(c->bound, i), addresses);
    }
    free(addresses);
}

bool launch_copies_open(struct gpu *g, struct bound *b, size_t l2_bytes, struct launch_copies *c, char **refused,
                        struct error *e) {
    const size_t buffers = b->launch.buffer_count;
    *refused = NULL;
    *c = (struct launch_copies){
        .timed = {.gpu = g, .start = start_launches},
        .bound = b,
        .launch_count = b->then_count + 1,
        .functions = must_calloc(b->then_count + 1, sizeof *c->functions),
        .bases = must_calloc(buffers + 1, sizeof *c->bases),
        .strides = must_calloc(buffers + 1, sizeof *c->strides),
    };
    if (!measure(c, l2_bytes, e))
        return false;
    for (size_t i = 0; i < c->launch_count; ++i) {
        const struct launch *l = bound_launch(b, i);
        if (!gpu_function(g, l, &c->functions[i], e) || !gpu_allow_shared(g, l, c->functions[i], refused, e))
            return false;
        if (*refused)
            return true;
    }
    if (!allocate(c, e))
        return false;
    make_params(c);
    bool ok = true;
    for (size_t i = 0; ok && i < buffers; ++i)
        ok = fill(c, i, e);
    return ok;
}

bool launch_copies_poison(struct launch_copies *c, struct error *e) {
    bool ok = true;
    for (size_t i = 0; ok && i < c->bound->launch.buffer_count; ++i)
        ok = c->bound->launch.buffers[i].role == BUFFER_IN || fill(c, i, e);
    c->timed.launched = 0;
    return ok;
}

bool launch_copies_fetch(const struct launch_copies *c, size_t copy, size_t buffer, uint8_t *bytes, struct error *e) {
    const struct driver *d = c->timed.gpu->driver;
    const size_t n = c->strides[buffer];
    return driver_check(d, d->to_host(bytes, c->bases[buffer] - BAND + copy * n, n), e, "cuMemcpyDtoH");
}

bool launch_copies_outside(const struct launch_copies *c, size_t buffer, const uint8_t *bytes, int64_t *offset) {
    const size_t end = BAND + c->bound->launch.buffers[buffer].bytes;
    for (size_t i = 0; i < c->strides[buffer]; i = i + 1 == BAND ? end : i + 1)
        if (bytes[i] != BAND_BYTE) {
            *offset = (int64_t)i - BAND;
            return true;
        }
    return false;
}

void launch_copies_free(struct launch_copies *c) {
    for (size_t i = 0; c->params && i < c->timed.copies * c->launch_count; ++i)
        gpu_params_free(bound_launch(c->bound, i % c->launch_count), c->params[i]);
    for (size_t i = 0; c->bases && c->timed.gpu->alive && i < c->bound->launch.buffer_count; ++i)
        if (c->bases[i])
            c->timed.gpu->driver->mem_free(c->bases[i] - BAND);
    free(c->params);
    free(c->functions);
    free(c->bases);
    free(c->strides);
    *c = (struct launch_copies){0};
}
