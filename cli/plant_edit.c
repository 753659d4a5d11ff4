/* Plants that are other words in a launch file or in PTX. */
#include "../gpu/ptx/ptx.h"
#include "../ref/checked.h"
#include "plant.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20 }; /* of an edited file */

/* *text with every `edit.text` in it replaced; they must be edit.times. */
static bool replace(const struct plant *p, const struct plant_edit *edit, const char *path, char **text,
                    struct error *e) {
    const size_t length = strlen(edit->text), other = strlen(edit->becomes);
    size_t times = 0;
    for (const char *at = *text; (at = strstr(at, edit->text)) != NULL; at += length) {
        ++times;
    }
    if (times != edit->times) {
        return fail(e, "plant %s: '%s' stands %zu times in %s, not %zu", p->name, edit->text, times, path, edit->times);
    }
    size_t bytes = 0;
    if (__builtin_mul_overflow(times, other, &bytes) || bytes > MOST_BYTES - 1 ||
        strlen(*text) > MOST_BYTES - 1 - bytes) {
        return fail(e, "plant %s: %s becomes larger than 64 MiB", p->name, path);
    }
    char *out = must_calloc(strlen(*text) + times * other + 1, 1), *to = out;
    const char *from = *text;
    for (const char *at; (at = strstr(from, edit->text)) != NULL; from = at + length) {
        memcpy(to, from, (size_t)(at - from));
        to += at - from;
        memcpy(to, edit->becomes, other);
        to += other;
    }
    memcpy(to, from, strlen(from) + 1);
    free(*text);
    *text = out;
    return true;
}

bool plant_edited(const struct plant *p, const struct spec *s, const struct ptx_module *own, const char *root,
                  struct spec **spec, struct ptx_module **module, struct error *e) {
    char *launch = must_strdup(s->doc->text), *ptx = must_strdup(own->text);
    bool good = true;
    for (size_t i = 0; good && i < p->edit_count; ++i) {
        const struct plant_edit *edit = &p->edits[i];
        good = replace(p, edit, edit->in_ptx ? own->path : s->path, edit->in_ptx ? &ptx : &launch, e);
    }
    *spec = good ? spec_load_text(s->path, launch, root, e) : NULL;
    *module = *spec != NULL ? ptx_parse(own->path, ptx, strlen(ptx), e) : NULL;
    if (*module == NULL) {
        spec_free(*spec);
        *spec = NULL;
    }
    free(launch);
    free(ptx);
    return *module != NULL;
}
