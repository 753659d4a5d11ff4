#include "case.h"
#include "../ref/checked.h"
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct shape case_shape(const struct test_case *c, struct shape_value values[3]) {
    size_t n = 0;
    values[n++] = (struct shape_value){"nt", (int64_t)c->nt};
    if (c->contract->weight)
        values[n++] = (struct shape_value){"od", (int64_t)c->od};
    values[n++] = (struct shape_value){"id", (int64_t)c->depth};
    return (struct shape){values, n};
}

void case_request(const struct test_case *c, struct operands_request *r) {
    *r = (struct operands_request){
        .contract = c->contract,
        .nt = c->nt,
        .od = c->od,
        .id = c->depth,
        .split = c->spec->split,
        .data = c->data,
        .key = random_key(c->id),
        .model_path = c->model ? c->model->path : NULL,
        .weight = c->tensor,
        .embedding = c->model ? gguf_tensor_named(c->model->file, "token_embd.weight") : NULL,
    };
    if (c->files) {
        r->weight_file = (struct operand_file){.path = c->files->weight.path, .sha256 = c->files->weight.sha256};
        r->activation_file =
            (struct operand_file){.path = c->files->activation.path, .sha256 = c->files->activation.sha256};
        r->expect_file = (struct operand_file){.path = c->files->expect.path, .sha256 = c->files->expect.sha256};
    }
}

bool case_operands(const struct test_case *c, struct operands *o, struct error *e) {
    struct operands_request r;
    case_request(c, &r);
    return operands_make(&r, o, e);
}

static bool matches(const char *id, const char *pattern) {
    if (strpbrk(pattern, "*?["))
        return !fnmatch(pattern, id, 0);
    return *pattern && strstr(id, pattern);
}

/* An id is unique: one that equals the pattern is all that it selects. */
static size_t case_of_id(const struct case_list *list, const char *id) {
    size_t i = 0;
    while (i < list->count && strcmp(list->cases[i].id, id))
        i++;
    return i;
}

size_t case_select(const struct case_list *list, const char *const *patterns, size_t pattern_count, bool *chosen,
                   const char **missed) {
    *missed = NULL;
    for (size_t i = 0; i < list->count; i++)
        chosen[i] = pattern_count == 0;
    for (size_t p = 0; p < pattern_count; p++) {
        const size_t exact = case_of_id(list, patterns[p]);
        bool any = exact < list->count;
        if (any)
            chosen[exact] = true;
        for (size_t i = 0; i < list->count && exact == list->count; i++)
            if (matches(list->cases[i].id, patterns[p]))
                chosen[i] = any = true;
        if (!any && !*missed)
            *missed = patterns[p];
    }
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += chosen[i];
    return count;
}

void case_list_free(struct case_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->cases[i].id);
    for (size_t i = 0; i < list->kernel_count; i++)
        spec_free(list->kernels[i]);
    for (size_t i = 0; i < list->model_count; i++) {
        gguf_close(list->models[i]->file);
        free(list->models[i]->name);
        free(list->models[i]->path);
        free(list->models[i]->why);
        free(list->models[i]);
    }
    for (size_t i = 0; i < list->files_count; i++) {
        struct case_files *f = list->files[i];
        char *const owned[] = {
            f->name,        f->weight.path,   f->weight.sha256, f->activation.path, f->activation.sha256,
            f->expect.path, f->expect.sha256, (char *)f};
        for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
            free(owned[k]);
    }
    free(list->files);
    free(list->cases);
    free(list->kernels);
    free(list->models);
    *list = (struct case_list){0};
}
