#include "context.h"
#include "../../ref/checked.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* More programs than the whole ladder has are kept: workers take cases of many kernels in turn, and building one takes
 * the driver longer than most launches. */
enum { MOST_GPUS = 64, KEPT_MODULES = 128, MOST_SECONDS = 120, MOST_CUBIN = 1 << 28 };

struct kept_module { /* a program that the driver has built; the key is its image */
    char *image;
    size_t bytes;
    cu_module module;
};

struct gpu_state {
    pthread_mutex_t lock; /* of what follows */
    bool identified;
    atomic_bool lost;   /* read by anybody */
    cu_context context; /* NULL: to be retained */
    struct kept_module kept[KEPT_MODULES];
    size_t kept_count; /* the one that was used last stands last */
};

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER; /* of the two below */
static int gpu_count;                                        /* 0: nobody has asked */
static struct gpu gpus[MOST_GPUS];

/* --- which there are --------------------------------------------------------------------------------------------- */

static bool count_gpus(const struct driver *d, struct error *e) {
    int count = 0;
    if (gpu_count > 0)
        return true;
    if (!driver_check(d, d->init(0), e, "no GPU can be used: cuInit"))
        return false;
    if (d->device_count(&count) != CU_SUCCESS || count < 1)
        return fail(e, "no GPU here: the driver counts none; the PTX machine needs none");
    gpu_count = count < MOST_GPUS ? count : MOST_GPUS;
    for (int i = 0; i < gpu_count; ++i) {
        gpus[i] = (struct gpu){.driver = d, .number = i, .state = must_calloc(1, sizeof *gpus[i].state)};
        pthread_mutex_init(&gpus[i].state->lock, NULL);
    }
    return true;
}

bool device_count(int *count, struct error *e) {
    const struct driver *d = driver_open(e);
    if (!d)
        return false;
    pthread_mutex_lock(&counting);
    const bool ok = count_gpus(d, e);
    *count = gpu_count;
    pthread_mutex_unlock(&counting);
    return ok;
}

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

static bool identify(struct gpu *g, struct error *e) {
    const struct driver *d = g->driver;
    struct device_identity *id = &g->identity;
    int major = 0, minor = 0;
    if (g->state->identified)
        return true;
    if (!driver_check(d, d->device_get(&g->device, g->number), e, "cuDeviceGet") ||
        !driver_check(d, d->device_name(id->name, sizeof id->name, g->device), e, "cuDeviceGetName") ||
        !driver_check(d, d->device_attribute(&major, CU_COMPUTE_CAPABILITY_MAJOR, g->device), e,
                      "compute capability") ||
        !driver_check(d, d->device_attribute(&minor, CU_COMPUTE_CAPABILITY_MINOR, g->device), e,
                      "compute capability") ||
        !driver_check(d, d->driver_version(&id->cuda_version), e, "cuDriverGetVersion"))
        return false;
    id->sm = 10 * major + minor;
    read_driver_version(id);
    g->state->identified = true;
    return true;
}

/* --- enter and leave --------------------------------------------------------------------------------------------- */

/* GPU `number`, locked and identified, or NULL. */
static struct gpu *take(int number, struct error *e) {
    int count;
    if (!device_count(&count, e))
        return NULL;
    if (number < 0 || number >= count) {
        fail(e, "no GPU %d here: there %s %d, counted from 0", number, count == 1 ? "is" : "are", count);
        return NULL;
    }
    struct gpu *g = &gpus[number];
    pthread_mutex_lock(&g->state->lock);
    if (identify(g, e))
        return g;
    pthread_mutex_unlock(&g->state->lock);
    return NULL;
}

bool device_identify(int gpu, struct device_identity *id, struct error *e) {
    struct gpu *g = take(gpu, e);
    if (!g)
        return false;
    *id = g->identity;
    gpu_leave(g);
    return true;
}

char *device_text(const struct device_identity *id) {
    return must_format("%s (sm_%d), driver %s, CUDA %d.%d", id->name, id->sm, id->driver, id->cuda_version / 1000,
                       id->cuda_version % 1000 / 10);
}

bool device_lost(int gpu) {
    pthread_mutex_lock(&counting);
    const bool lost = gpu >= 0 && gpu < gpu_count && gpus[gpu].state->lost;
    pthread_mutex_unlock(&counting);
    return lost;
}

static bool take_context(struct gpu *g, struct error *e) {
    const struct driver *d = g->driver;
    cu_context *context = &g->state->context;
    if (g->state->lost)
        return gpu_count == 1 ? fail(e, "the GPU still runs an earlier launch that did not end")
                              : fail(e, "GPU %d still runs an earlier launch that did not end", g->number);
    if (!*context && !driver_check(d, d->primary_retain(context, g->device), e, "cuDevicePrimaryCtxRetain")) {
        *context = NULL;
        return false;
    }
    return driver_check(d, d->set_current(*context), e, "cuCtxSetCurrent");
}

struct gpu *gpu_enter(int number, struct error *e) {
    struct gpu *g = take(number, e);
    if (!g)
        return NULL;
    g->alive = take_context(g, e);
    if (g->alive)
        return g;
    gpu_leave(g);
    return NULL;
}

void gpu_leave(struct gpu *g) {
    pthread_mutex_unlock(&g->state->lock);
}

