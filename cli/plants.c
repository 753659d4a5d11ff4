/* warpproof plants: plants every fault of fixtures/plants and shows which oracle names it. A plant passes when its
 * fault is named by the oracle, and with the verdict, that must name it, and its clean twin is silent. */
#include "../gpu/case.h"
#include "../oracles/trial.h"
#include "../ref/checked.h"
#include "../reports/json_node.h"
#include "../reports/junit.h"
#include "../reports/terminal.h"
#include "command.h"
#include "judging.h"
#include "plant.h"
#include <fnmatch.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof plants [NAME]... [--only GROUP] [--json FILE] [--junit FILE] [-j N]\n"
    "\n"
    "Plants the faults of fixtures/plants (all, or those of that NAME or glob), and shows which oracle names each. A\n"
    "plant passes when the oracle that must name its fault does, with the right verdict, and its clean twin is "
    "silent.\n"
    "\n"
    "  --only GROUP     machine: small kernels, each with one fault, and the same kernel without it; kernel: our own\n"
    "                   kernels with a fault, on a few of their cases, and the kernels as they are\n"
    "  --json FILE      write JSON lines, whole or not at all; a FILE that is there is replaced, unless it is\n"
    "                   read-only; standard output is /dev/stdout, not -\n"
    "  --junit FILE     write JUnit XML for a CI's test report, likewise\n"
    "  -j, --threads N  CPU threads (default: all)\n"
    "  --help           this text\n"
    "\n"
    "exit: 0 every fault was named and every clean twin is silent, 1 not so, 2 input or usage error, 3 nothing ran\n";

enum { CASES_OF_A_PLANT = 8, SHOWN = 3 };

struct trials { /* what one plant ran, with the fault or without */
    struct outcome *outcomes;
    size_t count;
};

struct planted {
    struct plant plant;
    struct trials fault, clean;
    bool named, silent;
};

struct field { /* of all plants: what they share */
    char *root;
    struct planted *plants;
    size_t count;
    struct case_list cases; /* of the kernel group, read when there is one */
    bool has_cases;
    int threads;
};

static void add_outcome(struct trials *t, struct outcome o) {
    t->outcomes = must_realloc(t->outcomes, t->count + 1, sizeof *t->outcomes);
    t->outcomes[t->count++] = o;
}

static void trials_free(struct trials *t) {
    for (size_t i = 0; i < t->count; ++i) {
        outcome_free(&t->outcomes[i]);
    }
    free(t->outcomes);
}

/* ---- group machine ---- */

/* The launch file of the fault becomes that of its clean twin. */
static bool make_clean(const struct plant *p, struct spec *s, struct error *e) {
    free(s->entry);
    s->entry = must_strdup(p->clean_entry);
    if (p->clean_then_count > 0 && p->clean_then_count != s->then_count) {
        return fail(e, "plant %s: clean.then names %zu entries, in %s %zu launches follow", p->name,
                    p->clean_then_count, s->path, s->then_count);
    }
    for (size_t i = 0; i < p->clean_then_count; ++i) {
        free(s->then[i].entry);
        s->then[i].entry = must_strdup(p->clean_then[i]);
    }
    for (size_t i = 0; i < p->clean_shape_count; ++i) {
        bool found = false;
        for (size_t k = 0; k < s->default_count; ++k) {
            if (strcmp(s->defaults[k].name, p->clean_shape[i].name) == 0) {
                s->defaults[k].value = p->clean_shape[i].value;
                found = true;
            }
        }
        if (!found) {
            return fail(e, "plant %s: clean.shape: %s has no value in %s", p->name, p->clean_shape[i].name, s->path);
        }
    }
    return true;
}

static void run_machine(const struct field *all, struct planted *x, bool clean) {
    const struct plant *p = &x->plant;
    struct error e;
    struct spec *s = spec_load(p->launch, all->root, &e);
    struct ptx_module *m = s != NULL && (!clean || make_clean(p, s, &e)) ? ptx_load(s->ptx, &e) : NULL;
    char *id = must_format("plants/%s%s", p->name, clean ? "/clean" : "");
    struct outcome o = {0};
    if (m != NULL) {
        const struct shape shape = {s->defaults, s->default_count};
        const struct trial t = {.id = id,
                                .spec = s,
                                .module = m,
                                .runner = &runner_machine,
                                .shape = &shape,
                                .seed = 1,
                                .threads = 1,
                                .options = {.arch = p->arch}};
        trial_run(&t, &o);
        o.rerun = clean ? must_format("%s plants %s", command_again(all->root), p->name)
                        : must_format("%s run %s", command_again(all->root), p->launch);
    } else {
        struct spec none = {.kernel = p->name};
        trial_refuse(&(struct trial){.id = id, .spec = s != NULL ? s : &none}, &e, &o);
    }
    add_outcome(clean ? &x->clean : &x->fault, o);
    ptx_free(m);
    spec_free(s);
    free(id);
}

