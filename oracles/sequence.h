/* The launches of one launch file, run one after the other in one stream: each finds in the buffers what those before
 * it left there. */
#ifndef ORACLES_SEQUENCE_H
#define ORACLES_SEQUENCE_H

#include "../gpu/bind.h"
#include "oracle.h"

struct sequence {
    struct launch_run *runs; /* (count) the launches that were run; they point into the bound and into traces */
    struct trace *traces;    /* (count) */
    size_t count;
};

/* Runs b's launches in order, up to the first that does not complete. Where one asks for more than the architecture
 * has, it alone is run, which is refused. False: e says why, and of several launches which; *s is then empty. */
bool sequence_run(const struct runner *runner, struct bound *b, struct sequence *s, struct error *e);
void sequence_free(struct sequence *s);

/* The last launch that was run. */
const struct launch_run *sequence_last(const struct sequence *s);
/* All launches of b ran to their ends. */
bool sequence_complete(const struct sequence *s);
/* In some launch the watches leave open whether the order changes a bit. */
bool sequence_open(const struct sequence *s);

#endif
