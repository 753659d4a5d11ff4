/* warpproof explain: the stages of one case, and every fault where it arises. */
#include "../reports/explain.h"
#include "../oracles/tomography.h"
#include "../ref/checked.h"
#include "../reports/terminal.h"
#include "command.h"
#include "explain_page.h"
#include "explain_siblings.h"
#include "judging.h"
#include "subject.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof explain CASE [--plant NAME] [--json FILE] [--html FILE] [-j N]\n"
    "       warpproof explain LAUNCH.yaml [--set NAME=VALUE]... [--data CLASS] [--seed N] [--json FILE]\n"
    "                                     [--html FILE] [-j N]\n"
    "\n"
    "Runs one case and judges it, then runs it once more and compares every stage with what the launch file and the\n"
    "contract say: staging (the planes at the barrier after which they are read), fragments (the registers of each\n"
    "mma), sums, rescale, store. What a stage has wrong is put right before the next one begins, so that several "
    "faults\n"
    "at once are each named where they arise. docs/explain.md says what the launch file must tell.\n"
    "\n"
    "Then it puts together what every judge says, in three orders of execution, with the closed forms of the launch "
    "file,\n"
    "the guards of the canary build, the probe, other data and other shapes: one suspect a mistake, what is to be "
    "mended\n"
    "first ahead, each with the observations that speak for it.\n"
    "\n"
    "CASE is the id of a case of fixtures/cases, or a pattern that selects one.\n"
    "\n"
    "  --plant NAME       run the kernel with the planted fault NAME instead (warpproof list plants)\n"
    "  --quick            the case alone: no other orders than the verdict needs, no counts, guards, probe, data or "
    "shapes\n"
    "  --set NAME=VALUE   a value for the launch file's expressions; may be repeated\n"
    "  --data CLASS       the data of made operands: exact, coded (default), adv or rand\n"
    "  --seed N           seed of made operands and of `fill: random` (default 1)\n"
    "  --arch NAME        the architecture whose limits and tensor cores count (default sm_90)\n"
    "  --json FILE        write one JSON line, whole or not at all; standard output is /dev/stdout, not -\n"
    "  --html FILE        write one page: stages, faults, lanes, banks, wrong cells, evidence; likewise\n"
    "  -j, --threads N    CPU threads (default: all)\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 every stage that could be judged is right, 1 the kernel is wrong or not as its launch file says, 2 input "
    "or\n"
    "usage error, 3 nothing ran, or no stage could be judged\n";

struct options {
    const char *what, *plant;
    bool quick;
    struct subject_options subject;
    struct judging judging;
};

enum { PROBE_LAUNCHES = 96 }; /* of a small shape each */

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

static int report(const struct spec *spec, const struct outcome *outcome, const struct explanation *x,
                  const struct suspects *suspects) {
    size_t judged = 0;
    for (int k = 0; k < STAGES; ++k) {
        judged += x->stages[k].ruling != RULING_NOT_JUDGED;
    }
    explain_text(stdout, outcome, x, suspects);
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
    const enum verdict v = explained_verdict(outcome, x);
    return verdict_is_wrong_kernel(v) ? EXIT_KERNEL_WRONG
           : v != VERDICT_PASS        ? EXIT_INPUT
           : suspects->count > 0      ? EXIT_KERNEL_WRONG /* on other data or shapes */
           : judged > 0               ? EXIT_PASSED
                                      : EXIT_NOTHING_RAN;
}

/* Some output that was compared is wrong, so that it is worth asking what was consumed. */
static bool is_worth_probing(const struct outcome *o) {
    bool wrong = false;
    for (size_t i = 0; i < o->findings.count; ++i) {
        wrong |= strcmp(o->findings.items[i].oracle, "parity") == 0 && o->findings.items[i].verdict == VERDICT_DIFFERS;
    }
    return o->complete && wrong;
}

/* The rules of the probe that are not as the contract says. They point into x. */
static struct suspect_probe *probe_rules(const struct tomography *x, size_t *count) {
    struct suspect_probe *rules = must_calloc(x->line_count + 1, sizeof *rules);
    *count = 0;
    for (size_t i = 0; i < x->line_count; ++i) {
        const struct tomography_line *l = &x->lines[i];
        if (l->wrong) {
            rules[(*count)++] = (struct suspect_probe){l->operand, l->text, l->suspect, l->cells, l->result};
        }
    }
    return rules;
}

static void gather(const struct options *o, const struct subject *s, const char *root, const struct outcome *outcome,
                   const struct explanation *x, struct suspects *out) {
    struct suspects_input in = {.outcome = outcome, .stages = x, .spec = s->trial.spec, .module = s->trial.module};
    const struct tomography_options few = {.launches = PROBE_LAUNCHES};
    struct siblings siblings = {.count = 0};
    struct tomography probe = {.line_count = 0};
    struct outcome canary;
    struct error ignored;
    bool guards = false;
    if (!o->quick) {
        guards = canary_run(s, root, o->plant != NULL, &canary, &in.no_canary);
        in.canary = guards ? &canary : NULL;
        siblings_run(s, outcome, &siblings);
        in.siblings = siblings.items;
        in.sibling_count = siblings.count;
        if (is_worth_probing(outcome) && !tomography(&s->trial, &few, &probe, &ignored)) {
            probe = (struct tomography){.line_count = 0};
        }
    }
    struct suspect_probe *rules = probe_rules(&probe, &in.probe_count);
    in.probes = rules;
    suspects_of(&in, out);
    free(rules);
    tomography_free(&probe);
    siblings_free(&siblings);
    if (guards) {
        outcome_free(&canary);
    }
}

