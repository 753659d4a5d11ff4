/* Contract q6_k_expand: bits against the second reader of q6_K, its truth, and codes that go wrong. */
#include "../ref/contract.h"
#include "../ref/random.h"
#include "../ref/truth.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, DEPTH = 768, CELLS = ROWS * DEPTH, BLOCK = 210, BLOCKS = CELLS / 256 };

struct operands {
    uint8_t blocks[BLOCKS * BLOCK];
    int8_t result[CELLS];
    struct contract_operands op;
};

/* Any bytes; scales are not looked at, whatever they are. */
static const struct contract *make(struct operands *o) {
    const struct contract *c = contract_named("q6_k_expand");
    cr_assert(c, "no contract q6_k_expand");
    struct random_stream s = random_open(random_key("q6_k_expand"), 1);
    for (size_t i = 0; i < sizeof o->blocks; i++)
        o->blocks[i] = (uint8_t)random_u32(&s);
    o->op = (struct contract_operands){.activation = o->blocks, .nt = ROWS, .id = DEPTH};
    cr_assert(c->result_bytes(&o->op) == CELLS && c->cells(&o->op) == CELLS, "a byte a code");
    memset(o->result, 0x5a, sizeof o->result);
    c->evaluate(&o->op, o->result);
    return c;
}

Test(contract_expand, codes_against_the_second_reader) {
    static struct operands o;
    make(&o);
    size_t met[64] = {0};
    for (size_t i = 0; i < CELLS; i++) {
        const int want = independent_read_q6_k(o.blocks + i / 256 * BLOCK, i % 256).code;
        cr_assert(o.result[i] == want, "value %zu: %d, want %d", i, o.result[i], want);
        met[want + 32]++;
    }
    for (int n = 0; n < 64; n++)
        cr_expect(met[n] > 0, "the data must bring code %d", n - 32);
}

/* Planted: a code one off. */
Test(contract_expand, truth_is_the_code_itself) {
    static struct operands o;
    const struct contract *c = make(&o);
    struct truth_gap gap = truth_compare(c, &o.op, o.result);
    cr_assert(gap.holds && gap.judged == CELLS, "%zu cells judged", gap.judged);
    for (size_t i = 0; i < CELLS; i += 97) {
        o.result[i]++;
        gap = truth_compare(c, &o.op, o.result);
        cr_assert(!gap.holds && gap.cell == i, "cell %zu went unseen", i);
        o.result[i]--;
    }
}
