#include "cublas.h"
#include "../../ref/checked.h"
#include "../../ref/half.h"
#include "../../ref/random.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int lt_status; /* cublasStatus_t */
enum { LT_SUCCESS = 0 };
enum { LT_F32 = 0, LT_F16 = 2, LT_I8 = 3, LT_I32 = 10 }; /* cudaDataType */
enum { LT_SUMS_F32 = 68, LT_SUMS_I32 = 72 };             /* cublasComputeType_t */
enum { LT_TRANSPOSE_A = 3, LT_WORKSPACE = 1 };           /* attributes of an operation, of a preference */
enum { LT_TRANSPOSED = 1 };                              /* cublasOperation_t */
enum { WEIGHT, ACTIVATION, RESULT };                     /* of layout[] */
enum { ALGORITHMS = 16, TRIES = 3, LAUNCHES_A_TRY = 8 }; /* of which the fastest is taken */
enum { WORKSPACE = 64 << 20, ALIGNMENT = 256, F16_MOST = 8 /* of a magnitude */ };

struct lt_algorithm { /* cublasLtMatmulHeuristicResult_t */
    uint64_t algorithm[8];
    size_t workspace;
    lt_status state;
    float waves;
    int reserved[4];
};

struct cublas {
    struct gpu *gpu;
    void *file, *handle;
    lt_status (*create)(void **handle);
    lt_status (*destroy)(void *handle);
    const char *(*status_text)(lt_status s);
    size_t (*version)(void);
    lt_status (*operation_create)(void **operation, int sums, int scale);
    lt_status (*operation_set)(void *operation, int attribute, const void *value, size_t bytes);
    lt_status (*operation_destroy)(void *operation);
    lt_status (*layout_create)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
    lt_status (*layout_destroy)(void *layout);
    lt_status (*preference_create)(void **preference);
    lt_status (*preference_set)(void *preference, int attribute, const void *value, size_t bytes);
    lt_status (*preference_destroy)(void *preference);
    lt_status (*heuristic)(void *handle, void *operation, void *a, void *b, void *c, void *d, void *preference,
                           int wanted, struct lt_algorithm *found, int *count);
    lt_status (*matmul)(void *handle, void *operation, const void *alpha, const void *a, void *a_layout, const void *b,
                        void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,
                        const uint64_t *algorithm, void *workspace, size_t workspace_bytes, cu_stream stream);
};

const char *const cublas_names[CUBLAS_KINDS] = {"cuBLAS f16", "cuBLAS int8"};
const char *const cublas_abouts[CUBLAS_KINDS] = {"f16 x f16 -> f16, sums in f32", "int8 x int8 -> int32"};

/* What a product is made of, in bytes and numbers of the library. */
static const struct {
    size_t operand_bytes, result_bytes, most_depth; /* up to which every sum is exact */
    int operand, result, sums, scale;
} kinds[CUBLAS_KINDS] = {
    [CUBLAS_F16] = {2, 2, (1 << 24) / (F16_MOST * F16_MOST), LT_F16, LT_F16, LT_SUMS_F32, LT_F32},
    [CUBLAS_INT8] = {1, 4, INT32_MAX / (128 * 128), LT_I8, LT_I32, LT_SUMS_I32, LT_I32},
};

/* --- the library ------------------------------------------------------------------------------------------------- */

static bool load(struct cublas *c, const char *name, void *into, struct error *e) {
    void *symbol = dlsym(c->file, name);
    if (!symbol)
        return fail(e, "cuBLAS has no %s: it is too old", name);
    memcpy(into, &symbol, sizeof symbol); /* POSIX makes a pointer to a function of it */
    return true;
}

