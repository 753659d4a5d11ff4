#include "place.h"
#include "../ref/checked.h"
#include "../ref/printable.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_PATH_SHOWN = 300,
    MAX_MESSAGE = 1000,
    SHOWN_LEFT = 70, /* characters of a long source line shown left and right of the caret */
    SHOWN_RIGHT = 40,
};

static bool continues(char c) { /* a byte inside a UTF-8 sequence */
    return ((unsigned char)c & 0xC0) == 0x80;
}

static int column_of(const char *source, size_t byte) {
    int column = 1;
    for (size_t i = 0; i < byte; i++)
        column += !continues(source[i]);
    return column;
}

/* The source line and the caret line, as " line\n ^"; long lines are cut around the caret. */
static void draw_caret(char *out, size_t size, const char *source, size_t caret) {
    size_t length = strlen(source), from = caret, to = caret;
    for (int n = 0; from > 0 && n < SHOWN_LEFT; n++)
        do
            from--;
        while (from > 0 && continues(source[from]));
    for (int n = 0; to < length && n < SHOWN_RIGHT; n++)
        do
            to++;
        while (to < length && continues(source[to]));
    const char *left = from > 0 ? "..." : "", *right = to < length ? "..." : "";
    size_t used = (size_t)snprintf(out, size, "  %s%.*s%s\n  %s", left, (int)(to - from), source + from, right,
                                   from > 0 ? "   " : "");
    for (size_t i = from; i < caret && used + 2 < size; i++)
        if (!continues(source[i]))
            out[used++] = source[i] == '\t' ? '\t' : ' ';
    out[used++] = '^';
    out[used] = 0;
}

static bool report(const char *path, int line, const char *source, size_t byte, struct error *e, const char *format,
                   va_list args) {
    char message[MAX_MESSAGE], drawn[(SHOWN_LEFT + SHOWN_RIGHT) * 4 + SHOWN_LEFT + 32];
    size_t length = strlen(source), path_length = path ? strlen(path) : 0;
    if (byte > length)
        byte = length;
    vsnprintf(message, sizeof message, format, args);
    draw_caret(drawn, sizeof drawn, source, byte);
    if (!path)
        return fail(e, "%s\n%s", message, drawn);
    bool cut = path_length > MAX_PATH_SHOWN;
    return fail(e, "%s%s:%d:%d: %s\n%s", cut ? "..." : "", cut ? path + path_length - MAX_PATH_SHOWN : path, line,
                column_of(source, byte), message, drawn);
}

struct place place_at(const char *path, const char *text, size_t length, size_t byte) {
    if (byte >= length) {
        byte = length;
        while (byte > 0 && (text[byte - 1] == '\n' || text[byte - 1] == '\r'))
            byte--;
    }
    struct place p = {.path = path ? must_strdup(path) : NULL, .line = 1};
    size_t start = 0;
    for (size_t i = 0; i < byte; i++)
        if (text[i] == '\n') {
            p.line++;
            start = i + 1;
        }
    size_t end = start + strcspn(text + start, "\r\n");
    p.source = must_format("%.*s", (int)(end - start), text + start);
    p.byte = byte - start;
    return p;
}

void place_free(struct place *p) {
    free(p->path);
    free(p->source);
    *p = (struct place){0};
}

bool place_fail(const struct place *p, size_t offset, struct error *e, const char *format, va_list args) {
    return report(p->path, p->line, p->source, p->byte + offset, e, format, args);
}

bool place_fail_at(const char *path, const char *text, size_t length, size_t byte, struct error *e, const char *format,
                   va_list args) {
    struct place p = place_at(path, text, length, byte);
    place_fail(&p, 0, e, format, args);
    place_free(&p);
    return false;
}

struct quoted quote(const char *text) {
    char inner[sizeof((struct quoted *)0)->text - 2];
    struct quoted q;
    snprintf(q.text, sizeof q.text, "'%s'", printable(inner, sizeof inner, text, strlen(text)));
    return q;
}

enum { NEAREST_MAX = 40 };

/* Edits that turn a into b: insert, delete, replace, swap two neighbours (restricted Damerau-Levenshtein). */
static size_t edit_distance(const char *a, const char *b) {
    size_t na = strlen(a), nb = strlen(b), d[NEAREST_MAX + 1][NEAREST_MAX + 1];
    if (na > NEAREST_MAX || nb > NEAREST_MAX)
        return SIZE_MAX;
    for (size_t i = 0; i <= na; i++)
        for (size_t j = 0; j <= nb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[na][nb];
}

const char *nearest(const char *word, const char *const *list) {
    size_t length = strlen(word), best = length / 3 > 1 ? length / 3 : 1;
    const char *found = NULL;
    for (; length > 0 && *list; list++) {
        size_t distance = edit_distance(word, *list);
        if (distance < best || (distance == best && !found)) {
            best = distance;
            found = *list;
        }
    }
    return found;
}
