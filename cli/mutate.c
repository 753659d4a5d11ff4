/* warpproof mutate: small mistakes in a kernel's PTX, each run on the kernel's cases; which judge names it, and which
 * pass. */
#include "mutate.h"
#include "../ref/checked.h"
#include "../ref/random.h"
#include "../reports/file.h"
#include "command.h"
#include "judging.h"
#include "mutate_named.h"
#include "selecting.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: warpproof mutate KERNEL... [--operators LIST] [--sample N | --each N] [--seed S] [--json FILE] [-j N]\n"
    "       warpproof mutate KERNEL --only NAME\n"
    "       warpproof mutate KERNEL --emit NAME FILE\n"
    "\n"
    "Makes mutants of the kernels' PTX, one small mistake each, and runs every one on the kernel's cases until a "
    "judge\n"
    "is red: small edge shapes first, class by class, then all quick ones, then the full lattice. Prints how many each "
    "judge named first, "
    "and\n"
    "every mutant that passed: equivalent (proved to compute the same), named (fixtures/mutants.yaml has a proof in\n"
    "words), unreached (no lane executes the instruction in any case), or survived.\n"
    "\n"
    "  --operators LIST   of address, order, predicate, barrier, wait, rounding, stride, registers, bound, store,\n"
    "                     vector, comparison, separated by commas (default: all)\n"
    "  --sample N         N mutants, of each operator as many as of every other, as far as it has them\n"
    "  --each N           N of each kernel, in the same way\n"
    "  --seed S           of the sample (default 1)\n"
    "  --cases N          run a mutant on at most N cases\n"
    "  --full N           of the full lattice (gate --all) at most N cases, the cheapest (default 600); --all: all\n"
    "  --without LIST     judges that do not count (warpproof list oracles): what the others are worth without them\n"
    "  --named FILE       mutants with proofs in words (default: fixtures/mutants.yaml)\n"
    "  --check            try all proofs on killed mutants too: one that succeeds is an error\n"
    "  --least PERCENT    of the mutants must be killed or proved or named equivalent (default 99)\n"
    "  --only NAME        the mutant KERNEL/OPERATOR/LINE/K alone\n"
    "  --emit NAME FILE   write its PTX to FILE, and run nothing\n"
    "  --json FILE        write JSON lines, a mutant each; standard output is /dev/stdout, not -\n"
    "  -j, --threads N    CPU threads (default: all)\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 at least that share is killed or proved, 1 less, 2 input or usage error, 3 nothing ran\n";

enum { MOST_FULL = 600 }; /* cases of the full lattice, where nothing else is asked for */

struct request {
    struct judging judging;
    struct mutate_options options;
    uint32_t operators;
    size_t sample, each; /* of all, of each kernel; 0: all */
    uint64_t seed;
    int least; /* percent */
    const char *only, *emit, *file, *named;
    char **kernels;
    size_t kernel_count;
};

struct field {
    struct case_set set;
    bool *quick; /* (set.list.count) */
    struct mutate_kernel *kernels;
    size_t kernel_count;
    struct mutation *mutations;
    size_t count;
};

/* ---- options ---- */

/* Names separated by commas as bits; false on one that is none. */
static bool parse_names(const char *text, const char *(*name)(size_t), uint32_t *bits) {
    *bits = 0;
    for (const char *s = text;; ++s) {
        const size_t n = strcspn(s, ",");
        bool found = false;
        for (size_t i = 0; name(i) != NULL; ++i) {
            if (strlen(name(i)) == n && strncmp(name(i), s, n) == 0) {
                *bits |= 1u << i;
                found = true;
            }
        }
        s += n;
        if (!found || *s == 0) {
            return found;
        }
    }
}

static const char *operator_name(size_t i) {
    return i < MUTANT_OPERATORS ? mutant_operator_names[i] : NULL;
}

static const char *oracle_name(size_t i) {
    return oracles[i] != NULL ? oracles[i]->name : NULL;
}

static bool parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *out) {
    char *end;
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    const unsigned long long v = strtoull(text, &end, 10);
    *out = v;
    return *end == 0 && v >= least && v <= most;
}

