#include "bind.h"
#include "../ref/checked.h"
#include "fill.h"
#include <stdlib.h>
#include <string.h>

struct shape operands_shape(const struct operands *o, struct shape_value values[3]) {
    size_t n = 0;
    values[n++] = (struct shape_value){"nt", (int64_t)o->view.nt};
    if (o->weight)
        values[n++] = (struct shape_value){"od", (int64_t)o->view.od};
    values[n++] = (struct shape_value){"id", (int64_t)o->view.id};
    return (struct shape){values, n};
}

void spec_operands(const struct spec *spec, struct operands_request *r) {
    r->split = spec->split;
    if (!spec->operands_in_files)
        return;
    r->data = DATA_FILE;
    for (size_t i = 0; i < spec->buffer_count; i++) {
        const struct spec_arg *a = spec->buffers[i];
        if (a->format && a->kind == ARG_IN)
            *(strcmp(a->name, "weight") ? &r->activation_file : &r->weight_file) =
                (struct operand_file){a->fill_path, a->fill_sha256, spec->doc, a->node};
    }
}

/* ---- needs ---- */

/* True when the text of an expression has the name as a whole word. */
static bool names_word(const char *text, const char *name) {
    static const char word[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    while (*text) {
        size_t length = strspn(text, word);
        if (length == strlen(name) && !strncmp(text, name, length))
            return true;
        text += length ? length : 1;
    }
    return false;
}

bool bind_needs(const struct spec *spec, const struct shape *shape, char **unmet, struct error *e) {
    const char *need;
    *unmet = NULL;
    if (!spec_needs(spec, shape, &need, e))
        return false;
    if (!need)
        return true;
    char *text = must_format("%s needs %s", spec->kernel, need);
    const char *joint = ", got";
    for (size_t i = 0; i < shape->count; i++)
        if (names_word(need, shape->values[i].name)) {
            char *longer =
                must_format("%s%s %s = %lld", text, joint, shape->values[i].name, (long long)shape->values[i].value);
            free(text);
            text = longer;
            joint = ",";
        }
    *unmet = text;
    return true;
}

static bool needs_met(const struct spec *spec, const struct shape *shape, struct error *e) {
    char *unmet;
    if (!bind_needs(spec, shape, &unmet, e))
        return false;
    if (!unmet)
        return true;
    fail(e, "%s: %s", spec->path, unmet);
    free(unmet);
    return false;
}

/* ---- grid, block, arena ---- */

static bool evaluate_dimensions(struct spec_expr *const x[3], const struct shape *shape, uint32_t out[3],
                                struct error *e) {
    for (int i = 0; i < 3; i++) {
        int64_t value = 1;
        if (x[i] && !spec_eval_within(x[i], shape, 1, INT32_MAX, &value, e))
            return false;
        out[i] = (uint32_t)value;
    }
    return true;
}

static bool evaluate_planes(const struct spec *spec, const struct shape *shape, struct launch *l, struct error *e) {
    struct launch_plane *planes = must_calloc(spec->plane_count, sizeof *planes);
    l->planes = planes;
    size_t offset = 0;
    for (size_t i = 0; i < spec->plane_count; i++) {
        int64_t bytes;
        if (!spec_eval_within(spec->planes[i].bytes, shape, 1, INT32_MAX, &bytes, e))
            return false;
        planes[l->plane_count++] = (struct launch_plane){spec->planes[i].name, offset, (size_t)bytes};
        if (!size_add(offset, (size_t)bytes, &offset))
            return fail(e, "%s: the planes are larger than the address space", spec->path);
    }
    return true;
}

/* ---- buffers ---- */

struct binder {
    const struct spec *spec;
    const struct shape *shape;
    const struct operands *operands;
    uint64_t seed;
    struct bound *b;
    size_t total;     /* bytes of the variables, of the buffers measured so far and of their expected bytes */
    size_t variables; /* .global */
    struct error *e;
};

static bool count_bytes(struct binder *r, const struct spec_arg *a, size_t bytes) {
    if (size_add(r->total, bytes, &r->total) && r->total <= BIND_MAX_BYTES)
        return true;
    if (r->variables)
        return yaml_fail(r->spec->doc, a->node, 0, r->e,
                         "with buffer %s and %zu bytes of .global variables the launch takes more than %zu bytes",
                         a->name, r->variables, BIND_MAX_BYTES);
    return yaml_fail(r->spec->doc, a->node, 0, r->e, "with buffer %s the launch takes more than %zu bytes", a->name,
                     BIND_MAX_BYTES);
}

static uint8_t *room(const struct binder *r, const struct spec_arg *a, size_t bytes) {
    uint8_t *data = malloc(bytes);
    if (!data)
        yaml_fail(r->spec->doc, a->node, 0, r->e, "no memory for the %zu bytes of buffer %s", bytes, a->name);
    return data;
}

/* Operands and result have the contract's sizes, plain buffers their own. */
static bool measure(struct binder *r, const struct spec_arg *a, struct launch_buffer *buffer) {
    const struct operands *o = r->operands;
    if (a->count) {
        int64_t count;
        if (!spec_eval_within(a->count, r->shape, 1, INT64_MAX, &count, r->e))
            return false;
        buffer->cell_bytes = a->type_bytes;
        buffer->is_f32 = !strcmp(a->type, "f32");
        return size_mul((size_t)count, a->type_bytes, &buffer->bytes) ||
               yaml_fail(r->spec->doc, a->node, 0, r->e, "buffer %s is larger than the address space", a->name);
    }
    size_t block_values, block_bytes;
    buffer->is_f32 = !strcmp(a->format ? a->format : a->type, "f32");
    if (!data_block(a->format ? a->format : a->type, &block_values, &block_bytes, r->e))
        return false;
    buffer->cell_bytes = block_bytes % 4 == 0 ? 4 : block_bytes % 2 == 0 ? 2 : 1;
    buffer->bytes = a->kind == ARG_OUT           ? o->result_bytes
                    : !strcmp(a->name, "weight") ? o->weight_bytes
                                                 : o->activation_bytes;
    return true;
}

static bool fill_plain(const struct binder *r, const struct spec_arg *a, struct launch_buffer *buffer) {
    const size_t count = buffer->bytes / a->type_bytes;
    switch (a->fill) {
    case FILL_RANDOM: {
        char *stream = must_format("%s/%s/s%llu", r->spec->kernel, a->name, (unsigned long long)r->seed);
        fill_random(a->type, count, random_key(stream), buffer->data);
        free(stream);
        return true;
    }
    case FILL_IOTA:
        fill_iota(a->type, count, buffer->data);
        return true;
    case FILL_FILE: {
        struct error why;
        return fill_file(a->fill_path, a->fill_sha256, buffer->bytes, buffer->data, &why) ||
               yaml_fail(r->spec->doc, a->node, 0, r->e, "%s", why.text);
    }
    case FILL_ZERO:
    case FILL_NONE:
        break;
    }
    memset(buffer->data, 0, buffer->bytes);
    return true;
}

static bool fill_buffer(const struct binder *r, const struct spec_arg *a, struct launch_buffer *buffer) {
    if (a->kind == ARG_OUT || a->kind == ARG_SCRATCH) {
        for (size_t i = 0; i < buffer->bytes; i++)
            buffer->data[i] = (uint8_t)(BIND_POISON >> 8 * (i % 4));
        return true;
    }
    if (a->count)
        return fill_plain(r, a, buffer);
    memcpy(buffer->data, !strcmp(a->name, "weight") ? r->operands->weight : r->operands->activation, buffer->bytes);
    return true;
}

static bool load_expected(const struct binder *r, const struct spec_arg *a, size_t bytes, const uint8_t **expected) {
    if (!a->expect_path)
        return true;
    uint8_t *data = room(r, a, bytes);
    *expected = data;
    struct error why;
    return data && (fill_file(a->expect_path, NULL, bytes, data, &why) ||
                    yaml_fail(r->spec->doc, a->node, 0, r->e, "expect: %s", why.text));
}

static bool describe_buffer(struct binder *r, const struct spec_arg *a) {
    static const enum buffer_role roles[] = {
        [ARG_IN] = BUFFER_IN, [ARG_OUT] = BUFFER_OUT, [ARG_INOUT] = BUFFER_INOUT, [ARG_SCRATCH] = BUFFER_SCRATCH};
    struct launch_buffer *buffer = &r->b->launch.buffers[a->buffer];
    buffer->name = a->name;
    buffer->role = roles[a->kind];
    if (a->kind == ARG_OUT && !a->count)
        r->b->result = a->buffer;
    return measure(r, a, buffer) && count_bytes(r, a, buffer->bytes) &&
           (!a->expect_path || count_bytes(r, a, buffer->bytes));
}

/* The sizes of buffers. */
static bool describe_buffers(struct binder *r) {
    struct launch *l = &r->b->launch;
    const size_t count = r->spec->buffer_count;
    l->buffers = must_calloc(count, sizeof *l->buffers);
    r->b->expected = must_calloc(count, sizeof *r->b->expected);
    while (l->buffer_count < count)
        if (!describe_buffer(r, r->spec->buffers[l->buffer_count++]))
            return false;
    return true;
}

static bool describe_arguments(const struct binder *r, const struct spec *spec, struct launch *l) {
    l->args = must_calloc(spec->arg_count, sizeof *l->args);
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct spec_arg *a = &spec->args[i];
        struct launch_arg *arg = &l->args[l->arg_count++];
        *arg = (struct launch_arg){.buffer = -1, .bytes = a->type_bytes, .is_float = !a->value};
        if (a->kind == ARG_STRUCT ? !spec_struct(a, r->shape, arg, r->e)
                                  : a->kind == ARG_SCALAR && !spec_scalar(a, r->shape, &arg->value, r->e))
            return false;
        if (a->kind < ARG_SCALAR)
            *arg = (struct launch_arg){.buffer = (int)a->buffer, .bytes = 8};
    }
    return true;
}

