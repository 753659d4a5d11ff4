/* warpproof bench: kernels against each other on a real GPU, and figures only of what is right. */
#include "../gpu/digest.h"
#include "../ref/checked.h"
#include "bench_contest.h"
#include "command.h"
#include "selecting.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: warpproof bench KERNEL... [--set NAME=VALUE]... [--shapes six] [--rounds N] [--data CLASS] "
    "[--no-ceilings]\n"
    "                                 [--device N] [--json FILE] [-j N]\n"
    "\n"
    "Times kernels on a GPU, in turn, round by round: A, the others, and A once more as the control, which says how\n"
    "large noise is; cuBLAS f16 and int8 are ceilings. Every launch is on operands that the L2 does not hold. Before\n"
    "and after, every result is held to its contract (or the launch file's `expect`) bit for bit: a kernel whose\n"
    "result is wrong in this run gets no figure. KERNEL is a name of `warpproof list kernels`, or the path of a "
    "launch\n"
    "file; several launches of one file are timed together.\n"
    "\n"
    "  --set NAME=VALUE   a value for the launch file's expressions; kernels with a contract default to nt=512,\n"
    "                     od=4096, id=4096\n"
    "  --shapes six       six shapes of a model's products, one after the other: od x id = 4096 x 4096 with 64, 512\n"
    "                     and 2048 tokens, 14336 x 4096 with 512 and 2048, 4096 x 14336 with 2048\n"
    "  --rounds N         rounds (default 21)\n"
    "  --data CLASS       of made operands: exact, coded, adv or rand (default)\n"
    "  --ceilings         time cuBLAS as well, where there is one (default)\n"
    "  --no-ceilings      do not; WARPPROOF_CUBLAS=FILE names a libcublasLt.so in place of the system's\n"
    "  --device N         which GPU, counted from 0 (default 0)\n"
    "  --json FILE        write every round's times, whole or not at all\n"
    "  -j, --threads N    CPU threads of the contracts (default: all)\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 there are figures and nothing is wrong, 1 a kernel is wrong, 2 input or usage error, or no GPU, 3 "
    "nothing\n"
    "was measured\n";

enum { MOST_KERNELS = 16, MOST_ROUNDS = 10000, USUAL_ROUNDS = 21, MOST_SHAPES = 6 };

static const struct shape_value six[MOST_SHAPES][3] = {
    {{"nt", 64}, {"od", 4096}, {"id", 4096}},    {{"nt", 512}, {"od", 4096}, {"id", 4096}},
    {{"nt", 2048}, {"od", 4096}, {"id", 4096}},  {{"nt", 512}, {"od", 14336}, {"id", 4096}},
    {{"nt", 2048}, {"od", 14336}, {"id", 4096}}, {{"nt", 2048}, {"od", 4096}, {"id", 14336}},
};
static const struct shape_value usual[3] = {{"nt", 512}, {"od", 4096}, {"id", 4096}};

struct options {
    struct sets sets;
    bool six, no_ceilings;
    int64_t rounds; /* 0: not given */
    enum data_class data;
    struct judging judging;
    int argc; /* of the command line, for the record */
    char **argv;
};

struct bench {
    char *root;
    struct bench_kernel kernels[MOST_KERNELS];
    size_t kernel_count;
    struct bench_head head;
    struct bench_shape shapes[MOST_SHAPES];
    size_t shape_count;
};

static void bench_free(struct bench *b) {
    for (size_t i = 0; i < b->kernel_count; ++i) {
        ptx_free(b->kernels[i].module);
        spec_free(b->kernels[i].spec);
    }
    for (size_t i = 0; i < b->shape_count; ++i) {
        bench_shape_free(&b->shapes[i]);
    }
    free(b->head.command);
    free(b->head.no_ceilings);
    free(b->root);
}

