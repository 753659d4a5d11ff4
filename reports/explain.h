/* The report of `warpproof explain`: every stage with its ruling, every fault in full. */
#ifndef REPORTS_EXPLAIN_H
#define REPORTS_EXPLAIN_H

#include "../oracles/suspects.h"
#include "../ref/error.h"
#include <stdio.h>

/* The worst of what the judges found of the case as it runs, and of what is wrong in its stages. */
enum verdict explained_verdict(const struct outcome *o, const struct explanation *x);

/* Verdict and id, one line a stage, the first wrong stage, the suspects, and each fault under its stage. */
void explain_text(FILE *out, const struct outcome *o, const struct explanation *x, const struct suspects *s);

/* One JSON line: {"case", "kernel", "verdict", "stages": [{"stage", "ruling", "unit", "compared", "wrong", "why"}],
 * "suspects": [{"kind", "title", "place", "call", "look", "buffer", "from": [text], "why": [{"by", "text"}]}], "also":
 * [{"by", "text"}], "faults": [findings; "oracle" is the stage], "findings": [of the case as it runs], "rerun"}.
 * Written as file_put does. */
bool explain_json(const char *path, const struct outcome *o, const struct explanation *x, const struct suspects *s,
                  struct error *e);

#endif
