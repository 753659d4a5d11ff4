/* warpproof bisect through a repository: from a good and a bad commit to the first bad one. */
#include "../ref/checked.h"
#include "bisect_hunt.h"
#include "child.h"
#include <stdlib.h>
#include <string.h>

struct bounds { /* of what is left: of the ancestors of `bad`, itself among them, those of no good one */
    char *bad;
    char **good, **skipped;
    size_t good_count, skipped_count;
};

/* git COMMAND... BAD --not GOOD... */
static int git_left(const struct hunt *h, const struct bounds *b, char **output, const struct words *command) {
    const char **argv = must_calloc(command->count + b->good_count + 6, sizeof *argv);
    size_t n = 0;
    argv[n++] = "git";
    argv[n++] = "--no-pager";
    for (size_t i = 0; i < command->count; ++i) {
        argv[n++] = command->at[i];
    }
    argv[n++] = b->bad;
    argv[n++] = "--not";
    for (size_t i = 0; i < b->good_count; ++i) {
        argv[n++] = b->good[i];
    }
    const int code = child_run(&(struct child){.argv = argv, .folder = h->tree}, output);
    free(argv);
    return code;
}
#define GIT_LEFT(h, b, output, ...)                                                                                    \
    git_left(h, b, output, &(struct words){{__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)})

static bool is_untried(const struct bounds *b, const char *commit) {
    bool untried = strcmp(commit, b->bad) != 0;
    for (size_t i = 0; i < b->skipped_count; ++i) {
        untried &= strcmp(commit, b->skipped[i]) != 0;
    }
    return untried;
}

/* *next: the one that halves what is left best, of those that were not tried; NULL: there is none. *one: the bad one
 * alone is left. False: an error. */
static bool next_of(struct hunt *h, const struct bounds *b, char **next, bool *one) {
    char *count = NULL, *text = NULL;
    *next = NULL;
    bool good = GIT_LEFT(h, b, &count, "rev-list", "--count") == 0;
    *one = good && strcmp(count, "1") == 0;
    for (int all = 0; good && !*one && *next == NULL && all < 2; ++all) { /* a long list loses its beginning */
        free(text);
        good = GIT_LEFT(h, b, &text, "rev-list", all ? "--bisect-all" : "--bisect") == 0;
        for (const char *line = text; good && *line != 0 && *next == NULL;) {
            char *commit = must_format("%.*s", (int)strcspn(line, " \n"), line);
            if (is_untried(b, commit) && strlen(commit) == strlen(b->bad)) {
                *next = commit;
            } else {
                free(commit);
            }
            line += strcspn(line, "\n");
            line += *line != 0;
        }
    }
    if (!good) {
        (void)(hunt_interrupted(h) || fail(h->e, "git rev-list: %.1000s", text != NULL ? text : count));
    }
    free(count);
    free(text);
    return good;
}

static void keep_commit(char ***list, size_t *count, char *commit) {
    *list = must_realloc(*list, *count + 1, sizeof **list);
    (*list)[(*count)++] = commit;
}

/* The way of `git bisect run`, which itself would write refs: of the hooks for those none may run, and git bisect does
 * not look at core.hooksPath. *first: the first bad commit, or, of several that may be it, one a line. */
static enum found halve(struct hunt *h, struct bounds *b, char **first) {
    for (;;) {
        char *next;
        bool one;
        struct verdict_of v;
        if (!next_of(h, b, &next, &one)) {
            return FOUND_NOTHING;
        }
        if (one) {
            *first = must_strdup(b->bad);
            return FOUND_ONE;
        }
        if (next == NULL) {
            if (GIT_LEFT(h, b, first, "log", "--abbrev=12", "--format=%h %s") == 0) {
                return FOUND_SEVERAL;
            }
            (void)(hunt_interrupted(h) || fail(h->e, "git log: %.1000s", *first));
            return FOUND_NOTHING;
        }
        if (!hunt_judge(h, next, NULL, true, &v)) {
            free(next);
            return FOUND_NOTHING;
        }
        if (v.code == BISECT_BAD) {
            free(b->bad);
            b->bad = next;
        } else if (v.code == BISECT_GOOD) {
            keep_commit(&b->good, &b->good_count, next);
        } else {
            keep_commit(&b->skipped, &b->skipped_count, next);
        }
        hunt_verdict_free(&v);
    }
}

enum found hunt_halve(struct hunt *h, char **first) {
    struct bounds b = {.bad = must_strdup(h->bad)};
    *first = NULL;
    keep_commit(&b.good, &b.good_count, must_strdup(h->good));
    const enum found found = halve(h, &b, first);
    for (size_t i = 0; i < b.good_count; ++i) {
        free(b.good[i]);
    }
    for (size_t i = 0; i < b.skipped_count; ++i) {
        free(b.skipped[i]);
    }
    free(b.good);
    free(b.skipped);
    free(b.bad);
    return found;
}
