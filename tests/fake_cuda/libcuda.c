/* A stand-in for libcuda.so.1 on machines without a GPU: device memory is host memory, and the kernels it knows are
 * y = 2 x of tests/foreign/double.yaml; y[i] = a i + b + c, with {int8 a; {int32 b; int16 c}} by value, of
 * tests/device.c; and dequantize_q8_0 of ours, so that `gate` has cases. A launch adds its blocks to
 * the first word of the program's first .global array of bytes, as nvcc writes one. So everything that gpu/device does
 * around a launch is tested where there is no GPU; what a GPU computes is not.
 *
 *   FAKE_CUDA        what goes wrong; see there. "mixed": GPUs past the first are sm_120
 *   FAKE_CUDA_ON     the GPU on which it does; without it, on all
 *   FAKE_CUDA_GPUS   how many there are, 1 without it
 *   FAKE_CUDA_NOISE  by how many percent, up and down, the made-up time of a launch varies: 10 us a block
 *   FAKE_CUDA_LOG    tells of loads, and at the end what each GPU did
 *
 * As with a driver, memory, modules and functions belong to a context, that to a GPU, and each thread has one current:
 * whatever is of another one is refused. */
#include "../../ref/half.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int result;
enum {
    OK = 0,
    INVALID = 1,
    NO_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    NO_BINARY = 209,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    OUT_OF_RESOURCES = 701,
};

#define API __attribute__((visibility("default")))

enum { FAKE_L2 = 32768, FAKE_EVENTS = 64 };
/* Ahead of an allocation and behind: who stores there harms nobody, and is told of. */
enum { ROOM = 256, ROOM_BYTE = 0x3c };
enum { GPUS = 8, SLOTS = 1024, MODULES = 512, KERNELS = 3 };
static const char *const kernel_names[KERNELS] = {"double_i32", "line_i32", "dequantize_q8_0"};
enum kernel { DOUBLE, LINE, DEQUANTIZE };

struct function {
    int gpu;
    enum kernel kernel;
    int loaded; /* its module is */
};
struct module {
    struct function functions[KERNELS]; /* first, so that a function finds its module */
    struct {
        char name[64]; /* "": it has none */
        size_t bytes;
        uint32_t words[64];
    } variable;
};
static struct fake_gpu {   /* a context's; only the thread whose current one it is comes here */
    uint8_t *taken[SLOTS]; /* room, the bytes, room */
    size_t bytes[SLOTS];
    struct module modules[MODULES];
    int allocations, loads, launches, resets, broken, retained;
    double clock;               /* in ms, by the launches */
    double events[FAKE_EVENTS]; /* 0: free, else 1 + when it was recorded */
} gpus[GPUS];
/* Of cuCtxSetCurrent. In the threads' own block: the leak checker stumbles over one of a library opened later. */
static _Thread_local struct fake_gpu *now __attribute__((tls_model("initial-exec")));
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int all_loads;

static int number(const struct fake_gpu *g) {
    return (int)(g - gpus);
}
static int count_gpus(void) {
    const char *text = getenv("FAKE_CUDA_GPUS");
    const int n = text ? atoi(text) : 1;
    return n < 1 ? 1 : n > GPUS ? GPUS : n;
}
static int is(const char *what) {
    const char *fault = getenv("FAKE_CUDA");
    return fault && !strcmp(fault, what);
}
/* It goes wrong so on the current GPU. */
static int want(const char *what) {
    const char *on = getenv("FAKE_CUDA_ON");
    return is(what) && (!on || (now && atoi(on) == number(now)));
}
static void free_all(struct fake_gpu *g) {
    for (unsigned slot = 0; slot < SLOTS; ++slot) {
        free(g->taken[slot]);
        g->taken[slot] = NULL;
    }
    g->allocations = 0;
}

