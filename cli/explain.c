/* warpproof explain: the stages of one case, and every fault where it arises. */
#include "../reports/explain.h"
#include "../gpu/case.h"
#include "../ref/checked.h"
#include "../reports/terminal.h"
#include "command.h"
#include "judging.h"
#include "plant.h"
#include "selecting.h"
#include "sets.h"
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

struct options {
    const char *what, *plant;
    struct sets sets;
    bool one_class;
    enum data_class class;
    bool seeded;
    uint64_t seed;
    struct judging judging;
};

/* What is explained, and how it is called again. */
struct subject {
    struct trial trial;
    struct operands operands;
    char *id, *again;
};

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

static int report(const struct options *o, const struct spec *spec, const struct outcome *outcome,
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

static int explain(const struct options *o, const struct subject *s) {
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

/* ---- a case ---- */

static bool find_case(const struct case_list *list, const struct options *o, const struct test_case **found,
                      struct error *e) {
    bool *chosen = must_calloc(list->count + 1, sizeof *chosen);
    const char *missed = NULL;
    const size_t n = case_select(list, &o->what, 1, chosen, &missed);
    for (size_t i = 0; i < list->count; ++i) {
        *found = chosen[i] && *found == NULL ? &list->cases[i] : *found;
    }
    free(chosen);
    return n == 1 ||
           (n == 0 ? fail_missed(e, list, o->what, false)
                   : fail(e, "'%s' selects %zu cases, and one is explained: such as %s", o->what, n, (*found)->id));
}

/* The plant is one of this case's kernel; its PTX, or the kernel's own. */
static bool load_program(const struct test_case *c, const char *root, const struct options *o, struct ptx_module **m,
                         struct error *e) {
    struct plant plant = {0};
    if (o->plant != NULL && !plant_load(root, o->plant, &plant, e)) {
        return false;
    }
    const bool fits = o->plant == NULL || (plant.group == PLANT_KERNEL && strcmp(plant.kernel, c->spec->kernel) == 0);
    *m = fits ? ptx_load(o->plant != NULL ? plant.ptx : c->spec->ptx, e) : NULL;
    if (!fits) {
        fail(e, "plant %s is none of kernel %s", o->plant, c->spec->kernel);
    }
    plant_free(&plant);
    return *m != NULL;
}

static int explain_case(struct options *o, const char *root, struct error *e) {
    char *folder = must_format("%s/fixtures/cases", root), *models = must_format("%s/build/models", root);
    struct case_list list = {0};
    const struct test_case *c = NULL;
    struct ptx_module *m = NULL;
    struct subject s = {0};
    int code = -1;
    bool good = case_list_load(folder, root, models, true, &list, e);
    if (good && !find_case(&list, o, &c, e)) {
        good = false;
        code = c == NULL ? EXIT_NOTHING_RAN : -1;
    }
    if (good && load_program(c, root, o, &m, e) && case_operands(c, &s.operands, e)) {
        struct shape_value values[3];
        const struct shape shape = case_shape(c, values);
        judging_threads("explain", &o->judging);
        note_sums("explain", c->id, &s.operands.sums);
        s.again = must_format("%s explain%s%s %s", command_again(root), o->plant != NULL ? " --plant " : "",
                              o->plant != NULL ? o->plant : "", c->id);
        s.trial = (struct trial){.id = c->id,
                                 .spec = c->spec,
                                 .module = m,
                                 .runner = &runner_machine,
                                 .contract = c->contract,
                                 .operands = &s.operands,
                                 .shape = &shape,
                                 .threads = o->judging.threads,
                                 .options = o->judging.launch};
        code = explain(o, &s);
        operands_free(&s.operands);
    }
    ptx_free(m);
    case_list_free(&list);
    free(s.again);
    free(folder);
    free(models);
    return code;
}

/* ---- a launch file ---- */

static bool make_operands(const struct spec *s, const struct contract *c, const struct shape *shape,
                          const struct options *o, struct subject *out, struct error *e) {
    struct operands_request r = {.contract = c, .data = o->class};
    if (!sets_operands(s, shape, &r, e)) {
        return false;
    }
    out->id = sets_id(s, &r, o->seed);
    return operands_make(&r, &out->operands, e);
}

/* The options as they were given. */
static char *options_text(const struct options *o) {
    char *text = o->one_class ? must_format(" --data %s", data_class_names[o->class]) : must_strdup("");
    char *sets = sets_text(&o->sets, o->seeded ? &o->seed : NULL);
    char *all = must_format("%s%s", text, sets);
    free(text);
    free(sets);
    return all;
}

static int explain_launch(struct options *o, const char *root, struct error *e) {
    struct spec *s = spec_load(o->what, root, e);
    struct ptx_module *m = s != NULL ? spec_module(s, e) : NULL;
    const struct contract *c = s != NULL && s->contract != NULL ? contract_named(s->contract) : NULL;
    struct subject x = {0};
    int code = -1;
    const bool given =
        m != NULL && (!o->one_class || c != NULL ||
                      fail(e, "%s: --data: there is no contract, and `fill` says what is in the buffers", o->what));
    if (given && json_spares(o->judging.json, o->what, e) && json_spares(o->judging.json, s->ptx, e) &&
        sets_check(s, &o->sets, e)) {
        size_t count;
        struct shape_value *values = sets_merge(s, &o->sets, NULL, 0, &count);
        const struct shape shape = {values, count};
        char *options = options_text(o);
        if (c == NULL || make_operands(s, c, &shape, o, &x, e)) {
            judging_threads("explain", &o->judging);
            note_sums("explain", s->path, &x.operands.sums);
            x.id = x.id != NULL ? x.id : must_format("run/%s/s%" PRIu64, s->kernel, o->seed);
            x.again = must_format("%s explain %s%s", command_again(root), s->path, options);
            x.trial = (struct trial){.id = x.id,
                                     .spec = s,
                                     .module = m,
                                     .runner = &runner_machine,
                                     .contract = c,
                                     .operands = c != NULL ? &x.operands : NULL,
                                     .shape = &shape,
                                     .seed = o->seed,
                                     .threads = o->judging.threads,
                                     .options = o->judging.launch};
            code = explain(o, &x);
        }
        free(options);
        free(values);
    }
    operands_free(&x.operands);
    free(x.id);
    free(x.again);
    ptx_free(m);
    spec_free(s);
    return code;
}

/* ---- the command ---- */

static bool is_there(const char *path) {
    struct stat s;
    return stat(path, &s) == 0;
}

static bool is_launch_file(const char *text) {
    const size_t n = strlen(text);
    return n > 5 && strcmp(text + n - 5, ".yaml") == 0;
}

static int explain_any(struct options *o) {
    const bool launch = is_launch_file(o->what);
    struct error e;
    if (launch && o->plant != NULL) {
        return usage_error("explain", "--plant goes with a case");
    }
    if (!launch && (o->sets.count > 0 || o->one_class || o->seeded)) {
        return usage_error("explain", "--set, --data and --seed go with a launch file: a case's id says what it is");
    }
    char *root = project_root(&e);
    int code = EXIT_INPUT;
    if (root != NULL && load_measured_tables(root, &e)) {
        code = (launch ? explain_launch : explain_case)(o, root, &e);
        if (code == -1 || code == EXIT_NOTHING_RAN) {
            flush_output();
            if (code == EXIT_NOTHING_RAN && !launch && is_there(o->what)) {
                code = usage_error("explain", "%s: no case, and no launch file, whose name ends in .yaml", o->what);
            } else if (code == -1 || !launch) {
                code = usage_error("explain", "%s", e.text) == EXIT_INPUT && code == EXIT_NOTHING_RAN ? EXIT_NOTHING_RAN
                                                                                                      : EXIT_INPUT;
            }
        }
    } else {
        usage_error("explain", "%s", e.text);
    }
    free(root);
    return code;
}

static int take_own(int c, struct options *o) {
    enum { SET = 256, DATA, SEED, PLANT };
    int64_t seed;
    switch (c) {
    case SET:
        return sets_option("explain", &o->sets, optarg);
    case DATA:
        o->one_class = data_class_made(optarg, &o->class);
        return o->one_class ? -1 : usage_error("explain", "--data %s: want exact, coded, adv or rand", optarg);
    case SEED:
        if (yaml_parse_integer(optarg, &seed) != NULL || seed < 0) {
            return usage_error("explain", "--seed %s: want an integer in 0 .. 9223372036854775807", optarg);
        }
        o->seed = (uint64_t)seed;
        o->seeded = true;
        return -1;
    default:
        o->plant = optarg;
        return -1;
    }
}

int explain_main(int argc, char **argv) {
    static const struct option longs[] = {{"set", required_argument, NULL, 256},
                                          {"data", required_argument, NULL, 257},
                                          {"seed", required_argument, NULL, 258},
                                          {"plant", required_argument, NULL, 259},
                                          {"arch", required_argument, NULL, JUDGING_ARCH},
                                          {"json", required_argument, NULL, JUDGING_JSON},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {.seed = 1, .class = DATA_CODED, .judging = {.threads = omp_get_max_threads()}};
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        code = c >= 256 && c < 260 ? take_own(c, &o) : judging_option("explain", usage, argc, argv, c, &o.judging);
    }
    code = code >= 0 ? code : judging_check("explain", &o.judging);
    if (code < 0 && (optind + 1 != argc || argv[optind][0] == 0)) {
        code = usage_error("explain", "want one case or launch file (see warpproof explain --help)");
    }
    if (code < 0) {
        o.what = argv[optind];
        code = explain_any(&o);
    }
    sets_free(&o.sets);
    return code;
}
