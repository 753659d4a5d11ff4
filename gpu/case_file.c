/* Reads the files of fixtures/cases; case.h has their form. */
#include "../ref/checked.h"
#include "../ref/printable.h"
#include "bind.h"
#include "case_read.h"
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- scalars and lists ---- */

static bool read_numbers(struct loader *l, const struct yaml_doc *doc, const struct yaml_node *node, const char *what,
                         int64_t min, struct numbers *out) {
    if (!yaml_expect(doc, node, YAML_SEQUENCE, what, l->e))
        return false;
    if (!node->count)
        return yaml_fail(doc, node, 0, l->e, "%s is empty", what);
    out->values = must_calloc(node->count, sizeof *out->values);
    for (const struct yaml_node *n = node->first; n; n = n->next)
        if (!yaml_integer(doc, n, what, min, INT32_MAX, &out->values[out->count++], l->e))
            return false;
    return true;
}

/* A key that must be there exactly when it is needed. why: "no kernel here has weights". */
static bool numbers_if(struct loader *l, const struct yaml_doc *doc, const struct yaml_node *mapping, const char *key,
                       const char *what, int64_t min, bool needed, const char *why, struct numbers *out) {
    const struct yaml_node *node = yaml_get(mapping, key);
    if (node && !needed)
        return yaml_fail(doc, node, 0, l->e, "%s is not used: %s", key, why);
    if (!needed)
        return true;
    return yaml_require(doc, mapping, key, what, &node, l->e) && read_numbers(l, doc, node, key, min, out);
}

bool read_file_name(struct loader *l, const struct yaml_doc *doc, const struct yaml_node *node, const char *what,
                    const char **name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+";
    if (!yaml_string(doc, node, what, name, l->e))
        return false;
    if ((*name)[strspn(*name, allowed)] || (*name)[0] == '.' || strlen(*name) > 200)
        return yaml_fail(doc, node, 0, l->e, "%s is not a plain file name: letters, digits, . _ - + only", what);
    return true;
}

/* folder/name, without a leading "./". */
static char *joined(const char *folder, const char *rest) {
    return strcmp(folder, ".") ? must_format("%s/%s", folder, rest) : must_strdup(rest);
}

/* ---- kernels and models ---- */

static bool load_kernel(struct loader *l, const struct yaml_doc *doc, const struct yaml_node *node, size_t *index) {
    struct case_list *list = l->list;
    const char *name;
    if (!read_file_name(l, doc, node, "kernels", &name))
        return false;
    for (*index = 0; *index < list->kernel_count; ++*index)
        if (!strcmp(list->kernels[*index]->kernel, name))
            return true;
    char *rest = must_format("gpu/kernels/%s.yaml", name), *path = joined(l->root, rest);
    struct stat st;
    struct spec *spec = NULL;
    if (stat(path, &st) && errno == ENOENT)
        yaml_fail(doc, node, 0, l->e, "there is no kernel %s: no file %s", name, path);
    else if ((spec = spec_load(path, l->root, l->e))) {
        list->kernels = must_realloc(list->kernels, list->kernel_count + 1, sizeof *list->kernels);
        list->kernels[list->kernel_count++] = spec;
    }
    free(rest);
    free(path);
    if (!spec)
        return false;
    if (strcmp(spec->kernel, name))
        return yaml_fail(doc, node, 0, l->e, "%s calls its kernel %s", spec->path, spec->kernel);
    if (!spec->contract)
        return yaml_fail(doc, node, 0, l->e, "kernel %s has no contract, so there are no operands to make for it",
                         name);
    if (spec->operands_in_files)
        return yaml_fail(doc, node, 0, l->e, "kernel %s has its operands in files: `warpproof run %s`", name,
                         spec->path);
    return true;
}

