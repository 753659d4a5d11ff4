/* The probe: wrong results made by evaluating the contract on operands that are mixed up in a known way. */
#include "../oracles/probe.h"
#include "../gpu/operands.h"
#include "../ref/checked.h"
#include "../ref/pad40.h"
#include "../ref/q4_k.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { NT = 21, OD = 40, ID = 512, SUPERS = ID / 256, CHUNKS = ID / 32 };

static struct operands right, mixed;
static uint32_t want[NT * OD], got[NT * OD];
static uint8_t wrong[NT * OD];

/* Operands of class coded, and the same again to be mixed up. */
static void make(void) {
    struct error e;
    const struct operands_request r = {
        .contract = contract_named("q4_k_pad40_two_term"), .nt = NT, .od = OD, .id = ID, .data = DATA_CODED, .key = 5};
    cr_assert(operands_make(&r, &right, &e) && operands_make(&r, &mixed, &e), "%s", e.text);
}

static struct block_q4_k *weight(struct operands *o, size_t row) {
    return (struct block_q4_k *)o->weight + row * SUPERS;
}
static struct block_pad40 *token(struct operands *o, size_t t) {
    return (struct block_pad40 *)o->activation + t * CHUNKS;
}

/* Probes the result of the mixed operands against the right ones. text NULL: the probe must say nothing. */
static void expect(const char *text) {
    const struct contract *c = contract_named("q4_k_pad40_two_term");
    c->evaluate(&right.view, want);
    c->evaluate(&mixed.view, got);
    size_t count = 0;
    for (size_t i = 0; i < NT * OD; ++i) {
        wrong[i] = want[i] != got[i];
        count += wrong[i];
    }
    cr_assert(count > 0, "the mixed operands give the right result");
    struct launch_buffer b = {
        .name = "result", .role = BUFFER_OUT, .bytes = sizeof got, .cell_bytes = 4, .data = (uint8_t *)got};
    const struct launch l = {.buffers = &b, .buffer_count = 1};
    const uint8_t *expected[1] = {(const uint8_t *)want};
    const struct evidence e = {.launch = &l, .contract = c, .operands = &right.view, .expected = expected};
    char *said = probe_matrix(&e, 0, wrong);
    cr_expect(text == NULL ? said == NULL : said != NULL && strstr(said, text) != NULL,
              "probe says \"%s\", want \"%s\"", said ? said : "(nothing)", text ? text : "(nothing)");
    free(said);
    operands_free(&right);
    operands_free(&mixed);
}

Test(probe, codes_of_another_row) {
    make();
    for (size_t j = 16; j < OD; ++j)
        for (size_t s = 0; s < SUPERS; ++s)
            memcpy(weight(&mixed, j)[s].qs, weight(&right, j % 16)[s].qs, sizeof weight(&right, 0)->qs);
    expect("consumed the codes of row j mod 16 and the scales of row j   -> offset in the address of the codes");
}

Test(probe, scales_of_another_row) {
    make();
    for (size_t j = 0; j < OD; ++j)
        for (size_t s = 0; s < SUPERS; ++s)
            memcpy(&weight(&mixed, j)[s], &weight(&right, j ^ 1)[s], offsetof(struct block_q4_k, qs));
    expect("consumed the scales of row j xor 1 and the codes of row j");
}

Test(probe, all_of_another_row) {
    make();
    for (size_t j = 0; j + 1 < OD; ++j)
        memcpy(weight(&mixed, j), weight(&right, j + 1), SUPERS * sizeof(struct block_q4_k));
    expect("consumed all of row j + 1 (want row j)");
}

Test(probe, codes_of_another_token) {
    make();
    for (size_t t = 0; t < NT - 1; ++t)
        for (size_t c = 0; c < CHUNKS; ++c)
            memcpy(token(&mixed, t)[c].q, token(&right, t ^ 1)[c].q, 32);
    expect("consumed the codes of token t xor 1 and the scales of token t");
}

Test(probe, says_nothing_about_what_it_cannot_explain) {
    make();
    for (size_t j = 0; j < OD; ++j)
        for (size_t k = 0; k < 128; ++k)
            weight(&mixed, j)->qs[k] ^= (uint8_t)(k + j);
    expect(NULL);
}
