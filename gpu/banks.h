/* Shared-memory banks: how many passes through the data stage (wavefronts) an access takes, and how many of them are
 * bank conflicts. */
#ifndef GPU_BANKS_H
#define GPU_BANKS_H

#include <stdbool.h>
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

/* An access by its name. "ld8" .. "ld128", "st8" .. "st128": bits of one lane; "ldmatrix.x1", ".x2", ".x4", the same
 * with ".trans", and stmatrix. '_' may stand for '.'. */
struct bank_op {
    enum bank_access kind;
    bool store, trans;
    unsigned bytes;    /* of one lane: 1 .. 16 */
    unsigned matrices; /* 1, 2 or 4; 0: no matrix access */
    char name[20];     /* as above, with '.' */
};
extern const char bank_op_names[]; /* what they are, for messages: "ld8 ld16 ... stmatrix.x1|x2|x4[.trans]" */
/* False when it is no such name; *op is then not touched. */
bool bank_op_named(const char *name, struct bank_op *op);
/* Its name as tables have it, with '_'. */
void bank_op_table_name(const struct bank_op *op, char name[20]);
/* Lanes whose addresses count: all, or of matrices 8 each. */
uint32_t bank_op_lanes(const struct bank_op *op);

/* How an access is served. Addresses MUST be multiples of op->bytes: two lanes then ask for the same words, for other
 * words of the same banks, or for other banks, and one lane is served by one wavefront. */
struct bank_plan {
    struct bank_count count;
    bool merged;           /* half as many phases: pairs of lanes have equal addresses */
    unsigned phases;       /* 1, 2 or 4, idle ones too */
    uint32_t lanes[4];     /* of each phase, active ones */
    unsigned degree[4];    /* of each phase; 0 when it is idle */
    uint8_t wavefront[32]; /* of each lane, from 0; BANK_IDLE: it asks for nothing */
};
enum { BANK_IDLE = 255 };
/* The first distinct address of every bank goes first, in order of lanes; `count` is bank_count's. Which words the
 * hardware puts together is not documented: their number is. */
struct bank_plan bank_plan(const struct bank_op *op, const uint32_t at[32], uint32_t active);

#endif
