/* The expressions of launch files and cases: a tiny total language over int64.
 *
 *   or          a or b       1 when either is not zero; b is not evaluated when a decides
 *   and         a and b      likewise
 *   comparison  a == b  !=  <  <=  >  >=      1 or 0; they do not chain
 *   sum         a + b  a - b
 *   product     a * b  a / b  a % b           division truncates towards zero, a % b has the sign of a
 *   unary       -a
 *   value       12  0x1f  name  (a)  ceil(a, b)  min(a, b, ...)  max(a, b, ...)  xor(a, b, ...)
 *
 * ceil(a, b) is the smallest integer >= a / b, b > 0; xor is that of the two's complement bits. Names are
 * [a-z_][a-z0-9_]*. Overflow and division by zero are errors, never a value. Text of at most 1,000 bytes, 64 levels of
 * nesting; every evaluation ends. */
#ifndef GPU_EXPR_H
#define GPU_EXPR_H

#include "yaml.h"

/* Named values that expressions may use: nt, od, id and the like. */
struct shape_value {
    const char *name;
    int64_t value;
};
struct shape {
    const struct shape_value *values;
    size_t count;
};

struct spec_expr; /* an expression with the place it came from */

/* Reads the expression in a scalar of a document; what names it in messages. It must stand on one line and without
 * escapes, so that a caret can point into it. Independent of doc afterwards; the caller frees it. NULL on failure. */
struct spec_expr *expr_read(const struct yaml_doc *doc, const struct yaml_node *node, const char *what,
                            struct error *e);
/* The same from text alone (a flag, a table of ours). Messages show the text with a caret and no file. */
struct spec_expr *expr_parse(const char *text, struct error *e);
void expr_free(struct spec_expr *x); /* NULL is fine */

/* Value for a shape. Fails, with the caret on the operator or name, on an unknown name, a division by zero, a ceil
 * with b <= 0, or a result that does not fit int64. */
bool expr_eval(const struct spec_expr *x, const struct shape *shape, int64_t *value, struct error *e);
const char *expr_text(const struct spec_expr *x); /* as written */
/* True when the expression uses the name. */
bool expr_uses(const struct spec_expr *x, const char *name);
/* Always false: a complaint about the expression as a whole, with its place and a caret. */
bool expr_fail(const struct spec_expr *x, struct error *e, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* True when the text can be used as a name: [a-z_][a-z0-9_]*, at most 64 bytes, not a word of the language. */
bool expr_is_name(const char *text);

#endif
