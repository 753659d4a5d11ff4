/* Raw files that other programs dumped: operands, expected results, float32 values. Only regular files are read, and
 * nothing is waited for: a FIFO or a device of that name is an error. */
#ifndef GPU_RAW_H
#define GPU_RAW_H

#include "../ref/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct raw_file {
    const char *path; /* the caller's */
    int fd;
    size_t bytes; /* size of the file when it was opened */
};

/* Fails with a message that names the path; nothing is then open. */
bool raw_open(const char *path, struct raw_file *f, struct error *e);
void raw_close(struct raw_file *f);
/* data = the first f->bytes bytes; a file that was shortened meanwhile is an error. */
bool raw_read(const struct raw_file *f, uint8_t *data, struct error *e);
/* The whole file in memory of its own (free()), NULL on failure. */
uint8_t *raw_whole(const struct raw_file *f, struct error *e);

bool sha256_is(const char *text); /* 64 lower-case hex digits */
/* hex = the SHA-256 of the bytes as 64 lower-case digits. False when the library cannot compute it. */
bool sha256_hex(const void *data, size_t bytes, char hex[65]);
/* The bytes of the file `path` have that digest; NULL: any. */
bool raw_has_digest(const char *path, const void *data, size_t bytes, const char *sha256, struct error *e);

#endif
