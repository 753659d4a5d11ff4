/* Where variables lie: parameters in the frame of a call as they are declared, shared and local variables once the
 * whole module is known. Natural alignment everywhere. Source: PTX ISA 5.1.5 - 5.1.7, 7.1; facts. */
#include "../../ref/checked.h"
#include "internal.h"

/* *offset = *end rounded up to the alignment; *end = the first byte after the variable. */
static bool place_next(size_t *end, const struct ptx_variable *v, size_t *offset) {
    size_t up;
    if (!size_add(*end, v->alignment - 1, &up))
        return false;
    up = up / v->alignment * v->alignment;
    *offset = up;
    return size_add(up, v->bytes, end);
}

static bool too_large(struct parser *p, const struct ptx_variable *v, size_t at) {
    return fail_at(p, at, "the variables up to '%.80s' do not fit the address space", v->name);
}

bool place_parameter(struct parser *p, struct ptx_variable *v, size_t at) {
    return place_next(&p->frame_bytes, v, &v->offset) || too_large(p, v, at);
}

static bool owned_by_entry(const struct parser *p, const struct ptx_variable *v) {
    return v->function >= 0 && function_at(p, v->function)->entry;
}

bool place_variables(struct parser *p) {
    size_t common = 0, most;
    for (size_t i = 0; i < p->variables.count; i++) {
        struct ptx_variable *v = variable_at(p, (int)i);
        if (v->space == PTX_SHARED && !v->external && !owned_by_entry(p, v) && !place_next(&common, v, &v->offset))
            return too_large(p, v, p->size);
        if (v->space == PTX_LOCAL && v->function >= 0 &&
            !place_next(&function_at(p, v->function)->local_bytes, v, &v->offset))
            return too_large(p, v, p->size);
    }
    most = common;
    size_t end = common;
    int entry = -1;
    for (size_t i = 0; i < p->variables.count; i++) { /* the variables of one function follow each other */
        struct ptx_variable *v = variable_at(p, (int)i);
        if (v->space != PTX_SHARED || v->external || !owned_by_entry(p, v))
            continue;
        if (v->function != entry)
            end = common;
        entry = v->function;
        if (!place_next(&end, v, &v->offset))
            return too_large(p, v, p->size);
        most = end > most ? end : most;
    }
    p->module->static_shared_bytes = most;
    for (size_t i = 0; i < p->variables.count; i++) {
        struct ptx_variable *v = variable_at(p, (int)i);
        size_t unused = most;
        if (v->space == PTX_SHARED && v->external && !place_next(&unused, v, &v->offset))
            return too_large(p, v, p->size);
    }
    return true;
}
