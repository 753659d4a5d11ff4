/* Planted faults. Each says which oracle must name it with which verdict, and of which entries of the catalogues of
 * real faults it is (docs/plants.md).
 *
 *   kernel   fixtures/plants/NAME.yaml: a fault of one of our kernels, as the PTX that was built with NAME.patch; it
 *            stands in for the kernel in the cases
 *   canary   those of group kernel that say `canary`, as their canary builds (gpu/canary.h)
 *   edit     fixtures/plants/edit/NAME.yaml: other words in the launch file of one of our kernels, or in its PTX
 *   machine  fixtures/plants/machine/NAME.yaml: a small kernel with the fault, and its clean twin */
#ifndef CLI_PLANT_H
#define CLI_PLANT_H

#include "../gpu/expr.h"
#include "../gpu/launch.h"
#include "../gpu/ptx/ptx.h"
#include "../gpu/spec.h"
#include "../oracles/explain.h"
#include "../ref/error.h"

enum plant_group { PLANT_KERNEL, PLANT_CANARY, PLANT_EDIT, PLANT_MACHINE, PLANT_GROUPS };
extern const char *const plant_group_names[PLANT_GROUPS]; /* "kernel", "canary" .. */

struct plant_edit {
    bool in_ptx;          /* else in the launch file */
    char *text, *becomes; /* text: not empty; becomes: may be */
    size_t times;         /* that it stands there, >= 1 */
};

struct plant {
    enum plant_group group;
    char *name, *about;
    char *oracle;
    enum verdict verdict;
    char *says;  /* a part of what the oracle must say, or NULL; not NULL for oracle "input", which refuses to run */
    char **from; /* (from_count) entries of the catalogues, each once: "C17", "B102" */
    size_t from_count;
    char *kernel;        /* all but PLANT_MACHINE */
    char *cases;         /* likewise: glob of the ids that show the fault; NULL: any of the kernel's */
    char *ptx;           /* PLANT_KERNEL, _CANARY: path, resolved against the folder of the yaml file */
    bool stages[STAGES]; /* PLANT_KERNEL: those that `explain` must find wrong, and no others; none: not said */
    bool has_canary;     /* PLANT_KERNEL: it has a canary build as well, of which oracle canary must say so */
    enum verdict canary;
    struct plant_edit *edits; /* PLANT_EDIT: (edit_count), at least one */
    size_t edit_count;
    /* PLANT_MACHINE: the launch file of the fault, resolved likewise, and what the clean twin has instead */
    char *launch, *clean_entry;
    char **clean_then; /* (clean_then_count) entries of the launches that follow; 0: those of the launch file */
    size_t clean_then_count;
    struct shape_value *clean_shape; /* (clean_shape_count) names owned */
    size_t clean_shape_count;
    const struct arch *arch; /* NULL: the default */
};

/* Fails with file:line:column on a bad file, and plainly when there is none of that name. Never PLANT_CANARY. */
bool plant_load(const char *root, const char *name, struct plant *p, struct error *e);
/* A plant that has a canary build, as that: oracle canary must name it. */
void plant_as_canary(struct plant *p);
void plant_free(struct plant *p);
/* *m = the PTX of the plant of that name, which must be one of this kernel, or with NULL the kernel's own. *plant is
 * the caller's to free, also after a failure; empty without a name. */
bool plant_program(const char *root, const char *name, const struct spec *spec, struct plant *plant,
                   struct ptx_module **m, struct error *e);
/* Names of a group's plants, sorted; count in *n; free each and the list. A file that cannot be read is of its folder's
 * group, and of PLANT_CANARY never. */
char **plant_names(const char *root, enum plant_group group, size_t *n);

/* The launch file and the PTX of the kernel that a plant of PLANT_EDIT changes, the kernel's own being s and `own`:
 * edited and read; *spec and *module are the caller's. Fails where a text does not stand there as often as the plant
 * says, and where what it becomes cannot be read; then both are NULL. */
bool plant_edited(const struct plant *p, const struct spec *s, const struct ptx_module *own, const char *root,
                  struct spec **spec, struct ptx_module **module, struct error *e);

#endif
