/* warpproof evidence check: does what GPUs gave still stand for today's kernels? Needs no GPU. */
#include "../ref/checked.h"
#include "../reports/evidence.h"
#include "../reports/junit.h"
#include "case_set.h"
#include "command.h"
#include "outputs.h"
#include "selecting.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof evidence check [PATTERN]... [--all] [--evidence FILE]... [--junit FILE] [-j N]\n"
    "\n"
    "Holds the lines that `evidence record` wrote on GPUs to today's project, without a GPU: the program must be the "
    "one\n"
    "that ran, what went in must be made again bit for bit, and the bytes that came out must be the contract's. A "
    "kernel\n"
    "whose launch file says `evidence: required` is red where a case has no such line: stale or missing.\n"
    "\n"
    "  --all              the cases of fixtures/cases/all as well, which the kept evidence does not have\n"
    "  --evidence FILE    these lines (may be repeated) in place of reports/evidence/*/evidence.jsonl.gz\n"
    "  --junit FILE       write JUnit XML for a CI's test report, whole or not at all\n"
    "  -j, --threads N    CPU threads (default: all)\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 all that is required was found and holds, 1 something is wrong, stale or missing, 2 input or usage error, "
    "3\n"
    "nothing was checked\n";

enum state {
    STATE_CURRENT, /* a line of today's program and inputs has the contract's bytes, and none has others */
    STATE_WRONG,   /* one has others, or was red where it ran */
    STATE_STALE_PROGRAM,
    STATE_STALE_INPUTS,
    STATE_MISSING,
    STATE_ERROR, /* why says what stands in the way */
    STATES,
};

struct checked { /* a case */
    const struct test_case *c;
    enum state state;
    const struct evidence_line *line; /* what the state is about, or NULL */
    char want[DIGEST_HEX];            /* STATE_WRONG: of the contract's bytes; STALE: of today's program or inputs */
    char *why;
};

struct check {
    const struct case_set *set;
    const struct recorded *recorded;
    bool all;                     /* the lattice as well */
    char (*programs)[DIGEST_HEX]; /* (kernel_count) of kernels that a chosen case runs */
    struct checked *cases;        /* (chosen_count) */
};

struct options {
    int threads;
    bool all;
    const char *junit;
    char **files;
    size_t file_count;
    const char *const *patterns;
    size_t pattern_count;
};

/* What the launch of a case reads, and what it must give. */
static bool expected_digests(const struct case_set *set, const struct test_case *c, char inputs[DIGEST_HEX],
                             char output[DIGEST_HEX], struct error *e) {
    struct shape_value values[3];
    const struct shape shape = case_shape(c, values);
    struct operands operands;
    struct bound b = {0};
    if (!case_operands(c, &operands, e)) {
        return false;
    }
    bool good = bind_launch(c->spec, case_set_module(set, c->spec), &shape, &operands, 0, &b, e);
    if (good) {
        const uint8_t **bytes = must_calloc(b.launch.buffer_count + 1, sizeof *bytes);
        uint8_t *result = malloc(operands.result_bytes + 1);
        good = result != NULL || fail(e, "no memory for a result of %zu bytes", operands.result_bytes);
        if (good) {
            c->contract->evaluate(&operands.view, result);
        }
        for (size_t i = 0; good && i < b.launch.buffer_count; ++i) {
            const struct launch_buffer *buffer = &b.launch.buffers[i];
            bytes[i] = i == b.result ? result : b.expected[i];
            good = bytes[i] != NULL || buffer->role == BUFFER_IN || buffer->role == BUFFER_SCRATCH ||
                   fail(e, "nothing says what the bytes of '%s' must be", buffer->name);
        }
        good = good && ((digest_inputs(&b, inputs) && digest_outputs(&b.launch, bytes, output)) ||
                        fail(e, "cannot compute a SHA-256"));
        free(result);
        free(bytes);
    }
    bound_free(&b);
    operands_free(&operands);
    return good;
}

