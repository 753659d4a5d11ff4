/* warpproof reference: a contract's bits for operands that any program dumped. */
#include "../gpu/operands.h"
#include "../gpu/raw.h"
#include "../ref/checked.h"
#include "../ref/contract.h"
#include "../ref/printable.h"
#include "../ref/rcp_approx.h"
#include "../ref/truth.h"
#include "../reports/file.h"
#include "judging.h"
#include "raw_values.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof reference CONTRACT --weight FILE --activation FILE --nt N --od N --id N [--split S] --out FILE\n"
    "                                    [--truth] [--json] [-j N]\n"
    "       warpproof reference CONTRACT --activation FILE --nt N --id N --out FILE   (a quantiser; FILE is raw "
    "float32)\n"
    "       warpproof reference --list\n"
    "\n"
    "Computes what a kernel must write, byte for byte, from raw operands in the formats of the contract.\n"
    "\n"
    "  --weight FILE      (od, id) values in blocks, row-major\n"
    "  --activation FILE  a buffer of (nt, id) values in the layout of its format\n"
    "  --nt, --od, --id   tokens, output rows, depth\n"
    "  --split S          where the depth is cut: none (default), at:256,512 (depths in values), or stream-k:132\n"
    "                     (multiprocessors); only for contracts that split\n"
    "  --out FILE         file to write, whole or not at all, as --json of `gate` does; standard output is "
    "/dev/stdout\n"
    "  --truth            also compute the float64 truth; say the worst |result - truth| in units of the proved bound\n"
    "  --json             print the summary as one line of JSON\n"
    "  -j, --threads N    CPU threads (default: all)\n"
    "  --list             the contracts\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 done, 2 input, usage or environment error\n";

struct options {
    const struct contract *contract;
    const char *weight, *activation, *split, *out;
    size_t nt, od, id; /* 0: not given */
    bool truth, json;
    struct judging judging; /* threads alone */
};

/* What was computed, for the summary. */
struct answer {
    const uint8_t *bytes;
    size_t size;
    double worst; /* with --truth */
    bool approximate;
};

static int refuse(const struct error *e) {
    return usage_error("reference", "%s", e->text);
}

static void print_json(FILE *to, const struct options *o, const struct answer *a, const char *sha256) {
    const struct contract *c = o->contract;
    fprintf(to, "{\"contract\": \"%s\", ", c->name);
    if (c->weight)
        fprintf(to, "\"weight\": \"%s\", ", c->weight);
    fprintf(to, "\"activation\": \"%s\", \"result\": \"%s\", \"nt\": %zu, ", c->activation, c->result, o->nt);
    if (c->weight)
        fprintf(to, "\"od\": %zu, ", o->od);
    fprintf(to, "\"id\": %zu, \"split\": \"%s\", \"bytes\": %zu, \"sha256\": \"%s\", \"approximate\": %s", o->id,
            o->split ? o->split : "none", a->size, sha256, a->approximate ? "true" : "false");
    if (o->truth)
        fprintf(to, ", \"worst\": %.6g", a->worst);
    fputs("}\n", to);
}

static void print_text(FILE *to, const struct options *o, const struct answer *a, const char *sha256) {
    const struct contract *c = o->contract;
    char shown[1024];
    fprintf(to, "%s  %s%s%s -> %s  nt %zu  ", c->name, c->weight ? c->weight : "", c->weight ? " x " : "",
            c->activation, c->result, o->nt);
    if (c->weight)
        fprintf(to, "od %zu  ", o->od);
    fprintf(to, "id %zu", o->id);
    fprintf(to, o->split ? "  split %s\n" : "\n", o->split);
    fprintf(to, "%s  %zu bytes  sha256 %s\n", printable(shown, sizeof shown, o->out, strlen(o->out)), a->size, sha256);
    if (o->truth)
        fprintf(to, "truth: worst |result - truth| is %.6g of the bound\n", a->worst);
}

/* Every cell within its bound: *worst. Else the exit code after a message. */
static int hold_to_truth(const struct options *o, const struct contract_operands *view, const uint8_t *result,
                         double *worst) {
    const struct truth_gap gap = truth_compare(o->contract, view, result);
    *worst = gap.worst;
    if (gap.holds)
        return -1;
    if (gap.cell == SIZE_MAX)
        return usage_error("reference", "no memory for the truth of %zu cells", o->contract->cells(view));
    return usage_error("reference",
                       "contract %s breaks its bound at cell %zu: %.17g, truth %.17g +- %.3g; nothing is "
                       "written",
                       o->contract->name, gap.cell, gap.got, gap.value, gap.bound);
}

static int finish(const struct options *o, const struct answer *a) {
    struct error e;
    char sha256[65];
    if (!sha256_hex(a->bytes, a->size, sha256))
        return usage_error("reference", "cannot compute the sha256 of the result");
    FILE *to = summary_stream(o->out);
    if (!file_put(o->out, a->bytes, a->size, &e))
        return refuse(&e);
    if (o->json)
        print_json(to, o, a, sha256);
    else
        print_text(to, o, a, sha256);
    if (a->approximate) {
        flush_output();
        say_approximate("reference", o->contract->name);
    }
    return EXIT_PASSED;
}

