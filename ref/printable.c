#include "printable.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the UTF-8 sequence at s (The Unicode Standard, table 3-7), its scalar value in *c; 0 when ill-formed. */
static size_t utf8(const uint8_t *s, size_t left, uint32_t *c) {
    if (s[0] < 0x80) {
        *c = s[0];
        return 1;
    }
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || left < n)
        return 0;
    uint32_t v = s[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        v = v << 6 | (s[i] & 0x3f);
    }
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000}; /* shorter spellings exist below these */
    if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
        return 0;
    *c = v;
    return n;
}

/* A character that a terminal obeys or hides instead of showing it. */
static bool unseen(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
           c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}

const char *printable(char *out, size_t room, const void *text, size_t length) {
    const uint8_t *s = text;
    size_t at = 0, cut = 0; /* cut: the last place after a whole character where "..." still fits */
    for (size_t i = 0; i < length;) {
        uint32_t c;
        size_t n = utf8(s + i, length - i, &c);
        bool raw = n > 0 && !unseen(c) && c != '\\';
        if (n == 0)
            n = 1;
        size_t need = raw ? n : 4 * n;
        if (at + need + 1 > room) {
            memcpy(out + cut, "...", 4);
            return out;
        }
        if (raw)
            memcpy(out + at, s + i, n);
        else
            for (size_t k = 0; k < n; k++)
                snprintf(out + at + 4 * k, 5, "\\x%02x", (unsigned)s[i + k]);
        at += need;
        i += n;
        if (at + 4 <= room)
            cut = at;
    }
    out[at] = '\0';
    return out;
}
