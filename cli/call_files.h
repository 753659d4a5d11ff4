/* The files that one call reads and writes: no output may replace an input or another output. */
#ifndef CLI_CALL_FILES_H
#define CLI_CALL_FILES_H

#include "../ref/error.h"
#include <stdbool.h>
#include <stddef.h>

enum call_file_use { CALL_INPUT, CALL_OUTPUT, CALL_FOLDER /* of outputs, made if need be */ };

struct call_file {
    char *what; /* in messages: "--json", "the picture of x.yaml"; owned */
    char *path; /* owned */
    enum call_file_use use;
};

struct call_files {
    struct call_file *items;
    size_t count;
};

/* path NULL: there is none. */
void call_files_add(struct call_files *f, enum call_file_use use, const char *what, const char *path);

/* Before anything is written: every output can be written, none is an input or another output. Character devices may
 * take several. Else e names both. */
bool call_files_check(const struct call_files *f, struct error *e);

void call_files_free(struct call_files *f);

#endif