enum { OPERATORS = 256, SAMPLE, EACH, SEED, CASES, FULL, ALL, WITHOUT, LEAST, NAMED, CHECK, ONLY, EMIT };

/* -2: none of ours. */
static int take_option(int c, struct request *r) {
    uint64_t n;
    switch (c) {
    case OPERATORS:
        return parse_names(optarg, operator_name, &r->operators)
                   ? -1
                   : usage_error("mutate",
                                 "--operators %s: want some of address, order, predicate, barrier, wait, "
                                 "rounding, stride, registers, bound, store, vector, comparison",
                                 optarg);
    case WITHOUT:
        return parse_names(optarg, oracle_name, &r->options.off)
                   ? -1
                   : usage_error("mutate", "--without %s: want names of judges (warpproof list oracles)", optarg);
    case SAMPLE:
        if (!parse_count(optarg, 1, 1 << 24, &n)) {
            return usage_error("mutate", "--sample %s: want a number of mutants, 1 to 16777216", optarg);
        }
        r->sample = (size_t)n;
        return -1;
    case EACH:
        if (!parse_count(optarg, 1, 1 << 24, &n)) {
            return usage_error("mutate", "--each %s: want a number of mutants, 1 to 16777216", optarg);
        }
        r->each = (size_t)n;
        return -1;
    case CASES:
        if (!parse_count(optarg, 1, CASE_LIMIT, &n)) {
            return usage_error("mutate", "--cases %s: want a number of cases, 1 to 1048576", optarg);
        }
        r->options.most_cases = (size_t)n;
        return -1;
    case SEED:
        return parse_count(optarg, 0, INT64_MAX, &r->seed)
                   ? -1
                   : usage_error("mutate", "--seed %s: want 0 to 9223372036854775807", optarg);
    case LEAST:
        if (!parse_count(optarg, 0, 100, &n)) {
            return usage_error("mutate", "--least %s: want a percentage, 0 to 100", optarg);
        }
        r->least = (int)n;
        return -1;
    case FULL:
        if (!parse_count(optarg, 0, CASE_LIMIT, &n)) {
            return usage_error("mutate", "--full %s: want a number of cases, 0 to 1048576", optarg);
        }
        r->options.most_full = (size_t)n;
        return -1;
    case ALL:
        r->options.most_full = CASE_LIMIT;
        return -1;
    case NAMED:
        return take_once("mutate", "--named", &r->named);
    case CHECK:
        r->options.check = true;
        return -1;
    case ONLY:
        return take_once("mutate", "--only", &r->only);
    case EMIT:
        return take_once("mutate", "--emit", &r->emit);
    default:
        return -2;
    }
}

