#include "fill.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The floating-point types by the width of their significand; an integer type has none here. */
static const struct {
    const char *name;
    size_t bytes;
    int digits;
} floats[] = {{"bf16", 2, 8}, {"f16", 2, 11}, {"f32", 4, 24}, {"f64", 8, 53}};
enum { FLOATS = sizeof floats / sizeof *floats };

static size_t float_named(const char *type) {
    size_t f = 0;
    while (f < FLOATS && strcmp(floats[f].name, type))
        f++;
    return f;
}

static size_t integer_bytes(const char *type) {
    return strtoul(type + 1, NULL, 10) / 8; /* "i16": 2 */
}

/* Bits of a value that the type holds exactly, |value| < 2^digits. */
static uint64_t float_bits_of(size_t f, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (floats[f].bytes == 8)
        return bits;
    uint32_t narrow = float_bits((float)value);
    return floats[f].bytes == 4 ? narrow : floats[f].digits == 11 ? half_from_float_bits(narrow) : narrow >> 16;
}

void fill_random(const char *type, size_t count, uint64_t key, uint8_t *data) {
    struct random_stream s = random_open(key, 0);
    const size_t f = float_named(type), bytes = f < FLOATS ? floats[f].bytes : integer_bytes(type);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = random_u32(&s);
        if (bytes == 8)
            bits |= (uint64_t)random_u32(&s) << 32;
        if (f < FLOATS) { /* k * 2^(1-digits) - 1 with k of as many bits as the significand: exact */
            uint64_t k = bits >> ((bytes == 8 ? 64 : 32) - floats[f].digits);
            bits = float_bits_of(f, (double)k / (double)(1ull << (floats[f].digits - 1)) - 1);
        }
        memcpy(data + i * bytes, &bits, bytes); /* low bytes first */
    }
}

void fill_iota(const char *type, size_t count, uint8_t *data) {
    const size_t f = float_named(type), bytes = f < FLOATS ? floats[f].bytes : integer_bytes(type);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = f < FLOATS ? float_bits_of(f, (double)(i % (1ull << floats[f].digits))) : i;
        memcpy(data + i * bytes, &bits, bytes);
    }
}

/* Not blocking, so that a pipe of that name is refused and not waited for. */
static int open_regular(const char *path, size_t bytes, struct error *e) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) {
        fail(e, "cannot read %s: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        fail(e, "%s is not a regular file", path);
    } else if (st.st_size < 0 || (uint64_t)st.st_size != bytes) {
        fail(e, "%s has %lld bytes, the buffer has %zu", path, (long long)st.st_size, bytes);
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool read_whole(int fd, const char *path, size_t bytes, uint8_t *data, struct error *e) {
    for (size_t at = 0; at < bytes;) {
        ssize_t got = read(fd, data + at, bytes - at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return fail(e, "cannot read %s: %s", path, got ? strerror(errno) : "it was shortened meanwhile");
        at += (size_t)got;
    }
    return true;
}

static bool has_digest(const char *path, const char *sha256, size_t bytes, const uint8_t *data, struct error *e) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (!EVP_Digest(data, bytes, digest, &length, EVP_sha256(), NULL) || length != 32)
        return fail(e, "cannot compute the sha256 of %s", path);
    char hex[65] = "";
    for (unsigned i = 0; i < length; i++) {
        hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    return !strcmp(hex, sha256) || fail(e, "%s has sha256 %s, expected %s", path, hex, sha256);
}

bool fill_file(const char *path, const char *sha256, size_t bytes, uint8_t *data, struct error *e) {
    int fd = open_regular(path, bytes, e);
    if (fd < 0)
        return false;
    bool good = read_whole(fd, path, bytes, data, e) && (!sha256 || has_digest(path, sha256, bytes, data, e));
    close(fd);
    return good;
}
