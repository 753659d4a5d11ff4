/* Runs the command as a person does: the binary that $WARPPROOF names, through the shell. */
#ifndef TESTS_COMMAND_RUN_H
#define TESTS_COMMAND_RUN_H

#include <stddef.h>

struct result {
    int code;   /* exit code, or 1000 + signal */
    char *text; /* stdout and stderr together; the caller frees it */
};

const char *command_binary(void); /* the path of the command */

const char *fake_cuda_folder(void); /* of the stand-ins for a GPU's libraries: beside the command */

/* Shell text before the command: variables, limits. */
extern const char *run_before;

/* The arguments may redirect stdout; stderr is in the result all the same. */
struct result run_command(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct result run_shell(const char *command); /* the same of any command */

/* Expects an exit code and a text somewhere in the output, and frees it. */
void expect_result(struct result r, int code, const char *text);

/* 1; in a build with the sanitisers, where a command takes many times as long, 4: a test that goes through a long list
 * of like rows takes every fourth there. The plain build takes them all. */
size_t command_stride(void);

/* A temporary folder, for .init and .fini of a suite. */
extern char *run_folder; /* its path */
void make_folder(void);
void remove_folder(void);
void put_file(const char *name, const void *bytes, size_t size); /* in it */
size_t files_in_folder(void);
/* Makes it a project of its own (WARPPROOF_ROOT) with our fixtures/ptx, by more lines of shell that run in it, where $d
 * is the real one; until leave_project commands run in it. */
void enter_project(const char *lines);
void leave_project(void);

#endif
