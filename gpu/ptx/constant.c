/* Constant expressions over 64-bit integers, with C's operators and precedence. A result is signed unless an operand
 * is not. Floating-point constants take a sign and parentheses, nothing more. Source: PTX ISA 4.5.3 - 4.5.6. */
#include "internal.h"
#include <string.h>

/* Binary operators by rising precedence; a level of -1 is none. */
static int level_of(int mark) {
    switch (mark) {
    case MARK_OR:
        return 0;
    case MARK_AND:
        return 1;
    case '|':
        return 2;
    case '^':
        return 3;
    case '&':
        return 4;
    case MARK_EQ:
    case MARK_NE:
        return 5;
    case '<':
    case '>':
    case MARK_LE:
    case MARK_GE:
        return 6;
    case MARK_SHL:
    case MARK_SHR:
        return 7;
    case '+':
    case '-':
        return 8;
    case '*':
    case '/':
    case '%':
        return 9;
    default:
        return -1;
    }
}

static bool divide(struct parser *p, size_t at, int mark, bool is_unsigned, uint64_t x, uint64_t y, uint64_t *out) {
    if (!y)
        return fail_at(p, at, "division by zero in a constant");
    if (is_unsigned)
        *out = mark == '/' ? x / y : x % y;
    else if (y == UINT64_MAX) /* -1: INT64_MIN / -1 wraps */
        *out = mark == '/' ? -x : 0;
    else
        *out = mark == '/' ? (uint64_t)((int64_t)x / (int64_t)y) : (uint64_t)((int64_t)x % (int64_t)y);
    return true;
}

static bool combine(struct parser *p, size_t at, int mark, struct constant *a, const struct constant *b) {
    if (a->kind != CONSTANT_INTEGER || b->kind != CONSTANT_INTEGER)
        return fail_at(p, at, "arithmetic on floating-point constants is not supported");
    bool shift = mark == MARK_SHL || mark == MARK_SHR;
    bool is_unsigned = a->is_unsigned || (b->is_unsigned && !shift);
    uint64_t x = a->bits, y = b->bits, r = 0;
    bool less = is_unsigned ? x < y : (int64_t)x < (int64_t)y;
    switch (mark) {
    case MARK_OR:
        r = x || y;
        break;
    case MARK_AND:
        r = x && y;
        break;
    case '|':
        r = x | y;
        break;
    case '^':
        r = x ^ y;
        break;
    case '&':
        r = x & y;
        break;
    case MARK_EQ:
        r = x == y;
        break;
    case MARK_NE:
        r = x != y;
        break;
    case '<':
        r = less;
        break;
    case '>':
        r = !less && x != y;
        break;
    case MARK_LE:
        r = less || x == y;
        break;
    case MARK_GE:
        r = !less;
        break;
    case MARK_SHL:
    case MARK_SHR:
        if (y > 63)
            return fail_at(p, at, "a shift by %lld in a constant", (long long)y);
        r = mark == MARK_SHL ? x << y : is_unsigned ? x >> y : (uint64_t)((int64_t)x >> y);
        break;
    case '+':
        r = x + y;
        break;
    case '-':
        r = x - y;
        break;
    case '*':
        r = x * y;
        break;
    default:
        if (!divide(p, at, mark, is_unsigned, x, y, &r))
            return false;
    }
    bool logical = mark == MARK_OR || mark == MARK_AND || level_of(mark) == 5 || level_of(mark) == 6;
    *a = (struct constant){.kind = CONSTANT_INTEGER, .bits = r, .is_unsigned = is_unsigned && !logical};
    return true;
}

static bool parse_choice(struct parser *p, int depth, struct constant *out);

static bool too_deep(struct parser *p, int depth) {
    if (depth < MAX_EXPRESSION)
        return false;
    report_at(p, p->token.at, "a constant expression nested more than %d deep", MAX_EXPRESSION);
    return true;
}

/* After "(": a cast (.s64) or (.u64), or an expression in parentheses. */
static bool parse_bracketed(struct parser *p, int depth, struct constant *out);

static bool apply_unary(struct parser *p, size_t at, int mark, struct constant *c) {
    if (mark == '+')
        return true;
    if (c->kind != CONSTANT_INTEGER) {
        if (mark != '-')
            return fail_at(p, at, "'%c' on a floating-point constant", mark);
        c->bits ^= c->kind == CONSTANT_DOUBLE ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
        return true;
    }
    c->bits = mark == '-' ? -c->bits : mark == '~' ? ~c->bits : !c->bits;
    c->is_unsigned = c->is_unsigned && mark != '!';
    return true;
}

