/* What layout tomography found, for people and as JSON. */
#ifndef REPORTS_PROBE_H
#define REPORTS_PROBE_H

#include "../oracles/tomography.h"
#include <stdio.h>

struct probe_report { /* of one subject */
    const char *id, *kernel, *again;
    bool contract; /* it has one: else what is consumed is told, and not whether it is right */
    const struct tomography *found;
};

void probe_text(FILE *out, const struct probe_report *r);
/* One JSON line: {"case", "kernel", "verdict": "right" | "wrong" | "told" | "not probed", "why", "shape", "launches",
 * "lines": [{"operand", "text", "suspect", "cells", "basis", "wrong"}], "notes", "rerun"}. Whole or not at all. */
bool probe_json(const char *path, const struct probe_report *r, struct error *e);

#endif