void gpu_reset(struct gpu *g) {
    struct gpu_state *s = g->state;
    for (size_t i = 0; i < s->kept_count; ++i)
        free(s->kept[i].image);
    s->kept_count = 0;
    g->driver->primary_reset(g->device);
    s->context = NULL;
    g->alive = false;
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

static bool build(const struct gpu *g, const struct launch *l, const char *image, cu_module *module, struct error *e) {
    char log[2048] = "";
    int options[] = {CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    const cu_result r = g->driver->module_load(module, image, 2, options, values);
    if (r == CU_SUCCESS)
        return true;
    log[sizeof log - 1] = 0;
    char *text = driver_error(g->driver, r);
    fail(e, "%.600s: the driver cannot load it for %s (sm_%d): %s%s%.600s", l->cubin ? l->cubin : l->module->path,
         g->identity.name, g->identity.sm, text, log[0] ? "\n" : "", log);
    free(text);
    return false;
}

/* The module of an image, of those that are kept; it becomes the last one. */
static bool find_kept(struct gpu_state *s, const char *image, size_t bytes, cu_module *module) {
    for (size_t i = s->kept_count; i-- > 0;)
        if (s->kept[i].bytes == bytes && !memcmp(s->kept[i].image, image, bytes)) {
            const struct kept_module found = s->kept[i];
            memmove(&s->kept[i], &s->kept[i + 1], (s->kept_count - 1 - i) * sizeof *s->kept);
            s->kept[s->kept_count - 1] = found;
            *module = found.module;
            return true;
        }
    return false;
}

static void keep(struct gpu *g, const char *image, size_t bytes, cu_module module) {
    struct gpu_state *s = g->state;
    if (s->kept_count == KEPT_MODULES) { /* the one that was used longest ago goes */
        g->driver->module_unload(s->kept[0].module);
        free(s->kept[0].image);
        memmove(s->kept, s->kept + 1, (KEPT_MODULES - 1) * sizeof *s->kept);
        --s->kept_count;
    }
    char *copy = must_calloc(bytes + 1, 1);
    memcpy(copy, image, bytes);
    s->kept[s->kept_count++] = (struct kept_module){copy, bytes, module};
}

bool gpu_module(struct gpu *g, const struct launch *l, cu_module *module, struct error *e) {
    char *cubin = NULL;
    size_t bytes = l->module->text_bytes;
    if (l->cubin && !(cubin = read_cubin(l->cubin, &bytes, e)))
        return false;
    const char *image = cubin ? cubin : l->module->text;
    bool ok = find_kept(g->state, image, bytes, module);
    if (!ok) {
        ok = build(g, l, image, module, e);
        if (ok)
            keep(g, image, bytes, *module);
    }
    free(cubin);
    return ok;
}

bool gpu_function(struct gpu *g, const struct launch *l, cu_function *function, struct error *e) {
    cu_module module;
    return gpu_module(g, l, &module, e) &&
           driver_check(g->driver, g->driver->module_function(function, module, l->entry), e, l->entry);
}

/* --- a launch ---------------------------------------------------------------------------------------------------- */

bool gpu_allow_shared(struct gpu *g, const struct launch *l, cu_function function, char **refused, struct error *e) {
    const struct driver *d = g->driver;
    int most = 0, fixed = 0;
    *refused = NULL;
    if (!driver_check(d, d->device_attribute(&most, CU_SHARED_MEMORY_PER_BLOCK_OPTIN, g->device), e,
                      "cuDeviceGetAttribute") ||
        !driver_check(d, d->function_get(&fixed, CU_FUNCTION_SHARED_STATIC, function), e, "cuFuncGetAttribute"))
        return false;
    if (fixed < 0 || most < fixed || l->shared_bytes > (size_t)(most - fixed)) {
        *refused = must_format("%zu bytes of dynamic and %d of static shared memory, a block of %s has at most %d",
                               l->shared_bytes, fixed, g->identity.name, most);
        return true;
    }
    return driver_check(d, d->function_set(function, CU_FUNCTION_DYNAMIC_SHARED_MOST, (int)l->shared_bytes), e,
                        "cuFuncSetAttribute(MaxDynamicSharedMemorySize)");
}

void **gpu_params(const struct launch *l, const uint64_t *addresses) {
    void **params = must_calloc(l->arg_count + 1, sizeof *params);
    for (size_t i = 0; i < l->arg_count; ++i) {
        params[i] = must_calloc(1, l->args[i].bytes);
        launch_arg_bytes(&l->args[i], addresses, params[i]);
    }
    return params;
}

void gpu_params_free(const struct launch *l, void **params) {
    for (size_t i = 0; i < l->arg_count; ++i)
        free(params[i]);
    free(params);
}

double gpu_seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int gpu_longest(void) {
    const char *text = getenv("WARPPROOF_DEVICE_SECONDS");
    const int seconds = text ? atoi(text) : 0;
    return seconds > 0 ? seconds : MOST_SECONDS;
}

cu_result gpu_wait(struct gpu *g, int seconds) {
    const double start = gpu_seconds_now();
    cu_result r;
    while ((r = g->driver->stream_query(NULL)) == CU_NOT_READY) {
        const double waited = gpu_seconds_now() - start;
        if (waited > seconds) {
            g->state->lost = true;
            g->alive = false;
            break;
        }
        if (waited > 0.001)
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    return r;
}
