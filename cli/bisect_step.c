/* One commit of bisect_git.c, checked out in a worktree of bisect's own: built, and judged as `run` does. */
#include "../ref/checked.h"
#include "../reports/file.h"
#include "../reports/terminal.h"
#include "bisect.h"
#include "child.h"
#include "command.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The last line that says something, in short: of a build that failed. */
static char *last_line(const char *text) {
    const char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1])) {
        --end;
    }
    const char *start = end;
    while (start > text && start[-1] != '\n') {
        --start;
    }
    return must_format("%.*s", end - start > 200 ? 200 : (int)(end - start), start);
}

static char *git_says(const char *folder, const char *const *argv) {
    char *text;
    child_run(&(struct child){.argv = argv, .folder = folder}, &text);
    return text;
}

/* What follows "step " is read by bisect_git.c. Of a reason its first line. */
static void head(const char *kind, const char *commit, const char *why) {
    const char *first = why != NULL ? why : "";
    const int n = (int)strcspn(first, "\n");
    char *line = must_format("%s%s%.*s", commit, why != NULL ? ": " : "", n > 300 ? 300 : n, first);
    char *safe = bisect_printable(line);
    printf("step %s %s\n", kind, safe);
    free(safe);
    free(line);
}

/* The PTX that the commit is judged by, where that is known ahead of the build; or NULL. */
static char *judged_path(const struct bisect_options *o, const char *root) {
    struct error ignored = {""};
    if (o->ptx_out != NULL || o->launch == NULL) {
        return o->ptx_out != NULL ? must_format("%s/%s", o->repo, o->ptx_out) : NULL;
    }
    char *launch = o->launch[0] != '/' ? must_format("%s/%s", o->repo, o->launch) : must_strdup(o->launch);
    struct spec *s = spec_load(launch, root, &ignored); /* where it cannot be read the commit is not judged anyway */
    char *path = s != NULL && s->ptx != NULL ? must_strdup(s->ptx) : NULL;
    spec_free(s);
    free(launch);
    return path;
}

struct stale { /* a file that another commit's build, or nobody of bisect's, has left */
    bool is;
    struct stat s;
};

/* What is in no commit goes. What is neither in a commit nor goes (it lies elsewhere) has to be made anew. */
static struct stale remove_judged(const struct bisect_options *o, const char *path) {
    struct stale left = {.is = false};
    const size_t n = strlen(o->repo);
    if (strncmp(path, o->repo, n) == 0 && path[n] == '/') {
        char *spec = must_format(":(top,literal)%s", path + n + 1);
        const char *const clean[] = {"git", "clean", "-ffdxq", "--", spec, NULL};
        const char *const known[] = {"git", "ls-files", "--error-unmatch", "--", spec, NULL};
        free(git_says(o->repo, clean));
        char *text;
        const bool tracked = child_run(&(struct child){.argv = known, .folder = o->repo}, &text) == 0;
        free(text);
        free(spec);
        if (tracked) {
            return left;
        }
    }
    left.is = stat(path, &left.s) == 0;
    return left;
}

static bool is_untouched(const struct stale *left, const char *path) {
    struct stat s;
    return left->is && stat(path, &s) == 0 && s.st_dev == left->s.st_dev && s.st_ino == left->s.st_ino &&
           s.st_ctim.tv_sec == left->s.st_ctim.tv_sec && s.st_ctim.tv_nsec == left->s.st_ctim.tv_nsec;
}

/* The build; what it is judged by is made anew. *why: it failed; owned by the caller. False then, and where it was
 * interrupted, with *why NULL. */
static bool build(const struct bisect_options *o, const char *root, char **why) {
    static const char *const old[] = {"git", "clean", "-fdxq", "--", "*.ptx", NULL};
    const char *const command[] = {"sh", "-c", o->build, NULL};
    char *text;
    *why = NULL;
    if (o->build == NULL) {
        return true;
    }
    free(git_says(o->repo, old));
    char *judged = judged_path(o, root);
    const struct stale left = judged != NULL ? remove_judged(o, judged) : (struct stale){.is = false};
    int code = child_run(&(struct child){.argv = command, .folder = o->repo, .seconds = o->build_seconds}, &text);
    if (code == -2) {
        *why = must_format("the build takes more than %u s", o->build_seconds);
    } else if (code > 0) {
        char *last = last_line(text);
        *why = must_format("the build fails (exit %d): %s", code, last[0] != 0 ? last : "it says nothing");
        free(last);
    } else if (code == 0 && judged != NULL && (access(judged, F_OK) != 0 || is_untouched(&left, judged))) {
        const size_t n = strlen(o->repo);
        const bool inside = strncmp(judged, o->repo, n) == 0 && judged[n] == '/';
        *why = must_format("the build does not make %s", inside ? judged + n + 1 : judged);
        code = -1;
    }
    free(judged);
    free(text);
    return code == 0;
}

