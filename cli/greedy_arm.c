/* The arm of `warpproof greedy`: each product by the plan, compared bit by bit. */
#include "../ref/checked.h"
#include "../ref/decoder_product.h"
#include "greedy.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

const char *const greedy_plant_names[] = {"none", "weight-nibble", "weight-scale", "stale-activation", NULL};

/* ---- planted faults ---- */

static bool is_planted(const struct greedy_arm *a, const struct decoder_product *p) {
    const size_t layer = a->plant == GREEDY_PLANT_STALE_ACTIVATION ? 0 : a->model->layers - 1;
    return a->plant != GREEDY_PLANT_NONE && p->layer == layer &&
           p->tensor == a->model->layer[layer].weight[WEIGHT_DOWN].tensor;
}

/* The weight as the kernel gets it: the file's, or a copy with the fault in the middle row's first block. */
static const void *weight_of(struct greedy_arm *a, const struct decoder_product *p) {
    const struct gguf_tensor *t = p->tensor;
    if (!is_planted(a, p) || a->plant == GREEDY_PLANT_STALE_ACTIVATION) {
        return t->data;
    }
    if (a->changed == NULL) {
        const struct block_format *f = t->format;
        const size_t block = t->rows / 2 * t->row_bytes;
        a->changed = must_calloc(t->bytes, 1);
        memcpy(a->changed, t->data, t->bytes);
        if (a->plant == GREEDY_PLANT_WEIGHT_NIBBLE) {
            a->changed[block + f->codes_at + f->codes_bytes / 2] ^= 0x0f;
        } else {
            a->changed[block + f->d.at] ^= 1;
        }
    }
    return a->changed;
}

/* Puts the first call's activations in the place of later ones. */
static void make_stale(struct greedy_arm *a, const struct decoder_product *p, uint8_t *activation, size_t bytes) {
    if (a->plant != GREEDY_PLANT_STALE_ACTIVATION || !is_planted(a, p)) {
        return;
    }
    if (a->stale == NULL) {
        a->stale = must_calloc(bytes, 1);
        a->stale_bytes = bytes;
        memcpy(a->stale, activation, bytes);
    } else {
        memcpy(activation, a->stale, bytes < a->stale_bytes ? bytes : a->stale_bytes);
    }
}

/* A planted kernel's program stands in for the right one. */
const struct ptx_module *greedy_module(struct greedy_arm *a, const struct plan_row *row, struct error *e) {
    if (a->kernel_plant.name == NULL || strcmp(row->spec->kernel, a->kernel_plant.kernel) != 0) {
        return row->module;
    }
    if (a->planted == NULL) {
        a->planted = ptx_load(a->kernel_plant.ptx, e);
    }
    return a->planted;
}

/* ---- one product ---- */

static unsigned tensor_bit(const struct greedy_arm *a, const struct decoder_product *p) {
    for (unsigned w = 0; p->layer != SIZE_MAX && w < LAYER_WEIGHTS; ++w) {
        if (a->model->layer[p->layer].weight[w].tensor == p->tensor) {
            return 1u << w;
        }
    }
    return 1u << LAYER_WEIGHTS;
}

static struct served *served_by(struct greedy_arm *a, const struct plan_row *row, const struct decoder_product *p) {
    struct served *s = NULL;
    for (size_t i = 0; i < a->served_count && s == NULL; ++i) {
        s = a->served[i].row == row && a->served[i].single == (p->nt == 1) ? &a->served[i] : NULL;
    }
    if (s == NULL) {
        a->served = must_realloc(a->served, a->served_count + 1, sizeof *a->served);
        s = &a->served[a->served_count++];
        *s = (struct served){.row = row, .single = p->nt == 1};
    }
    s->tensors |= tensor_bit(a, p);
    s->products++;
    return s;
}

/* Work of few MACs is done before a second thread has woken up; bits never depend on the threads. */
static int threads_for(const struct greedy_arm *a, double macs, double few) {
    return macs < few ? 1 : a->threads;
}

static bool run_kernel(struct greedy_arm *a, const struct plan_row *row, const struct contract_operands *op,
                       struct kernel_result *r, struct error *e) {
    a->options.gpu = devices_turn(a->devices, a->products);
    const struct kernel_call call = {.spec = row->spec,
                                     .module = greedy_module(a, row, e),
                                     .runner = a->runner,
                                     .options = &a->options,
                                     .threads =
                                         threads_for(a, (double)op->nt * op->id * (op->od > 0 ? op->od : 32), 0x1p18)};
    return call.module != NULL && kernel_run(&call, op, r, e);
}

/* Runs a row's kernel and holds its result to the reference's. */
static bool run_and_compare(struct greedy_arm *a, struct served *s, const struct differing *d, struct kernel_result *r,
                            struct error *e) {
    if (!run_kernel(a, d->row, &d->operands, r, e)) {
        return false;
    }
    s->warp_instructions += r->warp_instructions;
    s->seconds += r->seconds;
    s->bits += 8 * (uint64_t)r->count;
    a->bits += 8 * (uint64_t)r->count;
    if (r->count == d->bytes && memcmp(r->bytes, d->want, d->bytes) == 0 && !r->faulty) {
        return true;
    }
    struct differing differing = *d;
    differing.got = r->bytes;
    a->difference.faulty = r->faulty;
    greedy_differ(a, &differing);
    return fail(e, "a kernel's result is not the reference's");
}

