/* warpproof evidence: recorded runs on real GPUs, and whether they still hold for today's kernels. */
#include "command.h"

int evidence_main(int argc, char **argv) {
    static const struct subcommand subjects[] = {
        {"record", "run cases on a GPU, and keep digests of program, inputs and output", evidence_record_main},
        {"check", "hold what was recorded to today's programs and to the contracts, on any machine",
         evidence_check_main},
    };
    return subcommands_main(subjects, sizeof subjects / sizeof *subjects, "command", "record or check", argc, argv);
}
