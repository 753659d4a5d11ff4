/* warpproof run LAUNCH.yaml: any PTX with a launch file, ours or foreign. */
#include "../oracles/trial.h"
#include "../ref/checked.h"
#include "../reports/audit.h"
#include "../reports/terminal.h"
#include "command.h"
#include "outputs.h"
#include "sets.h"
#include <errno.h>
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
    "usage: warpproof run LAUNCH.yaml [--set NAME=VALUE]... [--data CLASS] [--seed N] [--runner NAME]\n"
    "                                 [--device N|all] [--json FILE] [--junit FILE] [--html FILE]\n"
    "                                 [--stats] [-j N]\n"
    "\n"
    "Runs the kernel of a launch file on the PTX machine and judges what it did. A kernel with a contract is run on\n"
    "made operands, class by class, or on those of the files that the launch file names; one without is judged on\n"
    "everything but parity, unless `expect` gives the bytes.\n"
    "\n"
    "  --set NAME=VALUE   a value for the launch file's expressions (nt, od, id, n ...); may be repeated\n"
    "  --data CLASS       only this data class: exact, coded, adv or rand (kernels with a contract)\n"
    "  --seed N           seed of made operands and of `fill: random` (default 1)\n"
    "  --runner NAME      what runs the launch: machine (default), or device, a GPU here\n" DEVICES_USAGE
        JUDGING_REPORT_USAGE JUDGING_LAUNCH_USAGE "  --stats            print instruction counts and rates\n"
    "  -j, --threads N    CPU threads (default: all)\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 all passed, 1 the kernel is wrong, 2 input or usage error, 3 nothing ran\n";

struct options {
    struct sets sets;
    bool one_class;
    enum data_class class;
    uint64_t seed;
    struct judging judging;
};

/* The launch file's name without folder and ending; the caller frees it. */
static char *stem_of(const char *path) {
    const char *name = strrchr(path, '/'), *end;
    name = name != NULL ? name + 1 : path;
    end = strrchr(name, '.');
    const bool known = end != NULL && end > name && (strcmp(end, ".yaml") == 0 || strcmp(end, ".yml") == 0);
    return must_format("%.*s", known ? (int)(end - name) : (int)strlen(name), name);
}

/* Launch files and values of one kernel are cases of their own: "FILE NAME=VALUE ...", FILE where it is not the
 * kernel's name; NULL: neither. The caller frees it. */
static char *variant_of(const char *stem, const char *kernel, const struct sets *sets) {
    char *text = must_strdup(strcmp(stem, kernel) != 0 ? stem : "");
    for (size_t i = 0; i < sets->count; ++i) {
        char *more =
            must_format("%s%s%s=%" PRId64, text, text[0] != 0 ? " " : "", sets->values[i].name, sets->values[i].value);
        free(text);
        text = more;
    }
    if (text[0] == 0) {
        free(text);
        return NULL;
    }
    return text;
}

struct again { /* a red outcome once more, for the page */
    const struct spec *spec;
    const struct ptx_module *module;
    const struct shape *shape;
    const struct options *options;
    const struct outcome *outcomes;
};

static void explain_run(void *context, size_t number, struct case_detail *d) {
    const struct again *a = context;
    const struct options *o = a->options;
    const struct contract *c = a->spec->contract != NULL ? contract_named(a->spec->contract) : NULL;
    struct operands_request r = {.contract = c, .data = o->one_class ? o->class : (enum data_class)number};
    struct operands operands = {0};
    struct error e;
    if (c != NULL && (!sets_operands(a->spec, a->shape, &r, &e))) {
        d->why = must_strdup(e.text);
        return;
    }
    char *id = c != NULL ? sets_id(a->spec, &r, o->seed) : must_strdup(""); /* it seeds the data */
    const struct trial t = {.id = id,
                            .spec = a->spec,
                            .module = a->module,
                            .runner = &runner_machine,
                            .contract = c,
                            .operands = c != NULL ? &operands : NULL,
                            .shape = a->shape,
                            .seed = o->seed,
                            .threads = o->judging.threads,
                            .options = o->judging.launch};
    if (c == NULL || operands_make(&r, &operands, &e)) {
        case_detail_make(&t, &a->outcomes[number], true, d);
    } else {
        d->why = must_strdup(e.text);
    }
    operands_free(&operands);
    free(id);
}

