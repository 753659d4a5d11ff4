/* Sizes that come from files and flags: multiply and add with overflow checks, allocate zeroed memory. */
#ifndef REF_CHECKED_H
#define REF_CHECKED_H

#include <stdbool.h>
#include <stddef.h>

/* *out = a * b (a + b). False, and *out untouched, when the result does not fit size_t. */
static inline bool size_mul(size_t a, size_t b, size_t *out) {
    size_t product; /* the builtin stores the wrapped result even when it does not fit */
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}
static inline bool size_add(size_t a, size_t b, size_t *out) {
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

/* Memory for our own small tables (names, nodes): never NULL; a machine without memory ends the run, exit 2.
 * What a file's own numbers size is allocated with calloc, and a failure there is an error of that file. */
void *must_calloc(size_t count, size_t bytes);
void *must_realloc(void *old, size_t count, size_t bytes);
char *must_strdup(const char *s);
char *must_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline const char *plural(size_t n) { /* "1 cell", "2 cells" */
    return n == 1 ? "" : "s";
}

#endif
