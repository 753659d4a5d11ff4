/* One case on an HTML page. */
#ifndef REPORTS_HTML_CASE_H
#define REPORTS_HTML_CASE_H

#include "html.h"
#include <stdio.h>

/* What else there is of outcome number i, or NULL. */
const struct case_detail *html_detail(const struct html *h, size_t i);
/* The verdict of outcome number i, that of its stages counted in. */
enum verdict html_verdict(const struct html *h, size_t i);
void html_put_verdict(FILE *out, enum verdict v);
/* The program that a kernel's cases ran today, or NULL. */
const char *html_program_of(const struct html *h, const char *kernel);

/* The line of h->recorded that says most of a case, as `evidence check` chooses: today's program and inputs first, then
 * today's program, then the newest; NULL: none. d: of the case, or NULL. *state: what it says of today's kernel, and
 * *tone whether that is good, bad or dim. */
const struct evidence_line *html_line_of(const struct html *h, const struct outcome *o, const struct case_detail *d,
                                         const char **state, const char **tone);

/* What the judges say, the message, stages, faults, pictures, evidence: all of outcome number i but its heading. */
void html_case(FILE *out, const struct html *h, size_t i, bool pictures);

#endif
