/* Text of files inside XML and HTML. */
#ifndef REPORTS_MARKUP_H
#define REPORTS_MARKUP_H

#include <stdio.h>

/* Writes s so that it stands for itself as content and within quotes: < > & " ' become entities. Tabs and newlines
 * stay; what no reader should obey or cannot see (control characters, marks of direction), what XML 1.0 forbids, and
 * bytes that are no UTF-8 become U+FFFD each. */
void markup_text(FILE *out, const char *s);

#endif