/* again: how it is called again. */
static int explain(const struct options *o, const struct subject *s, const char *root, const char *again) {
    struct outcome outcome;
    struct explanation x = {0};
    struct suspects suspects = {.count = 0};
    struct explain_counts counts;
    struct error e;
    struct trial t = s->trial;
    int code = EXIT_INPUT;
    if (!explain_count(&s->trial, &counts, &e)) {
        return usage_error("explain", "%s", e.text);
    }
    const double start = omp_get_wtime();
    t.schedules = o->quick ? SCHEDULES_OPEN : SCHEDULES_ALL;
    t.options.census = !o->quick;
    trial_run(&t, &outcome);
    outcome.rerun = must_strdup(again);
    if (!outcome.judged) { /* the launch cannot be run at all: its finding says why */
        terminal_failure(stdout, &outcome, NULL, 0);
        code = exit_code_of(&outcome, 1);
        if (o->judging.html != NULL &&
            !explain_page(&o->judging, s, root, &outcome, &x, &suspects, omp_get_wtime() - start, &e)) {
            flush_output();
            code = usage_error("explain", "%s", e.text);
        }
    } else if (explain_stages(&s->trial, &counts, &outcome.findings, &x, &e)) {
        const double seconds = omp_get_wtime() - start;
        gather(o, s, root, &outcome, &x, &suspects);
        code = report(s->trial.spec, &outcome, &x, &suspects);
        if ((o->judging.json != NULL && !explain_json(o->judging.json, &outcome, &x, &suspects, &e)) ||
            (o->judging.html != NULL && !explain_page(&o->judging, s, root, &outcome, &x, &suspects, seconds, &e))) {
            flush_output();
            code = usage_error("explain", "%s", e.text);
        }
    } else {
        usage_error("explain", "%s", e.text);
    }
    suspects_free(&suspects);
    explanation_free(&x);
    explain_counts_free(&counts);
    outcome_free(&outcome);
    return code;
}

/* " --quick --arch sm_121": how it was called, for the command that runs it again. The caller frees it. */
static char *options_again(const struct options *o) {
    const struct arch *arch = o->judging.launch.arch;
    return must_format("%s%s%s", o->quick ? " --quick" : "", arch != NULL ? " --arch " : "",
                       arch != NULL ? arch->name : "");
}

/* ---- the command ---- */

static int explain_any(struct options *o) {
    const struct subject_asked asked = {"explain", o->what, o->plant, &o->subject, &o->judging};
    struct error e;
    char *root = project_root(&e);
    int code = EXIT_INPUT;
    if (root != NULL && load_measured_tables(root, &e)) {
        struct subject s;
        struct ptx_module *m;
        code = subject_open(&asked, root, &s, &m);
        if (code < 0) {
            char *how = options_again(o), *again = subject_again(&asked, root, &s, how);
            code = explain(o, &s, root, again);
            free(again);
            free(how);
        }
        ptx_free(m);
        subject_free(&s);
    } else {
        usage_error("explain", "%s", e.text);
    }
    free(root);
    return code;
}

int explain_main(int argc, char **argv) {
    enum { PLANT = SUBJECT_OPTIONS, QUICK };
    static const struct option longs[] = {SUBJECT_LONG_OPTIONS,
                                          {"plant", required_argument, NULL, PLANT},
                                          {"quick", no_argument, NULL, QUICK},
                                          {"arch", required_argument, NULL, JUDGING_ARCH},
                                          {"json", required_argument, NULL, JUDGING_JSON},
                                          {"html", required_argument, NULL, JUDGING_HTML},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {.subject = {.seed = 1, .class = DATA_CODED}, .judging = {.threads = omp_get_max_threads()}};
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        if (c == PLANT) {
            code = take_once("explain", "--plant", &o.plant);
        } else if (c == QUICK) {
            o.quick = true;
        } else {
            code = c >= SUBJECT_SET && c < SUBJECT_OPTIONS
                       ? subject_option("explain", c, &o.subject)
                       : judging_option("explain", usage, argc, argv, c, &o.judging);
        }
    }
    code = code >= 0 ? code : judging_check("explain", &o.judging);
    if (code < 0 && (optind + 1 != argc || argv[optind][0] == 0)) {
        code = usage_error("explain", "want one case or launch file (see warpproof explain --help)");
    }
    if (code < 0) {
        o.what = argv[optind];
        code = explain_any(&o);
    }
    sets_free(&o.subject.sets);
    return code;
}
