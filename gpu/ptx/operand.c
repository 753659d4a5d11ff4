/* One operand of an instruction. Registers and variables are bound at once, for they are declared before they are
 * used; labels and functions may come later and are left to resolve.c. Source: PTX ISA 6, 9.2, 10. */
#include "internal.h"
#include <string.h>

/* Special registers (PTX ISA 10): those with .x .y .z .w, those without, and families with a number. */
static const char *const special_vectors[] = {
    "%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid",
};
static const char *const special_scalars[] = {
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%is_explicit_cluster",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    "%total_smem_size",
    "%aggr_smem_size",
    "%dynamic_smem_size",
    "%current_graph_exec",
};

static bool is_numbered(const char *name, const char *family, int last, const char *tail) {
    size_t n = strlen(family);
    if (strncmp(name, family, n) || name[n] < '0' || name[n] > '9')
        return false;
    int number = name[n] - '0';
    const char *rest = name + n + 1;
    if (number && *rest >= '0' && *rest <= '9')
        number = 10 * number + *rest++ - '0';
    return number <= last && !strcmp(rest, tail);
}

static bool is_special(const char *name, bool *vector) {
    *vector = false;
    for (size_t i = 0; i < sizeof special_scalars / sizeof *special_scalars; i++) {
        if (!strcmp(name, special_scalars[i]))
            return true;
    }
    if (is_numbered(name, "%envreg", 31, "") || is_numbered(name, "%pm", 7, "") || is_numbered(name, "%pm", 7, "_64"))
        return true;
    for (size_t i = 0; i < sizeof special_vectors / sizeof *special_vectors; i++)
        *vector |= !strcmp(name, special_vectors[i]);
    return *vector;
}

static struct ptx_operand blank(enum ptx_operand_kind kind) {
    return (struct ptx_operand){.kind = kind, .reg = -1, .second = -1, .variable = -1, .function = -1};
}

static bool undeclared(struct parser *p, const struct symbol *s, size_t at) {
    return fail_at(p, at, "'%.80s' is not declared", s->name);
}

static bool is_name(const struct parser *p) {
    return p->token.kind == TOKEN_WORD;
}

static bool is_sink(const struct parser *p) {
    return is_name(p) && p->token.size == 1 && p->token.text[0] == '_';
}

/* %tid.x: the part behind the dot belongs to the name. */
static bool parse_special(struct parser *p, const struct symbol *s, bool vector, struct ptx_operand *o) {
    *o = blank(PTX_OP_SPECIAL);
    o->name = s->name;
    if (!vector || p->token.kind != TOKEN_DOTTED)
        return true;
    if (p->token.size != 1 || !memchr("xyzw", p->token.text[0], 4))
        return fail_unexpected(p, ".x, .y, .z or .w");
    char full[40];
    size_t n = s->length;
    memcpy(full, s->name, n);
    full[n++] = '.';
    full[n++] = p->token.text[0];
    advance(p);
    return (o->name = intern_name(p, full, n)) != NULL;
}

/* `|%q` after a destination: a register, or _ which asks for nothing. */
static bool parse_second(struct parser *p, struct ptx_operand *o) {
    if (!accept_mark(p, '|'))
        return true;
    if (is_sink(p)) {
        advance(p);
        return !p->failed;
    }
    if (!is_name(p))
        return fail_unexpected(p, "a predicate register");
    size_t at = p->token.at;
    struct symbol *s = intern(p, p->token.text, p->token.size);
    struct binding *b;
    if (!look_up(p, s, at, &b))
        return false;
    if (!b)
        return undeclared(p, s, at);
    if (b->kind != BOUND_REGISTER)
        return fail_at(p, at, "'%.80s' is not a register", s->name);
    o->second = b->index;
    advance(p);
    return !p->failed;
}

