/* Shared-memory banks: how many passes through the data stage (wavefronts) an access takes, and how many of them are
 * bank conflicts. */
#ifndef GPU_BANKS_H
#define GPU_BANKS_H

#include <stdint.h>

enum bank_access { BANK_LOAD, BANK_STORE, BANK_MATRIX }; /* BANK_MATRIX: ldmatrix, stmatrix */

struct bank_count {
    unsigned wavefronts, conflicts;
};

/* One access of a warp.
 * bytes     of one lane: 1, 2, 4, 8 or 16; BANK_MATRIX: 16
 * matrices  BANK_MATRIX: 1, 2 or 4 matrices; lane 8 m + q gives the address of row q of matrix m. Else not used
 * at        (32) byte offsets from shared address 0, of the lanes in `active`
 *
 * Memory has 32 banks of 4 bytes: word = at / 4, bank = word mod 32. The access is cut into phases: one of 32 lanes for
 * up to 4 bytes, two of 16 for 8, four of 8 for 16, one a matrix. The degree of a phase is the most distinct words that
 * one bank is asked for. wavefronts = sum of degrees, conflicts = sum of (degree - 1) over phases with an active lane.
 * A load of 8 or 16 bytes takes half as many phases when all pairs of lanes (l, l xor 1), or all pairs (l, l xor 2),
 * have equal addresses, an inactive partner counting as equal; stores and matrices never do. Source: facts/ptx.md 5.1,
 * BK-1 .. BK-9: measured on an H200; other architectures are assumed to do the same. */
struct bank_count bank_count(enum bank_access kind, unsigned bytes, unsigned matrices, const uint32_t at[32],
                             uint32_t active);

#endif
