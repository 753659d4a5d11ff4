/* warpproof dequantize: a tensor of a GGUF file, or raw blocks, to raw float32. */
#include "../gpu/raw.h"
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "../ref/format.h"
#include "../ref/gguf.h"
#include "../ref/printable.h"
#include "judging.h"
#include "raw_values.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof dequantize FILE.gguf --tensor NAME --out FILE [--json]\n"
    "       warpproof dequantize FILE --format F [--nt N --id N] --out FILE [--json]\n"
    "\n"
    "Writes the values of a GGUF tensor, or of a file of raw blocks, as raw float32, little-endian. Each value is\n"
    "rounded once an operation, as the format's file in ref/ says.\n"
    "\n"
    "  --tensor NAME  the tensor; its first extent goes fastest\n"
    "  --format F     format of the blocks, of weights or activations (warpproof list formats)\n"
    "  --nt N --id N  tokens and depth of a buffer of activations; needed where the format has a layout of its own,\n"
    "                 a size to check elsewhere\n"
    "  --out FILE     file to write, whole or not at all, as --json of `gate` does; standard output is /dev/stdout\n"
    "  --json         print the summary as one line of JSON: format, blocks, values, bytes and sha256 of FILE, least "
    "and\n"
    "                 largest finite value, not_finite, approximate\n"
    "  --help         this text\n"
    "\n"
    "exit: 0 done, 2 input, usage or environment error\n";

struct options {
    const char *in, *tensor, *format, *out;
    size_t nt, id; /* 0: not given */
    bool json;
};

static int refuse(const struct error *e) {
    return usage_error("dequantize", "%s", e->text);
}

/* Room for float32 values. NULL after a message. */
static float *room(size_t values) {
    size_t bytes;
    float *x = size_mul(values, sizeof *x, &bytes) ? malloc(bytes + 1) : NULL;
    if (!x)
        usage_error("dequantize", "no memory for %zu values", values);
    return x;
}

/* Blocks of a weight format, one after the other. */
static int convert_blocks(const struct options *o, const struct block_format *f, const uint8_t *bytes, size_t blocks) {
    struct conversion c = {.format = f->name, .blocks = blocks, .range = value_range_empty};
    if (!size_mul(blocks, f->block_values, &c.values))
        return usage_error("dequantize", "%zu blocks of %s are too many", blocks, f->name);
    float *x = room(c.values);
    if (!x)
        return EXIT_INPUT;
#pragma omp parallel for schedule(static)
    for (size_t b = 0; b < blocks; b++)
        f->dequantize(bytes + b * f->block_bytes, x + b * f->block_values);
    value_range_add(&c.range, x, c.values);
    const int code = finish_conversion("dequantize", &c, o->out, x, c.values * sizeof *x, o->json);
    free(x);
    return code;
}

static int convert_activations(const struct options *o, const struct activation_format *f, const uint8_t *bytes,
                               size_t nt, size_t id) {
    struct conversion c = {.format = f->name, .range = value_range_empty};
    if (!size_mul(nt, id, &c.values))
        return usage_error("dequantize", "%zu tokens of %zu values are too many", nt, id);
    c.blocks = c.values / f->block_values;
    float *x = room(c.values);
    if (!x)
        return EXIT_INPUT;
    activation_dequantize(f, bytes, nt, id, x);
    value_range_add(&c.range, x, c.values);
    const int code = finish_conversion("dequantize", &c, o->out, x, c.values * sizeof *x, o->json);
    free(x);
    return code;
}

static int dequantize_tensor(const struct options *o) {
    struct error e;
    char shown[256];
    struct gguf_file *f = gguf_open_cut(o->in, &e);
    if (!f)
        return refuse(&e);
    const struct gguf_tensor *t = gguf_tensor_named(f, o->tensor);
    int code;
    printable(shown, sizeof shown, o->tensor, strlen(o->tensor));
    if (!t && f->cut)
        code = usage_error("dequantize", "%s; tensor '%s' is not in what is left", f->missing.text, shown);
    else if (!t)
        code = usage_error("dequantize", "%s: there is no tensor '%s' (warpproof inspect lists them)", o->in, shown);
    else if (!t->format)
        code = usage_error("dequantize", "%s: tensor '%s' is %s, which has no decoder", o->in, shown, t->type_name);
    else if (!t->data)
        code = usage_error("dequantize", "%s: the file was cut short, the data of tensor '%s' are not there whole",
                           o->in, shown);
    else
        code = convert_blocks(o, t->format, t->data, t->bytes / t->format->block_bytes);
    gguf_close(f);
    return code;
}

