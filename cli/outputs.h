/* The files that a run of cases leaves behind: --json, --junit, --html. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include "../reports/evidence.h"
#include "../reports/html.h"
#include "judging.h"

/* What a page has besides the outcomes; page_extras_free frees it. */
struct page_extras {
    struct recorded recorded; /* what GPUs gave, sorted, where has_recorded */
    bool has_recorded;
    struct html_program *programs; /* (program_count) */
    size_t program_count;
    struct case_detail details[HTML_STAGED];
    size_t detail_count;
};

/* Makes the details of the most telling red cases (html_telling). make: of outcome number i, all but `outcome`; only
 * called for cases of at most OUTPUTS_STEPS warp instructions, judged by the machine or a GPU, and not for canary
 * builds. */
#define OUTPUTS_STEPS (UINT64_C(1) << 24)
void outputs_explain(struct page_extras *x, const struct outcome *outcomes, size_t count,
                     void (*make)(void *context, size_t i, struct case_detail *d), void *context);
void page_extras_free(struct page_extras *x);

/* Writes those files that were asked for. x: of --html. */
bool outputs_write(const struct judging *j, const char *command, const struct outcome *outcomes, size_t count,
                   const struct totals *t, const struct page_extras *x, struct error *e);

/* The files of reports/evidence of the project, by folder; each, and the array, are the caller's. False when the folder
 * cannot be read. */
bool evidence_files(const char *root, char ***files, size_t *count, struct error *e);
/* All of them, sorted; none where there is no such folder. The caller frees *r, also after a failure. */
bool evidence_all(const char *root, struct recorded *r, struct error *e);

#endif
