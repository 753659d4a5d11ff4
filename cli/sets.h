/* --set NAME=VALUE: values for the expressions of a launch file. */
#ifndef CLI_SETS_H
#define CLI_SETS_H

#include "../gpu/bind.h"

enum { SETS_MAX = 64 };

struct sets {
    struct shape_value values[SETS_MAX]; /* names owned */
    size_t count;
};

/* Takes "NAME=VALUE": a name as expressions spell it, and a strict integer; each name once. */
bool sets_take(struct sets *s, const char *text);
/* The same for a command's --set: -1, or the exit code after a message. */
int sets_option(const char *command, struct sets *s, const char *text);
void sets_free(struct sets *s);
/* The launch file's own `shape:` values, overridden by the sets, and then `more` where neither has a name. Names stay
 * those of the spec, the sets and `more`. The caller frees the array. */
struct shape_value *sets_merge(const struct spec *spec, const struct sets *s, const struct shape_value *more,
                               size_t more_count, size_t *count);
/* An expression of the launch file uses the name, or its contract does: nt, id, and od where it has weights. */
bool sets_used(const struct spec *spec, const char *name);
/* False, with a message, when a set names nothing that the launch file or its contract uses. */
bool sets_check(const struct spec *spec, const struct sets *s, struct error *e);
/* The options as they are given, each with a space ahead; the caller frees it. seed: NULL, not said. */
char *sets_text(const struct sets *s, const uint64_t *seed);
/* r->nt, id, and od where the contract has weights, are the shape's, each in 1 .. INT32_MAX; what else the launch file
 * says of its operands is in r too. */
bool sets_operands(const struct spec *spec, const struct shape *shape, struct operands_request *r, struct error *e);
/* The id of a launch file's own case of this request, which keys its data: r->key. The caller frees it. */
char *sets_id(const struct spec *spec, struct operands_request *r, uint64_t seed);

#endif
