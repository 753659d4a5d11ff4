/* A struct by value among the arguments of a launch file: {struct: [{i32: n}, {f32: 1.5}, {struct: [...]}], align: 16}.
 * Fields lie as in C: each on a multiple of its alignment, the whole a multiple of the largest; bytes between them are
 * zero. */
#include "../ref/checked.h"
#include "spec_read.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_STRUCT = 32764 }; /* bytes of all parameters of a kernel. Source: PTX ISA 5.1.6.1 */

bool read_struct(const struct reader *r, const struct yaml_node *map, struct spec_arg *a) {
    static const char *const keys[] = {"struct", "align", NULL};
    const struct yaml_node *list = yaml_get(map, "struct"), *align = yaml_get(map, "align");
    a->kind = ARG_STRUCT;
    a->name = must_strdup("struct");
    int64_t alignment = 1;
    if (!yaml_check_keys(r->doc, map, "a struct", keys, r->e) ||
        !read_list(r, list, YAML_SEQUENCE, "struct", MAX_LIST) ||
        (align && !yaml_integer(r->doc, align, "align", 1, 128, &alignment, r->e)))
        return false;
    if (alignment & (alignment - 1))
        return yaml_fail(r->doc, align, 0, r->e, "align: %lld is no power of two", (long long)alignment);
    if (!list->count)
        return yaml_fail(r->doc, list, 0, r->e, "a struct has at least one field");
    a->fields = must_calloc(list->count, sizeof *a->fields);
    a->alignment = (size_t)alignment;
    size_t end = 0;
    for (const struct yaml_node *n = list->first; n; n = n->next) {
        struct spec_arg *f = &a->fields[a->field_count++]; /* also what is half read is freed */
        if (!read_field(r, n, f))
            return false;
        f->offset = (end + f->alignment - 1) / f->alignment * f->alignment;
        end = f->offset + f->type_bytes;
        if (end > MOST_STRUCT)
            return yaml_fail(r->doc, map, 0, r->e, "a struct of more than %d bytes", MOST_STRUCT);
        a->alignment = f->alignment > a->alignment ? f->alignment : a->alignment;
    }
    a->type_bytes = (end + a->alignment - 1) / a->alignment * a->alignment;
    return true;
}

static bool add_members(const struct spec_arg *a, size_t start, const struct shape *shape, struct launch_arg *arg,
                        struct error *e) {
    for (size_t i = 0; i < a->field_count; i++) {
        const struct spec_arg *f = &a->fields[i];
        if (f->kind == ARG_STRUCT) { /* no deeper than a YAML file may be */
            if (!add_members(f, start + f->offset, shape, arg, e))
                return false;
            continue;
        }
        struct launch_member m = {.offset = start + f->offset, .bytes = f->type_bytes, .buffer = -1};
        if (!spec_scalar(f, shape, &m.value, e))
            return false;
        arg->members = must_realloc(arg->members, arg->member_count + 1, sizeof *arg->members);
        arg->members[arg->member_count++] = m;
    }
    return true;
}

bool spec_struct(const struct spec_arg *a, const struct shape *shape, struct launch_arg *arg, struct error *e) {
    *arg = (struct launch_arg){.buffer = -1, .bytes = a->type_bytes, .alignment = a->alignment};
    return add_members(a, 0, shape, arg, e);
}
