#include "random.h"

/* The constants and the round are those of the paper's section 3.3 and of Random123's philox.h. */
static const uint32_t MULTIPLIER_0 = 0xD2511F53, MULTIPLIER_1 = 0xCD9E8D57;
static const uint32_t WEYL_0 = 0x9E3779B9, WEYL_1 = 0xBB67AE85; /* golden ratio, sqrt(3) - 1: the key's steps */
enum { ROUNDS = 10 };

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)MULTIPLIER_0 * c0, p1 = (uint64_t)MULTIPLIER_1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void random_block(uint64_t key, uint64_t counter, uint32_t out[4]) {
    uint32_t counter_words[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
    uint32_t key_words[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    philox4x32_10(counter_words, key_words, out);
}

uint64_t random_key(const char *text) {
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a, 64 bits: offset basis, then xor a byte and multiply by the prime */
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        hash = (hash ^ *p) * 0x100000001b3;
    uint32_t words[4];
    random_block(hash, 0, words);
    return (uint64_t)words[1] << 32 | words[0];
}

struct random_stream random_open(uint64_t key, uint32_t lane) {
    /* Lane L owns the counters L * 2^32 .. L * 2^32 + 2^32 - 1: word 1 is the lane, word 0 counts. */
    return (struct random_stream){.key = key, .next = (uint64_t)lane << 32};
}

uint32_t random_u32(struct random_stream *s) {
    if (!s->left) {
        random_block(s->key, s->next, s->words);
        /* After 2^34 words a stream starts over; a carry must not lead it into the next lane. */
        s->next = (s->next >> 32) << 32 | (uint32_t)(s->next + 1);
        s->left = 4;
    }
    return s->words[4 - s->left--];
}

uint32_t random_below(struct random_stream *s, uint32_t bound) {
    /* The lowest 2^32 mod bound words are thrown away: what stays is a whole number of turns of 0 .. bound-1. */
    uint32_t unfair = (uint32_t)(-bound) % bound, word;
    do
        word = random_u32(s);
    while (word < unfair);
    return word % bound;
}

float random_unit(struct random_stream *s) {
    return (float)(random_u32(s) >> 8) * 0x1p-24f;
}

float random_normal(struct random_stream *s) {
    int32_t sum = -(6 << 24); /* in units of 2^-24: exact in an integer, so that one rounding is left, to f32 */
    for (int i = 0; i < 12; i++)
        sum += (int32_t)(random_u32(s) >> 8);
    return (float)sum * 0x1p-24f;
}