/* `.b0 .h1 .b3210 ...` behind a register: which of its bytes or halves a video instruction means. */
static bool parse_part(struct parser *p, struct ptx_operand *o) {
    if (p->token.kind != TOKEN_DOTTED)
        return !p->failed;
    const char *text = p->token.text;
    const size_t size = p->token.size;
    bool good = size >= 2 && size <= 5 && (text[0] == 'b' || text[0] == 'h');
    for (size_t i = 1; good && i < size; i++)
        good = text[i] >= '0' && text[i] <= '7';
    if (!good)
        return fail_at(p, p->token.at, "elements of vector registers are not supported");
    if (!(o->part = intern_name(p, text, size)))
        return false;
    advance(p);
    return !p->failed;
}

static bool parse_displacement(struct parser *p, int64_t *out) {
    uint64_t bits = 0;
    if (is_mark(p, '+'))
        advance(p);
    else if (!is_mark(p, '-'))
        return true;
    if (!parse_integer_constant(p, &bits))
        return false;
    *out = (int64_t)bits;
    return true;
}

static bool parse_name(struct parser *p, struct raw_operand *out, bool label_only) {
    struct ptx_operand *o = &out->operand;
    if (is_sink(p)) {
        *o = blank(PTX_OP_SINK);
        advance(p);
        return parse_second(p, o);
    }
    size_t at = out->at = p->token.at;
    struct symbol *s = intern(p, p->token.text, p->token.size);
    struct binding *b = NULL;
    if (!s || (!label_only && !look_up(p, s, at, &b)))
        return false;
    advance(p);
    bool vector;
    if (b && b->kind == BOUND_REGISTER) {
        *o = blank(PTX_OP_REGISTER);
        o->reg = b->index;
        return parse_part(p, o) && parse_second(p, o);
    }
    if (!b && !label_only && is_special(s->name, &vector))
        return parse_special(p, s, vector, o);
    if (!b && s->name[0] == '%')
        return undeclared(p, s, at);
    *o = blank(PTX_OP_NAME);
    o->name = s->name;
    if (b && b->kind == BOUND_VARIABLE) {
        o->kind = PTX_OP_VARIABLE;
        o->variable = b->index;
    } else if (b && b->kind == BOUND_FUNCTION) {
        o->kind = PTX_OP_FUNCTION;
        o->function = b->index;
        return true;
    } else {
        out->symbol = s; /* even a label that was seen already: one further in may follow */
        out->label_only = label_only;
    }
    return parse_displacement(p, &o->displacement);
}

static bool parse_constant_operand(struct parser *p, struct ptx_operand *o) {
    struct constant c;
    if (!parse_constant(p, &c))
        return false;
    *o = blank(c.kind == CONSTANT_INTEGER ? PTX_OP_INTEGER : PTX_OP_FLOAT);
    o->bits = c.bits;
    o->double_precision = c.kind == CONSTANT_DOUBLE;
    return true;
}

/* A register, constant, name or _, with its sign. */
static bool parse_simple(struct parser *p, struct raw_operand *out, bool label_only) {
    if (is_name(p) && !starts_constant(p))
        return parse_name(p, out, label_only);
    if (is_mark(p, '!') || is_mark(p, '-')) {
        const struct token sign = p->token;
        size_t next = p->next;
        int next_line = p->next_line;
        bool negated = is_mark(p, '!');
        advance(p);
        if (is_name(p) && !starts_constant(p)) {
            size_t at = p->token.at;
            if (!parse_name(p, out, false))
                return false;
            if (out->operand.kind != PTX_OP_REGISTER)
                return fail_at(p, at, "only a register can follow '%c'", negated ? '!' : '-');
            out->operand.negated = negated;
            out->operand.minus = !negated;
            return true;
        }
        if (p->failed)
            return false;
        p->next = next; /* a sign of a constant after all */
        p->next_line = next_line;
        p->token = sign;
    }
    return starts_constant(p) ? parse_constant_operand(p, &out->operand) : fail_unexpected(p, "an operand");
}

bool push_raw(struct parser *p, const struct raw_operand *raw) {
    struct raw_operand *kept = grow(p, &p->raw, sizeof *kept);
    if (!kept)
        return false;
    *kept = *raw;
    return true;
}

