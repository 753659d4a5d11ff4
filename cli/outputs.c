#include "outputs.h"
#include "../ref/checked.h"
#include "../reports/junit.h"
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void outputs_explain(struct page_extras *x, const struct outcome *outcomes, size_t count,
                     void (*make)(void *context, size_t i, struct case_detail *d), void *context) {
    size_t telling[HTML_STAGED];
    const size_t n = html_telling(outcomes, count, telling);
    for (size_t k = 0; k < n; ++k) {
        const struct outcome *o = &outcomes[telling[k]];
        struct case_detail *d = &x->details[x->detail_count];
        if (!o->judged) {
            continue; /* its finding says why nothing was run */
        }
        *d = (struct case_detail){0};
        if (o->canary || o->warp_instructions > OUTPUTS_STEPS) {
            d->why = must_strdup(o->canary ? "it is a canary build; `warpproof explain` takes the plain one"
                                           : "it is large; `warpproof explain` takes its time");
        } else {
            make(context, telling[k], d);
        }
        d->outcome = telling[k];
        ++x->detail_count;
    }
}

void page_extras_free(struct page_extras *x) {
    for (size_t i = 0; i < x->detail_count; ++i) {
        case_detail_free(&x->details[i]);
    }
    free(x->programs);
    recorded_free(&x->recorded);
    *x = (struct page_extras){0};
}

bool outputs_write(const struct judging *j, const char *command, const struct outcome *outcomes, size_t count,
                   const struct totals *t, const struct page_extras *x, struct error *e) {
    bool good = j->json == NULL || json_write(j->json, outcomes, count, t, e);
    if (good && j->junit != NULL) {
        struct junit xml = {.command = command};
        junit_outcomes(&xml, outcomes, count, t);
        good = junit_write(j->junit, &xml, e);
        junit_free(&xml);
    }
    const struct html page = {.command = command,
                              .outcomes = outcomes,
                              .count = count,
                              .totals = t,
                              .recorded = x->has_recorded ? &x->recorded : NULL,
                              .programs = x->programs,
                              .program_count = x->program_count,
                              .details = x->details,
                              .detail_count = x->detail_count};
    return good && (j->html == NULL || html_write(j->html, &page, e));
}

bool evidence_files(const char *root, char ***files, size_t *count, struct error *e) {
    static const char *const names[] = {"evidence.jsonl", "evidence.jsonl.gz"};
    char *folder = must_format("%s/reports/evidence", root);
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n; ++i) {
        for (size_t k = 0; k < 2 && entries[i]->d_name[0] != '.'; ++k) {
            char *path = must_format("%s/%s/%s", folder, entries[i]->d_name, names[k]);
            struct stat there;
            if (lstat(path, &there) == 0) { /* a broken link is an error when it is read */
                *files = must_realloc(*files, *count + 1, sizeof **files);
                (*files)[(*count)++] = must_strdup(path);
            }
            free(path);
        }
        free(entries[i]);
    }
    free(entries);
    const bool good = n >= 0 || fail(e, "%s: cannot be read", folder);
    free(folder);
    return good;
}

bool evidence_all(const char *root, struct recorded *r, struct error *e) {
    char *folder = must_format("%s/reports/evidence", root);
    char **files = NULL;
    size_t count = 0;
    bool good = access(folder, F_OK) != 0 || evidence_files(root, &files, &count, e);
    for (size_t i = 0; i < count; ++i) {
        good = good && recorded_read(files[i], r, e);
        free(files[i]);
    }
    free(files);
    free(folder);
    recorded_sort(r);
    return good;
}
