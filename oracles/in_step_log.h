/* What in_step.c keeps of the steps of a launch: digests, and of a few steps the values. */
#ifndef ORACLES_IN_STEP_LOG_H
#define ORACLES_IN_STEP_LOG_H

#include "in_step.h"

struct step_digest {
    uint32_t key;         /* of the opcode, and number and width of the values */
    uint32_t instruction; /* aligned_number */
    uint64_t all;         /* lanes, address, values */
    uint64_t values;      /* lanes, values */
};

/* The kind is in the key as well. */
enum difference_kind step_kind(const struct step_digest *s);
void step_digest_of(const struct probe_step *at, uint32_t instruction, struct step_digest *out);

enum { STEP_VALUES = 17 }; /* that a snapshot keeps: as many as an instruction has, with a store's address the first */

struct snapshot {
    bool taken;
    uint32_t lanes;
    const struct ptx_instruction *text; /* the module's */
    size_t site, count;
    bool has_address;
    unsigned bits[STEP_VALUES];
    const char *names[STEP_VALUES];
    uint64_t values[STEP_VALUES][32];
};

void snapshot_take(struct snapshot *s, const struct probe_step *at);

/* The first lane and value that differ, as *lane and *value; address and value each where `moves` is false, values
 * alone where it is true. *lanes: all in which one does. False: none among those that are kept. */
bool snapshots_differ(const struct snapshot *a, const struct snapshot *b, bool moves, unsigned *lane, size_t *value,
                      uint32_t *lanes);

#endif
