/* explain --html. */
#ifndef CLI_EXPLAIN_PAGE_H
#define CLI_EXPLAIN_PAGE_H

#include "../oracles/explain.h"
#include "subject.h"

/* Writes j->html: the case in full, with its stages where it was judged, and of a case of the project what GPUs gave of
 * it. *x goes into it and comes back empty. seconds: of the runs, for the page's head. */
bool explain_page(const struct judging *j, const struct subject *s, const char *root, const struct outcome *outcome,
                  struct explanation *x, double seconds, struct error *e);

#endif
