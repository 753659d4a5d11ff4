/* Statements that are proved by enumeration of their whole domain. */
#ifndef GPU_STATEMENT_H
#define GPU_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A counterexample of a layout that is a byte of a register, in parts. */
struct wrong_byte {
    unsigned warp, lane, reg, byte;
    char *holds, *wants; /* elements: "row 8 k 0"; of a store: where it goes, what it is; owned */
    char *mistake;       /* owned */
};

struct statement {
    char *name;      /* a path: "mma.m16n8k32.s8/A/bijection"; owned */
    char *text;      /* what is claimed, one sentence; owned */
    uint64_t domain; /* how many cases were enumerated until the end, or until the counterexample */
    bool proved;
    char *counterexample;     /* the first, in words; NULL when proved; owned */
    char *file;               /* that makes the statement, or NULL; owned */
    struct wrong_byte *wrong; /* the counterexample, where it is one; owned */
    char *note;               /* what one should know of a proof that holds, or NULL; owned */
};

struct statement_list {
    struct statement *items;
    size_t count;
};

/* Appends s, which the list then owns. */
void statement_add(struct statement_list *l, struct statement s);
/* Refutes s unless it was before: keeps the first counterexample. Always false. */
bool statement_refute(struct statement *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void statement_free(struct statement *s);
void statement_list_free(struct statement_list *l);
size_t statements_refuted(const struct statement_list *l);

/* A pattern selects a name that it is part of; with one of * ? [ it must match the whole name, and '*' matches '/'
 * too. No pattern selects all. */
bool statement_selected(const char *name, const char *const *patterns, size_t count);
/* The first of the patterns that selects none of l->items[first ..]; NULL: there is none such. */
const char *statement_unmatched(const struct statement_list *l, size_t first, const char *const *patterns,
                                size_t count);

#endif
