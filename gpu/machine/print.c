/* printf and assert on the device. vprintf gets a format and a buffer with the arguments, each at a multiple of its
 * size (integers 4 bytes, long and pointers 8, floating-point numbers 8); the text is made here and kept, in the order
 * of (block, execution), whatever the number of CPU threads. Source: CUDA C++ Programming Guide, "Formatted Output" and
 * "Assertion"; PTX ISA 7.1; facts/ptx.md K-6. */
#include "../../ref/checked.h"
#include "machine.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 16384, MOST_STRING = 4096, MOST_WIDTH = 1024 };

struct print {
    struct trace_print what;
    uint64_t block, order;
};

struct prints { /* of the blocks that one CPU thread runs, which come in ascending order */
    struct print *list;
    size_t count, room;
    uint64_t total;
    char *assertion;
    uint64_t assertion_block;
};

bool prints_open(struct block *b) {
    b->prints = must_calloc(1, sizeof *b->prints);
    return true;
}

void prints_clear(struct block *b) {
    struct prints *p = b->prints;
    for (size_t i = 0; i < p->count; ++i)
        free(p->list[i].what.text);
    free(p->list);
    free(p->assertion);
    *p = (struct prints){0};
}

void prints_close(struct block *b) {
    if (b->prints)
        prints_clear(b);
    free(b->prints);
    b->prints = NULL;
}

