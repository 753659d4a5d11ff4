/* Layout tomography: from outputs alone, which element of its inputs each output consumed. It makes its own inputs and
 * launches, on any runner: an element holds a digit of its own index, or one bit of the index decides whether it is
 * changed, and what comes out says which element went in. docs/probe.md has the method. */
#ifndef ORACLES_TOMOGRAPHY_H
#define ORACLES_TOMOGRAPHY_H

#include "trial.h"

struct tomography_options {
    size_t launches; /* at most so many, four times as many of a kernel without a contract; 0: TOMOGRAPHY_LAUNCHES */
};

enum { TOMOGRAPHY_LAUNCHES = 256, PROBE_MOST_CELLS = 1 << 20 };

struct tomography_line { /* one rule that other elements were consumed by than the contract says */
    char *operand;       /* "weight codes", "weight scales", "activation codes" ..., or the name of a buffer */
    char *result;        /* the buffer whose cells show it; NULL: that of the contract */
    char *text;          /* "rows 16..69 consumed row j mod 16 (want j)" */
    const char *suspect; /* the likely mistake, static, or NULL */
    size_t cells;        /* of the result that show it */
    char *basis;         /* what was observed, and in how many launches */
    bool wrong;          /* it is not what the contract (or most cells) says; else what a foreign kernel consumes */
};

struct tomography {
    struct tomography_line *lines; /* (line_count) in the order of the operands */
    size_t line_count;
    char **notes; /* (note_count) what is worth a word and is no other element consumed */
    size_t note_count;
    size_t launches; /* that were run */
    size_t cells;    /* of the result that was looked at */
    char *shape;     /* "nt = 33, od = 70, id = 512" that it was probed on, NULL: without a contract */
    bool probed;     /* something could be told */
    char *why;       /* not probed: the reason */
};

/* Probes t's kernel; t->operands may be of another shape than what is launched: a large one is clipped. Operands are
 * made and launches bound anew; watches are off. False, with the reason in e, when it cannot be launched at all; *out
 * then holds nothing. The result does not depend on t->threads. */
bool tomography(const struct trial *t, const struct tomography_options *o, struct tomography *out, struct error *e);
void tomography_free(struct tomography *out);
/* Some line is wrong. */
bool tomography_wrong(const struct tomography *x);

#endif
