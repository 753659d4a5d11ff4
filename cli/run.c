/* warpproof run LAUNCH.yaml: any PTX with a launch file, ours or foreign. */
#include "../oracles/trial.h"
#include "../ref/checked.h"
#include "../reports/terminal.h"
#include "command.h"
#include "judging.h"
#include <errno.h>
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof run LAUNCH.yaml [--set NAME=VALUE]... [--data CLASS] [--seed N] [--runner machine]\n"
    "                                 [--json FILE] [--stats] [-j N]\n"
    "\n"
    "Runs the kernel of a launch file on the PTX machine and judges what it did. A kernel with a contract is run on\n"
    "made operands, class by class, or on those of the files that the launch file names; one without is judged on\n"
    "everything but parity, unless `expect` gives the bytes.\n"
    "\n"
    "  --set NAME=VALUE   a value for the launch file's expressions (nt, od, id, n ...); may be repeated\n"
    "  --data CLASS       only this data class: exact, coded, adv or rand (kernels with a contract)\n"
    "  --seed N           seed of made operands and of `fill: random` (default 1)\n"
    "  --runner NAME      what runs the launch (default machine, the only one so far)\n"
    "  --json FILE        write JSON lines, whole or not at all; a FILE that is there is replaced, unless it is\n"
    "                     read-only; standard output is /dev/stdout, not -\n" JUDGING_LAUNCH_USAGE
    "  --stats            print instruction counts and rates\n"
    "  -j, --threads N    CPU threads (default: all)\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 all passed, 1 the kernel is wrong, 2 input or usage error, 3 nothing ran\n";

enum { SETS_MAX = 64 };

struct options {
    struct shape_value sets[SETS_MAX]; /* names owned */
    size_t set_count;
    bool one_class;
    enum data_class class;
    uint64_t seed;
    struct judging judging;
};

/* NAME=VALUE: a name as expressions spell it, and a strict integer. */
static bool parse_set(const char *text, struct options *o) {
    const char *equals = strchr(text, '=');
    const size_t n = equals != NULL ? (size_t)(equals - text) : 0;
    int64_t value;
    if (n == 0 || n > 64 || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") != n ||
        (text[0] >= '0' && text[0] <= '9') || yaml_parse_integer(equals + 1, &value) != NULL ||
        o->set_count == SETS_MAX) {
        return false;
    }
    for (size_t i = 0; i < o->set_count; ++i) {
        if (strlen(o->sets[i].name) == n && strncmp(o->sets[i].name, text, n) == 0) {
            return false;
        }
    }
    o->sets[o->set_count++] = (struct shape_value){must_format("%.*s", (int)n, text), value};
    return true;
}

/* The launch file's own `shape:` values, overridden by --set. Names are the spec's and the options'. */
static struct shape_value *merge(const struct spec *s, const struct options *o, size_t *count) {
    struct shape_value *v = must_calloc(s->default_count + o->set_count + 1, sizeof *v);
    *count = 0;
    for (size_t i = 0; i < o->set_count; ++i) {
        v[(*count)++] = o->sets[i];
    }
    for (size_t i = 0; i < s->default_count; ++i) {
        bool overridden = false;
        for (size_t k = 0; k < o->set_count; ++k) {
            overridden |= strcmp(o->sets[k].name, s->defaults[i].name) == 0;
        }
        if (!overridden) {
            v[(*count)++] = s->defaults[i];
        }
    }
    return v;
}

static bool value_of(const struct shape *shape, const char *name, const char *path, size_t *value, struct error *e) {
    for (size_t i = 0; i < shape->count; ++i) {
        if (strcmp(shape->values[i].name, name) == 0) {
            if (shape->values[i].value < 1 || shape->values[i].value > INT32_MAX) {
                return fail(e, "%s = %" PRId64 ": must be in 1 .. %d", name, shape->values[i].value, INT32_MAX);
            }
            *value = (size_t)shape->values[i].value;
            return true;
        }
    }
    return fail(e, "%s: needs a value for %s (--set %s=N)", path, name, name);
}

/* "--set n=1 --seed 3", for the command that runs it again. */
static char *rerun_options(const struct options *o) {
    char *text = must_strdup("");
    for (size_t i = 0; i < o->set_count; ++i) {
        char *more = must_format("%s --set %s=%" PRId64, text, o->sets[i].name, o->sets[i].value);
        free(text);
        text = more;
    }
    if (o->seed != 1) {
        char *more = must_format("%s --seed %" PRIu64, text, o->seed);
        free(text);
        text = more;
    }
    return text;
}

