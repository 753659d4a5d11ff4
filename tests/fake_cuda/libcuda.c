/* A stand-in for libcuda.so.1 on machines without a GPU: device memory is host memory, and the kernels it knows are
 * y = 2 x of tests/foreign/double.yaml; and y[i] = a i + b + c, with {int8 a; {int32 b; int16 c}} by value, of
 * tests/device.c. What goes wrong is chosen by the environment variable FAKE_CUDA; see
 * there. A launch adds its blocks to the first word of a .global variable that the host has asked for. So everything
 * that gpu/device does around a launch is tested where there is no GPU; what a GPU computes is not. */
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
    NO_BINARY = 209,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700
};

#define API __attribute__((visibility("default")))

enum { SLOTS = 1024 };
static void *taken[SLOTS];
static int live_allocations, broken, loads;
static char *text; /* of the program that was loaded last */
static struct {
    uint32_t words[256];
    size_t bytes;
} variable; /* of it, the one that was asked for */

static void free_all(void) {
    for (unsigned slot = 0; slot < SLOTS; ++slot) {
        free(taken[slot]);
        taken[slot] = NULL;
    }
    live_allocations = 0;
}

static int want(const char *what) {
    const char *fault = getenv("FAKE_CUDA");
    return fault && !strcmp(fault, what);
}

API result cuInit(unsigned flags) {
    (void)flags;
    return want("init") ? NO_DEVICE : OK;
}
API result cuDriverGetVersion(int *version) {
    *version = 13000;
    return OK;
}
API result cuDeviceGetCount(int *count) {
    *count = !want("none");
    return OK;
}
API result cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return OK;
}
API result cuDeviceGetName(char *name, int size, int device) {
    (void)device;
    snprintf(name, (size_t)size, "Fake GPU");
    return OK;
}
API result cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 97 ? 232448 : 0;
    return OK;
}
API result cuDevicePrimaryCtxRetain(void **context, int device) {
    static int object;
    (void)device;
    *context = &object;
    broken = 0;
    return OK;
}
API result cuDevicePrimaryCtxReset_v2(int device) {
    (void)device;
    broken = 0;
    free_all();
    return OK;
}
API result cuCtxSetCurrent(void *context) {
    return context ? OK : INVALID;
}
API result cuModuleLoadDataEx(void **module, const void *image, unsigned options, int *option, void **value) {
    static int object;
    if (want("image")) {
        for (unsigned i = 0; i < options; ++i)
            if (option[i] == 5)
                snprintf(value[i], 100, "ptxas error: line 7 is not for this GPU");
        return NO_BINARY;
    }
    ++loads;
    free(text);
    text = memcmp(image, "\177ELF", 4) ? strdup(image) : NULL;
    variable.bytes = 0;
    if (getenv("FAKE_CUDA_LOG"))
        fprintf(stderr, "fake: load %d, %s\n", loads, memcmp(image, "\177ELF", 4) ? "PTX" : "cubin");
    *module = &object;
    return OK;
}
API result cuModuleUnload(void *module) {
    (void)module;
    return OK;
}
/* ".b8 NAME[BYTES]", as nvcc writes an array. */
API result cuModuleGetGlobal_v2(uint64_t *pointer, size_t *bytes, void *module, const char *name) {
    char key[64];
    (void)module;
    snprintf(key, sizeof key, ".b8 %.50s[", name);
    const char *at = text ? strstr(text, key) : NULL;
    if (!at || want("variable"))
        return NOT_FOUND;
    *pointer = (uint64_t)(uintptr_t)variable.words;
    *bytes = variable.bytes = strtoul(at + strlen(key), NULL, 10);
    return variable.bytes <= sizeof variable.words ? OK : NO_MEMORY;
}
static int double_i32, line_i32;
API result cuModuleGetFunction(void **function, void *module, const char *name) {
    (void)module;
    *function = strcmp(name, "line_i32") ? &double_i32 : &line_i32;
    return (strcmp(name, "double_i32") && strcmp(name, "line_i32")) || want("function") ? NOT_FOUND : OK;
}
API result cuFuncGetAttribute(int *value, int attribute, void *function) {
    (void)function;
    *value = attribute == 1 && want("static") ? 232448 + 1 : 0;
    return OK;
}
API result cuFuncSetAttribute(void *function, int attribute, int value) {
    (void)function, (void)attribute, (void)value;
    return OK;
}
API result cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    if (want("memory"))
        return NO_MEMORY;
    unsigned slot = 0;
    while (slot < SLOTS && taken[slot])
        ++slot;
    if (slot == SLOTS)
        return NO_MEMORY;
    taken[slot] = aligned_alloc(256, (bytes + 255) / 256 * 256);
    *pointer = (uint64_t)(uintptr_t)taken[slot];
    live_allocations += taken[slot] != NULL;
    return taken[slot] ? OK : NO_MEMORY;
}
API result cuMemFree_v2(uint64_t pointer) {
    unsigned slot = 0;
    while (slot < SLOTS && (uint64_t)(uintptr_t)taken[slot] != pointer)
        ++slot;
    if (slot == SLOTS || !pointer)
        return INVALID;
    free(taken[slot]);
    taken[slot] = NULL;
    --live_allocations;
    return OK;
}
API result cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    memcpy((void *)(uintptr_t)to, from, bytes);
    return broken ? ILLEGAL_ADDRESS : OK;
}
API result cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return broken ? ILLEGAL_ADDRESS : OK;
}
static void line(void **params) {
    uint64_t y_at;
    int32_t n, b;
    int16_t c;
    const uint8_t *s = params[1];
    memcpy(&y_at, params[0], 8);
    memcpy(&b, s + 4, 4);
    memcpy(&c, s + 8, 2);
    memcpy(&n, params[2], 4);
    for (int32_t i = 0; i < n; ++i)
        ((int32_t *)(uintptr_t)y_at)[i] = (int8_t)s[0] * i + b + c;
}

