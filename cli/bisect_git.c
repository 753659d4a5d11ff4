/* warpproof bisect: the first bad commit of a kernel author's repository, by `git bisect run` in a worktree of its own.
 * All that is run is a process of its own (child.h), commits among them: bisect_step.c. */
#include "../ref/checked.h"
#include "bisect_hunt.h"
#include "child.h"
#include "command.h"
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void hunt_word(struct words *w, const char *text) {
    w->at[w->count++] = text; /* MOST_WORDS holds all; the array ends with NULL */
}

/* git in this folder. bisect_git has put the configuration into the environment. */
int hunt_git(const struct hunt *h, const char *folder, char **output, const struct words *more) {
    struct words w = {.count = 0};
    (void)h;
    hunt_word(&w, "git");
    hunt_word(&w, "--no-pager");
    hunt_word(&w, "--no-optional-locks");
    for (size_t i = 0; i < more->count; ++i) {
        hunt_word(&w, more->at[i]);
    }
    return child_run(&(struct child){.argv = w.at, .folder = folder}, output);
}
static bool interrupted(struct hunt *h) {
    return children_interrupted() && !fail(h->e, "interrupted");
}

/* ---- the repository ---- */

static bool find_repository(struct hunt *h) {
    const char *folder = h->o->repo != NULL ? h->o->repo : ".";
    char *text;
    const int code = GIT(h, folder, &h->top, "rev-parse", "--show-toplevel");
    if (code == 127 && access(folder, X_OK) == 0) {
        return fail(h->e, "git cannot be run: %.600s", h->top);
    }
    if (code != 0) {
        const int n = (int)strcspn(h->top, "\n");
        return fail(h->e, "%.600s: no working tree of a git repository (%.*s)", folder, n > 300 ? 300 : n, h->top);
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
    if (found) {
        return true;
    }
    char *shallow;
    GIT(h, h->top, &shallow, "rev-parse", "--is-shallow-repository");
    fail(h->e, "%s %.300s: %.600s has no such commit%s", what, revision, h->top,
         strcmp(shallow, "true") == 0 ? ", and it is a shallow clone: git fetch --unshallow gets the others" : "");
    free(shallow);
    return false;
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

/* ---- the launch file ---- */

/* A path into the repository is that of its commits; one elsewhere is the same for every commit, and so is its PTX. */
static bool place_launch(struct hunt *h) {
    const char *given = h->o->launch;
    if (given == NULL || given[0] != '/') {
        h->launch = given != NULL ? must_strdup(given) : NULL;
        return true;
    }
    char *real = realpath(given, NULL), *top = realpath(h->top, NULL);
    const size_t n = top != NULL ? strlen(top) : 0;
    const char *path = real != NULL ? real : given;
    const bool inside = n > 0 && strncmp(path, top, n) == 0 && path[n] == '/';
    h->launch = must_strdup(inside ? path + n + 1 : given);
    free(real);
    free(top);
    return inside || h->o->ptx_out != NULL ||
           fail(h->e, "%.600s is not in the repository: --ptx-out says which PTX of it is judged", given);
}

/* ---- one commit ---- */

static void make_step(struct hunt *h) {
    const struct bisect_options *o = h->o;
    struct words *w = &h->step;
    static const char *const begin[] = {"bisect", "--step", "--repo"};
    char number[16];
    hunt_word(w, h->self);
    for (size_t i = 0; i < sizeof begin / sizeof *begin; ++i) {
        hunt_word(w, begin[i]);
    }
    hunt_word(w, h->tree);
    for (size_t i = 0; i < o->subject.sets.count; ++i) {
        const struct shape_value *v = &o->subject.sets.values[i];
        hunt_word(w, "--set");
        hunt_word(w, h->made[h->made_count++] = must_format("%s=%" PRId64, v->name, (int64_t)v->value));
    }
    if (o->subject.one_class) {
        hunt_word(w, "--data");
        hunt_word(w, data_class_names[o->subject.class]);
    }
    if (o->subject.seeded) {
        hunt_word(w, "--seed");
        hunt_word(w, h->made[h->made_count++] = must_format("%" PRIu64, o->subject.seed));
    }
    if (o->judging.launch.arch != NULL) {
        hunt_word(w, "--arch");
        hunt_word(w, o->judging.launch.arch->name);
    }
    snprintf(number, sizeof number, "%d", o->judging.threads);
    hunt_word(w, "-j");
    hunt_word(w, h->made[h->made_count++] = must_strdup(number));
    if (o->build_seconds > 0) {
        snprintf(number, sizeof number, "%u", o->build_seconds);
        hunt_word(w, "--build-timeout");
        hunt_word(w, h->made[h->made_count++] = must_strdup(number));
    }
    const char *const more[][2] = {
        {"--build", o->build}, {"--ptx-out", o->ptx_out}, {"--launch", h->launch}, {"--", o->what}};
    for (size_t i = 0; i < sizeof more / sizeof *more; ++i) {
        if (more[i][1] != NULL) {
            hunt_word(w, more[i][0]);
            hunt_word(w, more[i][1]);
        }
    }
}

void hunt_verdict_free(struct verdict_of *v) {
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

void hunt_flush(void) {
    errno = 0;
    flush_output();
    if (ferror(stdout) && errno == EPIPE) { /* nobody reads on: the rest would be for nothing */
        children_interrupt(SIGPIPE);
    }
}

static void show_head(struct hunt *h, const char *line) {
    const size_t kind = strcspn(line, " "), n = strcspn(line, "\n");
    ++h->judged;
    h->skipped += strncmp(line, "skip", 4) == 0;
    h->heads = must_realloc(h->heads, h->judged, sizeof *h->heads);
    h->heads[h->judged - 1] = must_format("%.*s", (int)n, line);
    printf("%-5.*s%.*s\n", (int)kind, line, (int)(n - kind), line + kind);
    hunt_flush();
}

/* Checks the commit out and judges it; keep: where its PTX goes, or NULL. False after an interrupt or an error. */
bool hunt_judge(struct hunt *h, const char *commit, const char *keep, bool shown, struct verdict_of *v) {
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
            hunt_word(&w, "--keep");
            hunt_word(&w, keep);
        }
        hunt_word(&w, h->step.at[i]);
    }
    v->code = child_run(&(struct child){.argv = w.at}, &text);
    const char *head = next_step(text);
    const bool good = head != NULL && (v->code == BISECT_GOOD || v->code == BISECT_BAD || v->code == BISECT_SKIP);
    if (good) {
        const size_t n = strcspn(head, "\n");
        v->head = must_format("%.*s", (int)n, head);
        v->text = bisect_printable(head + n + (head[n] != 0));
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
    if (!hunt_judge(h, h->bad, NULL, true, &v)) {
        return false;
    }
    const bool good = v.code == BISECT_BAD ||
                      fail(h->e,
                           v.code == BISECT_GOOD ? "the bad revision passes, and there is nothing to find: %.1000s"
                                                 : "the bad revision cannot be judged: %.1000s",
                           v.head + strcspn(v.head, " ") + 1);
    hunt_verdict_free(&v);
    return good;
}

static bool check_good(struct hunt *h) {
    struct verdict_of v;
    if (GIT(h, h->top, NULL, "merge-base", "--is-ancestor", h->good, h->bad) != 0) {
        return interrupted(h) || fail(h->e, "the good revision is no ancestor of the bad one");
    }
    if (!hunt_judge(h, h->good, NULL, true, &v)) {
        return false;
    }
    const bool good =
        v.code == BISECT_GOOD ||
        fail(h->e,
             v.code == BISECT_BAD ? "the good revision is bad: %.1000s" : "the good revision cannot be judged: %.1000s",
             v.head + strcspn(v.head, " ") + 1);
    hunt_verdict_free(&v);
    return good;
}

static bool is_power_of_two(uint64_t n) {
    return (n & (n - 1)) == 0;
}

/* What was tried beyond the last bad one cannot be judged: those between, the nearest first, MOST_BETWEEN of them. */
enum { MOST_BETWEEN = 16 };
static bool search_between(struct hunt *h, const char *from, uint64_t bad_at, uint64_t depth) {
    bool good = true;
    size_t tried = 0;
    for (uint64_t n = bad_at + 1; good && h->good == NULL && n < depth && tried < MOST_BETWEEN; ++n) {
        struct verdict_of v;
        char *name, *commit = NULL;
        if (is_power_of_two(n)) {
            continue;
        }
        ++tried;
        name = must_format("%s~%" PRIu64, from, n);
        good = resolve(h, name, "--good", &commit) && hunt_judge(h, commit, NULL, true, &v);
        free(name);
        if (good && v.code != BISECT_SKIP) {
            char **end = v.code == BISECT_GOOD ? &h->good : &h->bad;
            free(*end);
            *end = commit;
            commit = NULL;
        }
        free(commit);
        if (good) {
            hunt_verdict_free(&v);
        }
    }
    return good;
}

/* Without --good: 1, 2, 4, 8 ... commits before the bad one, each its predecessor's first parent, up to the first; then
 * those between the last bad one and the first that cannot be judged. */
static bool search_good(struct hunt *h) {
    char *text, *from = must_strdup(h->bad);
    const bool counted = GIT(h, h->top, &text, "rev-list", "--count", "--first-parent", from) == 0;
    const uint64_t depth = counted ? strtoull(text, NULL, 10) - 1 : 0;
    bool good = counted || interrupted(h) || fail(h->e, "git rev-list: %.1000s", text);
    free(text);
    uint64_t bad_at = 0;
    for (uint64_t n = 1, last = 0; good && h->good == NULL && last < depth; n *= 2) {
        struct verdict_of v;
        char *name, *commit;
        last = n < depth ? n : depth;
        name = must_format("%s~%" PRIu64, from, last);
        good = resolve(h, name, "--good", &commit) && hunt_judge(h, commit, NULL, true, &v);
        if (good && v.code == BISECT_GOOD) {
            h->good = commit;
        } else if (good && v.code == BISECT_BAD) { /* so near */
            free(h->bad);
            h->bad = commit;
            bad_at = last;
        } else {
            free(commit);
        }
        if (good) {
            hunt_verdict_free(&v);
        }
        free(name);
    }
    if (good && h->good == NULL) {
        good = search_between(h, from, bad_at, depth);
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
    hunt_word(&run, "bisect");
    hunt_word(&run, "run");
    for (size_t i = 0; i < h->step.count; ++i) {
        hunt_word(&run, h->step.at[i]);
    }
    const int code = hunt_git(h, h->tree, &text, &run);
    for (const char *line = next_step(text); line != NULL; line = next_step(line)) {
        show_head(h, line);
    }
    const bool one = code == 0;
    if (interrupted(h)) {
        free(text);
        return FOUND_NOTHING;
    }
    const bool several = !one &&
                         GIT(h, h->tree, first, "log", "--abbrev=12", "--format=%h %s", "refs/bisect/bad", "--not",
                             "--glob=refs/bisect/good-*") == 0 &&
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

static int hunt(struct hunt *h) {
    const struct bisect_options *o = h->o;
    char *first = NULL;
    int code = EXIT_INPUT;
    if (!find_repository(h) || !resolve(h, o->bad != NULL ? o->bad : "HEAD", "--bad", &h->bad) ||
        (o->good != NULL && !resolve(h, o->good, "--good", &h->good)) || !place_launch(h) || !add_worktree(h)) {
        return EXIT_INPUT;
    }
    make_step(h);
    if (!check_bad(h) || !(o->good != NULL ? check_good(h) : search_good(h))) {
        return EXIT_INPUT;
    }
    switch (bisect(h, &first)) {
    case FOUND_ONE:
        code = hunt_tell(h, first) ? EXIT_KERNEL_WRONG : EXIT_INPUT;
        break;
    case FOUND_SEVERAL:
        h->several = bisect_printable(first);
        printf("\nthe first bad commit is one of these, which cannot be judged but for the last:\n%s\n", h->several);
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

/* For every git, also for those that git itself starts: the author's hooks and file monitor do not run, and nothing is
 * done on the side. */
static void quiet_git(void) {
    static const char *const values[][2] = {{"core.hooksPath", "/dev/null"},
                                            {"core.fsmonitor", "false"},
                                            {"gc.auto", "0"},
                                            {"maintenance.auto", "false"},
                                            {"advice.detachedHead", "false"}};
    const char *given = getenv("GIT_CONFIG_COUNT");
    size_t n = given != NULL ? strtoull(given, NULL, 10) : 0;
    n = n < 1000 ? n : 0;
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i, ++n) {
        char name[40];
        snprintf(name, sizeof name, "GIT_CONFIG_KEY_%zu", n);
        setenv(name, values[i][0], 1);
        snprintf(name, sizeof name, "GIT_CONFIG_VALUE_%zu", n);
        setenv(name, values[i][1], 1);
    }
    char count[24];
    snprintf(count, sizeof count, "%zu", n);
    setenv("GIT_CONFIG_COUNT", count, 1);
}

int bisect_git(struct bisect_options *o, const char *root) {
    struct error e = {""};
    struct hunt h = {.o = o, .self = own_path(), .root = realpath(root, NULL), .e = &e};
    forget_environment();
    quiet_git();
    if (h.root != NULL) {
        setenv("WARPPROOF_ROOT", h.root, 1); /* for what runs in other folders */
    }
    children_begin();
    int code = hunt(&h);
    hunt_flush();
    remove_worktree(&h);
    if (e.text[0] == 0 && o->judging.json != NULL && !hunt_put_json(&h, code, &e)) {
        code = EXIT_INPUT;
    }
    if (e.text[0] != 0) {
        flush_output();
        usage_error("bisect", "%s", e.text);
    }
    flush_output();
    children_end();
    for (size_t i = 0; i < h.made_count; ++i) {
        free(h.made[i]);
    }
    for (size_t i = 0; i < h.judged; ++i) {
        free(h.heads[i]);
    }
    char *const texts[] = {h.first_bad, h.before, h.at, h.in_step, h.several, h.launch};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        free(texts[i]);
    }
    free(h.heads);
    free(h.self);
    free(h.root);
    free(h.top);
    free(h.place);
    free(h.tree);
    free(h.good);
    free(h.bad);
    return code;
}