static int by_place(const void *a, const void *b) {
    const struct print *x = a, *y = b;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void prints_merge(struct trace *t, struct block *blocks, int count) {
    size_t all = 0;
    uint64_t lowest = UINT64_MAX;
    for (int i = 0; i < count; ++i)
        all += blocks[i].prints->count;
    struct print *sorted = must_calloc(all, sizeof *sorted);
    all = 0;
    for (int i = 0; i < count; ++i) {
        struct prints *p = blocks[i].prints;
        if (p->count)
            memcpy(sorted + all, p->list, p->count * sizeof *sorted);
        all += p->count;
        p->count = 0;
        t->print_total += p->total;
        if (p->assertion && p->assertion_block < lowest) {
            lowest = p->assertion_block;
            free(t->assertion);
            t->assertion = p->assertion;
            p->assertion = NULL;
        }
    }
    qsort(sorted, all, sizeof *sorted, by_place);
    t->print_count = all < TRACE_PRINTS ? all : TRACE_PRINTS;
    t->prints = must_calloc(t->print_count, sizeof *t->prints);
    for (size_t i = 0; i < all; ++i) {
        if (i < t->print_count)
            t->prints[i] = sorted[i].what;
        else
            free(sorted[i].what.text);
    }
    free(sorted);
}

/* ---- text ---- */

struct text { /* being written; what does not fit is left out */
    char bytes[MOST_TEXT];
    size_t length;
};

static void append(struct text *t, const char *s, size_t n) {
    const size_t room = sizeof t->bytes - 1 - t->length;
    n = n < room ? n : room;
    memcpy(t->bytes + t->length, s, n);
    t->length += n;
}

static void bad_address(struct warp *w, const struct record *r, unsigned lane, uint64_t address) {
    event_at(w, r, lane,
             (struct event){.kind = EVENT_OUT_OF_BOUNDS,
                            .space = SPACE_GLOBAL,
                            .buffer = -1,
                            .plane = -1,
                            .other_plane = -1,
                            .offset = (int64_t)address,
                            .bytes = 1});
}

/* The string at a generic address, at most MOST_STRING - 1 characters; an event where it cannot be read. */
static const char *read_string(struct warp *w, const struct record *r, unsigned lane, uint64_t address,
                               char out[MOST_STRING]) {
    if (!address)
        return "(null)";
    size_t n = 0;
    for (; n + 1 < MOST_STRING; ++n) {
        if (!generic_read(w, r, lane, address + n, (uint8_t *)&out[n], 1)) {
            bad_address(w, r, lane, address + n);
            break;
        }
        if (!out[n])
            return out;
    }
    out[n] = 0;
    return out;
}

struct arguments { /* the buffer of one lane */
    struct warp *w;
    const struct record *r;
    unsigned lane;
    uint64_t at;
    unsigned taken; /* conversions that took one */
};

static uint64_t next_argument(struct arguments *a, size_t bytes) {
    uint64_t v = 0;
    a->at = (a->at + bytes - 1) & ~(uint64_t)(bytes - 1);
    if (!generic_read(a->w, a->r, a->lane, a->at, (uint8_t *)&v, bytes))
        bad_address(a->w, a->r, a->lane, a->at);
    a->at += bytes;
    return v;
}

struct conversion {
    char flags[8];
    int width, precision; /* -1: none */
    bool wide;            /* l, ll: 8 bytes */
    bool narrow, byte;    /* h, hh */
    char letter;
};

static int number(const char **s) {
    int n = 0;
    for (; **s >= '0' && **s <= '9'; ++*s)
        n = n < MOST_WIDTH ? 10 * n + (**s - '0') : n;
    return n < MOST_WIDTH ? n : MOST_WIDTH;
}

/* A width or precision of its own argument (*), or digits. */
static int field(const char **s, struct arguments *a) {
    if (**s != '*')
        return number(s);
    ++*s;
    const int32_t n = (int32_t)next_argument(a, 4);
    return n < -MOST_WIDTH ? -MOST_WIDTH : n > MOST_WIDTH ? MOST_WIDTH : n;
}

/* After the %. *s ends behind the letter. */
static struct conversion read_conversion(const char **s, struct arguments *a) {
    struct conversion c = {.width = -1, .precision = -1};
    size_t flags = 0;
    for (; **s && strchr("-+ #0", **s); ++*s)
        if (!strchr(c.flags, **s) && flags + 2 < sizeof c.flags)
            c.flags[flags++] = **s;
    if (**s == '*' || (**s >= '0' && **s <= '9'))
        c.width = field(s, a);
    if (c.width < -1 || (c.width == -1 && (*s)[-1] == '*')) { /* a negative one asks for the left */
        c.width = -c.width;
        if (!strchr(c.flags, '-'))
            c.flags[flags++] = '-';
    }
    if (**s == '.') {
        ++*s;
        c.precision = field(s, a);
        c.precision = c.precision < -1 ? -1 : c.precision;
    }
    for (; **s && strchr("hlLqjzt", **s); ++*s) {
        c.byte |= **s == 'h' && c.narrow;
        c.narrow |= **s == 'h';
        c.wide |= **s != 'h' && **s != 'L';
    }
    c.letter = **s;
    *s += **s != 0;
    return c;
}

/* snprintf with the flags, width and precision of c, and `tail` behind them. */
#define WRITE(t, c, tail, value)                                                                                       \
    do {                                                                                                               \
        char format[48], out[2 * MOST_WIDTH + 400];                                                                    \
        size_t used = (size_t)snprintf(format, sizeof format, "%%%s", (c)->flags);                                     \
        if ((c)->width >= 0)                                                                                           \
            used += (size_t)snprintf(format + used, sizeof format - used, "%d", (c)->width);                           \
        if ((c)->precision >= 0)                                                                                       \
            used += (size_t)snprintf(format + used, sizeof format - used, ".%d", (c)->precision);                      \
        snprintf(format + used, sizeof format - used, "%s", tail);                                                     \
        const int length = snprintf(out, sizeof out, format, value);                                                   \
        append(t, out, length < 0 ? 0 : (size_t)length < sizeof out ? (size_t)length : sizeof out - 1);                \
    } while (0)

static void write_integer(struct text *t, const struct conversion *c, uint64_t bits) {
    const bool is_signed = c->letter == 'd' || c->letter == 'i';
    char tail[8] = {'l', 'l', c->letter, 0};
    if (is_signed) {
        const long long v = c->wide     ? (long long)bits
                            : c->byte   ? (int8_t)bits
                            : c->narrow ? (int16_t)bits
                                        : (int32_t)bits;
        WRITE(t, c, tail, v);
    } else {
        const unsigned long long v = c->wide     ? bits
                                     : c->byte   ? (uint8_t)bits
                                     : c->narrow ? (uint16_t)bits
                                                 : (uint32_t)bits;
        WRITE(t, c, tail, v);
    }
}

static void write_conversion(struct text *t, const struct conversion *c, struct arguments *a) {
    char string[MOST_STRING];
    const char tail[2] = {c->letter, 0};
    ++a->taken;
    if (strchr("diouxX", c->letter)) {
        write_integer(t, c, next_argument(a, c->wide ? 8 : 4));
    } else if (strchr("aAeEfFgG", c->letter)) {
        const uint64_t bits = next_argument(a, 8);
        double v;
        memcpy(&v, &bits, 8);
        WRITE(t, c, tail, v);
    } else if (c->letter == 'c') {
        const char v = (char)next_argument(a, 4);
        if (c->width < 2)
            append(t, &v, 1);
        else
            WRITE(t, c, tail, v);
    } else if (c->letter == 's') {
        const char *s = read_string(a->w, a->r, a->lane, next_argument(a, 8), string);
        if (c->width < 0 && c->precision < 0)
            append(t, s, strlen(s));
        else
            WRITE(t, c, tail, s);
    } else if (c->letter == 'p') {
        WRITE(t, c, tail, (void *)(uintptr_t)next_argument(a, 8));
    } else { /* n: writes nothing */
        next_argument(a, 8);
    }
}

/* The text of a format and its arguments. A conversion that printf does not have is written as it stands. */
static void write_format(struct text *t, const char *format, struct arguments *a) {
    for (const char *s = format; *s;) {
        const size_t plain = strcspn(s, "%");
        append(t, s, plain);
        s += plain;
        if (!*s)
            return;
        const char *begin = s++;
        if (*s == '%') {
            append(t, s++, 1);
            continue;
        }
        const struct conversion c = read_conversion(&s, a);
        if (c.letter && strchr("diouxXaAeEfFgGcspn", c.letter))
            write_conversion(t, &c, a);
        else
            append(t, begin, (size_t)(s - begin));
    }
}

static uint64_t wide_word(const struct warp *w, uint32_t offset, unsigned lane) {
    return reg32(w, offset)[lane] | (uint64_t)reg32(w, offset + 128)[lane] << 32;
}

/* wide = .param words of format and arguments; c = an access of single bytes; dst = word of the result: conversions
 * done, -1 without a format. */
void op_printf(struct warp *w, const struct record *r, uint32_t mask) {
    struct block *b = w->block;
    struct prints *p = b->prints;
    struct text *t = must_calloc(1, sizeof *t);
    char format[MOST_STRING];
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t at = wide_word(w, w->wide[r->wide], lane);
        struct arguments a = {w, r, lane, wide_word(w, w->wide[r->wide + 1], lane), 0};
        t->length = 0;
        if (at)
            write_format(t, read_string(w, r, lane, at, format), &a);
        reg32(w, r->dst)[lane] = at ? a.taken : UINT32_MAX;
        ++p->total;
        if (!at || p->count == TRACE_PRINTS) /* further ones of this CPU thread come later in any case */
            continue;
        if (p->count == p->room) {
            p->room = p->room ? 2 * p->room : 16;
            p->list = must_realloc(p->list, p->room, sizeof *p->list);
        }
        struct print *new = &p->list[p->count];
        *new = (struct print){.block = b->place, .order = p->count};
        ++p->count;
        new->what = (struct trace_print){.warp = w->number, .lane = lane, .instruction = r->site};
        memcpy(new->what.block, b->id, sizeof b->id);
        t->bytes[t->length] = 0;
        new->what.text = must_strdup(t->bytes);
    }
    free(t);
}

/* wide = .param words of message, file, line, function, size of a character; c as above. */
void print_assertion(struct warp *w, const struct record *r, unsigned lane) {
    const struct block *b = w->block;
    const uint32_t *ntid = b->machine->launch->block, thread = w->number * LANES + lane;
    char message[MOST_STRING], file[MOST_STRING], function[MOST_STRING];
    const uint32_t *words = w->wide + r->wide;
    const char *texts[3] = {read_string(w, r, lane, wide_word(w, words[0], lane), message),
                            read_string(w, r, lane, wide_word(w, words[1], lane), file),
                            read_string(w, r, lane, wide_word(w, words[3], lane), function)};
    free(b->prints->assertion);
    b->prints->assertion_block = b->place;
    b->prints->assertion =
        must_format("%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.", texts[1],
                    reg32(w, words[2])[lane], texts[2], b->id[0], b->id[1], b->id[2], thread % ntid[0],
                    thread / ntid[0] % ntid[1], thread / ntid[0] / ntid[1], texts[0]);
}