/* ---- group kernel ---- */

static void run_case(const struct field *all, const struct plant *p, const struct test_case *c,
                     const struct ptx_module *m, bool clean, struct trials *to) {
    struct shape_value values[3];
    const struct shape shape = case_shape(c, values);
    struct operands operands;
    struct error e;
    struct outcome o;
    const struct trial t = {.id = c->id,
                            .spec = c->spec,
                            .module = m,
                            .runner = &runner_machine,
                            .contract = c->contract,
                            .operands = &operands,
                            .shape = &shape,
                            .threads = 1};
    if (case_operands(c, &operands, &e)) {
        trial_run(&t, &o);
        operands_free(&operands);
    } else {
        trial_refuse(&t, &e, &o);
    }
    o.rerun = clean ? must_format("%s gate %s", command_again(all->root), c->id)
                    : must_format("%s gate --plant %s %s", command_again(all->root), p->name, c->id);
    add_outcome(to, o);
}

/* Some of the kernel's cases with made operands, spread evenly over all that there are. */
static void run_kernel(const struct field *all, struct planted *x) {
    const struct plant *p = &x->plant;
    const struct test_case **mine = must_calloc(all->cases.count + 1, sizeof *mine);
    size_t count = 0;
    for (size_t i = 0; i < all->cases.count; ++i) {
        const struct test_case *c = &all->cases.cases[i];
        if (strcmp(c->spec->kernel, p->kernel) == 0 && c->data < DATA_REAL &&
            (p->cases == NULL || fnmatch(p->cases, c->id, 0) == 0)) {
            mine[count++] = c;
        }
    }
    struct error e;
    struct ptx_module *planted = count > 0 ? ptx_load(p->ptx, &e) : NULL;
    struct ptx_module *kept = planted != NULL ? ptx_load(mine[0]->spec->ptx, &e) : NULL;
    const size_t wanted = count < CASES_OF_A_PLANT ? count : CASES_OF_A_PLANT;
    for (size_t i = 0; kept != NULL && i < wanted; ++i) {
        const struct test_case *c = mine[(2 * i + 1) * count / (2 * wanted)];
        run_case(all, p, c, planted, false, &x->fault);
        run_case(all, p, c, kept, true, &x->clean);
    }
    if (kept == NULL) {
        struct spec none = {.kernel = p->kernel};
        struct outcome o;
        if (count == 0) {
            fail(&e, "kernel %s has no cases%s%s", p->kernel, p->cases != NULL ? " that match " : "",
                 p->cases != NULL ? p->cases : "");
        }
        trial_refuse(&(struct trial){.id = p->name, .spec = &none}, &e, &o);
        add_outcome(&x->fault, o);
    }
    ptx_free(planted);
    ptx_free(kept);
    free(mine);
}

/* ---- all ---- */

static bool is_named(const struct plant *p, const struct outcome *o) {
    for (size_t i = 0; i < o->findings.count; ++i) {
        const struct finding *f = &o->findings.items[i];
        if (f->verdict == p->verdict && strcmp(f->oracle, p->oracle) == 0) {
            return true;
        }
    }
    return false;
}

static void run_plant(const struct field *all, struct planted *x) {
    if (x->plant.group == PLANT_MACHINE) {
        run_machine(all, x, false);
        run_machine(all, x, true);
    } else {
        run_kernel(all, x);
    }
    for (size_t i = 0; i < x->fault.count; ++i) {
        x->named |= is_named(&x->plant, &x->fault.outcomes[i]);
    }
    x->silent = x->clean.count > 0;
    for (size_t i = 0; i < x->clean.count; ++i) {
        x->silent &= outcome_verdict(&x->clean.outcomes[i]) == VERDICT_PASS;
    }
}