API result cuInit(unsigned flags) {
    (void)flags;
    return is("init") ? NO_DEVICE : OK;
}
API result cuDriverGetVersion(int *version) {
    *version = 13000;
    return OK;
}
API result cuDeviceGetCount(int *count) {
    *count = is("none") ? 0 : count_gpus();
    return OK;
}
API result cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal >= 0 && ordinal < count_gpus() ? OK : INVALID_DEVICE;
}
API result cuDeviceGetName(char *name, int size, int device) {
    snprintf(name, (size_t)size, device && is("mixed") ? "Other GPU" : "Fake GPU");
    return OK;
}
API result cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75   ? device && is("mixed") ? 12 : 9
             : attribute == 97 ? 232448
             : attribute == 38 ? FAKE_L2
             : attribute == 16 ? 132
             : attribute == 13 ? 1980000
                               : 0;
    return OK;
}
API result cuDevicePrimaryCtxRetain(void **context, int device) {
    gpus[device].retained = 1;
    gpus[device].broken = 0;
    *context = &gpus[device];
    return OK;
}
API result cuDevicePrimaryCtxReset_v2(int device) {
    struct fake_gpu *g = &gpus[device];
    g->broken = g->retained = 0;
    ++g->resets;
    memset(g->modules, 0, sizeof g->modules);
    free_all(g);
    return OK;
}
API result cuCtxSetCurrent(void *context) {
    now = context;
    return now && now->retained ? OK : INVALID_CONTEXT;
}
static void find_variable(struct module *m, const char *image) {
    const char *at = memcmp(image, "\177ELF", 4) ? strstr(image, ".global .align 4 .b8 ") : NULL;
    if (!at || sscanf(at, ".global .align 4 .b8 %63[^[][%zu]", m->variable.name, &m->variable.bytes) != 2)
        m->variable.name[0] = 0;
}
API result cuModuleLoadDataEx(void **module, const void *image, unsigned options, int *option, void **value) {
    if (!now || !now->retained)
        return INVALID_CONTEXT;
    if (want("image")) {
        for (unsigned i = 0; i < options; ++i)
            if (option[i] == 5)
                snprintf(value[i], 100, "ptxas error: line 7 is not for this GPU");
        return NO_BINARY;
    }
    unsigned slot = 0;
    while (slot < MODULES && now->modules[slot].functions[0].loaded)
        ++slot;
    if (slot == MODULES)
        return NO_MEMORY;
    for (int k = 0; k < KERNELS; ++k)
        now->modules[slot].functions[k] = (struct function){number(now), (enum kernel)k, 1};
    find_variable(&now->modules[slot], image);
    ++now->loads;
    pthread_mutex_lock(&log_lock);
    ++all_loads;
    if (getenv("FAKE_CUDA_LOG"))
        fprintf(stderr, "fake: load %d, %s\n", all_loads, memcmp(image, "\177ELF", 4) ? "PTX" : "cubin");
    pthread_mutex_unlock(&log_lock);
    *module = &now->modules[slot];
    return OK;
}
static int is_here(const struct function *f) {
    return now && now->retained && f->loaded && f->gpu == number(now);
}
API result cuModuleUnload(void *module) {
    struct module *m = module;
    if (!is_here(&m->functions[0]))
        return INVALID_HANDLE;
    memset(m, 0, sizeof *m);
    return OK;
}
API result cuModuleGetFunction(void **function, void *module, const char *name) {
    struct module *m = module;
    if (!is_here(&m->functions[0]))
        return INVALID_HANDLE;
    for (int k = 0; k < KERNELS; ++k)
        if (!strcmp(name, kernel_names[k]) && !want("function")) {
            *function = &m->functions[k];
            return OK;
        }
    return NOT_FOUND;
}
API result cuModuleGetGlobal_v2(uint64_t *pointer, size_t *bytes, void *module, const char *name) {
    struct module *m = module;
    if (!is_here(&m->functions[0]))
        return INVALID_HANDLE;
    if (!m->variable.name[0] || strcmp(m->variable.name, name) || want("variable"))
        return NOT_FOUND;
    *pointer = (uint64_t)(uintptr_t)m->variable.words;
    *bytes = m->variable.bytes;
    return *bytes <= sizeof m->variable.words ? OK : NO_MEMORY;
}
API result cuFuncGetAttribute(int *value, int attribute, void *function) {
    *value = attribute == 1 && want("static") ? 232448 + 1 : 0;
    return is_here(function) ? OK : INVALID_HANDLE;
}
API result cuFuncSetAttribute(void *function, int attribute, int value) {
    (void)attribute, (void)value;
    return is_here(function) ? OK : INVALID_HANDLE;
}
API result cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    if (!now || !now->retained)
        return INVALID_CONTEXT;
    unsigned slot = 0;
    while (slot < SLOTS && now->taken[slot])
        ++slot;
    if (slot == SLOTS || want("memory"))
        return NO_MEMORY;
    uint8_t *all = aligned_alloc(ROOM, (bytes + ROOM - 1) / ROOM * ROOM + 2 * (size_t)ROOM);
    if (!all)
        return NO_MEMORY;
    memset(all, ROOM_BYTE, ROOM);
    memset(all + ROOM + bytes, ROOM_BYTE, ROOM);
    now->taken[slot] = all;
    now->bytes[slot] = bytes;
    *pointer = (uint64_t)(uintptr_t)(all + ROOM);
    ++now->allocations;
    return OK;
}
API result cuMemFree_v2(uint64_t pointer) {
    unsigned slot = 0;
    while (now && slot < SLOTS && !(now->taken[slot] && (uint64_t)(uintptr_t)(now->taken[slot] + ROOM) == pointer))
        ++slot;
    if (!now || slot == SLOTS)
        return INVALID;
    const uint8_t *ahead = now->taken[slot], *behind = ahead + ROOM + now->bytes[slot];
    int touched = 0;
    for (int i = 0; i < ROOM; ++i)
        touched |= ahead[i] != ROOM_BYTE || behind[i] != ROOM_BYTE;
    if (touched)
        fprintf(stderr, "fake: a store outside an allocation of %zu bytes\n", now->bytes[slot]);
    free(now->taken[slot]);
    now->taken[slot] = NULL;
    --now->allocations;
    return OK;
}
static result copy(void *to, const void *from, size_t bytes) {
    if (!now || !now->retained)
        return INVALID_CONTEXT;
    memcpy(to, from, bytes);
    return now->broken ? ILLEGAL_ADDRESS : OK;
}
API result cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    return copy((void *)(uintptr_t)to, from, bytes);
}
API result cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    return copy(to, (const void *)(uintptr_t)from, bytes);
}

