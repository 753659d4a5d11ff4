/* explain --html. */
#ifndef CLI_EXPLAIN_PAGE_H
#define CLI_EXPLAIN_PAGE_H

#include "../oracles/suspects.h"
#include "subject.h"

/* Writes j->html: the case in full, with its stages where it was judged, and of a case of the project what GPUs gave of
 * it. *x and *suspects go into it and come back empty. seconds: of the runs, for the page's head. */
bool explain_page(const struct judging *j, const struct subject *s, const char *root, const struct outcome *outcome,
                  struct explanation *x, struct suspects *suspects, double seconds, struct error *e);

#endif
