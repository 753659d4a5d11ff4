#include "report_read.h"
#include "../ref/checked.h"
#include "command_run.h"
#include "junit_check.h"
#include "markup_check.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *report_bytes(const char *name, size_t *size) {
    char *path = must_format("%s/%s", run_folder, name);
    FILE *f = fopen(path, "rb");
    cr_assert(f != NULL, "%s was not written", path);
    char *text = NULL;
    size_t n = 0;
    for (size_t got = 1; got > 0; n += got) {
        text = must_realloc(text, n + 65537, 1);
        got = fread(text + n, 1, 65536, f);
    }
    text[n] = 0;
    fclose(f);
    free(path);
    *size = n;
    return text;
}

char *report_read(const char *name, size_t *size) {
    char *text = report_bytes(name, size), *fault = markup_fault(text, *size, strstr(name, ".html") != NULL);
    cr_assert(fault == NULL, "%s: %s", name, fault);
    fault = strstr(name, ".xml") != NULL && *size < 1 << 18 ? junit_fault(text) : NULL;
    cr_assert(fault == NULL, "%s: %s", name, fault);
    return text;
}

size_t report_times(const char *text, const char *part) {
    size_t n = 0;
    for (; (text = strstr(text, part)) != NULL; ++text)
        ++n;
    return n;
}
