#include "markup.h"
#include "../ref/printable.h"
#include "../ref/utf8.h"
#include <string.h>

static const char *entity(uint32_t c) {
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void markup_text(FILE *out, const char *s) {
    const uint8_t *bytes = (const uint8_t *)s;
    for (size_t left = strlen(s); left > 0;) {
        uint32_t c = 0xfffe;
        size_t n = utf8_decode(bytes, left, &c);
        const bool stays = n > 0 && (c == '\n' || c == '\t' || (!printable_hides(c) && (c & 0xfffe) != 0xfffe));
        n = n > 0 ? n : 1;
        const char *instead = stays ? entity(c) : "\xef\xbf\xbd";
        if (instead != NULL) {
            fputs(instead, out);
        } else {
            fwrite(bytes, 1, n, out);
        }
        bytes += n;
        left -= n;
    }
}
