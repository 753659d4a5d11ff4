/* Which kernel serves a matrix product of a model: a readable YAML file, fixtures/plans/default.yaml.
 *
 *   plan: default
 *   about: one line
 *   quantisers:                       # what makes an activation format: the row of that format
 *     - {format: pad40, kernel: quantize_pad40}
 *   products:                         # the first row of the weight's format whose `when` holds serves
 *     - {format: q4_K, when: nt <= 8, kernel: matvec_q4_k}
 *     - {format: q4_K, kernel: mmq_wide_ldb_kd8}
 *     - {format: q2_K, contract: plain}
 *
 * `when` is an expression (expr.h) of nt, od and id; without it a row serves every shape. `kernel` is the name of a
 * launch file of gpu/kernels, whose contract the reference computes; `contract` names one without a kernel, which
 * serves the reference alone: a row of products may name `plain` there, product_plain of ref/decoder_product.h. There
 * is no fallback: a product that no row serves, or whose row has no kernel when one must run, is an error. */
#ifndef GPU_PLAN_H
#define GPU_PLAN_H

#include "../ref/contract.h"
#include "../ref/decoder.h"
#include "spec.h"

struct plan_row {
    char *format;
    struct spec_expr *when;          /* NULL: always */
    struct spec *spec;               /* of the kernel, or NULL */
    struct ptx_module *module;       /* of the kernel, once plan_kernels loaded it */
    const struct contract *contract; /* NULL: plain */
    const struct yaml_node *node;
};

struct plan {
    char *path, *name;
    struct yaml_doc *doc;
    struct plan_row *quantisers, *products;
    size_t quantiser_count, product_count;
};

/* Reads and checks a plan; root: the project's folder. Errors have the place in the file: unknown keys, kernels and
 * contracts that do not exist, that are not of the row's format, or whose activations no row makes. NULL on failure. */
struct plan *plan_load(const char *path, const char *root, struct error *e);
void plan_free(struct plan *p); /* NULL is fine */

struct plan_choice {
    struct plan_row *quantise; /* NULL: plain */
    struct plan_row *product;
};

/* What serves a product, by its tensor's format and its shape. Fails, with tensor, format and shape, when no row does,
 * when the depth does not fit the row's contract, or, where `kernels` must run, when the row has none or its needs are
 * not met. The kernels' programs are then loaded. */
bool plan_serve(struct plan *p, const struct gguf_tensor *tensor, size_t nt, bool kernels, struct plan_choice *c,
                struct error *e);

#endif
