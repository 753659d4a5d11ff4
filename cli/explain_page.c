#include "explain_page.h"
#include "../reports/explain.h"
#include "outputs.h"

static bool write_page(const struct judging *j, const struct outcome *outcome, const struct case_detail *d,
                       const struct recorded *recorded, double seconds, struct error *e) {
    const bool passed = explained_verdict(outcome, &d->explanation) == VERDICT_PASS;
    struct totals t = totals_of(outcome, 1, seconds, j);
    t.passed = passed;
    t.failed = !passed;
    const struct html h = {.command = "explain",
                           .outcomes = outcome,
                           .count = 1,
                           .totals = &t,
                           .recorded = recorded,
                           .details = d,
                           .detail_count = 1,
                           .whole = true};
    return html_write(j->html, &h, e);
}

bool explain_page(const struct judging *j, const struct subject *s, const char *root, const struct outcome *outcome,
                  struct explanation *x, struct suspects *suspects, double seconds, struct error *e) {
    struct case_detail d = {0};
    struct recorded recorded = {0};
    const bool is_case = s->own == NULL;
    bool good = !is_case || evidence_all(root, &recorded, e);
    if (good && outcome->judged) {
        case_detail_make(&s->trial, outcome, false, &d);
        d.explanation = *x;
        d.staged = true;
        *x = (struct explanation){0};
        d.suspects = *suspects;
        *suspects = (struct suspects){.count = 0};
    }
    good = good && write_page(j, outcome, &d, is_case ? &recorded : NULL, seconds, e);
    case_detail_free(&d);
    recorded_free(&recorded);
    return good;
}