static void check_case(void *context, const struct case_turn *t) {
    const struct check *k = context;
    const struct test_case *c = t->c;
    struct checked *out = &k->cases[t->number];
    size_t count;
    const size_t kernel = case_set_kernel(k->set, c->spec);
    const struct evidence_line *lines = recorded_of(k->recorded, c->id, &count);
    char inputs[DIGEST_HEX], output[DIGEST_HEX];
    struct error e;
    *out = (struct checked){.c = c, .state = STATE_MISSING};
    bool same_program = false;
    for (size_t i = 0; i < count; ++i) {
        same_program |= strcmp(lines[i].ptx, k->programs[kernel]) == 0;
    }
    if (count > 0 && !same_program) {
        out->state = STATE_STALE_PROGRAM;
        out->line = &lines[0];
        memcpy(out->want, k->programs[kernel], DIGEST_HEX);
    }
    if (!same_program) {
        return;
    }
    if (!expected_digests(k->set, c, inputs, output, &e)) {
        out->state = STATE_ERROR;
        out->why = must_strdup(e.text);
        return;
    }
    for (size_t i = 0; i < count && out->state != STATE_WRONG; ++i) {
        const struct evidence_line *l = &lines[i];
        if (strcmp(l->ptx, k->programs[kernel]) != 0) {
            continue;
        }
        const bool same = strcmp(l->inputs, inputs) == 0, right = strcmp(l->output, output) == 0;
        const enum state s = !same                                 ? STATE_STALE_INPUTS
                             : right && l->verdict == VERDICT_PASS ? STATE_CURRENT
                                                                   : STATE_WRONG;
        if (out->state == STATE_MISSING || s < out->state || s == STATE_WRONG) {
            out->state = s;
            out->line = l;
            memcpy(out->want, same ? output : inputs, DIGEST_HEX);
        }
    }
}

/* --- the report -------------------------------------------------------------------------------------------------- */

struct sums {
    size_t passed, failed, skipped;
};

/* The cases first .. last - 1 of one kernel: its row of the table. */
static void print_row(const struct check *k, size_t first, size_t last, struct sums *sums) {
    const struct spec *s = k->cases[first].c->spec;
    const struct evidence_line *newest = NULL;
    size_t of[STATES] = {0};
    for (size_t i = first; i < last; ++i) {
        const struct evidence_line *l = k->cases[i].line;
        ++of[k->cases[i].state];
        newest = l != NULL && (newest == NULL || strcmp(l->date, newest->date) > 0) ? l : newest;
    }
    const size_t stale = of[STATE_STALE_PROGRAM] + of[STATE_STALE_INPUTS];
    sums->passed += of[STATE_CURRENT];
    sums->failed += of[STATE_WRONG] + of[STATE_ERROR] + (s->evidence_required ? stale + of[STATE_MISSING] : 0);
    printf("%-28s %6zu %8zu %6zu %8zu %6zu  ", s->kernel, last - first, of[STATE_CURRENT], stale, of[STATE_MISSING],
           of[STATE_WRONG]);
    if (newest != NULL) {
        printf("%s %s, driver %s, nvcc %s%s\n", newest->date, newest->device, newest->driver, newest->toolkit,
               s->evidence_required ? "" : "; not required");
    } else {
        printf("%s\n", s->evidence_required ? "never" : "never, and not required");
    }
}

static void print_rerun(FILE *out, const struct check *k, const struct spec *s) {
    fprintf(out, "  again   on a machine with a GPU: %s evidence record '*/%s/*'%s --out FILE\n",
            command_again(k->set->root), s->kernel, k->all ? " --all" : "");
}

static void print_stale(FILE *out, const struct check *k, const struct checked *x, size_t count, size_t all) {
    const struct spec *s = x->c->spec;
    fprintf(out, "UNTESTED %s\n", s->kernel);
    if (x->state == STATE_MISSING) {
        fprintf(out, "  missing %zu of %zu cases have no line of evidence, %s among them\n", count, all, x->c->id);
    } else {
        const bool program = x->state == STATE_STALE_PROGRAM;
        fprintf(out, "  stale   %zu of %zu cases: %s\n", count, all,
                program ? "the program is another than the one that ran"
                        : "what goes into the launch is not what went in when it ran");
        fprintf(out, "  today   %s  %s\n", x->want, program ? s->ptx : x->c->id);
        fprintf(out, "  then    %s  %s, %s (%s:%zu)\n", program ? x->line->ptx : x->line->inputs, x->line->date,
                x->line->device, x->line->path, x->line->number);
    }
    print_rerun(out, k, s);
}

/* Of a line that is wrong. */
static enum verdict wrong_verdict(const struct checked *x) {
    return strcmp(x->line->output, x->want) == 0 ? x->line->verdict : VERDICT_DIFFERS;
}

static void print_wrong(FILE *out, const struct checked *x) {
    fprintf(out, "%s %s\n", verdict_name(wrong_verdict(x)), x->c->id);
    if (strcmp(x->line->output, x->want) != 0) {
        fprintf(out, "  output  %s  the contract's bytes, %s\n", x->want, x->c->contract->name);
        fprintf(out, "  there   %s  %s's\n", x->line->output[0] != 0 ? x->line->output : "(none)", x->line->device);
    }
    if (x->line->verdict != VERDICT_PASS) {
        fprintf(out, "  verdict %s where it ran\n", verdict_name(x->line->verdict));
    }
    fprintf(out, "  line    %s:%zu, %s, %s\n", x->line->path, x->line->number, x->line->date, x->line->command);
}

