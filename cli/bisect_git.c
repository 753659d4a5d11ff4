/* warpproof bisect: the first bad commit of a kernel author's repository, by `git bisect run` in a worktree of its own.
 * All that is run is a process of its own (child.h), commits among them: bisect_step.c. */
#include "../ref/checked.h"
#include "bisect.h"
#include "child.h"
#include "command.h"
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_WORDS = 40 + 2 * SETS_MAX };
struct words { /* of a command */
    const char *at[MOST_WORDS];
    size_t count;
};

struct hunt {
    const struct bisect_options *o;
    char *self, *root;  /* absolute */
    char *top;          /* of the author's repository */
    char *place, *tree; /* a temporary folder, the worktree in it */
    bool added;         /* the worktree is known to git */
    char *good, *bad;   /* commits */
    struct words step;  /* the command that judges a commit */
    char *made[SETS_MAX + 2];
    size_t made_count;
    size_t judged, skipped;
    struct error *e;
};

static void word(struct words *w, const char *text) {
    w->at[w->count++] = text; /* MOST_WORDS holds all; the array ends with NULL */
}

/* git in this folder. The author's hooks do not run, and nothing is done on the side. */
static int git(const struct hunt *h, const char *folder, char **output, const struct words *more) {
    struct words w = {.count = 0};
    static const char *const always[] = {
        "git",       "--no-pager", "--no-optional-locks",  "-c", "core.hooksPath=/dev/null", "-c",
        "gc.auto=0", "-c",         "core.fsmonitor=false", "-c", "advice.detachedHead=false"};
    (void)h;
    for (size_t i = 0; i < sizeof always / sizeof *always; ++i) {
        word(&w, always[i]);
    }
    for (size_t i = 0; i < more->count; ++i) {
        word(&w, more->at[i]);
    }
    return child_run(&(struct child){.argv = w.at, .folder = folder}, output);
}
#define GIT(h, folder, output, ...)                                                                                    \
    git(h, folder, output, &(struct words){{__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)})

static bool interrupted(struct hunt *h) {
    return children_interrupted() && !fail(h->e, "interrupted");
}

/* ---- the repository ---- */

static bool find_repository(struct hunt *h) {
    const char *folder = h->o->repo != NULL ? h->o->repo : ".";
    char *text;
    const int code = GIT(h, folder, &h->top, "rev-parse", "--show-toplevel");
    if (code != 0) {
        return fail(h->e,
                    code == 127 && access(folder, X_OK) == 0 ? "%.600s: git cannot be run"
                                                             : "%.600s: no working tree of a git repository",
                    folder);
    }
    const bool read = GIT(h, h->top, &text, "status", "--porcelain", "--untracked-files=no") == 0;
    const int n = (int)strcspn(text, "\n");
    const bool clean = text[0] == 0;
    const bool good =
        (read && clean) || fail(h->e,
                                read ? "%.600s has changes that no commit has (%.*s%s): commit or stash them"
                                     : "%.600s: git status: %.*s%s",
                                h->top, n > 300 ? 300 : n, text, text[n] != 0 ? ", ..." : "");
    free(text);
    return good;
}

static bool resolve(struct hunt *h, const char *revision, const char *what, char **commit) {
    char *name = must_format("%s^{commit}", revision);
    const bool found =
        GIT(h, h->top, commit, "rev-parse", "--verify", "--quiet", "--end-of-options", name) == 0 && (*commit)[0] != 0;
    free(name);
    return found || fail(h->e, "%s %.300s: %.600s has no such commit", what, revision, h->top);
}

/* ---- the worktree ---- */

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at) {
    (void)s;
    (void)kind;
    (void)at;
    return remove(path);
}

static bool add_worktree(struct hunt *h) {
    const char *temporary = getenv("TMPDIR");
    char *text = NULL;
    h->place = must_format("%s/warpproof-bisect-XXXXXX", temporary != NULL && temporary[0] != 0 ? temporary : "/tmp");
    if (mkdtemp(h->place) == NULL) {
        fail(h->e, "%.600s: %s", h->place, strerror(errno));
        free(h->place);
        h->place = NULL;
        return false;
    }
    h->tree = must_format("%s/tree", h->place);
    char *mark = must_format("%s/" BISECT_MARK, h->place);
    FILE *f = fopen(mark, "w");
    free(mark);
    h->added = true; /* git may have begun when it fails */
    const bool good = (f != NULL && fclose(f) == 0) || fail(h->e, "%.600s: %s", h->place, strerror(errno));
    if (good && GIT(h, h->top, &text, "worktree", "add", "--detach", "--quiet", h->tree, h->bad) != 0) {
        (void)(interrupted(h) || fail(h->e, "git worktree add: %.1000s", text));
        free(text);
        return false;
    }
    free(text);
    return good;
}