/* "hazard HAZARD, parity DIFFERS": every oracle that found something, once each. */
static char *findings_text(const struct trials *t) {
    char *text = must_strdup("");
    for (size_t i = 0; i < t->count; ++i) {
        for (size_t k = 0; k < t->outcomes[i].findings.count; ++k) {
            const struct finding *f = &t->outcomes[i].findings.items[k];
            char *one = must_format("%s %s", f->oracle, verdict_name(f->verdict));
            if (strstr(text, one) == NULL) {
                char *more = must_format("%s%s%s", text, text[0] ? ", " : "", one);
                free(text);
                text = more;
            }
            free(one);
        }
    }
    return text;
}

static void print_table(const struct field *all) {
    size_t width = 5, by = 8;
    for (size_t i = 0; i < all->count; ++i) {
        char *found = findings_text(&all->plants[i].fault);
        width = strlen(all->plants[i].plant.name) > width ? strlen(all->plants[i].plant.name) : width;
        by = strlen(found) > by && strlen(found) <= 40 ? strlen(found) : by;
        free(found);
    }
    printf("     %-*s  %-18s  %-*s  %-10s  %s\n", (int)width, "plant", "must be named", (int)by, "named by",
           "clean twin", "what it is");
    for (size_t i = 0; i < all->count; ++i) {
        const struct planted *x = &all->plants[i];
        char *found = findings_text(&x->fault);
        char *want = must_format("%s %s", x->plant.oracle, verdict_name(x->plant.verdict));
        printf("%-4s %-*s  %-18s  %-*s  %-10s  %s\n", x->named && x->silent ? "ok" : "FAIL", (int)width, x->plant.name,
               want, (int)by, found[0] ? found : "nobody", x->silent ? "silent" : "RED", x->plant.about);
        free(found);
        free(want);
    }
}

static bool is_red(const struct planted *x) {
    bool red = false;
    for (size_t i = 0; i < x->fault.count; ++i) {
        red |= outcome_verdict(&x->fault.outcomes[i]) != VERDICT_PASS;
    }
    return red;
}

/* By the oracle that must name the fault: how many some judge called wrong, and how many that one, with its verdict. */
static void print_sums(const struct field *all) {
    size_t killed = 0, named = 0;
    printf("\n%-12s  %6s  %6s  %13s\n", "oracle", "plants", "killed", "rightly named");
    for (int o = 0; oracles[o] != NULL; ++o) {
        size_t n[3] = {0};
        for (size_t i = 0; i < all->count; ++i) {
            const struct planted *x = &all->plants[i];
            if (strcmp(x->plant.oracle, oracles[o]->name) == 0) {
                n[0] += 1;
                n[1] += is_red(x);
                n[2] += x->named;
            }
        }
        if (n[0] > 0) {
            printf("%-12s  %6zu  %6zu  %13zu\n", oracles[o]->name, n[0], n[1], n[2]);
        }
    }
    for (size_t i = 0; i < all->count; ++i) {
        killed += is_red(&all->plants[i]);
        named += all->plants[i].named;
    }
    printf("%zu of %zu killed, %zu rightly named\n", killed, all->count, named);
}

static void print_failures(const struct field *all) {
    for (size_t i = 0; i < all->count; ++i) {
        const struct planted *x = &all->plants[i];
        if (!x->named) {
            printf("\n%s is not named by oracle %s (%s)\n", x->plant.name, x->plant.oracle,
                   verdict_name(x->plant.verdict));
            terminal_failures(stdout, x->fault.outcomes, x->fault.count, SHOWN, 0);
        }
        if (!x->silent) {
            printf("\nthe clean twin of %s is red\n", x->plant.name);
            terminal_failures(stdout, x->clean.outcomes, x->clean.count, SHOWN, 0);
        }
    }
}

static struct fy_node *findings_node(struct fy_document *d, const struct trials *t) {
    struct fy_node *list = fy_node_create_sequence(d);
    for (size_t i = 0; i < t->count; ++i) {
        for (size_t k = 0; k < t->outcomes[i].findings.count; ++k) {
            const struct finding *f = &t->outcomes[i].findings.items[k];
            struct fy_node *m = fy_node_create_mapping(d);
            json_add_string(d, m, "case", t->outcomes[i].id);
            json_add_string(d, m, "oracle", f->oracle);
            json_add_string(d, m, "verdict", verdict_name(f->verdict));
            json_add_string(d, m, "summary", f->summary);
            fy_node_sequence_append(list, m);
        }
    }
    return list;
}

