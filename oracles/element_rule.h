/* A rule for which element of a buffer each cell of another one consumed: x[i div 64], x[4 * i + 1]. */
#ifndef ORACLES_ELEMENT_RULE_H
#define ORACLES_ELEMENT_RULE_H

#include <stdbool.h>
#include <stddef.h>

enum element_rule_kind {
    ELEMENT_CONSTANT,  /* b */
    ELEMENT_AFFINE,    /* a * i + b */
    ELEMENT_DIV,       /* i div a + b */
    ELEMENT_MOD,       /* i mod a + b */
    ELEMENT_TURN,      /* (i + b) mod a */
    ELEMENT_DIV_MOD,   /* i div a mod b */
    ELEMENT_TRANSPOSE, /* i mod a * b + i div a */
    ELEMENT_PITCH,     /* i div a * b + i mod a */
    ELEMENT_FOLD,      /* i div a * b + i mod b */
    ELEMENT_REVERSE,   /* i, backwards within each a */
    ELEMENT_XOR,       /* i xor a */
};

struct element_rule {
    enum element_rule_kind kind;
    long long a, b;
};

struct element_point {
    size_t cell, element;
};

long long element_rule_apply(const struct element_rule *r, size_t cell);
/* The rule of the most points, of several the simplest kind; *covered: of how many. False: none covers two. */
bool element_rule_find(const struct element_point *points, size_t count, struct element_rule *best, size_t *covered);
/* "i div 64"; the caller frees it. */
char *element_rule_text(const struct element_rule *r);

#endif
