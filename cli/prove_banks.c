#include "command.h"

int prove_banks_main(int argc, char **argv) {
    (void)argc, (void)argv;
    return usage_error("prove banks", "not there yet");
}