struct judged {
    struct outcome outcome;
    bool has; /* outcome is filled */
};

/* One class of data, or all where none was asked for; the first that is red, else the last one. */
static bool judge(struct bisect_options *o, const char *root, struct judged *j, struct error *e) {
    bool more = true;
    for (int k = bisect_first_class(o); more; ++k) {
        struct subject s;
        struct ptx_module *m = NULL;
        int code;
        o->subject.class = (enum data_class)k;
        bool good = bisect_subject(o, root, o->repo, &s, &code, e);
        more = good && bisect_more_classes(o, &s, k);
        char *ptx = good ? bisect_ptx_path(o, s.trial.spec) : NULL;
        good = good && (m = ptx_load(ptx, e)) != NULL;
        if (good) {
            if (j->has) {
                outcome_free(&j->outcome);
            }
            s.trial.module = m;
            s.trial.threads = o->judging.threads;
            s.trial.options = o->judging.launch;
            trial_run(&s.trial, &j->outcome);
            j->has = true;
            more &= outcome_verdict(&j->outcome) == VERDICT_PASS;
            good = o->keep == NULL || file_put(o->keep, m->text, m->text_bytes, e);
        }
        free(ptx);
        ptx_free(m);
        subject_free(&s);
        if (!good) {
            return false;
        }
    }
    return true;
}

static int tell(const char *commit, const struct judged *j) {
    const struct finding *f = findings_first(&j->outcome.findings);
    const int code = exit_code_of(&j->outcome, 1);
    if (code == EXIT_PASSED) {
        head("good", commit, NULL);
        printf("PASS %s\n", j->outcome.id);
        return BISECT_GOOD;
    }
    if (code == EXIT_KERNEL_WRONG) {
        head("bad", commit, NULL);
        terminal_failure(stdout, &j->outcome, NULL, 0);
        return BISECT_BAD;
    }
    head("skip", commit, f != NULL ? f->summary : j->outcome.why != NULL ? j->outcome.why : "it was not judged");
    return BISECT_SKIP;
}

static int step(struct bisect_options *o, const char *root) {
    static const char *const about[] = {"git", "--no-pager", "log", "-1", "--abbrev=12", "--format=%h %s", NULL};
    static const char *const reset[] = {"git", "reset", "--hard", "-q", NULL};
    static const char *const clean[] = {"git", "clean", "-ffdq", NULL};
    children_begin();
    char *commit = git_says(o->repo, about), *why;
    struct judged j = {.has = false};
    struct error e = {""};
    int code = BISECT_SKIP;
    const bool built = build(o, root, &why);
    children_end(); /* an interrupt ends the judging at once */
    if (!built) {
        if (why != NULL) {
            head("skip", commit, why);
        }
    } else if (judge(o, root, &j, &e)) {
        code = tell(commit, &j);
    } else {
        head("skip", commit, e.text);
    }
    if (j.has) {
        outcome_free(&j.outcome);
    }
    children_begin();
    free(git_says(o->repo, reset)); /* the next commit can be checked out over what the build left */
    free(git_says(o->repo, clean));
    free(commit);
    free(why);
    children_end();
    return code;
}

int bisect_step(struct bisect_options *o, const char *root) {
    char *mark = must_format("%s/../" BISECT_MARK, o->repo != NULL ? o->repo : ".");
    const bool ours = o->repo != NULL && access(mark, F_OK) == 0; /* it is reset and cleaned: nobody's own tree */
    free(mark);
    if (!ours) {
        usage_error("bisect", "--step is of bisect's own worktrees");
        return BISECT_STOP;
    }
    return step(o, root);
}
