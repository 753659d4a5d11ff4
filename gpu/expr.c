#include "expr.h"
#include "../ref/checked.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1000, MAX_NESTING = 64, MAX_NAME = 64 };

enum operation {
    OP_VALUE,
    OP_NAME,
    OP_NEGATE,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_REMAINDER,
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_GREATER,
    OP_GREATER_EQUAL,
    OP_AND,
    OP_OR,
    OP_CEIL,
    OP_MIN,
    OP_MAX,
    OP_XOR,
};

struct term {
    enum operation op;
    size_t at;          /* byte of the text: of the operator, the name or the number */
    size_t length;      /* OP_NAME: bytes of the name */
    int64_t value;      /* OP_VALUE */
    size_t left, right; /* operands: terms before this one */
};

struct spec_expr {
    char *text;
    struct place place;
    struct term *terms; /* operands before their operators; the last is the whole */
    size_t count;
};

__attribute__((format(printf, 4, 5))) static bool fail_at(const struct spec_expr *x, size_t at, struct error *e,
                                                          const char *format, ...) {
    va_list args;
    va_start(args, format);
    place_fail(&x->place, at, e, format, args);
    va_end(args);
    return false;
}

/* ---- parsing: recursive descent, one function a level of precedence ---- */

struct parser {
    struct spec_expr *x;
    size_t at;
    int nesting;
    struct error *e;
};

static bool parse_or(struct parser *p, size_t *out);

