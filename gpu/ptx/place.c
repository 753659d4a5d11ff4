/* Where variables lie: parameters in the frame of a call as they are declared, shared and local variables once the
 * whole module is known. Natural alignment everywhere. MAX_VARIABLES variables of MAX_VARIABLE_BYTES and of the
 * largest alignment still fit 64 bits. Source: PTX ISA 5.1.5 - 5.1.7, 7.1; facts. */
#include "internal.h"

/* v->offset = *end rounded up to the alignment; *end = the first byte after the variable. */
static void place_next(size_t *end, struct ptx_variable *v) {
    v->offset = (*end + v->alignment - 1) / v->alignment * v->alignment;
    *end = v->offset + v->bytes;
}

void place_parameter(struct parser *p, struct ptx_variable *v) {
    p->frame_end = (p->frame_end + p->least_alignment - 1) / p->least_alignment * p->least_alignment;
    place_next(&p->frame_end, v);
    p->frame_bytes = p->frame_end > p->frame_bytes ? p->frame_end : p->frame_bytes;
}

static bool owned_by_entry(const struct parser *p, const struct ptx_variable *v) {
    return v->function >= 0 && function_at(p, (size_t)v->function)->entry;
}

static void place_shared(struct parser *p) {
    size_t count = p->variables.count, common = 0, alignment = 1;
    for (size_t i = 0; i < count; i++) {
        struct ptx_variable *v = variable_at(p, i);
        if (v->space == PTX_SHARED && v->external && v->alignment > alignment)
            alignment = v->alignment;
        if (v->space == PTX_SHARED && !v->external && !owned_by_entry(p, v))
            place_next(&common, v);
    }
    size_t end = common, most = common;
    int entry = -1;
    for (size_t i = 0; i < count; i++) { /* the variables of one function follow each other */
        struct ptx_variable *v = variable_at(p, i);
        if (v->space != PTX_SHARED || v->external || !owned_by_entry(p, v))
            continue;
        if (v->function != entry)
            end = common;
        entry = v->function;
        place_next(&end, v);
        most = end > most ? end : most;
    }
    for (size_t i = 0; i < count; i++) { /* external ones are names of one array, the dynamic arena */
        struct ptx_variable *v = variable_at(p, i);
        if (v->space == PTX_SHARED && v->external)
            v->offset = (most + alignment - 1) / alignment * alignment;
    }
}

void place_variables(struct parser *p) {
    place_shared(p);
    for (size_t i = 0; i < p->variables.count; i++) {
        struct ptx_variable *v = variable_at(p, i);
        if (v->space != PTX_LOCAL)
            continue;
        struct ptx_function *f = v->function < 0 ? NULL : function_at(p, (size_t)v->function);
        size_t *end = f ? &f->local_bytes : &p->module->local_bytes, *most = f ? &f->local_alignment : NULL;
        place_next(end, v);
        if (most && v->alignment > *most)
            *most = v->alignment;
    }
}
