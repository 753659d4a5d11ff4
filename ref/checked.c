#include "checked.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *out_of_memory(void) {
    fputs("warpproof: out of memory\n", stderr);
    exit(2);
}

void *must_calloc(size_t count, size_t bytes) {
    /* calloc may answer a request for nothing with NULL, which is no failure; one spare byte tells them apart. */
    void *p = count && bytes ? calloc(count, bytes) : calloc(1, 1);
    // cppcheck-suppress memleak // p is NULL where it is not returned
    return p ? p : out_of_memory();
}

void *must_realloc(void *old, size_t count, size_t bytes) {
    size_t total;
    if (!size_mul(count, bytes, &total))
        return out_of_memory();
    void *p = realloc(old, total ? total : 1);
    // cppcheck-suppress memleak // p is NULL where it is not returned
    return p ? p : out_of_memory();
}

char *must_strdup(const char *s) {
    size_t bytes = strlen(s) + 1;
    return memcpy(must_calloc(bytes, 1), s, bytes);
}

char *must_format(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int length = vasprintf(&text, format, args); /* fails for want of memory only */
    va_end(args);
    return length < 0 ? out_of_memory() : text;
}
