/* What the files of `warpproof bisect` share. */
#ifndef CLI_BISECT_H
#define CLI_BISECT_H

#include "subject.h"

struct bisect_options {
    const char *ptx[2]; /* --ptx: A and B, or NULL */
    const char *what;   /* the case, or NULL */
    const char *launch; /* --launch: the file; or NULL */
    struct subject_options subject;
    const char *good, *bad; /* revisions, or NULL */
    const char *repo;       /* folder */
    const char *build;      /* command, or NULL */
    const char *ptx_out;    /* the PTX that a commit is judged by, from its own folder, or NULL: the launch file's */
    bool step;              /* --step: of bisect itself: the commit that is checked out in `repo` */
    const char *keep;       /* with it: a copy of the PTX that was judged, or NULL */
    unsigned build_seconds; /* --build-timeout; 0: none */
    struct judging judging; /* threads, architecture, --json */
};

/* The subject of o->what or o->launch, in which `in` is ahead of a launch file that is no absolute path; NULL: as it
 * is. *code as subject_case. */
bool bisect_subject(const struct bisect_options *o, const char *root, const char *in, struct subject *s, int *code,
                    struct error *e);

/* Without --data every class is tried, from the first one on; of a case, a launch file without contract, and one whose
 * operands are in files there is one. */
int bisect_first_class(const struct bisect_options *o);
bool bisect_more_classes(const struct bisect_options *o, const struct subject *s, int class);

/* The text as it may go to a terminal, line by line; the caller frees it. */
char *bisect_printable(const char *text);

/* The PTX that a commit is judged by; the caller frees it. */
char *bisect_ptx_path(const struct bisect_options *o, const struct spec *spec);

/* What `git bisect run` takes from a step, which is bisect's own --step: STOP ends it. */
enum { BISECT_GOOD = 0, BISECT_BAD = 1, BISECT_SKIP = 125, BISECT_STOP = 130 };
#define BISECT_MARK "of-warpproof-bisect" /* a file beside a worktree of bisect's own */

/* bisect_ptx.c: two programs in step. Returns the exit code. */
int bisect_ptx(struct bisect_options *o, const char *root);

/* bisect_git.c: through the commits of a repository; bisect_step.c: one commit. Return the exit code. */
int bisect_git(struct bisect_options *o, const char *root);
int bisect_step(struct bisect_options *o, const char *root);

#endif
