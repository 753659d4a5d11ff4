#include "globals.h"
#include "../../ref/checked.h"

static bool find(const struct driver *d, cu_module module, const struct launch_global *g, cu_pointer *at,
                 struct error *e) {
    size_t bytes = 0;
    if (!driver_check(d, d->module_global(at, &bytes, module, g->name), e, g->name))
        return false;
    return bytes == g->bytes ||
           fail(e, "the .global variable %.200s has %zu bytes on the GPU, not %zu", g->name, bytes, g->bytes);
}

bool globals_put(const struct driver *d, cu_module module, const struct launch *l, struct error *e) {
    for (size_t i = 0; i < l->global_count; ++i) {
        const struct launch_global *g = &l->globals[i];
        cu_pointer at;
        if (!find(d, module, g, &at, e) || !driver_check(d, d->to_device(at, g->data, g->bytes), e, "cuMemcpyHtoD"))
            return false;
    }
    return true;
}

bool globals_get(const struct driver *d, cu_module module, const struct launch *l, struct error *e) {
    for (size_t i = 0; i < l->global_count; ++i) {
        const struct launch_global *g = &l->globals[i];
        cu_pointer at;
        if (!find(d, module, g, &at, e) || !driver_check(d, d->to_host(g->data, at, g->bytes), e, "cuMemcpyDtoH"))
            return false;
    }
    return true;
}