static bool load_all(struct cublas *c, struct error *e) {
    const struct {
        const char *name;
        void *into;
    } symbols[] = {
        {"cublasLtCreate", &c->create},
        {"cublasLtDestroy", &c->destroy},
        {"cublasLtGetStatusString", &c->status_text},
        {"cublasLtGetVersion", &c->version},
        {"cublasLtMatmulDescCreate", &c->operation_create},
        {"cublasLtMatmulDescSetAttribute", &c->operation_set},
        {"cublasLtMatmulDescDestroy", &c->operation_destroy},
        {"cublasLtMatrixLayoutCreate", &c->layout_create},
        {"cublasLtMatrixLayoutDestroy", &c->layout_destroy},
        {"cublasLtMatmulPreferenceCreate", &c->preference_create},
        {"cublasLtMatmulPreferenceSetAttribute", &c->preference_set},
        {"cublasLtMatmulPreferenceDestroy", &c->preference_destroy},
        {"cublasLtMatmulAlgoGetHeuristic", &c->heuristic},
        {"cublasLtMatmul", &c->matmul},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; ++i)
        if (!load(c, symbols[i].name, symbols[i].into, e))
            return false;
    return true;
}

/* The library where the loader looks, or where the toolkit puts it. */
static void *open_library(struct error *e) {
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                        "/usr/local/cuda/lib64/libcublasLt.so.13",
                                        "/usr/local/cuda/lib64/libcublasLt.so.12"};
    const char *given = getenv("WARPPROOF_CUBLAS");
    void *file = NULL;
    if (given && *given) {
        file = dlopen(given, RTLD_NOW | RTLD_LOCAL);
        if (!file)
            fail(e, "WARPPROOF_CUBLAS: %.1000s", dlerror());
        return file;
    }
    for (size_t i = 0; !file && i < sizeof names / sizeof *names; ++i)
        file = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!file)
        fail(e, "no cuBLAS here: libcublasLt.so.13 and .12 cannot be opened (WARPPROOF_CUBLAS=FILE names one)");
    return file;
}

static bool check(const struct cublas *c, lt_status s, struct error *e, const char *what) {
    if (s == LT_SUCCESS)
        return true;
    const char *text = c->status_text(s);
    return fail(e, "%s: cuBLAS status %d%s%s", what, s, text ? ": " : "", text ? text : "");
}

struct cublas *cublas_open(struct gpu *g, struct error *e) {
    struct cublas *c = must_calloc(1, sizeof *c);
    c->gpu = g;
    c->file = open_library(e);
    if (c->file && load_all(c, e) && check(c, c->create(&c->handle), e, "cublasLtCreate"))
        return c;
    c->handle = NULL;
    cublas_close(c);
    return NULL;
}

size_t cublas_version(const struct cublas *c) {
    return c->version();
}

/* The file stays open: the library leaves things behind in the driver's context. */
void cublas_close(struct cublas *c) {
    if (c && c->handle && c->gpu->alive)
        c->destroy(c->handle);
    free(c);
}

/* --- a product --------------------------------------------------------------------------------------------------- */

static void *at(cu_pointer base, size_t copy, size_t stride) {
    return (void *)(uintptr_t)(base + copy * stride);
}

static bool start_product(struct timed *t, size_t copy, struct error *e) {
    const struct cublas_product *p = (const struct cublas_product *)t; /* its first member */
    const struct cublas *c = p->library;
    static const float one = 1, zero = 0;
    static const int32_t one_integer = 1, zero_integer = 0;
    const bool floats = p->kind == CUBLAS_F16;
    const struct lt_algorithm *a = &((const struct lt_algorithm *)p->algorithms)[p->algorithm];
    void *result = at(p->result, copy, p->result_stride);
    return check(c,
                 c->matmul(c->handle, p->operation, floats ? (const void *)&one : &one_integer,
                           at(p->weight, copy, p->weight_stride), p->layout[WEIGHT],
                           at(p->activation, copy, p->activation_stride), p->layout[ACTIVATION],
                           floats ? (const void *)&zero : &zero_integer, result, p->layout[RESULT], result,
                           p->layout[RESULT], a->algorithm, at(p->workspace, 0, 0), WORKSPACE, NULL),
                 e, "cublasLtMatmul");
}

