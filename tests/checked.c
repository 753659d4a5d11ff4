/* Sizes with overflow checks, memory that is always there, and messages that always end. */
#include "../ref/checked.h"
#include "../ref/error.h"
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Test(checked, sizes) {
    size_t out = 7;
    cr_assert(size_mul(SIZE_MAX / 3, 3, &out) && out == SIZE_MAX / 3 * 3, "the largest product that fits");
    cr_assert(size_add(SIZE_MAX - 1, 1, &out) && out == SIZE_MAX, "the largest sum that fits");
    cr_assert(size_mul(0, SIZE_MAX, &out) && out == 0, "nothing of anything");
    out = 7;
    cr_assert(!size_mul(SIZE_MAX / 2 + 1, 2, &out) && !size_add(SIZE_MAX, 1, &out), "overflow went unseen");
    cr_assert(out == 7, "what does not fit must leave the result alone, not %zu", out);
}

Test(checked, memory) {
    unsigned char *p = must_calloc(3, 5);
    for (int i = 0; i < 15; i++)
        cr_assert(p[i] == 0, "byte %d is not zero", i);
    p[14] = 9;
    p = must_realloc(p, 100, 7);
    cr_assert(p[14] == 9, "growing lost a byte");
    free(p);
    void *nothing = must_calloc(0, SIZE_MAX), *still = must_realloc(NULL, 0, 4);
    cr_assert(nothing && still, "memory for nothing is no failure");
    free(nothing);
    free(still);
    char *copy = must_strdup("a/b"), *text = must_format("%s %03d", copy, 7);
    cr_assert(!strcmp(copy, "a/b") && !strcmp(text, "a/b 007"), "%s, %s", copy, text);
    free(copy);
    free(text);
}

/* What the child says, and its exit status. */
static int ended(void (*child)(void), char said[256]) {
    int pipes[2], status = -1;
    cr_assert(pipe(pipes) == 0, "no pipe");
    fflush(NULL);
    const pid_t pid = fork();
    cr_assert(pid >= 0, "no process");
    if (pid == 0) {
        dup2(pipes[1], STDERR_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        child();
        _exit(99);
    }
    close(pipes[1]);
    size_t length = 0;
    for (ssize_t n; length < 255 && (n = read(pipes[0], said + length, 255 - length)) > 0;)
        length += (size_t)n;
    said[length] = 0;
    close(pipes[0]);
    cr_assert(waitpid(pid, &status, 0) == pid, "the child is lost");
    return status;
}

static void too_large_a_size(void) {
    free(must_realloc(NULL, SIZE_MAX / 2, 3));
}

static void nothing(void) {}

Test(checked, impossible_sizes_end_the_run) {
    char said[256];
    int status = ended(too_large_a_size, said);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 2, "status %d", status);
    /* a leak sanitiser may add words of its own about the forked child */
    cr_expect(!strncmp(said, "warpproof: out of memory\n", 25), "says: %s", said);
    status = ended(nothing, said);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 99 && !said[0], "a child that goes on: %d, %s", status, said);
}

Test(checked, messages) {
    struct error e = {"before"};
    cr_assert(!fail(&e, "%s:%d: no", "f.yaml", 3) && !strcmp(e.text, "f.yaml:3: no"), "%s", e.text);
    char *longer = must_calloc(2 * sizeof e.text, 1);
    memset(longer, 'x', 2 * sizeof e.text - 1);
    cr_assert(!fail(&e, "%s", longer) && strlen(e.text) == sizeof e.text - 1, "a long message is cut and ended");
    cr_assert(!fail(NULL, "nobody listens"), "fail without a place for the message");
    free(longer);
}
