#include "outputs.h"
#include "../ref/checked.h"
#include "../reports/html.h"
#include "../reports/junit.h"
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool outputs_write(const struct judging *j, const char *command, const struct outcome *outcomes, size_t count,
                   const struct totals *t, const struct recorded *recorded, struct error *e) {
    bool good = j->json == NULL || json_write(j->json, outcomes, count, t, e);
    if (good && j->junit != NULL) {
        struct junit x = {.command = command};
        junit_outcomes(&x, outcomes, count, t);
        good = junit_write(j->junit, &x, e);
        junit_free(&x);
    }
    const struct html page = {
        .command = command, .outcomes = outcomes, .count = count, .totals = t, .recorded = recorded};
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
