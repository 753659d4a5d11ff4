/* Declarations: registers, variables in every state space, parameters; and initial values (initial.c).
 * Source: PTX ISA 5.1, 5.4, 7.1, 11.6. */
#include "../../ref/checked.h"
#include "internal.h"
#include <string.h>

bool space_named(const struct token *t, enum ptx_space *space) {
    static const struct {
        const char *name;
        enum ptx_space space;
    } all[] = {{"reg", PTX_REG},     {"global", PTX_GLOBAL}, {"shared", PTX_SHARED},
               {"local", PTX_LOCAL}, {"param", PTX_PARAM},   {"const", PTX_CONST}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (t->kind == TOKEN_DOTTED && t->size == strlen(all[i].name) && !memcmp(t->text, all[i].name, t->size)) {
            *space = all[i].space;
            return true;
        }
    }
    return false;
}

/* What stands between the state space and the first name. */
struct declared_type {
    enum ptx_type type;
    size_t vector;    /* elements of .v2 / .v4, else 1 */
    size_t alignment; /* as given, 0 when not */
};

static bool parse_alignment(struct parser *p, size_t *out) {
    advance(p);
    size_t at = p->token.at;
    uint64_t n;
    if (!expect_unsigned(p, "an alignment", (uint64_t)1 << 30, &n))
        return false;
    if (!n || (n & (n - 1)))
        return fail_at(p, at, "an alignment is a power of two, not %llu", (unsigned long long)n);
    *out = (size_t)n;
    return true;
}

/* .ptr [.SPACE] [.align N] on a parameter tells about what it points to, not about the parameter. */
static bool skip_pointee(struct parser *p) {
    enum ptx_space unused;
    size_t alignment;
    advance(p);
    if (space_named(&p->token, &unused))
        advance(p);
    return !is_dotted(p, "align") || parse_alignment(p, &alignment);
}

static bool parse_declared_type(struct parser *p, struct declared_type *d) {
    *d = (struct declared_type){.vector = 1};
    while (p->token.kind == TOKEN_DOTTED) {
        char word[16] = {0};
        if (p->token.size < sizeof word)
            memcpy(word, p->token.text, p->token.size);
        enum ptx_type type = ptx_type_named(word);
        if (is_dotted(p, "align")) {
            if (!parse_alignment(p, &d->alignment))
                return false;
        } else if (is_dotted(p, "ptr")) {
            if (!skip_pointee(p))
                return false;
        } else if (is_dotted(p, "attribute")) {
            if (!parse_attribute(p))
                return false;
        } else if (is_dotted(p, "v2") || is_dotted(p, "v4")) {
            d->vector = p->token.text[1] == '2' ? 2 : 4;
            advance(p);
        } else if (type != PTX_NO_TYPE && d->type == PTX_NO_TYPE) {
            d->type = type;
            advance(p);
        } else {
            return fail_unexpected(p, d->type == PTX_NO_TYPE ? "a type such as .u32" : "a name");
        }
    }
    if (d->type == PTX_NO_TYPE)
        return fail_unexpected(p, "a type such as .u32");
    return !p->failed;
}

static bool expect_name(struct parser *p, struct symbol **out, size_t *at) {
    if (p->token.kind != TOKEN_WORD)
        return fail_unexpected(p, "a name");
    *at = p->token.at;
    *out = intern(p, p->token.text, p->token.size);
    advance(p);
    return *out != NULL;
}

static bool parse_range(struct parser *p, uint32_t *count) {
    uint64_t n;
    if (!accept_mark(p, '<') || !expect_unsigned(p, "the size of a range of names", MAX_RANGE, &n))
        return false;
    *count = (uint32_t)n;
    return expect_mark(p, '>');
}

