/* warpproof explain: the stages of one case, and every fault where it arises. */
#include "../reports/explain.h"
#include "../ref/checked.h"
#include "../reports/terminal.h"
#include "command.h"
#include "subject.h"
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof explain CASE [--plant NAME] [--json FILE] [-j N]\n"
    "       warpproof explain LAUNCH.yaml [--set NAME=VALUE]... [--data CLASS] [--seed N] [--json FILE] [-j N]\n"
    "\n"
    "Runs one case and judges it, then runs it once more and compares every stage with what the launch file and the\n"
    "contract say: staging (the planes at the barrier after which they are read), fragments (the registers of each\n"
    "mma), sums, rescale, store. What a stage has wrong is put right before the next one begins, so that several "
    "faults\n"
    "at once are each named where they arise. docs/explain.md says what the launch file must tell.\n"
    "\n"
    "CASE is the id of a case of fixtures/cases, or a pattern that selects one.\n"
    "\n"
    "  --plant NAME       run the kernel with the planted fault NAME instead (warpproof list plants)\n"
    "  --set NAME=VALUE   a value for the launch file's expressions; may be repeated\n"
    "  --data CLASS       the data of made operands: exact, coded (default), adv or rand\n"
    "  --seed N           seed of made operands and of `fill: random` (default 1)\n"
    "  --arch NAME        the architecture whose limits and tensor cores count (default sm_90)\n"
    "  --json FILE        write one JSON line, whole or not at all; standard output is /dev/stdout, not -\n"
    "  -j, --threads N    CPU threads (default: all)\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 every stage that could be judged is right, 1 the kernel is wrong or not as its launch file says, 2 input "
    "or\n"
    "usage error, 3 nothing ran, or no stage could be judged\n";

/* ---- the two runs ---- */

/* Of several launches. */
static void note_launches(const struct spec *s) {
    if (s->then_count > 0) {
        printf("  %-9s  the stages are those of launch 1 (entry %s); what follows is run and judged for the "
               "result only\n",
               "launches", s->entry);
    }
}

/* The stages are wrong, and the result is right: nobody knows which of the two reasons it has. */
static void note_right(const struct outcome *outcome, const struct explanation *x) {
    if (x->faults.count > 0 && outcome->parity_judged && outcome_verdict(outcome) == VERDICT_PASS) {
        printf(
            "\nthe result is right as it runs: the launch file's `planes`, `stages` or `mma` describe another layout, "
            "or these operands hide the fault\n");
    }
}

static int report(const struct subject_options *o, const struct spec *spec, const struct outcome *outcome,
                  const struct explanation *x) {
    struct error e;
    size_t judged = 0;
    for (int k = 0; k < STAGES; ++k) {
        judged += x->stages[k].ruling != RULING_NOT_JUDGED;
    }
    explain_text(stdout, outcome, x);
    note_launches(spec);
    if (judged == 0 && unordered_load(&outcome->findings) == NULL) {
        printf("  no stage could be judged: %s\n", outcome->refused ? "the launch was refused, and nothing was run"
                                                   : !outcome->complete
                                                       ? "the launch did not run to its end"
                                                       : "docs/explain.md says what the launch file must tell");
    }
    note_right(outcome, x);
    if (outcome->findings.count > 0) {
        printf("\nas it runs, with nothing put right:\n");
        terminal_failure(stdout, outcome, NULL, 0);
    } else {
        printf("  %-9s  %s\n", "rerun", outcome->rerun);
    }
    if (o->judging.json != NULL && !explain_json(o->judging.json, outcome, x, &e)) {
        flush_output();
        return usage_error("explain", "%s", e.text);
    }
    const enum verdict v = explained_verdict(outcome, x);
    return verdict_is_wrong_kernel(v) ? EXIT_KERNEL_WRONG
           : v != VERDICT_PASS        ? EXIT_INPUT
           : judged > 0               ? EXIT_PASSED
                                      : EXIT_NOTHING_RAN;
}

static int explain(const struct subject_options *o, const struct subject *s) {
    struct outcome outcome;
    struct explanation x = {0};
    struct explain_counts counts;
    struct error e;
    int code = EXIT_INPUT;
    if (!explain_count(&s->trial, &counts, &e)) {
        return usage_error("explain", "%s", e.text);
    }
    trial_run(&s->trial, &outcome);
    outcome.rerun = must_strdup(s->again);
    if (!outcome.judged) { /* the launch cannot be run at all: its finding says why */
        terminal_failure(stdout, &outcome, NULL, 0);
        code = exit_code_of(&outcome, 1);
    } else if (explain_stages(&s->trial, &counts, &outcome.findings, &x, &e)) {
        code = report(o, s->trial.spec, &outcome, &x);
    } else {
        usage_error("explain", "%s", e.text);
    }
    explanation_free(&x);
    explain_counts_free(&counts);
    outcome_free(&outcome);
    return code;
}

/* ---- the command ---- */

int explain_main(int argc, char **argv) {
    static const struct option longs[] = {SUBJECT_LONG_OPTIONS,
                                          {"arch", required_argument, NULL, JUDGING_ARCH},
                                          {"json", required_argument, NULL, JUDGING_JSON},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct subject_options o = SUBJECT_DEFAULTS("explain", "explained");
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        code = subject_option(&o, usage, argc, argv, c);
    }
    code = code >= 0 ? code : subject_main(&o, argc, argv, explain);
    sets_free(&o.sets);
    return code;
}