static int parse(int argc, char **argv, struct request *r) {
    static const struct option longs[] = {{"operators", required_argument, NULL, OPERATORS},
                                          {"sample", required_argument, NULL, SAMPLE},
                                          {"each", required_argument, NULL, EACH},
                                          {"seed", required_argument, NULL, SEED},
                                          {"cases", required_argument, NULL, CASES},
                                          {"full", required_argument, NULL, FULL},
                                          {"all", no_argument, NULL, ALL},
                                          {"named", required_argument, NULL, NAMED},
                                          {"without", required_argument, NULL, WITHOUT},
                                          {"least", required_argument, NULL, LEAST},
                                          {"check", no_argument, NULL, CHECK},
                                          {"only", required_argument, NULL, ONLY},
                                          {"emit", required_argument, NULL, EMIT},
                                          {"json", required_argument, NULL, JUDGING_JSON},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    *r = (struct request){.judging = {.threads = omp_get_max_threads()},
                          .options = {.most_cases = CASE_LIMIT, .most_full = MOST_FULL},
                          .operators = (1u << MUTANT_OPERATORS) - 1,
                          .seed = 1,
                          .least = 99};
    opterr = 0;
    uint64_t seen = 0;
    for (int c; (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        int code = option_once("mutate", longs, &seen, c);
        if (code >= 0) {
            return code;
        }
        code = take_option(c, r);
        code = code == -2 ? judging_option("mutate", usage, argc, argv, c, &r->judging) : code;
        if (code >= 0) {
            return code;
        }
    }
    r->kernels = argv + optind;
    r->kernel_count = (size_t)(argc - optind);
    if (r->emit != NULL) {
        if (r->kernel_count < 2) {
            return usage_error("mutate", "--emit: want a KERNEL and a FILE (see warpproof mutate --help)");
        }
        r->file = r->kernels[--r->kernel_count];
    }
    if (r->kernel_count == 0) {
        return usage_error("mutate", "want a KERNEL (see warpproof mutate --help)");
    }
    for (size_t i = 0; i < r->kernel_count; ++i) {
        if (r->kernels[i][0] == 0 || strpbrk(r->kernels[i], "/*?[") != NULL) {
            return usage_error("mutate", "KERNEL '%s': want the name of a kernel (warpproof list kernels)",
                               r->kernels[i]);
        }
        for (size_t k = 0; k < i; ++k) {
            if (strcmp(r->kernels[i], r->kernels[k]) == 0) {
                return usage_error("mutate", "kernel %s is given twice", r->kernels[i]);
            }
        }
    }
    if ((r->only != NULL || r->emit != NULL) &&
        (r->sample != 0 || r->each != 0 || (r->only != NULL && r->emit != NULL))) {
        return usage_error("mutate", "--only, --emit, and --sample or --each exclude each other");
    }
    return judging_check("mutate", &r->judging);
}

/* ---- mutants ---- */

static void make_mutants(struct mutate_kernel *k, uint32_t operators) {
    const char **entries = must_calloc(k->spec->then_count + 1, sizeof *entries);
    entries[0] = k->spec->entry;
    for (size_t i = 0; i < k->spec->then_count; ++i) {
        entries[i + 1] = k->spec->then[i].entry;
    }
    mutants_make(k->module, entries, k->spec->then_count + 1, operators, &k->mutants);
    free(entries);
}

static int by_id(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Which cases of the full lattice are quick ones. */
static bool find_quick(struct field *f, struct error *e) {
    struct case_list quick = {0};
    const bool good = case_list_load(f->set.folder, f->set.root, f->set.models, false, &quick, e);
    char **ids = must_calloc(quick.count + 1, sizeof *ids);
    f->quick = must_calloc(f->set.list.count + 1, sizeof *f->quick);
    for (size_t i = 0; i < quick.count; ++i) {
        ids[i] = quick.cases[i].id;
    }
    qsort(ids, quick.count, sizeof *ids, by_id);
    for (size_t i = 0; good && i < f->set.list.count; ++i) {
        f->quick[i] = bsearch(&f->set.list.cases[i].id, ids, quick.count, sizeof *ids, by_id) != NULL;
    }
    free(ids);
    case_list_free(&quick);
    return good;
}

static bool open_kernels(const struct request *r, struct field *f, int *code, struct error *e) {
    char **patterns = must_calloc(r->kernel_count + 1, sizeof *patterns);
    for (size_t i = 0; i < r->kernel_count; ++i) {
        patterns[i] = must_format("*/%s/*", r->kernels[i]);
    }
    const struct case_set_request request = {
        .command = "mutate", .all = true, .patterns = (const char *const *)patterns, .pattern_count = r->kernel_count};
    const bool good = case_set_open(&request, &f->set, code, e) && find_quick(f, e);
    for (size_t i = 0; i < r->kernel_count; ++i) {
        free(patterns[i]);
    }
    free(patterns);
    f->kernels = must_calloc(r->kernel_count + 1, sizeof *f->kernels);
    for (size_t i = 0; good && i < r->kernel_count; ++i) {
        for (size_t k = 0; k < f->set.list.kernel_count; ++k) {
            const struct spec *s = f->set.list.kernels[k];
            if (strcmp(s->kernel, r->kernels[i]) == 0) {
                f->kernels[f->kernel_count] = (struct mutate_kernel){.spec = s, .module = f->set.modules[k]};
                make_mutants(&f->kernels[f->kernel_count++], r->operators);
            }
        }
    }
    return good;
}

/* Of each operator in turn one, drawn from what it has left; the drawn ones to the front. Returns how many. */
static size_t draw(struct mutation *all, size_t count, size_t sample, uint64_t seed) {
    char *key = must_format("mutate/%llu", (unsigned long long)seed);
    struct random_stream stream = random_open(random_key(key), 0);
    struct mutation *drawn = must_calloc(sample + 1, sizeof *drawn);
    size_t n = 0;
    for (size_t left = count; n < sample && left > 0;) {
        for (int by = 0; by < MUTANT_OPERATORS && n < sample; ++by) {
            uint32_t of = 0;
            for (size_t i = 0; i < left; ++i) {
                of += all[i].mutant->by == (enum mutant_operator)by;
            }
            if (of == 0) {
                continue;
            }
            uint32_t which = random_below(&stream, of);
            size_t i = 0;
            while (all[i].mutant->by != (enum mutant_operator)by || which-- > 0) {
                ++i;
            }
            drawn[n++] = all[i];
            --left;
            memmove(all + i, all + i + 1, (left - i) * sizeof *all);
        }
    }
    memcpy(all, drawn, n * sizeof *all);
    free(drawn);
    free(key);
    return n;
}

/* All mutants, or those that are asked for, in the order of kernels and lines. */
static bool choose(const struct request *r, struct field *f, int *code, struct error *e) {
    const char *wanted = r->only != NULL ? r->only : r->emit;
    for (size_t k = 0; k < f->kernel_count; ++k) {
        struct mutate_kernel *kernel = &f->kernels[k];
        const size_t first = f->count, own = kernel->mutants.count;
        f->mutations = must_realloc(f->mutations, first + own + 1, sizeof *f->mutations);
        for (size_t i = 0; i < own; ++i) {
            f->mutations[f->count++] = (struct mutation){.kernel = kernel, .mutant = &kernel->mutants.items[i]};
        }
        if (r->each > 0 && r->each < own) {
            f->count = first + draw(f->mutations + first, own, r->each, r->seed);
        }
    }
    if (r->sample > 0 && r->sample < f->count) {
        f->count = draw(f->mutations, f->count, r->sample, r->seed);
    }
    size_t n = 0;
    for (size_t i = 0; i < f->count; ++i) {
        struct mutation *x = &f->mutations[i];
        char *own = mutant_name(x->mutant);
        x->name = must_format("%s/%s", x->kernel->spec->kernel, own);
        free(own);
        if (wanted == NULL || strcmp(x->name, wanted) == 0) {
            f->mutations[n++] = *x;
        } else {
            free(x->name);
        }
    }
    f->count = n;
    if (n == 0) {
        *code = EXIT_NOTHING_RAN;
        return wanted != NULL ? fail(e, "no mutant is named '%s'", wanted) : fail(e, "there are no such mutants");
    }
    return true;
}

static bool emit(const struct request *r, const struct field *f, struct error *e) {
    size_t size;
    const struct mutation *x = &f->mutations[0];
    char *text = mutant_text(x->kernel->module, x->mutant, &size);
    const bool good = file_put(r->file, text, size, e);
    free(text);
    return good;
}

/* ---- all ---- */

static void run_all(struct request *r, struct field *f) {
    const bool progress = isatty(STDERR_FILENO);
    size_t done = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(r->judging.threads)
    for (size_t i = 0; i < f->count; ++i) {
        mutate_one(&f->mutations[i], &r->options);
        if (progress) {
#pragma omp critical(progress)
            fprintf(stderr, "\r\033[K[%zu/%zu] %.90s", ++done, f->count, f->mutations[i].name);
        }
    }
    if (progress) {
        fprintf(stderr, "\r\033[K");
    }
}

static int judge(const struct request *r, const struct field *f) {
    size_t n[FATES], full = 0;
    for (int k = 0; k < FATES; ++k) {
        n[k] = mutate_fate_count(f->mutations, f->count, (enum fate)k);
    }
    for (size_t i = 0; i < f->count; ++i) {
        full += f->mutations[i].fate == FATE_KILLED && f->mutations[i].full;
    }
    const size_t all = f->count - n[FATE_INVALID], good = n[FATE_KILLED] + n[FATE_EQUIVALENT] + n[FATE_NAMED];
    printf("\n%zu killed (%zu of them by the full lattice alone), %zu proved equivalent, %zu named equivalent, "
           "%zu unreached, %zu survived; %zu invalid\n",
           n[FATE_KILLED], full, n[FATE_EQUIVALENT], n[FATE_NAMED], n[FATE_UNREACHED], n[FATE_SURVIVED],
           n[FATE_INVALID]);
    const bool enough = good * 100 >= (size_t)r->least * all;
    if (!enough) {
        printf("less than %d %% are\n", r->least);
    }
    printf("%zu of %zu killed or proved equivalent\n", good, all);
    return all == 0 ? EXIT_NOTHING_RAN : enough ? EXIT_PASSED : EXIT_KERNEL_WRONG;
}

/* A proof that a judge contradicts is worth nothing. */
static bool sound(const struct field *f, struct error *e) {
    for (size_t i = 0; i < f->count; ++i) {
        if (f->mutations[i].proved && f->mutations[i].fate == FATE_KILLED) {
            return fail(e, "%s is proved equivalent, and killed by %s: the proof is wrong", f->mutations[i].name,
                        f->mutations[i].id);
        }
        if (f->mutations[i].named != NULL && f->mutations[i].fate == FATE_KILLED) {
            return fail(e, "%s is named equivalent, and killed by %s: its proof is wrong", f->mutations[i].name,
                        f->mutations[i].id);
        }
    }
    return true;
}

static bool read_named(const struct request *r, struct field *f, struct error *e) {
    char *path = r->named != NULL ? must_strdup(r->named) : must_format("%s/fixtures/mutants.yaml", f->set.root);
    const bool good = mutate_named(path, f->kernels, f->kernel_count, r->operators, f->mutations, f->count, e);
    free(path);
    return good;
}

static bool prepare(struct request *r, struct field *f, int *code, struct error *e) {
    judging_threads("mutate", &r->judging);
    r->options.threads = r->judging.threads;
    const struct mutate_cases cases = {&f->set, f->quick};
    for (size_t k = 0; k < f->kernel_count; ++k) {
        bool used = false;
        for (size_t i = 0; i < f->count; ++i) {
            used |= f->mutations[i].kernel == &f->kernels[k];
        }
        if (used && !mutate_prepare(&f->kernels[k], &cases, &r->options, e)) {
            *code = EXIT_KERNEL_WRONG;
            return false;
        }
    }
    return true;
}

int mutate_main(int argc, char **argv) {
    struct request r;
    int code = parse(argc, argv, &r);
    if (code >= 0) {
        return code;
    }
    struct field f = {0};
    struct error e;
    code = EXIT_INPUT;
    bool good = open_kernels(&r, &f, &code, &e) && choose(&r, &f, &code, &e);
    if (good && r.emit == NULL) {
        code = EXIT_INPUT;
        good = read_named(&r, &f, &e);
    }
    if (good && r.emit != NULL) {
        code = EXIT_INPUT;
        good = emit(&r, &f, &e);
        code = good ? EXIT_PASSED : code;
    } else if (good && (good = prepare(&r, &f, &code, &e))) {
        code = EXIT_INPUT;
        run_all(&r, &f);
        mutate_print(f.mutations, f.count, &r.options);
        good = (r.judging.json == NULL || mutate_json(r.judging.json, f.mutations, f.count, &e)) && sound(&f, &e);
        code = good ? judge(&r, &f) : code;
    }
    if (!good) {
        flush_output();
        usage_error("mutate", "%s", e.text);
    }
    for (size_t i = 0; i < f.count; ++i) {
        free(f.mutations[i].name);
        free(f.mutations[i].reason);
        free(f.mutations[i].named);
    }
    free(f.mutations);
    for (size_t k = 0; k < f.kernel_count; ++k) {
        mutate_kernel_free(&f.kernels[k]);
    }
    free(f.kernels);
    free(f.quick);
    case_set_free(&f.set);
    return code;
}
