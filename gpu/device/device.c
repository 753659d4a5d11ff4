/* runner_device: the same launch on the first GPU of this machine.
 *
 * Every buffer lies between two guard bands in an allocation of its own; bands and inputs are compared afterwards, so a
 * store outside a buffer is found, though not who did it. The driver builds the PTX (or takes the launch's cubin) once
 * a module and keeps it. One launch runs at a time, whoever asks. A launch that the GPU stops (an illegal address, a
 * trap) leaves a context that is good for nothing: it is reset, and the next launch starts in a new one. A launch that
 * does not end cannot be stopped from here: the device counts as lost and every later launch fails. */
#include "device.h"
#include "../../ref/checked.h"
#include "driver.h"
#include "globals.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BAND = 4096, BAND_BYTE = 0xa5, KEPT_MODULES = 16, MOST_SECONDS = 120, MOST_CUBIN = 1 << 28 };

struct kept_module { /* a program that the driver has built; the key is its image */
    char *image;
    size_t bytes;
    cu_module module;
};

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool open, lost;
    int device;
    cu_context context; /* NULL: to be retained */
    struct device_identity identity;
    struct kept_module kept[KEPT_MODULES];
    size_t kept_count;
} gpu;

/* --- the device -------------------------------------------------------------------------------------------------- */

/* The version of the kernel module: the word after "Kernel Module" in its own file, if it has one. */
static void read_driver_version(struct device_identity *id) {
    char line[256] = "";
    snprintf(id->driver, sizeof id->driver, "CUDA %d.%d", id->cuda_version / 1000, id->cuda_version % 1000 / 10);
    FILE *f = fopen("/proc/driver/nvidia/version", "re");
    if (!f)
        return;
    if (fgets(line, sizeof line, f))
        for (char *s = line, *word; (word = strsep(&s, " \t\n")) != NULL;)
            if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.'))
                snprintf(id->driver, sizeof id->driver, "%.60s", word);
    fclose(f);
}

static bool open_device(const struct driver *d, struct error *e) {
    int count = 0, major = 0, minor = 0;
    if (gpu.open)
        return true;
    if (!driver_check(d, d->init(0), e, "no GPU can be used: cuInit"))
        return false;
    if (d->device_count(&count) != CU_SUCCESS || count < 1)
        return fail(e, "no GPU here: the driver counts none; the PTX machine needs none");
    if (!driver_check(d, d->device_get(&gpu.device, 0), e, "cuDeviceGet") ||
        !driver_check(d, d->device_name(gpu.identity.name, sizeof gpu.identity.name, gpu.device), e,
                      "cuDeviceGetName") ||
        !driver_check(d, d->device_attribute(&major, CU_COMPUTE_CAPABILITY_MAJOR, gpu.device), e,
                      "compute capability") ||
        !driver_check(d, d->device_attribute(&minor, CU_COMPUTE_CAPABILITY_MINOR, gpu.device), e,
                      "compute capability") ||
        !driver_check(d, d->driver_version(&gpu.identity.cuda_version), e, "cuDriverGetVersion"))
        return false;
    gpu.identity.sm = 10 * major + minor;
    read_driver_version(&gpu.identity);
    gpu.open = true;
    return true;
}

/* The context of this thread. A context may belong to several threads, one after the other. */
static bool enter(const struct driver *d, struct error *e) {
    if (!open_device(d, e))
        return false;
    if (gpu.lost)
        return fail(e, "the GPU still runs an earlier launch that did not end");
    if (!gpu.context && !driver_check(d, d->primary_retain(&gpu.context, gpu.device), e, "cuDevicePrimaryCtxRetain")) {
        gpu.context = NULL;
        return false;
    }
    return driver_check(d, d->set_current(gpu.context), e, "cuCtxSetCurrent");
}

/* After a fault: all that was in the context is gone. */
static void leave_broken(const struct driver *d) {
    for (size_t i = 0; i < gpu.kept_count; ++i)
        free(gpu.kept[i].image);
    gpu.kept_count = 0;
    d->primary_reset(gpu.device);
    gpu.context = NULL;
}

