/* Activation buffers that are not rows of blocks: what gpu/operands.c makes of them, and what findings and the probe
 * say of their bytes. */
#include "../gpu/operands.h"
#include "../oracles/probe.h"
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "../ref/format.h"
#include "../ref/random.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { NT = 19, OD = 24, ID = 512 };

/* The place that where_cell gives to a byte of a quantised result (nt, id). */
static struct where place_of(const char *contract, size_t nt, size_t id, size_t byte) {
    const struct contract *c = contract_named(contract);
    cr_assert(c, "no contract %s", contract);
    const struct contract_operands o = {.nt = nt, .id = id};
    struct launch_buffer b = {.name = "result", .role = BUFFER_OUT, .bytes = c->result_bytes(&o), .cell_bytes = 4};
    const struct launch l = {.buffers = &b, .buffer_count = 1};
    const struct evidence e = {.launch = &l, .contract = c, .operands = &o};
    struct where w = {0};
    where_cell(&w, &e, 0, byte / 4);
    free(w.buffer);
    return w;
}

static void expect_place(const char *contract, size_t nt, size_t id, size_t byte, int64_t token, int64_t block) {
    const struct where w = place_of(contract, nt, id, byte);
    cr_expect(w.axis[1] && !strcmp(w.axis[0], "token") && w.cell[0] == token && w.cell[1] == block,
              "%s byte %zu: %s %lld, %s %lld; want token %lld, block %lld", contract, byte, w.axis[0],
              (long long)w.cell[0], w.axis[1] ? w.axis[1] : "-", (long long)w.cell[1], (long long)token,
              (long long)block);
}

Test(layout, a_byte_of_a_result_is_traced_to_its_token_and_block) {
    expect_place("pad40_quantize", 5, 96, (3 * 3 + 2) * 40 + 4, 3, 2); /* row-major */
    /* q8_1_mmq: block kb of token j at (kb * nt + j) * 144 */
    for (size_t kb = 0; kb < 4; kb++)
        for (size_t j = 0; j < NT; j++) {
            const size_t block = (kb * NT + j) * 144;
            expect_place("q8_1_mmq_ds4_quantize", NT, ID, block, (int64_t)j, (int64_t)kb);
            expect_place("q8_1_mmq_ds4_quantize", NT, ID, block + 140, (int64_t)j, (int64_t)kb);
        }
    /* pad40_t: 2048 bytes of codes a chunk, tokens swizzled; padding belongs to nobody */
    const struct activation_format *f = activation_named("pad40_t");
    size_t bytes, of_tokens = 0, padding = 0;
    cr_assert(f && activation_bytes(f, NT, 64, &bytes), "no pad40_t");
    for (size_t at = 0; at < bytes; at += 4) {
        const struct where w = place_of("pad40_t_quantize", NT, 64, at);
        const bool found = w.axis[1] != NULL;
        cr_expect(!found || (w.cell[0] < NT && w.cell[1] < 2), "byte %zu: token %lld", at, (long long)w.cell[0]);
        cr_expect(found || !strcmp(w.axis[0], "element"), "byte %zu: %s", at, w.axis[0]);
        of_tokens += found;
        padding += !found;
    }
    cr_expect_eq(of_tokens, NT * 2 * 9, "%zu words of tokens", of_tokens);
    cr_expect_eq(padding, (64 - NT) * 2 * 9, "%zu words of padding", padding);
}

Test(layout, operands_have_the_size_and_the_blocks_of_their_layout) {
    static const char *const contracts[] = {"q4_k_q8_1_mmq_ds4", "q6_k_q8_1_mmq_d4", "q8_0_q8_1_mmq_d4"};
    for (size_t i = 0; i < sizeof contracts / sizeof *contracts; i++)
        for (enum data_class k = DATA_EXACT; k < DATA_REAL; k++) {
            const struct operands_request r = {
                .contract = contract_named(contracts[i]), .nt = NT, .od = OD, .id = ID, .data = k, .key = 1};
            struct operands o;
            struct error e = {""};
            cr_assert(r.contract && operands_make(&r, &o, &e), "%s: %s", contracts[i], e.text);
            const struct activation_format *f = activation_named(r.contract->activation);
            size_t bytes, differ = 0;
            cr_expect(activation_bytes(f, NT, ID, &bytes) && o.activation_bytes == bytes, "%zu bytes",
                      o.activation_bytes);
            for (size_t t = 1; t < NT; t++) {
                uint8_t a[ACTIVATION_MOST_BYTES], b[ACTIVATION_MOST_BYTES];
                activation_get(f, o.activation, NT, ID, t, 0, a);
                activation_get(f, o.activation, NT, ID, t - 1, 0, b);
                differ += memcmp(a, b, f->block_bytes) != 0;
            }
            cr_expect(differ >= NT / 2, "%s %s: only %zu tokens differ from the one before", contracts[i],
                      data_class_names[k], differ);
            operands_free(&o);
        }
}