/* Runs every class asked for; again: how the command is called. *count outcomes, owned by the caller. */
static bool run_classes(const struct spec *s, const struct ptx_module *m, const struct shape *shape,
                        const struct options *o, const char *again, struct outcome *outcomes, size_t *count,
                        struct error *e) {
    const struct contract *c = s->contract != NULL ? contract_named(s->contract) : NULL;
    char *options = sets_text(&o->sets, o->seed != 1 ? &o->seed : NULL); /* for the command that runs it again */
    struct trial t = {.spec = s,
                      .module = m,
                      .runner = o->judging.runner != NULL ? o->judging.runner : &runner_machine,
                      .shape = shape,
                      .seed = o->seed,
                      .threads = o->judging.threads,
                      .options = judging_launch(&o->judging, 0),
                      .schedules = o->judging.schedules};
    bool good = true;
    char *path = shell_word(s->path);
    *count = 0;
    if (c == NULL) {
        char *id = must_format("run/%s/s%" PRIu64, s->kernel, o->seed);
        t.id = id;
        trial_run(&t, &outcomes[*count]);
        judging_note_gpu(&o->judging, &t.options, &outcomes[*count]);
        char *how = judging_again(&o->judging, &outcomes[*count]);
        outcomes[(*count)++].rerun = must_format("%s run %s%s%s", again, path, how, options);
        free(how);
        free(id);
    }
    for (int k = 0; c != NULL && good && k < (s->operands_in_files ? 1 : DATA_REAL); ++k) {
        if (o->one_class && k != (int)o->class) {
            continue;
        }
        struct operands_request r = {.contract = c, .data = (enum data_class)k};
        good = sets_operands(s, shape, &r, e);
        if (!good) {
            break;
        }
        char *id = sets_id(s, &r, o->seed);
        struct operands operands;
        t.id = id;
        t.contract = c;
        t.operands = &operands;
        t.options = judging_launch(&o->judging, *count);
        struct error refusal;
        if (operands_make(&r, &operands, &refusal)) {
            note_sums("run", s->path, &operands.sums);
            trial_run(&t, &outcomes[*count]);
            operands_free(&operands);
        } else {
            trial_refuse(&t, &refusal, &outcomes[*count]);
        }
        char *class = s->operands_in_files ? must_strdup("") : must_format(" --data %s", data_class_names[k]);
        judging_note_gpu(&o->judging, &t.options, &outcomes[*count]);
        char *how = judging_again(&o->judging, &outcomes[*count]);
        outcomes[(*count)++].rerun = must_format("%s run %s%s%s%s", again, path, class, how, options);
        free(how);
        free(class);
        free(id);
    }
    free(options);
    free(path);
    return good;
}

/* Whether a report may go there while nobody knows which files the launch file names: nothing is lost. */
static bool takes_report(const char *file) {
    struct stat there;
    FILE *f = stat(file, &there) == 0 && S_ISREG(there.st_mode) && there.st_size > 0 ? fopen(file, "r") : NULL;
    const bool other = f != NULL && fgetc(f) != '<';
    if (f != NULL) {
        fclose(f);
    }
    return !other;
}

/* Reports of a run that could not begin: one case, INPUT, in place of those of an earlier run. known: the launch file
 * was read, and is no excuse for losing a file of its own. */
static void report_input(const char *path, bool known, const struct options *o, const char *again,
                         const struct error *why) {
    struct judging j = o->judging;
    j.json = NULL;
    j.junit = j.junit != NULL && (known || takes_report(j.junit)) ? j.junit : NULL;
    j.html = j.html != NULL && (known || takes_report(j.html)) ? j.html : NULL;
    char *stem = stem_of(path), *id = must_format("run/%s", stem), *sets = sets_text(&o->sets, NULL);
    char *word = shell_word(path);
    const struct spec nameless = {.kernel = stem};
    const struct trial t = {.id = id, .spec = &nameless, .runner = &runner_machine};
    const struct page_extras page = {.has_recorded = false};
    struct outcome outcome;
    struct error e;
    trial_refuse(&t, why, &outcome);
    outcome.variant = variant_of(stem, stem, &o->sets);
    outcome.rerun = must_format("%s run %s%s", again, word, sets);
    const struct totals totals = totals_of(&outcome, 1, 0, &j);
    if (!outputs_write(&j, "run", &outcome, 1, &totals, &page, &e)) {
        usage_error("run", "%s", e.text);
    }
    outcome_free(&outcome);
    free(sets);
    free(word);
    free(stem);
    free(id);
}

