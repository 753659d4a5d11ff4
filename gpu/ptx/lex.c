/* Characters -> tokens, and messages that point at them. Source: PTX ISA 4.1 - 4.5. */
#include "../../ref/printable.h"
#include "internal.h"
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}
static bool is_letter(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static bool is_name_start(int c) {
    return is_letter(c) || c == '_' || c == '$' || c == '%';
}
static bool is_name_part(int c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}

/* The character `ahead` places further on, 0 past the end. A NUL in the text is no character PTX knows either. */
static int peek(const struct parser *p, size_t ahead) {
    return p->size - p->next > ahead ? (unsigned char)p->text[p->next + ahead] : 0;
}

/* ---- messages ---- */

enum { SHOWN_BEFORE = 70, SHOWN_AFTER = 50, SHOWN_PATH = 600 };

static size_t columns(const char *utf8) {
    size_t n = 0;
    for (; *utf8; utf8++)
        n += (*utf8 & 0xC0) != 0x80;
    return n;
}

/* Prints text[from, to) of one line: tabs as one blank, everything else that is not printable escaped. */
static const char *show(char *out, size_t room, const char *text, size_t from, size_t to) {
    char piece[SHOWN_BEFORE + SHOWN_AFTER + 8];
    size_t n = to - from < sizeof piece ? to - from : sizeof piece;
    for (size_t i = 0; i < n; i++)
        piece[i] = text[from + i] == '\t' ? ' ' : text[from + i];
    return printable(out, room, piece, n);
}

void report_at(struct parser *p, size_t at, const char *format, ...) {
    if (p->failed)
        return;
    p->failed = true;
    p->token.kind = TOKEN_BAD;

    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);

    if (at > p->size)
        at = p->size;
    size_t start = at, end = at;
    while (start > 0 && p->text[start - 1] != '\n')
        start--;
    while (end < p->size && p->text[end] != '\n' && p->text[end] != '\r' && end - at <= SHOWN_AFTER)
        end++;
    int line = 1;
    for (const char *q = p->text; (q = memchr(q, '\n', (size_t)(p->text + start - q))); q++)
        line++;
    size_t column = at - start + 1;
    bool cut_before = at - start > SHOWN_BEFORE, cut_after = end - at > SHOWN_AFTER;
    if (cut_before)
        start = at - SHOWN_BEFORE;

    char before[4 * (SHOWN_BEFORE + SHOWN_AFTER) + 40], after[sizeof before];
    show(before, sizeof before, p->text, start, at);
    show(after, sizeof after, p->text, at, end);
    const char *ahead = cut_before ? "... " : "";
    size_t path_bytes = strlen(p->path), skipped = path_bytes > SHOWN_PATH ? path_bytes - SHOWN_PATH : 0;
    fail(p->e, "%s%s:%d:%zu: %s\n%s%s%s%s\n%*s^", skipped ? "..." : "", p->path + skipped, line, column, message, ahead,
         before, after, cut_after ? " ..." : "", (int)(strlen(ahead) + columns(before)), "");
}

static const char *token_in_words(const struct token *t, char *out, size_t room) {
    char word[100];
    if (t->kind == TOKEN_END)
        return "the end of the file";
    printable(word, sizeof word, t->text, t->size);
    snprintf(out, room, t->kind == TOKEN_STRING ? "\"%s\"" : t->kind == TOKEN_DOTTED ? "'.%s'" : "'%s'", word);
    return out;
}

void report_unexpected(struct parser *p, const char *wanted) {
    char found[120];
    report_at(p, p->token.at, "expected %s, found %s", wanted, token_in_words(&p->token, found, sizeof found));
}

/* ---- tokens ---- */

static bool skip_blanks(struct parser *p) {
    for (;;) {
        int c = peek(p, 0);
        if (c == '\n') {
            p->next_line++;
            p->next++;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            p->next++;
        } else if (c == '/' && peek(p, 1) == '/') {
            const char *end = memchr(p->text + p->next, '\n', p->size - p->next);
            p->next = end ? (size_t)(end - p->text) : p->size;
        } else if (c == '/' && peek(p, 1) == '*') {
            const char *end = p->text + p->next + 2, *last = p->text + p->size;
            while (last - end >= 2 && !(end[0] == '*' && end[1] == '/'))
                p->next_line += *end++ == '\n';
            if (last - end < 2)
                return fail_at(p, p->next, "this comment never ends");
            p->next = (size_t)(end - p->text) + 2;
        } else {
            return true;
        }
    }
}

