/* warpproof reference: a contract's bits for operands that any program dumped. */
#include "../gpu/operands.h"
#include "../gpu/raw.h"
#include "../ref/checked.h"
#include "../ref/contract.h"
#include "../ref/printable.h"
#include "../ref/rcp_approx.h"
#include "../ref/truth.h"
#include "../reports/file.h"
#include "../reports/json_node.h"
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
    struct activation_sums sums; /* of the activation */
    size_t not_finite;           /* cells of an f32 result */
    size_t cells, judged;        /* with --truth */
    double worst;                /* of the judged ones */
    bool approximate;
};

static bool is_f32(const struct contract *c) {
    return !strcmp(c->result, "f32");
}

static int refuse(const struct error *e) {
    return usage_error("reference", "%s", e->text);
}

static bool print_json(FILE *to, const struct options *o, const struct answer *a, const char *sha256) {
    const struct contract *c = o->contract;
    struct fy_document *d = fy_document_create(NULL);
    struct fy_node *m = fy_node_create_mapping(d);
    json_add_string(d, m, "contract", c->name);
    json_add_string(d, m, "weight", c->weight);
    json_add_string(d, m, "activation", c->activation);
    json_add_string(d, m, "result", c->result);
    json_add(d, m, "nt", json_number(d, "%zu", o->nt));
    if (c->weight)
        json_add(d, m, "od", json_number(d, "%zu", o->od));
    json_add(d, m, "id", json_number(d, "%zu", o->id));
    json_add_string(d, m, "split", o->split ? o->split : "none");
    json_add(d, m, "bytes", json_number(d, "%zu", a->size));
    json_add_string(d, m, "sha256", sha256);
    json_add(d, m, "approximate", json_bool(d, a->approximate));
    if (a->sums.wrong > 0)
        json_add(d, m, "wrong_sums", json_number(d, "%zu", a->sums.wrong));
    if (is_f32(c))
        json_add(d, m, "not_finite", json_number(d, "%zu", a->not_finite));
    if (o->truth) {
        json_add(d, m, "cells", json_number(d, "%zu", a->cells));
        json_add(d, m, "judged", json_number(d, "%zu", a->judged));
        json_add(d, m, "worst", a->judged ? json_number(d, "%.6g", a->worst) : json_number(d, "null"));
    }
    const bool good = json_line(to, d, m) || ferror(to); /* what could not be written is told when stdout is closed */
    fy_document_destroy(d);
    return good;
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
    if (a->not_finite > 0)
        fprintf(to, "%zu of %zu results are not finite\n", a->not_finite, a->size / sizeof(float));
    if (!o->truth)
        return;
    if (a->judged == 0)
        fprintf(to, "truth: none of %zu cells could be judged: not finite, or without a bound\n", a->cells);
    else if (a->judged < a->cells)
        fprintf(
            to,
            "truth: worst |result - truth| is %.6g of the bound; %zu of %zu cells judged, the others are not finite "
            "or without a bound\n",
            a->worst, a->judged, a->cells);
    else
        fprintf(to, "truth: worst |result - truth| is %.6g of the bound\n", a->worst);
}

/* Every cell within its bound: -1. Else the exit code after a message. */
static int hold_to_truth(const struct options *o, const struct contract_operands *view, struct answer *a) {
    const struct truth_gap gap = truth_compare(o->contract, view, a->bytes);
    a->worst = gap.worst;
    a->judged = gap.judged;
    a->cells = o->contract->cells(view);
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
    if (o->json && !print_json(to, o, a, sha256))
        return usage_error("reference", "no memory for a line of JSON");
    if (!o->json)
        print_text(to, o, a, sha256);
    note_sums("reference", o->activation, &a->sums);
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
    struct answer a = {.bytes = result,
                       .size = operands->result_bytes,
                       .sums = operands->sums,
                       .approximate = c->rcp_table && !rcp_approx_measured()};
    for (size_t at = 0; is_f32(c) && at < a.size; at += sizeof(float)) {
        float cell;
        memcpy(&cell, result + at, sizeof cell);
        a.not_finite += !isfinite(cell);
    }
    int code = o->truth ? hold_to_truth(o, &operands->view, &a) : -1;
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
    if (o->contract->rcp_table && !prepare_tables("reference"))
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
    if (list && argc == 2) {
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
