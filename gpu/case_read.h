/* Shared by the readers of a cases file; nothing outside case_file.c and case_raw.c needs it. */
#ifndef GPU_CASE_READ_H
#define GPU_CASE_READ_H

#include "case.h"

/* A case with what is needed to sort it and to complain about it. */
struct entry {
    struct test_case c;
    size_t kernel;   /* index into list->kernels */
    size_t sequence; /* number of the case in the order of the files */
    bool lattice;    /* from the folder `all`; a quick case of the same id goes before */
    const struct yaml_doc *doc;
    const struct yaml_node *node;
};

struct loader {
    const char *root, *models;
    struct case_list *list;
    struct entry *entries; /* own their ids until they move into the list */
    size_t entry_count, entry_room;
    struct yaml_doc **docs;
    size_t doc_count;
    bool lattice; /* the files of the folder `all` are being read */
    struct error *e;
};

struct numbers {
    int64_t *values;
    size_t count;
};

/* One file, read but not yet multiplied out. */
struct cases_file {
    const struct yaml_doc *doc;
    const struct yaml_node *shapes, *real, *files;
    size_t *kernels; /* (kernel_count) indices into list->kernels */
    size_t kernel_count;
    bool weights, quantisers; /* some kernel has weights; some has none */
    struct numbers nt, od, id, seeds;
    bool data[DATA_CLASSES];
    bool generated; /* `data` is given */
    struct case_model *model;
    const char *tensors; /* glob, lives in doc */
};

/* A plain file name: it cannot lead out of its folder, and prints as it is. */
bool read_file_name(struct loader *l, const struct yaml_doc *doc, const struct yaml_node *node, const char *what,
                    const char **name);
/* Adds the case for a kernel (an index into list->kernels), which gives it spec, contract and id. node: what to
 * complain about. */
bool add_case(struct loader *l, const struct cases_file *f, size_t kernel, const struct yaml_node *node,
              struct test_case c);

/* case_raw.c: the cases of the key `files`, if it is there. */
bool add_files(struct loader *l, const struct cases_file *f);

#endif