static int digit_value(int c) {
    return is_digit(c) ? c - '0' : is_letter(c) ? (c | 32) - 'a' + 10 : 99;
}

static bool read_digits(struct parser *p, const char *digits, size_t n, int base, uint64_t *out) {
    uint64_t value = 0;
    if (!n)
        return fail_at(p, p->token.at, "a number without digits");
    for (size_t i = 0; i < n; i++) {
        int d = digit_value((unsigned char)digits[i]);
        if (d >= base)
            return fail_at(p, p->token.at, "'%c' is no digit of a number to the base %d", digits[i], base);
        if (__builtin_mul_overflow(value, (uint64_t)base, &value) || __builtin_add_overflow(value, (uint64_t)d, &value))
            return fail_at(p, p->token.at, "this number does not fit 64 bits");
    }
    *out = value;
    return true;
}

static bool read_decimal_float(struct parser *p) {
    struct token *t = &p->token;
    char digits[128], *end;
    if (t->size >= sizeof digits)
        return fail_at(p, t->at, "this number has more than %zu characters", sizeof digits - 1);
    memcpy(digits, t->text, t->size);
    digits[t->size] = 0;
    /* strtod follows the locale of the process; PTX does not. */
    locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!c_locale)
        return fail_at(p, t->at, "the C locale is not available");
    double value = strtod_l(digits, &end, c_locale);
    freelocale(c_locale);
    if (*end)
        return fail_at(p, t->at, "malformed number '%s'", digits);
    if (value - value != 0)
        return fail_at(p, t->at, "this number does not fit a double");
    memcpy(&t->bits, &value, sizeof value);
    t->kind = TOKEN_FLOAT;
    t->is_double = true;
    return true;
}

/* 0x1F 017 0b101 42 42U, 0f3F800000, 0d3FF0000000000000, 1.5e-3 */
static bool read_number(struct parser *p) {
    struct token *t = &p->token;
    const char *s = t->text;
    bool prefixed = s[0] == '0' && p->size - p->next > 1 && is_letter((unsigned char)s[1]);
    size_t n = 0;
    bool fraction = false;
    for (int c; is_name_part(c = peek(p, n)) || (!prefixed && (c == '.' || c == '+' || c == '-')); n++) {
        if ((c == '+' || c == '-') && (s[n - 1] | 32) != 'e')
            break;
        fraction |= !prefixed && (c == '.' || (c | 32) == 'e');
    }
    t->size = n;
    p->next += n;
    if (fraction)
        return read_decimal_float(p);
    int prefix = prefixed ? s[1] | 32 : 0;
    if (prefix == 'f' || prefix == 'd') {
        t->kind = TOKEN_FLOAT;
        t->is_double = prefix == 'd';
        size_t wanted = t->is_double ? 16 : 8;
        if (n - 2 != wanted)
            return fail_at(p, t->at, "0%c takes exactly %zu hexadecimal digits, here are %zu", prefix, wanted, n - 2);
        return read_digits(p, s + 2, wanted, 16, &t->bits);
    }
    t->kind = TOKEN_INTEGER;
    if ((s[n - 1] | 32) == 'u') {
        t->is_unsigned = true;
        n--;
    }
    bool ok = prefix == 'x'   ? read_digits(p, s + 2, n - 2, 16, &t->bits)
              : prefix == 'b' ? read_digits(p, s + 2, n - 2, 2, &t->bits)
              : s[0] == '0'   ? read_digits(p, s, n, 8, &t->bits)
                              : read_digits(p, s, n, 10, &t->bits);
    t->is_unsigned |= t->bits >> 63; /* PTX ISA 4.5.1: .s64 where it fits, else .u64 */
    return ok;
}

