/* Mutants of a PTX program: small mistakes, each made at one instruction of the parsed program by replacing the bytes
 * of its statement in the text, so that lines keep their numbers. Text in, text out; nothing is run here.
 *
 * A mutant is named OPERATOR/LINE/K: the line of the PTX, and its number among those of that operator and line. The
 * name depends on the text alone. */
#ifndef GPU_MUTANT_H
#define GPU_MUTANT_H

#include "ptx/ptx.h"

enum mutant_operator {
    MUTANT_ADDRESS,    /* displacement of a memory operand +-4, +-16, +- the pitch */
    MUTANT_ORDER,      /* operands of an instruction that does not commute; A and B registers of mma */
    MUTANT_PREDICATE,  /* a guard negated, or dropped */
    MUTANT_BARRIER,    /* a barrier or fence dropped */
    MUTANT_WAIT,       /* cp.async.wait_group +- 1, a group not committed */
    MUTANT_ROUNDING,   /* .rn to .rz, fma to mul + add */
    MUTANT_STRIDE,     /* shift distance, factor, addend or mask of integers */
    MUTANT_REGISTERS,  /* two registers of one type in each other's place, or one for the other */
    MUTANT_BOUND,      /* what a comparison compares with +- 1 */
    MUTANT_STORE,      /* a store dropped */
    MUTANT_VECTOR,     /* a vector, ldmatrix or copy of half its width */
    MUTANT_COMPARISON, /* lt to le and the like, min to max */
    MUTANT_OPERATORS,
};
extern const char *const mutant_operator_names[MUTANT_OPERATORS]; /* "address" ... */

struct mutant {
    enum mutant_operator by;
    int line;           /* of the PTX */
    unsigned number;    /* K, from 0 */
    size_t function;    /* index in the module */
    size_t instruction; /* index in it */
    size_t at, bytes;   /* what is replaced of the module's text */
    char *after;        /* by what; owned */
    char *what;         /* "+4", "a and b swapped"; owned */
};

struct mutant_list {
    struct mutant *items; /* by line, then operator, then K */
    size_t count;
};

/* All mutants of the functions of these names, of the operators in the set (a bit each). A statement that another one
 * has replaced to the same text makes no mutant. The caller frees the list. */
void mutants_make(const struct ptx_module *m, const char *const *entries, size_t entry_count, uint32_t operators,
                  struct mutant_list *list);
void mutants_free(struct mutant_list *list);

char *mutant_name(const struct mutant *x); /* OPERATOR/LINE/K; the caller frees it */

/* The whole text with the mutant in it, ended by 0; *size without that. The caller frees it. */
char *mutant_text(const struct ptx_module *m, const struct mutant *x, size_t *size);

/* The instruction before and after, as one line each: parts of a report. The caller frees both. */
char *mutant_before(const struct ptx_module *m, const struct mutant *x);
char *mutant_after(const struct mutant *x);

/* ---- for mutant_make.c: the statement of one instruction ---- */

#define STATEMENT_OPERANDS 8

struct mutant_span {
    size_t at, bytes; /* of the module's text */
};
struct mutant_statement {
    const struct ptx_module *module;
    const struct ptx_function *function;
    const struct ptx_instruction *in;
    struct mutant_span whole, guard, opcode; /* whole: guard to ';'. guard: "@!%p1", empty where there is none */
    struct mutant_span operands[STATEMENT_OPERANDS];
    size_t count;
};
/* Finds the parts of a statement in the text; false where a comment stands in it, or it has too many operands. */
bool mutant_statement(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_instruction *in,
                      struct mutant_statement *s);

#endif
