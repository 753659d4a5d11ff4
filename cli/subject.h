/* One case, or one launch file with the values it is asked for, ready for a trial: what `explain` and `bisect` are
 * about. */
#ifndef CLI_SUBJECT_H
#define CLI_SUBJECT_H

#include "../gpu/case.h"
#include "../oracles/trial.h"
#include "judging.h"
#include "sets.h"

struct subject_options {
    struct sets sets;
    bool one_class; /* --data was given */
    enum data_class class;
    bool seeded; /* --seed was given */
    uint64_t seed;
};

/* --set, --data, --seed: the values of getopt_long, and their rows of its table. */
enum { SUBJECT_SET = 256, SUBJECT_DATA, SUBJECT_SEED, SUBJECT_OPTIONS };
#define SUBJECT_LONG_OPTIONS                                                                                           \
    {"set", required_argument, NULL, SUBJECT_SET}, {"data", required_argument, NULL, SUBJECT_DATA}, {                  \
        "seed", required_argument, NULL, SUBJECT_SEED                                                                  \
    }
/* Takes one of them. -1, or the exit code after a message. */
int subject_option(const char *command, int c, struct subject_options *o);
bool subject_given(const struct subject_options *o); /* one of them was given */
/* As they were given, each with a space ahead; the caller frees it. */
char *subject_options_text(const struct subject_options *o);

struct subject {
    struct case_list list; /* of a case */
    struct spec *own;      /* of a launch file */
    struct shape_value *values;
    struct shape shape;
    struct operands operands;
    char *id;
    struct operands_request request; /* of the operands, where there is a contract */
    struct trial trial;              /* all but the module, and threads */
};

/* The one case that `what` selects of all cases of the project; where it selects several, of those of the plant's
 * kernel (NULL: no plant). *code: EXIT_NOTHING_RAN where none, else EXIT_INPUT. *s is the caller's, also after a
 * failure. */
bool subject_case(const char *command, const char *root, const char *what, const char *plant, struct subject *s,
                  int *code, struct error *e);
bool subject_launch(const char *command, const char *root, const char *path, const struct subject_options *o,
                    struct subject *s, struct error *e);
void subject_free(struct subject *s);

/* What a command that takes one CASE or LAUNCH.yaml was asked for. */
struct subject_asked {
    const char *command;      /* "explain" */
    const char *what, *plant; /* plant: of a case, or NULL */
    const struct subject_options *options;
    struct judging *judging;
};

/* Opens the case, or the launch file, whose name ends in .yaml: *s is a whole trial of *m, its program or the plant's.
 * -1, or the exit code after a message. *s and *m are the caller's in either case. */
int subject_open(const struct subject_asked *a, const char *root, struct subject *s, struct ptx_module **m);
/* The command line that asks for it again; how: options of the command, each with a space ahead. The caller frees it.
 */
char *subject_again(const struct subject_asked *a, const char *root, const struct subject *s, const char *how);

#endif