/* The matrices are row-major and the library's column-major: what it sees is their transpose. Its product is
 * result^T (od, nt) = (weight^T (id, od))^T times activation^T (id, nt). */
static bool describe(struct cublas_product *p, struct error *e) {
    const struct cublas *c = p->library;
    const int32_t transposed = LT_TRANSPOSED;
    const uint64_t workspace = WORKSPACE;
    const int type = kinds[p->kind].operand;
    int count = 0;
    p->algorithms = must_calloc(ALGORITHMS, sizeof(struct lt_algorithm));
    if (!check(c, c->operation_create(&p->operation, kinds[p->kind].sums, kinds[p->kind].scale), e,
               "cublasLtMatmulDescCreate") ||
        !check(c, c->operation_set(p->operation, LT_TRANSPOSE_A, &transposed, sizeof transposed), e,
               "cublasLtMatmulDescSetAttribute") ||
        !check(c, c->layout_create(&p->layout[WEIGHT], type, p->id, p->od, (int64_t)p->id), e,
               "cublasLtMatrixLayoutCreate") ||
        !check(c, c->layout_create(&p->layout[ACTIVATION], type, p->id, p->nt, (int64_t)p->id), e,
               "cublasLtMatrixLayoutCreate") ||
        !check(c, c->layout_create(&p->layout[RESULT], kinds[p->kind].result, p->od, p->nt, (int64_t)p->od), e,
               "cublasLtMatrixLayoutCreate") ||
        !check(c, c->preference_create(&p->preference), e, "cublasLtMatmulPreferenceCreate") ||
        !check(c, c->preference_set(p->preference, LT_WORKSPACE, &workspace, sizeof workspace), e,
               "cublasLtMatmulPreferenceSetAttribute") ||
        !check(c,
               c->heuristic(c->handle, p->operation, p->layout[WEIGHT], p->layout[ACTIVATION], p->layout[RESULT],
                            p->layout[RESULT], p->preference, ALGORITHMS, p->algorithms, &count),
               e, "cublasLtMatmulAlgoGetHeuristic"))
        return false;
    p->algorithm_count = count > 0 && count <= ALGORITHMS ? (size_t)count : 0;
    return p->algorithm_count || fail(e, "cuBLAS offers no algorithm for this shape");
}

/* x (count) = integers of a stream: any int8, or -8 .. 8. */
static void draw(enum cublas_kind kind, uint32_t lane, size_t count, int8_t *x) {
    struct random_stream s = random_open(random_key("cublas"), lane);
    for (size_t i = 0; i < count; i += 4) {
        const uint32_t word = random_u32(&s);
        for (size_t k = 0; k < 4 && i + k < count; ++k) {
            const unsigned byte = word >> 8 * k & 255;
            x[i + k] = (int8_t)(kind == CUBLAS_F16 ? (int)(byte % (2 * F16_MOST + 1)) - F16_MOST : (int)byte - 128);
        }
    }
}

/* Copies of a matrix of integers, as the library takes them. */
static bool upload(const struct cublas_product *p, const int8_t *x, size_t count, cu_pointer base, size_t stride,
                   struct error *e) {
    const struct driver *d = p->timed.gpu->driver;
    const size_t bytes = count * kinds[p->kind].operand_bytes;
    uint16_t *halves = p->kind == CUBLAS_F16 ? malloc(bytes) : NULL;
    if (p->kind == CUBLAS_F16 && !halves)
        return fail(e, "no memory for %zu bytes", bytes);
    for (size_t i = 0; halves && i < count; ++i)
        halves[i] = half_from_float(x[i]);
    bool ok = driver_check(d, d->to_device(base, halves ? (const void *)halves : x, bytes), e, "cuMemcpyHtoD");
    for (size_t k = 1; ok && k < p->timed.copies; ++k)
        ok = driver_check(d, d->on_device(base + k * stride, base, bytes), e, "cuMemcpyDtoD");
    free(halves);
    return ok;
}

