/* warpproof prove: statements about layouts, proved by enumeration. */
#include "command.h"

int prove_main(int argc, char **argv) {
    static const struct subcommand subjects[] = {
        {"fragments", "which byte of a tile each register byte of a warp holds", prove_fragments_main},
        {"banks", "wavefronts and bank conflicts of shared memory", prove_banks_main},
    };
    return subcommands_main(subjects, sizeof subjects / sizeof *subjects, "subject", "fragments or banks", argc, argv);
}