/* It has all that the six shapes say. */
static bool is_product(const struct spec *s, struct error *e) {
    bool all = true;
    for (size_t i = 0; i < 3; ++i) {
        all &= sets_used(s, six[0][i].name);
    }
    return all || fail(e, "--shapes six: they are of products, nt x od x id, and %s is none", s->kernel);
}

static bool load_kernel(struct bench *b, const char *name, bool of_six, const char *json, struct error *e) {
    struct bench_kernel *k = &b->kernels[b->kernel_count];
    char *path = kernel_file(name, b->root, e);
    bool good = path != NULL && json_spares(json, path, e) && (k->spec = spec_load(path, b->root, e)) != NULL;
    b->kernel_count += good;
    free(path);
    return good && json_spares_spec(json, k->spec, e) && (k->module = spec_module(k->spec, e)) != NULL &&
           (!of_six || is_product(k->spec, e)) && digest_program(k->module, k->ptx_sha256, e);
}

static void write_head(struct bench *b, const struct options *o) {
    const time_t now = time(NULL);
    struct tm t;
    if (gmtime_r(&now, &t) != NULL) {
        strftime(b->head.date, sizeof b->head.date, "%Y-%m-%d %H:%M UTC", &t);
    }
    b->head.command = command_text("warpproof", o->argc, o->argv);
    b->head.data = data_class_names[o->data];
}

/* What came of all of it. */
static int exit_code(const struct bench *b) {
    bool wrong = false, figures = false;
    for (size_t i = 0; i < b->shape_count; ++i) {
        for (size_t k = 0; k < b->shapes[i].count; ++k) {
            const struct bench_entry *x = &b->shapes[i].entries[k];
            wrong |= x->wrong;
            figures |= x->seconds != NULL && x->role == BENCH_KERNEL;
        }
    }
    return wrong ? EXIT_KERNEL_WRONG : figures ? EXIT_PASSED : EXIT_NOTHING_RAN;
}

/* The user's sets, and the values of one of the six shapes; names stay the user's and the table's. */
static struct sets sets_of(const struct options *o, size_t shape) {
    struct sets s = o->sets;
    for (size_t i = 0; o->six && i < 3 && s.count < SETS_MAX; ++i) {
        s.values[s.count++] = six[shape][i];
    }
    return s;
}

static bool run_shapes(struct bench *b, const struct options *o, struct error *e) {
    const size_t count = o->six ? MOST_SHAPES : 1;
    enum contest_end end = CONTEST_DONE;
    for (size_t i = 0; i < count && end == CONTEST_DONE; ++i) {
        char *progress = isatty(STDERR_FILENO) ? must_format("[%zu/%zu]", i + 1, count) : NULL;
        const struct sets sets = sets_of(o, i);
        const struct contest c = {.kernels = b->kernels,
                                  .kernel_count = b->kernel_count,
                                  .sets = &sets,
                                  .more = usual,
                                  .more_count = 3,
                                  .data = o->data,
                                  .rounds = (size_t)o->rounds,
                                  .ceilings = !o->no_ceilings,
                                  .judging = &o->judging,
                                  .progress = progress};
        end = contest_run(&c, &b->head, &b->shapes[b->shape_count++], e);
        if (progress != NULL) {
            fprintf(stderr, "\r\033[K");
        }
        free(progress);
        if (end == CONTEST_FAILED) {
            return false;
        }
        if (i == 0) {
            bench_print_head(stdout, &b->head);
        }
        bench_print(stdout, &b->shapes[i]);
        flush_output();
    }
    return true;
}

static int bench(const char *const *names, size_t count, struct options *o) {
    struct bench b = {.root = NULL};
    struct error e;
    int code = EXIT_INPUT;
    bool good = (b.root = project_root(&e)) != NULL && load_measured_tables(b.root, &e);
    for (size_t i = 0; good && i < count; ++i) {
        good = load_kernel(&b, names[i], o->six, o->judging.json, &e);
    }
    if (good) {
        judging_threads("bench", &o->judging);
        write_head(&b, o);
        good = run_shapes(&b, o, &e) &&
               (o->judging.json == NULL || bench_json(o->judging.json, &b.head, b.shapes, b.shape_count, &e));
        code = exit_code(&b);
    }
    if (!good) {
        flush_output();
        code = usage_error("bench", "%s", e.text);
    }
    bench_free(&b);
    return code;
}