static struct fy_node *plant_node(struct fy_document *d, const struct planted *x) {
    struct fy_node *m = fy_node_create_mapping(d), *want = fy_node_create_mapping(d);
    json_add_string(d, m, "plant", x->plant.name);
    json_add_string(d, m, "group", plant_group_names[x->plant.group]);
    json_add_string(d, m, "about", x->plant.about);
    json_add_string(d, want, "oracle", x->plant.oracle);
    json_add_string(d, want, "verdict", verdict_name(x->plant.verdict));
    json_add(d, m, "expect", want);
    json_add(d, m, "named", json_bool(d, x->named));
    json_add(d, m, "clean_is_silent", json_bool(d, x->silent));
    json_add(d, m, "findings", findings_node(d, &x->fault));
    json_add(d, m, "clean_findings", findings_node(d, &x->clean));
    return m;
}

static bool write_json(const char *path, const struct field *all, const struct totals *t, struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d;
    for (size_t i = 0; i < all->count && (d = json_next(&lines)) != NULL; ++i) {
        json_put(&lines, d, plant_node(d, &all->plants[i]));
    }
    d = json_next(&lines);
    if (d != NULL) {
        struct fy_node *m = fy_node_create_mapping(d), *s = fy_node_create_mapping(d);
        json_add(d, s, "passed", json_number(d, "%zu", t->passed));
        json_add(d, s, "failed", json_number(d, "%zu", t->failed));
        json_add(d, s, "skipped", json_number(d, "%zu", t->skipped));
        json_add(d, s, "wall_seconds", json_number(d, "%.6f", t->wall_seconds));
        json_add(d, m, "summary", s);
        json_put(&lines, d, m);
    }
    return json_end(&lines, path, e);
}

static void put_red_twins(FILE *out, const struct planted *x) {
    if (!x->named) {
        fprintf(out, "not named by oracle %s (%s)\n", x->plant.oracle, verdict_name(x->plant.verdict));
        terminal_failures(out, x->fault.outcomes, x->fault.count, SHOWN, 0);
    }
    if (!x->silent) {
        fprintf(out, "the clean twin is red\n");
        terminal_failures(out, x->clean.outcomes, x->clean.count, SHOWN, 0);
    }
}

/* A plant is a case, a group a suite. */
static bool write_junit(const char *path, const struct field *all, const struct totals *t, struct error *e) {
    struct junit j = {.command = "plants", .seconds = t->wall_seconds};
    junit_property(&j, "runner", "machine");
    for (size_t i = 0; i < all->count; ++i) {
        const struct planted *x = &all->plants[i];
        const bool passed = x->named && x->silent;
        char *suite = must_format("plants of group %s", plant_group_names[x->plant.group]);
        struct junit_case *c = junit_add(&j, suite, x->plant.name, passed ? VERDICT_PASS : VERDICT_UNTESTED);
        free(suite);
        for (size_t k = 0; k < x->fault.count; ++k) {
            c->seconds += x->fault.outcomes[k].seconds;
        }
        for (size_t k = 0; k < x->clean.count; ++k) {
            c->seconds += x->clean.outcomes[k].seconds;
        }
        size_t size;
        FILE *out = passed ? NULL : open_memstream(&c->body, &size);
        if (out != NULL) {
            put_red_twins(out, x);
            if (fclose(out) != 0) {
                free(c->body);
                c->body = must_strdup("no memory for the message");
            }
            c->message = must_format("%.*s", (int)strcspn(c->body, "\n"), c->body);
        }
    }
    const bool good = junit_write(path, &j, e);
    junit_free(&j);
    return good;
}

