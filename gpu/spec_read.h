/* Shared by the readers of a launch file's sections; nothing outside spec*.c needs it. */
#ifndef GPU_SPEC_READ_H
#define GPU_SPEC_READ_H

#include "spec.h"

enum { MAX_ARGS = 64, MAX_LIST = 256, MAX_WORD = 128, MAX_THEN = 8 };

/* What every reader needs: the spec it fills, the file, and where complaints go. All readers return false with e set.
 */
struct reader {
    struct spec *s;
    const struct yaml_doc *doc;
    struct error *e;
};

/* *out = a copy of the text, which has only letters, digits, _ and `extra`; a digit may begin it when said so. */
bool read_word(const struct reader *r, const struct yaml_node *node, const char *what, const char *extra,
               bool digit_first, char **out);
/* *out = folder of the launch file + the path in the node; an absolute path stays. */
bool read_path(const struct reader *r, const struct yaml_node *node, const char *what, char **out);
/* *out = the expression under a key; an absent key leaves it as it is. */
bool read_expr(const struct reader *r, const struct yaml_node *map, const char *key, const char *what,
               struct spec_expr **out);
/* The node is a list (a mapping) of at most `most` entries. */
bool read_list(const struct reader *r, const struct yaml_node *node, enum yaml_kind kind, const char *what,
               size_t most);

/* spec.c: the keys of `launch`, and `counts` */
bool read_launch(const struct reader *r, const struct yaml_node *launch);
bool read_counts(const struct reader *r, const struct yaml_node *map);
void free_launch(struct spec *s); /* what one launch is made of: launch, args, planes and counts */
/* spec_args.c */
bool read_args(const struct reader *r, const struct yaml_node *list);
bool read_buffers(const struct reader *r, const struct yaml_node *list);
void free_arg(struct spec_arg *a);
/* spec_then.c: the launches that follow; buffers that are given by their names, in all launches, and that each buffer
 * is taken by one. */
bool read_then(const struct reader *r, const struct yaml_node *list);
bool link_buffers(const struct reader *r);
void free_then(struct spec *s);
/* A scalar, or a struct of them; sets type_bytes and alignment. */
bool read_field(const struct reader *r, const struct yaml_node *map, struct spec_arg *a);
/* spec_struct.c: {struct: [...]} with its layout. */
bool read_struct(const struct reader *r, const struct yaml_node *map, struct spec_arg *a);
/* spec_planes.c */
bool read_planes(const struct reader *r, const struct yaml_node *list);
bool read_stages(const struct reader *r, const struct yaml_node *map);
bool read_mma(const struct reader *r, const struct yaml_node *map);
void free_planes(struct spec *s);                        /* and stages, and mma */
bool planes_use(const struct spec *s, const char *name); /* in one of these sections */
/* spec_published.c */
bool read_published(const struct reader *r, const struct yaml_node *list);
void free_published(struct spec *s);
/* The contract exists, and the arguments have its operands and its result, each once. */
bool check_contract(const struct reader *r);

#endif
