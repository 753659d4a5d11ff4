/* The module: its directives, variables and functions; the statements of a body. Nothing here recurses over the text.
 * Source: PTX ISA 4.2, 4.3, 7.1, 11. */
#include "internal.h"
#include <string.h>

/* ---- statements ---- */

/* NAME : [.branchtargets ... | .calltargets ... | .callprototype ...] */
static bool parse_label(struct parser *p, const struct token *name) {
    struct symbol *s = intern(p, name->text, name->size);
    bool prototype = is_dotted(p, "callprototype");
    bool table = prototype || is_dotted(p, "branchtargets") || is_dotted(p, "calltargets");
    struct binding *b = declare(p, s, table ? BOUND_NAME : BOUND_LABEL, name->at);
    if (!b)
        return false;
    b->target = p->instructions.count;
    if (table && !prototype)
        return parse_target_table(p, b);
    if (!prototype)
        return true;
    while (!is_mark(p, ';')) {
        if (p->token.kind == TOKEN_BAD || p->token.kind == TOKEN_END || is_mark(p, '{') || is_mark(p, '}'))
            return fail_unexpected(p, "';' after a prototype");
        advance(p);
    }
    return expect_mark(p, ';');
}

static bool parse_body_directive(struct parser *p) {
    enum ptx_space space;
    if (is_dotted(p, "loc"))
        return parse_loc(p);
    if (is_dotted(p, "file"))
        return parse_file(p);
    if (is_dotted(p, "pragma"))
        return parse_pragma(p);
    if (!space_named(&p->token, &space))
        return fail_unexpected(p, "a statement");
    advance(p);
    return space == PTX_REG ? parse_register_declaration(p) : parse_declaration(p, space, false);
}

static bool parse_statement(struct parser *p) {
    int guard = -1;
    bool negated = false;
    if (is_mark(p, '{')) {
        if (!open_scope(p))
            return false;
        advance(p);
        return !p->failed;
    }
    if (p->token.kind == TOKEN_DOTTED)
        return parse_body_directive(p);
    if (is_mark(p, '@') && !parse_guard(p, &guard, &negated))
        return false;
    if (p->token.kind != TOKEN_WORD)
        return fail_unexpected(p, guard < 0 ? "a statement" : "an instruction");
    struct token first = p->token;
    advance(p);
    if (guard < 0 && accept_mark(p, ':'))
        return parse_label(p, &first);
    if (first.text[0] == '%' || first.text[0] == '$' || first.text[0] == '_')
        return fail_at(p, first.at, "expected an instruction, found '%.*s'", (int)(first.size < 80 ? first.size : 80),
                       first.text);
    return parse_instruction(p, &first, guard, negated);
}

/* From { to the matching }. The scope of the parameters is the scope of the body. */
static bool parse_body(struct parser *p, struct ptx_function *f) {
    unsigned outside = p->depth - 1;
    size_t opened_at = p->token.at;
    p->instructions.count = 0;
    p->loc = (struct ptx_instruction){.file = -1, .inlined_file = -1};
    free_growing(&p->inlined);
    p->inlined_count = 0;
    advance(p);
    while (p->depth > outside) {
        if (p->token.kind == TOKEN_END)
            return fail_at(p, opened_at, "this '{' is never closed");
        if (!is_mark(p, '}')) {
            if (!parse_statement(p))
                return false;
            continue;
        }
        if (!close_scope(p))
            return false;
        advance(p);
    }
    f->register_count = p->registers.count;
    f->registers = take(p, f->register_count, sizeof *f->registers);
    f->instruction_count = p->instructions.count;
    f->instructions = take(p, f->instruction_count, sizeof *f->instructions);
    if (!f->registers || !f->instructions)
        return false;
    if (f->register_count)
        memcpy(f->registers, p->registers.items, f->register_count * sizeof *f->registers);
    if (f->instruction_count)
        memcpy(f->instructions, p->instructions.items, f->instruction_count * sizeof *f->instructions);
    f->frame_bytes = p->frame_bytes;
    return true;
}

/* ---- functions ---- */

