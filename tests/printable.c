/* ref/printable.c: what passes to a terminal, what is escaped, and where long text is cut. */
#include "../ref/printable.h"
#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(printable, passes_escapes_and_cuts) {
    const struct {
        const char *in, *out;
        size_t length, room;
    } cases[] = {
        {"plain text", "plain text", 10, 64},
        {"", "", 0, 4},
        {"\x1b[31m\n\t\x7f", "\\x1b[31m\\x0a\\x09\\x7f", 8, 64},
        {"a\0b", "a\\x00b", 3, 64},
        {"back\\slash", "back\\x5cslash", 10, 64},
        {"\xc3\xa4 \xe2\x96\x81 \xf0\x9f\x99\x82", "\xc3\xa4 \xe2\x96\x81 \xf0\x9f\x99\x82", 11, 64},
        {"\xc2\x9b", "\\xc2\\x9b", 2, 64},                   /* C1 control sequence introducer */
        {"\xe2\x80\xae", "\\xe2\\x80\\xae", 3, 64},          /* right-to-left override */
        {"\xff\xfe", "\\xff\\xfe", 2, 64},                   /* never UTF-8 */
        {"\xc0\xaf", "\\xc0\\xaf", 2, 64},                   /* overlong '/' */
        {"\xe0\x80\xaf", "\\xe0\\x80\\xaf", 3, 64},          /* overlong */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80", 3, 64},          /* a surrogate */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", 4, 64}, /* past U+10FFFF */
        {"\xe2\x96", "\\xe2\\x96", 2, 64},                   /* cut short */
        {"12345678", "12345678", 8, 9},
        {"123456789", "12345...", 9, 9},
        {"\n\n", "...", 2, 6},
        {"\xc3\xa4\xc3\xa4", "...", 4, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *out = must_calloc(cases[i].room, 1);
        printable(out, cases[i].room, cases[i].in, cases[i].length);
        cr_assert(strcmp(out, cases[i].out) == 0, "case %zu: \"%s\", expected \"%s\"", i, out, cases[i].out);
        free(out);
    }
}
