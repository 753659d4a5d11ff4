/* llama.cpp's own MMQ kernels on an H200 (fixtures/golden/README.md): every byte, with the stream-k cuts of its 132
 * multiprocessors. */
#include "../ref/activation.h"
#include "../ref/contract.h"
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/rcp_approx.h"
#include "../ref/truth.h"
#include "measured.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct run {
    const char *data, *format, *contract;
    size_t od, id, nt, multiprocessors;
    bool finite; /* the operands are */
} runs[] = {
    {"fallback", "q4_K", "q4_k_q8_1_mmq_ds4", 200, 768, 7, 132, true},
    {"fallback", "q6_K", "q6_k_q8_1_mmq_d4", 200, 768, 7, 132, true},
    {"fallback", "q8_0", "q8_0_q8_1_mmq_d4", 200, 768, 7, 132, true},
    {"ragged", "q8_0", "q8_0_q8_1_mmq_d4", 384, 896, 40, 7, true},
    {"edge", "q6_K", "q6_k_q8_1_mmq_d4", 100, 1024, 33, 132, true},
    {"edge", "q8_0", "q8_0_q8_1_mmq_d4", 100, 1024, 33, 132, true},
    {"wild", "q6_K", "q6_k_q8_1_mmq_d4", 100, 1024, 33, 132, false},
    {"wild", "q8_0", "q8_0_q8_1_mmq_d4", 100, 1024, 33, 132, false},
};
enum { RUNS = sizeof runs / sizeof *runs };

/* The caller frees it. */
static void *file(const char *name, size_t bytes) {
    char path[256];
    snprintf(path, sizeof path, "fixtures/golden/llama_mmq/%s", name);
    return golden_file(path, bytes);
}

static void *part(const struct run *r, const char *what, size_t bytes) {
    char name[128];
    snprintf(name, sizeof name, "%s_%s.%s.bin", r->data, r->format, what);
    return file(name, bytes);
}

/* Cells of 4 bytes that differ from the hardware's under this split. */
static size_t wrong_cells(const struct run *r, const char *split, size_t *not_finite) {
    const struct contract *c = contract_named(r->contract);
    const struct block_format *f = format_named(r->format);
    size_t bytes;
    struct error e;
    cr_assert(activation_bytes(activation_named(c->activation), r->nt, r->id, &bytes), "size");
    void *weight = part(r, "w", r->od * (r->id / f->block_values) * f->block_bytes),
         *activation = part(r, "q8_1", bytes);
    struct contract_operands op = {.weight = weight, .activation = activation, .nt = r->nt, .od = r->od, .id = r->id};
    cr_assert(split_parse(split, &op.split, &e), "%s", e.text);
    uint32_t *want = part(r, "y", c->result_bytes(&op)), *got = malloc(c->result_bytes(&op));
    cr_assert(got, "out of memory");
    c->evaluate(&op, got);
    size_t wrong = 0;
    *not_finite = 0;
    for (size_t i = 0; i < r->nt * r->od; i++) {
        wrong += got[i] != want[i];
        *not_finite += !isfinite(bits_float(want[i]));
    }
    if (!wrong) {
        const struct truth_gap gap = truth_compare(c, &op, got);
        cr_assert(gap.holds, "%s %s: cell %zu is %a, truth %a, bound %a", r->data, r->format, gap.cell, gap.got,
                  gap.value, gap.bound);
    }
    free(weight), free(activation), free(want), free(got);
    return wrong;
}

Test(golden_mmq, results_of_an_h200) {
    for (size_t i = 0; i < RUNS; i++) {
        size_t not_finite;
        char split[32];
        snprintf(split, sizeof split, "stream-k:%zu", runs[i].multiprocessors);
        const size_t wrong = wrong_cells(&runs[i], split, &not_finite);
        cr_assert(!wrong, "%s %s: %zu of %zu cells differ", runs[i].data, runs[i].format, wrong,
                  runs[i].nt * runs[i].od);
        cr_assert((not_finite == 0) == runs[i].finite && not_finite < runs[i].nt * runs[i].od / 2,
                  "%s %s: %zu cells are not finite", runs[i].data, runs[i].format, not_finite);
    }
}

/* The comparison sees a cut that is forgotten, or made for another number of multiprocessors. */
Test(golden_mmq, other_cuts_give_other_bits) {
    for (size_t i = 0; i < RUNS; i++) {
        size_t not_finite;
        cr_assert(wrong_cells(&runs[i], "none", &not_finite) > 0, "%s %s: the same bits without a cut", runs[i].data,
                  runs[i].format);
        cr_assert(wrong_cells(&runs[i], "stream-k:2", &not_finite) > 0, "%s %s: the same bits on 2 multiprocessors",
                  runs[i].data, runs[i].format);
    }
}

Test(golden_mmq, activations_of_an_h200) {
    struct error e;
    cr_assert(rcp_approx_load(RCP_TABLE, &e), "%s", e.text);
    float *x = file("fallback_x_f32.bin", 7 * 768 * sizeof *x);
    for (size_t i = 0; i < 3; i++) {
        const struct run *r = &runs[i];
        const struct activation_format *f = activation_named(contract_named(r->contract)->activation);
        size_t bytes;
        cr_assert(activation_bytes(f, r->nt, r->id, &bytes), "size");
        void *want = part(r, "q8_1", bytes), *got = malloc(bytes);
        activation_quantize(f, x, r->nt, r->id, got);
        cr_assert(!memcmp(got, want, bytes), "%s: other bytes than the hardware's", f->name);
        free(want), free(got);
    }
    free(x);
}
