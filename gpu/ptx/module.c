/* The module as its users see it: load, parse, free, look up. See ptx.h. */
#include "../../ref/checked.h"
#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct owner { /* the module comes first, so that ptx_free finds the arena that owns it */
    struct ptx_module module;
    struct arena arena;
    char *text;
};

void ptx_free(struct ptx_module *m) {
    struct owner *o = (struct owner *)m;
    if (!o)
        return;
    arena_free(&o->arena);
    free(o->text);
    free(o);
}

static bool keep_text(struct owner *o, const char *text, size_t size, struct error *e) {
    o->text = malloc(size + 1);
    if (!o->text)
        return fail(e, "%s: no memory for %zu bytes", o->module.path, size);
    memcpy(o->text, text, size);
    o->text[size] = 0;
    o->module.text = o->text;
    o->module.text_bytes = size;
    return true;
}

/* The tables that grew while parsing move to the arena; .loc lines of unknown files are dropped. */
static bool finish(struct parser *p) {
    struct ptx_module *m = p->module;
    m->variable_count = p->variables.count;
    m->variables = take(p, m->variable_count, sizeof *m->variables);
    m->function_count = p->functions.count;
    m->functions = take(p, m->function_count, sizeof *m->functions);
    if (!m->variables || !m->functions)
        return false;
    if (m->variable_count)
        memcpy(m->variables, p->variables.items, m->variable_count * sizeof *m->variables);
    if (m->function_count)
        memcpy(m->functions, p->functions.items, m->function_count * sizeof *m->functions);
    for (size_t f = 0; f < m->function_count; f++) {
        for (size_t i = 0; i < m->functions[f].instruction_count; i++) {
            struct ptx_instruction *in = &m->functions[f].instructions[i];
            if (in->file >= 0 && ((size_t)in->file >= m->file_count || !m->files[in->file])) {
                in->file = -1;
                in->line = 0;
                in->place = 0;
            }
            if (in->inlined_file >= 0 && ((size_t)in->inlined_file >= m->file_count || !m->files[in->inlined_file])) {
                in->inlined_file = -1;
                in->inlined_line = 0;
                in->inlined_count = 0;
            }
            for (size_t k = 0; k < in->inlined_count; k++) /* up to one whose file is not named */
                if ((size_t)in->inlined[k].file >= m->file_count || !m->files[in->inlined[k].file])
                    in->inlined_count = k;
        }
    }
    return true;
}

struct ptx_module *ptx_parse(const char *path, const char *text, size_t size, struct error *e) {
    struct owner *o = calloc(1, sizeof *o);
    struct parser *p = calloc(1, sizeof *p);
    char *kept_path = o ? arena_take(&o->arena, strlen(path) + 1, 1) : NULL;
    bool ok = false;
    if (!p || !kept_path) {
        fail(e, "%s: no memory to read it", path);
    } else if (size > MAX_TEXT_BYTES) {
        fail(e, "%s: larger than %zu MiB", path, MAX_TEXT_BYTES >> 20);
    } else {
        o->module.path = strcpy(kept_path, path);
        *p = (struct parser){.e = e, .path = path, .text = size ? text : "", .size = size, .next_line = 1};
        p->arena = &o->arena;
        p->module = &o->module;
        p->function = -1;
        ok = parse_module(p) && finish(p) && !p->failed && keep_text(o, p->text, size, e);
        struct growing *scratch[] = {&p->variables, &p->functions, &p->symbols,      &p->pending, &p->calls,
                                     &p->cells,     &p->registers, &p->instructions, &p->raw,     &p->inlined};
        for (size_t i = 0; i < sizeof scratch / sizeof *scratch; i++)
            free_growing(scratch[i]);
    }
    free(p);
    if (ok)
        return &o->module;
    ptx_free(o ? &o->module : NULL);
    return NULL;
}

