/* What the commands that look into one kernel share (explain, probe): a case of fixtures/cases, perhaps with a plant,
 * or a launch file, becomes a trial. */
#ifndef CLI_SUBJECT_H
#define CLI_SUBJECT_H

#include "judging.h"
#include "sets.h"

struct subject_options {
    const char *command, *done; /* "explain", "explained" */
    const char *what;           /* the case or the launch file */
    const char *plant;          /* or NULL */
    struct sets sets;
    bool one_class; /* --data was given */
    enum data_class class;
    bool seeded; /* --seed was given */
    uint64_t seed;
    struct judging judging;
};

enum { SUBJECT_SET = 256, SUBJECT_DATA, SUBJECT_SEED, SUBJECT_PLANT };
#define SUBJECT_LONG_OPTIONS                                                                                           \
    {"set", required_argument, NULL, SUBJECT_SET}, {"data", required_argument, NULL, SUBJECT_DATA},                    \
        {"seed", required_argument, NULL, SUBJECT_SEED}, {                                                             \
        "plant", required_argument, NULL, SUBJECT_PLANT                                                                \
    }
#define SUBJECT_DEFAULTS(command_, done_)                                                                              \
    {                                                                                                                  \
        .command = (command_), .done = (done_), .class = DATA_CODED, .seed = 1, .judging = {                           \
            .threads = omp_get_max_threads()                                                                           \
        }                                                                                                              \
    }

/* What is looked into, and how the command is called again. */
struct subject {
    struct trial trial;
    struct operands operands; /* of the contract, else empty */
    char *id, *again;
};

/* Takes one result of getopt_long: -1, go on; else the exit code. */
int subject_option(struct subject_options *o, const char *usage, int argc, char **argv, int result);
/* Once the options are taken: makes the subject, and calls `with`, whose exit code it returns; what fails before has a
 * message on stderr and exit 2, or 3 when no case matches. */
typedef int subject_command(const struct subject_options *o, const struct subject *s);
int subject_main(struct subject_options *o, int argc, char **argv, subject_command *with);

#endif
