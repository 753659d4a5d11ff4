#include "witness.h"
#include <stdarg.h>
#include <stdio.h>

static unsigned long count[3];

void report(enum outcome outcome, const char *witness, const char *name, const char *check, const char *text, ...) {
    static const char *const word[] = {"ok", "FAIL", "skip"};
    count[outcome]++;
    printf("%-4s  %-11s  %-14s  %-10s  ", word[outcome], witness, name, check);
    va_list arguments;
    va_start(arguments, text);
    vprintf(text, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

int report_totals(void) {
    printf("%lu passed, %lu failed, %lu skipped\n", count[PASSED], count[FAILED], count[SKIPPED]);
    if (fflush(stdout))
        return 2;
    return count[FAILED] ? 1 : count[PASSED] ? 0 : 3;
}
