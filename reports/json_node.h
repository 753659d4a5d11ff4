/* JSON out of libfyaml's nodes: scalars, fields, and one object as one line. */
#ifndef REPORTS_JSON_NODE_H
#define REPORTS_JSON_NODE_H

#include "../ref/error.h"
#include <libfyaml.h>
#include <stdbool.h>
#include <stdio.h>

/* A string; bytes that are not UTF-8 become '?'. s is copied. */
struct fy_node *json_string(struct fy_document *d, const char *s);
/* A number (or true, false, null), as printf would write it: at most 63 characters. */
struct fy_node *json_number(struct fy_document *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct fy_node *json_bool(struct fy_document *d, bool value);
/* A number of nine digits, which an f32 comes back from; null where there is none to give. */
struct fy_node *json_real(struct fy_document *d, bool given, double value);

/* map.key = value; json_add_string leaves the field out when s is NULL. */
void json_add(struct fy_document *d, struct fy_node *map, const char *key, struct fy_node *value);
void json_add_string(struct fy_document *d, struct fy_node *map, const char *key, const char *s);

/* Writes root, which the document then owns, as one line. False when memory ran out or out takes no more. */
bool json_line(FILE *out, struct fy_document *d, struct fy_node *root);

/* A file of JSON lines: json_begin; for each line a document, json_next, whose nodes end in json_put; json_end. */
struct json_lines {
    FILE *out; /* to text */
    char *text;
    size_t size;
    bool good;
};
void json_begin(struct json_lines *l);
/* NULL when memory ran out, now or before: json_end says so. */
struct fy_document *json_next(struct json_lines *l);
/* Writes root as a line, and frees it with its document. */
void json_put(struct json_lines *l, struct fy_document *d, struct fy_node *root);
/* Puts the lines into the file, whole or not at all, and frees them. False with the reason in e. */
bool json_end(struct json_lines *l, const char *path, struct error *e);
/* Frees them instead, and writes nothing. */
void json_drop(struct json_lines *l);

#endif
