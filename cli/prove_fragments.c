#include "command.h"

int prove_fragments_main(int argc, char **argv) {
    (void)argc, (void)argv;
    return usage_error("prove fragments", "not there yet");
}
