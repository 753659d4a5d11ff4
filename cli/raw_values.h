/* What `dequantize`, `quantize` and `reference` share: files of raw values in, a file and a summary out. */
#ifndef CLI_RAW_VALUES_H
#define CLI_RAW_VALUES_H

#include "../ref/value_range.h"
#include "command.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* An option's text as a number of tokens, rows or values: 1 .. 2^31 - 1. -1: *value is set; else the exit code after a
 * message. */
int parse_size(const char *command, const char *option, const char *text, size_t *value);

/* Says that there is no such format, and which one differs from it in capitals alone. Returns EXIT_INPUT. */
int unknown_format(const char *command, const char *name);

/* The file of --out, before any work: -1, or the exit code after a message. It must be given, be none of the inputs
 * (count of them, NULL ones are none), and be a file that can be written (file_can_put). */
int check_out(const char *command, const char *out, const char *const *inputs, size_t count);

/* Where the summary goes: standard output, or standard error when `out` is what standard output is. */
FILE *summary_stream(const char *out);

/* What a conversion did. */
struct conversion {
    const char *format;
    size_t blocks, values;
    struct value_range range;
    bool approximate; /* the bits hang on the measured reciprocal, which is absent */
};
/* Writes the bytes to `out` and the summary, as text or as one line of JSON. Returns the exit code. */
int finish_conversion(const char *command, const struct conversion *c, const char *out, const void *bytes, size_t size,
                      bool json);

/* Loads the measured tables when the project's folder can be found. False after a message. */
bool prepare_tables(const char *command);
/* "warpproof COMMAND: ... is approximate" on stderr. */
void say_approximate(const char *command, const char *what);

#endif
