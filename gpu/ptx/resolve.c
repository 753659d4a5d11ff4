/* Names that could not be bound where they were read: labels when their scope closes, functions, initial values and
 * the shape of calls when the module is complete. A name still open when its scope closes is handed to the scope
 * around it, so that the innermost label wins. */
#include "internal.h"
#include <string.h>

static void bind_operand(struct ptx_operand *o, const struct binding *b) {
    o->name = b->symbol->name;
    switch (b->kind) {
    case BOUND_LABEL:
        o->kind = PTX_OP_LABEL;
        o->target = b->target;
        break;
    case BOUND_FUNCTION:
        o->kind = PTX_OP_FUNCTION;
        o->function = b->index;
        break;
    case BOUND_VARIABLE:
        o->kind = PTX_OP_VARIABLE;
        o->variable = b->index;
        break;
    default:
        o->kind = PTX_OP_NAME;
        o->elements = b->rows;
        o->element_count = b->row_count;
    }
}

static bool bind_pending(struct parser *p, const struct pending *u, const struct binding *b) {
    if (u->label_only && b->kind != BOUND_LABEL)
        return fail_at(p, u->at, "'%.80s' is not a label", b->symbol->name);
    if (p->depth > 0 && (b->kind == BOUND_REGISTER || b->kind == BOUND_VARIABLE))
        return fail_at(p, u->at, "'%.80s' is used before it is declared", b->symbol->name);
    if (u->operand->displacement && b->kind != BOUND_VARIABLE && b->kind != BOUND_FUNCTION)
        return fail_at(p, u->at, "a displacement on '%.80s', which is no variable", b->symbol->name);
    bind_operand(u->operand, b);
    return true;
}

/* At the end of a function: what is left can only be a name of the module. */
static bool keep_unbound(struct parser *p) {
    struct pending *all = p->pending.items;
    size_t kept = p->scopes[p->depth].first_pending;
    for (size_t i = kept; i < p->pending.count; i++) {
        if (all[i].bound)
            continue;
        if (all[i].label_only)
            return fail_at(p, all[i].at, "label '%.80s' is not defined in this function", all[i].symbol->name);
        all[i].symbol->pending = 0;
        all[kept++] = all[i];
    }
    p->pending.count = kept;
    return true;
}

/* Each declaration of the scope takes the operands with its name that were read since the scope opened and that no
 * scope further in has taken: every operand is looked at once, however deep the scopes are. */
bool bind_labels(struct parser *p) {
    const struct scope *scope = &p->scopes[p->depth];
    struct pending *all = p->pending.items;
    for (const struct binding *b = scope->bindings; b; b = b->next) {
        for (size_t *newest = &b->symbol->pending; *newest > scope->first_pending;) {
            struct pending *u = &all[*newest - 1];
            if (!bind_pending(p, u, b))
                return false;
            u->bound = true;
            *newest = u->older;
        }
    }
    return p->depth > 1 || keep_unbound(p);
}

static bool bind_functions(struct parser *p) {
    const struct pending *all = p->pending.items;
    for (size_t i = 0; i < p->pending.count; i++) {
        if (!all[i].symbol->top)
            return fail_at(p, all[i].at, "'%.80s' is not declared", all[i].symbol->name);
        if (!bind_pending(p, &all[i], all[i].symbol->top))
            return false;
    }
    return true;
}

static bool bind_address_cells(struct parser *p) {
    const struct address_cell *all = p->cells.items;
    for (size_t i = 0; i < p->cells.count; i++) {
        const struct binding *b = all[i].symbol->top;
        if (!b)
            return fail_at(p, all[i].at, "'%.80s' is not declared", all[i].symbol->name);
        if (b->kind == BOUND_VARIABLE)
            all[i].relocation->variable = b->index;
        else
            all[i].relocation->function = b->index;
    }
    return true;
}

static size_t list_length(const struct ptx_operand *list) {
    return list ? list->element_count : 0;
}

/* (results), function, (arguments): as many of each as the function declares. */
static bool check_calls(struct parser *p) {
    const struct call_site *all = p->calls.items;
    for (size_t i = 0; i < p->calls.count; i++) {
        const struct ptx_operand *o = all[i].operands;
        size_t target = o[0].kind == PTX_OP_LIST;
        if (target >= all[i].operand_count || o[target].kind == PTX_OP_LIST)
            return fail_at(p, all[i].at, "call needs a function to call");
        if (o[target].kind != PTX_OP_FUNCTION) {
            if (o[target].kind == PTX_OP_REGISTER)
                continue;
            return fail_at(p, all[i].at, "call needs a function or a register as its target");
        }
        const struct ptx_function *f = function_at(p, (size_t)o[target].function);
        const struct ptx_operand *arguments =
            target + 1 < all[i].operand_count && o[target + 1].kind == PTX_OP_LIST ? &o[target + 1] : NULL;
        if (f->entry)
            return fail_at(p, all[i].at, "'%.80s' is a kernel entry and cannot be called", f->name);
        if (list_length(arguments) != f->param_count)
            return fail_at(p, all[i].at, "'%.80s' takes %zu arguments, this call passes %zu", f->name, f->param_count,
                           list_length(arguments));
        if (list_length(target ? &o[0] : NULL) != f->return_count)
            return fail_at(p, all[i].at, "'%.80s' returns %zu values, this call takes %zu", f->name, f->return_count,
                           list_length(target ? &o[0] : NULL));
    }
    return true;
}

bool bind_the_rest(struct parser *p) {
    return bind_functions(p) && bind_address_cells(p) && check_calls(p);
}
