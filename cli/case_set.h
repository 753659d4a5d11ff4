/* The cases that a command goes through, with the programs of their kernels. */
#ifndef CLI_CASE_SET_H
#define CLI_CASE_SET_H

#include "../gpu/case.h"
#include "../gpu/ptx/ptx.h"

struct case_set_request {
    const char *command; /* for messages */
    const char *cases;   /* folder, NULL: the project's fixtures/cases */
    bool all;            /* those of its folder `all` as well */
    const char *const *patterns;
    size_t pattern_count;
    /* Which of the selected cases to leave, or NULL: all; and the program of a kernel in place of the launch file's
     * (NULL: that one; the caller of the request frees nothing). */
    bool (*keeps)(const void *context, const struct spec *s);
    const char *(*program)(const void *context, const struct spec *s);
    const void *context;
};

struct case_set {
    char *root, *folder, *models;
    struct case_list list;
    bool *chosen; /* (list.count) */
    size_t chosen_count;
    struct ptx_module **modules; /* (list.kernel_count), NULL for a kernel that no chosen case runs */
};

/* Reads tables, cases and programs. A model that cannot be read is an error where its cases are asked for. Fails, with
 * EXIT_NOTHING_RAN or EXIT_INPUT in *code; the caller frees *s, also then. */
bool case_set_open(const struct case_set_request *r, struct case_set *s, int *code, struct error *e);
void case_set_free(struct case_set *s);

const struct ptx_module *case_set_module(const struct case_set *s, const struct spec *kernel);

/* A model that is absent: what there is no case of. */
#define CASE_SET_NO_MODEL "the model is not in build/models: `make models` brings it"

/* Calls run for each chosen case, in parallel: a single case gets all threads. number counts the chosen ones. Progress
 * goes to a terminal. */
void case_set_each(const struct case_set *s, int threads,
                   void (*run)(void *context, const struct test_case *c, size_t number, int threads), void *context);

#endif