/* Loads the plants of the groups and names asked for. */
static bool choose(struct field *all, int only, char *const *names, size_t name_count, int *code, struct error *e) {
    bool *used = must_calloc(name_count + 1, sizeof *used);
    bool good = true;
    for (int g = PLANT_GROUPS; g-- > 0;) {
        size_t n;
        char **found = plant_names(all->root, (enum plant_group)g, &n);
        for (size_t i = 0; i < n; ++i) {
            bool wanted = name_count == 0;
            for (size_t k = 0; k < name_count; ++k) {
                const bool match = fnmatch(names[k], found[i], 0) == 0;
                used[k] |= match;
                wanted |= match;
            }
            if (good && wanted && (only < 0 || only == g)) {
                all->plants = must_realloc(all->plants, all->count + 1, sizeof *all->plants);
                all->plants[all->count] = (struct planted){0};
                good = plant_load(all->root, found[i], &all->plants[all->count].plant, e);
                all->count += good;
            }
            free(found[i]);
        }
        free(found);
    }
    for (size_t k = 0; good && k < name_count; ++k) {
        if (!used[k]) {
            *code = EXIT_NOTHING_RAN;
            good = fail(e, "no plant matches '%s' (see warpproof list plants)", names[k]);
        }
    }
    if (good && all->count == 0) {
        *code = EXIT_NOTHING_RAN;
        good = fail(e, "no plant is selected");
    }
    free(used);
    return good;
}

static bool prepare(struct field *all, struct error *e) {
    bool kernels = false;
    for (size_t i = 0; i < all->count; ++i) {
        kernels |= all->plants[i].plant.group == PLANT_KERNEL;
    }
    if (!load_measured_tables(all->root, e)) {
        return false;
    }
    if (!kernels) {
        return true;
    }
    char *folder = must_format("%s/fixtures/cases", all->root), *models = must_format("%s/build/models", all->root);
    all->has_cases = case_list_load(folder, all->root, models, false, &all->cases, e);
    free(folder);
    free(models);
    return all->has_cases;
}

static int plants(struct judging *j, int only, char *const *names, size_t name_count) {
    struct field all = {0};
    struct error e;
    int code = EXIT_INPUT;
    const double start = omp_get_wtime();
    all.root = project_root(&e);
    bool good = all.root != NULL && choose(&all, only, names, name_count, &code, &e) && prepare(&all, &e);
    if (good) {
        judging_threads("plants", j);
        struct totals t = {.threads = j->threads};
#pragma omp parallel for schedule(dynamic, 1) num_threads(j->threads)
        for (size_t i = 0; i < all.count; ++i) {
            run_plant(&all, &all.plants[i]);
        }
        for (size_t i = 0; i < all.count; ++i) {
            const bool passed = all.plants[i].named && all.plants[i].silent;
            t.passed += passed;
            t.failed += !passed;
        }
        t.wall_seconds = omp_get_wtime() - start;
        print_table(&all);
        print_failures(&all);
        print_sums(&all);
        good = (j->json == NULL || write_json(j->json, &all, &t, &e)) &&
               (j->junit == NULL || write_junit(j->junit, &all, &t, &e));
        code = good ? (t.failed > 0 ? EXIT_KERNEL_WRONG : EXIT_PASSED) : EXIT_INPUT;
        printf("\n");
        terminal_last_line(stdout, &t);
    }
    if (!good) {
        flush_output();
        usage_error("plants", "%s", e.text);
    }
    for (size_t i = 0; i < all.count; ++i) {
        trials_free(&all.plants[i].fault);
        trials_free(&all.plants[i].clean);
        plant_free(&all.plants[i].plant);
    }
    if (all.has_cases) {
        case_list_free(&all.cases);
    }
    free(all.plants);
    free(all.root);
    return code;
}

int plants_main(int argc, char **argv) {
    enum { ONLY = 256 };
    static const struct option longs[] = {{"only", required_argument, NULL, ONLY},
                                          {"json", required_argument, NULL, JUDGING_JSON},
                                          {"junit", required_argument, NULL, JUDGING_JUNIT},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct judging j = {.threads = omp_get_max_threads()};
    int only = -1;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        if (c == ONLY) {
            for (int g = 0; g < PLANT_GROUPS; ++g) {
                only = strcmp(optarg, plant_group_names[g]) == 0 ? g : only;
            }
            if (only < 0 || strcmp(optarg, plant_group_names[only]) != 0) {
                return usage_error("plants", "--only %s: want machine or kernel", optarg);
            }
            continue;
        }
        const int code = judging_option("plants", usage, argc, argv, c, &j);
        if (code >= 0) {
            return code;
        }
    }
    for (int i = optind; i < argc; ++i) {
        if (argv[i][0] == 0) {
            return usage_error("plants", "a NAME is empty (without any, all plants are run)");
        }
    }
    const int code = judging_check("plants", &j);
    return code >= 0 ? code : plants(&j, only, argv + optind, (size_t)(argc - optind));
}
