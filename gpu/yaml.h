/* Strict YAML: a file becomes a tree of nodes that know their place, and every complaint about one is
 * "FILE:LINE:COLUMN: message", the source line, and a caret under the column. libfyaml does the syntax; on top of it:
 * files of at most 4 MiB and 32 levels, one document a file, UTF-8 without control characters, no duplicate keys, and
 * no anchors, aliases, merge keys, tags or directives (a small file must not be able to stand for a large one).
 * Shared by the launch files (spec.h) and by the cases and plants of fixtures/. */
#ifndef GPU_YAML_H
#define GPU_YAML_H

#include "place.h"
#include <stdint.h>

enum yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING };

struct yaml_node {
    enum yaml_kind kind;
    const struct yaml_node *next;  /* next item of the same sequence, or next key of the same mapping */
    const struct yaml_node *first; /* first item, or first key; NULL: empty */
    const struct yaml_node *value; /* of a key: what it maps to, never NULL */
    size_t count;                  /* items or keys */
    const char *text;              /* scalar: decoded; no control characters but tab and newline. Else NULL */
    bool plain;                    /* scalar: written without quotes */
    size_t start;                  /* byte of the file where the node begins, at its quote or bracket */
    size_t content;                /* scalar: byte where its text begins, after the quote */
};

struct yaml_doc {
    char *path;
    char *text; /* (length + 1) the whole file, ends in a zero byte */
    size_t length;
    const struct yaml_node *root; /* never NULL */
    struct yaml_pool *pool;       /* owns the nodes */
};

struct fy_diag *yaml_quiet_diag(void); /* of libfyaml, for a reader whose messages nobody prints; NULL: no memory */

/* Reads and checks the file. On failure NULL, with the message in e; nothing is ever printed. */
struct yaml_doc *yaml_open(const char *path, struct error *e);
/* The same of a text in place of the file's own; messages name the path, whose file is not opened. */
struct yaml_doc *yaml_open_text(const char *path, const char *text, struct error *e);
void yaml_close(struct yaml_doc *doc); /* NULL is fine */

/* Always false: "FILE:LINE:COLUMN: message" with the caret `offset` bytes into the text of a scalar; offset 0 is the
 * start of any node. The mapping of offsets holds for scalars written on one line and without escapes. */
bool yaml_fail(const struct yaml_doc *doc, const struct yaml_node *node, size_t offset, struct error *e,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The place that yaml_fail complains about, for messages after doc is closed. The caller frees it. */
struct place yaml_place(const struct yaml_doc *doc, const struct yaml_node *node, size_t offset);

/* The readers below are strict. `what` names the value in messages ("launch.grid"). All fail with the node's place. */

/* The node is of that kind. */
bool yaml_expect(const struct yaml_doc *doc, const struct yaml_node *node, enum yaml_kind kind, const char *what,
                 struct error *e);
/* The node is a mapping and has no keys but the allowed ones (a list ended by NULL). */
bool yaml_check_keys(const struct yaml_doc *doc, const struct yaml_node *node, const char *what,
                     const char *const *allowed, struct error *e);
/* Value of a key, or NULL when the mapping has no such key. */
const struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key);
/* The same, but a missing key is an error. */
bool yaml_require(const struct yaml_doc *doc, const struct yaml_node *mapping, const char *key, const char *what,
                  const struct yaml_node **value, struct error *e);
/* Text that is not empty. *text lives as long as doc. */
bool yaml_string(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, const char **text,
                 struct error *e);
/* Unquoted decimal or 0x integer, nothing around it, without leading zeros, in [min, max]. */
bool yaml_integer(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, int64_t min, int64_t max,
                  int64_t *value, struct error *e);
/* Unquoted true or false, nothing else. */
bool yaml_bool(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, bool *value,
               struct error *e);
/* *index = the entry of a list (ended by NULL) that the text equals; the error lists them all. */
bool yaml_choice(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, const char *const *choices,
                 size_t *index, struct error *e);

/* The strict integer of yaml_integer from text alone: NULL, or what is wrong with it in words. */
const char *yaml_parse_integer(const char *text, int64_t *value);

#endif