/* A declaration and a definition of one name must agree. *index = the function's place. */
static bool enter_function(struct parser *p, struct symbol *s, size_t at, const struct ptx_function *f, int *index) {
    if (s->top && s->top->kind == BOUND_FUNCTION && s->top->depth == 0) {
        const struct ptx_function *before = function_at(p, (size_t)s->top->index);
        *index = s->top->index;
        if (!before->declared_only && !f->declared_only)
            return fail_at(p, at, "'%.80s' is defined twice, first in line %d", s->name, before->ptx_line);
        if (before->entry != f->entry || before->param_count != f->param_count ||
            before->return_count != f->return_count || before->param_bytes != f->param_bytes)
            return fail_at(p, at, "'%.80s' differs from its declaration in line %d", s->name, before->ptx_line);
        return true;
    }
    struct binding *b = declare_function(p, s, at);
    if (!b)
        return false;
    *index = b->index = (int)p->functions.count;
    struct ptx_function *kept = grow(p, &p->functions, sizeof *kept);
    if (!kept)
        return false;
    *kept = *f;
    kept->declared_only = true; /* until its body has been read */
    return true;
}

static bool parse_signature(struct parser *p, struct ptx_function *f, struct symbol **name, size_t *name_at) {
    if (is_dotted(p, "attribute") && !parse_attribute(p))
        return false;
    p->frame_end = p->frame_bytes = p->registers.count = 0;
    p->least_alignment = 4;
    if (is_mark(p, '(')) {
        if (f->entry)
            return fail_at(p, p->token.at, "an entry returns nothing");
        if (!parse_parameters(p, false, &f->returns, &f->return_count))
            return false;
    }
    if (p->token.kind != TOKEN_WORD)
        return fail_unexpected(p, "the name of the function");
    *name_at = p->token.at;
    f->ptx_line = p->token.line;
    if (!(*name = intern(p, p->token.text, p->token.size)))
        return false;
    f->name = (*name)->name;
    advance(p);
    p->frame_end = p->frame_bytes = 0; /* the parameters come first, whatever the order in the text */
    if (is_mark(p, '(') && !parse_parameters(p, f->entry, &f->params, &f->param_count))
        return false;
    f->param_bytes = p->frame_bytes;
    for (size_t i = 0; i < f->return_count; i++)
        place_parameter(p, variable_at(p, (size_t)f->returns[i]));
    f->frame_bytes = p->frame_bytes;
    return parse_function_directives(p, f);
}

/* After .entry or .func. */
static bool parse_function(struct parser *p, bool entry) {
    struct ptx_function f = {.entry = entry};
    struct symbol *name;
    size_t name_at;
    int index;
    p->function = (int)p->functions.count;
    if (!open_scope(p) || !parse_signature(p, &f, &name, &name_at))
        return false;
    f.declared_only = !is_mark(p, '{');
    if (!enter_function(p, name, name_at, &f, &index))
        return false;
    p->function = index;
    for (size_t i = 0; i < f.param_count; i++)
        variable_at(p, (size_t)f.params[i])->function = index;
    for (size_t i = 0; i < f.return_count; i++)
        variable_at(p, (size_t)f.returns[i])->function = index;
    if (f.declared_only) {
        if (!expect_mark(p, ';') || !close_scope(p))
            return false;
    } else {
        if (!parse_body(p, &f))
            return false;
        *function_at(p, (size_t)index) = f;
    }
    p->function = -1;
    return true;
}

/* ---- the module ---- */

static bool parse_module_directive(struct parser *p) {
    enum ptx_space space;
    bool external = false;
    if (is_dotted(p, "file"))
        return parse_file(p);
    if (is_dotted(p, "loc"))
        return parse_loc(p);
    if (is_dotted(p, "section"))
        return skip_section(p);
    if (is_dotted(p, "pragma"))
        return parse_pragma(p);
    while (is_dotted(p, "extern") || is_dotted(p, "visible") || is_dotted(p, "weak") || is_dotted(p, "common")) {
        external |= is_dotted(p, "extern");
        advance(p);
    }
    if (is_dotted(p, "entry") || is_dotted(p, "func")) {
        bool entry = is_dotted(p, "entry");
        advance(p);
        return parse_function(p, entry);
    }
    if (!space_named(&p->token, &space))
        return fail_unexpected(p, "a directive of the module");
    if (space == PTX_REG)
        return fail_at(p, p->token.at, "registers outside of a function are not supported");
    advance(p);
    return parse_declaration(p, space, external);
}

bool parse_module(struct parser *p) {
    advance(p);
    if (!parse_header(p))
        return false;
    while (p->token.kind == TOKEN_DOTTED) {
        if (!parse_module_directive(p))
            return false;
    }
    if (p->token.kind != TOKEN_END)
        return fail_unexpected(p, "a directive of the module");
    if (!bind_the_rest(p))
        return false;
    place_variables(p);
    return true;
}