/* The shape fits the file: -1, or the exit code after a message. *nt, *id: of the options, or one row of all values. */
static int check_shape(const struct options *o, const struct activation_format *f, size_t bytes, size_t *nt,
                       size_t *id) {
    size_t want;
    *nt = o->nt;
    *id = o->id;
    if (!o->nt && f->get)
        return usage_error("dequantize", "%s has a layout that the shape decides: want --nt N and --id N", f->name);
    if (!o->nt) {
        if (bytes % f->block_bytes)
            return usage_error("dequantize", "%s has %zu bytes, no multiple of the %zu of a block of %s", o->in, bytes,
                               f->block_bytes, f->name);
        *nt = 1;
        *id = bytes / f->block_bytes * f->block_values; /* at most 8 times the file */
        return -1;
    }
    if (*id % f->block_values)
        return usage_error("dequantize", "--id %zu: %s comes in blocks of %zu values", *id, f->name, f->block_values);
    if (!activation_bytes(f, *nt, *id, &want))
        return usage_error("dequantize", "--nt %zu --id %zu: more %s than there is memory", *nt, *id, f->name);
    return want == bytes ? -1
                         : usage_error("dequantize", "%s has %zu bytes, %s of --nt %zu --id %zu has %zu", o->in, bytes,
                                       f->name, *nt, *id, want);
}

static int dequantize_file(const struct options *o) {
    const struct block_format *w = format_named(o->format);
    const struct activation_format *a = activation_named(o->format);
    struct raw_file f;
    struct error e;
    size_t nt = 0, id = 0;
    if (!w && !a)
        return unknown_format("dequantize", o->format);
    if (a && o->nt) /* q8_K is a format of both */
        w = NULL;
    if (w && o->nt)
        return usage_error("dequantize", "--nt and --id are for activations; %s is a format of weights", w->name);
    if (!raw_open(o->in, &f, &e))
        return refuse(&e);
    int code = -1;
    if (!f.bytes)
        code = usage_error("dequantize", "%s is empty", o->in);
    else if (w && f.bytes % w->block_bytes)
        code = usage_error("dequantize", "%s has %zu bytes, no multiple of the %zu of a block of %s", o->in, f.bytes,
                           w->block_bytes, w->name);
    else if (!w)
        code = check_shape(o, a, f.bytes, &nt, &id);
    uint8_t *bytes = code < 0 ? raw_whole(&f, &e) : NULL;
    if (code < 0)
        code = !bytes ? refuse(&e)
               : w    ? convert_blocks(o, w, bytes, f.bytes / w->block_bytes)
                      : convert_activations(o, a, bytes, nt, id);
    free(bytes);
    raw_close(&f);
    return code;
}

int dequantize_main(int argc, char **argv) {
    enum { TENSOR = 256, FORMAT, NT, ID, OUT, JSON };
    static const struct option longs[] = {{"tensor", required_argument, NULL, TENSOR},
                                          {"format", required_argument, NULL, FORMAT},
                                          {"nt", required_argument, NULL, NT},
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
        if (c == TENSOR)
            o.tensor = optarg;
        else if (c == FORMAT)
            o.format = optarg;
        else if (c == NT || c == ID)
            code = parse_size("dequantize", c == NT ? "--nt" : "--id", optarg, c == NT ? &o.nt : &o.id);
        else if (c == OUT)
            o.out = optarg;
        else if (c == JSON)
            o.json = true;
        else if (c == 'h') {
            fputs(usage, stdout);
            return EXIT_PASSED;
        } else
            return option_error("dequantize", argc, argv, c);
    if (code >= 0)
        return code;
    if (argc - optind != 1)
        return usage_error("dequantize", "want one input file (see warpproof dequantize --help)");
    if (!o.tensor == !o.format)
        return usage_error("dequantize", "want either --tensor NAME, of a GGUF file, or --format F, of raw blocks");
    if (!o.nt != !o.id)
        return usage_error("dequantize", "--nt and --id go together");
    if (o.tensor && o.nt)
        return usage_error("dequantize", "--nt and --id are for raw activations; a tensor has its own shape");
    o.in = argv[optind];
    if ((code = check_out("dequantize", o.out, &o.in, 1)) >= 0)
        return code;
    judging_threads("dequantize", &threads);
    return o.tensor ? dequantize_tensor(&o) : dequantize_file(&o);
}