static bool allocate(const struct cublas_product *p, cu_pointer *base, size_t stride, size_t copies, struct error *e) {
    size_t bytes;
    if (!size_mul(stride, copies, &bytes))
        return fail(e, "%zu copies are larger than the address space", copies);
    const struct driver *d = p->timed.gpu->driver;
    if (driver_check(d, d->mem_alloc(base, bytes), e, "cuMemAlloc"))
        return true;
    *base = 0;
    return false;
}

/* count * bytes, and that as a stride. False: too large. */
static bool sized(size_t rows, size_t columns, size_t bytes, size_t *count, size_t *stride) {
    size_t all;
    if (!size_mul(rows, columns, count) || !size_mul(*count, bytes, &all) || !size_add(all, ALIGNMENT - 1, &all))
        return false;
    *stride = all / ALIGNMENT * ALIGNMENT;
    return true;
}

static bool make(struct cublas_product *p, size_t l2_bytes, struct error *e) {
    const size_t operand = kinds[p->kind].operand_bytes;
    size_t weights, activations, cells, bytes;
    if (p->id > kinds[p->kind].most_depth)
        return fail(e, "a depth of %zu: sums are exact up to %zu", p->id, kinds[p->kind].most_depth);
    if (!sized(p->od, p->id, operand, &weights, &p->weight_stride) ||
        !sized(p->nt, p->id, operand, &activations, &p->activation_stride) ||
        !sized(p->nt, p->od, kinds[p->kind].result_bytes, &cells, &p->result_stride) ||
        !size_add(p->weight_stride, p->activation_stride, &bytes) || !size_add(bytes, p->result_stride, &bytes))
        return fail(e, "the matrices are larger than the address space");
    p->timed.bytes = bytes;
    p->timed.copies = timing_copies(bytes, l2_bytes);
    p->host_weight = malloc(weights);
    p->host_activation = malloc(activations);
    if (!p->host_weight || !p->host_activation)
        return fail(e, "no memory for %zu bytes", weights + activations);
    if (!describe(p, e) || !allocate(p, &p->workspace, WORKSPACE, 1, e) ||
        !allocate(p, &p->weight, p->weight_stride, p->timed.copies, e) ||
        !allocate(p, &p->activation, p->activation_stride, p->timed.copies, e) ||
        !allocate(p, &p->result, p->result_stride, p->timed.copies, e))
        return false;
    draw(p->kind, 0, weights, p->host_weight);
    draw(p->kind, 1, activations, p->host_activation);
    return upload(p, p->host_weight, weights, p->weight, p->weight_stride, e) &&
           upload(p, p->host_activation, activations, p->activation, p->activation_stride, e) &&
           cublas_product_poison(p, e);
}

bool cublas_product_open(struct cublas *c, enum cublas_kind kind, size_t nt, size_t od, size_t id, size_t l2_bytes,
                         struct cublas_product *p, struct error *e) {
    *p = (struct cublas_product){
        .timed = {.gpu = c->gpu, .start = start_product}, .library = c, .kind = kind, .nt = nt, .od = od, .id = id};
    return make(p, l2_bytes, e);
}

enum timing cublas_product_tune(struct cublas_product *p, struct error *e) {
    double best = 0;
    size_t fastest = p->algorithm_count;
    for (size_t a = 0; a < p->algorithm_count; ++a) {
        p->algorithm = a;
        for (int k = 0; k < TRIES; ++k) {
            double seconds;
            const enum timing done = timed_run(&p->timed, LAUNCHES_A_TRY, &seconds, e);
            if (done == TIMING_STOPPED && p->timed.gpu->alive)
                break; /* what the heuristic offers may still be refused */
            if (done != TIMING_DONE)
                return done;
            if (fastest == p->algorithm_count || seconds < best) {
                best = seconds;
                fastest = a;
            }
        }
    }
    p->algorithm = fastest < p->algorithm_count ? fastest : 0;
    return fastest < p->algorithm_count ? TIMING_DONE : TIMING_STOPPED;
}