bool parse_register_declaration(struct parser *p) {
    struct declared_type d;
    size_t at = p->token.at;
    if (!parse_declared_type(p, &d))
        return false;
    if (d.vector != 1)
        return fail_at(p, at, "vector registers (.v2, .v4 on .reg) are not supported");
    do {
        struct symbol *s;
        uint32_t count;
        if (!expect_name(p, &s, &at))
            return false;
        if (is_mark(p, '<')) {
            if (!parse_range(p, &count) || !declare_range(p, s, count, d.type, at))
                return false;
        } else {
            struct binding *b = declare(p, s, BOUND_REGISTER, at);
            if (!b)
                return false;
            b->type = d.type;
        }
    } while (accept_mark(p, ','));
    return expect_mark(p, ';');
}

/* [N] [M] ...: *cells = the product; an empty first pair of brackets leaves *open true. */
static bool parse_dimensions(struct parser *p, struct shape *shape) {
    *shape = (struct shape){.cells = 1};
    while (is_mark(p, '[')) {
        size_t at = p->token.at;
        uint64_t extent = 1;
        advance(p);
        if (shape->count == MAX_DIMENSIONS)
            return fail_at(p, at, "more than %d dimensions", MAX_DIMENSIONS);
        if (is_mark(p, ']') && shape->count == 0)
            shape->open = true;
        else if (!parse_integer_constant(p, &extent))
            return false;
        if ((int64_t)extent < 0)
            return fail_at(p, at, "an extent of %lld", (long long)extent);
        shape->extent[shape->count++] = (size_t)extent;
        if (!size_mul(shape->cells, (size_t)extent, &shape->cells))
            return fail_at(p, at, "the array does not fit the address space");
        if (!expect_mark(p, ']'))
            return false;
    }
    return true;
}

static bool check_storage(struct parser *p, const struct ptx_variable *v, const struct shape *shape, size_t at) {
    if (v->type == PTX_PRED)
        return fail_at(p, at, "a .pred lives in registers only");
    if (v->space == PTX_SHARED && v->external && shape->count == 0)
        return fail_at(p, at, ".extern .shared needs an array, such as '%.60s[]'", v->name);
    size_t most = v->space == PTX_GLOBAL ? MAX_VARIABLE_BYTES : UINT32_MAX;
    if (v->bytes > most)
        return fail_at(p, at, "'%.80s' takes %zu bytes, at most %zu are supported", v->name, v->bytes, most);
    if (shape->open && !v->external && !v->initial)
        return fail_at(p, at, "'%.80s' has neither a size nor an initial value", v->name);
    return true;
}

/* One variable from its name on, in the scope and function at hand. */
static bool parse_variable(struct parser *p, enum ptx_space space, bool external, const struct declared_type *d,
                           bool shared_name, int *index) {
    struct symbol *s;
    struct shape shape;
    size_t at, bytes = ptx_type_bytes(d->type) * d->vector;
    if (!expect_name(p, &s, &at))
        return false;
    if (is_mark(p, '<'))
        return fail_at(p, p->token.at, "ranges of names are supported for registers only");
    if (!parse_dimensions(p, &shape))
        return false;
    struct ptx_variable v = {.name = s->name, .space = space, .type = d->type, .external = external};
    v.alignment = d->alignment ? d->alignment : bytes ? bytes : 1;
    v.function = p->depth ? p->function : -1;
    v.reg = -1;
    if (!size_mul(shape.cells, bytes, &v.bytes))
        return fail_at(p, at, "the array does not fit the address space");
    if (is_mark(p, '=') && !parse_initial(p, &v, &shape, d->vector))
        return false;
    if (!check_storage(p, &v, &shape, at))
        return false;
    if (shape.open && !v.initial)
        v.bytes = 0;
    if (space == PTX_PARAM)
        place_parameter(p, &v);
    /* An .extern declaration and its definition, or two declarations, are one variable (PTX ISA 11.6). */
    if (p->depth == 0 && s->top && s->top->depth == 0 && s->top->kind == BOUND_VARIABLE) {
        struct ptx_variable *before = variable_at(p, (size_t)s->top->index);
        if (before->space != space || !(before->external || external))
            return fail_at(p, at, "'%.80s' is declared twice in the same scope", s->name);
        if (before->external)
            *before = v;
        *index = s->top->index;
        return true;
    }
    if (p->variables.count == MAX_VARIABLES)
        return fail_at(p, at, "more than %d variables", MAX_VARIABLES);
    *index = (int)p->variables.count;
    if (!(shared_name && s->length == 1 && s->name[0] == '_')) {
        struct binding *b = declare(p, s, BOUND_VARIABLE, at);
        if (!b)
            return false;
        b->index = *index;
    }
    struct ptx_variable *kept = grow(p, &p->variables, sizeof *kept);
    if (!kept)
        return false;
    *kept = v;
    return true;
}

