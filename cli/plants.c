/* warpproof plants: plants every fault of fixtures/plants and shows which oracle names it. A plant passes when its
 * fault is named by the oracle, and with the verdict, that must name it, and its clean twin is silent. */
#include "../ref/checked.h"
#include "../reports/json_node.h"
#include "../reports/junit.h"
#include "../reports/terminal.h"
#include "command.h"
#include "judging.h"
#include "plant_trial.h"
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
    "                   kernels with a fault, on a few of their cases until it is named, and the kernels as they are;\n"
    "                   canary: those that have a canary build, as that; edit: our own kernels with a fault in the\n"
    "                   launch file, or in the words of the PTX\n"
    "  --json FILE      write JSON lines, whole or not at all; a FILE that is there is replaced, unless it is\n"
    "                   read-only; standard output is /dev/stdout, not -\n"
    "  --junit FILE     write JUnit XML for a CI's test report, likewise\n"
    "  -j, --threads N  CPU threads (default: all)\n"
    "  --help           this text\n"
    "\n"
    "exit: 0 every fault was named and every clean twin is silent, 1 not so, 2 input or usage error, 3 nothing ran\n";

enum { SHOWN = 3 };

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

struct sums {
    size_t plants, killed, named;
};

static void add_to_sums(struct sums *n, const struct planted *x) {
    n->plants += 1;
    n->killed += x->killed;
    n->named += x->named;
}

static void print_row(const char *name, const struct sums *n) {
    if (n->plants > 0) {
        printf("%-12s  %6zu  %6zu  %13zu\n", name, n->plants, n->killed, n->named);
    }
}

/* Of the catalogues of real faults: how many entries are planted, by how many plants. A canary build is none more. */
static void print_entries(const struct field *all) {
    const char **seen = NULL;
    size_t entries = 0, plants = 0;
    for (size_t i = 0; i < all->count; ++i) {
        const struct plant *p = &all->plants[i].plant;
        if (p->group == PLANT_CANARY || p->from_count == 0) {
            continue;
        }
        ++plants;
        for (size_t k = 0; k < p->from_count; ++k) {
            size_t at = 0;
            while (at < entries && strcmp(seen[at], p->from[k]) != 0) {
                ++at;
            }
            if (at == entries) {
                seen = must_realloc(seen, entries + 1, sizeof *seen);
                seen[entries++] = p->from[k];
            }
        }
    }
    free(seen);
    printf("\nreal faults: %zu, in %zu plants (docs/plants.md)\n", entries, plants);
}

/* By group, and by the oracle that must name the fault: how many some judge called wrong, and how many that one, with
 * its verdict. */
static void print_sums(const struct field *all) {
    struct sums groups[PLANT_GROUPS] = {{0}}, whole = {0};
    size_t runs = 0, alarms = 0;
    for (size_t i = 0; i < all->count; ++i) {
        const struct planted *x = &all->plants[i];
        add_to_sums(&groups[x->plant.group], x);
        add_to_sums(&whole, x);
        runs += x->clean.count;
        alarms += x->false_alarms;
    }
    printf("\n%-12s  %6s  %6s  %13s\n", "group", "plants", "killed", "rightly named");
    for (int g = 0; g < PLANT_GROUPS; ++g) {
        print_row(plant_group_names[g], &groups[g]);
    }
    printf("\n%-12s  %6s  %6s  %13s\n", "oracle", "plants", "killed", "rightly named");
    for (int o = -1; o < 0 || oracles[o] != NULL; ++o) {
        const char *name = o < 0 ? "input" : oracles[o]->name; /* that a launch can begin at all is no oracle's */
        struct sums n = {0};
        for (size_t i = 0; i < all->count; ++i) {
            if (strcmp(all->plants[i].plant.oracle, name) == 0) {
                add_to_sums(&n, &all->plants[i]);
            }
        }
        print_row(name, &n);
    }
    print_entries(all);
    printf("clean twins: %zu runs, %zu false alarms\n", runs, alarms);
    printf("%zu of %zu killed, %zu rightly named\n", whole.killed, whole.plants, whole.named);
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
            printf(x->clean.count > 0 ? "\nthe clean twin of %s is red\n" : "\nthe clean twin of %s was not run\n",
                   x->plant.name);
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
    struct fy_node *from = fy_node_create_sequence(d);
    for (size_t i = 0; i < x->plant.from_count; ++i) {
        fy_node_sequence_append(from, json_string(d, x->plant.from[i]));
    }
    json_add(d, m, "from", from);
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
        fprintf(out, "the clean twin %s\n", x->clean.count > 0 ? "is red" : "was not run");
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
                if (good && g == PLANT_CANARY) {
                    plant_as_canary(&all->plants[all->count - 1].plant);
                }
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
        kernels |= all->plants[i].plant.group != PLANT_MACHINE;
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
            planted_run(&all, &all.plants[i]);
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
        planted_free(&all.plants[i]);
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
    uint64_t seen = 0;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        const int again = option_once("plants", longs, &seen, c);
        if (again >= 0) {
            return again;
        }
        if (c == ONLY) {
            for (int g = 0; g < PLANT_GROUPS; ++g) {
                only = strcmp(optarg, plant_group_names[g]) == 0 ? g : only;
            }
            if (only < 0 || strcmp(optarg, plant_group_names[only]) != 0) {
                return usage_error("plants", "--only %s: want kernel, canary, edit or machine", optarg);
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