static int evaluate(const struct options *o, const struct operands *operands) {
    const struct contract *c = o->contract;
    uint8_t *result = calloc(operands->result_bytes, 1);
    if (!result)
        return usage_error("reference", "no memory for a result of %zu bytes", operands->result_bytes);
    c->evaluate(&operands->view, result);
    struct answer a = {result, operands->result_bytes, 0, c->rcp_table && !rcp_approx_measured()};
    int code = o->truth ? hold_to_truth(o, &operands->view, result, &a.worst) : -1;
    code = code < 0 ? finish(o, &a) : code;
    free(result);
    return code;
}

static int reference(struct options *o) {
    struct operands_request r = {.contract = o->contract,
                                 .nt = o->nt,
                                 .od = o->od,
                                 .id = o->id,
                                 .data = DATA_FILE,
                                 .weight_file = {.path = o->weight},
                                 .activation_file = {.path = o->activation}};
    struct operands operands;
    struct error e;
    if (o->split && !split_parse(o->split, &r.split, &e))
        return usage_error("reference", "--split: %s", e.text);
    if (!prepare_tables("reference"))
        return EXIT_INPUT;
    if (!operands_make(&r, &operands, &e))
        return refuse(&e);
    judging_threads("reference", &o->judging);
    const int code = evaluate(o, &operands);
    operands_free(&operands);
    return code;
}

/* What the contract needs is given, and nothing else: -1, or the exit code after a message. */
static int check_options(const struct options *o) {
    const struct contract *c = o->contract;
    if (!c->weight && (o->weight || o->od))
        return usage_error("reference", "%s: contract %s is a quantiser and has no weight",
                           o->weight ? "--weight" : "--od", c->name);
    if (c->weight && !o->weight)
        return usage_error("reference", "contract %s needs --weight FILE, in %s", c->name, c->weight);
    if (!o->activation)
        return usage_error("reference", "contract %s needs --activation FILE, in %s", c->name, c->activation);
    if (!o->nt || !o->id || (c->weight && !o->od))
        return usage_error("reference", "contract %s needs %s N", c->name, !o->nt ? "--nt" : !o->id ? "--id" : "--od");
    const char *const inputs[] = {o->weight, o->activation};
    return check_out("reference", o->out, inputs, 2);
}

static int unknown_contract(const char *name) {
    usage_error("reference", "unknown contract '%s'; there are:", name);
    list_contracts(stderr);
    return EXIT_INPUT;
}

int reference_main(int argc, char **argv) {
    enum { WEIGHT = 256, ACTIVATION, NT, OD, ID, SPLIT, OUT, TRUTH, JSON, LIST };
    static const struct option longs[] = {{"weight", required_argument, NULL, WEIGHT},
                                          {"activation", required_argument, NULL, ACTIVATION},
                                          {"nt", required_argument, NULL, NT},
                                          {"od", required_argument, NULL, OD},
                                          {"id", required_argument, NULL, ID},
                                          {"split", required_argument, NULL, SPLIT},
                                          {"out", required_argument, NULL, OUT},
                                          {"truth", no_argument, NULL, TRUTH},
                                          {"json", no_argument, NULL, JSON},
                                          {"list", no_argument, NULL, LIST},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {.judging = {.threads = omp_get_max_threads()}};
    int code = -1;
    bool list = false;
    opterr = 0;
    optind = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;)
        switch (c) {
        case WEIGHT:
            o.weight = optarg;
            break;
        case ACTIVATION:
            o.activation = optarg;
            break;
        case NT:
            code = parse_size("reference", "--nt", optarg, &o.nt);
            break;
        case OD:
            code = parse_size("reference", "--od", optarg, &o.od);
            break;
        case ID:
            code = parse_size("reference", "--id", optarg, &o.id);
            break;
        case SPLIT:
            o.split = optarg;
            break;
        case OUT:
            o.out = optarg;
            break;
        case TRUTH:
            o.truth = true;
            break;
        case JSON:
            o.json = true;
            break;
        case LIST:
            list = true;
            break;
        default: /* -j, --help, and what is unknown */
            code = judging_option("reference", usage, argc, argv, c, &o.judging);
        }
    if (code >= 0)
        return code;
    if (list && optind == argc) {
        list_contracts(stdout);
        return EXIT_PASSED;
    }
    if (argc - optind != 1 || list)
        return usage_error("reference", "want one CONTRACT, or --list alone (see warpproof reference --help)");
    if (!(o.contract = contract_named(argv[optind])))
        return unknown_contract(argv[optind]);
    code = check_options(&o);
    return code >= 0 ? code : reference(&o);
}
