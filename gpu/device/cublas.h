/* NVIDIA's own dense products as ceilings: cublasLt, opened at run time and never linked.
 *
 *     f16    f16 x f16 -> f16, sums in f32
 *     int8   int8 x int8 -> int32
 *
 * result (nt, od) = activation (nt, id) times weight (od, id), transposed, all row-major: the layouts of our kernels.
 * Of the algorithms that its heuristic offers, the fastest on this GPU at this shape is taken.
 * Operands are small integers, so that every sum is exact in every order, and the result is checked bit for bit.
 * Source: cuBLAS reference manual 13.0, "Using the cublasLt API" (names, numbers and signatures of its ABI). */
#ifndef GPU_DEVICE_CUBLAS_H
#define GPU_DEVICE_CUBLAS_H

#include "timing.h"

enum cublas_kind { CUBLAS_F16, CUBLAS_INT8 };
enum { CUBLAS_KINDS = 2 };
extern const char *const cublas_names[CUBLAS_KINDS];  /* "cuBLAS f16" ... */
extern const char *const cublas_abouts[CUBLAS_KINDS]; /* "f16 x f16 -> f16, sums in f32" ... */

struct cublas; /* the library, and its handle on one GPU */

/* libcublasLt.so.13 or .12, or the file that $WARPPROOF_CUBLAS names. NULL, with one line in e, where there is none or
 * it cannot be used. */
struct cublas *cublas_open(struct gpu *g, struct error *e);
size_t cublas_version(const struct cublas *c); /* 130000 */
void cublas_close(struct cublas *c);           /* NULL is fine */

struct cublas_product {
    struct timed timed; /* start() is a product on the next copy */
    struct cublas *library;
    enum cublas_kind kind;
    size_t nt, od, id;
    void *operation, *layout[3], *preference; /* of cublasLt: weight, activation, result */
    void *algorithms;                         /* (algorithm_count) what the heuristic offers */
    size_t algorithm_count, algorithm;
    cu_pointer weight, activation, result, workspace; /* 0: none */
    size_t weight_stride, activation_stride, result_stride;
    int8_t *host_weight, *host_activation; /* (od, id) and (nt, id) the integers */
};

/* Allocates and fills copies as launch_copies_open does, and asks for algorithms. False: e says why; the library may
 * simply not have this shape. Free with cublas_product_free, also on failure. */
bool cublas_product_open(struct cublas *c, enum cublas_kind kind, size_t nt, size_t od, size_t id, size_t l2_bytes,
                         struct cublas_product *p, struct error *e);
/* Tries every algorithm, and takes the fastest. */
enum timing cublas_product_tune(struct cublas_product *p, struct error *e);
bool cublas_product_poison(struct cublas_product *p, struct error *e);
/* Holds every copy that a product was computed on since the poison to the integers: CUBLAS_CHECKED cells of the first
 * one to sums of the host's, and all others to the first one's bytes. *wrong: NULL, or what is wrong (the caller frees
 * it). False: it could not be looked at. */
enum { CUBLAS_CHECKED = 4096 };
bool cublas_product_check(const struct cublas_product *p, char **wrong, struct error *e);
void cublas_product_free(struct cublas_product *p);

#endif
