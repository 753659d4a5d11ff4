/* Contracts of the dequantisers: bits against the second decoders and a second rounding to binary16, the truth and its
 * bound, and roundings that go wrong. */
#include "../ref/contract.h"
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include "../ref/truth.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"q4_0_dequantize", "q4_1_dequantize", "q5_0_dequantize",   "q5_1_dequantize",
                                    "q8_0_dequantize", "q2_k_dequantize", "q3_k_dequantize",   "q4_k_dequantize",
                                    "q5_k_dequantize", "q6_k_dequantize", "iq4_nl_dequantize", "iq4_xs_dequantize",
                                    "mxfp4_dequantize"};
enum { NAMES = sizeof names / sizeof *names, ROWS = 24, DEPTH = 1024, CELLS = ROWS * DEPTH };

struct operands {
    const struct contract *contract;
    const struct block_format *format;
    uint8_t *blocks;
    uint16_t *result;
    struct contract_operands op;
};

/* Any bytes; the scales of any exponent, of middle ones, of small ones, and with `wild` infinite or no numbers too. */
static struct operands make(const char *name, bool wild) {
    struct operands o = {.contract = contract_named(name)};
    cr_assert(o.contract, "no contract %s", name);
    o.format = format_named(o.contract->activation);
    const size_t count = CELLS / o.format->block_values;
    o.blocks = malloc(count * o.format->block_bytes);
    o.result = malloc(CELLS * sizeof *o.result);
    cr_assert(o.blocks && o.result, "out of memory");
    struct random_stream s = random_open(random_key(name), wild);
    for (size_t i = 0; i < count; i++) {
        uint8_t *block = o.blocks + i * o.format->block_bytes;
        for (size_t b = 0; b < o.format->block_bytes; b++)
            block[b] = (uint8_t)random_u32(&s);
        static const uint32_t least[] = {0, 8, 0, 31}, count_of[] = {31, 8, 2, 1};
        const size_t kind = wild && i % 12 == 0 ? 3 : i % 3;
        const uint32_t from = least[kind], many = count_of[kind]; /* exponents */
        const struct block_field fields[] = {o.format->d, o.format->dmin};
        for (int k = 0; k < 2; k++) {
            const uint16_t h = (uint16_t)((random_u32(&s) & 0x83ff) | (from + random_below(&s, many)) << 10);
            if (fields[k].bytes == 2)
                memcpy(block + fields[k].at, &h, sizeof h);
            else if (fields[k].bytes) /* a power of two, about the ends of binary16 */
                block[fields[k].at] = (uint8_t)(96 + random_below(&s, 48));
        }
    }
    o.op = (struct contract_operands){.activation = o.blocks, .nt = ROWS, .id = DEPTH};
    cr_assert(o.contract->result_bytes(&o.op) == CELLS * sizeof *o.result, "%s: bytes of the result", name);
    memset(o.result, 0xa5, CELLS * sizeof *o.result);
    o.contract->evaluate(&o.op, o.result);
    return o;
}

static void release(struct operands *o) {
    free(o->blocks);
    free(o->result);
}

Test(contract_dequantize, bits_against_the_second_decoders) {
    for (size_t n = 0; n < NAMES; n++) {
        struct operands o = make(names[n], false);
        independent_decoder *decode = independent_decoder_of(o.format->name);
        cr_assert(decode, "%s: no second decoder", o.format->name);
        size_t ties = 0, infinite = 0, subnormal = 0;
        for (size_t i = 0; i < CELLS / o.format->block_values; i++) {
            uint32_t bits[FORMAT_MOST_VALUES];
            decode(o.blocks + i * o.format->block_bytes, bits);
            for (size_t k = 0; k < o.format->block_values; k++) {
                const uint16_t want = independent_half_of(bits[k]), got = o.result[i * o.format->block_values + k];
                cr_assert(got == want, "%s block %zu value %zu: 0x%04x, want 0x%04x", names[n], i, k, got, want);
                ties += (bits[k] & 0x1fff) == 0x1000;
                infinite += (got & 0x7fff) == 0x7c00;
                subnormal += (got & 0x7c00) == 0 && (got & 0x3ff);
            }
        }
        const bool of_two_bits = o.format->d.bytes == 1; /* mxfp4: no normal number is rounded, none is NaN */
        cr_assert((ties > 100 || of_two_bits) && infinite > 10 && subnormal > 10,
                  "%s: %zu ties, %zu infinite, %zu subnormal", names[n], ties, infinite, subnormal);
        release(&o);
    }
}

Test(contract_dequantize, truth_holds_and_is_tight) {
    for (size_t n = 0; n < 2 * NAMES; n++) {
        struct operands o = make(names[n / 2], n % 2);
        const struct truth_gap gap = truth_compare(o.contract, &o.op, o.result);
        cr_assert(gap.holds, "%s cell %zu: value %a got %a bound %a", names[n / 2], gap.cell, gap.value, gap.got,
                  gap.bound);
        cr_assert(gap.worst > 0.9 && gap.judged > CELLS / 2, "%s: worst %g of the bound in %zu cells", names[n / 2],
                  gap.worst, gap.judged);
        release(&o);
    }
}

Test(contract_dequantize, nan_bits) {
    for (size_t n = 0; n < NAMES; n++) {
        struct operands o = make(names[n], true);
        size_t nan = 0;
        for (size_t i = 0; i < CELLS; i++) {
            const bool is_nan = (o.result[i] & 0x7fff) > 0x7c00;
            cr_assert(!is_nan || o.result[i] == 0x7fff, "%s: NaN 0x%04x", names[n], o.result[i]);
            nan += is_nan;
        }
        cr_assert(nan > 0 || o.format->d.bytes == 1, "%s: the data must bring NaN", names[n]);
        release(&o);
    }
}

/* Planted: a value two steps of binary16 away. */
Test(contract_dequantize, a_wrong_value_breaks_the_truth) {
    for (size_t n = 0; n < NAMES; n++) {
        struct operands o = make(names[n], false);
        for (size_t i = 0; i < CELLS; i += 997) {
            const uint16_t right = o.result[i];
            if ((right & 0x7fff) >= 0x7bfe)
                continue;
            o.result[i] = (uint16_t)(right + 2);
            const struct truth_gap gap = truth_compare(o.contract, &o.op, o.result);
            cr_assert(!gap.holds && gap.cell == i, "%s: cell %zu went unseen", names[n], i);
            o.result[i] = right;
        }
        release(&o);
    }
}