/* The message of one failing case; count of all cases of the kernel fail the same way. */
static void print_failure(FILE *out, const struct check *k, const struct checked *x, size_t count, size_t all) {
    if (x->state == STATE_ERROR) {
        fprintf(out, "INPUT %s\n  input   %s\n", x->c->id, x->why);
    } else if (x->state == STATE_WRONG) {
        print_wrong(out, x);
    } else {
        print_stale(out, k, x, count, all);
    }
    if ((x->state == STATE_ERROR || x->state == STATE_WRONG) && count > 1) {
        fprintf(out, "  like it %zu more cases of this kernel\n", count - 1);
    }
}

static bool fails(const struct checked *x) {
    return x->state == STATE_WRONG || x->state == STATE_ERROR ||
           (x->state != STATE_CURRENT && x->c->spec->evidence_required);
}

/* One message for each way in which a kernel's cases fail. */
static void print_failures(const struct check *k, size_t first, size_t last, struct sums *sums) {
    (void)sums; /* print_row has counted them */
    for (int state = 0; state < STATES; ++state) {
        const struct checked *one = NULL;
        size_t count = 0;
        for (size_t i = first; i < last; ++i) {
            if ((int)k->cases[i].state == state) {
                one = one == NULL ? &k->cases[i] : one;
                ++count;
            }
        }
        if (one != NULL && fails(one)) {
            printf("\n");
            print_failure(stdout, k, one, count, last - first);
        }
    }
}

/* Calls print for the cases of each kernel, which stand together. */
static void each_kernel(const struct check *k, void (*print)(const struct check *, size_t, size_t, struct sums *),
                        struct sums *sums) {
    const size_t n = k->set->chosen_count;
    for (size_t first = 0, last; first < n; first = last) {
        for (last = first + 1; last < n && k->cases[last].c->spec == k->cases[first].c->spec;) {
            ++last;
        }
        print(k, first, last, sums);
    }
}

/* A kernel that needs evidence and that no case runs could never have any. */
static bool add_caseless(const struct case_set *set, struct sums *sums, struct junit *j, struct error *e) {
    size_t n;
    char **paths = kernel_files(set->root, &n);
    bool good = true;
    for (size_t i = 0; i < n; ++i) {
        struct spec *s = good ? spec_load(paths[i], set->root, e) : NULL;
        bool known = s == NULL || !s->evidence_required;
        good = good && s != NULL;
        for (size_t k = 0; !known && k < set->list.kernel_count; ++k) {
            known = strcmp(set->list.kernels[k]->kernel, s->kernel) == 0;
        }
        if (!known) {
            printf("\nUNTESTED %s\n  missing its launch file says `evidence: required`, and no case runs it\n",
                   s->kernel);
            junit_add(j, s->kernel, s->kernel, VERDICT_UNTESTED)->message =
                must_strdup("its launch file says `evidence: required`, and no case runs it");
            ++sums->failed;
        }
        spec_free(s);
        free(paths[i]);
    }
    free(paths);
    return good;
}

/* Lines that no case of the list has. */
static void note_others(const struct check *k) {
    size_t known = 0;
    for (size_t i = 0; i < k->set->list.count; ++i) {
        size_t count;
        recorded_of(k->recorded, k->set->list.cases[i].id, &count);
        known += count;
    }
    if (known < k->recorded->count) {
        printf("note    %zu lines are of other cases: gone, of a model that is not here, or of the whole lattice "
               "(--all)\n",
               k->recorded->count - known);
    }
}

static void note_models_absent(const struct case_set *set, struct sums *sums, struct junit *j) {
    for (size_t i = 0; i < set->list.model_count; ++i) {
        if (set->list.models[i]->file == NULL) {
            printf("SKIPPED real/%s: " CASE_SET_NO_MODEL "\n", set->list.models[i]->name);
            junit_add(j, "real", set->list.models[i]->name, VERDICT_SKIPPED)->message = must_strdup(CASE_SET_NO_MODEL);
            ++sums->skipped;
        }
    }
}

/* --- the command ------------------------------------------------------------------------------------------------- */

static bool read_files(const struct case_set *set, struct options *o, struct recorded *r, struct error *e) {
    bool good = o->file_count > 0 || evidence_files(set->root, &o->files, &o->file_count, e);
    for (size_t i = 0; good && i < o->file_count; ++i) {
        good = recorded_read(o->files[i], r, e);
    }
    recorded_sort(r);
    return good;
}

