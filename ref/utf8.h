/* UTF-8, one character at a time. Source: The Unicode Standard, section 3.9, tables 3-6 and 3-7. */
#ifndef REF_UTF8_H
#define REF_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes (1 .. 4) of the well-formed sequence at s (left >= 1 bytes), its scalar value in *c; 0, and *c untouched, when
 * it is ill-formed: cut short, longer than needed, a surrogate, beyond U+10FFFF. */
size_t utf8_decode(const uint8_t *s, size_t left, uint32_t *c);

/* out[0 .. return-1] = the sequence of the scalar value c (at most 0x10FFFF). */
size_t utf8_encode(uint32_t c, uint8_t out[4]);

/* The first byte of text (length bytes) that begins no well-formed sequence; length: there is none. */
size_t utf8_fault(const uint8_t *text, size_t length);

#endif