static int run(const char *path, struct options *o) {
    struct error e, no_root;
    struct outcome outcomes[DATA_CLASSES] = {{0}};
    size_t count = 0, value_count = 0;
    char *root = project_root(&no_root);
    const bool found = root != NULL;
    const char *again = command_again(root);
    struct spec *s = NULL;
    struct ptx_module *m = NULL;
    struct shape_value *values = NULL;
    int code = EXIT_INPUT;
    if (!found) {
        root = must_strdup("."); /* only a launch file with `source:` needs the project */
    }
    const double start = omp_get_wtime();
    bool spared = judging_spares(&o->judging, path, &e);
    s = spared && (!found || load_measured_tables(root, &e)) ? spec_load(path, root, &e) : NULL;
    spared = spared && (s == NULL || judging_spares_spec(&o->judging, s, &e));
    m = spared && s != NULL ? spec_module(s, &e) : NULL;
    bool good = m != NULL;
    if (spared && m == NULL && s != NULL && s->source != NULL && !found) {
        const struct error why = e;
        fail(&e, "%.1000s\n%.1000s", why.text, no_root.text);
    }
    if (good) {
        values = sets_merge(s, &o->sets, NULL, 0, &value_count);
        good = sets_check(s, &o->sets, &e);
        if (good && o->one_class && s->operands_in_files) {
            good = fail(&e, "%s: --data: the operands are in files", path);
        }
        if (good && o->one_class && s->contract == NULL) {
            good = fail(&e, "%s: --data: there is no contract, and `fill` says what is in the buffers", path);
        }
        const struct shape shape = {values, value_count};
        if (good) {
            judging_threads("run", &o->judging);
            good = run_classes(s, m, &shape, o, again, outcomes, &count, &e);
        }
    }
    const bool begun = good;
    for (size_t i = 0; i < count; ++i) {
        char *stem = stem_of(path);
        outcomes[i].variant = variant_of(stem, s->kernel, &o->sets);
        free(stem);
    }
    if (good) {
        struct totals t = totals_of(outcomes, count, omp_get_wtime() - start, &o->judging);
        terminal_failures(stdout, outcomes, count, DATA_CLASSES, 0);
        for (size_t i = 0; i < count; ++i) {
            if (outcome_verdict(&outcomes[i]) == VERDICT_PASS) {
                char *open = audit_summary(outcomes[i].audit), *left = outcome_not_judged(&outcomes[i]);
                printf("PASS %s%s%s%s%s%s%s%s\n", outcomes[i].id,
                       outcomes[i].parity_judged ? "" : "   (parity not judged: no contract and no `expect`)",
                       left != NULL ? "   (" : "", left != NULL ? left : "", left != NULL ? ")" : "",
                       open != NULL ? "   (the program leaves bits open: " : "", open != NULL ? open : "",
                       open != NULL ? "; warpproof audit)" : "");
                free(open);
                free(left);
                terminal_prints(stdout, &outcomes[i]);
                terminal_notes(stdout, &outcomes[i]);
            }
        }
        if (o->judging.stats) {
            terminal_stats(stdout, &t);
        }
        const struct shape shape = {values, value_count};
        struct again a = {s, m, &shape, o, outcomes};
        struct page_extras page = {.has_recorded = false};
        if (o->judging.html != NULL) {
            outputs_explain(&page, outcomes, count, explain_run, &a);
        }
        good = outputs_write(&o->judging, "run", outcomes, count, &t, &page, &e);
        page_extras_free(&page);
        terminal_last_line(stdout, &t);
        code = good ? exit_code_of(outcomes, count) : EXIT_INPUT;
    }
    if (!good) {
        flush_output();
        usage_error("run", "%s", e.text);
        if (spared && !begun) {
            report_input(path, s != NULL, o, again, &e);
        }
    }
    for (size_t i = 0; i < count; ++i) {
        outcome_free(&outcomes[i]);
    }
    free(values);
    ptx_free(m);
    spec_free(s);
    free(root);
    return code;
}

int run_main(int argc, char **argv) {
    enum { SET = 256, DATA, SEED };
    static const struct option longs[] = {{"set", required_argument, NULL, SET},
                                          {"data", required_argument, NULL, DATA},
                                          {"seed", required_argument, NULL, SEED},
                                          JUDGING_LONG_OPTIONS};
    struct options o = {.seed = 1, .judging = {.threads = omp_get_max_threads()}};
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        int64_t seed;
        if (c == SET) {
            code = sets_option("run", &o.sets, optarg);
        } else if (c == DATA) {
            o.one_class = data_class_made(optarg, &o.class);
            code = o.one_class ? -1 : usage_error("run", "--data %s: want exact, coded, adv or rand", optarg);
        } else if (c == SEED) {
            if (yaml_parse_integer(optarg, &seed) != NULL || seed < 0) {
                code = usage_error("run", "--seed %s: want an integer in 0 .. 9223372036854775807", optarg);
            } else {
                o.seed = (uint64_t)seed;
            }
        } else {
            code = judging_option("run", usage, argc, argv, c, &o.judging);
        }
    }
    if (code < 0) {
        code = judging_check("run", &o.judging);
    }
    if (code < 0) {
        code = optind + 1 == argc ? run(argv[optind], &o)
                                  : usage_error("run", "want one launch file (see warpproof run --help)");
    }
    sets_free(&o.sets);
    return code;
}
