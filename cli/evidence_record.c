/* warpproof evidence record: cases on a real GPU, and a line of digests for each. */
#include "../gpu/device/device.h"
#include "../ref/checked.h"
#include "../reports/evidence.h"
#include "../reports/file.h"
#include "../reports/terminal.h"
#include "case_set.h"
#include "command.h"
#include "judging.h"
#include "selecting.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char usage[] =
    "usage: warpproof evidence record [PATTERN]... --out FILE [--all] [--device N|all] [-j N]\n"
    "\n"
    "Runs the cases of fixtures/cases (or those that a PATTERN selects) on a GPU, judges them as `gate --runner "
    "device`\n"
    "does, and writes a JSON line for each: digests of the program, of all that went in and of the bytes that came "
    "out,\n"
    "verdict, GPU, driver, toolkit, date, command. `evidence check` holds them to the contracts, without a GPU.\n"
    "\n"
    "  --out FILE         reports/evidence/DATE-GPU-WHAT/evidence.jsonl.gz; a name that ends in .gz is compressed. "
    "The\n"
    "                     file is written whole or not at all, once all cases have run\n"
    "  --all              those of fixtures/cases/all as well\n" DEVICES_USAGE
    "  -j, --threads N    CPU threads (default: all)\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 all passed, 1 a kernel is wrong (the lines say so), 2 input or usage error, no GPU, 3 nothing ran\n";

struct options {
    struct judging judging;
    const char *out;
    bool all;
    const char *const *patterns;
    size_t pattern_count;
    char *command; /* as it was typed, but for the folder of the program */
};

struct recording {
    const struct options *o;
    const struct case_set *set;
    char (*programs)[DIGEST_HEX];       /* (kernel_count) */
    struct outcome *outcomes;           /* (chosen_count) */
    struct evidence_line *lines;        /* (chosen_count) */
    struct device_identity *identities; /* (gpus) */
    char date[11];
};

static void record_case(void *context, const struct case_turn *turn) {
    struct recording *r = context;
    const struct test_case *c = turn->c;
    struct shape_value values[3];
    const struct shape shape = case_shape(c, values);
    struct operands operands;
    struct error e;
    const struct ptx_module *module = case_set_module(r->set, c->spec);
    struct outcome *out = &r->outcomes[turn->number];
    const struct trial t = {.id = c->id,
                            .spec = c->spec,
                            .module = module,
                            .runner = &runner_device,
                            .contract = c->contract,
                            .operands = &operands,
                            .shape = &shape,
                            .threads = turn->threads,
                            .options = judging_launch(&r->o->judging, turn->turn),
                            .digest_inputs = true};
    if (case_operands(c, &operands, &e)) {
        trial_run(&t, out);
        operands_free(&operands);
    } else {
        trial_refuse(&t, &e, out);
    }
    out->rerun =
        must_format("%s gate --runner device%s %s", command_again(r->set->root), r->o->all ? " --all" : "", c->id);
    const struct device_identity *id = &r->identities[t.options.gpu - r->o->judging.devices.first];
    char *toolkit = program_toolkit(module);
    struct evidence_line *l = &r->lines[turn->number];
    *l = (struct evidence_line){.id = must_strdup(c->id),
                                .kernel = must_strdup(c->spec->kernel),
                                .verdict = outcome_verdict(out),
                                .device = must_strdup(id->name),
                                .driver = must_strdup(id->driver),
                                .cuda = must_format("%d.%d", id->cuda_version / 1000, id->cuda_version % 1000 / 10),
                                .toolkit = toolkit != NULL ? toolkit : must_strdup("unknown"),
                                .date = must_strdup(r->date),
                                .command = must_strdup(r->o->command)};
    memcpy(l->ptx, r->programs[case_set_kernel(r->set, c->spec)], sizeof l->ptx);
    memcpy(l->inputs, out->inputs, sizeof l->inputs);
    if (out->complete) { /* else no GPU gave these bytes */
        memcpy(l->output, out->digest, sizeof l->output);
    }
}

static bool identify(struct recording *r, struct error *e) {
    const struct devices *d = &r->o->judging.devices;
    r->identities = must_calloc((size_t)d->count, sizeof *r->identities);
    for (int i = 0; i < d->count; ++i) {
        if (!device_identify(d->first + i, &r->identities[i], e)) {
            return false;
        }
    }
    return true;
}

/* The driver would load the cubin, and the line would name the PTX. */
static bool no_cubins(const struct case_set *set, struct error *e) {
    for (size_t i = 0; i < set->list.count; ++i) {
        const struct spec *s = set->list.cases[i].spec;
        if (set->chosen[i] && s->cubin != NULL) {
            return fail(e, "%s has a cubin, which a GPU would run: what is recorded is the PTX's", s->path);
        }
    }
    return true;
}