/* .const variables have a limit of their own (launch_excess). */
static bool count_variables(struct binder *r, const struct ptx_module *m) {
    r->total = r->variables = m ? ptx_space_bytes(m, PTX_GLOBAL) : 0;
    return r->total <= BIND_MAX_BYTES ||
           fail(r->e, "%.600s: the .global variables take %zu bytes, a launch may take %zu with its buffers", m->path,
                r->total, BIND_MAX_BYTES);
}

/* Only now, when all values are known to be good: gigabytes may be filled here. */
static bool fill_buffers(const struct binder *r) {
    const struct launch *l = &r->b->launch;
    for (size_t i = 0; i < l->buffer_count; i++) {
        const struct spec_arg *a = r->spec->buffers[i];
        struct launch_buffer *buffer = &l->buffers[i];
        if (r->b->lent && a->kind == ARG_IN && !a->count) {
            buffer->data = !strcmp(a->name, "weight") ? r->operands->weight : r->operands->activation;
            continue;
        }
        buffer->data = room(r, a, buffer->bytes);
        if (!buffer->data || !fill_buffer(r, a, buffer) || !load_expected(r, a, buffer->bytes, &r->b->expected[i]))
            return false;
        if (r->spec->then_count && (buffer->role == BUFFER_OUT || buffer->role == BUFFER_SCRATCH)) {
            buffer->written = room(r, a, buffer->bytes);
            if (!buffer->written)
                return false;
            memset(buffer->written, 0, buffer->bytes);
        }
    }
    return true;
}