/* The whole file, malloc'ed. It may be shorter than its size said, when someone cuts it meanwhile; never longer. */
static char *read_whole(int fd, const char *path, size_t size, size_t *got, struct error *e) {
    char *text = malloc(size + 1);
    if (!text) {
        fail(e, "%s: no memory for %zu bytes", path, size);
        return NULL;
    }
    for (*got = 0; *got < size;) {
        ssize_t n = read(fd, text + *got, size - *got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fail(e, "%s: %s", path, strerror(errno));
            free(text);
            return NULL;
        }
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return text;
}

struct ptx_module *ptx_load(const char *path, struct error *e) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat s;
    if (fd < 0) {
        *path ? fail(e, "%s: %s", path, strerror(errno)) : fail(e, "the name of a file is empty");
        return NULL;
    }
    char *text = NULL;
    size_t size = 0;
    if (fstat(fd, &s))
        fail(e, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(s.st_mode))
        fail(e, "%s: not a regular file", path);
    else if (s.st_size > (off_t)MAX_TEXT_BYTES)
        fail(e, "%s: larger than %zu MiB", path, MAX_TEXT_BYTES >> 20);
    else
        text = read_whole(fd, path, (size_t)s.st_size, &size, e);
    close(fd);
    struct ptx_module *m = text ? ptx_parse(path, text, size, e) : NULL;
    free(text);
    return m;
}

const struct ptx_function *ptx_entry_named(const struct ptx_module *m, const char *name) {
    for (size_t i = 0; i < m->function_count; i++) {
        const struct ptx_function *f = &m->functions[i];
        if (f->entry && !f->declared_only && !strcmp(f->name, name))
            return f;
    }
    return NULL;
}

size_t ptx_static_shared(const struct ptx_module *m, const struct ptx_function *entry) {
    size_t end = 0;
    for (size_t i = 0; i < m->variable_count; i++) {
        const struct ptx_variable *v = &m->variables[i];
        if (v->space != PTX_SHARED || v->external)
            continue;
        const struct ptx_function *owner = v->function >= 0 ? &m->functions[v->function] : NULL;
        if (owner && owner->entry && owner != entry)
            continue;
        end = v->offset + v->bytes > end ? v->offset + v->bytes : end;
    }
    return end;
}

size_t ptx_space_bytes(const struct ptx_module *m, enum ptx_space space) {
    size_t all = 0;
    for (size_t i = 0; i < m->variable_count; i++) {
        if (m->variables[i].space == space && !size_add(all, m->variables[i].bytes, &all))
            return SIZE_MAX;
    }
    return all;
}

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    [PTX_PRED] = {"pred", 0}, [PTX_B8] = {"b8", 1},         [PTX_B16] = {"b16", 2}, [PTX_B32] = {"b32", 4},
    [PTX_B64] = {"b64", 8},   [PTX_B128] = {"b128", 16},    [PTX_U8] = {"u8", 1},   [PTX_U16] = {"u16", 2},
    [PTX_U32] = {"u32", 4},   [PTX_U64] = {"u64", 8},       [PTX_S8] = {"s8", 1},   [PTX_S16] = {"s16", 2},
    [PTX_S32] = {"s32", 4},   [PTX_S64] = {"s64", 8},       [PTX_F16] = {"f16", 2}, [PTX_F16X2] = {"f16x2", 4},
    [PTX_BF16] = {"bf16", 2}, [PTX_BF16X2] = {"bf16x2", 4}, [PTX_F32] = {"f32", 4}, [PTX_F64] = {"f64", 8},
};

size_t ptx_type_bytes(enum ptx_type t) {
    return (size_t)t < sizeof types / sizeof *types ? types[t].bytes : 0;
}

enum ptx_type ptx_type_named(const char *s) {
    for (size_t i = PTX_PRED; i < sizeof types / sizeof *types; i++) {
        if (!strcmp(s, types[i].name))
            return (enum ptx_type)i;
    }
    return PTX_NO_TYPE;
}
