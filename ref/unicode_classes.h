/* The classes of characters that the expressions of pre-tokenisers name: \p{L}, \p{N}, \s, \p{P}. */
#ifndef REF_UNICODE_CLASSES_H
#define REF_UNICODE_CLASSES_H

#include <stddef.h>
#include <stdint.h>

enum unicode_class {
    UNICODE_OTHER,       /* symbols, marks, controls, and what Unicode has not assigned */
    UNICODE_LETTER,      /* general category L* */
    UNICODE_NUMBER,      /* N* */
    UNICODE_SPACE,       /* property White_Space */
    UNICODE_PUNCTUATION, /* P* */
};

extern const char unicode_version[]; /* "14.0.0": of the table; later versions assign more characters */

/* The class of a scalar value (0 .. 0x10FFFF). */
enum unicode_class unicode_class(uint32_t c);

#endif