bool device_identify(struct device_identity *id, struct error *e) {
    const struct driver *d = driver_open(e);
    if (!d)
        return false;
    pthread_mutex_lock(&one_at_a_time);
    const bool ok = open_device(d, e);
    *id = gpu.identity;
    pthread_mutex_unlock(&one_at_a_time);
    return ok;
}

/* --- the program ------------------------------------------------------------------------------------------------- */

/* A regular file, whole and ended by a 0 byte; malloc'ed. */
static char *read_cubin(const char *path, size_t *bytes, struct error *e) {
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat s;
    char *image = NULL;
    if (fd < 0 || fstat(fd, &s) != 0) {
        fail(e, "%s: %s", path, strerror(errno));
    } else if (!S_ISREG(s.st_mode) || s.st_size < 4 || s.st_size > MOST_CUBIN) {
        fail(e, "%s: not a cubin (want a regular file of at most %d MiB)", path, MOST_CUBIN >> 20);
    } else if (!(image = calloc((size_t)s.st_size + 1, 1))) {
        fail(e, "%s: no memory for %lld bytes", path, (long long)s.st_size);
    } else {
        *bytes = 0;
        ssize_t n;
        while ((n = read(fd, image + *bytes, (size_t)s.st_size - *bytes)) > 0)
            *bytes += (size_t)n;
        if (n < 0 || *bytes < 4 || memcmp(image, "\177ELF", 4) != 0) {
            fail(e, "%s: not a cubin (want an ELF file)", path);
            free(image);
            image = NULL;
        }
    }
    if (fd >= 0)
        close(fd);
    return image;
}

