#include "file.h"
#include "../ref/checked.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as many as Linux follows */

/* Functions below that return false leave the reason in errno. */

static bool write_all(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        const ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n < 0 ? errno : EIO;
            return false;
        }
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* What `path` names once no symbolic link is left in its last component; that need not exist. Free it. NULL: a loop. */
static char *follow(const char *path) {
    char *at = must_strdup(path), target[PATH_MAX];
    for (int links = 0; links <= LINKS_MAX; ++links) {
        const ssize_t n = readlink(at, target, sizeof target - 1);
        if (n < 0) {
            return at; /* no link, or nothing at all: whoever opens it finds out */
        }
        target[n] = 0;
        const char *slash = strrchr(at, '/');
        char *next = target[0] == '/' || slash == NULL ? must_strdup(target)
                                                       : must_format("%.*s/%s", (int)(slash - at), at, target);
        free(at);
        at = next;
    }
    free(at);
    errno = ELOOP;
    return NULL;
}

/* A file without a name in the folder of `path`, or -1 where that cannot be had. */
static int open_unnamed(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash != NULL ? must_format("%.*s", (int)(slash - path) + 1, path) : must_strdup(".");
    const int fd = access("/proc/self/fd", X_OK) == 0 ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
    free(folder);
    return fd;
}

/* *name = a name beside `path` that the file has now. */
static bool give_name(int fd, const char *path, char **name) {
    const char *slash = strrchr(path, '/');
    char *from = must_format("/proc/self/fd/%d", fd);
    int linked = -1;
    *name = NULL;
    for (int i = 0; linked != 0 && (i == 0 || (errno == EEXIST && i < 1000)); ++i) {
        free(*name);
        *name =
            must_format("%.*s.warpproof-%ld-%d", slash != NULL ? (int)(slash - path) + 1 : 0, path, (long)getpid(), i);
        linked = linkat(AT_FDCWD, from, AT_FDCWD, *name, AT_SYMLINK_FOLLOW);
    }
    const int why = errno;
    free(from);
    errno = why;
    return linked == 0;
}

/* old: the file that is there, or NULL. */
static bool replace(const char *path, const struct stat *old, const char *bytes, size_t size) {
    const char *slash = strrchr(path, '/');
    const mode_t mask = umask(0);
    umask(mask);
    char *name = NULL; /* of the temporary */
    int fd = open_unnamed(path);
    const bool unnamed = fd >= 0;
    if (!unnamed) {
        name = must_format("%.*s.warpproof-XXXXXX", slash != NULL ? (int)(slash - path) + 1 : 0, path);
        fd = mkostemp(name, O_CLOEXEC);
    }
    bool good = fd >= 0, named = good && !unnamed;
    int why = errno;
    if (good) {
        fchmod(fd, old != NULL ? old->st_mode & 0777 : 0666 & ~mask); /* not every file system has them */
        good = write_all(fd, bytes, size);
        if (good && unnamed) {
            good = named = give_name(fd, path, &name);
        }
        why = errno;
        if (close(fd) != 0 && good) {
            why = errno;
            good = false;
        }
    }
    if (good && rename(name, path) != 0) {
        why = errno;
        good = false;
    }
    if (named && !good) {
        unlink(name);
    }
    free(name);
    errno = why;
    return good;
}

static bool write_through(const char *path, const char *bytes, size_t size) {
    const int fd = open(path, O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    const bool good = write_all(fd, bytes, size);
    const int why = errno;
    const bool closed = close(fd) == 0;
    errno = good ? errno : why;
    return good && closed;
}

/* Standard output or standard error, when it goes to that file already; else -1. */
static int stream_to(const struct stat *there) {
    struct stat other;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; ++fd) {
        if (fstat(fd, &other) == 0 && same_file(there, &other)) {
            return fd;
        }
    }
    return -1;
}

/* A rename asks the folder only, and root may do anything: what is marked read-only is kept all the same. */
static bool may_change(const char *path, const struct stat *there) {
    if (S_ISDIR(there->st_mode)) {
        errno = EISDIR;
        return false;
    }
    if (S_ISREG(there->st_mode) && (there->st_mode & 0222) == 0) {
        errno = EACCES;
        return false;
    }
    return access(path, W_OK) == 0;
}

