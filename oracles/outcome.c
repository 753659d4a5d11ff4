#include "outcome.h"
#include <stdlib.h>

enum verdict outcome_verdict(const struct outcome *o) {
    return o->skipped ? VERDICT_SKIPPED : findings_worst(&o->findings);
}

void outcome_free(struct outcome *o) {
    free(o->id);
    free(o->about);
    free(o->rerun);
    free(o->why);
    for (size_t i = 0; i < o->print_count; ++i)
        free(o->prints[i].text);
    free(o->prints);
    findings_free(&o->findings);
    census_free(&o->census);
    *o = (struct outcome){0};
}