API result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **params, void **extra) {
    (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    uint64_t x_at, y_at;
    int32_t n;
    variable.words[0] += variable.bytes ? gx * gy * gz : 0;
    if (function == &line_i32) {
        line(params);
        return OK;
    }
    memcpy(&x_at, params[0], 8);
    memcpy(&y_at, params[1], 8);
    memcpy(&n, params[2], 4);
    int32_t *x = (int32_t *)(uintptr_t)x_at, *y = (int32_t *)(uintptr_t)y_at;
    if (want("resources"))
        return 701;
    for (unsigned i = 0; i < gx * bx && i < (unsigned)n; ++i)
        y[i] = (int32_t)(2u * (uint32_t)x[i]);
    if (want("wrong"))
        y[n / 2] ^= 1;
    if (want("unwritten"))
        memcpy(&y[n - 1], "\xad\xde\xa5\x7f", 4); /* the poison */
    if (want("after"))
        y[n] = 1;
    if (want("before"))
        ((uint8_t *)y)[-3] = 1;
    if (want("input"))
        x[2] ^= 4;
    broken = want("fault");
    return OK;
}
API result cuStreamQuery(void *stream) {
    (void)stream;
    return broken ? ILLEGAL_ADDRESS : want("endless") ? NOT_READY : OK;
}
API result cuGetErrorName(result r, const char **name) {
    *name = r == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : r == NO_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : r == NOT_FOUND     ? "CUDA_ERROR_NOT_FOUND"
            : r == NO_DEVICE     ? "CUDA_ERROR_NO_DEVICE"
            : r == NO_BINARY     ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
            : r == 701           ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
                                 : NULL;
    return OK;
}
API result cuGetErrorString(result r, const char **text) {
    *text = r == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "as the name says";
    return OK;
}

__attribute__((destructor)) static void tell(void) {
    if (getenv("FAKE_CUDA_LOG"))
        fprintf(stderr, "fake: %d allocations left, %d loads\n", live_allocations, loads);
    free(text);
    free_all(); /* what a lost device keeps is no leak of the program */
}
