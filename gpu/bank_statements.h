/* Statements about shared-memory banks, each proved by enumeration: the model (banks.h) gives what facts/ptx.md 5 says,
 * and what a GPU counted. */
#ifndef GPU_BANK_STATEMENTS_H
#define GPU_BANK_STATEMENTS_H

#include "../ref/error.h"
#include "bank_table.h"
#include "statement.h"

/* A line of facts/ptx.md 5.2: eight rows of 16 bytes at a constant stride. */
struct bank_rows_fact {
    uint32_t stride;
    uint8_t start[8];         /* bank in which each row begins */
    unsigned degree;          /* wavefronts of one matrix */
    struct bank_count matrix; /* of one matrix */
    struct bank_count x4;     /* of ldmatrix.x4 over 16 rows x 32 bytes at that stride */
};
extern const struct bank_rows_fact bank_rows_facts[];
extern const size_t bank_rows_fact_count;

/* Counts as bank_count does (banks.h), or wrongly. */
typedef struct bank_count bank_model(enum bank_access kind, unsigned bytes, unsigned matrices, const uint32_t at[32],
                                     uint32_t active);
/* The rules of facts/ptx.md 5.1, those that the patterns select, held by this model. */
void bank_prove_rules(bank_model *model, const char *const *patterns, size_t count, bool names_only,
                      struct statement_list *l);

/* Each appends one statement. names_only: nothing is proved. */
void bank_prove_rows(const struct bank_rows_fact *f, bool names_only, struct statement_list *l);
/* Every row of a table that states counts has those of the model. name: of the statement; the table's own lines are
 * named in the counterexample, how many rows have nothing to compare, in the text. */
void bank_prove_table(const char *name, const struct bank_table *t, bool names_only, struct statement_list *l);

/* All that the patterns (statement.h) select: the rows of 5.2, the rules of 5.1, the padded planes of the launch files
 * of root/gpu/kernels, and the tables root/fixtures/golden/banks_*.tsv. False when a file cannot be read. */
bool bank_prove_all(const char *root, const char *const *patterns, size_t count, bool names_only,
                    struct statement_list *l, struct error *e);

#endif
