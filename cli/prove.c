/* warpproof prove: statements about layouts, proved by enumeration. */
#include "command.h"
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *about;
    int (*main)(int argc, char **argv);
} subjects[] = {
    {"fragments", "which byte of a tile each register byte of a warp holds", prove_fragments_main},
    {"banks", "wavefronts and bank conflicts of shared memory", prove_banks_main},
};

static void help(FILE *out) {
    fprintf(out, "usage: warpproof prove SUBJECT ...\n\n");
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; ++i) {
        fprintf(out, "  %-10s %s\n", subjects[i].name, subjects[i].about);
    }
    fprintf(out, "\nwarpproof prove SUBJECT --help shows a subject's options.\n");
}

int prove_main(int argc, char **argv) {
    if (argc < 2) {
        return usage_error("prove", "want fragments or banks (see warpproof prove --help)");
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
    return usage_error("prove", "unknown subject '%s': want fragments or banks (see warpproof prove --help)", argv[1]);
}
