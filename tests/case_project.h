/* A small project in a temporary folder, for tests of cases: three kernels (tile q4_K times pad40, quant a quantiser,
 * foreign without a contract), cases files, and a model where a test puts one. Paths are below its root. */
#ifndef TESTS_CASE_PROJECT_H
#define TESTS_CASE_PROJECT_H

#include "../gpu/case.h"
#include <stddef.h>

/* Before and after every test. */
void project_make(void);
void project_remove(void);

char *project_path(const char *path); /* the caller frees it */
void project_put(const char *path, const void *bytes, size_t length);
void project_put_text(const char *path, const char *text);
void project_put_cases(const char *text); /* as cases/a.yaml; a test may have a cases/b.yaml too */
void project_drop(const char *path);
/* models/tiny.gguf: token_embd.weight (40 rows of 64, q8_0; embedding: another name for it, or NULL), blk.0.up.weight
 * (6 of 512, q4_K), blk.0.norm.weight (1 of 32, q8_0), blk.1.up.weight (3 of 256, q4_K), and a name with an escape. */
void project_put_model(const char *embedding);

bool project_load(struct case_list *list, struct error *e);
bool project_load_whole(struct case_list *list, struct error *e); /* those of cases/all too */
struct case_list project_cases(void);                             /* must load */
/* How many cases a pattern selects (NULL: no pattern); missed as case_select has it. */
size_t project_selected(const struct case_list *list, const char *pattern, const char **missed);

#endif
