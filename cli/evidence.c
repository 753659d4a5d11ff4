/* warpproof evidence: recorded runs on real GPUs, and whether they still hold for today's kernels. */
#include "command.h"
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *about;
    int (*main)(int argc, char **argv);
} subjects[] = {
    {"record", "run cases on a GPU, and keep digests of program, inputs and output", evidence_record_main},
    {"check", "hold what was recorded to today's programs and to the contracts, on any machine", evidence_check_main},
};

static void help(FILE *out) {
    fprintf(out, "usage: warpproof evidence COMMAND ...\n\n");
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; ++i) {
        fprintf(out, "  %-10s %s\n", subjects[i].name, subjects[i].about);
    }
    fprintf(out, "\nwarpproof evidence COMMAND --help shows a command's options.\n");
}

int evidence_main(int argc, char **argv) {
    if (argc < 2) {
        return usage_error("evidence", "want record or check (see warpproof evidence --help)");
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help(stdout);
        return EXIT_PASSED;
    }
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; ++i) {
        if (strcmp(argv[1], subjects[i].name) == 0) {
            return subjects[i].main(argc - 1, argv + 1);
        }
    }
    return usage_error("evidence", "unknown command '%s': want record or check (see warpproof evidence --help)",
                       argv[1]);
}
