/* warpproof: the verification suite's one binary. */
#include "../ref/printable.h"
#include "command.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *about;
    int (*main)(int argc, char **argv);
} commands[] = {
    {"gate", "run cases, judge, report", gate_main},
    {"run", "verify a kernel from its launch file", run_main},
    {"explain", "the stages of one case, and every fault where it arises", explain_main},
    {"probe", "which element of its inputs each output consumed", probe_main},
    {"bisect", "the first instruction, or commit, that made a kernel wrong", bisect_main},
    {"census", "what a kernel executes, by class and source line", census_main},
    {"audit", "what in a PTX file leaves bits open", audit_main},
    {"plants", "plant every fault, show which oracle names it", plants_main},
    {"mutate", "make mutants of kernels, show which judge names each", mutate_main},
    {"prove", "layout proofs: fragments, banks", prove_main},
    {"bench", "time kernels against each other on a GPU, and only right ones", bench_main},
    {"greedy", "a model's greedy ids, kernel against reference", greedy_main},
    {"evidence", "recorded runs on GPUs, and whether they still hold", evidence_main},
    {"inspect", "show a GGUF file: tensors, formats, ranges", inspect_main},
    {"dequantize", "a tensor of a GGUF file, or raw blocks, to raw float32", dequantize_main},
    {"quantize", "raw float32 to raw blocks", quantize_main},
    {"reference", "a contract's bits for operands in raw files", reference_main},
    {"list", "list kernels, formats, contracts, cases, oracles, plants or archs", list_main},
};

static void help(FILE *out) {
    fprintf(out, "usage: warpproof COMMAND ...\n\n"
                 "Runs the PTX that production runs, lane by lane, on any CPU, and judges it bit for bit.\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].about);
    }
    fprintf(out, "\nwarpproof COMMAND --help shows a command's options.\n"
                 "Exit: 0 something passed and nothing is wrong; 1 a kernel is wrong;\n"
                 "      2 input, usage or environment error; 3 nothing ran.\n");
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        help(stderr);
        return EXIT_INPUT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        help(stdout);
        return EXIT_PASSED;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].main(argc - 1, argv + 1);
        }
    }
    char shown[64];
    fprintf(stderr, "warpproof: unknown command '%s' (see warpproof --help)\n",
            printable(shown, sizeof shown, argv[1], strlen(argv[1])));
    return EXIT_INPUT;
}

static bool judged; /* the exit code is one that the command chose */

/* libgomp ends the process with 1, "a kernel is wrong", when it gets no thread. It has said so on stderr. */
static void at_exit(void) {
    if (!judged) {
        _exit(EXIT_INPUT);
    }
}

int main(int argc, char **argv) {
    static char output[1 << 16]; /* most reports fit: when they cannot be written, it is known why (close_output) */
    if (!isatty(STDOUT_FILENO)) {
        setvbuf(stdout, output, _IOFBF, sizeof output);
    }
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of the write */
    refuse_shortened_files();
    atexit(at_exit);
    if (argc > 0) {
        started_as = argv[0];
    }
    const int code = close_output(dispatch(argc, argv));
    judged = true;
    return code;
}
