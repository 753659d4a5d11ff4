/* The files that a run of cases leaves behind: --json, --junit, --html. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include "../reports/evidence.h"
#include "judging.h"

/* Writes those that were asked for. recorded: what GPUs gave, sorted; NULL: none was read. */
bool outputs_write(const struct judging *j, const char *command, const struct outcome *outcomes, size_t count,
                   const struct totals *t, const struct recorded *recorded, struct error *e);

/* The files of reports/evidence of the project, by folder; each, and the array, are the caller's. False when the folder
 * cannot be read. */
bool evidence_files(const char *root, char ***files, size_t *count, struct error *e);
/* All of them, sorted; none where there is no such folder. The caller frees *r, also after a failure. */
bool evidence_all(const char *root, struct recorded *r, struct error *e);

#endif
