#include "json_node.h"
#include "../ref/checked.h"
#include "file.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are not UTF-8 (names inside hostile PTX) become '?': a JSON text holds nothing else. */
static void make_utf8(char *s) {
    for (unsigned char *p = (unsigned char *)s; *p != 0;) {
        const int n = *p < 0x80                 ? 1
                      : *p >= 0xc2 && *p < 0xe0 ? 2
                      : *p >= 0xe0 && *p < 0xf0 ? 3
                      : *p >= 0xf0 && *p < 0xf5 ? 4
                                                : 0;
        bool good = n > 0;
        for (int i = 1; i < n && good; ++i) {
            good = (p[i] & 0xc0) == 0x80;
        }
        if (n == 3 && good) {
            const unsigned code = (p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
            good = code >= 0x800 && (code < 0xd800 || code > 0xdfff);
        }
        if (n == 4 && good) {
            const unsigned code = (p[0] & 7u) << 18 | (p[1] & 63u) << 12 | (p[2] & 63u) << 6 | (p[3] & 63u);
            good = code >= 0x10000 && code <= 0x10ffff;
        }
        if (!good) {
            *p++ = '?';
        } else {
            p += n;
        }
    }
}

/* A string scalar. Words that YAML would read as a number, a boolean or null keep their quotes. */
struct fy_node *json_string(struct fy_document *d, const char *s) {
    if (s[strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-._~")] == 0) {
        return fy_node_buildf(d, "\"%s\"", s);
    }
    char *copy = must_strdup(s);
    make_utf8(copy);
    struct fy_node *n = fy_node_create_scalar_copy(d, copy, FY_NT);
    free(copy);
    return n;
}

struct fy_node *json_number(struct fy_document *d, const char *format, ...) {
    char text[64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return fy_node_create_scalar_copy(d, text, FY_NT);
}

struct fy_node *json_bool(struct fy_document *d, bool value) {
    return json_number(d, value ? "true" : "false");
}

struct fy_node *json_real(struct fy_document *d, bool given, double value) {
    return given ? json_number(d, "%.9g", value) : json_number(d, "null");
}

void json_add(struct fy_document *d, struct fy_node *map, const char *key, struct fy_node *value) {
    fy_node_mapping_append(map, fy_node_create_scalar_copy(d, key, FY_NT), value);
}
void json_add_string(struct fy_document *d, struct fy_node *map, const char *key, const char *s) {
    if (s != NULL) {
        json_add(d, map, key, json_string(d, s));
    }
}

bool json_line(FILE *out, struct fy_document *d, struct fy_node *root) {
    fy_document_set_root(d, root);
    char *text = fy_emit_document_to_string(d, FYECF_MODE_JSON_ONELINE | FYECF_WIDTH_INF);
    bool good = text != NULL;
    if (good) {
        const size_t n = strcspn(text, "\n");
        good = fwrite(text, 1, n, out) == n && fputc('\n', out) != EOF;
    }
    free(text);
    return good;
}

void json_begin(struct json_lines *l) {
    *l = (struct json_lines){0};
    l->out = open_memstream(&l->text, &l->size);
    l->good = l->out != NULL;
}

struct fy_document *json_next(struct json_lines *l) {
    struct fy_document *d = l->good ? fy_document_create(NULL) : NULL;
    l->good = d != NULL;
    return d;
}

void json_put(struct json_lines *l, struct fy_document *d, struct fy_node *root) {
    l->good = json_line(l->out, d, root);
    fy_document_destroy(d);
}

bool json_end(struct json_lines *l, const char *path, struct error *e) {
    bool good = l->good;
    if (l->out != NULL) {
        good = fclose(l->out) == 0 && good;
    }
    good = good ? file_put(path, l->text, l->size, e) : fail(e, "%s: no memory for the JSON text", path);
    free(l->text);
    return good;
}

void json_drop(struct json_lines *l) {
    if (l->out != NULL) {
        fclose(l->out);
    }
    free(l->text);
}
