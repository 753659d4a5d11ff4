/* Subcommands. One subcommand is one file with `int <name>_main(int argc, char **argv)` and one row of the table in
 * main.c. argv[0] is the subcommand's name. The result is the exit code below. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "../ref/error.h"
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>

enum exit_code {
    EXIT_PASSED = 0,       /* at least one PASS and nothing bad */
    EXIT_KERNEL_WRONG = 1, /* a kernel is wrong */
    EXIT_INPUT = 2,        /* input, usage or environment error */
    EXIT_NOTHING_RAN = 3,
};

int gate_main(int argc, char **argv);
int run_main(int argc, char **argv);
int inspect_main(int argc, char **argv);
int dequantize_main(int argc, char **argv);
int quantize_main(int argc, char **argv);
int reference_main(int argc, char **argv);
int census_main(int argc, char **argv);
int audit_main(int argc, char **argv);
int plants_main(int argc, char **argv);
int mutate_main(int argc, char **argv);
int explain_main(int argc, char **argv);
int probe_main(int argc, char **argv);
int bisect_main(int argc, char **argv);
int greedy_main(int argc, char **argv);
int bench_main(int argc, char **argv);
int list_main(int argc, char **argv);
int prove_main(int argc, char **argv);
int evidence_main(int argc, char **argv);

/* What `prove` hands on to; argv[0] is the word after it. */
int prove_fragments_main(int argc, char **argv);
int prove_banks_main(int argc, char **argv);

/* What `evidence` hands on to, likewise. */
int evidence_record_main(int argc, char **argv);
int evidence_check_main(int argc, char **argv);

/* One line a contract: name, formats, what the depth must be a multiple of, whether it splits (list.c). */
void list_contracts(FILE *out);

struct subcommand { /* a command of a command: `prove banks` */
    const char *name, *about;
    int (*main)(int argc, char **argv);
};
/* Hands on to the subject that argv[1] names, or to help. what: of the subjects, in help: "SUBJECT"; wanted: the names
 * in words. Returns the exit code. */
int subcommands_main(const struct subcommand *subjects, size_t count, const char *what, const char *wanted, int argc,
                     char **argv);

/* Prints "warpproof COMMAND: message" on stderr and returns EXIT_INPUT. */
int usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for getopt_long's '?' and ':' results: names the option as typed. */
int option_error(const char *command, int argc, char **argv, int result);

/* `start` and the words of argv, a space between, for the record of how a command was called; the caller frees it.
 * Before getopt_long, which moves them around. */
char *command_text(const char *start, int argc, char **argv);

/* Takes getopt_long's optarg for an option that names a file and cannot be repeated. -1, or the exit code after a
 * message: it is given twice, or empty. */
/* Notes value c of getopt_long, of 256 to 287, in *seen. -1, or the exit code after a message where it was there. */
int option_once(const char *command, const struct option *longs, uint64_t *seen, int c);
int take_once(const char *command, const char *option, const char **value);

/* Flushes stdout, before something is said on stderr: the two may go to one place. */
void flush_output(void);
/* Closes stdout after a command. Returns the command's exit code, or EXIT_INPUT after a message when some output did
 * not get to where it should: a report that is lost is no pass. */
int close_output(int code);

/* From now on a mapped file that gets shorter under the program's hands (SIGBUS) ends it with a message and EXIT_INPUT.
 */
void refuse_shortened_files(void);

/* The project's folder, which holds gpu/kernels and fixtures: $WARPPROOF_ROOT, else the parent of the folder that the
 * binary is in, else the current folder. Free with free(); NULL with the reason in e. */
char *project_root(struct error *e);

/* Reads the tables measured on hardware (fixtures/golden) of the project's folder. What is not there is left out: the
 * verdicts that need it then say APPROXIMATE. Fails when one is there and is not what was measured. Call it before any
 * contract is evaluated. */
bool load_measured_tables(const char *root, struct error *e);

/* How the command was called, argv[0] of the process; main sets it. */
extern const char *started_as;
/* How the command is called again from the current folder: "build/warpproof" in the project's own, else started_as.
 * root: of project_root, or NULL when it found none. */
const char *command_again(const char *root);
/* text as a word of a shell's command line: itself, or in quotes where it has anything but letters, digits and
 * @%+=:,./_- in it. The caller frees it. */
char *shell_word(const char *text);

/* A positive number of threads from the text of -j: 1 .. 1024. */
bool parse_threads(const char *text, int *threads);

#endif
