#include "command_run.h"
#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

const char *command_binary(void) {
    const char *given = getenv("WARPPROOF");
    return given != NULL ? given : "build/warpproof";
}

const char *fake_cuda_folder(void) {
    static char path[4096];
    snprintf(path, sizeof path, "%s", command_binary());
    char *slash = strrchr(path, '/');
    snprintf(slash ? slash : path, 16, "%sfake_cuda", slash ? "/" : "");
    return path;
}

const char *run_before = "";

struct result run_command(const char *format, ...) {
    va_list args;
    char *arguments;
    va_start(args, format);
    cr_assert(vasprintf(&arguments, format, args) >= 0, "no memory");
    va_end(args);
    char *command = must_format("exec 2>&1 </dev/null; %s %s %s", run_before, command_binary(), arguments);
    const struct result r = run_shell(command);
    free(command);
    free(arguments);
    return r;
}

struct result run_shell(const char *command) {
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
    return r;
}

void expect_result(struct result r, int code, const char *text) {
    cr_expect(r.code == code && strstr(r.text, text) != NULL, "exit %d, want %d and \"%s\" in:\n%s", r.code, code, text,
              r.text);
    free(r.text);
}

char *run_folder;

void make_folder(void) {
    static char path[] = "/tmp/warpproof-command-XXXXXX";
    run_folder = mkdtemp(path);
    cr_assert(run_folder != NULL, "no temporary folder");
}

void remove_folder(void) {
    char *command = must_format("rm -rf -- %s", run_folder);
    cr_expect(system(command) == 0, "%s is still there", run_folder);
    free(command);
}

void put_file(const char *name, const void *bytes, size_t size) {
    char *path = must_format("%s/%s", run_folder, name);
    FILE *f = fopen(path, "wb");
    cr_assert(f != NULL && fwrite(bytes, 1, size, f) == size && fclose(f) == 0, "cannot write %s", path);
    free(path);
}

size_t files_in_folder(void) {
    char *command = must_format("ls -A %s | wc -l", run_folder);
    FILE *pipe = popen(command, "r");
    size_t n = 0;
    cr_assert(pipe != NULL && fscanf(pipe, "%zu", &n) == 1, "%s", command);
    pclose(pipe);
    free(command);
    return n;
}

void enter_project(const char *lines) {
    char *make =
        must_format("d=$PWD; cd %s && mkdir -p gpu/kernels fixtures/cases fixtures/plants/machine fixtures/golden "
                    "&& ln -s $d/fixtures/ptx fixtures/ && %s",
                    run_folder, lines);
    cr_assert(system(make) == 0, "%s", make);
    free(make);
    run_before = must_format("WARPPROOF_ROOT=%s", run_folder);
}

void leave_project(void) {
    free((char *)run_before);
    run_before = "";
}

size_t command_stride(void) {
#ifdef __SANITIZE_ADDRESS__
    return 4;
#else
    return 1;
#endif
}
