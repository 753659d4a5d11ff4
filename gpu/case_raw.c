/* The key `files` of a cases file: operands, and perhaps the result, that another program dumped; case.h has its form.
 */
#include "../ref/checked.h"
#include "case_read.h"
#include "raw.h"
#include <string.h>

/* *path, *sha256 = what a mapping {file: PATH, sha256: HEX} says; the path from the folder of the cases file. */
static bool read_raw(struct loader *l, const struct yaml_doc *doc, const struct yaml_node *map, const char *what,
                     char **path, char **sha256) {
    static const char *const keys[] = {"file", "sha256", NULL};
    const struct yaml_node *file, *sha = NULL;
    const char *text = NULL, *slash = strrchr(doc->path, '/');
    if (!yaml_expect(doc, map, YAML_MAPPING, what, l->e) || !yaml_check_keys(doc, map, what, keys, l->e) ||
        !yaml_require(doc, map, "file", what, &file, l->e) || !yaml_string(doc, file, what, &text, l->e))
        return false;
    if (strchr(text, '\n'))
        return yaml_fail(doc, file, 0, l->e, "%s: a path stands on one line", what);
    *path = must_format("%.*s%s", text[0] == '/' || !slash ? 0 : (int)(slash - doc->path + 1), doc->path, text);
    if (!(sha = yaml_get(map, "sha256")))
        return true;
    if (!yaml_string(doc, sha, "sha256", &text, l->e))
        return false;
    if (!sha256_is(text))
        return yaml_fail(doc, sha, 0, l->e, "sha256: not 64 lower-case hex digits");
    *sha256 = must_strdup(text);
    return true;
}

/* One entry of `files`, for each kernel a case. */
static bool add_entry(struct loader *l, const struct cases_file *f, const struct yaml_node *map) {
    static const char *const keys[] = {"name", "nt", "od", "id", "weight", "activation", "expect", NULL};
    const struct yaml_doc *doc = f->doc;
    const struct yaml_node *name, *activation, *expect = yaml_get(map, "expect");
    const char *text, *const numbers[] = {"nt", "id", "od"};
    int64_t shape[3] = {0};
    if (!yaml_expect(doc, map, YAML_MAPPING, "an entry of files", l->e) ||
        !yaml_check_keys(doc, map, "an entry of files", keys, l->e) ||
        !yaml_require(doc, map, "name", "an entry of files", &name, l->e) ||
        !read_file_name(l, doc, name, "name", &text) ||
        !yaml_require(doc, map, "activation", "an entry of files", &activation, l->e))
        return false;
    if (f->weights && f->quantisers)
        return yaml_fail(doc, f->files, 0, l->e, "files serve kernels with weights or kernels without, not both");
    for (size_t i = 0; i < (f->weights ? 3 : 2); i++) {
        const struct yaml_node *node;
        if (!yaml_require(doc, map, numbers[i], "an entry of files", &node, l->e) ||
            !yaml_integer(doc, node, numbers[i], 1, INT32_MAX, &shape[i], l->e))
            return false;
    }
    const struct yaml_node *weight = yaml_get(map, "weight"), *od = yaml_get(map, "od");
    if (!f->weights && (weight || od))
        return yaml_fail(doc, weight ? weight : od, 0, l->e, "not used: no kernel here has weights");
    if (f->weights && !yaml_require(doc, map, "weight", "an entry of files", &weight, l->e))
        return false;
    struct case_files *files = must_calloc(1, sizeof *files);
    l->list->files = must_realloc(l->list->files, l->list->files_count + 1, sizeof *l->list->files);
    l->list->files[l->list->files_count++] = files;
    files->name = must_strdup(text);
    if ((weight && !read_raw(l, doc, weight, "weight", &files->weight.path, &files->weight.sha256)) ||
        !read_raw(l, doc, activation, "activation", &files->activation.path, &files->activation.sha256) ||
        (expect && !read_raw(l, doc, expect, "expect", &files->expect.path, &files->expect.sha256)))
        return false;
    for (size_t k = 0; k < f->kernel_count; k++)
        if (!add_case(l, f, f->kernels[k], map,
                      (struct test_case){.nt = (size_t)shape[0],
                                         .od = (size_t)shape[2],
                                         .depth = (size_t)shape[1],
                                         .data = DATA_FILE,
                                         .files = files}))
            return false;
    return true;
}

bool add_files(struct loader *l, const struct cases_file *f) {
    if (!f->files)
        return true;
    if (!f->files->count)
        return yaml_fail(f->doc, f->files, 0, l->e, "files is empty");
    for (const struct yaml_node *n = f->files->first; n; n = n->next)
        if (!add_entry(l, f, n))
            return false;
    return true;
}
