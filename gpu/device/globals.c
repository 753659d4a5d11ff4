#include "globals.h"
#include "../../ref/checked.h"

static bool find(struct gpu *g, const struct launch *l, const struct launch_global *v, cu_pointer *at,
                 struct error *e) {
    cu_module module;
    size_t bytes = 0;
    if (!gpu_module(g, l, &module, e) ||
        !driver_check(g->driver, g->driver->module_global(at, &bytes, module, v->name), e, v->name))
        return false;
    return bytes == v->bytes ||
           fail(e, "the .global variable %.200s has %zu bytes on the GPU, not %zu", v->name, bytes, v->bytes);
}

bool globals_put(struct gpu *g, const struct launch *l, struct error *e) {
    for (size_t i = 0; i < l->global_count; ++i) {
        const struct launch_global *v = &l->globals[i];
        cu_pointer at;
        if (!find(g, l, v, &at, e) ||
            !driver_check(g->driver, g->driver->to_device(at, v->data, v->bytes), e, "cuMemcpyHtoD"))
            return false;
    }
    return true;
}

bool globals_get(struct gpu *g, const struct launch *l, struct error *e) {
    for (size_t i = 0; i < l->global_count; ++i) {
        const struct launch_global *v = &l->globals[i];
        cu_pointer at;
        if (!find(g, l, v, &at, e) ||
            !driver_check(g->driver, g->driver->to_host(v->data, at, v->bytes), e, "cuMemcpyDtoH"))
            return false;
    }
    return true;
}
