/* Statements that were proved or refuted, for people and as JSON. */
#ifndef REPORTS_STATEMENT_H
#define REPORTS_STATEMENT_H

#include "../gpu/statement.h"
#include "../ref/error.h"
#include <stdio.h>

/* One line a statement: result, name, size of the domain, text; a refuted one's counterexample, or a proved one's note,
 * below it. */
void statement_table(FILE *out, const struct statement_list *l);
/* The counterexample of a refuted one, and the end of the line. */
void statement_counterexample(FILE *out, const struct statement *s);
/* Names and texts alone. */
void statement_names(FILE *out, const struct statement_list *l);
/* "N proved, N refuted" and "N passed, N failed, N skipped". */
void statement_totals(FILE *out, const struct statement_list *l, size_t skipped);

/* {"subject", "statements": [{"name", "statement", "domain", "result": "proved" | "refuted", "counterexample", "file",
 * "wrong_byte": {"warp", "lane", "register", "byte", "holds", "wants", "mistake"}, "note"}],
 * "proved", "refuted"}; a regular file whole or not at all, as file_put. */
bool statement_json(const char *path, const char *subject, const struct statement_list *l, struct error *e);

#endif
