/* Faults of matrix products in the field, tried on every product contract of the table whose weights have plain integer
 * codes. All numbers are small integers, so any order of summation gives the same bits. Rows as in field_bugs.c.
 *
 * Rows about splits: B49 is in contract_mmq.c, B50 in split.c. B52, llama#13323, a number of columns taken for the
 * pitch of the activations, has no test: operands here have no pitch of their own, rows follow each other. */
#include "../ref/activation.h"
#include "../ref/contract.h"
#include "../ref/format.h"
#include "../ref/half.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NT = 3, OD = 5, BLOCKS = 5, LEAST_CONTRACTS = 6 };

/* A sub-block of weights: the d of its block, its scale, the code of all its values. `left`: blocks after it. */
struct weight {
    float d;
    int16_t scale, code;
};
typedef struct weight weight_at(size_t row, size_t block, size_t left, size_t s);
typedef int activation_at(size_t token, size_t k);

static bool is_product(const struct contract *c) {
    const struct block_format *w = c->weight ? format_named(c->weight) : NULL;
    return w && w->sub_values && !w->code_list && activation_named(c->activation) && !strcmp(c->result, "f32");
}

/* result (NT, OD); wants the same from the definition, in integers. */
static void multiply(const struct contract *c, weight_at *weight, activation_at *activation, float *result,
                     float *want) {
    const struct block_format *wf = format_named(c->weight);
    const struct activation_format *af = activation_named(c->activation);
    const size_t id = BLOCKS * c->depth_multiple, row_blocks = id / wf->block_values;
    const struct contract_operands shape = {.nt = NT, .od = OD, .id = id};
    double exact[NT * OD] = {0};
    uint8_t *w = malloc(OD * row_blocks * wf->block_bytes);
    for (size_t r = 0; r < OD; r++)
        for (size_t b = 0; b < row_blocks; b++) {
            struct block_integers block = {0};
            for (size_t s = 0; s < wf->block_values / wf->sub_values; s++) {
                struct weight x = weight(r, b, row_blocks - 1 - b, s);
                block.d = x.d;
                block.scale[s] = wf->scale_most > 1 ? x.scale : 1;
                for (size_t k = wf->sub_values * s; k < wf->sub_values * (s + 1); k++) {
                    block.code[k] = (int8_t)x.code;
                    for (size_t t = 0; t < NT; t++)
                        exact[t * OD + r] +=
                            (double)x.d * block.scale[s] * x.code * activation(t, b * wf->block_values + k);
                }
            }
            wf->pack(&block, w + (r * row_blocks + b) * wf->block_bytes);
        }
    size_t bytes;
    cr_assert(activation_bytes(af, NT, id, &bytes), "%s: size of the activations", c->name);
    uint8_t *a = calloc(1, bytes);
    for (size_t t = 0; t < NT; t++)
        for (size_t b = 0; b < id / af->block_values; b++) {
            int8_t q[ACTIVATION_MOST_VALUES];
            float d[ACTIVATION_MOST_VALUES / 32];
            uint8_t block[ACTIVATION_MOST_BYTES];
            for (size_t k = 0; k < af->block_values; k++)
                q[k] = (int8_t)activation(t, b * af->block_values + k);
            for (size_t i = 0; i < sizeof d / sizeof *d; i++)
                d[i] = 1;
            af->pack(q, d, block);
            activation_put(af, a, NT, id, t, b, block);
        }
    struct contract_operands op = shape;
    op.weight = w;
    op.activation = a;
    c->evaluate(&op, result);
    for (size_t i = 0; i < NT * OD; i++)
        want[i] = (float)exact[i];
    free(w);
    free(a);
}

/* Every contract gives the definition's bits, and other ones for operands as the fault would see them. */
static void try_all(const char *what, weight_at *weight, activation_at *activation, weight_at *fault_weight,
                    activation_at *fault_activation) {
    int tried = 0;
    for (const struct contract *const *c = contracts; *c; c++) {
        if (!is_product(*c))
            continue;
        float result[NT * OD], want[NT * OD], fault[NT * OD], of_fault[NT * OD];
        multiply(*c, weight, activation, result, want);
        for (size_t i = 0; i < NT * OD; i++)
            cr_assert(float_bits(result[i]) == float_bits(want[i]), "%s, %s: token %zu row %zu is %g, want %g", what,
                      (*c)->name, i / OD, i % OD, (double)result[i], (double)want[i]);
        multiply(*c, fault_weight, fault_activation, fault, of_fault);
        cr_assert(memcmp(fault, want, sizeof want), "%s, %s: planted: went unseen", what, (*c)->name);
        tried++;
    }
    cr_assert(tried >= LEAST_CONTRACTS, "%s: only %d contracts tried", what, tried);
}

static int ones(size_t token, size_t k) {
    (void)token, (void)k;
    return 1;
}
static int token_number(size_t token, size_t k) {
    (void)k;
    return (int)token + 1;
}

static struct weight last_block(size_t row, size_t block, size_t left, size_t s) {
    (void)row, (void)block, (void)s;
    return (struct weight){1, 1, left == 0};
}
static struct weight no_tail(size_t row, size_t block, size_t left, size_t s) {
    (void)row, (void)block, (void)left, (void)s;
    return (struct weight){1, 1, 0};
}

/* llama#8549, ik#213: loops over two or four blocks without a tail. Only the last of an odd number is not zero. */
Test(field_bugs, B29_B31_odd_blocks) {
    try_all("odd number of blocks", last_block, ones, no_tail, ones);
}

