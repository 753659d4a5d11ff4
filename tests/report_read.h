/* Files that --junit and --html have written into the temporary folder (command_run.h). */
#ifndef TESTS_REPORT_READ_H
#define TESTS_REPORT_READ_H

#include <stddef.h>

/* The bytes of a file of the folder, and a zero byte; freed by the caller. */
char *report_bytes(const char *name, size_t *size);
/* The same of a text that is well-formed (markup_check.h), and JUnit's where its name ends in .xml (junit_check.h). */
char *report_read(const char *name, size_t *size);
/* How often `part` stands in the text. */
size_t report_times(const char *text, const char *part);

#endif
