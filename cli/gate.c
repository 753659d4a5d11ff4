/* warpproof gate: the cases of fixtures/cases, run, judged, reported. */
#include "../gpu/canary.h"
#include "../gpu/case.h"
#include "../oracles/trial.h"
#include "../ref/checked.h"
#include "../reports/audit.h"
#include "../reports/terminal.h"
#include "command.h"
#include "judging.h"
#include "plant.h"
#include "selecting.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: warpproof gate [PATTERN]... [--all] [--cases FOLDER] [--plant NAME] [--canary] [--runner NAME]\n"
    "                      [--device N|all] [--json FILE] [--stats] [-j N]\n"
    "\n"
    "Runs the cases of fixtures/cases (or those of them that a PATTERN selects) and judges every output bit and every\n"
    "memory access. A pattern is a case's id, a glob (* ? [, where * crosses '/'), or a part of an id.\n"
    "\n"
    "  --all              those of fixtures/cases/all as well: the whole edge lattice of every kernel\n"
    "  --cases FOLDER     the cases of another folder in place of fixtures/cases\n"
    "  --plant NAME       run the kernel with the planted fault NAME instead (warpproof list plants); a run in which "
    "no\n"
    "                     case is red by the oracle that must name the fault is an error: the plant proves nothing\n"
    "  --canary           the builds with guard words after each plane of shared memory, for kernels that have "
    "planes:\n"
    "                     guards must be left alone, and outputs must be those of the plain builds, which run as well\n"
    "  --runner NAME      what runs the launches: machine (default), or device, a GPU here\n" DEVICES_USAGE
    "  --json FILE        write JSON lines, whole or not at all; a FILE that is there is replaced, unless it is\n"
    "                     read-only; standard output is /dev/stdout, not -\n" JUDGING_LAUNCH_USAGE
    "  --stats            print instruction counts and rates\n"
    "  -j, --threads N    CPU threads (default: all)\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 all passed, 1 a kernel is wrong (with --plant: and the fault was named), 2 input or usage error, or a\n"
    "plant that was not named, 3 nothing ran\n";

struct options {
    struct judging judging;
    const char *plant;
    const char *cases; /* folder, NULL: the project's */
    bool all;          /* the lattice as well */
    bool canary;
    const char *const *patterns;
    size_t pattern_count;
};

/* What one gate run holds; all of it is freed by gate_free. */
struct gate {
    char *root, *folder, *models;
    struct plant plant;
    struct case_list list;
    struct ptx_module **modules; /* (kernel_count), NULL for a kernel that no chosen case runs */
    struct ptx_module **plain; /* (kernel_count) with --canary, where `modules` are the canary builds; else all NULL */
    bool *chosen;              /* (count) */
    struct outcome *outcomes;  /* (outcome_count) */
    size_t outcome_count;
};

static void gate_free(struct gate *g) {
    for (size_t i = 0; i < g->outcome_count; ++i) {
        outcome_free(&g->outcomes[i]);
    }
    for (size_t i = 0; g->modules != NULL && i < g->list.kernel_count; ++i) {
        ptx_free(g->modules[i]);
        ptx_free(g->plain[i]);
    }
    free(g->outcomes);
    free(g->modules);
    free(g->plain);
    free(g->chosen);
    case_list_free(&g->list);
    plant_free(&g->plant);
    free(g->root);
    free(g->folder);
    free(g->models);
}

static size_t kernel_index(const struct gate *g, const struct spec *s) {
    size_t i = 0;
    while (g->list.kernels[i] != s) {
        ++i;
    }
    return i;
}

/* fixtures/ptx/canary/NAME.ptx for fixtures/ptx/NAME.ptx, and so for plants; the caller frees it. */
static char *canary_path(const struct gate *g, const char *ptx) {
    const char *name = strrchr(ptx, '/');
    return must_format("%s/fixtures/ptx/canary/%s%s", g->root, g->plant.ptx != NULL ? "plants/" : "",
                       name != NULL ? name + 1 : ptx);
}