static bool build(const struct driver *d, const struct launch *l, const char *image, cu_module *module,
                  struct error *e) {
    char log[2048] = "";
    int options[] = {CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    const cu_result r = d->module_load(module, image, 2, options, values);
    if (r == CU_SUCCESS)
        return true;
    log[sizeof log - 1] = 0;
    char *text = driver_error(d, r);
    fail(e, "%.600s: the driver cannot load it for %s (sm_%d): %s%s%.600s", l->cubin ? l->cubin : l->module->path,
         gpu.identity.name, gpu.identity.sm, text, log[0] ? "\n" : "", log);
    free(text);
    return false;
}

/* The function of l, of a module that is built now or was before. */
static bool find_function(const struct driver *d, const struct launch *l, cu_module *of, cu_function *function,
                          struct error *e) {
    char *cubin = NULL;
    size_t bytes = l->module->text_bytes;
    if (l->cubin && !(cubin = read_cubin(l->cubin, &bytes, e)))
        return false;
    const char *image = cubin ? cubin : l->module->text;
    cu_module module = NULL;
    for (size_t i = 0; i < gpu.kept_count; ++i)
        if (gpu.kept[i].bytes == bytes && !memcmp(gpu.kept[i].image, image, bytes))
            module = gpu.kept[i].module;
    if (!module) {
        if (!build(d, l, image, &module, e)) {
            free(cubin);
            return false;
        }
        if (gpu.kept_count == KEPT_MODULES) { /* the oldest goes */
            d->module_unload(gpu.kept[0].module);
            free(gpu.kept[0].image);
            memmove(gpu.kept, gpu.kept + 1, (KEPT_MODULES - 1) * sizeof *gpu.kept);
            --gpu.kept_count;
        }
        char *copy = must_calloc(bytes + 1, 1);
        memcpy(copy, image, bytes);
        gpu.kept[gpu.kept_count++] = (struct kept_module){copy, bytes, module};
    }
    free(cubin);
    *of = module;
    return driver_check(d, d->module_function(function, module, l->entry), e, l->entry);
}

/* --- buffers ----------------------------------------------------------------------------------------------------- */

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
           (!b->bytes || driver_check(d, d->to_device(*base + BAND, b->data, b->bytes), e, "cuMemcpyHtoD")) &&
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

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Asks for the dynamic shared memory of l. *refused: the device has not that much. */
static bool take_shared(const struct driver *d, const struct launch *l, cu_function function, char **refused,
                        struct error *e) {
    int most = 0, fixed = 0;
    if (!driver_check(d, d->device_attribute(&most, CU_SHARED_MEMORY_PER_BLOCK_OPTIN, gpu.device), e,
                      "cuDeviceGetAttribute") ||
        !driver_check(d, d->function_get(&fixed, CU_FUNCTION_SHARED_STATIC, function), e, "cuFuncGetAttribute"))
        return false;
    if (fixed < 0 || most < fixed || l->shared_bytes > (size_t)(most - fixed)) {
        *refused = must_format("%zu bytes of dynamic and %d of static shared memory, a block of %s has at most %d",
                               l->shared_bytes, fixed, gpu.identity.name, most);
        return true;
    }
    return driver_check(d, d->function_set(function, CU_FUNCTION_DYNAMIC_SHARED_MOST, (int)l->shared_bytes), e,
                        "cuFuncSetAttribute(MaxDynamicSharedMemorySize)");
}

/* A launch may take this long: $WARPPROOF_DEVICE_SECONDS, else MOST_SECONDS. */
static int longest(void) {
    const char *text = getenv("WARPPROOF_DEVICE_SECONDS");
    const int seconds = text ? atoi(text) : 0;
    return seconds > 0 ? seconds : MOST_SECONDS;
}

/* Starts it and waits. A fault of the kernel becomes t->device_fault; false: it could not be run, or does not end. */
static bool launch_and_wait(const struct driver *d, const struct launch *l, cu_function function,
                            const cu_pointer *bases, struct trace *t, struct error *e) {
    void **params = must_calloc(l->arg_count + 1, sizeof *params);
    uint64_t *addresses = must_calloc(l->buffer_count + 1, sizeof *addresses);
    for (size_t i = 0; i < l->buffer_count; ++i)
        addresses[i] = bases[i] + BAND;
    for (size_t i = 0; i < l->arg_count; ++i) {
        params[i] = must_calloc(1, l->args[i].bytes);
        launch_arg_bytes(&l->args[i], addresses, params[i]);
    }
    free(addresses);
    const int most = longest();
    const double start = seconds_now();
    cu_result r = d->launch(function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
                            (unsigned)l->shared_bytes, NULL, params, NULL);
    const bool started = r == CU_SUCCESS;
    while (started && (r = d->stream_query(NULL)) == CU_NOT_READY) {
        const double waited = seconds_now() - start;
        if (waited > most) {
            gpu.lost = true;
            break;
        }
        if (waited > 0.001)
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    t->seconds = seconds_now() - start;
    for (size_t i = 0; i < l->arg_count; ++i)
        free(params[i]);
    free(params);
    if (gpu.lost)
        return fail(e, "%.200s did not end within %d second%s on the GPU", l->entry, most, most == 1 ? "" : "s");
    if (r == CU_SUCCESS)
        return true;
    t->device_fault = driver_error(d, r);
    if (started)
        leave_broken(d);
    return true;
}

static bool run_entered(const struct driver *d, const struct launch *l, struct trace *t, struct error *e) {
    cu_module module;
    cu_function function;
    if (!find_function(d, l, &module, &function, e) || !take_shared(d, l, function, &t->device_fault, e))
        return false;
    if (t->device_fault)
        return true;
    cu_pointer *bases = must_calloc(l->buffer_count + 1, sizeof *bases);
    bool ok = true;
    for (size_t i = 0; ok && i < l->buffer_count; ++i)
        ok = put_buffer(d, &l->buffers[i], &bases[i], e);
    ok = ok && globals_put(d, module, l, e) && launch_and_wait(d, l, function, bases, t, e);
    ok = ok && (t->device_fault || globals_get(d, module, l, e));
    for (size_t i = 0; ok && !t->device_fault && i < l->buffer_count; ++i)
        ok = get_buffer(d, &l->buffers[i], bases[i], (int)i, t, e);
    for (size_t i = 0; gpu.context && !gpu.lost && i < l->buffer_count; ++i)
        if (bases[i])
            d->mem_free(bases[i]);
    free(bases);
    return ok;
}

static bool device_run(const struct launch *l, struct trace *t, struct error *e) {
    *t = (struct trace){.on_gpu = true};
    const struct driver *d = driver_open(e);
    if (!d || !launch_check(l, e))
        return false;
    pthread_mutex_lock(&one_at_a_time);
    const bool ok = enter(d, e) && run_entered(d, l, t, e);
    pthread_mutex_unlock(&one_at_a_time);
    if (!ok)
        trace_free(t);
    return ok;
}

const struct runner runner_device = {.name = "device", .run = device_run};
