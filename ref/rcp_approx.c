#include "rcp_approx.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Two bits a mantissa, lowest first: the distance from rn(1/x), plus 1. */
enum { TABLE_BYTES = 1 << 21, MOST_FILE_BYTES = 1 << 20 };
static const uint8_t table_digest[32] = {
    0xbb, 0xda, 0x0d, 0x68, 0x5a, 0xb5, 0xa6, 0x67, 0x67, 0xc2, 0xc3, 0x88, 0x1a, 0x67, 0xdf, 0xf1,
    0x47, 0xe1, 0xf5, 0xa2, 0xc7, 0x66, 0xdb, 0x1f, 0x6d, 0xd5, 0xb6, 0x3f, 0xec, 0xed, 0xcf, 0x2c,
};
static uint8_t *table; /* NULL: not read */

/* The whole file, (*bytes), to be freed; NULL with the reason in e. */
static uint8_t *read_file(const char *path, size_t *bytes, struct error *e) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO of that name must not block */
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
        close(fd);
        fail(e, "%s: %s", path, S_ISDIR(st.st_mode) ? "Is a directory" : "not a regular file");
        return NULL;
    }
    FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!f) {
        if (fd >= 0)
            close(fd);
        fail(e, "%s: %s", path, strerror(errno));
        return NULL;
    }
    uint8_t *all = malloc(MOST_FILE_BYTES + 1);
    *bytes = all ? fread(all, 1, MOST_FILE_BYTES + 1, f) : 0;
    bool good = true;
    if (!all)
        good = fail(e, "%s: no memory to read it", path);
    else if (ferror(f))
        good = fail(e, "%s: %s", path, strerror(errno));
    else if (*bytes > MOST_FILE_BYTES)
        good = fail(e, "%s: more than %d bytes, so it is not the table of rcp.approx", path, MOST_FILE_BYTES);
    fclose(f);
    if (!good) {
        free(all);
        return NULL;
    }
    return all;
}

bool rcp_approx_load(const char *path, struct error *e) {
    size_t packed_bytes;
    uint8_t *packed = read_file(path, &packed_bytes, e);
    if (!packed)
        return false;
    uint8_t *bytes = malloc(TABLE_BYTES), digest[EVP_MAX_MD_SIZE];
    uLongf count = TABLE_BYTES;
    bool good = true;
    if (!bytes)
        good = fail(e, "%s: no memory for a table of %d bytes", path, TABLE_BYTES);
    else if (uncompress(bytes, &count, packed, packed_bytes) != Z_OK || count != TABLE_BYTES)
        good = fail(e, "%s: not a zlib stream of %d bytes", path, TABLE_BYTES);
    else if (EVP_Digest(bytes, TABLE_BYTES, digest, NULL, EVP_sha256(), NULL) != 1)
        good = fail(e, "%s: libcrypto gives no SHA-256", path);
    else if (memcmp(digest, table_digest, sizeof table_digest) != 0)
        good = fail(e, "%s: its bytes are not those measured on sm_90 (SHA-256 differs)", path);
    free(packed);
    if (good && !table)
        table = bytes;
    else
        free(bytes); /* a second load brings the same bytes */
    return good;
}

bool rcp_approx_measured(void) {
    return table != NULL;
}

float rcp_approx_ftz(float x) {
    const uint32_t infinity = 0x7f800000, one = 0x3f800000;
    uint32_t bits = float_bits(x), sign = bits & 0x80000000, magnitude = bits & 0x7fffffff;
    if (magnitude > infinity)
        return bits_float(0x7fffffff);
    if (magnitude == infinity)
        return bits_float(sign);
    if (magnitude < 0x00800000)
        return bits_float(sign | infinity);
    uint32_t mantissa = magnitude & 0x7fffff;
    int exponent = (int)(magnitude >> 23) - 127;
    /* 1/m of m in [1, 2), in (1/2, 1]: an exponent of 126 or 127, which x's is taken off. */
    uint32_t inverse = float_bits(1.0f / bits_float(one | mantissa));
    if (table)
        inverse += (table[mantissa / 4] >> 2 * (mantissa % 4) & 3) - 1u;
    int result = (int)(inverse >> 23) - exponent;
    return bits_float(result < 1 ? sign : sign | (uint32_t)result << 23 | (inverse & 0x7fffff));
}
