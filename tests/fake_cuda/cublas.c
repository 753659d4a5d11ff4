/* A stand-in for libcublasLt beside the one for libcuda: products of device memory, which is host memory, on the host,
 * in the two forms that gpu/device/cublas.c asks for. It offers three algorithms: the first takes 3 ms of the
 * stand-in's clock, the second, which is the fastest, is refused at its first launch, the third takes 2 ms. What goes
 * wrong is chosen by
 *
 *   FAKE_CUBLAS   "create", "heuristic" (it offers none), "wrong" (a cell of every product), "late" (of every product
 *                 after the 200th) */
#include "../../ref/half.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int status;
enum { OK = 0, INVALID = 7, NOT_SUPPORTED = 15 };
#define API __attribute__((visibility("default")))

struct operation {
    int sums, scale, transpose_a;
};
struct layout {
    int type;
    uint64_t rows, columns;
    int64_t leading;
};
struct algorithm {
    uint64_t number[8];
    size_t workspace;
    status state;
    float waves;
    int reserved[4];
};

static int handle;
static long products;

static int want(const char *what) {
    const char *fault = getenv("FAKE_CUBLAS");
    return fault && !strcmp(fault, what);
}

API status cublasLtCreate(void **h) {
    *h = &handle;
    return want("create") ? 1 : OK;
}
API status cublasLtDestroy(void *h) {
    return h == &handle ? OK : INVALID;
}
API const char *cublasLtGetStatusString(status s) {
    return s == 1 ? "the library was not initialized" : "as the number says";
}
API size_t cublasLtGetVersion(void) {
    return 130000;
}
API status cublasLtMatmulDescCreate(void **out, int sums, int scale) {
    struct operation *o = calloc(1, sizeof *o);
    *o = (struct operation){sums, scale, 0};
    *out = o;
    return OK;
}
API status cublasLtMatmulDescSetAttribute(void *operation, int attribute, const void *value, size_t bytes) {
    if (attribute != 3 || bytes != 4)
        return INVALID;
    memcpy(&((struct operation *)operation)->transpose_a, value, 4);
    return OK;
}
API status cublasLtMatmulDescDestroy(void *operation) {
    free(operation);
    return OK;
}
API status cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns, int64_t leading) {
    struct layout *l = calloc(1, sizeof *l);
    *l = (struct layout){type, rows, columns, leading};
    *out = l;
    return leading >= (int64_t)rows ? OK : INVALID;
}
API status cublasLtMatrixLayoutDestroy(void *layout) {
    free(layout);
    return OK;
}
API status cublasLtMatmulPreferenceCreate(void **out) {
    *out = calloc(1, 8);
    return OK;
}
API status cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t bytes) {
    (void)preference, (void)value;
    return attribute == 1 && bytes == 8 ? OK : INVALID;
}
API status cublasLtMatmulPreferenceDestroy(void *preference) {
    free(preference);
    return OK;
}
API status cublasLtMatmulAlgoGetHeuristic(void *h, void *operation, void *a, void *b, void *c, void *d,
                                          void *preference, int wanted, struct algorithm *found, int *count) {
    (void)h, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference;
    *count = want("heuristic") || wanted < 3 ? 0 : 3;
    for (int i = 0; i < *count; ++i)
        found[i] = (struct algorithm){.number = {(uint64_t)i}};
    return OK;
}

static void pass(double milliseconds) {
    void (*advance)(double) = NULL;
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *symbol = cuda ? dlsym(cuda, "fake_pass") : NULL;
    if (!symbol)
        abort();
    memcpy(&advance, &symbol, sizeof advance);
    advance(milliseconds);
    dlclose(cuda);
}

/* d (m, n) = a^T (m, k) b (k, n), all column-major. */
API status cublasLtMatmul(void *h, void *operation, const void *alpha, const void *a, void *a_layout, const void *b,
                          void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,
                          const uint64_t *algorithm, void *workspace, size_t workspace_bytes, void *stream) {
    (void)h, (void)alpha, (void)beta, (void)c, (void)c_layout, (void)workspace, (void)workspace_bytes, (void)stream;
    const struct operation *o = operation;
    const struct layout *la = a_layout, *lb = b_layout, *ld = d_layout;
    const uint64_t m = ld->rows, n = ld->columns, k = la->rows;
    const int halves = la->type == 2;
    if (o->transpose_a != 1 || la->columns != m || lb->rows != k || lb->columns != n || la->type != lb->type ||
        (halves ? o->sums != 68 || o->scale != 0 || ld->type != 2 : o->sums != 72 || o->scale != 10 || ld->type != 10))
        return INVALID;
    if (algorithm[0] == 1)
        return NOT_SUPPORTED;
    pass(algorithm[0] == 0 ? 3 : 2);
    for (uint64_t j = 0; j < n; ++j)
        for (uint64_t i = 0; i < m; ++i) {
            int32_t sum = 0;
            for (uint64_t x = 0; x < k; ++x) {
                const uint64_t at = i * (uint64_t)la->leading + x, bt = j * (uint64_t)lb->leading + x;
                sum +=
                    halves
                        ? (int32_t)(half_to_float(((const uint16_t *)a)[at]) * half_to_float(((const uint16_t *)b)[bt]))
                        : ((const int8_t *)a)[at] * ((const int8_t *)b)[bt];
            }
            if (halves)
                ((uint16_t *)d)[j * (uint64_t)ld->leading + i] = half_from_float((float)sum);
            else
                ((int32_t *)d)[j * (uint64_t)ld->leading + i] = sum;
        }
    if (want("wrong") || (want("late") && ++products > 200))
        *(uint8_t *)d ^= 1;
    return OK;
}
