/* Reads the launches that follow the first (`then`), and finds the buffers that launches take by name. */
#include "../ref/checked.h"
#include "spec_read.h"
#include <stdlib.h>
#include <string.h>

static bool read_one(const struct reader *file, const struct yaml_node *map, struct spec *s) {
    static const char *const keys[] = {"entry", "launch", "args", "planes", "counts", NULL};
    const struct reader r = {s, file->doc, file->e};
    const struct yaml_node *entry, *launch, *args, *planes, *counts;
    *s = (struct spec){.path = file->s->path,
                       .doc = file->s->doc,
                       .kernel = file->s->kernel,
                       .contract = file->s->contract,
                       .buffers = file->s->buffers,
                       .buffer_count = file->s->buffer_count,
                       .node = map};
    if (!yaml_expect(r.doc, map, YAML_MAPPING, "then", r.e) ||
        !yaml_check_keys(r.doc, map, "a launch that follows", keys, r.e) ||
        !yaml_require(r.doc, map, "entry", "a launch that follows", &entry, r.e) ||
        !read_word(&r, entry, "entry", "_$%", false, &s->entry) ||
        !yaml_require(r.doc, map, "launch", "a launch that follows", &launch, r.e) || !read_launch(&r, launch))
        return false;
    args = yaml_get(map, "args"), planes = yaml_get(map, "planes"), counts = yaml_get(map, "counts");
    return (!args || read_args(&r, args)) && (!planes || read_planes(&r, planes)) &&
           (!counts || read_counts(&r, counts));
}

bool read_then(const struct reader *r, const struct yaml_node *list) {
    if (!read_list(r, list, YAML_SEQUENCE, "then", MAX_THEN))
        return false;
    r->s->then = must_calloc(list->count, sizeof *r->s->then);
    for (const struct yaml_node *n = list->first; n; n = n->next)
        if (!read_one(r, n, &r->s->then[r->s->then_count++]))
            return false;
    return true;
}

void free_then(struct spec *s) {
    for (size_t i = 0; i < s->then_count; i++)
        free_launch(&s->then[i]);
    free(s->then);
}

/* ---- buffers by name ---- */

static bool find_buffer(const struct reader *r, struct spec_arg *a) {
    const struct spec *s = r->s;
    for (size_t i = 0; i < s->buffer_count; i++)
        if (!strcmp(s->buffers[i]->name, a->name)) {
            a->buffer = i;
            return true;
        }
    const char **names = must_calloc(s->buffer_count + 1, sizeof *names);
    for (size_t i = 0; i < s->buffer_count; i++)
        names[i] = s->buffers[i]->name;
    const char *meant = nearest(a->name, names);
    free(names);
    const struct yaml_node *node = yaml_get(a->node, "buffer");
    return meant ? yaml_fail(r->doc, node, 0, r->e, "no buffer is called %s; did you mean '%s'?", quote(a->name).text,
                             meant)
                 : yaml_fail(r->doc, node, 0, r->e, "no buffer is called %s; args or buffers of the file declare them",
                             quote(a->name).text);
}

/* taken[i]: some launch takes buffer i. */
static bool link_args(const struct reader *r, struct spec *launch, bool *taken) {
    for (size_t i = 0; i < launch->arg_count; i++) {
        struct spec_arg *a = &launch->args[i];
        if (a->kind >= ARG_SCALAR)
            continue;
        if (a->kind == ARG_BUFFER && !find_buffer(r, a))
            return false;
        for (size_t k = 0; k < i; k++)
            if (launch->args[k].kind < ARG_SCALAR && launch->args[k].buffer == a->buffer)
                return yaml_fail(r->doc, a->node, 0, r->e, "buffer %s is given to one launch twice",
                                 quote(a->name).text);
        taken[a->buffer] = true;
    }
    return true;
}

bool link_buffers(const struct reader *r) {
    struct spec *s = r->s;
    bool *taken = must_calloc(s->buffer_count + 1, sizeof *taken);
    bool good = link_args(r, s, taken);
    for (size_t i = 0; good && i < s->then_count; i++)
        good = link_args(r, &s->then[i], taken);
    for (size_t i = 0; good && i < s->buffer_count; i++)
        good = taken[i] || yaml_fail(r->doc, s->buffers[i]->node, 0, r->e, "no launch takes buffer %s",
                                     quote(s->buffers[i]->name).text);
    free(taken);
    return good;
}