static struct weight row_number(size_t row, size_t block, size_t left, size_t s) {
    (void)block, (void)left, (void)s;
    return (struct weight){(float)row + 1, 1, 1};
}
static struct weight row_pairs(size_t row, size_t block, size_t left, size_t s) {
    return row_number(row / 2 * 2, block, left, s);
}

/* llama#10561, ik#911, ROCm/hip-ep#588, vllm#18754: strides of rows and of tokens, odd numbers of both. Result (t, r)
 * is id (t + 1) (r + 1). */
Test(field_bugs, B32_B33_B36_B41_rows_and_tokens) {
    try_all("rows", row_number, token_number, row_pairs, token_number);
    try_all("tokens", row_number, token_number, row_number, ones);
}

static struct weight own_scale(size_t row, size_t block, size_t left, size_t s) {
    (void)row, (void)left;
    return (struct weight){(float)block + 1, (int16_t)(s % 8 + 1), 1};
}
static struct weight first_scale(size_t row, size_t block, size_t left, size_t s) {
    (void)block, (void)s;
    return own_scale(row, 0, left, 0);
}

/* foundation-model-stack#153, llm-awq#21, vllm#9212: one scale for several groups, or none from some group on. */
Test(field_bugs, B38_B39_every_group_its_scale) {
    try_all("scales", own_scale, ones, first_scale, ones);
}

/* llama#21652: activations of 2100 under q4_K weights of 1. The sum of 32 of them, 67200, is infinite in binary16, and
 * with minima of 0 the kernel's product is NaN; formats that keep sums of quants have no such edge. */
Test(field_bugs, B92_products) {
    static const struct {
        const char *contract;
        float product; /* of 256 */
    } row[] = {
        {"q4_k_q8_1_mmq_ds4", NAN},
        {"q4_k_pad40_two_term", 537464}, /* d = 2100 / 127 is 16.53125 in binary16, times 127 * 256 */
        {"q4_k_q8_k", 537600},           /* d stays in f32, and the product rounds to the true one */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct contract *c = contract_named(row[i].contract);
        cr_assert(c, "no contract %s", row[i].contract);
        const struct block_format *wf = format_named(c->weight);
        const struct activation_format *af = activation_named(c->activation);
        struct block_integers block = {.d = 1};
        uint8_t w[144], a[2 * 144 + 8 * 40];
        float x[256], y;
        size_t bytes;
        for (int k = 0; k < 256; k++) {
            x[k] = 2100;
            block.code[k] = 1;
            block.scale[k % 8] = 1;
        }
        wf->pack(&block, w);
        cr_assert(activation_bytes(af, 1, 256, &bytes) && bytes <= sizeof a, "%s: size", c->name);
        activation_quantize(af, x, 1, 256, a);
        struct contract_operands op = {.weight = w, .activation = a, .nt = 1, .od = 1, .id = 256};
        c->evaluate(&op, &y);
        cr_assert(isnan(row[i].product) ? isnan(y) : float_bits(y) == float_bits(row[i].product), "%s: %.9g, want %g",
                  c->name, (double)y, (double)row[i].product);
    }
}

/* 256 values x, 0, 0 .. by q 1, 0, 0 .. : weights of 2^-10 under an activation of x alone. */
static float one_product(const struct contract *c, float x) {
    const struct block_format *wf = format_named(c->weight);
    const struct activation_format *af = activation_named(c->activation);
    const struct block_integers block = {.d = 0x1p-10f, .scale = {1}, .code = {1}};
    const struct block_integers other = {.scale = {1}};
    float values[256] = {x}, y;
    uint8_t w[256 / 32 * 40] = {0}, a[64 * 256 / 32 * 40]; /* pad40_t: 64 tokens */
    size_t bytes;
    for (size_t b = 0; b < 256 / wf->block_values; b++)
        wf->pack(b ? &other : &block, w + b * wf->block_bytes);
    cr_assert(activation_bytes(af, 1, 256, &bytes) && bytes <= sizeof a, "%s: size", c->name);
    activation_quantize(af, values, 1, 256, a);
    const struct contract_operands op = {.weight = w, .activation = a, .nt = 1, .od = 1, .id = 256};
    c->evaluate(&op, &y);
    return y;
}

/* llama#26044: activations turned to binary16 for a library's product. 131072 * 2^-10 is 128, up to the 11 bits of a
 * scale; of infinity no contract can make it. The fault's own place is kept by q8_1_mmq_ds4: its sums are binary16, and
 * infinity times a minimum of 0 is NaN (B92). */
Test(field_bugs, B93_activation_beyond_binary16) {
    const float x = 131072, x_in_half = half_to_float(half_from_float(x));
    int tried = 0;
    cr_assert(isinf(x_in_half), "x must be beyond binary16");
    for (const struct contract *const *c = contracts; *c; c++) {
        if (!is_product(*c))
            continue;
        const float y = one_product(*c, x), fault = one_product(*c, x_in_half);
        if (!strcmp((*c)->activation, "q8_1_mmq_ds4"))
            cr_assert(isnan(y), "%s: %.9g, want NaN", (*c)->name, (double)y);
        else
            cr_assert(fabsf(y - 128) <= 128 * 0x1p-11f, "%s: %.9g, want 128", (*c)->name, (double)y);
        cr_assert(!isfinite(fault) || fault == 0, "%s: planted: by binary16 it is %.9g", (*c)->name, (double)fault);
        tried++;
    }
    cr_assert(tried >= LEAST_CONTRACTS, "only %d contracts tried", tried);
}
