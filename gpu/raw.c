#include "raw.h"
#include "../ref/printable.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "cannot read PATH: WHY". Returns false. */
static bool cannot_read(const char *path, const char *why, struct error *e) {
    char shown[1024];
    return fail(e, "cannot read %s: %s", printable(shown, sizeof shown, path, strlen(path)), why);
}

/* Not blocking, so that a pipe of that name is refused and not waited for. */
bool raw_open(const char *path, struct raw_file *f, struct error *e) {
    struct stat st;
    *f = (struct raw_file){path, open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY), 0};
    if (f->fd < 0 || fstat(f->fd, &st)) {
        cannot_read(path, strerror(errno), e);
    } else if (!S_ISREG(st.st_mode)) {
        cannot_read(path, "it is not a regular file", e);
    } else {
        f->bytes = (size_t)st.st_size;
        return true;
    }
    raw_close(f);
    return false;
}

void raw_close(struct raw_file *f) {
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

bool raw_read(const struct raw_file *f, uint8_t *data, struct error *e) {
    for (size_t at = 0; at < f->bytes;) {
        ssize_t got = pread(f->fd, data + at, f->bytes - at, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return cannot_read(f->path, got ? strerror(errno) : "it was shortened meanwhile", e);
        at += (size_t)got;
    }
    return true;
}

uint8_t *raw_whole(const struct raw_file *f, struct error *e) {
    uint8_t *data = malloc(f->bytes + 1);
    if (!data)
        cannot_read(f->path, "no memory for its bytes", e);
    else if (raw_read(f, data, e))
        return data;
    free(data);
    return NULL;
}

bool sha256_is(const char *text) {
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

bool sha256_hex(const void *data, size_t bytes, char hex[65]) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    hex[0] = 0;
    if (!EVP_Digest(data, bytes, digest, &length, EVP_sha256(), NULL) || length != 32)
        return false;
    for (unsigned i = 0; i < length; i++) {
        hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    hex[64] = 0;
    return true;
}

bool raw_has_digest(const char *path, const void *data, size_t bytes, const char *sha256, struct error *e) {
    char hex[65];
    if (!sha256)
        return true;
    if (!sha256_hex(data, bytes, hex))
        return fail(e, "cannot compute the sha256 of %s", path);
    return !strcmp(hex, sha256) || fail(e, "%s has sha256 %s, expected %s", path, hex, sha256);
}
