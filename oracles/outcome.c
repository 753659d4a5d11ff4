#include "outcome.h"
#include "../ref/checked.h"
#include <stdlib.h>
#include <string.h>

enum verdict outcome_verdict(const struct outcome *o) {
    return o->skipped ? VERDICT_SKIPPED : findings_worst(&o->findings);
}

bool outcome_in_part(const struct outcome *o, const struct oracle *oracle) {
    const uint32_t off = o->unwatched & oracle->watches;
    return off != 0 && off != oracle->watches;
}

char *outcome_not_judged(const struct outcome *o) {
    char *none = must_strdup(""), *part = must_strdup("");
    for (size_t i = 0; o->judged && oracles[i] != NULL; ++i) {
        const struct oracle *x = oracles[i];
        const bool own_words = x->on_request || strcmp(x->name, "parity") == 0 || strcmp(x->name, "truth") == 0;
        const bool partly = outcome_in_part(o, x);
        if (own_words || (o->rulings[i] != RULING_NOT_JUDGED && !partly)) {
            continue;
        }
        char **list = partly ? &part : &none;
        char *more = must_format("%s%s%s", *list, (*list)[0] ? ", " : "", x->name);
        free(*list);
        *list = more;
    }
    char *text = NULL;
    if (none[0] || part[0]) {
        text = must_format("%s%s%s%s%s%s", none, none[0] ? " not judged" : "", none[0] && part[0] ? ", " : "", part,
                           part[0] ? " in part" : "",
                           o->on_gpu           ? ": a GPU does not tell"
                           : o->unwatched != 0 ? ": --watches"
                                               : "");
    }
    free(none);
    free(part);
    return text;
}

void outcome_free(struct outcome *o) {
    free(o->id);
    free(o->about);
    free(o->rerun);
    free(o->variant);
    free(o->why);
    for (size_t i = 0; i < o->print_count; ++i)
        free(o->prints[i].text);
    free(o->prints);
    findings_free(&o->findings);
    for (size_t i = 0; i < o->census_count; ++i)
        census_free(&o->censuses[i]);
    free(o->censuses);
    *o = (struct outcome){0};
}
