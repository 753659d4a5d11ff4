#include "judge_exit.h"
#include "command.h"

struct totals totals_of(const struct outcome *outcomes, size_t count, double wall_seconds, int threads) {
    struct totals t = {.wall_seconds = wall_seconds, .threads = threads};
    for (size_t i = 0; i < count; ++i) {
        const enum verdict v = outcome_verdict(&outcomes[i]);
        t.passed += v == VERDICT_PASS;
        t.skipped += v == VERDICT_SKIPPED;
        t.failed += v != VERDICT_PASS && v != VERDICT_SKIPPED;
        t.warp_instructions += outcomes[i].warp_instructions;
        t.macs += outcomes[i].macs;
        t.seconds += outcomes[i].seconds;
    }
    return t;
}

int exit_code_of(const struct outcome *outcomes, size_t count) {
    bool wrong = false, input = false, passed = false;
    for (size_t i = 0; i < count; ++i) {
        const struct findings *f = &outcomes[i].findings;
        for (size_t k = 0; k < f->count; ++k) {
            wrong |= verdict_is_wrong_kernel(f->items[k].verdict);
            input |= f->items[k].verdict == VERDICT_INPUT;
        }
        passed |= outcome_verdict(&outcomes[i]) == VERDICT_PASS;
    }
    return wrong ? EXIT_KERNEL_WRONG : input ? EXIT_INPUT : passed ? EXIT_PASSED : EXIT_NOTHING_RAN;
}
