/* An audit, for people and as JSON. */
#ifndef REPORTS_AUDIT_H
#define REPORTS_AUDIT_H

#include "../gpu/audit.h"
#include <stdio.h>

struct audit_report {
    const char *entry;
    struct audit audit;
    char *refusal; /* of audit_refusal, or NULL */
};

/* One line a kind that occurs, at most `most` places of each that leaves bits open (0: all), and what it comes to. */
void audit_table(FILE *out, const struct ptx_module *m, const struct audit_report *r, size_t most);

/* One line an entry: {"entry", "instructions", "open", "not_run" (text or null), "counts": {...}, "places": [...]};
 * whole or not at all. */
bool audit_json(const char *path, const struct ptx_module *m, const struct audit_report *reports, size_t count,
                struct error *e);

/* "2 fusible, 1 approximate": what leaves bits open, or NULL when nothing does. The caller frees it. */
char *audit_summary(const size_t count[AUDIT_KINDS]);

#endif
