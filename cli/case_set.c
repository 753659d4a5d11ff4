#include "case_set.h"
#include "../ref/checked.h"
#include "command.h"
#include "selecting.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void case_set_free(struct case_set *s) {
    for (size_t i = 0; s->modules != NULL && i < s->list.kernel_count; ++i) {
        ptx_free(s->modules[i]);
    }
    free(s->modules);
    free(s->chosen);
    case_list_free(&s->list);
    free(s->root);
    free(s->folder);
    free(s->models);
}

size_t case_set_kernel(const struct case_set *s, const struct spec *kernel) {
    size_t i = 0;
    while (s->list.kernels[i] != kernel) {
        ++i;
    }
    return i;
}

const struct ptx_module *case_set_module(const struct case_set *s, const struct spec *kernel) {
    return s->modules[case_set_kernel(s, kernel)];
}

bool case_set_digests(const struct case_set *s, char (**digests)[DIGEST_HEX], struct error *e) {
    *digests = must_calloc(s->list.kernel_count + 1, sizeof **digests);
    bool good = true;
    for (size_t i = 0; good && i < s->list.kernel_count; ++i) {
        good = s->modules[i] == NULL || digest_program(s->modules[i], (*digests)[i], e);
    }
    return good;
}

static bool load_modules(const struct case_set_request *r, struct case_set *s, struct error *e) {
    s->modules = must_calloc(s->list.kernel_count + 1, sizeof *s->modules);
    for (size_t i = 0; i < s->list.count; ++i) {
        const struct spec *kernel = s->list.cases[i].spec;
        const size_t k = case_set_kernel(s, kernel);
        if (s->chosen[i] && s->modules[k] == NULL) {
            char *other = r->program != NULL ? r->program(r->context, kernel) : NULL;
            s->modules[k] = ptx_load(other != NULL ? other : kernel->ptx, e);
            free(other);
            if (s->modules[k] == NULL) {
                return false;
            }
        }
    }
    return true;
}

/* missed: the first pattern that selects none, or NULL. */
static bool something_to_run(const struct case_set_request *r, const struct case_set *s, const char *missed, int *code,
                             struct error *e) {
    bool unreadable = false;
    for (size_t i = 0; i < s->list.model_count; ++i) {
        unreadable |= s->list.models[i]->why != NULL;
    }
    const bool all = r->pattern_count == 0;
    if (missed == NULL && s->chosen_count > 0 && !(all && unreadable)) {
        return true;
    }
    *code = EXIT_NOTHING_RAN;
    if ((all || missed != NULL) && note_models(r->command, &s->list, all)) {
        *code = EXIT_INPUT;
    }
    if (missed != NULL) {
        return fail_missed(e, &s->list, missed, !r->all);
    }
    if (*code == EXIT_INPUT) {
        return fail(e, "a model cannot be read; a PATTERN selects cases that do not need it");
    }
    return fail(e, "%s", r->nothing != NULL ? r->nothing : "no case is selected");
}

bool case_set_open(const struct case_set_request *r, struct case_set *s, int *code, struct error *e) {
    *s = (struct case_set){0};
    *code = EXIT_INPUT;
    s->root = project_root(e);
    if (s->root == NULL) {
        return false;
    }
    s->folder = r->cases != NULL ? must_strdup(r->cases) : must_format("%s/fixtures/cases", s->root);
    s->models = must_format("%s/build/models", s->root);
    if (!load_measured_tables(s->root, e) || !case_list_load(s->folder, s->root, s->models, r->all, &s->list, e)) {
        return false;
    }
    const char *missed = NULL;
    s->chosen = must_calloc(s->list.count + 1, sizeof *s->chosen);
    case_select(&s->list, r->patterns, r->pattern_count, s->chosen, &missed);
    for (size_t i = 0; i < s->list.count; ++i) {
        s->chosen[i] = s->chosen[i] && (r->keeps == NULL || r->keeps(r->context, s->list.cases[i].spec));
        s->chosen_count += s->chosen[i];
    }
    return something_to_run(r, s, missed, code, e) && load_modules(r, s, e);
}

const struct test_case *case_set_chosen(const struct case_set *s, size_t number) {
    for (size_t i = 0; i < s->list.count; ++i) {
        if (s->chosen[i] && number-- == 0) {
            return &s->list.cases[i];
        }
    }
    return NULL;
}

static bool same_shape(const struct test_case *a, const struct test_case *b) {
    return a->spec == b->spec && a->nt == b->nt && a->od == b->od && a->depth == b->depth && a->tensor == b->tensor &&
           a->files == b->files;
}

void case_set_each(const struct case_set *s, int threads, void (*run)(void *context, const struct case_turn *t),
                   void *context) {
    struct case_turn *turns = must_calloc(s->chosen_count + 1, sizeof *turns);
    size_t n = 0, done = 0;
    for (size_t i = 0; i < s->list.count; ++i) {
        if (s->chosen[i]) {
            const struct test_case *c = &s->list.cases[i];
            turns[n] = (struct case_turn){.c = c, .number = n};
            turns[n].turn = n > 0 ? turns[n - 1].turn + !same_shape(turns[n - 1].c, c) : 0;
            ++n;
        }
    }
    const int outer = (size_t)threads < n ? threads : (int)n;
    const bool progress = isatty(STDERR_FILENO);
#pragma omp parallel for schedule(dynamic, 1) num_threads(outer)
    for (size_t i = 0; i < n; ++i) {
        turns[i].threads = threads / outer;
        run(context, &turns[i]);
        if (progress) {
#pragma omp critical(progress)
            fprintf(stderr, "\r\033[K[%zu/%zu] %.90s", ++done, n, turns[i].c->id);
        }
    }
    if (progress) {
        fprintf(stderr, "\r\033[K");
    }
    free(turns);
}
