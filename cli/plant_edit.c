/* Plants that are other words in a launch file or in PTX. */
#include "../gpu/ptx/ptx.h"
#include "../ref/checked.h"
#include "plant.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All of a file, with a zero byte behind it, or NULL. One with a zero byte in it ends there, and is refused by whoever
 * reads it. */
static char *read_text(const char *path, struct error *e) {
    char *text = NULL;
    size_t size = 0, n = 0;
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        fail(e, "%s: %s", path, strerror(errno));
        return NULL;
    }
    do {
        text = must_realloc(text, size + 65536 + 1, 1);
        n = fread(text + size, 1, 65536, in);
        size += n;
    } while (n > 0);
    text[size] = 0;
    const bool good = !ferror(in) || fail(e, "%s: cannot be read", path);
    fclose(in);
    if (!good) {
        free(text);
        return NULL;
    }
    return text;
}

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

bool plant_edited(const struct plant *p, const struct spec *s, const char *root, struct spec **spec,
                  struct ptx_module **module, struct error *e) {
    char *launch = must_strdup(s->doc->text), *ptx = read_text(s->ptx, e);
    bool good = ptx != NULL;
    for (size_t i = 0; good && i < p->edit_count; ++i) {
        const struct plant_edit *edit = &p->edits[i];
        good = replace(p, edit, edit->in_ptx ? s->ptx : s->path, edit->in_ptx ? &ptx : &launch, e);
    }
    *spec = good ? spec_load_text(s->path, launch, root, e) : NULL;
    *module = *spec != NULL ? ptx_parse(s->ptx, ptx, strlen(ptx), e) : NULL;
    if (*module == NULL) {
        spec_free(*spec);
        *spec = NULL;
    }
    free(launch);
    free(ptx);
    return *module != NULL;
}
