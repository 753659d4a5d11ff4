/* What the launches of a kernel must leave in its buffers, and whether every copy has it. */
#ifndef CLI_BENCH_RIGHT_H
#define CLI_BENCH_RIGHT_H

#include "../gpu/device/timing.h"

/* Made operands and what a contract says of them; kernels of one contract, split and shape share it. */
struct right {
    const struct contract *contract;
    struct split split;
    struct operands operands; /* lent to the launches */
    uint8_t *result;          /* (operands.result_bytes) */
    bool in_files;            /* the operands are those of one launch file, and nobody else's */
};

struct rights {
    struct right **items; /* (count) */
    size_t count;
};

/* That of a kernel with a contract at a shape, out of `all`, which it joins. Operands depend on formats, shape and
 * class alone: all kernels that share formats work on the same numbers. NULL: e says why. */
const struct right *rights_of(struct rights *all, const struct spec *s, const struct shape *shape, enum data_class data,
                              struct error *e);
void rights_free(struct rights *all);

/* The launch file's own bytes are not those of the contract: nobody knows what is right. right: NULL without a
 * contract, and so below. */
bool right_disputed(const struct bound *b, const struct right *right);
/* Fails where nobody says what an output is. */
bool right_known(const struct bound *b, const struct right *right, struct error *e);
/* Holds all copies that a launch was on since the poison to it, byte for byte, the inputs to what they were, and all
 * bands, those of scratch too.
 * *wrong: NULL, or the first that is not (the caller frees it). False: it could not be looked at. */
bool right_check(const struct launch_copies *c, const struct right *right, char **wrong, struct error *e);

#endif
