/* The cases that a command goes through, with the programs of their kernels. */
#ifndef CLI_CASE_SET_H
#define CLI_CASE_SET_H

#include "../gpu/case.h"
#include "../gpu/digest.h"
#include "../gpu/ptx/ptx.h"

struct case_set_request {
    const char *command; /* for messages */
    const char *cases;   /* folder, NULL: the project's fixtures/cases */
    bool all;            /* those of its folder `all` as well */
    const char *const *patterns;
    size_t pattern_count;
    bool (*keeps)(const void *context, const struct spec *s);    /* which of the selected ones to leave; NULL: all */
    char *(*program)(const void *context, const struct spec *s); /* path of what to load in place of the launch file's
                                                                  * PTX, to be freed; NULL: that */
    const void *context;
    const char *nothing; /* what to say when `keeps` leaves nothing, or NULL */
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

size_t case_set_kernel(const struct case_set *s, const struct spec *kernel); /* its index in the list and `modules` */
/* *digests = (list.kernel_count) of the kernels' programs, "" where none is loaded; the caller frees them. */
bool case_set_digests(const struct case_set *s, char (**digests)[DIGEST_HEX], struct error *e);
const struct ptx_module *case_set_module(const struct case_set *s, const struct spec *kernel);

/* The chosen case of that number. */
const struct test_case *case_set_chosen(const struct case_set *s, size_t number);

/* A model that is absent: what there is no case of. */
#define CASE_SET_NO_MODEL "the model is not in build/models: `make models` brings it"

/* A case whose turn it is. */
struct case_turn {
    const struct test_case *c;
    size_t number; /* of the chosen ones */
    size_t turn; /* whose turn it is on several GPUs: they go shape by shape, for what the data classes of one shape say
                  * together must not depend on who ran which */
    int threads; /* for the case alone */
};

/* Calls run for each chosen case, in parallel: a single case gets all threads. Progress goes to a terminal. */
void case_set_each(const struct case_set *s, int threads, void (*run)(void *context, const struct case_turn *t),
                   void *context);

#endif