static bool read_kernels(struct loader *l, struct cases_file *f) {
    const struct yaml_node *node;
    if (!yaml_require(f->doc, f->doc->root, "kernels", "a cases file", &node, l->e) ||
        !yaml_expect(f->doc, node, YAML_SEQUENCE, "kernels", l->e))
        return false;
    if (!node->count)
        return yaml_fail(f->doc, node, 0, l->e, "kernels is empty");
    f->kernels = must_calloc(node->count, sizeof *f->kernels);
    for (const struct yaml_node *n = node->first; n; n = n->next) {
        size_t *index = &f->kernels[f->kernel_count++];
        if (!load_kernel(l, f->doc, n, index))
            return false;
        const bool weights = contract_named(l->list->kernels[*index]->contract)->weight != NULL;
        f->weights |= weights;
        f->quantisers |= !weights;
    }
    return true;
}

/* Opens the model of m->path. The tensor that activations are made from must be there. */
static bool open_model(struct case_model *m, struct error *e) {
    if (!(m->file = gguf_open(m->path, e)))
        return false;
    const struct gguf_tensor *embedding = gguf_tensor_named(m->file, "token_embd.weight");
    if (embedding && embedding->format)
        return true;
    if (!embedding)
        fail(e, "%s: there is no tensor token_embd.weight to make activations from", m->path);
    else
        fail(e, "%s: tensor token_embd.weight is %s, which cannot be decoded", m->path, embedding->type_name);
    gguf_close(m->file);
    m->file = NULL;
    return false;
}

/* The model of that name, opened when it is met first; one that is absent or cannot be read stays in the list without a
 * file. */
static bool load_model(struct loader *l, const struct yaml_doc *doc, const struct yaml_node *node,
                       struct case_model **model) {
    struct case_list *list = l->list;
    const char *name;
    if (!read_file_name(l, doc, node, "real.model", &name))
        return false;
    for (size_t i = 0; i < list->model_count; i++)
        if (!strcmp(list->models[i]->name, name)) {
            *model = list->models[i];
            return true;
        }
    struct case_model *m = must_calloc(1, sizeof *m);
    m->name = must_strdup(name);
    m->path = joined(l->models, name);
    list->models = must_realloc(list->models, list->model_count + 1, sizeof *list->models);
    *model = list->models[list->model_count++] = m;
    struct stat st;
    if (stat(m->path, &st) && (errno == ENOENT || errno == ENOTDIR))
        return true;
    struct error why;
    if (!open_model(m, &why))
        m->why = must_strdup(why.text);
    return true;
}

/* ---- one file ---- */

static bool read_data(struct loader *l, struct cases_file *f) {
    const struct yaml_node *node = yaml_get(f->doc->root, "data");
    f->generated = node != NULL;
    if (!node)
        return true;
    if (!yaml_expect(f->doc, node, YAML_SEQUENCE, "data", l->e))
        return false;
    if (!node->count)
        return yaml_fail(f->doc, node, 0, l->e, "data is empty");
    for (const struct yaml_node *n = node->first; n; n = n->next) {
        size_t index;
        if (!yaml_choice(f->doc, n, "data", data_class_names, &index, l->e))
            return false;
        if (index == DATA_REAL)
            return yaml_fail(f->doc, n, 0, l->e, "data: class real needs a model and is asked for by the key `real`");
        if (index == DATA_FILE)
            return yaml_fail(f->doc, n, 0, l->e, "data: class file needs files and is asked for by the key `files`");
        if (f->data[index])
            return yaml_fail(f->doc, n, 0, l->e, "data: %s stands here twice", data_class_names[index]);
        f->data[index] = true;
    }
    return true;
}

static bool read_real(struct loader *l, struct cases_file *f) {
    static const char *const keys[] = {"model", "tensors", NULL};
    const struct yaml_node *model, *tensors;
    f->real = yaml_get(f->doc->root, "real");
    if (!f->real)
        return true;
    if (!yaml_expect(f->doc, f->real, YAML_MAPPING, "real", l->e) ||
        !yaml_check_keys(f->doc, f->real, "real", keys, l->e) ||
        !yaml_require(f->doc, f->real, "model", "real", &model, l->e))
        return false;
    tensors = yaml_get(f->real, "tensors");
    if (tensors && !f->weights)
        return yaml_fail(f->doc, tensors, 0, l->e, "tensors is not used: no kernel here has weights");
    if (f->weights && (!yaml_require(f->doc, f->real, "tensors", "real", &tensors, l->e) ||
                       !yaml_string(f->doc, tensors, "real.tensors", &f->tensors, l->e)))
        return false;
    return load_model(l, f->doc, model, &f->model);
}