static bool read_string(struct parser *p) {
    size_t n = 1;
    for (int c; (c = peek(p, n)) != '"'; n++) {
        if (p->size - p->next <= n || c == '\n')
            return fail_at(p, p->next, "this string never ends");
        if (c < ' ' && c != '\t')
            return fail_at(p, p->next + n, "control character 0x%02x in a string", (unsigned)c);
        if (c == '\\' && peek(p, n + 1) != '\n' && p->size - p->next > n + 1)
            n++;
    }
    p->token.kind = TOKEN_STRING;
    p->token.text++;
    p->token.size = n - 1;
    p->next += n + 1;
    return true;
}

static void read_dotted(struct parser *p) {
    size_t n = 1;
    while (is_name_part(peek(p, n)) || (peek(p, n) == ':' && peek(p, n + 1) == ':' && is_name_part(peek(p, n + 2))))
        n += peek(p, n) == ':' ? 2 : 1;
    p->token.kind = TOKEN_DOTTED;
    p->token.text++;
    p->token.size = n - 1;
    p->next += n;
}

static bool read_mark(struct parser *p) {
    static const struct {
        char text[3];
        int mark;
    } pairs[] = {{"<<", MARK_SHL}, {">>", MARK_SHR}, {"<=", MARK_LE},  {">=", MARK_GE},
                 {"==", MARK_EQ},  {"!=", MARK_NE},  {"&&", MARK_AND}, {"||", MARK_OR}};
    int c = peek(p, 0);
    if (c <= ' ' || c >= 127 || !strchr("@!{}()[]<>,;:=+-*/%&|^~?", c)) {
        if (!p->next && p->size >= 3 && !memcmp(p->text, "\xef\xbb\xbf", 3))
            return fail_at(p, 0, "a byte order mark is not accepted: save the file as UTF-8 without one");
        char shown[8];
        printable(shown, sizeof shown, p->text + p->next, 1);
        return fail_at(p, p->next, "unexpected character '%s'", shown);
    }
    p->token.kind = TOKEN_MARK;
    p->token.mark = c;
    p->token.size = 1;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (c == pairs[i].text[0] && peek(p, 1) == pairs[i].text[1]) {
            p->token.mark = pairs[i].mark;
            p->token.size = 2;
        }
    }
    p->next += p->token.size;
    return true;
}

void advance(struct parser *p) {
    if (p->failed)
        return;
    p->token_ended = p->next;
    if (!skip_blanks(p))
        return;
    p->token = (struct token){.at = p->next, .line = p->next_line, .text = p->text + p->next};
    int c = peek(p, 0);
    if (p->next == p->size) {
        p->token.kind = TOKEN_END;
    } else if (is_name_start(c)) {
        size_t n = 1;
        while (is_name_part(peek(p, n)))
            n++;
        if (n == 1 && c == '%') {
            read_mark(p);
            return;
        }
        p->token.kind = TOKEN_WORD;
        p->token.size = n;
        p->next += n;
        if (n > MAX_NAME)
            report_at(p, p->token.at, "a name of %zu characters; at most %d are supported", n, MAX_NAME);
    } else if (is_digit(c)) {
        read_number(p);
    } else if (c == '"') {
        read_string(p);
    } else if (c == '.' && is_name_part(peek(p, 1))) {
        read_dotted(p);
    } else {
        read_mark(p);
    }
}

bool is_mark(const struct parser *p, int mark) {
    return p->token.kind == TOKEN_MARK && p->token.mark == mark;
}

bool is_dotted(const struct parser *p, const char *word) {
    return p->token.kind == TOKEN_DOTTED && p->token.size == strlen(word) &&
           !memcmp(p->token.text, word, p->token.size);
}

bool accept_mark(struct parser *p, int mark) {
    if (!is_mark(p, mark))
        return false;
    advance(p);
    return true;
}

bool expect_mark(struct parser *p, int mark) {
    if (accept_mark(p, mark))
        return true;
    char wanted[] = {'\'', (char)mark, '\'', 0};
    return fail_unexpected(p, wanted);
}

bool expect_unsigned(struct parser *p, const char *what, uint64_t most, uint64_t *out) {
    if (p->token.kind != TOKEN_INTEGER)
        return fail_unexpected(p, what);
    if (p->token.bits > most)
        return fail_at(p, p->token.at, "%s is at most %llu", what, (unsigned long long)most);
    *out = p->token.bits;
    advance(p);
    return true;
}