/* Loads the PTX of every kernel that a chosen case runs. */
static bool load_modules(struct gate *g, bool canary, struct error *e) {
    g->modules = must_calloc(g->list.kernel_count + 1, sizeof *g->modules);
    g->plain = must_calloc(g->list.kernel_count + 1, sizeof *g->plain);
    for (size_t i = 0; i < g->list.count; ++i) {
        const size_t k = kernel_index(g, g->list.cases[i].spec);
        if (g->chosen[i] && g->modules[k] == NULL) {
            const char *ptx = g->plant.ptx != NULL ? g->plant.ptx : g->list.kernels[k]->ptx;
            char *path = canary ? canary_path(g, ptx) : must_strdup(ptx);
            g->modules[k] = ptx_load(path, e);
            free(path);
            if (g->modules[k] == NULL || (canary && (g->plain[k] = ptx_load(ptx, e)) == NULL)) {
                return false;
            }
        }
    }
    return true;
}

/* A kernel that ci/ptx makes a canary build of. */
static bool has_canary(const struct spec *s) {
    return s->source != NULL && canary_has_planes(s);
}

/* The cases that patterns and plant select. missed: the first pattern that selects none, or NULL. Fails, with the exit
 * code in *code, when there is nothing to run, or when cases that were asked for are those of a model that cannot be
 * read. */
static bool something_to_run(const struct gate *g, const struct options *o, const char *missed, int *code,
                             struct error *e) {
    size_t left = 0;
    for (size_t i = 0; i < g->list.count; ++i) {
        left += g->chosen[i];
    }
    bool unreadable = false;
    for (size_t i = 0; i < g->list.model_count; ++i) {
        unreadable |= g->list.models[i]->why != NULL;
    }
    const bool all = o->pattern_count == 0;
    if (missed == NULL && left > 0 && !(all && unreadable)) {
        return true;
    }
    *code = EXIT_NOTHING_RAN;
    if ((all || missed != NULL) && note_models("gate", &g->list, all)) {
        *code = EXIT_INPUT;
    }
    if (missed != NULL) {
        return fail_missed(e, &g->list, missed, !o->all);
    }
    if (*code == EXIT_INPUT) {
        return fail(e, "a model cannot be read; a PATTERN selects cases that do not need it");
    }
    if (o->canary) {
        return fail(e, "no kernel of the selected cases has a canary build: none has planes of shared memory");
    }
    return fail(e, "no case of kernel '%s' is selected", g->plant.kernel != NULL ? g->plant.kernel : "any");
}

static bool load_plant(const char *root, const struct options *o, struct plant *p, struct error *e) {
    const char *name = o->plant;
    if (!plant_load(root, name, p, e)) {
        return false;
    }
    if (p->group != PLANT_KERNEL) {
        return fail(e, "plant %s is a small kernel of its own, and no case's: warpproof plants %s", name, name);
    }
    if (o->canary && !p->has_canary) {
        return fail(e, "plant %s has no canary build: its file has no `canary`", name);
    }
    if (o->canary) {
        free(p->oracle);
        p->oracle = must_strdup("canary");
        p->verdict = p->canary;
    }
    return true;
}

/* Reads everything and chooses the cases. *code is set when the run ends here. */
static bool prepare(struct gate *g, const struct options *o, int *code, struct error *e) {
    g->root = project_root(e);
    if (g->root == NULL) {
        return false;
    }
    g->folder = o->cases != NULL ? must_strdup(o->cases) : must_format("%s/fixtures/cases", g->root);
    g->models = must_format("%s/build/models", g->root);
    if (!load_measured_tables(g->root, e) || (o->plant != NULL && !load_plant(g->root, o, &g->plant, e)) ||
        !case_list_load(g->folder, g->root, g->models, o->all, &g->list, e)) {
        return false;
    }
    const char *missed = NULL;
    g->chosen = must_calloc(g->list.count + 1, sizeof *g->chosen);
    case_select(&g->list, o->patterns, o->pattern_count, g->chosen, &missed);
    for (size_t i = 0; i < g->list.count; ++i) {
        const struct spec *s = g->list.cases[i].spec;
        g->chosen[i] &=
            (g->plant.kernel == NULL || strcmp(s->kernel, g->plant.kernel) == 0) && (!o->canary || has_canary(s));
    }
    return something_to_run(g, o, missed, code, e) && load_modules(g, o->canary, e);
}

