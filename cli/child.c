#include "child.h"
#include "../ref/checked.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static sigset_t before, taken; /* the mask; the signals that are waited for */
static int interrupt;          /* the first one, or 0 */
static struct sigaction pipe_before;

void children_begin(void) {
    sigemptyset(&taken);
    sigaddset(&taken, SIGINT);
    sigaddset(&taken, SIGTERM);
    sigaddset(&taken, SIGHUP);
    sigaddset(&taken, SIGQUIT);
    sigaddset(&taken, SIGCHLD);
    sigprocmask(SIG_BLOCK, &taken, &before);
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &pipe_before);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void children_interrupt(int signal) {
    interrupt = interrupt == 0 ? signal : interrupt;
}

static void note(int signal) {
    if (signal > 0 && signal != SIGCHLD) {
        children_interrupt(signal);
    }
}

bool children_interrupted(void) {
    const struct timespec none = {0};
    for (int s; (s = sigtimedwait(&taken, NULL, &none)) > 0 || errno == EINTR;) {
        note(s);
    }
    return interrupt != 0;
}

void children_end(void) {
    const bool came = children_interrupted();
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    sigaction(SIGPIPE, &pipe_before, NULL);
    if (came) {
        signal(interrupt, SIG_DFL);
        raise(interrupt);
    }
}

/* Everything that this process has started, and what that left behind, ends: asked first, and made to after 2 s. */
static void end_all(pid_t child) {
    const struct timespec nap = {.tv_nsec = 20 * 1000 * 1000};
    kill(-child, SIGTERM);
    for (int i = 0; i < 500; ++i) {
        const pid_t gone = waitpid(-1, NULL, WNOHANG);
        if (gone < 0 && errno == ECHILD) {
            return;
        }
        if (gone <= 0) {
            nanosleep(&nap, NULL);
        }
        if (i == 100) {
            kill(-child, SIGKILL);
        }
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What child_run returns. */
static int wait_for(pid_t child, unsigned seconds) {
    const double until = now() + seconds;
    for (;;) {
        int status;
        const pid_t got = waitpid(child, &status, WNOHANG);
        if (got == child) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        if (seconds > 0 && now() >= until) {
            end_all(child);
            return -2;
        }
        note(sigtimedwait(&taken, NULL, &(struct timespec){.tv_sec = 1}));
        if (interrupt != 0) {
            end_all(child);
            return -1;
        }
    }
}

static void become(const struct child *c, int output) {
    const int nothing = open("/dev/null", O_RDWR);
    setpgid(0, 0);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(output, STDERR_FILENO) < 0 || (c->folder != NULL && chdir(c->folder) != 0)) {
        _exit(127);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    sigaction(SIGPIPE, &pipe_before, NULL);
    execvp(c->argv[0], (char *const *)(uintptr_t)c->argv);
    dprintf(STDERR_FILENO, "%s: %s\n", c->argv[0], strerror(errno));
    _exit(127);
}

enum { MOST_OUTPUT = 256 << 10 };

static char *read_end(FILE *f) {
    char *text = must_calloc(MOST_OUTPUT + 1, 1);
    size_t n = 0;
    if (fseek(f, 0, SEEK_END) == 0) {
        const long size = ftell(f);
        if (size > 0 && fseek(f, size > MOST_OUTPUT ? size - MOST_OUTPUT : 0, SEEK_SET) == 0) {
            n = fread(text, 1, MOST_OUTPUT, f);
        }
    }
    while (n > 0 && text[n - 1] == '\n') {
        --n;
    }
    text[n] = 0;
    return text;
}

void child_must_run(const struct child *c) {
    const pid_t child = fork();
    if (child == 0) {
        become(c, open("/dev/null", O_WRONLY));
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

int child_run(const struct child *c, char **output) {
    if (output != NULL) {
        *output = must_strdup("");
    }
    if (children_interrupted()) {
        return -1;
    }
    FILE *f = tmpfile();
    const pid_t child = f != NULL ? fork() : -1;
    int code = 127;
    if (child == 0) {
        become(c, fileno(f));
    }
    if (child > 0) {
        setpgid(child, child); /* whichever of the two comes first */
        code = wait_for(child, c->seconds);
        if (output != NULL) {
            free(*output);
            *output = read_end(f);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return code;
}