static bool put(const char *path, const char *bytes, size_t size) {
    struct stat there, other;
    const bool exists = stat(path, &there) == 0;
    const int stream = exists ? stream_to(&there) : -1;
    if (stream >= 0) {
        return fflush(stdout) == 0 && write_all(stream, bytes, size);
    }
    if (exists && !may_change(path, &there)) {
        return false;
    }
    if (exists && !S_ISREG(there.st_mode)) {
        return write_through(path, bytes, size);
    }
    char *real = follow(path);
    if (real == NULL) {
        return false;
    }
    /* A link of /proc/self/fd to a file that was removed shows a path where something else is, or nothing. */
    const bool gone = exists && (stat(real, &other) != 0 || !same_file(&there, &other));
    const bool good = gone ? write_through(path, bytes, size) : replace(real, exists ? &there : NULL, bytes, size);
    const int why = errno;
    free(real);
    errno = why;
    return good;
}

static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? must_format("%.*s", (int)(slash - path) + 1, path) : must_strdup(".");
}

/* The folder that a name is made in. */
static bool folder_takes_files(const char *path) {
    char *folder = folder_of(path);
    const bool good = access(folder, W_OK | X_OK) == 0;
    const int why = errno;
    free(folder);
    errno = why;
    return good;
}

static bool can_put(const char *path) {
    struct stat there, other;
    const bool exists = stat(path, &there) == 0;
    if (!exists && (errno != ENOENT || path[0] == 0)) {
        return false;
    }
    if (exists && stream_to(&there) >= 0) {
        return true;
    }
    if (exists && !may_change(path, &there)) {
        return false;
    }
    if (exists && !S_ISREG(there.st_mode)) {
        return true;
    }
    char *real = follow(path);
    if (real == NULL) {
        return false;
    }
    const bool gone = exists && (stat(real, &other) != 0 || !same_file(&there, &other));
    const bool good = gone || folder_takes_files(real);
    const int why = errno;
    free(real);
    errno = why;
    return good;
}

bool file_same(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && same_file(&x, &y);
}

bool file_same_place(const char *a, const char *b) {
    struct stat there;
    char *x = follow(a), *y = follow(b);
    bool same = file_same(a, b);
    if (!same && x != NULL && y != NULL && stat(x, &there) != 0 && stat(y, &there) != 0) {
        const char *in_x = strrchr(x, '/'), *in_y = strrchr(y, '/');
        char *folder_x = folder_of(x), *folder_y = folder_of(y);
        same = strcmp(in_x != NULL ? in_x + 1 : x, in_y != NULL ? in_y + 1 : y) == 0 &&
               (strcmp(folder_x, folder_y) == 0 || file_same(folder_x, folder_y));
        free(folder_x);
        free(folder_y);
    }
    free(x);
    free(y);
    return same;
}

bool file_is_stream(const char *path, FILE *stream) {
    struct stat x, y;
    return stat(path, &x) == 0 && fstat(fileno(stream), &y) == 0 && same_file(&x, &y);
}

bool file_can_put(const char *path, struct error *e) {
    return can_put(path) || fail(e, "%s: cannot write: %s", path, strerror(errno));
}

bool file_put(const char *path, const void *bytes, size_t size, struct error *e) {
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction limit, pipe;
    sigaction(SIGXFSZ, &ignore, &limit);
    sigaction(SIGPIPE, &ignore, &pipe);
    const bool good = put(path, bytes, size);
    const int why = errno;
    sigaction(SIGXFSZ, &limit, NULL);
    sigaction(SIGPIPE, &pipe, NULL);
    return good || fail(e, "%s: cannot write: %s", path, strerror(why));
}

bool file_put_text(const char *path, void (*put)(FILE *out, const void *of), const void *of, struct error *e) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool good = out != NULL;
    if (good) {
        put(out, of);
        const bool lost = ferror(out) != 0;
        good = fclose(out) == 0 && !lost;
    }
    good = good ? file_put(path, text, size, e) : fail(e, "%s: no memory for what goes there", path);
    free(text);
    return good;
}