/* A case without evidence that its kernel does not require is a skip there; the last line leaves it out. */
static void add_junit(const struct check *k, struct junit *j) {
    static const char *const skips[STATES] = {[STATE_STALE_PROGRAM] = "stale, and not required",
                                              [STATE_STALE_INPUTS] = "stale, and not required",
                                              [STATE_MISSING] = "no evidence, and none is required"};
    size_t bodies = 0;
    for (size_t i = 0; i < k->set->chosen_count; ++i) {
        const struct checked *x = &k->cases[i];
        const bool red = fails(x);
        const enum verdict v = red                         ? x->state == STATE_WRONG   ? wrong_verdict(x)
                                                             : x->state == STATE_ERROR ? VERDICT_INPUT
                                                                                       : VERDICT_UNTESTED
                               : x->state == STATE_CURRENT ? VERDICT_PASS
                                                           : VERDICT_SKIPPED;
        struct junit_case *c = junit_add(j, x->c->spec->kernel, x->c->id, v);
        if (v == VERDICT_SKIPPED) {
            c->message = must_strdup(skips[x->state]);
        }
        char *text = NULL;
        size_t size;
        FILE *out = red ? open_memstream(&text, &size) : NULL;
        if (out == NULL) {
            continue;
        }
        print_failure(out, k, x, 1, 1);
        if (fclose(out) == 0) {
            const char *second = text + strcspn(text, "\n");
            second += strspn(second, "\n ");
            c->message = must_format("%.*s", (int)strcspn(second, "\n"), second);
            c->body = bodies++ < JUNIT_BODIES ? must_strdup(text) : NULL;
        }
        free(text);
    }
}

static int report(const struct check *k, const struct options *o, struct error *e) {
    struct sums sums = {0};
    struct junit j = {.command = "evidence check"};
    add_junit(k, &j);
    printf("%-28s %6s %8s %6s %8s %6s  %s\n", "kernel", "cases", "current", "stale", "missing", "wrong", "recorded");
    each_kernel(k, print_row, &sums);
    if (o->pattern_count == 0) {
        note_others(k);
        note_models_absent(k->set, &sums, &j);
    }
    each_kernel(k, print_failures, &sums);
    const bool good = (o->pattern_count > 0 || add_caseless(k->set, &sums, &j, e)) &&
                      (o->junit == NULL || junit_write(o->junit, &j, e));
    junit_free(&j);
    if (!good) {
        return EXIT_INPUT;
    }
    printf("\n%zu passed, %zu failed, %zu skipped\n", sums.passed, sums.failed, sums.skipped);
    return sums.failed > 0 ? EXIT_KERNEL_WRONG : sums.passed > 0 ? EXIT_PASSED : EXIT_NOTHING_RAN;
}

static int check(struct options *o) {
    const struct case_set_request request = {
        .command = "evidence check", .all = o->all, .patterns = o->patterns, .pattern_count = o->pattern_count};
    struct case_set set;
    struct recorded recorded = {0};
    struct check k = {.set = &set, .recorded = &recorded, .all = o->all};
    struct error e;
    int code;
    bool good = case_set_open(&request, &set, &code, &e);
    if (good) {
        good = read_files(&set, o, &recorded, &e) && case_set_digests(&set, &k.programs, &e);
        code = EXIT_INPUT;
    }
    if (good) {
        struct judging j = {.threads = o->threads};
        judging_threads("evidence check", &j);
        k.cases = must_calloc(set.chosen_count + 1, sizeof *k.cases);
        case_set_each(&set, j.threads, check_case, &k);
        code = report(&k, o, &e);
        good = code != EXIT_INPUT;
    }
    if (!good) {
        flush_output();
        usage_error("evidence check", "%s", e.text);
    }
    for (size_t i = 0; k.cases != NULL && i < set.chosen_count; ++i) {
        free(k.cases[i].why);
    }
    free(k.cases);
    free(k.programs);
    recorded_free(&recorded);
    case_set_free(&set);
    return code;
}

int evidence_check_main(int argc, char **argv) {
    enum { ALL = 256, EVIDENCE };
    static const struct option longs[] = {{"all", no_argument, NULL, ALL},
                                          {"evidence", required_argument, NULL, EVIDENCE},
                                          {"junit", required_argument, NULL, JUDGING_JUNIT},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct judging j = {.threads = omp_get_max_threads()};
    struct options o = {.all = false};
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        if (c == ALL) {
            o.all = true;
        } else if (c == EVIDENCE) {
            o.files = must_realloc(o.files, o.file_count + 1, sizeof *o.files);
            o.files[o.file_count++] = must_strdup(optarg);
        } else {
            code = judging_option("evidence check", usage, argc, argv, c, &j);
        }
    }
    o.threads = j.threads;
    o.junit = j.junit;
    o.patterns = (const char *const *)(argv + optind);
    o.pattern_count = (size_t)(argc - optind);
    code = code >= 0 ? code : check_patterns("evidence check", o.patterns, o.pattern_count);
    code = code >= 0 ? code : judging_check("evidence check", &j);
    code = code >= 0 ? code : check(&o);
    for (size_t i = 0; i < o.file_count; ++i) {
        free(o.files[i]);
    }
    free(o.files);
    return code;
}
