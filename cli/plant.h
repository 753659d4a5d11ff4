/* Planted faults: fixtures/plants/NAME.yaml names the kernel, the PTX that was built with the fault of NAME.patch, and
 * the oracle that must name it. */
#ifndef CLI_PLANT_H
#define CLI_PLANT_H

#include "../oracles/finding.h"
#include "../ref/error.h"

struct plant {
    char *name, *about, *kernel;
    char *ptx; /* path, resolved against the folder of the yaml file */
    char *oracle;
    enum verdict verdict;
};

/* Fails with file:line:column on a bad file, and plainly when there is none of that name. */
bool plant_load(const char *root, const char *name, struct plant *p, struct error *e);
void plant_free(struct plant *p);
/* Names of all plants, sorted; count in *n; free each and the list. */
char **plant_names(const char *root, size_t *n);

#endif