/* ---- the probe ---- */

static void fill(struct random_stream *s, const struct block_format *w, uint8_t *weight) {
    float x[FORMAT_MOST_VALUES];
    for (size_t b = 0; b < OD * (ID / w->block_values); b++, weight += w->block_bytes) {
        for (size_t k = 0; k < w->block_values; k++)
            x[k] = (float)(int)random_below(s, 2001) * 1e-3f - 1;
        w->quantize(x, weight);
    }
}

/* What the probe says when token t of the result was computed from token from(t) of the buffer. */
static char *said_of(const char *contract, size_t (*from)(size_t t), struct split split) {
    const struct contract *c = contract_named(contract);
    cr_assert(c, "no contract %s", contract);
    const struct block_format *w = format_named(c->weight);
    const struct activation_format *a = activation_named(c->activation);
    struct random_stream s = random_open(7, 0);
    uint8_t *weight = must_calloc(OD * (ID / w->block_values), w->block_bytes);
    float *x = must_calloc(NT * ID, sizeof *x), *mixed = must_calloc(NT * ID, sizeof *x);
    size_t bytes;
    fill(&s, w, weight);
    for (size_t i = 0; i < NT * ID; i++)
        x[i] = (float)(int)random_below(&s, 2001) * 1e-3f - 1;
    for (size_t t = 0; t < NT; t++)
        memcpy(mixed + t * ID, x + from(t) * ID, ID * sizeof *x);
    cr_assert(activation_bytes(a, NT, ID, &bytes), "no size");
    uint8_t *right = must_calloc(bytes, 1), *other = must_calloc(bytes, 1);
    activation_quantize(a, x, NT, ID, right);
    activation_quantize(a, mixed, NT, ID, other);
    struct contract_operands o = {.weight = weight, .activation = right, .nt = NT, .od = OD, .id = ID, .split = split};
    struct contract_operands m = o;
    m.activation = other;
    uint32_t *want = must_calloc(NT * OD, 4), *got = must_calloc(NT * OD, 4);
    uint8_t wrong[NT * OD];
    c->evaluate(&o, want);
    c->evaluate(&m, got);
    for (size_t i = 0; i < NT * OD; i++)
        wrong[i] = want[i] != got[i];
    struct launch_buffer b = {.name = "result", .bytes = NT * OD * 4, .cell_bytes = 4, .data = (uint8_t *)got};
    const struct launch l = {.buffers = &b, .buffer_count = 1};
    const struct evidence e = {.launch = &l, .contract = c, .operands = &o};
    char *said = probe_matrix(&e, 0, wrong);
    void *const owned[] = {weight, x, mixed, right, other, want, got};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    return said;
}

static size_t next(size_t t) {
    return t + 1 < NT ? t + 1 : t;
}
static size_t first_eight(size_t t) {
    return t % 8;
}

Test(layout, the_probe_sees_tokens_in_any_layout) {
    static const struct {
        const char *contract;
        size_t (*from)(size_t t);
        const char *says;
    } rows[] = {{"q4_k_pad40_two_term", next, "consumed all of token t + 1 (want token t)"},
                {"q4_k_q8_1_mmq_ds4", next, "consumed all of token t + 1 (want token t)"},
                {"q4_k_q8_1_mmq_ds4", first_eight, "consumed all of token t mod 8 (want token t)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *said = said_of(rows[i].contract, rows[i].from, (struct split){0});
        cr_expect(said && strstr(said, rows[i].says), "%s: \"%s\", want \"%s\"", rows[i].contract,
                  said ? said : "(nothing)", rows[i].says);
        free(said);
    }
    /* under a split that hangs on the place of a cell it does not guess */
    char *said = said_of("q4_k_q8_1_mmq_ds4", next, (struct split){.kind = SPLIT_STREAM_K, .multiprocessors = 132});
    cr_expect(!said, "stream-k: %s", said);
    free(said);
}
