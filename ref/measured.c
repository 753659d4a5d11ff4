#include "measured.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { MOST_FILE_BYTES = 1 << 20 };

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
        good = fail(e, "%s: more than %d bytes, so it is no table of ours", path, MOST_FILE_BYTES);
    fclose(f);
    if (!good) {
        free(all);
        return NULL;
    }
    return all;
}

uint8_t *measured_table_read(const char *path, size_t bytes, const uint8_t sha256[32], struct error *e) {
    size_t packed_bytes;
    uint8_t *packed = read_file(path, &packed_bytes, e);
    if (!packed)
        return NULL;
    uint8_t *table = malloc(bytes), digest[EVP_MAX_MD_SIZE];
    uLongf count = bytes;
    bool good = true;
    if (!table)
        good = fail(e, "%s: no memory for a table of %zu bytes", path, bytes);
    else if (uncompress(table, &count, packed, packed_bytes) != Z_OK || count != bytes)
        good = fail(e, "%s: not a zlib stream of %zu bytes", path, bytes);
    else if (EVP_Digest(table, bytes, digest, NULL, EVP_sha256(), NULL) != 1)
        good = fail(e, "%s: libcrypto gives no SHA-256", path);
    else if (memcmp(digest, sha256, 32) != 0)
        good = fail(e, "%s: its bytes are not those measured on sm_90 (SHA-256 differs)", path);
    free(packed);
    if (good)
        return table;
    free(table);
    return NULL;
}