/* Runs every class asked for; again: how the command is called. *count outcomes, owned by the caller. */
static bool run_classes(const struct spec *s, const struct ptx_module *m, const struct shape *shape,
                        const struct options *o, const char *again, struct outcome *outcomes, size_t *count,
                        struct error *e) {
    const struct contract *c = s->contract != NULL ? contract_named(s->contract) : NULL;
    char *options = rerun_options(o);
    struct trial t = {.spec = s,
                      .module = m,
                      .runner = o->judging.runner != NULL ? o->judging.runner : &runner_machine,
                      .shape = shape,
                      .seed = o->seed,
                      .threads = o->judging.threads,
                      .options = o->judging.launch};
    bool good = true;
    *count = 0;
    if (c == NULL) {
        char *id = must_format("run/%s/s%" PRIu64, s->kernel, o->seed);
        t.id = id;
        trial_run(&t, &outcomes[*count]);
        outcomes[(*count)++].rerun = must_format("%s run %s%s", again, s->path, options);
        free(id);
    }
    for (int k = 0; c != NULL && good && k < (s->operands_in_files ? 1 : DATA_REAL); ++k) {
        if (o->one_class && k != (int)o->class) {
            continue;
        }
        struct operands_request r = {.contract = c, .data = (enum data_class)k};
        spec_operands(s, &r);
        good = value_of(shape, "nt", s->path, &r.nt, e) && value_of(shape, "id", s->path, &r.id, e) &&
               (c->weight == NULL || value_of(shape, "od", s->path, &r.od, e));
        if (!good) {
            break;
        }
        char *rows = c->weight != NULL ? must_format(".od%zu", r.od) : must_strdup("");
        char *id = must_format("%s/%s/%s/nt%zu%s.id%zu/%s/s%" PRIu64, c->weight != NULL ? c->weight : c->activation,
                               c->weight != NULL ? c->activation : c->result, s->kernel, r.nt, rows, r.id,
                               data_class_names[r.data], o->seed);
        r.key = random_key(id);
        struct operands operands;
        t.id = id;
        t.contract = c;
        t.operands = &operands;
        struct error refusal;
        if (operands_make(&r, &operands, &refusal)) {
            note_sums("run", s->path, &operands.sums);
            trial_run(&t, &outcomes[*count]);
            operands_free(&operands);
        } else {
            trial_refuse(&t, &refusal, &outcomes[*count]);
        }
        char *class = s->operands_in_files ? must_strdup("") : must_format(" --data %s", data_class_names[k]);
        outcomes[(*count)++].rerun = must_format("%s run %s%s%s", again, s->path, class, options);
        free(class);
        free(rows);
        free(id);
    }
    free(options);
    return good;
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
    s = !found || load_measured_tables(root, &e) ? spec_load(path, root, &e) : NULL;
    m = s != NULL ? ptx_load(s->ptx, &e) : NULL;
    bool good = m != NULL;
    if (!good && s != NULL && s->source != NULL && !found) {
        const struct error why = e;
        fail(&e, "%.1000s\n%.1000s", why.text, no_root.text);
    }
    if (good) {
        values = merge(s, o, &value_count);
        for (size_t i = 0; good && i < o->set_count; ++i) {
            const bool operand =
                s->contract != NULL && (strcmp(o->sets[i].name, "nt") == 0 || strcmp(o->sets[i].name, "od") == 0 ||
                                        strcmp(o->sets[i].name, "id") == 0);
            if (!spec_uses(s, o->sets[i].name) && !operand) {
                good = fail(&e, "%s: --set %s: no expression of the launch file uses that name", path, o->sets[i].name);
            }
        }
        if (good && o->one_class && s->operands_in_files) {
            good = fail(&e, "%s: --data: the operands are in files", path);
        }
        const struct shape shape = {values, value_count};
        if (good) {
            judging_threads("run", &o->judging);
            good = run_classes(s, m, &shape, o, again, outcomes, &count, &e);
        }
    }
    if (good) {
        struct totals t = totals_of(outcomes, count, omp_get_wtime() - start, o->judging.threads);
        terminal_failures(stdout, outcomes, count, DATA_CLASSES, 0);
        for (size_t i = 0; i < count; ++i) {
            if (outcome_verdict(&outcomes[i]) == VERDICT_PASS) {
                printf("PASS %s%s\n", outcomes[i].id,
                       outcomes[i].parity_judged ? "" : "   (parity not judged: no contract and no `expect`)");
                terminal_notes(stdout, &outcomes[i]);
            }
        }
        if (o->judging.stats) {
            terminal_stats(stdout, &t);
        }
        good = o->judging.json == NULL || json_write(o->judging.json, outcomes, count, &t, &e);
        terminal_last_line(stdout, &t);
        code = good ? exit_code_of(outcomes, count) : EXIT_INPUT;
    }
    if (!good) {
        flush_output();
        usage_error("run", "%s", e.text);
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

/* --data: one class instead of all generated ones. */
static bool parse_class(const char *text, struct options *o) {
    for (int k = 0; k < DATA_REAL; ++k) {
        if (strcmp(text, data_class_names[k]) == 0) {
            o->one_class = true;
            o->class = (enum data_class)k;
            return true;
        }
    }
    return false;
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
            code =
                parse_set(optarg, &o) ? -1 : usage_error("run", "--set %s: want NAME=INTEGER, each name once", optarg);
        } else if (c == DATA) {
            code =
                parse_class(optarg, &o) ? -1 : usage_error("run", "--data %s: want exact, coded, adv or rand", optarg);
        } else if (c == SEED) {
            if (yaml_parse_integer(optarg, &seed) != NULL || seed < 0) {
                code = usage_error("run", "--seed %s: want an integer of at least 0", optarg);
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
    for (size_t i = 0; i < o.set_count; ++i) {
        free((char *)o.sets[i].name);
    }
    return code;
}
