/* warpproof quantize: raw float32 to raw blocks. */
#include "../gpu/raw.h"
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "../ref/format.h"
#include "../ref/rcp_approx.h"
#include "judging.h"
#include "raw_values.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof quantize FILE --format F [--id N] --out FILE [--json]\n"
    "\n"
    "Quantises a file of raw float32, little-endian, as the format's file in ref/ says: to ggml's bytes, or where\n"
    "`warpproof list formats` says so, by a search of our own.\n"
    "\n"
    "  --format F  a format of weights or activations that has a quantiser (warpproof list formats)\n"
    "  --id N      values a row; the rows follow from the size. Needed for activations, whose layout it decides\n"
    "  --out FILE  file to write, whole or not at all, as --json of `gate` does; standard output is /dev/stdout\n"
    "  --json      print the summary as one line of JSON: format, blocks, values, bytes and sha256 of FILE, least and\n"
    "              largest finite value of the input, not_finite, approximate\n"
    "  --help      this text\n"
    "\n"
    "exit: 0 done, 2 input, usage or environment error\n";

struct options {
    const char *in, *format, *out;
    size_t id; /* 0: not given */
    bool json;
};

/* " q8_0 pad40 ...": the formats that have a quantiser. The caller frees it. */
static char *quantisable(void) {
    char *text = must_strdup("");
    for (size_t i = 0; block_formats[i] != NULL; i++)
        if (block_formats[i]->quantize != NULL) {
            char *longer = must_format("%s %s", text, block_formats[i]->name);
            free(text);
            text = longer;
        }
    for (size_t i = 0; activation_formats[i] != NULL; i++)
        if (activation_formats[i]->quantize != NULL) {
            char *longer = must_format("%s %s", text, activation_formats[i]->name);
            free(text);
            text = longer;
        }
    return text;
}

/* Where the two have the same number, F is taken as a weight's. -1, or the exit code after a message. */
static int find_format(const char *name, const struct block_format **w, const struct activation_format **a) {
    *w = format_named(name);
    *a = *w ? NULL : activation_named(name);
    if (*w ? (*w)->quantize != NULL : *a && (*a)->quantize)
        return -1;
    char *names = quantisable();
    const int code = usage_error("quantize",
                                 *w || *a ? "%s has no quantiser; formats with one:%s"
                                          : "unknown format '%s'; formats with a quantiser:%s",
                                 name, names);
    free(names);
    return code;
}

/* The file's values come in rows and blocks: -1, or the exit code after a message. */
static int check_values(const struct options *o, size_t bytes, size_t block_values) {
    const size_t row = o->id ? o->id : block_values, values = bytes / sizeof(float);
    if (!bytes)
        return usage_error("quantize", "%s is empty", o->in);
    if (bytes % sizeof(float))
        return usage_error("quantize", "%s has %zu bytes, no multiple of the 4 of a float32", o->in, bytes);
    if (row % block_values)
        return usage_error("quantize", "--id %zu: %s comes in blocks of %zu values", o->id, o->format, block_values);
    if (values % row)
        return usage_error("quantize", "%s has %zu values, no multiple of %s %zu", o->in, values,
                           o->id ? "--id" : "a block's", row);
    return -1;
}

static int convert(const struct options *o, const struct block_format *w, const struct activation_format *a,
                   const float *x, size_t values) {
    const size_t block_values = w ? w->block_values : a->block_values;
    const size_t nt = o->id ? values / o->id : 1;
    struct conversion c = {.format = w ? w->name : a->name,
                           .blocks = values / block_values,
                           .values = values,
                           .range = value_range_empty,
                           .approximate = !w && a->rcp_table && !rcp_approx_measured()};
    size_t size;
    uint8_t *out = NULL;
    if (w ? size_mul(c.blocks, w->block_bytes, &size) : activation_bytes(a, nt, o->id, &size))
        out = malloc(size + 1);
    if (!out)
        return usage_error("quantize", "no memory for %zu blocks of %s", c.blocks, c.format);
    if (!w)
        activation_quantize(a, x, nt, o->id, out);
#pragma omp parallel for schedule(static) if (w != NULL)
    for (size_t b = 0; b < (w ? c.blocks : 0); b++)
        w->quantize(x + b * block_values, out + b * w->block_bytes);
    value_range_add(&c.range, x, values);
    const int code = finish_conversion("quantize", &c, o->out, out, size, o->json);
    free(out);
    return code;
}

static int quantize(const struct options *o) {
    const struct block_format *w;
    const struct activation_format *a;
    struct raw_file f;
    struct error e;
    int code = find_format(o->format, &w, &a);
    if (code >= 0)
        return code;
    if (a && !o->id)
        return usage_error("quantize", "%s is a format of activations: want --id N, the values a token", a->name);
    if (a && a->rcp_table && !prepare_tables("quantize"))
        return EXIT_INPUT;
    if (!raw_open(o->in, &f, &e))
        return usage_error("quantize", "%s", e.text);
    code = check_values(o, f.bytes, w ? w->block_values : a->block_values);
    uint8_t *x = code < 0 ? raw_whole(&f, &e) : NULL;
    if (code < 0)
        code = x ? convert(o, w, a, (const float *)(const void *)x, f.bytes / sizeof(float))
                 : usage_error("quantize", "%s", e.text);
    free(x);
    raw_close(&f);
    return code;
}

int quantize_main(int argc, char **argv) {
    enum { FORMAT = 256, ID, OUT, JSON };
    static const struct option longs[] = {{"format", required_argument, NULL, FORMAT},
                                          {"id", required_argument, NULL, ID},
                                          {"out", required_argument, NULL, OUT},
                                          {"json", no_argument, NULL, JSON},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {0};
    struct judging threads = {.threads = omp_get_max_threads()};
    int code = -1;
    opterr = 0;
    optind = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":h", longs, NULL)) != -1;)
        if (c == FORMAT)
            o.format = optarg;
        else if (c == ID)
            code = parse_size("quantize", "--id", optarg, &o.id);
        else if (c == OUT)
            o.out = optarg;
        else if (c == JSON)
            o.json = true;
        else if (c == 'h') {
            fputs(usage, stdout);
            return EXIT_PASSED;
        } else
            return option_error("quantize", argc, argv, c);
    if (code >= 0)
        return code;
    if (argc - optind != 1)
        return usage_error("quantize", "want one input file (see warpproof quantize --help)");
    if (!o.format)
        return usage_error("quantize", "want --format F (see warpproof list formats)");
    o.in = argv[optind];
    if ((code = check_out("quantize", o.out, &o.in, 1)) >= 0)
        return code;
    judging_threads("quantize", &threads);
    return quantize(&o);
}