static bool read_file(struct loader *l, struct cases_file *f) {
    static const char *const keys[] = {"kernels", "shapes", "data", "seeds", "real", "files", NULL};
    static const char *const axes[] = {"nt", "od", "id", NULL};
    const struct yaml_doc *doc = f->doc;
    if (!yaml_expect(doc, doc->root, YAML_MAPPING, "a cases file", l->e) ||
        !yaml_check_keys(doc, doc->root, "a cases file", keys, l->e) || !read_kernels(l, f) || !read_data(l, f) ||
        !read_real(l, f))
        return false;
    f->files = yaml_get(doc->root, "files");
    if (f->files && !yaml_expect(doc, f->files, YAML_SEQUENCE, "files", l->e))
        return false;
    if (!f->generated && !f->real && !f->files)
        return yaml_fail(doc, doc->root, 0, l->e, "a cases file needs `data`, `real` or `files`");
    const struct yaml_node *seeds = yaml_get(doc->root, "seeds");
    if (!f->generated && !f->real && (seeds || yaml_get(doc->root, "shapes")))
        return yaml_fail(doc, seeds ? seeds : yaml_get(doc->root, "shapes"), 0, l->e,
                         "not used: the entries of `files` have their shapes, and no seeds");
    if (!f->generated && !f->real)
        return true;
    if (!yaml_require(doc, doc->root, "shapes", "a cases file", &f->shapes, l->e) ||
        !yaml_expect(doc, f->shapes, YAML_MAPPING, "shapes", l->e) ||
        !yaml_check_keys(doc, f->shapes, "shapes", axes, l->e))
        return false;
    const char *no_od = f->weights ? "the tensors give it" : "no kernel here has weights";
    return numbers_if(l, doc, f->shapes, "nt", "shapes", 1, true, "", &f->nt) &&
           numbers_if(l, doc, f->shapes, "od", "shapes", 1, f->generated && f->weights, no_od, &f->od) &&
           numbers_if(l, doc, f->shapes, "id", "shapes", 1, f->generated || f->quantisers, "the tensors give it",
                      &f->id) &&
           numbers_if(l, doc, doc->root, "seeds", "a cases file", 0, f->generated,
                      "class real has no seed, its data are the model's", &f->seeds);
}

/* ---- cases ---- */

/* Ids name tensors, and tensor names are a file's: control characters must not reach a terminal. */
static char *printed(const char *text) {
    size_t length = strlen(text), room = 4 * length + 4;
    char *out = must_calloc(room, 1);
    printable(out, room, text, length);
    return out;
}

static char *make_id(const struct test_case *c) {
    const struct contract *k = c->contract;
    char *rows = k->weight ? must_format(".od%zu", c->od) : must_strdup("");
    char *head = must_format("%s/%s/%s/nt%zu%s.id%zu/%s", k->weight ? k->weight : k->activation,
                             k->weight ? k->activation : k->result, c->spec->kernel, c->nt, rows, c->depth,
                             data_class_names[c->data]);
    char *id;
    if (c->files) {
        id = must_format("%s/%s", head, c->files->name);
    } else if (c->model) {
        size_t stem = strlen(c->model->name);
        if (stem > 5 && !strcmp(c->model->name + stem - 5, ".gguf"))
            stem -= 5;
        char *tensor = printed(c->tensor ? c->tensor->name : "");
        id = must_format("%s/%.*s%s%s", head, (int)stem, c->model->name, c->tensor ? "/" : "", tensor);
        free(tensor);
    } else {
        id = must_format("%s/s%lld", head, (long long)c->seed);
    }
    free(rows);
    free(head);
    return id;
}