bool parse_declaration(struct parser *p, enum ptx_space space, bool external) {
    struct declared_type d;
    int unused;
    size_t at = p->token.at;
    if (space == PTX_PARAM && p->depth == 0)
        return fail_at(p, at, ".param outside of a function");
    if (!parse_declared_type(p, &d))
        return false;
    do {
        if (!parse_variable(p, space, external, &d, false, &unused))
            return false;
    } while (accept_mark(p, ','));
    return expect_mark(p, ';');
}

/* .reg .TYPE NAME: a register, and a nameless variable in the frame. */
static bool parse_register_parameter(struct parser *p, int *index) {
    struct declared_type d;
    struct symbol *s;
    size_t at = p->token.at;
    if (!parse_declared_type(p, &d) || !expect_name(p, &s, &at))
        return false;
    const size_t bytes = ptx_type_bytes(d.type);
    if (d.vector != 1 || d.alignment || bytes > 8 || !bytes)
        return fail_at(p, at, "a parameter in a register has a type of 1 to 8 bytes");
    if (p->variables.count == MAX_VARIABLES)
        return fail_at(p, at, "more than %d variables", MAX_VARIABLES);
    struct binding *b = declare(p, s, BOUND_REGISTER, at);
    if (!b)
        return false;
    b->type = d.type;
    if (!look_up(p, s, at, &b)) /* gives it its number */
        return false;
    *index = (int)p->variables.count;
    struct ptx_variable *kept = grow(p, &p->variables, sizeof *kept);
    if (!kept)
        return false;
    *kept = (struct ptx_variable){.name = s->name,
                                  .space = PTX_PARAM,
                                  .type = d.type,
                                  .alignment = bytes,
                                  .bytes = bytes,
                                  .function = p->function,
                                  .reg = b->index};
    place_parameter(p, kept);
    return true;
}

bool parse_parameters(struct parser *p, bool entry, int **indices, size_t *count) {
    *indices = NULL;
    *count = 0;
    if (!expect_mark(p, '('))
        return false;
    struct growing list = {0};
    bool ok = true;
    p->least_alignment = entry ? 1 : 4;
    while (ok && !is_mark(p, ')')) {
        struct declared_type d;
        if (list.count && !(ok = expect_mark(p, ',')))
            break;
        const bool in_register = is_dotted(p, "reg") && !entry;
        if (!in_register && !is_dotted(p, "param")) {
            ok = fail_unexpected(p, "'.param' or ')'");
            break;
        }
        advance(p);
        int *index = grow(p, &list, sizeof *index);
        ok =
            index && (in_register ? parse_register_parameter(p, index)
                                  : parse_declared_type(p, &d) && parse_variable(p, PTX_PARAM, false, &d, true, index));
    }
    ok = ok && expect_mark(p, ')');
    if (ok && list.count) {
        *count = list.count;
        *indices = take(p, list.count, sizeof **indices);
        if ((ok = *indices != NULL))
            memcpy(*indices, list.items, list.count * sizeof **indices);
    }
    free_growing(&list);
    p->least_alignment = 4;
    return ok;
}
