/* Runs the command that $WARPPROOF names, as a person would, and a temporary folder to do it in. */
#ifndef TESTS_COMMAND_RUN_H
#define TESTS_COMMAND_RUN_H

#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct result {
    int code;   /* exit code, or 1000 + signal */
    char *text; /* stdout and stderr together */
};

static inline const char *binary(void) {
    const char *given = getenv("WARPPROOF");
    return given != NULL ? given : "build/warpproof";
}

/* Shell text before the command of run(): variables, limits. */
static const char *before = "";

/* The arguments may redirect stdout; stderr is in the result all the same. */
static inline struct result run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline struct result run(const char *format, ...) {
    va_list args;
    char *arguments;
    va_start(args, format);
    cr_assert(vasprintf(&arguments, format, args) >= 0, "no memory");
    va_end(args);
    char *command = must_format("exec 2>&1 </dev/null; %s %s %s", before, binary(), arguments);
    FILE *pipe = popen(command, "r");
    cr_assert(pipe != NULL, "cannot run %s", command);
    struct result r = {.text = must_calloc(1, 1)};
    char buffer[4096];
    size_t length = 0;
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0; length += n) {
        r.text = must_realloc(r.text, length + n + 1, 1);
        memcpy(r.text + length, buffer, n);
        r.text[length + n] = 0;
    }
    const int status = pclose(pipe);
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    free(command);
    free(arguments);
    return r;
}

/* Expects an exit code and a text somewhere in the output. */
static inline void expect(struct result r, int code, const char *text) {
    cr_expect(r.code == code && strstr(r.text, text) != NULL, "exit %d, want %d and \"%s\" in:\n%s", r.code, code, text,
              r.text);
    free(r.text);
}

static inline size_t lines(const char *s) {
    size_t n = 0;
    for (; *s != 0; ++s) {
        n += *s == '\n';
    }
    return n;
}

/* ---- a temporary folder ---- */

static char *in_folder; /* its path */

static inline void make_folder(void) {
    static char path[] = "/tmp/warpproof-command-XXXXXX";
    in_folder = mkdtemp(path);
    cr_assert(in_folder != NULL, "no temporary folder");
}

static inline void remove_folder(void) {
    char *command = must_format("rm -rf -- %s", in_folder);
    cr_expect(system(command) == 0, "%s is still there", in_folder);
    free(command);
}

static inline void put(const char *name, const char *text) {
    char *path = must_format("%s/%s", in_folder, name);
    FILE *f = fopen(path, "w");
    cr_assert(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0, "cannot write %s", path);
    free(path);
}

static inline void expect_text(const char *name, const char *want) {
    char *path = must_format("%s/%s", in_folder, name), got[64] = "";
    const int fd = open(path, O_RDONLY);
    cr_expect(fd >= 0 && read(fd, got, sizeof got - 1) >= 0 && strcmp(got, want) == 0, "%s holds '%s', want '%s'", path,
              got, want);
    close(fd);
    free(path);
}

static inline size_t files_in_folder(void) {
    char *command = must_format("ls -A %s | wc -l", in_folder);
    FILE *pipe = popen(command, "r");
    size_t n = 0;
    cr_assert(pipe != NULL && fscanf(pipe, "%zu", &n) == 1, "%s", command);
    pclose(pipe);
    free(command);
    return n;
}

#endif