/* ---- the whole ---- */

static bool same_shape(const struct spec *spec, const struct shape *shape, const struct operands *o, struct error *e) {
    struct shape_value made[3];
    const struct shape of_operands = operands_shape(o, made);
    for (size_t i = 0; i < shape->count; i++)
        for (size_t k = 0; k < of_operands.count; k++)
            if (!strcmp(shape->values[i].name, made[k].name) && shape->values[i].value != made[k].value)
                return fail(e, "%s: operands made for %s = %lld cannot serve %lld", spec->path, made[k].name,
                            (long long)made[k].value, (long long)shape->values[i].value);
    return true;
}

/* *out = the shape and `tiles`. */
static bool add_tiles(const struct spec *spec, const struct shape *shape, const uint32_t grid[3], struct shape *out,
                      struct error *e) {
    struct shape_value *values = must_calloc(shape->count + 1, sizeof *values);
    *out = (struct shape){values, shape->count};
    bool own = false;
    for (size_t i = 0; i < shape->count; i++) {
        values[i] = shape->values[i];
        own |= !strcmp(values[i].name, "tiles");
    }
    int64_t tiles = 1;
    for (int i = 0; i < 3; i++)
        if (__builtin_mul_overflow(tiles, (int64_t)grid[i], &tiles))
            return fail(e, "%s: the grid has more than 2^63 blocks", spec->path);
    if (!own)
        values[out->count++] = (struct shape_value){"tiles", tiles};
    return true;
}

/* Grid, block, arena and planes of one launch. */
static bool size_launch(const struct binder *r, const struct spec *spec, struct launch *l, struct shape *shape) {
    int64_t shared = 0, steps = 0;
    if (!evaluate_dimensions(spec->grid, r->shape, l->grid, r->e) ||
        !evaluate_dimensions(spec->block, r->shape, l->block, r->e) ||
        !add_tiles(spec, r->shape, l->grid, shape, r->e) ||
        (spec->shared && !spec_eval_within(spec->shared, r->shape, 0, INT32_MAX, &shared, r->e)) ||
        (spec->steps && !spec_eval_within(spec->steps, r->shape, 1, INT64_MAX, &steps, r->e)))
        return false;
    l->entry = spec->entry;
    l->shared_bytes = (size_t)shared;
    l->step_budget = (uint64_t)steps;
    return evaluate_planes(spec, r->shape, l, r->e);
}

/* What all launches share. */
static void share(struct binder *r, const struct ptx_module *module) {
    struct bound *b = r->b;
    if (b->then_count && module)
        b->launch.variables = must_calloc(module->variable_count, sizeof *b->launch.variables);
    for (size_t i = 0; i <= b->then_count; i++) {
        struct launch *l = bound_launch(b, i);
        l->module = module;
        l->cubin = r->spec->cubin;
        l->variables = b->launch.variables;
        l->buffers = b->launch.buffers;
        l->buffer_count = b->launch.buffer_count;
    }
}

