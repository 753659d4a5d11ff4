/* What the commands that judge or compute share: options, threads, counts and the exit code. */
#ifndef CLI_JUDGING_H
#define CLI_JUDGING_H

#include "../oracles/trial.h"
#include "../ref/activation.h"
#include "../reports/json.h"
#include "devices.h"
#include <getopt.h>

struct judging {
    const char *json, *junit, *html; /* files to write, or NULL */
    bool stats;
    int threads;
    const struct runner *runner; /* NULL: the machine */
    struct devices devices;      /* of runner_device */
    struct launch_options launch;
    enum trial_schedules schedules;
    const char *watches; /* as given, or NULL */
};

/* Values of getopt_long for the shared options, and their rows of its table; `j` and `h` are short options as well. */
enum {
    JUDGING_RUNNER = 1000,
    JUDGING_JSON,
    JUDGING_JUNIT,
    JUDGING_HTML,
    JUDGING_STATS,
    JUDGING_WATCHES,
    JUDGING_ARCH,
    JUDGING_SCHEDULE,
    JUDGING_DEVICE
};
#define JUDGING_LONG_OPTIONS                                                                                           \
    {"runner", required_argument, NULL, JUDGING_RUNNER}, {"device", required_argument, NULL, JUDGING_DEVICE},          \
        {"json", required_argument, NULL, JUDGING_JSON}, {"junit", required_argument, NULL, JUDGING_JUNIT},            \
        {"html", required_argument, NULL, JUDGING_HTML}, {"stats", no_argument, NULL, JUDGING_STATS},                  \
        {"watches", required_argument, NULL, JUDGING_WATCHES}, {"arch", required_argument, NULL, JUDGING_ARCH},        \
        {"schedule", required_argument, NULL, JUDGING_SCHEDULE}, {"threads", required_argument, NULL, 'j'},            \
        {"help", no_argument, NULL, 'h'}, {                                                                            \
        NULL, 0, NULL, 0                                                                                               \
    }

/* The lines of --help for the options that decide how the machine runs a launch. */
#define JUDGING_LAUNCH_USAGE                                                                                           \
    "  --arch NAME        the architecture whose limits and tensor cores count (default sm_90)\n"                      \
    "  --watches LIST     what is watched besides the bits: all (default), none, or some of bounds, alignment,\n"      \
    "                     planes, uninit, hazards, async, sync, stores, separated by commas\n"                         \
    "  --schedule NAME    the order of warps, lanes, copies and blocks: in-order, reversed, random:SEED, or all (in\n" \
    "                     order, reversed and random:1, compared); default: in order, and all where the watches do\n"  \
    "                     not prove that the order changes no bit\n"

/* Takes one result of getopt_long; --device and each file once. -1: go on; else the exit code (help was printed, or
 * an error). */
int judging_option(const char *command, const char *usage, int argc, char **argv, int result, struct judging *j);

/* The options that decide how a launch is run, as they were given: " --runner device", for the command that runs it
 * again; where no schedule was asked for, the one that shows the findings. The caller frees it. */
char *judging_again(const struct judging *j, const struct outcome *o);

/* The architecture that --arch names, or NULL after a message with those that are known. */
const struct arch *arch_option(const char *command, const char *text);

/* The lines of --help for the files that a run can leave behind. */
#define JUDGING_JUNIT_USAGE "  --junit FILE       write JUnit XML for a CI's test report, likewise\n"
#define JUDGING_REPORT_USAGE                                                                                           \
    "  --json FILE        write JSON lines, whole or not at all; a FILE that is there is replaced, unless it is\n"     \
    "                     read-only; standard output is /dev/stdout, not -\n" JUDGING_JUNIT_USAGE                      \
    "  --html FILE        write one page with the wrong cells of every red case and what GPUs gave, likewise\n"

/* --json's FILE: -1, or the exit code after a message when it is no name of a file. */
int json_option(const char *command, const char *file);

/* False: the JSON file (NULL: none) is this input, which it would replace. */
bool json_spares(const char *json, const char *input, struct error *e);

/* The same of a launch file and every file that it names: source, PTX, cubin, and those of `fill` and `expect`. */
bool json_spares_spec(const char *json, const struct spec *s, struct error *e);

/* Both, of every file that is to be written. */
bool judging_spares(const struct judging *j, const char *input, struct error *e);
bool judging_spares_spec(const struct judging *j, const struct spec *s, struct error *e);

/* Before anything runs: -1, or the exit code after a message, when a file cannot be written or two are one, when there
 * is no GPU for --runner device, or when an option does not go with it. j->launch.arch becomes that of the GPU. */
int judging_check(const char *command, struct judging *j);

/* Lowers j->threads to as many as can be made now, with a line on stderr, and makes them the number that every parallel
 * region takes. Call it once all input is in memory: what that takes is not left for the stacks of threads. */
void judging_threads(const char *command, struct judging *j);

/* How the turn-th case is run: the options of all, on the GPU whose turn it is. */
struct launch_options judging_launch(const struct judging *j, size_t turn);

/* Where cases took turns on several GPUs, notes of a red one where it ran: the command that runs it again takes the
 * first. */
void judging_note_gpu(const struct judging *j, const struct launch_options *ran, struct outcome *o);

/* Passed, failed (any finding), skipped, and the sums of what ran. */
struct totals totals_of(const struct outcome *outcomes, size_t count, double wall_seconds, const struct judging *j);

/* 1 when a kernel is wrong, else 2 when an input is, else 0 when something passed, else 3. */
int exit_code_of(const struct outcome *outcomes, size_t count);

/* On stderr, where stored sums of activations out of a file are not those of their quants. about: the file or case. */
void note_sums(const char *command, const char *about, const struct activation_sums *sums);

#endif