static void *address(void *const *params, int i) {
    uint64_t at;
    memcpy(&at, params[i], 8);
    return (void *)(uintptr_t)at;
}
static int32_t integer(void *const *params, int i) {
    int32_t n;
    memcpy(&n, params[i], 4);
    return n;
}
static void line(void **params) { /* y, s, n */
    int32_t *y = address(params, 0), b;
    int16_t c;
    const uint8_t *s = params[1];
    memcpy(&b, s + 4, 4);
    memcpy(&c, s + 8, 2);
    for (int32_t i = 0; i < integer(params, 2); ++i)
        y[i] = (int8_t)s[0] * i + b + c;
}
static void dequantize(void **params) { /* x: blocks of a binary16 scale and 32 codes; y, nt, id */
    const uint8_t *x = address(params, 0);
    uint16_t *y = address(params, 1);
    const int64_t n = (int64_t)integer(params, 2) * integer(params, 3);
    for (int64_t i = 0; i < n; ++i) {
        const uint8_t *block = x + i / 32 * 34;
        y[i] = half_from_float(half_to_float((uint16_t)(block[0] | block[1] << 8)) * (int8_t)block[2 + i % 32]);
    }
    if (want("wrong"))
        y[n / 2] ^= 1;
}
static void twice(void **params, unsigned threads) { /* x, y, n */
    int32_t *x = address(params, 0), *y = address(params, 1);
    const int32_t n = integer(params, 2);
    for (unsigned i = 0; i < threads && i < (unsigned)n; ++i)
        y[i] = (int32_t)(2u * (uint32_t)x[i]);
    if (want("wrong") || (want("late") && now->launches > 200))
        y[n / 2] ^= 1;
    if (want("unwritten"))
        memcpy(&y[n - 1], "\xad\xde\xa5\x7f", 4); /* the poison */
    if (want("after"))
        y[n] = 1;
    if (want("before"))
        ((uint8_t *)y)[-3] = 1;
    if (want("input"))
        x[2] ^= 4;
}
API result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **params, void **extra) {
    (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    const struct function *f = function;
    if (!is_here(f))
        return INVALID_HANDLE;
    if (want("resources"))
        return OUT_OF_RESOURCES;
    ++now->launches;
    ((struct module *)(f - f->kernel))->variable.words[0] += gx * gy * gz;
    const char *noise = getenv("FAKE_CUDA_NOISE");
    const double wave = (now->launches / 97 * 5 % 11 - 5) / 5.0; /* -1 .. 1, slower than a measurement */
    now->clock += 0.01 * gx * gy * gz * (1 + (noise ? atof(noise) : 0) / 100 * wave);
    if (f->kernel == DOUBLE)
        twice(params, gx * bx);
    else
        (f->kernel == LINE ? line : dequantize)(params);
    now->broken = want("fault");
    return OK;
}
API result cuStreamQuery(void *stream) {
    (void)stream;
    return !now ? INVALID_CONTEXT : now->broken ? ILLEGAL_ADDRESS : want("endless") ? NOT_READY : OK;
}
API result cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
    return copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
}
API result cuMemsetD32_v2(uint64_t to, unsigned word, size_t count) {
    for (size_t i = 0; i < count; ++i)
        ((unsigned *)(uintptr_t)to)[i] = word;
    return now && now->retained ? OK : INVALID_CONTEXT;
}
API result cuMemGetInfo_v2(size_t *left, size_t *all) {
    *left = *all = (size_t)1 << 30;
    return now && now->retained ? OK : INVALID_CONTEXT;
}
API void fake_pass(double milliseconds); /* for the stand-in of cuBLAS */
API void fake_pass(double milliseconds) {
    now->clock += milliseconds;
}
API result cuEventCreate(double **event, unsigned flags) {
    (void)flags;
    for (int i = 0; now && i < FAKE_EVENTS; ++i)
        if (now->events[i] == 0) {
            now->events[i] = 1;
            *event = &now->events[i];
            return OK;
        }
    return NO_MEMORY;
}
API result cuEventDestroy_v2(double *event) {
    *event = 0;
    return OK;
}
API result cuEventRecord(double *event, void *stream) {
    (void)stream;
    *event = 1 + now->clock;
    return OK;
}
API result cuEventElapsedTime(float *milliseconds, double *begin, double *end) {
    *milliseconds = want("clock") ? 0 : (float)(*end - *begin);
    return OK;
}
API result cuGetErrorName(result r, const char **name) {
    *name = r == ILLEGAL_ADDRESS    ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : r == NO_MEMORY        ? "CUDA_ERROR_OUT_OF_MEMORY"
            : r == NOT_FOUND        ? "CUDA_ERROR_NOT_FOUND"
            : r == NO_DEVICE        ? "CUDA_ERROR_NO_DEVICE"
            : r == INVALID_DEVICE   ? "CUDA_ERROR_INVALID_DEVICE"
            : r == INVALID_CONTEXT  ? "CUDA_ERROR_INVALID_CONTEXT"
            : r == INVALID_HANDLE   ? "CUDA_ERROR_INVALID_HANDLE"
            : r == NO_BINARY        ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
            : r == OUT_OF_RESOURCES ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
                                    : NULL;
    return OK;
}
API result cuGetErrorString(result r, const char **text) {
    *text = r == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "as the name says";
    return OK;
}

__attribute__((destructor)) static void tell(void) {
    int left = 0;
    for (int i = 0; i < GPUS; ++i)
        left += gpus[i].allocations;
    if (getenv("FAKE_CUDA_LOG"))
        fprintf(stderr, "fake: %d allocations left, %d loads\n", left, all_loads);
    for (int i = 0; i < count_gpus() && count_gpus() > 1 && getenv("FAKE_CUDA_LOG"); ++i)
        fprintf(stderr, "fake: GPU %d: %d allocations left, %d loads, %d launches, %d resets\n", i, gpus[i].allocations,
                gpus[i].loads, gpus[i].launches, gpus[i].resets);
    for (int i = 0; i < GPUS; ++i)
        free_all(&gpus[i]); /* what a lost device keeps is no leak of the program */
}