static int take_rounds(const char *text, int64_t *rounds) {
    if (*rounds > 0) {
        return usage_error("bench", "--rounds is given twice");
    }
    return yaml_parse_integer(text, rounds) == NULL && *rounds >= 1 && *rounds <= MOST_ROUNDS
               ? -1
               : usage_error("bench", "--rounds %s: want an integer in 1 .. %d", text, MOST_ROUNDS);
}

/* What the options say together: -1, or the exit code after a message. */
static int check_options(struct options *o) {
    if (o->judging.devices.all) {
        return usage_error("bench", "--device all: times of one GPU say nothing of another; want --device N");
    }
    for (size_t i = 0; o->six && i < o->sets.count; ++i) {
        const char *name = o->sets.values[i].name;
        if (strcmp(name, "nt") == 0 || strcmp(name, "od") == 0 || strcmp(name, "id") == 0) {
            return usage_error("bench", "--shapes six: nt, od and id are the shapes', --set %s does not go with it",
                               name);
        }
    }
    return judging_check("bench", &o->judging);
}

int bench_main(int argc, char **argv) {
    enum { SET = 256, SHAPES, ROUNDS, DATA, CEILINGS, NO_CEILINGS };
    static const struct option longs[] = {{"set", required_argument, NULL, SET},
                                          {"shapes", required_argument, NULL, SHAPES},
                                          {"rounds", required_argument, NULL, ROUNDS},
                                          {"data", required_argument, NULL, DATA},
                                          {"ceilings", no_argument, NULL, CEILINGS},
                                          {"no-ceilings", no_argument, NULL, NO_CEILINGS},
                                          {"device", required_argument, NULL, JUDGING_DEVICE},
                                          {"json", required_argument, NULL, JUDGING_JSON},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {
        .data = DATA_RAND, .judging = {.threads = omp_get_max_threads(), .runner = &runner_device}, .argc = argc};
    char **typed = must_calloc((size_t)argc + 1, sizeof *typed); /* getopt_long moves argv's around */
    memcpy(typed, argv, (size_t)argc * sizeof *typed);
    o.argv = typed;
    bool data_given = false;
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        if (c == SET) {
            code = sets_option("bench", &o.sets, optarg);
        } else if (c == SHAPES) {
            o.six = strcmp(optarg, "six") == 0;
            code = o.six ? -1 : usage_error("bench", "--shapes %s: want six; --set gives one shape", optarg);
        } else if (c == ROUNDS) {
            code = take_rounds(optarg, &o.rounds);
        } else if (c == DATA) {
            code = data_given ? usage_error("bench", "--data is given twice")
                   : data_class_made(optarg, &o.data)
                       ? -1
                       : usage_error("bench", "--data %s: want exact, coded, adv or rand", optarg);
            data_given = true;
        } else if (c == CEILINGS || c == NO_CEILINGS) {
            o.no_ceilings = c == NO_CEILINGS;
        } else {
            code = judging_option("bench", usage, argc, argv, c, &o.judging);
        }
    }
    const size_t count = (size_t)(argc - optind);
    if (code < 0 && (count < 1 || count > MOST_KERNELS)) {
        code = usage_error("bench", "want 1 to %d kernels (see warpproof bench --help)", MOST_KERNELS);
    }
    o.rounds = o.rounds > 0 ? o.rounds : USUAL_ROUNDS;
    code = code >= 0 ? code : check_options(&o);
    code = code >= 0 ? code : bench((const char *const *)argv + optind, count, &o);
    sets_free(&o.sets);
    free(typed);
    return code;
}