bool cublas_product_poison(struct cublas_product *p, struct error *e) {
    const struct driver *d = p->timed.gpu->driver;
    p->timed.launched = 0;
    return driver_check(d, d->memset_words(p->result, BIND_POISON, p->result_stride * p->timed.copies / 4), e,
                        "cuMemsetD32");
}

/* --- the check --------------------------------------------------------------------------------------------------- */

/* Cell (token, row) of the first result against the sum on the host. */
static bool cell_right(const struct cublas_product *p, const uint8_t *result, size_t cell, char **wrong) {
    const size_t token = cell / p->od, row = cell % p->od;
    const int8_t *w = p->host_weight + row * p->id, *x = p->host_activation + token * p->id;
    int32_t sum = 0;
    for (size_t k = 0; k < p->id; ++k)
        sum += w[k] * x[k];
    if (p->kind == CUBLAS_INT8) {
        int32_t got;
        memcpy(&got, result + 4 * cell, 4);
        if (got != sum)
            *wrong = must_format("token %zu, row %zu: want %d, got %d", token, row, sum, got);
        return got == sum;
    }
    uint16_t got;
    const uint16_t want = half_from_float((float)sum);
    memcpy(&got, result + 2 * cell, 2);
    if (got != want)
        *wrong = must_format("token %zu, row %zu: want %g, got %g (0x%04x)", token, row, half_to_float(want),
                             half_to_float(got), got);
    return got == want;
}

static bool first_right(const struct cublas_product *p, const uint8_t *result, char **wrong) {
    const size_t cells = p->nt * p->od;
    struct random_stream s = random_open(random_key("cublas cells"), 0);
    bool right = cell_right(p, result, 0, wrong) && cell_right(p, result, cells - 1, wrong);
    for (size_t i = 0; right && i < CUBLAS_CHECKED; ++i) {
        const uint64_t draw = (uint64_t)random_u32(&s) << 32 | random_u32(&s);
        right = cell_right(p, result, (size_t)(draw % cells), wrong);
    }
    return right;
}

bool cublas_product_check(const struct cublas_product *p, char **wrong, struct error *e) {
    const struct driver *d = p->timed.gpu->driver;
    const size_t bytes = p->nt * p->od * kinds[p->kind].result_bytes, copies = p->timed.copies;
    uint8_t *first = malloc(bytes), *other = malloc(bytes);
    bool ok = (first && other) || fail(e, "no memory for two results of %zu bytes", bytes);
    *wrong = NULL;
    for (size_t i = 0; ok && !*wrong && i < p->timed.launched; ++i) {
        const size_t copy = (p->timed.next + copies - p->timed.launched + i) % copies;
        uint8_t *into = i ? other : first;
        ok = driver_check(d, d->to_host(into, p->result + copy * p->result_stride, bytes), e, "cuMemcpyDtoH");
        if (ok && i == 0)
            first_right(p, first, wrong);
        else if (ok && memcmp(first, other, bytes) != 0)
            *wrong = must_format("two copies of the same operands have different results");
    }
    free(first);
    free(other);
    return ok;
}

void cublas_product_free(struct cublas_product *p) {
    const struct cublas *c = p->library;
    const cu_pointer all[] = {p->weight, p->activation, p->result, p->workspace};
    for (size_t i = 0; c && i < sizeof all / sizeof *all; ++i)
        if (all[i] && p->timed.gpu->alive)
            p->timed.gpu->driver->mem_free(all[i]);
    for (int i = 0; i < 3; ++i)
        if (p->layout[i])
            c->layout_destroy(p->layout[i]);
    if (p->operation)
        c->operation_destroy(p->operation);
    if (p->preference)
        c->preference_destroy(p->preference);
    free(p->algorithms);
    free(p->host_weight);
    free(p->host_activation);
    *p = (struct cublas_product){0};
}
