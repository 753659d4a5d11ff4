/* Other programs, run one after the other: git, a build. Each is the first of a process group of its own; who is
 * interrupted ends it with all that it started. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>

/* From here on an interrupt (SIGINT, SIGTERM, SIGHUP, SIGQUIT) ends only children, and is remembered; SIGPIPE is
 * ignored; and processes that a child leaves behind are this one's to wait for. To be called while there is one thread.
 * children_end: interrupts are again what they were; one that came ends the process with its signal. */
void children_begin(void);
void children_end(void);
bool children_interrupted(void);
/* As if that signal had come. */
void children_interrupt(int signal);

struct child {
    const char *const *argv; /* ended by NULL; argv[0] is looked for on PATH */
    const char *folder;      /* in which it runs; NULL: the current one */
    unsigned seconds;        /* after which it is ended with all that it started; 0: it may take as long as it likes */
};

/* Runs it; stdin is empty. *output = what it wrote to stdout and stderr, its last 256 KiB, without newlines at the end
 * (the caller frees it; NULL: not wanted). Returns its exit code; 127: it cannot be run; 128 + signal; -1: it was
 * interrupted, and not begun where that was before; -2: its time was up. */
int child_run(const struct child *c, char **output);
/* The same, whatever was interrupted before, and to its end: what cleans up. */
void child_must_run(const struct child *c);

#endif
