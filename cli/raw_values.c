#include "raw_values.h"
#include "../gpu/raw.h"
#include "../gpu/yaml.h"
#include "../ref/printable.h"
#include "../reports/file.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct value_range value_range_empty = {INFINITY, -INFINITY, 0};

void value_range_add(struct value_range *r, const float *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            r->not_finite++;
            continue;
        }
        r->least = values[i] < r->least ? values[i] : r->least;
        r->largest = values[i] > r->largest ? values[i] : r->largest;
    }
}

int parse_size(const char *command, const char *option, const char *text, size_t *value) {
    int64_t n;
    if (yaml_parse_integer(text, &n) != NULL || n < 1 || n > INT32_MAX)
        return usage_error(command, "%s %s: want an integer in 1 .. %d", option, text, INT32_MAX);
    *value = (size_t)n;
    return -1;
}

int check_out(const char *command, const char *out, const char *const *inputs, size_t count) {
    struct error e;
    if (!out)
        return usage_error(command, "want --out FILE (see warpproof %s --help)", command);
    if (!*out)
        return usage_error(command, "--out: want the name of a file");
    if (!strcmp(out, "-"))
        return usage_error(command, "--out -: want the name of a file; standard output is /dev/stdout");
    for (size_t i = 0; i < count; i++)
        if (inputs[i] && file_same(out, inputs[i]))
            return usage_error(command, "--out %s is the input %s", out, inputs[i]);
    return file_can_put(out, &e) ? -1 : usage_error(command, "%s", e.text);
}

FILE *summary_stream(const char *out) {
    return file_is_stream(out, stdout) ? stderr : stdout;
}

static void print_json(FILE *to, const struct conversion *c, size_t size, const char *sha256) {
    fprintf(to, "{\"format\": \"%s\", \"blocks\": %zu, \"values\": %zu, \"bytes\": %zu, \"sha256\": \"%s\", ",
            c->format, c->blocks, c->values, size, sha256);
    if (c->range.least <= c->range.largest)
        fprintf(to, "\"least\": %.9g, \"largest\": %.9g, ", c->range.least, c->range.largest);
    else
        fputs("\"least\": null, \"largest\": null, ", to);
    fprintf(to, "\"not_finite\": %" PRIu64 ", \"approximate\": %s}\n", c->range.not_finite,
            c->approximate ? "true" : "false");
}

static void print_text(FILE *to, const struct conversion *c, const char *out, size_t size, const char *sha256) {
    char shown[1024];
    fprintf(to, "%s  %zu blocks  %zu values  ", c->format, c->blocks, c->values);
    if (c->range.least <= c->range.largest)
        fprintf(to, "least %.9g  largest %.9g  ", c->range.least, c->range.largest);
    if (c->range.not_finite)
        fprintf(to, "%" PRIu64 " not finite\n", c->range.not_finite);
    else
        fputs("finite\n", to);
    fprintf(to, "%s  %zu bytes  sha256 %s\n", printable(shown, sizeof shown, out, strlen(out)), size, sha256);
}

int finish_conversion(const char *command, const struct conversion *c, const char *out, const void *bytes, size_t size,
                      bool json) {
    struct error e;
    char sha256[65];
    if (!sha256_hex(bytes, size, sha256))
        return usage_error(command, "cannot compute the sha256 of the output");
    FILE *to = summary_stream(out);
    if (!file_put(out, bytes, size, &e))
        return usage_error(command, "%s", e.text);
    if (json)
        print_json(to, c, size, sha256);
    else
        print_text(to, c, out, size, sha256);
    if (c->approximate) {
        flush_output();
        say_approximate(command, c->format);
    }
    return EXIT_PASSED;
}

bool prepare_tables(const char *command) {
    struct error e;
    char *root = project_root(&e);
    const bool good = !root || load_measured_tables(root, &e);
    free(root);
    if (!good)
        usage_error(command, "%s", e.text);
    return good;
}

void say_approximate(const char *command, const char *what) {
    fprintf(stderr,
            "warpproof %s: %s is approximate here: its bits need fixtures/golden/rcp_approx_sm90.bin.zz, which is "
            "not there\n",
            command, what);
}
