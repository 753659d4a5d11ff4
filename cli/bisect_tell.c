/* warpproof bisect through a repository: what was found, in words and as JSON. */
#include "../ref/checked.h"
#include "../reports/json_node.h"
#include "bisect_hunt.h"
#include "child.h"
#include "command.h"
#include <stdlib.h>
#include <string.h>

/* The line of a file, or NULL. */
static char *file_text(const char *path) {
    char *line = NULL;
    size_t room = 0;
    FILE *f = fopen(path, "r");
    const bool read = f != NULL && getline(&line, &room, f) > 0;
    if (f != NULL) {
        fclose(f);
    }
    if (!read) {
        free(line);
        return NULL;
    }
    return line;
}

/* The two builds in step: kept as `good.ptx` and `bad.ptx`. */
static void tell_in_step(struct hunt *h) {
    struct words w = {.count = 0};
    char *launch = h->launch == NULL     ? NULL
                   : h->launch[0] == '/' ? must_strdup(h->launch)
                                         : must_format("%s/%s", h->tree, h->launch),
         *json = must_format("%s/json", h->place), *text;
    hunt_word(&w, h->self);
    hunt_word(&w, "bisect");
    hunt_word(&w, "--ptx");
    hunt_word(&w, "good.ptx");
    hunt_word(&w, "bad.ptx");
    if (h->o->judging.json != NULL) {
        hunt_word(&w, "--json");
        hunt_word(&w, json);
    }
    for (size_t i = 5; i < h->step.count; ++i) { /* behind the worktree */
        const char *o = h->step.at[i];
        if (strcmp(o, "--build") == 0 || strcmp(o, "--ptx-out") == 0 || strcmp(o, "--build-timeout") == 0) {
            ++i;
            continue;
        }
        hunt_word(&w, o);
        if (strcmp(o, "--launch") == 0) {
            hunt_word(&w, launch);
            ++i;
        }
    }
    const int code = child_run(&(struct child){.argv = w.at, .folder = h->place}, &text);
    if (code == EXIT_KERNEL_WRONG || code == EXIT_PASSED || code == EXIT_NOTHING_RAN) {
        printf("\nin step, A as good.ptx before it and B as bad.ptx at it:\n%s\n", text);
        h->in_step = file_text(json);
    }
    free(text);
    free(json);
    free(launch);
}

bool hunt_tell(struct hunt *h, const char *first) {
    struct verdict_of before = {0}, at = {0};
    char *parent = must_format("%s^", first), *about, *good = must_format("%s/good.ptx", h->place),
         *bad = must_format("%s/bad.ptx", h->place);
    GIT(h, h->tree, &about, "log", "-1", "--abbrev=12", "--format=%h %cs %s", first);
    bool told = hunt_judge(h, parent, good, false, &before) && hunt_judge(h, first, bad, false, &at);
    if (told) {
        h->first_bad = bisect_printable(about);
        h->before = must_strdup(before.code == BISECT_GOOD ? before.text : before.head);
        h->at = must_strdup(at.code == BISECT_BAD ? at.text : at.head);
        printf("\nfirst bad commit: %s\n", h->first_bad);
        printf("\nbefore it, %s\n", before.code == BISECT_GOOD ? before.text : before.head);
        printf("\nat it,\n%s\n", at.code == BISECT_BAD ? at.text : at.head);
        if (before.code == BISECT_GOOD && at.code == BISECT_BAD) {
            /* the launch file is that of the bad one: its commit is still checked out */
            tell_in_step(h);
        }
    }
    hunt_verdict_free(&before);
    hunt_verdict_free(&at);
    free(about);
    free(parent);
    free(good);
    free(bad);
    return told;
}

/* ---- --json ---- */

static struct fy_node *lines_node(struct fy_document *d, const char *text) {
    struct fy_node *all = fy_node_create_sequence(d);
    for (const char *s = text; *s != 0;) {
        const size_t n = strcspn(s, "\n");
        char *line = must_format("%.*s", (int)n, s);
        fy_node_sequence_append(all, json_string(d, line));
        free(line);
        s += n + (s[n] == '\n');
    }
    return all;
}

static void add_lines(struct fy_document *d, struct fy_node *m, const char *key, const char *text) {
    json_add(d, m, key, text != NULL ? lines_node(d, text) : json_number(d, "null"));
}

bool hunt_put_json(const struct hunt *h, int code, struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d = json_next(&lines);
    if (d == NULL) {
        return json_end(&lines, h->o->judging.json, e);
    }
    struct fy_node *m = fy_node_create_mapping(d), *all = fy_node_create_sequence(d);
    json_add_string(d, m, "good", h->good);
    json_add_string(d, m, "bad", h->bad);
    for (size_t i = 0; i < h->judged; ++i) {
        const char *head = h->heads[i], *commit = head + strcspn(head, " ");
        struct fy_node *n = fy_node_create_mapping(d);
        char *kind = must_format("%.*s", (int)(commit - head), head);
        json_add_string(d, n, "verdict", kind);
        json_add_string(d, n, "commit", commit + (*commit != 0));
        fy_node_sequence_append(all, n);
        free(kind);
    }
    json_add(d, m, "judged", all);
    json_add_string(d, m, "first_bad", h->first_bad);
    add_lines(d, m, "one_of", h->several);
    add_lines(d, m, "before", h->before);
    add_lines(d, m, "at", h->at);
    struct fy_node *step = h->in_step != NULL ? fy_node_build_from_string(d, h->in_step, FY_NT) : NULL;
    json_add(d, m, "in_step", step != NULL ? step : json_number(d, "null"));
    json_add(d, m, "exit", json_number(d, "%d", code));
    json_put(&lines, d, m);
    return json_end(&lines, h->o->judging.json, e);
}
