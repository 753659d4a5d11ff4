/* Sizes with overflow checks, memory that is always there, and messages that always end. */
#include "../ref/checked.h"
#include "../ref/error.h"
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

Test(checked, impossible_sizes_end_the_run, .exit_code = 2) {
    free(must_realloc(NULL, SIZE_MAX / 2, 3));
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