/* As if nothing had been. Interrupts wait. No `git worktree prune`: the author may have others that are not there. */
static void remove_worktree(struct hunt *h) {
    if (h->added) { /* with the refs of its bisect */
        const char *const argv[] = {"git", "worktree", "remove", "--force", h->tree, NULL};
        child_must_run(&(struct child){.argv = argv, .folder = h->top});
    }
    if (h->place != NULL) {
        nftw(h->place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

/* ---- one commit ---- */

static void make_step(struct hunt *h) {
    const struct bisect_options *o = h->o;
    struct words *w = &h->step;
    static const char *const begin[] = {"bisect", "--step", "--repo"};
    char threads[16];
    word(w, h->self);
    for (size_t i = 0; i < sizeof begin / sizeof *begin; ++i) {
        word(w, begin[i]);
    }
    word(w, h->tree);
    for (size_t i = 0; i < o->subject.sets.count; ++i) {
        const struct shape_value *v = &o->subject.sets.values[i];
        word(w, "--set");
        word(w, h->made[h->made_count++] = must_format("%s=%" PRId64, v->name, (int64_t)v->value));
    }
    if (o->subject.one_class) {
        word(w, "--data");
        word(w, data_class_names[o->subject.class]);
    }
    if (o->subject.seeded) {
        word(w, "--seed");
        word(w, h->made[h->made_count++] = must_format("%" PRIu64, o->subject.seed));
    }
    if (o->judging.launch.arch != NULL) {
        word(w, "--arch");
        word(w, o->judging.launch.arch->name);
    }
    snprintf(threads, sizeof threads, "%d", o->judging.threads);
    word(w, "-j");
    word(w, h->made[h->made_count++] = must_strdup(threads));
    const char *const more[][2] = {
        {"--build", o->build}, {"--ptx-out", o->ptx_out}, {"--launch", o->launch}, {"--", o->what}};
    for (size_t i = 0; i < sizeof more / sizeof *more; ++i) {
        if (more[i][1] != NULL) {
            word(w, more[i][0]);
            word(w, more[i][1]);
        }
    }
}

struct verdict_of { /* of one commit */
    int code;       /* BISECT_GOOD ... */
    char *head;     /* "bad 0123456789ab subject: reason" */
    char *text;     /* what follows it */
};

static void verdict_free(struct verdict_of *v) {
    free(v->head);
    free(v->text);
    *v = (struct verdict_of){0};
}

/* A line "step KIND ..." at `text`, or NULL: there is none. */
static const char *next_step(const char *text) {
    static const char mark[] = "step ";
    while (text != NULL && strncmp(text, mark, sizeof mark - 1) != 0) {
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    return text != NULL ? text + sizeof mark - 1 : NULL;
}

static void show_head(struct hunt *h, const char *line) {
    const size_t kind = strcspn(line, " "), n = strcspn(line, "\n");
    ++h->judged;
    h->skipped += strncmp(line, "skip", 4) == 0;
    printf("%-5.*s%.*s\n", (int)kind, line, (int)(n - kind), line + kind);
    fflush(stdout);
}

/* Checks the commit out and judges it; keep: where its PTX goes, or NULL. False after an interrupt or an error. */
static bool judge(struct hunt *h, const char *commit, const char *keep, bool shown, struct verdict_of *v) {
    char *text;
    *v = (struct verdict_of){.code = BISECT_STOP};
    if (GIT(h, h->tree, &text, "checkout", "--detach", "--quiet", "--force", commit) != 0) {
        (void)(interrupted(h) || fail(h->e, "git checkout: %.1000s", text));
        free(text);
        return false;
    }
    free(text);
    struct words w = {.count = 0};
    for (size_t i = 0; i < h->step.count; ++i) {
        if (i == 3 && keep != NULL) { /* ahead of --repo */
            word(&w, "--keep");
            word(&w, keep);
        }
        word(&w, h->step.at[i]);
    }
    v->code = child_run(&(struct child){.argv = w.at}, &text);
    const char *head = next_step(text);
    const bool good = head != NULL && (v->code == BISECT_GOOD || v->code == BISECT_BAD || v->code == BISECT_SKIP);
    if (good) {
        const size_t n = strcspn(head, "\n");
        v->head = must_format("%.*s", (int)n, head);
        v->text = must_strdup(head + n + (head[n] != 0));
        if (shown) {
            show_head(h, v->head);
        }
    } else if (!interrupted(h)) {
        fail(h->e, "%.100s cannot be judged: %.1000s", commit, text);
    }
    free(text);
    return good;
}

/* ---- both ends ---- */

static bool check_bad(struct hunt *h) {
    struct verdict_of v;
    if (!judge(h, h->bad, NULL, true, &v)) {
        return false;
    }
    const bool good = v.code == BISECT_BAD ||
                      fail(h->e,
                           v.code == BISECT_GOOD ? "the bad revision passes, and there is nothing to find: %.1000s"
                                                 : "the bad revision cannot be judged: %.1000s",
                           v.head + strcspn(v.head, " ") + 1);
    verdict_free(&v);
    return good;
}

static bool check_good(struct hunt *h) {
    struct verdict_of v;
    if (GIT(h, h->top, NULL, "merge-base", "--is-ancestor", h->good, h->bad) != 0) {
        return interrupted(h) || fail(h->e, "the good revision is no ancestor of the bad one");
    }
    if (!judge(h, h->good, NULL, true, &v)) {
        return false;
    }
    const bool good =
        v.code == BISECT_GOOD ||
        fail(h->e,
             v.code == BISECT_BAD ? "the good revision is bad: %.1000s" : "the good revision cannot be judged: %.1000s",
             v.head + strcspn(v.head, " ") + 1);
    verdict_free(&v);
    return good;
}

/* Without --good: 1, 2, 4, 8 ... commits before the bad one, each its predecessor's first parent, up to the first. */
static bool search_good(struct hunt *h) {
    char *text, *from = must_strdup(h->bad);
    const bool counted = GIT(h, h->top, &text, "rev-list", "--count", "--first-parent", from) == 0;
    const uint64_t depth = counted ? strtoull(text, NULL, 10) - 1 : 0;
    bool good = counted || interrupted(h) || fail(h->e, "git rev-list: %.1000s", text);
    free(text);
    for (uint64_t n = 1, last = 0; good && h->good == NULL && last < depth; n *= 2) {
        struct verdict_of v;
        char *name, *commit;
        last = n < depth ? n : depth;
        name = must_format("%s~%" PRIu64, from, last);
        good = resolve(h, name, "--good", &commit) && judge(h, commit, NULL, true, &v);
        if (good && v.code == BISECT_GOOD) {
            h->good = commit;
        } else if (good && v.code == BISECT_BAD) { /* so near */
            free(h->bad);
            h->bad = commit;
        } else {
            free(commit);
        }
        if (good) {
            verdict_free(&v);
        }
        free(name);
    }
    free(from);
    return good && (h->good != NULL ||
                    fail(h->e,
                         "no good commit among those that were tried (%zu, %zu of them could not be judged): "
                         "--good names one",
                         h->judged, h->skipped));
}

/* ---- the bisection ---- */

enum found { FOUND_ONE, FOUND_SEVERAL, FOUND_NOTHING };

/* *first: the first bad commit, or, of several that may be it, one a line. */
static enum found bisect(struct hunt *h, char **first) {
    char *text = NULL;
    struct words run = {.count = 0};
    *first = NULL;
    char *range = must_format("%s..%s", h->good, h->bad);
    const bool near = GIT(h, h->tree, &text, "rev-list", "--count", range) == 0 && strcmp(text, "1") == 0;
    free(range);
    free(text);
    if (near) { /* nothing is left to be tried */
        *first = must_strdup(h->bad);
        return FOUND_ONE;
    }
    if (GIT(h, h->tree, &text, "bisect", "start", h->bad, h->good) != 0) {
        (void)(interrupted(h) || fail(h->e, "git bisect start: %.1000s", text));
        free(text);
        return FOUND_NOTHING;
    }
    free(text);
    word(&run, "bisect");
    word(&run, "run");
    for (size_t i = 0; i < h->step.count; ++i) {
        word(&run, h->step.at[i]);
    }
    const int code = git(h, h->tree, &text, &run);
    for (const char *line = next_step(text); line != NULL; line = next_step(line)) {
        show_head(h, line);
    }
    const bool one = code == 0;
    if (interrupted(h)) {
        free(text);
        return FOUND_NOTHING;
    }
    const bool several = !one &&
                         GIT(h, h->tree, first, "rev-list", "--abbrev-commit", "--abbrev=12", "refs/bisect/bad",
                             "--not", "--glob=refs/bisect/good-*") == 0 &&
                         strchr(*first, '\n') != NULL && h->skipped > 0;
    if (one && GIT(h, h->tree, first, "rev-parse", "refs/bisect/bad") == 0) {
        free(text);
        return FOUND_ONE;
    }
    if (!several) {
        const size_t n = strlen(text);
        fail(h->e, "git bisect run: %s", text + (n > 1000 ? n - 1000 : 0));
    }
    free(text);
    return several ? FOUND_SEVERAL : FOUND_NOTHING;
}

/* ---- what is told ---- */

/* The two builds in step: kept as `good.ptx` and `bad.ptx`. */
static void tell_in_step(struct hunt *h) {
    struct words w = {.count = 0};
    char *launch = h->o->launch != NULL ? must_format("%s/%s", h->tree, h->o->launch) : NULL, *text;
    word(&w, h->self);
    word(&w, "bisect");
    word(&w, "--ptx");
    word(&w, "good.ptx");
    word(&w, "bad.ptx");
    for (size_t i = 5; i < h->step.count; ++i) { /* behind the worktree */
        const char *o = h->step.at[i];
        if (strcmp(o, "--build") == 0 || strcmp(o, "--ptx-out") == 0) {
            ++i;
            continue;
        }
        word(&w, o);
        if (strcmp(o, "--launch") == 0) {
            word(&w, launch);
            ++i;
        }
    }
    const int code = child_run(&(struct child){.argv = w.at, .folder = h->place}, &text);
    if (code == EXIT_KERNEL_WRONG || code == EXIT_PASSED) {
        printf("\nin step, A as good.ptx before it and B as bad.ptx at it:\n%s\n", text);
    }
    free(text);
    free(launch);
}

static bool tell(struct hunt *h, const char *first) {
    struct verdict_of before = {0}, at = {0};
    char *parent = must_format("%s^", first), *about, *good = must_format("%s/good.ptx", h->place),
         *bad = must_format("%s/bad.ptx", h->place);
    GIT(h, h->tree, &about, "log", "-1", "--abbrev=12", "--format=%h %cs %s", first);
    bool told = judge(h, parent, good, false, &before) && judge(h, first, bad, false, &at);
    if (told) {
        printf("\nfirst bad commit: %s\n", about);
        printf("\nbefore it, %s\n", before.code == BISECT_GOOD ? before.text : before.head);
        printf("\nat it,\n%s\n", at.code == BISECT_BAD ? at.text : at.head);
        if (before.code == BISECT_GOOD && at.code == BISECT_BAD) {
            /* the launch file is that of the bad one: its commit is still checked out */
            tell_in_step(h);
        }
    }
    verdict_free(&before);
    verdict_free(&at);
    free(about);
    free(parent);
    free(good);
    free(bad);
    return told;
}

static int hunt(struct hunt *h) {
    const struct bisect_options *o = h->o;
    char *first = NULL;
    int code = EXIT_INPUT;
    if (!find_repository(h) || !resolve(h, o->bad != NULL ? o->bad : "HEAD", "--bad", &h->bad) ||
        (o->good != NULL && !resolve(h, o->good, "--good", &h->good)) || !add_worktree(h)) {
        return EXIT_INPUT;
    }
    make_step(h);
    if (!check_bad(h) || !(o->good != NULL ? check_good(h) : search_good(h))) {
        return EXIT_INPUT;
    }
    switch (bisect(h, &first)) {
    case FOUND_ONE:
        code = tell(h, first) ? EXIT_KERNEL_WRONG : EXIT_INPUT;
        break;
    case FOUND_SEVERAL:
        printf("\nthe first bad commit is one of these, which cannot be judged but for the last:\n%s\n", first);
        code = EXIT_NOTHING_RAN;
        break;
    case FOUND_NOTHING:
        break;
    }
    free(first);
    return code;
}

static char *own_path(void) {
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    return must_format("%.*s", n > 0 ? (int)n : 0, self);
}

/* What git, called by a hook or an alias of another repository, hands on. */
static void forget_environment(void) {
    static const char *const names[] = {"GIT_DIR",       "GIT_WORK_TREE",         "GIT_INDEX_FILE",
                                        "GIT_PREFIX",    "GIT_COMMON_DIR",        "GIT_OBJECT_DIRECTORY",
                                        "GIT_NAMESPACE", "GIT_CONFIG_PARAMETERS", "GIT_ALTERNATE_OBJECT_DIRECTORIES"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        unsetenv(names[i]);
    }
}

int bisect_git(struct bisect_options *o, const char *root) {
    struct error e = {""};
    struct hunt h = {.o = o, .self = own_path(), .root = realpath(root, NULL), .e = &e};
    forget_environment();
    if (h.root != NULL) {
        setenv("WARPPROOF_ROOT", h.root, 1); /* for what runs in other folders */
    }
    children_begin();
    const int code = hunt(&h);
    remove_worktree(&h);
    if (e.text[0] != 0) {
        flush_output();
        usage_error("bisect", "%s", e.text);
    }
    flush_output();
    children_end();
    for (size_t i = 0; i < h.made_count; ++i) {
        free(h.made[i]);
    }
    free(h.self);
    free(h.root);
    free(h.top);
    free(h.place);
    free(h.tree);
    free(h.good);
    free(h.bad);
    return code;
}
