/* Planted faults. fixtures/plants/NAME.yaml, group kernel: a fault of one of our kernels, as the PTX that was built
 * with NAME.patch; it stands in for the kernel in the cases. fixtures/plants/machine/NAME.yaml, group machine: a small
 * kernel with the fault, and its clean twin. Each says which oracle must name it with which verdict. */
#ifndef CLI_PLANT_H
#define CLI_PLANT_H

#include "../gpu/expr.h"
#include "../gpu/launch.h"
#include "../oracles/explain.h"
#include "../ref/error.h"

enum plant_group { PLANT_KERNEL, PLANT_MACHINE, PLANT_GROUPS };
extern const char *const plant_group_names[PLANT_GROUPS]; /* "kernel", "machine" */

struct plant {
    enum plant_group group;
    char *name, *about;
    char *oracle;
    enum verdict verdict;
    char *kernel, *ptx;  /* PLANT_KERNEL; ptx: path, resolved against the folder of the yaml file */
    char *cases;         /* PLANT_KERNEL: glob of the ids that show the fault; NULL: any of the kernel's */
    bool stages[STAGES]; /* PLANT_KERNEL: those that `explain` must find wrong, and no others; none: not said */
    bool has_canary; /* PLANT_KERNEL: it has a canary build as well (gpu/canary.h), of which oracle canary must say */
    enum verdict canary;
    /* PLANT_MACHINE: the launch file of the fault, resolved likewise, and what the clean twin has instead */
    char *launch, *clean_entry;
    char **clean_then; /* (clean_then_count) entries of the launches that follow; 0: those of the launch file */
    size_t clean_then_count;
    struct shape_value *clean_shape; /* (clean_shape_count) names owned */
    size_t clean_shape_count;
    const struct arch *arch; /* NULL: the default */
};

/* Fails with file:line:column on a bad file, and plainly when there is none of that name. */
bool plant_load(const char *root, const char *name, struct plant *p, struct error *e);
void plant_free(struct plant *p);
/* Names of a group's plants, sorted; count in *n; free each and the list. */
char **plant_names(const char *root, enum plant_group group, size_t *n);

#endif