/* turn: whose it is on several GPUs. */
static void run_case(const struct gate *g, const struct options *o, const struct test_case *c, size_t turn, int threads,
                     struct outcome *out) {
    struct shape_value values[3];
    const struct shape shape = case_shape(c, values);
    struct operands operands;
    struct error e;
    const struct trial t = {
        .id = c->id,
        .spec = c->spec,
        .module = g->modules[kernel_index(g, c->spec)],
        .plain = g->plain[kernel_index(g, c->spec)],
        .runner = o->judging.runner != NULL ? o->judging.runner : &runner_machine,
        .contract = c->contract,
        .operands = &operands,
        .shape = &shape,
        .threads = threads,
        .options = judging_launch(&o->judging, turn),
        .schedules = o->judging.schedules,
    };
    if (case_operands(c, &operands, &e)) {
        note_sums("gate", c->id, &operands.sums);
        trial_run(&t, out);
        operands_free(&operands);
    } else {
        trial_refuse(&t, &e, out);
    }
    judging_note_gpu(&o->judging, &t.options, out);
    char *again = judging_again(&o->judging, out);
    out->rerun =
        must_format("%s gate%s%s%s%s%s%s%s %s", command_again(g->root), again, o->canary ? " --canary" : "",
                    o->all ? " --all" : "", o->cases != NULL ? " --cases " : "", o->cases != NULL ? o->cases : "",
                    o->plant != NULL ? " --plant " : "", o->plant != NULL ? o->plant : "", c->id);
    free(again);
}

/* Several GPUs take turns shape by shape: what the data classes of one shape say together must not depend on who ran
 * which. turns[i]: of the i-th case that is run. */
static size_t *take_turns(const struct gate *g, const size_t *order, size_t n) {
    size_t *turns = must_calloc(n + 1, sizeof *turns);
    for (size_t i = 1; i < n; ++i) {
        const struct test_case *a = &g->list.cases[order[i - 1]], *b = &g->list.cases[order[i]];
        const bool same = a->spec == b->spec && a->nt == b->nt && a->od == b->od && a->depth == b->depth &&
                          a->tensor == b->tensor && a->files == b->files;
        turns[i] = turns[i - 1] + !same;
    }
    return turns;
}

/* Cases in parallel; a single one gets all threads for its blocks. Results stand in the order of the cases. */
static void run_cases(struct gate *g, const struct options *o) {
    size_t *order = must_calloc(g->list.count + 1, sizeof *order), n = 0, done = 0;
    for (size_t i = 0; i < g->list.count; ++i) {
        if (g->chosen[i]) {
            order[n++] = i;
        }
    }
    g->outcomes = must_calloc(n + g->list.model_count, sizeof *g->outcomes);
    g->outcome_count = n;
    size_t *turns = take_turns(g, order, n);
    const int outer = (size_t)o->judging.threads < n ? o->judging.threads : (int)n, inner = o->judging.threads / outer;
    const bool progress = isatty(STDERR_FILENO);
#pragma omp parallel for schedule(dynamic, 1) num_threads(outer)
    for (size_t i = 0; i < n; ++i) {
        run_case(g, o, &g->list.cases[order[i]], turns[i], inner, &g->outcomes[i]);
        if (progress) {
#pragma omp critical(progress)
            fprintf(stderr, "\r\033[K[%zu/%zu] %.90s", ++done, n, g->list.cases[order[i]].id);
        }
    }
    if (progress) {
        fprintf(stderr, "\r\033[K");
    }
    free(turns);
    free(order);
}

/* A model that is absent is a skip with its reason, never a silent pass. */
static void add_skips(struct gate *g) {
    for (size_t i = 0; i < g->list.model_count; ++i) {
        if (g->list.models[i]->file == NULL) {
            g->outcomes[g->outcome_count++] =
                (struct outcome){.id = must_format("real/%s", g->list.models[i]->name),
                                 .about = must_strdup(""),
                                 .skipped = true,
                                 .why = must_strdup("the model is not in build/models: `make models` brings it")};
        }
    }
}

/* Says whether the planted fault was named by the oracle that must name it, and returns it. */
static bool report_plant(const struct gate *g) {
    size_t named = 0, red = 0;
    for (size_t i = 0; i < g->outcome_count; ++i) {
        const struct findings *f = &g->outcomes[i].findings;
        bool here = false;
        for (size_t k = 0; k < f->count; ++k) {
            here |= f->items[k].verdict == g->plant.verdict && strcmp(f->items[k].oracle, g->plant.oracle) == 0;
        }
        named += here;
        red += f->count > 0;
    }
    printf("\nplant %s: %s\n  %zu of %zu cases red; %s by oracle %s (%s) in %zu\n", g->plant.name, g->plant.about, red,
           g->outcome_count, named > 0 ? "named" : "NOT NAMED", g->plant.oracle, verdict_name(g->plant.verdict), named);
    return named > 0;
}

