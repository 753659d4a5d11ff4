/* Names, scopes, and what a name means at a place. Each name is held once; what it means is the top of its stack of
 * bindings, which a scope pushes when it declares and pops when it closes, so that the innermost declaration wins.
 * A range such as `.reg .b32 %r<91>` is one entry on its stem %r: only registers that are mentioned come into being.
 * Source: PTX ISA 4.4, 5.4.5 (parameterised names), 9.7.12.1 (scopes). */
#include "internal.h"
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const char *text, size_t size) {
    uint64_t h = 0xcbf29ce484222325; /* FNV-1a, then a mix that spreads it over the low bits */
    for (size_t i = 0; i < size; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3;
    h = (h ^ (h >> 32)) * 0x9e3779b97f4a7c15;
    return h ^ (h >> 29);
}

static bool make_room(struct parser *p) {
    struct growing *t = &p->symbols;
    if (2 * (p->symbol_count + 1) <= t->room)
        return true;
    size_t room = t->room ? 2 * t->room : 4096;
    struct symbol **old = t->items, **items = calloc(room, sizeof *items);
    if (!items)
        return fail_at(p, p->token.at, "no memory for %zu names", p->symbol_count);
    for (size_t i = 0; i < t->room; i++) {
        if (!old[i])
            continue;
        size_t slot = old[i]->hash & (room - 1);
        while (items[slot])
            slot = (slot + 1) & (room - 1);
        items[slot] = old[i];
    }
    free(old);
    t->items = items;
    t->room = room;
    return true;
}

static size_t trailing_digits(const char *text, size_t size) {
    size_t n = 0;
    while (n < size && text[size - 1 - n] >= '0' && text[size - 1 - n] <= '9')
        n++;
    return n;
}

struct symbol *intern(struct parser *p, const char *text, size_t size) {
    if (p->failed || !make_room(p))
        return NULL;
    uint64_t hash = hash_of(text, size);
    struct symbol **table = p->symbols.items;
    size_t slot = hash & (p->symbols.room - 1);
    for (; table[slot]; slot = (slot + 1) & (p->symbols.room - 1)) {
        if (table[slot]->hash == hash && table[slot]->length == size && !memcmp(table[slot]->name, text, size))
            return table[slot];
    }
    struct symbol *s = take(p, 1, sizeof *s);
    char *name = s ? take(p, size + 1, 1) : NULL;
    if (!name)
        return NULL;
    memcpy(name, text, size);
    *s = (struct symbol){.name = name, .length = size, .hash = hash};
    table[slot] = s;
    p->symbol_count++;
    size_t digits = trailing_digits(name, size);
    if (digits && digits <= MAX_RANGE_DIGITS && digits < size && !(s->stem = intern(p, name, size - 1)))
        return NULL;
    return s;
}

const char *intern_name(struct parser *p, const char *text, size_t size) {
    struct symbol *s = intern(p, text, size);
    return s ? s->name : NULL;
}

/* ---- scopes ---- */

bool open_scope(struct parser *p) {
    if (p->depth + 1 == MAX_SCOPES)
        return fail_at(p, p->token.at, "scopes nested more than %d deep", MAX_SCOPES);
    p->scopes[++p->depth] =
        (struct scope){.first_pending = p->pending.count, .opened_at = p->token.at, .frame_end = p->frame_end};
    return true;
}

void drop_scope(struct parser *p) {
    struct scope *scope = &p->scopes[p->depth--];
    p->frame_end = scope->frame_end;
    for (struct binding *b = scope->bindings; b; b = b->next)
        b->symbol->top = b->outer;
    for (struct range *r = scope->ranges; r; r = r->next)
        r->symbol->range = r->outer;
}

bool close_scope(struct parser *p) {
    if (!bind_labels(p))
        return false;
    drop_scope(p);
    return true;
}

static struct binding *push(struct parser *p, struct symbol *s, enum binding_kind kind, unsigned depth) {
    struct binding *b = take(p, 1, sizeof *b);
    if (!b)
        return NULL;
    *b = (struct binding){.kind = kind, .depth = depth, .index = -1, .symbol = s, .outer = s->top};
    b->next = p->scopes[depth].bindings;
    return p->scopes[depth].bindings = s->top = b;
}

struct binding *declare(struct parser *p, struct symbol *s, enum binding_kind kind, size_t at) {
    if (!s)
        return NULL;
    if (s->top && s->top->depth == p->depth) {
        report_at(p, at, "'%.80s' is declared twice in the same scope", s->name);
        return NULL;
    }
    return push(p, s, kind, p->depth);
}

struct binding *declare_function(struct parser *p, struct symbol *s, size_t at) {
    if (s && s->top) {
        report_at(p, at, "'%.80s' is declared twice in the same scope", s->name);
        return NULL;
    }
    return s ? push(p, s, BOUND_FUNCTION, 0) : NULL;
}

bool declare_range(struct parser *p, struct symbol *stem, uint32_t count, enum ptx_type type, size_t at) {
    struct range *r = take(p, 1, sizeof *r);
    if (!r || !stem)
        return false;
    if (trailing_digits(stem->name, stem->length) >= MAX_RANGE_DIGITS)
        return fail_at(p, at, "'%.80s' ends in too many digits for a range of names", stem->name);
    if (stem->range && stem->range->depth == p->depth)
        return fail_at(p, at, "'%.80s' is declared twice in the same scope", stem->name);
    *r = (struct range){.depth = p->depth, .count = count, .type = type, .symbol = stem, .outer = stem->range};
    r->next = p->scopes[p->depth].ranges;
    stem->range = p->scopes[p->depth].ranges = r;
    return true;
}

/* The innermost range that covers the name: %r12 is 12 of %r<..> or 2 of %r1<..>, but %r012 is no register of %r<..>.
 */
static bool find_range(struct parser *p, const struct symbol *s, size_t at, const struct range **out) {
    uint32_t index = 0, weight = 1;
    const struct range *found = NULL;
    const char *last = s->name + s->length - 1;
    for (const struct symbol *stem = s->stem; stem; stem = stem->stem, last--, weight *= 10) {
        index += (uint32_t)(*last - '0') * weight;
        if (*last == '0' && weight > 1)
            continue;
        for (const struct range *r = stem->range; r; r = r->outer) {
            if (index >= r->count)
                continue; /* the range further in has no such register: one further out may */
            if (found && found->depth == r->depth)
                return fail_at(p, at, "'%.80s' is declared by two ranges of the same scope", s->name);
            if (!found || r->depth > found->depth)
                found = r;
            break;
        }
    }
    *out = found;
    return true;
}

/* A register that is mentioned gets its index, in the order of first mentions. */
static bool number_register(struct parser *p, struct binding *b, size_t at) {
    if (b->kind != BOUND_REGISTER || b->index >= 0)
        return true;
    if (p->registers.count == MAX_REGISTERS)
        return fail_at(p, at, "more than %d registers in one function", MAX_REGISTERS);
    b->index = (int)p->registers.count;
    struct ptx_register *r = grow(p, &p->registers, sizeof *r);
    if (!r)
        return false;
    *r = (struct ptx_register){.name = b->symbol->name, .type = b->type};
    return true;
}

bool look_up(struct parser *p, struct symbol *s, size_t at, struct binding **out) {
    const struct range *r;
    if (!s || !find_range(p, s, at, &r))
        return false;
    struct binding *b = s->top;
    if (r && b && b->depth == r->depth && !b->from_range)
        return fail_at(p, at, "'%.80s' is declared twice in the same scope, by name and by range", s->name);
    if (r && (!b || b->depth < r->depth)) {
        if (!(b = push(p, s, BOUND_REGISTER, r->depth)))
            return false;
        b->type = r->type;
        b->from_range = true;
    }
    *out = b;
    return !b || number_register(p, b, at);
}
