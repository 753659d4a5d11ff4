#include "raw_values.h"
#include "../gpu/raw.h"
#include "../gpu/yaml.h"
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "../ref/format.h"
#include "../ref/printable.h"
#include "../reports/file.h"
#include "../reports/json_node.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

int unknown_format(const char *command, const char *name) {
    const char *near = NULL;
    for (size_t i = 0; block_formats[i]; i++)
        near = strcasecmp(block_formats[i]->name, name) ? near : block_formats[i]->name;
    for (size_t i = 0; activation_formats[i]; i++)
        near = strcasecmp(activation_formats[i]->name, name) ? near : activation_formats[i]->name;
    return near ? usage_error(command, "unknown format '%s': it is spelt %s", name, near)
                : usage_error(command, "unknown format '%s' (see warpproof list formats)", name);
}

static bool print_json(FILE *to, const struct conversion *c, size_t size, const char *sha256) {
    struct fy_document *d = fy_document_create(NULL);
    struct fy_node *m = fy_node_create_mapping(d);
    const bool any = c->range.least <= c->range.largest;
    json_add_string(d, m, "format", c->format);
    json_add(d, m, "blocks", json_number(d, "%zu", c->blocks));
    json_add(d, m, "values", json_number(d, "%zu", c->values));
    json_add(d, m, "bytes", json_number(d, "%zu", size));
    json_add_string(d, m, "sha256", sha256);
    json_add(d, m, "least", json_real(d, any, c->range.least));
    json_add(d, m, "largest", json_real(d, any, c->range.largest));
    json_add(d, m, "not_finite", json_number(d, "%" PRIu64, c->range.not_finite));
    json_add(d, m, "approximate", json_bool(d, c->approximate));
    const bool good = json_line(to, d, m) || ferror(to); /* what could not be written is told when stdout is closed */
    fy_document_destroy(d);
    return good;
}

static void print_text(FILE *to, const struct conversion *c, const char *out, size_t size, const char *sha256) {
    char shown[1024];
    fprintf(to, "%s  %zu block%s  %zu value%s  ", c->format, c->blocks, plural(c->blocks), c->values,
            plural(c->values));
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
    if (json && !print_json(to, c, size, sha256))
        return usage_error(command, "no memory for a line of JSON");
    if (!json)
        print_text(to, c, out, size, sha256);
    if (c->approximate) {
        flush_output();
        say_approximate(command, c->format);
    }
    return EXIT_PASSED;
}

bool prepare_tables(const char *command) {
    struct error e = {""};
    char *root = project_root(&e);
    const char *given = getenv("WARPPROOF_ROOT");
    const bool good =
        root ? load_measured_tables(root, &e) : !given || !given[0]; /* a root that is named must be one */
    free(root);
    if (!good)
        usage_error(command, "%s", e.text);
    return good;
}

void say_approximate(const char *command, const char *what) {
    fprintf(
        stderr,
        "warpproof %s: %s is approximate here: its bits need fixtures/golden/rcp_approx_sm90.bin.zz of the project's "
        "folder, which is not there (run from that folder, or set WARPPROOF_ROOT to it)\n",
        command, what);
}