static bool by_kernels(struct greedy_arm *a, const struct plan_choice *c, const struct decoder_product *p,
                       const void *want_activation, size_t activation_bytes, const float *y, struct error *e) {
    struct kernel_result quantised = {0}, result = {0};
    const struct differing quantise = {.row = c->quantise,
                                       .p = p,
                                       .operands = {.activation = p->x, .nt = p->nt, .id = p->id},
                                       .want = want_activation,
                                       .bytes = activation_bytes};
    bool good = run_and_compare(a, served_by(a, c->quantise, p), &quantise, &quantised, e);
    if (good) {
        make_stale(a, p, quantised.bytes, quantised.count);
        const struct differing multiply = {.row = c->product,
                                           .p = p,
                                           .operands = {.weight = weight_of(a, p),
                                                        .activation = quantised.bytes,
                                                        .nt = p->nt,
                                                        .od = p->od,
                                                        .id = p->id,
                                                        .split = c->product->spec->split},
                                           .want = (const uint8_t *)y,
                                           .bytes = p->nt * p->od * sizeof *y,
                                           .right = want_activation,
                                           .right_bytes = activation_bytes};
        struct served *s = served_by(a, c->product, p);
        s->macs += (uint64_t)p->nt * p->od * p->id;
        good = run_and_compare(a, s, &multiply, &result, e);
    }
    free(quantised.bytes);
    free(result.bytes);
    return good;
}

bool greedy_product(void *arm, const struct decoder_product *p, float *y, struct error *e) {
    struct greedy_arm *a = arm;
    struct plan_choice c;
    if (a->progress != NULL) {
        a->progress(a, p);
    }
    if (!plan_serve(a->plan, p->tensor, p->nt, a->runner != NULL, &c, e)) {
        return false;
    }
    const double start = omp_get_wtime();
    omp_set_num_threads(threads_for(a, (double)p->nt * p->od * p->id, 0x1p20));
    size_t bytes = 0;
    void *activation = c.quantise != NULL ? product_quantise(c.quantise->contract, p, &bytes, e) : NULL;
    bool good = c.quantise == NULL
                    ? product_plain(p, y, e)
                    : activation != NULL && product_contract(c.product->contract,
                                                             c.product->spec != NULL ? &c.product->spec->split : NULL,
                                                             p, activation, y, e);
    const double seconds = omp_get_wtime() - start;
    omp_set_num_threads(a->threads);
    if (good && a->runner != NULL) {
        good = by_kernels(a, &c, p, activation, bytes, y, e);
    } else if (good) {
        served_by(a, c.product, p)->macs += (uint64_t)p->nt * p->od * p->id;
    }
    if (good) {
        a->products++;
        for (size_t i = 0; i < a->served_count; ++i) {
            if (a->served[i].row == c.product && a->served[i].single == (p->nt == 1)) {
                a->served[i].reference_seconds += seconds;
            }
        }
    }
    free(activation);
    return good;
}

/* ---- the whole ---- */

static bool row_runs(const struct plan_row *row, const char *kernel) {
    return kernel != NULL && row != NULL && row->spec != NULL && strcmp(row->spec->kernel, kernel) == 0;
}

/* Every product is served; *used: one of them by that kernel. */
static bool serve_all(struct greedy_arm *a, size_t nt, const char *kernel, bool *used, struct error *e) {
    const size_t counts[] = {nt, 1};
    struct plan_choice c;
    for (size_t n = 0; n < 2; ++n) {
        for (size_t i = 0; i < a->model->layers; ++i) {
            for (size_t w = 0; w < LAYER_WEIGHTS; ++w) {
                if (!plan_serve(a->plan, a->model->layer[i].weight[w].tensor, counts[n], a->runner != NULL, &c, e)) {
                    return false;
                }
                *used |= row_runs(c.product, kernel) || row_runs(c.quantise, kernel);
            }
        }
    }
    if (!plan_serve(a->plan, a->model->head.tensor, 1, a->runner != NULL, &c, e)) {
        return false;
    }
    *used |= row_runs(c.product, kernel) || row_runs(c.quantise, kernel);
    return true;
}

bool greedy_check(struct greedy_arm *a, size_t nt, struct error *e) {
    bool used = false;
    return serve_all(a, nt, NULL, &used, e);
}

bool greedy_uses(struct greedy_arm *a, size_t nt, const char *kernel) {
    struct error e;
    bool used = false;
    return serve_all(a, nt, kernel, &used, &e) && used;
}

enum verdict greedy_verdict(const struct difference *d) {
    const enum verdict alone = d->outcome.id != NULL ? outcome_verdict(&d->outcome) : VERDICT_PASS;
    return d->faulty && alone != VERDICT_PASS ? alone : VERDICT_DIFFERS;
}

void greedy_arm_free(struct greedy_arm *a) {
    struct difference *d = &a->difference;
    free(a->served);
    free(a->changed);
    free(a->stale);
    free(d->tensor);
    free(d->shape);
    free(d->operands);
    free(d->folder);
    free(d->rerun);
    free(d->unwritten);
    outcome_free(&d->outcome);
    ptx_free(a->planted);
    plant_free(&a->kernel_plant);
    plan_free(a->plan);
}