static bool build(struct binder *r, const struct ptx_module *module) {
    const struct spec *spec = r->spec;
    struct bound *b = r->b;
    if (spec->contract && !r->operands)
        return fail(r->e, "%s: the operands of contract %s are missing", spec->path, spec->contract);
    if ((r->operands && !same_shape(spec, r->shape, r->operands, r->e)) || !needs_met(spec, r->shape, r->e))
        return false;
    b->then = spec->then_count ? must_calloc(spec->then_count, sizeof *b->then) : NULL;
    b->then_count = spec->then_count;
    bool good = size_launch(r, spec, &b->launch, &b->shape) && count_variables(r, module) && describe_buffers(r) &&
                describe_arguments(r, spec, &b->launch);
    for (size_t i = 0; good && i < b->then_count; i++)
        good = size_launch(r, &spec->then[i], &b->then[i].launch, &b->then[i].shape) &&
               describe_arguments(r, &spec->then[i], &b->then[i].launch);
    good = good && fill_buffers(r);
    share(r, module);
    return good;
}

struct launch *bound_launch(struct bound *b, size_t number) {
    return number ? &b->then[number - 1].launch : &b->launch;
}

const struct spec *bound_spec(const struct bound *b, size_t number) {
    return number ? &b->spec->then[number - 1] : b->spec;
}

const struct shape *bound_shape(const struct bound *b, size_t number) {
    return number ? &b->then[number - 1].shape : &b->shape;
}

void bound_options(struct bound *b, int threads, const struct launch_options *o) {
    for (size_t i = 0; i <= b->then_count; i++) {
        struct launch *l = bound_launch(b, i);
        l->threads = threads;
        l->options = *o;
    }
}

bool bind_launch(const struct spec *spec, const struct ptx_module *module, const struct shape *shape,
                 const struct operands *operands, uint64_t seed, struct bound *b, struct error *e) {
    *b = (struct bound){.spec = spec, .result = SIZE_MAX, .lent = operands && operands->lent ? operands : NULL};
    struct binder r = {spec, shape, operands, seed, b, 0, 0, e};
    if (build(&r, module))
        return true;
    bound_free(b);
    return false;
}

static bool check(const struct spec *s, const struct launch *l, struct error *e) {
    struct launch_place at;
    struct error why;
    if (launch_check_at(l, &at, &why))
        return true;
    const struct yaml_node *root = s->node, *node = NULL;
    switch (at.part) {
    case LAUNCH_OTHER: /* of the program: the message names its file */
        break;
    case LAUNCH_ENTRY:
        node = yaml_get(root, "entry");
        break;
    case LAUNCH_GRID:
        node = yaml_get(yaml_get(root, "launch"), "grid");
        break;
    case LAUNCH_BLOCK:
        node = yaml_get(yaml_get(root, "launch"), "block");
        break;
    case LAUNCH_ARGUMENT:
        node = at.argument < s->arg_count ? s->args[at.argument].node : yaml_get(root, "args");
        break;
    case LAUNCH_PLANES:
        node = yaml_get(root, "planes");
        break;
    }
    if (node)
        return yaml_fail(s->doc, node, 0, e, "%s", why.text);
    return at.part == LAUNCH_OTHER || at.part == LAUNCH_ENTRY ? fail(e, "%s", why.text)
                                                              : fail(e, "%s: %s", s->path, why.text);
}

bool bound_check(const struct bound *b, struct error *e) {
    bool good = check(b->spec, &b->launch, e);
    for (size_t i = 0; good && i < b->then_count; i++)
        good = check(&b->spec->then[i], &b->then[i].launch, e);
    return good;
}

void bound_free(struct bound *b) {
    for (size_t i = 0; i < b->launch.buffer_count; i++) {
        uint8_t *data = b->launch.buffers[i].data;
        if (!b->lent || (data != b->lent->weight && data != b->lent->activation))
            free(data);
        free(b->launch.buffers[i].written);
        free((void *)b->expected[i]);
    }
    for (size_t i = 0; b->launch.variables && i < b->launch.module->variable_count; i++)
        free(b->launch.variables[i]);
    free(b->launch.variables);
    free(b->launch.buffers);
    free(b->expected);
    for (size_t i = 0; i <= b->then_count; i++) {
        struct launch *l = bound_launch(b, i);
        for (size_t k = 0; k < l->arg_count; k++)
            free(l->args[k].members);
        for (size_t k = 0; k < l->global_count; k++)
            free(l->globals[k].data);
        free(l->globals);
        free(l->args);
        free((void *)l->planes);
        free((void *)bound_shape(b, i)->values);
    }
    free(b->then);
    *b = (struct bound){0};
}
