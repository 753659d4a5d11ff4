/* What the commands share that go through cases or kernels: patterns, files, models whose cases are not there. */
#ifndef CLI_SELECTING_H
#define CLI_SELECTING_H

#include "../gpu/case.h"

/* -1: go on; else the exit code, after a message: an empty pattern (a variable that is not set) would be part of every
 * id. */
int check_patterns(const char *command, const char *const *patterns, size_t n);

/* Names on stderr every model that is there and cannot be read, and why; with absent, those that are not there as well.
 * Returns whether some model cannot be read. */
bool note_models(const char *command, const struct case_list *list, bool absent);

/* "no case matches 'PATTERN'", with a hint when it is a glob: globs are held to whole ids; and with the models that are
 * absent, where it may mean cases of those. Returns false. */
bool fail_missed(struct error *e, const struct case_list *list, const char *pattern, bool quick);

/* A path when it looks like one (a '/', or .yaml at its end), else that of the launch file of the kernel of that name;
 * the caller frees it. NULL: no kernel has the name. */
char *kernel_file(const char *kernel, const char *root, struct error *e);

/* The paths of the launch files of gpu/kernels, by name; each, and the array, are the caller's. */
char **kernel_files(const char *root, size_t *n);

#endif