bool settle(struct parser *p, size_t first, struct ptx_operand **out, size_t *count) {
    size_t n = *count = p->raw.count - first;
    *out = NULL;
    if (!n)
        return true;
    const struct raw_operand *raw = (struct raw_operand *)p->raw.items + first;
    if (!(*out = take(p, n, sizeof **out)))
        return false;
    for (size_t i = 0; i < n; i++) {
        (*out)[i] = raw[i].operand;
        if (!raw[i].symbol)
            continue;
        struct pending *later = grow(p, &p->pending, sizeof *later);
        if (!later)
            return false;
        *later = (struct pending){.operand = &(*out)[i], .symbol = raw[i].symbol, .at = raw[i].at};
        later->label_only = raw[i].label_only;
        later->older = raw[i].symbol->pending;
        raw[i].symbol->pending = p->pending.count;
    }
    p->raw.count = first;
    return true;
}

/* After the opening mark, up to and with `closing`. */
static bool parse_elements(struct parser *p, int closing, struct ptx_operand *o) {
    size_t first = p->raw.count;
    while (!is_mark(p, closing)) {
        struct raw_operand raw = {0};
        if (p->raw.count - first == MAX_OPERANDS)
            return fail_at(p, p->token.at, "more than %d elements", MAX_OPERANDS);
        if ((p->raw.count > first && !expect_mark(p, ',')) || !parse_simple(p, &raw, false) || !push_raw(p, &raw))
            return false;
    }
    return expect_mark(p, closing) && settle(p, first, &o->elements, &o->element_count);
}

static bool parse_vector(struct parser *p, struct ptx_operand *o) {
    size_t at = p->token.at;
    *o = blank(PTX_OP_VECTOR);
    if (!expect_mark(p, '{') || !parse_elements(p, '}', o))
        return false;
    return o->element_count || fail_at(p, at, "a vector without elements");
}

bool parse_argument_list(struct parser *p, struct raw_operand *out) {
    out->operand = blank(PTX_OP_LIST);
    return expect_mark(p, '(') && parse_elements(p, ')', &out->operand);
}

static bool parse_address_base(struct parser *p, struct ptx_operand *o) {
    if (!is_name(p) || starts_constant(p)) {
        uint64_t bits;
        if (!starts_constant(p))
            return fail_unexpected(p, "an address");
        if (!parse_integer_constant(p, &bits))
            return false;
        o->displacement = (int64_t)bits;
        return true;
    }
    size_t at = p->token.at;
    struct symbol *s = intern(p, p->token.text, p->token.size);
    struct binding *b;
    if (!look_up(p, s, at, &b))
        return false;
    if (!b)
        return undeclared(p, s, at);
    if (b->kind == BOUND_REGISTER)
        o->reg = b->index;
    else if (b->kind == BOUND_VARIABLE)
        o->variable = b->index;
    else
        return fail_at(p, at, "'%.80s' is neither a register nor a variable", s->name);
    o->name = s->name;
    advance(p);
    return parse_displacement(p, &o->displacement);
}

/* [a], [a+4], [64]; [map, {x, y}] of bulk tensor copies and textures. */
static bool parse_address(struct parser *p, struct ptx_operand *o) {
    *o = blank(PTX_OP_ADDRESS);
    if (!expect_mark(p, '[') || !parse_address_base(p, o))
        return false;
    size_t first = p->raw.count;
    while (accept_mark(p, ',')) {
        struct raw_operand raw = {0};
        if (p->raw.count - first == MAX_OPERANDS)
            return fail_at(p, p->token.at, "more than %d elements", MAX_OPERANDS);
        if (!(is_mark(p, '{') ? parse_vector(p, &raw.operand) : parse_simple(p, &raw, false)) || !push_raw(p, &raw))
            return false;
    }
    return expect_mark(p, ']') && settle(p, first, &o->elements, &o->element_count);
}

bool parse_operand(struct parser *p, struct raw_operand *out, bool label_only) {
    if (is_mark(p, '['))
        return parse_address(p, &out->operand);
    if (is_mark(p, '{'))
        return parse_vector(p, &out->operand);
    return parse_simple(p, out, label_only);
}
