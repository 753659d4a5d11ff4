/* warpproof census: what a kernel executes, by class and by source line. */
#include "../reports/census.h"
#include "../oracles/trial.h"
#include "../ref/checked.h"
#include "../reports/terminal.h"
#include "command.h"
#include "counting.h"
#include "selecting.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof census KERNEL [--set NAME=VALUE]... [--lines N] [--arch NAME] [--json FILE] [-j N]\n"
    "       warpproof census --table [PATTERN]... [--arch NAME] [--json FILE] [-j N]\n"
    "       warpproof census --table --launches [PATTERN]... [--runner machine|device] [-j N]\n"
    "       warpproof census --table --counters FILE [--explained FILE] [PATTERN]... [--json FILE] [-j N]\n"
    "\n"
    "Runs a kernel on the PTX machine and counts what it executes: warp instructions by class and by source line, "
    "shared\n"
    "wavefronts and bank conflicts, sectors of global memory, and each of them for a multiply-add. The closed forms "
    "in\n"
    "`counts` of the launch file must agree. KERNEL is a name of `warpproof list kernels`, or the path of a launch "
    "file.\n"
    "With --table: a row for each kernel of the project that multiplies (or whose name a PATTERN matches), side by "
    "side,\n"
    "and what others published of the same work beside what is counted here (`published` in the launch files).\n"
    "\n"
    "  --set NAME=VALUE   a value for the launch file's expressions; kernels with a contract default to nt=128, "
    "od=128,\n"
    "                     id=1024\n"
    "  --table            many kernels, a row each\n"
    "  --launches         run each launch of the table once, with its operands, judge it, and print which was which: "
    "for "
    "a\n"
    "                     profiler to count (ci/counters-device)\n"
    "  --runner NAME      machine (default) or device, a real GPU, which counts nothing: --launches alone\n"
    "  --counters FILE    beside the machine's counts what a GPU counted of the same launches: a table of "
    "ci/counters-device\n"
    "  --explained FILE   why the two differ where they do (default fixtures/counters/explained.yaml)\n"
    "  --lines N          the N source lines that execute most, and the N access sites with most conflicts\n"
    "                     (default 12; 0: all)\n"
    "  --arch NAME        the architecture whose limits count (default sm_90)\n"
    "  --json FILE        write the counts, whole or not at all\n"
    "  -j, --threads N    CPU threads (default: all)\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 done, 1 the kernel is wrong or executes another number than its closed forms or a GPU's counters say, 2 "
    "input or\nusage error, 3 no kernel matches a PATTERN, or nothing was compared\n";

struct options {
    struct sets sets;
    int64_t lines;
    bool table, launches, lines_given;
    const char *counters, *explained;
    struct judging judging;
};

static void print_head(const struct spec *s, const struct counting *c) {
    size_t count;
    struct shape_value *values = counting_shape(s, c, &count);
    printf("%s", s->kernel);
    for (size_t i = 0; i < count; ++i) {
        printf("%s%s = %lld", i > 0 ? ", " : ": ", values[i].name, (long long)values[i].value);
    }
    printf("\n");
    free(values);
}

/* Of several launches each under its own heading. */
static void print_tables(const struct spec *s, const struct outcome *o, size_t lines) {
    for (size_t i = 0; i < o->census_count; ++i) {
        const struct census *c = &o->censuses[i];
        if (c->entry != NULL) {
            printf("%slaunch %zu of %zu: entry %s\n", i > 0 ? "\n" : "", i + 1, s->then_count + 1, c->entry);
        }
        census_table(stdout, c, lines);
    }
}

