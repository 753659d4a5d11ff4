#include "case_detail.h"
#include "../ref/checked.h"
#include <stdlib.h>

static bool digests(const struct trial *t, struct case_detail *d, struct error *e) {
    struct bound b = {0};
    const bool good = digest_program(t->module, d->program, e) &&
                      trial_bind(t, &(struct schedule){.order = SCHEDULE_IN_ORDER}, &b, e) && bound_check(&b, e) &&
                      (digest_inputs(&b, d->inputs) || fail(e, "cannot compute a SHA-256"));
    bound_free(&b);
    return good;
}

static bool explain(const struct trial *t, const struct outcome *o, struct case_detail *d, struct error *e) {
    struct explain_counts counts;
    if (!explain_count(t, &counts, e)) {
        return false;
    }
    d->staged = explain_stages(t, &counts, &o->findings, &d->explanation, e);
    explain_counts_free(&counts);
    if (d->staged) {
        const struct suspects_input in = {
            .outcome = o, .stages = &d->explanation, .spec = t->spec, .module = t->module};
        suspects_of(&in, &d->suspects);
    }
    return d->staged;
}

void case_detail_make(const struct trial *t, const struct outcome *o, bool stages, struct case_detail *d) {
    struct error e;
    *d = (struct case_detail){0};
    if ((stages && !explain(t, o, d, &e)) || !digests(t, d, &e) || !bank_sites_run(t, &d->banks, &e)) {
        d->why = must_strdup(e.text);
    }
}

void case_detail_free(struct case_detail *d) {
    explanation_free(&d->explanation);
    suspects_free(&d->suspects);
    bank_sites_free(&d->banks);
    free(d->why);
    *d = (struct case_detail){0};
}
