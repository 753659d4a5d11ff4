/* Counter-based random numbers: value number i of a stream is a function of (key, i) alone, so the data of a case
 * depend on its id only, never on the order of the cases or on the threads.
 * Philox4x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */
#ifndef REF_RANDOM_H
#define REF_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random_stream {
    uint64_t key;
    uint64_t next;     /* counter of the next block of four words */
    uint32_t words[4]; /* the current block */
    unsigned left;     /* words of it not yet handed out */
};

/* The generator itself: out = ten rounds of Philox4x32 on all four counter words, least significant first. */
void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* 64-bit key of a text (a case id): FNV-1a, then one Philox block so that near texts give far keys. */
uint64_t random_key(const char *text);

/* Philox4x32-10 of counter {lo, hi} = {counter & 2^32-1, counter >> 32, 0, 0} and key. */
void random_block(uint64_t key, uint64_t counter, uint32_t out[4]);

/* Stream `lane` of a key: streams of one key never share a block (the lane is counter word 1, word 0 counts blocks).
 * A stream starts over after 2^34 words. */
struct random_stream random_open(uint64_t key, uint32_t lane);
uint32_t random_u32(struct random_stream *s);
uint32_t random_below(struct random_stream *s, uint32_t bound); /* uniform in 0 .. bound-1, unbiased; bound >= 1 */
float random_unit(struct random_stream *s);                     /* k * 2^-24, k uniform in 0 .. 2^24-1 */
/* Sum of 12 random_unit - 6, rounded once: mean 0, variance 1, no libm, same bits everywhere. */
float random_normal(struct random_stream *s);

#endif