static size_t add_term(struct parser *p, struct term t) {
    struct spec_expr *x = p->x;
    if ((x->count & (x->count - 1)) == 0) /* grows at powers of two */
        x->terms = must_realloc(x->terms, x->count ? 2 * x->count : 1, sizeof *x->terms);
    x->terms[x->count] = t;
    return x->count++;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static const char *skip_space(struct parser *p) {
    while (p->x->text[p->at] == ' ' || p->x->text[p->at] == '\t')
        p->at++;
    return p->x->text + p->at;
}

static size_t word_length(const char *s) {
    size_t n = 0;
    while (is_word(s[n]))
        n++;
    return n;
}

static bool is(const char *word, size_t length, const char *what) {
    return strlen(what) == length && memcmp(word, what, length) == 0;
}

/* Takes the token when it is next; a word only as a whole. */
static bool take(struct parser *p, const char *token) {
    const char *s = skip_space(p);
    size_t n = strlen(token);
    if (strncmp(s, token, n) != 0 || (is_word(*token) && is_word(s[n])))
        return false;
    p->at += n;
    return true;
}

static bool expected(struct parser *p, const char *what) {
    const char *s = skip_space(p);
    if (!*s)
        return fail_at(p->x, p->at, p->e, "expected %s, but the expression ends%s", what,
                       p->nesting ? "; a comma inside [...] or {...} needs quotes around the expression" : "");
    if (strncmp(s, "&&", 2) == 0 || strncmp(s, "||", 2) == 0)
        return fail_at(p->x, p->at, p->e, "%.2s is written '%s'", s, *s == '&' ? "and" : "or");
    if (*s == '=' && s[1] != '=')
        return fail_at(p->x, p->at, p->e, "'=' is written '=='");
    if (*s == '!' && s[1] != '=')
        return fail_at(p->x, p->at, p->e, "there is no '!': compare with == 0");
    if (*s == '.')
        return fail_at(p->x, p->at, p->e, "numbers are integers: no '.'");
    size_t n = word_length(s);
    if (n == 0)
        n = strchr("=!<>", *s) && s[1] == '=' ? 2 : 1;
    while (((unsigned char)s[n] & 0xC0) == 0x80) /* a whole character */
        n++;
    char *found = must_format("%.*s", (int)n, s);
    fail_at(p->x, p->at, p->e, "expected %s, found %s", what, quote(found).text);
    free(found);
    return false;
}

static bool enter(struct parser *p) {
    return ++p->nesting <= MAX_NESTING || fail_at(p->x, p->at, p->e, "nested deeper than %d levels", MAX_NESTING);
}

static bool parse_number(struct parser *p, bool negative, size_t *out) {
    const char *s = p->x->text + p->at;
    size_t n = word_length(s);
    int64_t value = 0;
    char *digits = must_format("%s%.*s", negative ? "-" : "", (int)n, s);
    const char *problem = yaml_parse_integer(digits, &value);
    if (problem)
        fail_at(p->x, p->at, p->e, "%s %s", quote(digits).text, problem);
    free(digits);
    if (problem)
        return false;
    *out = add_term(p, (struct term){.op = OP_VALUE, .at = p->at, .value = value});
    p->at += n;
    return true;
}

/* After the name of a function: its arguments. More than two fold from the left. */
static bool parse_call(struct parser *p, enum operation op, size_t name_at, size_t *out) {
    size_t count = 0, next;
    if (!take(p, "("))
        return expected(p, "'(' and arguments");
    if (!enter(p))
        return false;
    do {
        if (!parse_or(p, count ? &next : out))
            return false;
        if (count++)
            *out = add_term(p, (struct term){.op = op, .at = name_at, .left = *out, .right = next});
        if (op == OP_CEIL && count == 2)
            break;
    } while (take(p, ","));
    if (count < 2)
        return expected(p, "',' and a second argument");
    if (!take(p, ")"))
        return expected(p, op == OP_CEIL ? "')' after two arguments" : "',' or ')'");
    p->nesting--;
    return true;
}

static bool parse_value(struct parser *p, size_t *out) {
    const char *s = skip_space(p);
    size_t start = p->at, n = word_length(s);
    if (*s >= '0' && *s <= '9')
        return parse_number(p, false, out);
    if (take(p, "(")) {
        if (!enter(p) || !parse_or(p, out))
            return false;
        if (!take(p, ")"))
            return expected(p, "')'");
        p->nesting--;
        return true;
    }
    if (n == 0 || is(s, n, "and") || is(s, n, "or"))
        return expected(p, "a value");
    if (is(s, n, "not"))
        return fail_at(p->x, start, p->e, "there is no 'not': compare with == 0");
    for (size_t i = 0; i < n; i++)
        if (s[i] >= 'A' && s[i] <= 'Z')
            return fail_at(p->x, start, p->e, "names are lower case: a-z, 0-9 and _");
    if (n > MAX_NAME)
        return fail_at(p->x, start, p->e, "a name longer than %d characters", MAX_NAME);
    p->at += n;
    if (is(s, n, "ceil"))
        return parse_call(p, OP_CEIL, start, out);
    if (is(s, n, "min"))
        return parse_call(p, OP_MIN, start, out);
    if (is(s, n, "max"))
        return parse_call(p, OP_MAX, start, out);
    if (is(s, n, "xor"))
        return parse_call(p, OP_XOR, start, out);
    if (*skip_space(p) == '(') {
        static const char *const functions[] = {"ceil", "min", "max", "xor", NULL};
        char *name = must_format("%.*s", (int)n, s);
        const char *meant = nearest(name, functions);
        fail_at(p->x, start, p->e, "there is no function %s; there are ceil, min, max and xor%s%s%s", quote(name).text,
                meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
        free(name);
        return false;
    }
    *out = add_term(p, (struct term){.op = OP_NAME, .at = start, .length = n});
    return true;
}

static bool parse_unary(struct parser *p, size_t *out) {
    const char *s = skip_space(p);
    size_t at = p->at;
    if (!take(p, "-"))
        return parse_value(p, out);
    s = skip_space(p);
    if (*s >= '0' && *s <= '9') /* the sign belongs to the number: -9223372036854775808 fits */
        return parse_number(p, true, out);
    if (!enter(p) || !parse_unary(p, out))
        return false;
    p->nesting--;
    *out = add_term(p, (struct term){.op = OP_NEGATE, .at = at, .left = *out});
    return true;
}

struct binary {
    const char *token;
    enum operation op;
};

/* lower { op lower } with the operators of one level, from the left. */
static bool parse_chain(struct parser *p, const struct binary *ops, bool (*lower)(struct parser *, size_t *),
                        size_t *out) {
    if (!lower(p, out))
        return false;
    for (;;) {
        const struct binary *b = ops;
        skip_space(p);
        size_t at = p->at, right;
        while (b->token && !take(p, b->token))
            b++;
        if (!b->token)
            return true;
        if (!lower(p, &right))
            return false;
        *out = add_term(p, (struct term){.op = b->op, .at = at, .left = *out, .right = right});
    }
}

static bool parse_product(struct parser *p, size_t *out) {
    static const struct binary ops[] = {{"*", OP_MULTIPLY}, {"/", OP_DIVIDE}, {"%", OP_REMAINDER}, {NULL, 0}};
    return parse_chain(p, ops, parse_unary, out);
}

static bool parse_sum(struct parser *p, size_t *out) {
    static const struct binary ops[] = {{"+", OP_ADD}, {"-", OP_SUBTRACT}, {NULL, 0}};
    return parse_chain(p, ops, parse_product, out);
}

static bool parse_comparison(struct parser *p, size_t *out) {
    static const struct binary ops[] = {{"==", OP_EQUAL}, {"!=", OP_NOT_EQUAL},     {"<=", OP_LESS_EQUAL},
                                        {"<", OP_LESS},   {">=", OP_GREATER_EQUAL}, {">", OP_GREATER},
                                        {NULL, OP_VALUE}};
    if (!parse_sum(p, out))
        return false;
    for (int comparisons = 0;; comparisons++) {
        const struct binary *b = ops;
        skip_space(p);
        size_t at = p->at, right;
        while (b->token && !take(p, b->token))
            b++;
        if (!b->token)
            return true;
        if (comparisons)
            return fail_at(p->x, at, p->e, "comparisons do not chain: join two with 'and'");
        if (!parse_sum(p, &right))
            return false;
        *out = add_term(p, (struct term){.op = b->op, .at = at, .left = *out, .right = right});
    }
}

static bool parse_and(struct parser *p, size_t *out) {
    static const struct binary ops[] = {{"and", OP_AND}, {NULL, 0}};
    return parse_chain(p, ops, parse_comparison, out);
}

static bool parse_or(struct parser *p, size_t *out) {
    static const struct binary ops[] = {{"or", OP_OR}, {NULL, 0}};
    return parse_chain(p, ops, parse_and, out);
}

/* Takes over place. */
static struct spec_expr *parse(const char *text, struct place place, struct error *e) {
    struct spec_expr *x = must_calloc(1, sizeof *x);
    struct parser p = {.x = x, .e = e};
    size_t root;
    x->text = must_strdup(text);
    x->place = place;
    bool ok = strlen(text) <= MAX_TEXT || fail_at(x, 0, e, "an expression longer than %d bytes", MAX_TEXT);
    if (ok && parse_or(&p, &root) && (!*skip_space(&p) || expected(&p, "an operator")))
        return x;
    expr_free(x);
    return NULL;
}

struct spec_expr *expr_read(const struct yaml_doc *doc, const struct yaml_node *node, const char *what,
                            struct error *e) {
    const char *text = NULL;
    if (!yaml_string(doc, node, what, &text, e))
        return NULL;
    size_t length = strlen(text);
    if (length > doc->length - node->content || memcmp(doc->text + node->content, text, length) != 0 ||
        strchr(text, '\n')) {
        yaml_fail(doc, node, 0, e, "%s: an expression stands on one line and without escapes", what);
        return NULL;
    }
    struct place place = yaml_place(doc, node, 0);
    place.byte += node->content - node->start; /* past the quote */
    return parse(text, place, e);
}

struct spec_expr *expr_parse(const char *text, struct error *e) {
    return parse(text, place_at(NULL, text, strlen(text), 0), e);
}

void expr_free(struct spec_expr *x) {
    if (!x)
        return;
    place_free(&x->place);
    free(x->text);
    free(x->terms);
    free(x);
}

/* ---- evaluation ---- */

static bool eval_name(const struct spec_expr *x, const struct term *t, const struct shape *shape, int64_t *value,
                      struct error *e) {
    for (size_t i = 0; shape && i < shape->count; i++)
        if (is(x->text + t->at, t->length, shape->values[i].name)) {
            *value = shape->values[i].value;
            return true;
        }
    char known[400] = "none";
    size_t used = 0;
    for (size_t i = 0; shape && i < shape->count && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", shape->values[i].name);
    return fail_at(x, t->at, e, "'%.*s' has no value; known: %s", (int)t->length, x->text + t->at, known);
}

static bool overflows(enum operation op, int64_t a, int64_t b, int64_t *v) {
    switch (op) {
    case OP_NEGATE:
        return __builtin_sub_overflow((int64_t)0, a, v);
    case OP_ADD:
        return __builtin_add_overflow(a, b, v);
    case OP_SUBTRACT:
        return __builtin_sub_overflow(a, b, v);
    case OP_MULTIPLY:
        return __builtin_mul_overflow(a, b, v);
    default: /* OP_DIVIDE: the one quotient beyond int64 */
        return a == INT64_MIN && b == -1;
    }
}

static bool apply(const struct spec_expr *x, const struct term *t, int64_t a, int64_t b, int64_t *v, struct error *e) {
    switch (t->op) {
    case OP_DIVIDE:
    case OP_REMAINDER:
        if (b == 0)
            return fail_at(x, t->at, e, "division by zero");
        if (t->op == OP_REMAINDER) {
            *v = b == -1 ? 0 : a % b; /* INT64_MIN % -1 is 0, but undefined in C */
            return true;
        }
        if (!overflows(t->op, a, b, v)) {
            *v = a / b;
            return true;
        }
        break;
    case OP_NEGATE:
    case OP_ADD:
    case OP_SUBTRACT:
    case OP_MULTIPLY:
        if (!overflows(t->op, a, b, v))
            return true;
        break;
    case OP_CEIL:
        if (b <= 0)
            return fail_at(x, t->at, e, "ceil(a, b) needs b > 0, and b is %lld", (long long)b);
        *v = a / b + (a % b > 0);
        return true;
    case OP_MIN:
        *v = a < b ? a : b;
        return true;
    case OP_MAX:
        *v = a > b ? a : b;
        return true;
    case OP_XOR:
        *v = a ^ b;
        return true;
    case OP_EQUAL:
        *v = a == b;
        return true;
    case OP_NOT_EQUAL:
        *v = a != b;
        return true;
    case OP_LESS:
        *v = a < b;
        return true;
    case OP_LESS_EQUAL:
        *v = a <= b;
        return true;
    case OP_GREATER:
        *v = a > b;
        return true;
    default: /* OP_GREATER_EQUAL; the rest never comes here */
        *v = a >= b;
        return true;
    }
    return fail_at(x, t->at, e, "the result does not fit 64 bits");
}

/* Recursion is as deep as the text has operators: at most MAX_TEXT. */
static bool eval(const struct spec_expr *x, size_t index, const struct shape *shape, int64_t *value, struct error *e) {
    const struct term *t = &x->terms[index];
    int64_t a = 0, b = 0;
    if (t->op == OP_VALUE) {
        *value = t->value;
        return true;
    }
    if (t->op == OP_NAME)
        return eval_name(x, t, shape, value, e);
    if (!eval(x, t->left, shape, &a, e))
        return false;
    if ((t->op == OP_AND && !a) || (t->op == OP_OR && a)) {
        *value = t->op == OP_OR;
        return true;
    }
    if (t->op != OP_NEGATE && !eval(x, t->right, shape, &b, e))
        return false;
    if (t->op == OP_AND || t->op == OP_OR) {
        *value = b != 0;
        return true;
    }
    return apply(x, t, a, b, value, e);
}

bool expr_eval(const struct spec_expr *x, const struct shape *shape, int64_t *value, struct error *e) {
    return eval(x, x->count - 1, shape, value, e);
}

const char *expr_text(const struct spec_expr *x) {
    return x->text;
}

bool expr_uses(const struct spec_expr *x, const char *name) {
    for (size_t i = 0; i < x->count; i++)
        if (x->terms[i].op == OP_NAME && is(x->text + x->terms[i].at, x->terms[i].length, name))
            return true;
    return false;
}

bool expr_fail(const struct spec_expr *x, struct error *e, const char *format, ...) {
    va_list args;
    va_start(args, format);
    place_fail(&x->place, 0, e, format, args);
    va_end(args);
    return false;
}

bool expr_is_name(const char *text) {
    static const char *const words[] = {"and", "or", "not", "ceil", "min", "max", "xor", NULL};
    size_t n = strlen(text);
    if (n == 0 || n > MAX_NAME || (text[0] >= '0' && text[0] <= '9'))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_word(text[i]) || (text[i] >= 'A' && text[i] <= 'Z'))
            return false;
    for (size_t i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0)
            return false;
    return true;
}
