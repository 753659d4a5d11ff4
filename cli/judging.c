#include "judging.h"
#include "command.h"
#include <stdio.h>
#include <string.h>

int judging_option(const char *command, const char *usage, int argc, char **argv, int result, struct judging *j) {
    switch (result) {
    case JUDGING_RUNNER:
        return strcmp(optarg, "machine") == 0
                   ? -1
                   : usage_error(command, "unknown runner '%s': this build has machine", optarg);
    case JUDGING_JSON:
        j->json = optarg;
        return j->json[0] != 0 ? -1 : usage_error(command, "--json: want the name of a file");
    case JUDGING_STATS:
        j->stats = true;
        return -1;
    case 'j':
        return parse_threads(optarg, &j->threads)
                   ? -1
                   : usage_error(command, "-j %s: want a number of threads, 1 to 1024", optarg);
    case 'h':
        fputs(usage, stdout);
        return EXIT_PASSED;
    default:
        return option_error(command, argc, argv, result);
    }
}

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