/* A recording is a file of its own: what was recorded before is not lost by mistake. */
static bool check_out(const char *path, struct error *e) {
    struct stat s;
    if (stat(path, &s) == 0) {
        return fail(e, "%s is there already; a recording is a file of its own", path);
    }
    return file_can_put(path, e);
}

/* A case that could not be run on the GPU is no evidence of anything. */
static bool write_lines(const struct recording *r, size_t count, struct error *e) {
    for (size_t i = 0; i < count; ++i) {
        if (r->lines[i].inputs[0] == 0 || r->lines[i].verdict == VERDICT_INPUT) {
            return fail(e, "nothing is written: %s could not be run", r->lines[i].id);
        }
    }
    return evidence_write(r->o->out, r->lines, count, e);
}

static int record(struct options *o) {
    const struct case_set_request request = {
        .command = "evidence record", .all = o->all, .patterns = o->patterns, .pattern_count = o->pattern_count};
    struct case_set set;
    struct error e;
    int code;
    const double start = omp_get_wtime();
    struct recording r = {.o = o, .set = &set};
    const time_t now = time(NULL);
    struct tm day;
    bool good = case_set_open(&request, &set, &code, &e);
    if (good) {
        code = EXIT_INPUT;
        good = no_cubins(&set, &e) && case_set_digests(&set, &r.programs, &e);
    }
    if (good) {
        good = gmtime_r(&now, &day) != NULL && strftime(r.date, sizeof r.date, "%Y-%m-%d", &day) == 10
                   ? identify(&r, &e)
                   : fail(&e, "the clock tells no date");
    }
    const size_t n = set.chosen_count;
    if (good) {
        judging_threads("evidence record", &o->judging);
        r.outcomes = must_calloc(n + 1, sizeof *r.outcomes);
        r.lines = must_calloc(n + 1, sizeof *r.lines);
        case_set_each(&set, o->judging.threads, record_case, &r);
        const struct totals t = totals_of(r.outcomes, n, omp_get_wtime() - start, &o->judging);
        terminal_table(stdout, r.outcomes, n);
        if (t.failed > 0) {
            printf("\n");
        }
        terminal_failures(stdout, r.outcomes, n, 4, 8);
        good = write_lines(&r, n, &e);
        code = good ? exit_code_of(r.outcomes, n) : EXIT_INPUT;
        printf("\n");
        terminal_last_line(stdout, &t);
    }
    if (!good) {
        flush_output();
        usage_error("evidence record", "%s", e.text);
    }
    struct recorded written = {.lines = r.lines, .count = r.lines != NULL ? n : 0};
    recorded_free(&written);
    for (size_t i = 0; r.outcomes != NULL && i < n; ++i) {
        outcome_free(&r.outcomes[i]);
    }
    free(r.outcomes);
    free(r.programs);
    free(r.identities);
    case_set_free(&set);
    return code;
}

int evidence_record_main(int argc, char **argv) {
    enum { OUT = 256, ALL };
    static const struct option longs[] = {{"out", required_argument, NULL, OUT},
                                          {"all", no_argument, NULL, ALL},
                                          {"device", required_argument, NULL, JUDGING_DEVICE},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {.judging = {.threads = omp_get_max_threads(), .runner = &runner_device}};
    struct error e;
    o.command = command_text("warpproof evidence", argc, argv);
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        if (c == OUT) {
            code = take_once("evidence record", "--out", &o.out);
        } else if (c == ALL) {
            o.all = true;
        } else {
            code = judging_option("evidence record", usage, argc, argv, c, &o.judging);
        }
    }
    o.patterns = (const char *const *)(argv + optind);
    o.pattern_count = (size_t)(argc - optind);
    code = code >= 0 ? code : check_patterns("evidence record", o.patterns, o.pattern_count);
    if (code < 0 && o.out == NULL) {
        code = usage_error("evidence record", "want --out FILE (see warpproof evidence record --help)");
    }
    if (code < 0 && strlen(o.command) > EVIDENCE_COMMAND) {
        code = usage_error("evidence record",
                           "the command line is too long to be recorded (%d bytes): choose cases by a glob",
                           EVIDENCE_COMMAND);
    }
    if (code < 0 && !check_out(o.out, &e)) {
        code = usage_error("evidence record", "%s", e.text);
    }
    code = code >= 0 ? code : judging_check("evidence record", &o.judging);
    code = code >= 0 ? code : record(&o);
    free(o.command);
    return code;
}
