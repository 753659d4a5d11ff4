/* Outcomes by kernel, data class and kind of failure: what reports group by. */
#ifndef REPORTS_CASE_TABLE_H
#define REPORTS_CASE_TABLE_H

#include "../oracles/outcome.h"

/* Names of the data classes as they stand in an id, in the order that is a diagnosis. */
enum { CASE_FILE = 5, CASE_CLASSES };
extern const char *const case_classes[CASE_CLASSES]; /* "exact" ... "file" */

/* The class component of an id ("a/b/kernel/shape/CLASS/...") as an index, and where it starts; CASE_CLASSES, and
 * *start untouched: none. */
size_t case_class(const char *id, size_t *start);

/* Classes that a table has columns for: class file only where there are such cases. */
size_t case_columns(const struct outcome *all, size_t count);

struct case_row {                                   /* outcomes of one kernel that stand together */
    size_t end;                                     /* all[i .. end-1] */
    size_t run[CASE_CLASSES], passed[CASE_CLASSES]; /* without those of no class */
    bool ran;                                       /* not all were skipped */
};
struct case_row case_row(const struct outcome *all, size_t count, size_t i);

/* all[i] is red and group[i] is 0. Marks with `number` it and all after it without a group that fail alike: same
 * kernel, verdict, oracle, source line and suspects of the worst finding. Returns the most telling of them, and how
 * many they are. */
size_t case_group(const struct outcome *all, size_t count, size_t i, size_t number, size_t *group, size_t *alike);

#endif
