/* The cases of fixtures/cases: which kernels run on which shapes with which data.
 *
 *   kernels: [mmq_wide_ldb_kd8]                 # gpu/kernels/NAME.yaml
 *   shapes: {nt: [1, 33], od: [70], id: [512]}  # their product; od only where a kernel has weights
 *   data: [exact, coded, adv, rand]             # generated classes, and for these:
 *   seeds: [1]
 *   real: {model: NAME.gguf, tensors: "*"}      # a file of the models folder; its tensors of the contract's weight
 *                                               # format that match the glob give od and id. A quantiser takes no
 *                                               # `tensors`, and its id from shapes
 *
 *   files:                                      # raw files that another program dumped, relative to the cases file
 *     - {name: NAME, nt: 128, od: 128, id: 512, weight: {file: w.bin, sha256: HEX}, activation: {file: x.bin},
 *        expect: {file: y.bin}}                 # sha256 and expect may be left out; a quantiser has no weight and od
 *
 * The id of a case is a path, and all that its data depend on:
 *
 *   q4_K/pad40/mmq_wide_ldb_kd8/nt33.od70.id512/adv/s1       weight and activation, kernel, shape, class, seed
 *   f32/pad40/quantize_pad40/nt33.id512/adv/s1               a quantiser: activation and result
 *   q4_K/pad40/mmq_wide_ldb_kd8/nt33.od640.id1024/real/gemma-3-270m-q4_k_m/blk.0.attn_output.weight
 *   f32/pad40/quantize_pad40/nt33.id640/real/gemma-3-270m-q4_k_m
 *   q4_K/pad40/mmq_wide_ldb_kd8/nt33.od70.id512/file/NAME */
#ifndef GPU_CASE_H
#define GPU_CASE_H

#include "operands.h"
#include "spec.h"

struct case_model { /* a GGUF file that some cases read */
    char *name;     /* "gemma-3-270m-q4_k_m.gguf" */
    char *path;
    struct gguf_file *file; /* NULL: the file is absent or cannot be read, and there are no cases of it */
    char *why;              /* why it cannot be read; NULL: it was read, or is absent */
    size_t cases;
};

struct case_files { /* one entry of `files` */
    char *name;
    struct {
        char *path, *sha256; /* NULL: none */
    } weight, activation, expect;
};

struct test_case {
    char *id;
    const struct spec *spec;
    const struct contract *contract;
    size_t nt, od; /* tokens, output rows (0 for a quantiser) */
    size_t depth;  /* `id` of the shape: values a row */
    enum data_class data;
    int64_t seed;                     /* 0 in classes real and file */
    const struct case_model *model;   /* class real, else NULL */
    const struct gguf_tensor *tensor; /* class real with weights, else NULL */
    const struct case_files *files;   /* class file, else NULL */
};

struct case_list {
    struct test_case *cases; /* by kernel in the order the files name them, then shape, class, seed; real ones last */
    size_t count;
    struct spec **kernels;
    size_t kernel_count;
    struct case_model **models;
    size_t model_count;
    struct case_files **files;
    size_t files_count;
};

#define CASE_LIMIT ((size_t)1 << 20)

/* Reads every *.yaml of a folder in the order of their names; with `whole` those of its folder `all` as well, the edge
 * lattice of every kernel, where a case that stands in the folder already is left out. root: the project folder, with
 * gpu/kernels; models: the folder of the GGUF files. Errors point into the file: unknown keys, missing kernels and
 * kernels without a contract, shapes that break a kernel's needs or are too large, a glob that no tensor matches, two
 * cases of one id, more than CASE_LIMIT cases. On failure *list is empty. A model that is absent is no error. Nor is
 * one that cannot be read (memory, permission, a damaged file, no embedding to make activations from): other cases do
 * not need it. But whoever asks for its cases must be told: `gate` without a pattern, or with one that selects nothing,
 * says `why` and exits 2; `list cases` lists the cases there are, says `why` beside them, and exits 2 when a pattern
 * selects nothing or there is nothing to list. */
bool case_list_load(const char *folder, const char *root, const char *models, bool whole, struct case_list *list,
                    struct error *e);
void case_list_free(struct case_list *list);

/* chosen[i] = whether some pattern selects case i; without patterns all are. A pattern selects the case whose id it is;
 * else, when it has one of * ? [, the ids that match it as a glob, where * also matches '/'; else the ids it is part
 * of. The empty pattern selects nothing. *missed = the first pattern that selects nothing, else NULL. Returns how many
 * are chosen. */
size_t case_select(const struct case_list *list, const char *const *patterns, size_t pattern_count, bool *chosen,
                   const char **missed);

/* What its operands are made of. */
void case_request(const struct test_case *c, struct operands_request *r);
/* The operands of a case, a function of its id (and of the model's or the files' bytes). */
bool case_operands(const struct test_case *c, struct operands *o, struct error *e);

/* The shape as expressions see it: nt, od (not for a quantiser), id. */
struct shape case_shape(const struct test_case *c, struct shape_value values[3]);

#endif