static int census(const char *kernel, struct options *o) {
    struct error e;
    char *root = project_root(&e);
    char *path = root != NULL ? kernel_file(kernel, root, &e) : NULL;
    struct spec *s = path != NULL && load_measured_tables(root, &e) ? spec_load(path, root, &e) : NULL;
    struct ptx_module *m = s != NULL ? spec_module(s, &e) : NULL;
    struct outcome outcome = {0};
    int code = EXIT_INPUT;
    bool good = m != NULL && json_spares_spec(o->judging.json, s, &e);
    if (good) {
        static const struct shape_value tile[] = {{"nt", 128}, {"od", 128}, {"id", 1024}};
        const struct counting c = {.sets = &o->sets, .more = tile, .more_count = 3, .judging = &o->judging};
        judging_threads("census", &o->judging);
        good = counting_run(s, m, &c, &outcome, &e);
        if (good) {
            print_head(s, &c);
        }
    }
    if (good && outcome.judged) {
        print_tables(s, &outcome, (size_t)o->lines);
        const struct census_of_kernel counted = {s->kernel, outcome.censuses, outcome.census_count};
        good = o->judging.json == NULL || census_json(o->judging.json, &counted, 1, &e);
    }
    if (good && outcome.findings.count > 0) {
        printf("\n");
        terminal_failure(stdout, &outcome, NULL, 0);
    }
    if (good) {
        const enum verdict v = outcome_verdict(&outcome);
        code = verdict_is_wrong_kernel(v) ? EXIT_KERNEL_WRONG : v == VERDICT_PASS ? EXIT_PASSED : EXIT_INPUT;
    } else {
        flush_output();
        usage_error("census", "%s", e.text);
    }
    outcome_free(&outcome);
    ptx_free(m);
    spec_free(s);
    free(path);
    free(root);
    return code;
}

/* -1, or the exit code after a message: options that do not go together. */
static int check_modes(const struct options *o) {
    const bool launches = o->launches || o->judging.runner == &runner_device;
    if (o->table && (o->sets.count > 0 || o->lines_given)) {
        return usage_error("census", "--table has its own shapes, and no lines: --set and --lines do not go with it");
    }
    if (!o->table && (launches || o->counters != NULL)) {
        return usage_error("census", "--launches, --runner device and --counters go with --table");
    }
    if (launches && (o->counters != NULL || o->judging.json != NULL)) {
        return usage_error("census", "--launches and --runner device count nothing: --counters and --json do not go "
                                     "with them");
    }
    if (o->explained != NULL && o->counters == NULL) {
        return usage_error("census", "--explained goes with --counters");
    }
    return -1;
}

int census_main(int argc, char **argv) {
    enum { SET = 256, LINES, TABLE, LAUNCHES, COUNTERS, EXPLAINED };
    static const struct option longs[] = {{"set", required_argument, NULL, SET},
                                          {"lines", required_argument, NULL, LINES},
                                          {"table", no_argument, NULL, TABLE},
                                          {"launches", no_argument, NULL, LAUNCHES},
                                          {"counters", required_argument, NULL, COUNTERS},
                                          {"explained", required_argument, NULL, EXPLAINED},
                                          {"runner", required_argument, NULL, JUDGING_RUNNER},
                                          {"arch", required_argument, NULL, JUDGING_ARCH},
                                          {"json", required_argument, NULL, JUDGING_JSON},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {.lines = 12, .judging = {.threads = omp_get_max_threads()}};
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        if (c == SET) {
            code = sets_option("census", &o.sets, optarg);
        } else if (c == TABLE) {
            o.table = true;
        } else if (c == LAUNCHES) {
            o.launches = true;
        } else if (c == COUNTERS) {
            code = take_once("census", "--counters", &o.counters);
        } else if (c == EXPLAINED) {
            code = take_once("census", "--explained", &o.explained);
        } else if (c == LINES) {
            o.lines_given = true;
            code = yaml_parse_integer(optarg, &o.lines) == NULL && o.lines >= 0
                       ? -1
                       : usage_error("census", "--lines %s: want an integer in 0 .. 9223372036854775807", optarg);
        } else {
            code = judging_option("census", usage, argc, argv, c, &o.judging);
        }
    }
    code = code >= 0 ? code : check_modes(&o);
    code = code >= 0 ? code : judging_check("census", &o.judging);
    if (code < 0 && o.table) {
        const struct ladder_request q = {.patterns = (const char *const *)argv + optind,
                                         .pattern_count = (size_t)(argc - optind),
                                         .launches = o.launches || o.judging.runner == &runner_device,
                                         .counters = o.counters,
                                         .explained = o.explained};
        code = check_patterns("census", q.patterns, q.pattern_count);
        code = code >= 0 ? code : census_ladder(&q, &o.judging);
    } else if (code < 0) {
        code = optind + 1 == argc ? census(argv[optind], &o)
                                  : usage_error("census", "want one kernel (see warpproof census --help)");
    }
    sets_free(&o.sets);
    return code;
}
