/* warpproof gate: the cases of fixtures/cases, run, judged, reported. */
#include "../gpu/canary.h"
#include "../ref/checked.h"
#include "../reports/audit.h"
#include "../reports/terminal.h"
#include "case_set.h"
#include "command.h"
#include "outputs.h"
#include "plant.h"
#include "selecting.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof gate [PATTERN]... [--all] [--cases FOLDER] [--plant NAME] [--canary] [--runner NAME]\n"
    "                      [--device N|all] [--json FILE] [--junit FILE] [--html FILE] [--stats] [-j N]\n"
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
        JUDGING_REPORT_USAGE JUDGING_LAUNCH_USAGE "  --stats            print instruction counts and rates\n"
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
    const struct options *o;
    char *root;
    struct plant plant;
    struct case_set set;
    struct page_extras page;     /* with --html */
    char (*digests)[DIGEST_HEX]; /* (kernel_count) of their programs, with --html; else NULL */
    struct ptx_module **plain;   /* (kernel_count) with --canary, where the set has the canary builds; else all NULL */
    struct outcome *outcomes;    /* (outcome_count) */
    size_t outcome_count;
};

static void gate_free(struct gate *g) {
    for (size_t i = 0; i < g->outcome_count; ++i) {
        outcome_free(&g->outcomes[i]);
    }
    for (size_t i = 0; g->plain != NULL && i < g->set.list.kernel_count; ++i) {
        ptx_free(g->plain[i]);
    }
    free(g->outcomes);
    page_extras_free(&g->page);
    free(g->digests);
    free(g->plain);
    case_set_free(&g->set);
    plant_free(&g->plant);
    free(g->root);
}

/* What is run in place of the kernel's own PTX: fixtures/ptx/canary/NAME.ptx for fixtures/ptx/NAME.ptx, and so for
 * plants. */
static char *program(const void *context, const struct spec *s) {
    const struct gate *g = context;
    const char *ptx = g->plant.ptx != NULL ? g->plant.ptx : s->ptx;
    const char *name = strrchr(ptx, '/');
    return g->o->canary ? must_format("%s/fixtures/ptx/canary/%s%s", g->root, g->plant.ptx != NULL ? "plants/" : "",
                                      name != NULL ? name + 1 : ptx)
                        : must_strdup(ptx);
}

/* Those that the plant stands in for, and with --canary those that ci/ptx makes a canary build of. */
static bool keeps(const void *context, const struct spec *s) {
    const struct gate *g = context;
    return (g->plant.kernel == NULL || strcmp(s->kernel, g->plant.kernel) == 0) &&
           (!g->o->canary || (s->source != NULL && canary_has_planes(s)));
}

static bool load_plain(struct gate *g, struct error *e) {
    g->plain = must_calloc(g->set.list.kernel_count + 1, sizeof *g->plain);
    for (size_t i = 0; g->o->canary && i < g->set.list.kernel_count; ++i) {
        const char *ptx = g->plant.ptx != NULL ? g->plant.ptx : g->set.list.kernels[i]->ptx;
        if (g->set.modules[i] != NULL && (g->plain[i] = ptx_load(ptx, e)) == NULL) {
            return false;
        }
    }
    return true;
}

static bool load_plant(const char *root, const struct options *o, struct plant *p, struct error *e) {
    const char *name = o->plant;
    if (!plant_load(root, name, p, e)) {
        return false;
    }
    if (p->group != PLANT_KERNEL) {
        return fail(e, "plant %s is %s: warpproof plants %s", name,
                    p->group == PLANT_EDIT ? "one of a kernel's words" : "a small kernel of its own, and no case's",
                    name);
    }
    if (o->canary && !p->has_canary) {
        return fail(e, "plant %s has no canary build: its file has no `canary`", name);
    }
    if (o->canary) {
        plant_as_canary(p);
    }
    return true;
}

/* What GPUs gave, and which programs run today. */
static bool prepare_page(struct gate *g, struct error *e) {
    const size_t kernels = g->set.list.kernel_count;
    g->page.has_recorded = true;
    if (!evidence_all(g->root, &g->page.recorded, e) || !case_set_digests(&g->set, &g->digests, e)) {
        return false;
    }
    g->page.programs = must_calloc(kernels + 1, sizeof *g->page.programs);
    for (size_t i = 0; i < kernels; ++i) {
        g->page.programs[g->page.program_count++] =
            (struct html_program){g->set.list.kernels[i]->kernel, g->digests[i]};
    }
    return true;
}

