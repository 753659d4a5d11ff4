/* What bisect_git.c and bisect_tell.c share: a bisection at work. */
#ifndef CLI_BISECT_HUNT_H
#define CLI_BISECT_HUNT_H

#include "bisect.h"

enum { MOST_WORDS = 40 + 2 * SETS_MAX };
struct words { /* of a command */
    const char *at[MOST_WORDS];
    size_t count;
};

struct hunt {
    const struct bisect_options *o;
    char *self, *root;  /* absolute */
    char *top;          /* of the author's repository */
    char *launch;       /* from its top folder, or absolute: elsewhere; or NULL */
    char *place, *tree; /* a temporary folder, the worktree in it */
    bool added;         /* the worktree is known to git */
    char *good, *bad;   /* commits */
    struct words step;  /* the command that judges a commit */
    char *made[SETS_MAX + 3];
    size_t made_count;
    size_t judged, skipped;
    /* --json */
    char **heads;                                      /* (judged) "bad 0123456789ab subject: reason" */
    char *first_bad, *before, *at, *in_step, *several; /* texts, or NULL */
    struct error *e;
};

struct verdict_of { /* of one commit */
    int code;       /* BISECT_GOOD ... */
    char *head;     /* "bad 0123456789ab subject: reason" */
    char *text;     /* what follows it */
};
void hunt_verdict_free(struct verdict_of *v);

void hunt_word(struct words *w, const char *text);
int hunt_git(const struct hunt *h, const char *folder, char **output, const struct words *more);
#define GIT(h, folder, output, ...)                                                                                    \
    hunt_git(h, folder, output,                                                                                        \
             &(struct words){{__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)})

/* stdout; where nobody reads it any more, the rest is as after an interrupt. */
void hunt_flush(void);

/* Checks the commit out and judges it; keep: where its PTX goes, or NULL. False after an interrupt or an error. */
bool hunt_judge(struct hunt *h, const char *commit, const char *keep, bool shown, struct verdict_of *v);

/* bisect_tell.c. The first bad commit, with the finding before and at it. False after an interrupt or an error. */
bool hunt_tell(struct hunt *h, const char *first);
bool hunt_put_json(const struct hunt *h, int code, struct error *e);

#endif
