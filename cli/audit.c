/* warpproof audit: what in a PTX file leaves bits open. */
#include "../gpu/audit.h"
#include "../ref/checked.h"
#include "../reports/audit.h"
#include "../reports/file.h"
#include "command.h"
#include "judging.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof audit FILE.ptx [--entry NAME] [--arch NAME] [--lines N] [--json FILE]\n"
    "\n"
    "Reads a PTX file, runs nothing, and names what leaves bits open: mul and add that ptxas may fuse, approximate\n"
    "instructions, float atomics, values of the environment, and results that the PTX document leaves to the machine.\n"
    "What is open in the document but known by measurement (on sm_90), and .ftz, is counted and not held against the\n"
    "program; float mma of another architecture is known from the literature alone, and is.\n"
    "\n"
    "  --entry NAME   only this entry (default: all)\n"
    "  --arch NAME    the architecture that the bits are asked of (default sm_90)\n"
    "  --lines N      places shown of each kind and entry (default 5; 0: all)\n"
    "  --json FILE    write JSON lines, one an entry, whole or not at all\n"
    "  --help         this text\n"
    "\n"
    "exit: 0 nothing leaves bits open, 1 something does, 2 input or usage error, or an instruction that the machine "
    "does\n"
    "not run, 3 the file has no entry\n";

struct options {
    const char *entry, *json;
    const struct arch *arch;
    long lines;
};

static int audit(const char *path, const struct options *o) {
    struct error e;
    struct ptx_module *m = ptx_load(path, &e);
    if (m == NULL || !json_spares(o->json, path, &e) || (o->json != NULL && !file_can_put(o->json, &e))) {
        ptx_free(m);
        return usage_error("audit", "%s", e.text);
    }
    struct audit_report *reports = must_calloc(m->function_count + 1, sizeof *reports);
    size_t count = 0, open = 0, refused = 0;
    for (size_t i = 0; i < m->function_count; ++i) {
        const struct ptx_function *f = &m->functions[i];
        if (f->entry && !f->declared_only && (o->entry == NULL || strcmp(o->entry, f->name) == 0)) {
            reports[count].entry = f->name;
            audit_entry(m, f, o->arch, &reports[count].audit);
            reports[count].refusal = audit_refusal(m, f, o->arch);
            refused += reports[count].refusal != NULL;
            open += audit_open(&reports[count++].audit);
        }
    }
    int code = count == 0 ? EXIT_NOTHING_RAN : open > 0 ? EXIT_KERNEL_WRONG : refused > 0 ? EXIT_INPUT : EXIT_PASSED;
    for (size_t i = 0; i < count; ++i) {
        audit_table(stdout, m, &reports[i], (size_t)o->lines);
    }
    if (count == 0) {
        usage_error("audit", o->entry != NULL ? "%s: no entry %s" : "%s: no entry", path, o->entry);
    }
    if (o->json != NULL && !audit_json(o->json, m, reports, count, &e)) {
        flush_output();
        code = usage_error("audit", "%s", e.text);
    }
    for (size_t i = 0; i < count; ++i) {
        audit_free(&reports[i].audit);
        free(reports[i].refusal);
    }
    free(reports);
    ptx_free(m);
    return code;
}

int audit_main(int argc, char **argv) {
    enum { ENTRY = 256, ARCH, LINES, JSON };
    static const struct option longs[] = {
        {"entry", required_argument, NULL, ENTRY}, {"arch", required_argument, NULL, ARCH},
        {"lines", required_argument, NULL, LINES}, {"json", required_argument, NULL, JSON},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    struct options o = {.lines = 5};
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":h", longs, NULL)) != -1;) {
        char *end = NULL;
        switch (c) {
        case ENTRY:
            o.entry = optarg;
            break;
        case ARCH:
            o.arch = arch_option("audit", optarg);
            if (o.arch == NULL) {
                return EXIT_INPUT;
            }
            break;
        case LINES:
            o.lines = strtol(optarg, &end, 10);
            if (end == optarg || *end != 0 || o.lines < 0 || strchr("0123456789", optarg[0]) == NULL) {
                return usage_error("audit", "--lines %s: want an integer in 0 .. 9223372036854775807", optarg);
            }
            break;
        case JSON:
            o.json = optarg;
            if (json_option("audit", optarg) >= 0) {
                return EXIT_INPUT;
            }
            break;
        case 'h':
            fputs(usage, stdout);
            return EXIT_PASSED;
        default:
            return option_error("audit", argc, argv, c);
        }
    }
    return optind + 1 == argc ? audit(argv[optind], &o)
                              : usage_error("audit", "want one PTX file (see warpproof audit --help)");
}
