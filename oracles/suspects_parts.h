/* Between the files of the suspects: what was seen, each observation on its own, and which of them speak of one
 * mistake. */
#ifndef ORACLES_SUSPECTS_PARTS_H
#define ORACLES_SUSPECTS_PARTS_H

#include "suspects.h"

struct clue { /* one observation that accuses something */
    enum suspect_kind kind;
    const char *by;                    /* as of struct suspect_why */
    const struct finding *f;           /* of a judge or a stage; NULL: */
    const struct suspect_probe *probe; /* of a probe; or of neither */
    char *text;                        /* one line, owned */
    size_t group;                      /* the clue that it goes with: itself, or one with a lower number */
    bool dropped;                      /* it accuses nothing beyond what others do, and is told beside them */
};

struct clues {
    const struct suspects_input *in;
    struct clue *items;
    size_t count;
};

size_t clue_root(const struct clues *c, size_t i);
/* What speaks of one mistake gets one group. */
void clues_merge(struct clues *c);
/* A stage accuses it. */
bool clue_of_stage(const struct clue *c, enum stage_kind stage);
bool clue_is(const struct clue *c, const char *by);
/* The text of the first line of a finding with this label, or NULL. */
const char *clue_line(const struct finding *f, const char *label);

/* suspects_from.c: the instruction of clue a is an ancestor of that of clue b: what a gives goes into b, with no mma
 * between them but b's own. False where either has no place, or no program is known. */
bool clue_feeds(const struct clues *c, const struct clue *a, const struct clue *b);
/* The values of both come from one load of global memory. */
bool clue_share_load(const struct clues *c, const struct clue *a, const struct clue *b);

/* s->call and s->from, of the place w; missing: of what decides whether the store there is done. */
void suspect_from(const struct clues *c, const struct clue *of, const struct where *w, bool missing, struct suspect *s);

/* suspects_siblings.c: one line of the classes, and of the shapes, with what they say; NULL where none of them ran.
 * The caller frees it. */
char *siblings_classes(const struct suspects_input *in);
char *siblings_shapes(const struct suspects_input *in);
/* The likely mistake behind wrong bits as the classes tell it, static; NULL: they do not. */
const char *siblings_mistake(const struct suspects_input *in);

#endif
