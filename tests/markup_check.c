#include "markup_check.h"
#include "../ref/checked.h"
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 32, IDS = 4096 };

struct reader {
    const char *text, *s;
    bool html;
    char *open[DEPTH];
    size_t depth;
    char *ids[IDS];
    size_t id_count;
    char *fault;
};

static bool wrong(struct reader *r, const char *what) {
    size_t line = 1;
    for (const char *s = r->text; s < r->s; ++s)
        line += *s == '\n';
    if (!r->fault)
        r->fault = must_format("line %zu: %s: %.60s", line, what, r->s);
    return false;
}

static bool entity(struct reader *r) {
    static const char *const known[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    for (size_t i = 0; i < 5; ++i)
        if (!strncmp(r->s, known[i], strlen(known[i]))) {
            r->s += strlen(known[i]);
            return true;
        }
    return wrong(r, "no entity");
}

/* Characters up to `end`, which may not be markup; in a style sheet only its end is. */
static bool characters(struct reader *r, const char *end, bool sheet) {
    while (*r->s && !strchr(end, *r->s)) {
        const unsigned char c = (unsigned char)*r->s;
        if (c < 0x20 && c != '\n' && c != '\t')
            return wrong(r, "a control character");
        if (!sheet && (c == '<' || c == '>'))
            return wrong(r, "markup in text");
        if (c == '&' && !sheet) {
            if (!entity(r))
                return false;
        } else {
            ++r->s;
        }
    }
    return true;
}

static bool attribute(struct reader *r, char names[16][32], size_t *count) {
    const size_t n = strspn(r->s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789");
    char *name = names[*count];
    if (n == 0 || n > 31 || *count == 15)
        return wrong(r, "no name of an attribute");
    memcpy(name, r->s, n);
    name[n] = 0;
    for (size_t i = 0; i < *count; ++i)
        if (!strcmp(names[i], name))
            return wrong(r, "an attribute is given twice");
    ++*count;
    r->s += n;
    if (*r->s != '=')
        return (r->html && !strcmp(name, "open")) || wrong(r, "an attribute without a value");
    if (r->s[1] != '"')
        return wrong(r, "a value without quotes");
    if (r->html && (!strcmp(name, "href") || !strcmp(name, "src") || !strncmp(name, "on", 2)))
        return wrong(r, "an attribute that fetches or runs something");
    r->s += 2;
    const char *value = r->s;
    if (!characters(r, "\"", false) || *r->s != '"')
        return wrong(r, "a value without an end");
    if (!strcmp(name, "id")) {
        char *id = must_format("%.*s", (int)(r->s - value), value);
        for (size_t i = 0; i < r->id_count; ++i)
            if (!strcmp(r->ids[i], id)) {
                free(id);
                return wrong(r, "an id is given twice");
            }
        if (r->id_count == IDS)
            return wrong(r, "too many ids");
        r->ids[r->id_count++] = id;
    }
    ++r->s;
    return true;
}

static bool tag(struct reader *r) {
    const bool close = r->s[1] == '/';
    r->s += 1 + close;
    size_t n = 0;
    while (isalnum((unsigned char)r->s[n]))
        ++n;
    if (n == 0)
        return wrong(r, "no name of an element");
    char *name = must_format("%.*s", (int)n, r->s);
    bool good = !(r->html && !strcmp(name, "script")) || wrong(r, "a script");
    r->s += n;
    if (good && close) {
        good = (r->depth > 0 && !strcmp(r->open[r->depth - 1], name) && *r->s == '>') || wrong(r, "tags do not nest");
        if (good)
            free(r->open[--r->depth]);
        r->s += good;
        free(name);
        return good;
    }
    char names[16][32];
    size_t count = 0;
    while (good && *r->s && *r->s != '>' && *r->s != '/') {
        const size_t blanks = strspn(r->s, " \n");
        good = (blanks > 0) || wrong(r, "attributes run together");
        r->s += blanks;
        good = good && attribute(r, names, &count);
    }
    const bool empty = good && *r->s == '/';
    r->s += empty;
    good = good && (*r->s == '>' || wrong(r, "a tag without an end"));
    r->s += good;
    const bool sheet = good && !strcmp(name, "style");
    const bool never_closed = r->html && !strcmp(name, "meta");
    if (good && !empty && !never_closed) {
        good = r->depth < DEPTH || wrong(r, "too deep");
        if (good)
            r->open[r->depth++] = must_strdup(name);
    }
    free(name);
    return good && (!sheet || characters(r, "<", true));
}

static bool fetches(const char *text) {
    static const char *const words[] = {"http:", "https:", "url(", "@import", "javascript:"};
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
        if (strstr(text, words[i]))
            return true;
    return false;
}

/* Bytes of UTF-8 that hang together, roughly: a lead byte and as many that follow. */
static bool is_utf8(const char *text) {
    for (const uint8_t *s = (const uint8_t *)text; *s;) {
        const int more = *s < 0x80 ? 0 : *s >= 0xc2 && *s < 0xe0 ? 1 : *s >= 0xe0 && *s < 0xf0 ? 2 : *s < 0xf5 ? 3 : -1;
        if (more < 0 || (*s >= 0x80 && *s < 0xc2))
            return false;
        ++s;
        for (int i = 0; i < more; ++i, ++s)
            if ((*s & 0xc0) != 0x80)
                return false;
    }
    return true;
}

char *markup_fault(const char *text, size_t size, bool html) {
    static const char doctype[] = "<!DOCTYPE html>\n", prolog[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    const char *begin = html ? doctype : prolog;
    struct reader r = {.text = text, .s = text, .html = html};
    bool good = (strlen(text) == size || wrong(&r, "a zero byte")) &&
                (!strncmp(text, begin, strlen(begin)) || wrong(&r, "another beginning")) &&
                (is_utf8(text) || wrong(&r, "no UTF-8")) &&
                (!html || !fetches(text) || wrong(&r, "something to fetch"));
    r.s += good ? strlen(begin) : 0;
    size_t roots = 0;
    while (good && *r.s) {
        if (*r.s == '<') {
            roots += r.depth == 0 && r.s[1] != '/';
            good = tag(&r);
        } else if (r.depth > 0) {
            good = characters(&r, "<", false);
        } else {
            good = *r.s == '\n' || wrong(&r, "text outside");
            ++r.s;
        }
    }
    good = good && (r.depth == 0 || wrong(&r, "an element is open")) && (roots == 1 || wrong(&r, "not one root"));
    while (r.depth > 0)
        free(r.open[--r.depth]);
    while (r.id_count > 0)
        free(r.ids[--r.id_count]);
    return r.fault;
}

size_t markup_count(const char *text, const char *element, const char *attribute) {
    char *begin = must_format("<%s", element);
    size_t n = 0;
    for (const char *s = text; (s = strstr(s, begin)) != NULL;) {
        s += strlen(begin);
        if (!strchr(" />\n", *s))
            continue;
        const char *end = strchr(s, '>'), *at = attribute ? strstr(s, attribute) : s;
        n += end && at && at < end;
    }
    free(begin);
    return n;
}
