/* Text of a file made safe for a terminal and for one line of an error message. */
#ifndef REF_PRINTABLE_H
#define REF_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* out = the `length` bytes at text, NUL-terminated, within `room` bytes (room >= 4). Printable ASCII and well-formed
 * UTF-8 pass; control characters (C0, DEL, C1), invisible formatting and direction marks, bytes that are no UTF-8, and
 * the backslash become \xHH, byte by byte. Text that does not fit is cut after a whole character and ends in "...".
 * Returns out. */
const char *printable(char *out, size_t room, const void *text, size_t length);

/* A character that a terminal obeys or hides instead of showing it. */
bool printable_hides(uint32_t c);

#endif
