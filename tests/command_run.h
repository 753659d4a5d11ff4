/* Runs the command as a person does: the binary that $WARPPROOF names, through the shell. */
#ifndef TESTS_COMMAND_RUN_H
#define TESTS_COMMAND_RUN_H

struct result {
    int code;   /* exit code, or 1000 + signal */
    char *text; /* stdout and stderr together; the caller frees it */
};

const char *command_binary(void); /* the path of the command */

/* Shell text before the command: variables, limits. */
extern const char *run_before;

/* The arguments may redirect stdout; stderr is in the result all the same. */
struct result run_command(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Expects an exit code and a text somewhere in the output, and frees it. */
void expect_result(struct result r, int code, const char *text);

#endif
