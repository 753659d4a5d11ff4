#include "printable.h"
#include "utf8.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

bool printable_hides(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
           c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}

const char *printable(char *out, size_t room, const void *text, size_t length) {
    const uint8_t *s = text;
    size_t at = 0, cut = 0; /* cut: the last place after a whole character where "..." still fits */
    for (size_t i = 0; i < length;) {
        uint32_t c;
        size_t n = utf8_decode(s + i, length - i, &c);
        bool raw = n > 0 && !printable_hides(c) && c != '\\';
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
