/* The counter-based generator: known answers, streams that do not meet, and the moments of what is drawn. */
#include "../ref/random.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* kat_vectors of the Random123 distribution, rows "philox4x32 10". */
static const struct {
    uint32_t counter[4], key[2], want[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

Test(random, known_answers) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t got[4];
        philox4x32_10(known[i].counter, known[i].key, got);
        cr_assert(!memcmp(got, known[i].want, sizeof got), "row %zu: got %08x %08x %08x %08x", i, got[0], got[1],
                  got[2], got[3]);
    }
    uint32_t block[4];
    random_block(0, 0, block);
    cr_assert(!memcmp(block, known[0].want, sizeof block), "random_block(0, 0) is not the first row");
}

/* The known answers can fail: every single bit of counter and key changes about half of the 128 bits. */
Test(random, every_input_bit_matters) {
    for (unsigned bit = 0; bit < 192; bit++) {
        uint32_t counter[4], key[2], got[4];
        memcpy(counter, known[2].counter, sizeof counter);
        memcpy(key, known[2].key, sizeof key);
        if (bit < 128)
            counter[bit / 32] ^= 1u << bit % 32;
        else
            key[bit / 32 - 4] ^= 1u << bit % 32;
        philox4x32_10(counter, key, got);
        int changed = 0;
        for (int i = 0; i < 4; i++)
            changed += __builtin_popcount(got[i] ^ known[2].want[i]);
        cr_assert(changed > 30 && changed < 98, "bit %u changed %d of 128 bits", bit, changed);
    }
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Number of equal neighbours after sorting; blocks are taken as 64 of their 128 bits (a chance hit: about 2^-38). */
static int repeats(uint64_t *block, size_t count) {
    int equal = 0;
    qsort(block, count, sizeof *block, by_value);
    for (size_t i = 1; i < count; i++)
        equal += block[i] == block[i - 1];
    return equal;
}

static void draw_blocks(uint64_t key, uint32_t lane, uint64_t *out, size_t count) {
    struct random_stream s = random_open(key, lane);
    for (size_t i = 0; i < count; i++) {
        uint64_t low = random_u32(&s), high = random_u32(&s);
        random_u32(&s);
        random_u32(&s);
        out[i] = high << 32 | low;
    }
}

Test(random, streams_do_not_overlap) {
    enum { LANES = 8, BLOCKS = 1000 };
    static const uint32_t lane[LANES] = {0, 1, 2, 3, 255, 65536, 0x7fffffff, 0xffffffff};
    static uint64_t block[LANES * BLOCKS];
    uint64_t key = random_key("random/streams");
    for (size_t i = 0; i < LANES; i++)
        draw_blocks(key, lane[i], block + i * BLOCKS, BLOCKS);
    cr_assert(repeats(block, LANES * BLOCKS) == 0, "two streams share a block");
    draw_blocks(key, 0, block, BLOCKS);
    draw_blocks(key, 0, block + BLOCKS, BLOCKS);
    cr_assert(repeats(block, 2 * BLOCKS) == BLOCKS,
              "the same stream drawn twice must repeat, or this test sees nothing");
}

Test(random, a_stream_stays_in_its_lane) {
    struct random_stream s = random_open(7, 3);
    s.next = 3ull << 32 | 0xffffffff; /* the last block of lane 3 */
    uint32_t last[4], first[4];
    random_block(7, s.next, last);
    random_block(7, 3ull << 32, first);
    for (int i = 0; i < 8; i++) {
        uint32_t want = i < 4 ? last[i] : first[i - 4], got = random_u32(&s);
        cr_assert(got == want, "word %d: want %08x got %08x", i, want, got);
    }
}

Test(random, keys_of_near_texts_are_far) {
    uint64_t a = random_key("q4_K/nt1/s1"), b = random_key("q4_K/nt1/s2"), none = random_key("");
    cr_assert(a == random_key("q4_K/nt1/s1"), "a key is a function of its text");
    int far = __builtin_popcountll(a ^ b);
    cr_assert(far > 12 && far < 52 && none != a, "keys differ in %d bits only", far);
}

Test(random, below_is_uniform) {
    struct random_stream s = random_open(random_key("random/below"), 0);
    for (int i = 0; i < 100; i++)
        cr_assert(random_below(&s, 1) == 0, "there is nothing below 1 but 0");
    int count[7] = {0};
    for (int i = 0; i < 70000; i++)
        count[random_below(&s, 7)]++;
    for (int i = 0; i < 7; i++)
        cr_assert(abs(count[i] - 10000) < 500, "%d came %d times of 70000", i, count[i]); /* 5 standard deviations */
    /* A bound of 3 * 2^30: without rejection the lower third would come twice as often as each of the others. */
    int low = 0;
    for (int i = 0; i < 30000; i++)
        low += random_below(&s, 3u << 30) < 1u << 30;
    cr_assert(abs(low - 10000) < 500, "lower third came %d times of 30000", low);
}

Test(random, unit_and_normal) {
    enum { DRAWS = 100000 };
    struct random_stream s = random_open(random_key("random/normal"), 0);
    double sum = 0, squares = 0, units = 0;
    for (int i = 0; i < DRAWS; i++) {
        float u = random_unit(&s), x = random_normal(&s);
        cr_assert(u >= 0 && u < 1 && ldexp(u, 24) == floor(ldexp(u, 24)), "%a is no k * 2^-24 of [0, 1)", u);
        cr_assert(fabsf(x) <= 6, "%a is beyond what twelve units sum to", x);
        units += u;
        sum += x;
        squares += (double)x * x;
    }
    double mean = sum / DRAWS, variance = squares / DRAWS - mean * mean;
    cr_assert(fabs(units / DRAWS - 0.5) < 0.005, "mean of units %g", units / DRAWS);
    cr_assert(fabs(mean) < 0.016 && fabs(variance - 1) < 0.025, "mean %g, variance %g", mean, variance);
}