/* The kernel can take the shape, and the operands have a size. */
static bool check_shape(struct loader *l, const struct test_case *c, const struct yaml_doc *doc,
                        const struct yaml_node *node) {
    struct shape_value values[3];
    const struct shape shape = case_shape(c, values);
    char *unmet;
    if (!bind_needs(c->spec, &shape, &unmet, l->e))
        return false;
    if (unmet) {
        yaml_fail(doc, node, 0, l->e, "%s (%s)", unmet, c->id);
        free(unmet);
        return false;
    }
    struct operands_request r;
    struct operands sizes;
    struct error why;
    case_request(c, &r);
    return (c->files ? operands_check_files(&r, &why) : operands_measure(&r, &sizes, &why)) ||
           yaml_fail(doc, node, 0, l->e, "%s (%s)", why.text, c->id);
}

bool add_case(struct loader *l, const struct cases_file *f, size_t kernel, const struct yaml_node *node,
              struct test_case c) {
    if (l->entry_count == CASE_LIMIT)
        return yaml_fail(f->doc, node, 0, l->e, "more than %zu cases", CASE_LIMIT);
    c.spec = l->list->kernels[kernel];
    c.contract = contract_named(c.spec->contract);
    c.id = make_id(&c);
    if (l->entry_count == l->entry_room) {
        l->entry_room = l->entry_room ? 2 * l->entry_room : 256;
        l->entries = must_realloc(l->entries, l->entry_room, sizeof *l->entries);
    }
    struct entry *entry = &l->entries[l->entry_count];
    *entry = (struct entry){c, kernel, l->entry_count, l->lattice, f->doc, node};
    l->entry_count++;
    return check_shape(l, &entry->c, f->doc, node);
}

static bool add_generated(struct loader *l, const struct cases_file *f, size_t kernel) {
    const bool weights = contract_named(l->list->kernels[kernel]->contract)->weight != NULL;
    for (size_t t = 0; t < f->nt.count; t++)
        for (size_t j = 0; j < (weights ? f->od.count : 1); j++)
            for (size_t k = 0; k < f->id.count; k++)
                for (enum data_class c = 0; c < DATA_REAL; c++)
                    for (size_t s = 0; f->data[c] && s < f->seeds.count; s++)
                        if (!add_case(l, f, kernel, f->shapes,
                                      (struct test_case){.nt = (size_t)f->nt.values[t],
                                                         .od = weights ? (size_t)f->od.values[j] : 0,
                                                         .depth = (size_t)f->id.values[k],
                                                         .data = c,
                                                         .seed = f->seeds.values[s]}))
                            return false;
    return true;
}

static bool add_real_tensors(struct loader *l, const struct cases_file *f, size_t kernel, const char *format) {
    bool any = false;
    for (size_t i = 0; i < f->model->file->tensor_count; i++) {
        const struct gguf_tensor *tensor = &f->model->file->tensors[i];
        if (strcmp(tensor->type_name, format) || fnmatch(f->tensors, tensor->name, 0))
            continue;
        any = true;
        for (size_t t = 0; t < f->nt.count; t++, f->model->cases++)
            if (!add_case(l, f, kernel, f->real,
                          (struct test_case){.nt = (size_t)f->nt.values[t],
                                             .od = tensor->rows,
                                             .depth = tensor->extent[0],
                                             .data = DATA_REAL,
                                             .model = f->model,
                                             .tensor = tensor}))
                return false;
    }
    return any || yaml_fail(f->doc, yaml_get(f->real, "tensors"), 0, l->e, "no %s tensor of %s matches", format,
                            f->model->path);
}

static bool add_real(struct loader *l, const struct cases_file *f, size_t kernel) {
    const char *format = contract_named(l->list->kernels[kernel]->contract)->weight;
    if (format)
        return add_real_tensors(l, f, kernel, format);
    for (size_t t = 0; t < f->nt.count; t++)
        for (size_t k = 0; k < f->id.count; k++, f->model->cases++)
            if (!add_case(l, f, kernel, f->real,
                          (struct test_case){.nt = (size_t)f->nt.values[t],
                                             .depth = (size_t)f->id.values[k],
                                             .data = DATA_REAL,
                                             .model = f->model}))
                return false;
    return true;
}