/* A PASS holds up to what the kernel's program leaves open: one line a kernel, whose outcomes stand together. */
static void audit_notes(const struct gate *g) {
    for (size_t i = 0; i < g->outcome_count; ++i) {
        const bool first = i == 0 || strcmp(g->outcomes[i - 1].about, g->outcomes[i].about) != 0;
        char *open = first ? audit_summary(g->outcomes[i].audit) : NULL;
        if (open != NULL) {
            printf("audit   %s leaves bits open: %s\n", g->outcomes[i].about, open);
            free(open);
        }
    }
}

/* Once: what was watched is the same for all cases. */
static void not_judged_note(const struct gate *g) {
    for (size_t i = 0; i < g->outcome_count; ++i) {
        char *left = outcome_verdict(&g->outcomes[i]) == VERDICT_PASS ? outcome_not_judged(&g->outcomes[i]) : NULL;
        if (left != NULL) {
            printf("note    %s\n", left);
            free(left);
            return;
        }
    }
}

enum { PRINTING_SHOWN = 4 };

/* What the kernels of right cases print, of the first few that do; wrong ones have it in their message. */
static void print_notes(const struct gate *g) {
    size_t shown = 0;
    for (size_t i = 0; i < g->outcome_count && shown < PRINTING_SHOWN; ++i) {
        if (g->outcomes[i].print_count > 0 && outcome_verdict(&g->outcomes[i]) == VERDICT_PASS) {
            printf("PASS %s\n", g->outcomes[i].id);
            terminal_prints(stdout, &g->outcomes[i]);
            ++shown;
        }
    }
}

static int gate(struct options *o) {
    struct gate g = {0};
    struct error e;
    int code = EXIT_INPUT;
    const double start = omp_get_wtime();
    bool good = prepare(&g, o, &code, &e);
    if (good) {
        judging_threads("gate", &o->judging);
        run_cases(&g, o);
        if (o->pattern_count == 0) {
            add_skips(&g);
        }
        const struct totals t = totals_of(g.outcomes, g.outcome_count, omp_get_wtime() - start, &o->judging);
        terminal_table(stdout, g.outcomes, g.outcome_count);
        audit_notes(&g);
        not_judged_note(&g);
        print_notes(&g);
        if (t.failed > 0) {
            printf("\n");
        }
        terminal_failures(stdout, g.outcomes, g.outcome_count, 4, 8);
        const bool named = g.plant.name == NULL || report_plant(&g);
        if (o->judging.stats) {
            printf("\n");
            terminal_stats(stdout, &t);
        }
        good = o->judging.json == NULL || json_write(o->judging.json, g.outcomes, g.outcome_count, &t, &e);
        if (good && !named) {
            good = fail(&e, "plant %s: no case is red by oracle %s (%s), so the plant proves nothing", g.plant.name,
                        g.plant.oracle, verdict_name(g.plant.verdict));
        }
        code = good ? exit_code_of(g.outcomes, g.outcome_count) : EXIT_INPUT;
        printf("\n");
        terminal_last_line(stdout, &t);
    }
    if (!good) {
        flush_output();
        usage_error("gate", "%s", e.text);
    }
    gate_free(&g);
    return code;
}

int gate_main(int argc, char **argv) {
    enum { PLANT = 256, ALL, CASES, CANARY };
    static const struct option longs[] = {{"plant", required_argument, NULL, PLANT},
                                          {"all", no_argument, NULL, ALL},
                                          {"cases", required_argument, NULL, CASES},
                                          {"canary", no_argument, NULL, CANARY},
                                          JUDGING_LONG_OPTIONS};
    struct options o = {.judging = {.threads = omp_get_max_threads()}};
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        if (c == PLANT) {
            o.plant = optarg;
            continue;
        }
        if (c == CASES) {
            const int bad = take_once("gate", "--cases", &o.cases);
            if (bad >= 0) {
                return bad;
            }
            continue;
        }
        if (c == ALL || c == CANARY) {
            *(c == ALL ? &o.all : &o.canary) = true;
            continue;
        }
        const int code = judging_option("gate", usage, argc, argv, c, &o.judging);
        if (code >= 0) {
            return code;
        }
    }
    o.patterns = (const char *const *)(argv + optind);
    o.pattern_count = (size_t)(argc - optind);
    int code = check_patterns("gate", o.patterns, o.pattern_count);
    code = code >= 0 ? code : judging_check("gate", &o.judging);
    return code >= 0 ? code : gate(&o);
}