/* Reads everything and chooses the cases. *code is set when the run ends here. */
static bool prepare(struct gate *g, int *code, struct error *e) {
    const struct options *o = g->o;
    g->root = project_root(e);
    if (g->root == NULL || (o->plant != NULL && !load_plant(g->root, o, &g->plant, e))) {
        return false;
    }
    char *nothing =
        g->plant.kernel != NULL
            ? must_format("no case of kernel '%s' is selected, which plant %s is of", g->plant.kernel, g->plant.name)
        : o->canary
            ? must_strdup("no kernel of the selected cases has a canary build: none has planes of shared memory")
            : must_strdup("no case is selected");
    const struct case_set_request request = {.command = "gate",
                                             .cases = o->cases,
                                             .all = o->all,
                                             .patterns = o->patterns,
                                             .pattern_count = o->pattern_count,
                                             .keeps = keeps,
                                             .program = program,
                                             .context = g,
                                             .nothing = nothing};
    const bool good = case_set_open(&request, &g->set, code, e) && load_plain(g, e) &&
                      (o->judging.html == NULL || prepare_page(g, e));
    free(nothing);
    return good;
}

static struct trial trial_of(const struct gate *g, const struct test_case *c, const struct operands *operands,
                             const struct shape *shape) {
    const struct judging *j = &g->o->judging;
    const size_t kernel = case_set_kernel(&g->set, c->spec);
    return (struct trial){.id = c->id,
                          .spec = c->spec,
                          .module = g->set.modules[kernel],
                          .plain = g->plain[kernel],
                          .runner = j->runner != NULL ? j->runner : &runner_machine,
                          .contract = c->contract,
                          .operands = operands,
                          .shape = shape,
                          .schedules = j->schedules};
}

static void run_case(void *context, const struct case_turn *turn) {
    struct gate *g = context;
    const struct options *o = g->o;
    const struct test_case *c = turn->c;
    struct outcome *out = &g->outcomes[turn->number];
    struct shape_value values[3];
    const struct shape shape = case_shape(c, values);
    struct operands operands;
    struct error e;
    struct trial t = trial_of(g, c, &operands, &shape);
    t.threads = turn->threads;
    t.options = judging_launch(&o->judging, turn->turn);
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

/* A red case once more, for the page. */
static void explain_case(void *context, size_t number, struct case_detail *d) {
    struct gate *g = context;
    const struct test_case *c = case_set_chosen(&g->set, number);
    struct shape_value values[3];
    const struct shape shape = case_shape(c, values);
    struct operands operands;
    struct error e;
    if (!case_operands(c, &operands, &e)) {
        d->why = must_strdup(e.text);
        return;
    }
    struct trial t = trial_of(g, c, &operands, &shape);
    t.threads = g->o->judging.threads;
    t.options = g->o->judging.launch;
    case_detail_make(&t, &g->outcomes[number], true, d);
    operands_free(&operands);
}

/* A model that is absent is a skip with its reason, never a silent pass. */
static void add_skips(struct gate *g) {
    for (size_t i = 0; i < g->set.list.model_count; ++i) {
        if (g->set.list.models[i]->file == NULL) {
            g->outcomes[g->outcome_count++] =
                (struct outcome){.id = must_format("real/%s", g->set.list.models[i]->name),
                                 .about = must_strdup(""),
                                 .skipped = true,
                                 .why = must_strdup(CASE_SET_NO_MODEL)};
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
    struct gate g = {.o = o};
    struct error e;
    int code = EXIT_INPUT;
    const double start = omp_get_wtime();
    bool good = prepare(&g, &code, &e);
    if (good) {
        judging_threads("gate", &o->judging);
        g.outcomes = must_calloc(g.set.chosen_count + g.set.list.model_count, sizeof *g.outcomes);
        g.outcome_count = g.set.chosen_count;
        case_set_each(&g.set, o->judging.threads, run_case, &g);
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
        if (o->judging.html != NULL) {
            outputs_explain(&g.page, g.outcomes, g.outcome_count, explain_case, &g);
        }
        good = outputs_write(&o->judging, "gate", g.outcomes, g.outcome_count, &t, &g.page, &e);
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
        if (c == PLANT || c == CASES) {
            const int bad =
                c == PLANT ? take_once("gate", "--plant", &o.plant) : take_once("gate", "--cases", &o.cases);
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