static bool parse_unary(struct parser *p, int depth, struct constant *out) {
    const struct token *t = &p->token;
    if (too_deep(p, depth))
        return false;
    if (t->kind == TOKEN_INTEGER || t->kind == TOKEN_FLOAT) {
        int kind = t->kind == TOKEN_INTEGER ? CONSTANT_INTEGER : t->is_double ? CONSTANT_DOUBLE : CONSTANT_SINGLE;
        *out = (struct constant){.bits = t->bits, .is_unsigned = t->is_unsigned};
        out->kind = kind;
        advance(p);
        return true;
    }
    if (t->kind == TOKEN_WORD && t->size == 7 && !memcmp(t->text, "WARP_SZ", 7)) {
        *out = (struct constant){.kind = CONSTANT_INTEGER, .bits = 32};
        advance(p);
        return true;
    }
    if (is_mark(p, '-') || is_mark(p, '+') || is_mark(p, '~') || is_mark(p, '!')) {
        int mark = t->mark;
        size_t at = t->at;
        advance(p);
        return parse_unary(p, depth + 1, out) && apply_unary(p, at, mark, out);
    }
    if (accept_mark(p, '('))
        return parse_bracketed(p, depth, out);
    return fail_unexpected(p, "a constant");
}

static bool parse_bracketed(struct parser *p, int depth, struct constant *out) {
    bool to_unsigned = is_dotted(p, "u64");
    if (!to_unsigned && !is_dotted(p, "s64"))
        return parse_choice(p, depth + 1, out) && expect_mark(p, ')');
    size_t at = p->token.at;
    advance(p);
    if (!expect_mark(p, ')') || !parse_unary(p, depth + 1, out))
        return false;
    if (out->kind != CONSTANT_INTEGER)
        return fail_at(p, at, "a cast of a floating-point constant is not supported");
    out->is_unsigned = to_unsigned;
    return true;
}

/* Operators of `level` and above, left-associative: each round takes one and everything on its right that binds more.
 */
static bool parse_binary(struct parser *p, int level, int depth, struct constant *out) {
    if (too_deep(p, depth) || !parse_unary(p, depth, out))
        return false;
    for (int found; p->token.kind == TOKEN_MARK && (found = level_of(p->token.mark)) >= level;) {
        int mark = p->token.mark;
        size_t at = p->token.at;
        struct constant right;
        advance(p);
        if (!parse_binary(p, found + 1, depth + 1, &right) || !combine(p, at, mark, out, &right))
            return false;
    }
    return !p->failed;
}

static bool parse_choice(struct parser *p, int depth, struct constant *out) {
    if (!parse_binary(p, 0, depth, out))
        return false;
    if (!is_mark(p, '?'))
        return true;
    size_t at = p->token.at;
    struct constant yes, no;
    advance(p);
    if (!parse_choice(p, depth + 1, &yes) || !expect_mark(p, ':') || !parse_choice(p, depth + 1, &no))
        return false;
    if (out->kind != CONSTANT_INTEGER || yes.kind != CONSTANT_INTEGER || no.kind != CONSTANT_INTEGER)
        return fail_at(p, at, "arithmetic on floating-point constants is not supported");
    bool is_unsigned = yes.is_unsigned || no.is_unsigned;
    *out = out->bits ? yes : no;
    out->is_unsigned = is_unsigned;
    return true;
}

bool starts_constant(const struct parser *p) {
    const struct token *t = &p->token;
    return t->kind == TOKEN_INTEGER || t->kind == TOKEN_FLOAT || is_mark(p, '-') || is_mark(p, '+') ||
           is_mark(p, '~') || is_mark(p, '(') || is_mark(p, '!') ||
           (t->kind == TOKEN_WORD && t->size == 7 && !memcmp(t->text, "WARP_SZ", 7));
}

bool parse_constant(struct parser *p, struct constant *out) {
    return parse_choice(p, 0, out);
}

bool parse_integer_constant(struct parser *p, uint64_t *bits) {
    size_t at = p->token.at;
    struct constant c;
    if (!parse_constant(p, &c))
        return false;
    if (c.kind != CONSTANT_INTEGER)
        return fail_at(p, at, "an integer is wanted here");
    *bits = c.bits;
    return true;
}
