#include "tsv.h"
#include "../ref/checked.h"
#include "raw.h"
#include <stdlib.h>
#include <string.h>

bool tsv_fail(const struct tsv *t, size_t byte, struct error *e, const char *format, ...) {
    va_list args;
    va_start(args, format);
    place_fail_at(t->path, t->text, t->length, byte, e, format, args);
    va_end(args);
    return false;
}

bool tsv_open(const char *path, size_t most, struct tsv *t, struct error *e) {
    struct raw_file f;
    *t = (struct tsv){.path = path};
    if (path[0] == 0)
        return fail(e, "the name of a file is empty");
    if (!raw_open(path, &f, e))
        return false;
    bool good = f.bytes <= most || fail(e, "%s: %zu bytes, a table has at most %zu", path, f.bytes, most);
    if (good) {
        t->text = must_calloc(f.bytes + 1, 1);
        t->length = f.bytes;
        good = raw_read(&f, (uint8_t *)t->text, e);
    }
    const char *zero = good ? memchr(t->text, 0, t->length) : NULL;
    if (zero)
        good = tsv_fail(t, (size_t)(zero - t->text), e, "a zero byte: want a table of text");
    if (!good)
        tsv_close(t);
    raw_close(&f);
    return good;
}

void tsv_close(struct tsv *t) {
    free(t->text);
    *t = (struct tsv){0};
}

bool tsv_next(const struct tsv *t, size_t *at, size_t *number, struct tsv_span *line) {
    while (*at < t->length) {
        const char *end = memchr(t->text + *at, '\n', t->length - *at);
        struct tsv_span s = {*at, end ? (size_t)(end - t->text) : t->length};
        *at = s.to + 1;
        ++*number;
        if (s.to > s.from && t->text[s.to - 1] == '\r')
            --s.to;
        if (s.to > s.from && t->text[s.from] != '#')
            return *line = s, true;
    }
    return false;
}

size_t tsv_columns(const struct tsv *t, struct tsv_span line, struct tsv_span *columns, size_t most, size_t *past) {
    size_t count = 0;
    for (size_t from = line.from; from <= line.to;) {
        const char *tab = memchr(t->text + from, '\t', line.to - from);
        if (count == most)
            return *past = from, SIZE_MAX;
        columns[count] = (struct tsv_span){from, tab ? (size_t)(tab - t->text) : line.to};
        from = columns[count++].to + 1;
    }
    return count;
}

bool tsv_is(const struct tsv *t, struct tsv_span s, const char *text) {
    return s.to - s.from == strlen(text) && memcmp(t->text + s.from, text, s.to - s.from) == 0;
}

bool tsv_number(const struct tsv *t, struct tsv_span s, uint64_t most, uint64_t *value) {
    uint64_t v = 0;
    if (s.from == s.to || (s.to - s.from > 1 && t->text[s.from] == '0'))
        return false;
    for (size_t i = s.from; i < s.to; ++i) {
        const unsigned digit = (unsigned char)t->text[i] - (unsigned)'0';
        if (digit > 9 || v > (most - (digit > most ? most : digit)) / 10)
            return false;
        v = 10 * v + digit;
    }
    *value = v;
    return v <= most;
}

char *tsv_text(const struct tsv *t, struct tsv_span s) {
    char *text = must_calloc(s.to - s.from + 1, 1);
    memcpy(text, t->text + s.from, s.to - s.from);
    return text;
}

struct quoted tsv_quote(const struct tsv *t, struct tsv_span s) {
    const size_t length = s.to - s.from;
    char *copy = must_format("%.*s", length < 200 ? (int)length : 200, t->text + s.from);
    const struct quoted q = quote(copy);
    free(copy);
    return q;
}