static bool add_file(struct loader *l, const char *path) {
    struct yaml_doc *doc = yaml_open(path, l->e);
    if (!doc)
        return false;
    l->docs = must_realloc(l->docs, l->doc_count + 1, sizeof *l->docs);
    l->docs[l->doc_count++] = doc;
    struct cases_file f = {.doc = doc};
    bool good = read_file(l, &f);
    for (size_t k = 0; k < f.kernel_count && good; k++)
        good = (!f.generated || add_generated(l, &f, f.kernels[k])) &&
               (!f.model || !f.model->file || add_real(l, &f, f.kernels[k]));
    good = good && add_files(l, &f);
    free(f.kernels);
    free(f.nt.values);
    free(f.od.values);
    free(f.id.values);
    free(f.seeds.values);
    return good;
}

/* ---- the folder ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_cases_file(const char *name) {
    size_t length = strlen(name);
    return name[0] != '.' && length > 5 && !strcmp(name + length - 5, ".yaml");
}

static bool add_folder(struct loader *l, const char *folder) {
    DIR *dir = opendir(folder);
    if (!dir)
        return fail(l->e, "cannot open the folder %s: %s", folder, strerror(errno));
    char **names = NULL;
    size_t count = 0;
    for (struct dirent *d; (d = readdir(dir));)
        if (is_cases_file(d->d_name)) {
            names = must_realloc(names, count + 1, sizeof *names);
            names[count++] = must_strdup(d->d_name);
        }
    closedir(dir);
    bool good = count || fail(l->e, "there is no cases file *.yaml in %s", folder);
    if (count)
        qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        char *path = joined(folder, names[i]);
        good = good && add_file(l, path);
        free(path);
        free(names[i]);
    }
    free(names);
    return good;
}

static int by_kernel(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    const int real = (x->c.data >= DATA_REAL) - (y->c.data >= DATA_REAL);
    if (real)
        return real;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static int by_id(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int order = strcmp(x->c.id, y->c.id);
    return order ? order : (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* Two cases of one id are an error, except that the lattice may hold a quick case again, which is then left out. */
static bool check_unique(struct loader *l) {
    qsort(l->entries, l->entry_count, sizeof *l->entries, by_id);
    size_t kept = 1;
    for (size_t i = 1; i < l->entry_count; i++) {
        const struct entry *first = &l->entries[kept - 1], *second = &l->entries[i];
        if (strcmp(first->c.id, second->c.id)) {
            l->entries[kept++] = *second;
            continue;
        }
        if (first->lattice != second->lattice) {
            free(second->c.id);
            l->entries[i].c.id = NULL;
            continue;
        }
        struct place place = yaml_place(first->doc, first->node, 0);
        yaml_fail(second->doc, second->node, 0, l->e, "case %s stands already at %s:%d", second->c.id, place.path,
                  place.line);
        place_free(&place);
        while (i < l->entry_count) { /* so that each id is in the list once, to be freed */
            l->entries[kept++] = l->entries[i++];
        }
        l->entry_count = kept;
        return false;
    }
    l->entry_count = kept;
    return true;
}

static bool finish(struct loader *l) {
    if (!l->entry_count)
        return true; /* only models that are absent or cannot be read */
    if (!check_unique(l))
        return false;
    qsort(l->entries, l->entry_count, sizeof *l->entries, by_kernel);
    l->list->cases = must_calloc(l->entry_count, sizeof *l->list->cases);
    for (size_t i = 0; i < l->entry_count; i++) {
        l->list->cases[l->list->count++] = l->entries[i].c;
        l->entries[i].c.id = NULL; /* the list's now */
    }
    return true;
}

bool case_list_load(const char *folder, const char *root, const char *models, bool whole, struct case_list *list,
                    struct error *e) {
    *list = (struct case_list){0};
    struct loader l = {.root = root, .models = models, .list = list, .e = e};
    bool good = add_folder(&l, folder);
    if (good && whole) {
        char *all = joined(folder, "all");
        l.lattice = true;
        good = add_folder(&l, all);
        free(all);
    }
    good = good && finish(&l);
    for (size_t i = 0; i < l.entry_count; i++)
        free(l.entries[i].c.id);
    free(l.entries);
    for (size_t i = 0; i < l.doc_count; i++)
        yaml_close(l.docs[i]);
    free(l.docs);
    if (!good)
        case_list_free(list);
    return good;
}
