/* The launch file of a kernel (docs/launch-file.md): read, validated, and evaluated for a shape. Unknown keys,
 * duplicate keys, wrong types and bad expressions are errors "FILE:LINE:COLUMN: message" with the line and a caret. */
#ifndef GPU_SPEC_H
#define GPU_SPEC_H

#include "../ref/error.h"
#include "../ref/split.h"
#include "expr.h" /* struct shape, struct spec_expr */
#include "launch.h"
#include "spec_planes.h"
#include "yaml.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spec_fill { FILL_NONE, FILL_RANDOM, FILL_IOTA, FILL_ZERO, FILL_FILE };

/* The first four declare a buffer; ARG_BUFFER hands over one that is declared elsewhere. */
enum spec_arg_kind { ARG_IN, ARG_OUT, ARG_INOUT, ARG_SCRATCH, ARG_BUFFER, ARG_SCALAR, ARG_STRUCT };

struct spec_arg {
    enum spec_arg_kind kind;
    char *name; /* buffer name, unique; for a scalar the type's name, for a struct "struct" */
    /* buffers */
    size_t buffer;           /* index into the spec's buffers */
    char *format;            /* of an operand or result of the contract: a format's name; NULL for plain buffers */
    char *type;              /* element type of a plain buffer: i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 */
    size_t type_bytes;       /* of a plain element or of a scalar: 1, 2, 4 or 8 */
    struct spec_expr *count; /* elements of a plain buffer, NULL: the contract says */
    enum spec_fill fill;     /* of an operand of the contract: FILL_NONE, made by ref/, or FILL_FILE */
    char *fill_path;         /* FILL_FILE: ready to open (the launch file's folder is in it) */
    char *fill_sha256;       /* FILL_FILE: 64 lower-case hex digits, or NULL */
    char *expect_path;       /* file of right bytes, ready to open, or NULL */
    /* scalars */
    struct spec_expr *value; /* integer types; NULL for f32 and f64 */
    uint64_t bits;           /* f32 and f64: the literal, rounded to nearest even; see spec_scalar */
    /* structs by value, and what lies in them */
    struct spec_arg *fields; /* (field_count) scalars and structs; type_bytes is the size of the whole */
    size_t field_count;
    size_t alignment, offset; /* as in C; offset: of a field in its struct */

    int line;                     /* of the launch file */
    const struct yaml_node *node; /* for yaml_fail(spec->doc, node, 0, ...) */
};

struct spec_plane {
    char *name; /* unique */
    struct spec_expr *bytes;
    struct spec_expr *row, *stride; /* both or neither: row bytes and pitch, for the layout proofs */
    struct spec_content content;
};

struct spec_count {
    char *name; /* "mma", unique */
    struct spec_expr *value;
};

struct spec_published { /* a count that somebody published of the same work; `warpproof census --table` */
    char *by;           /* whose, one line */
    char **of;          /* (of_count) names of counts (gpu/census.h), added up */
    size_t of_count;
    struct shape_value shape[3]; /* (shape_count) of the launch that is counted here; names are static */
    size_t shape_count;
    double times, per; /* the sum is multiplied and divided by these to be what was published */
    char *per_count;   /* and divided by this count, or NULL */
    double value;
    char *text;    /* value, as written; what is counted here must equal it in so many digits ... */
    int digits;    /* (1 .. 17) significant ones of text */
    char *differs; /* ... or must not, for this reason; or NULL */
    const struct yaml_node *node;
};

/* A launch file, or one entry of its `then`: of that entry, launch, args, planes and counts are its own, doc, path,
 * kernel, contract and buffers the file's, and the rest is empty. */
struct spec {
    char *path; /* of the launch file */
    struct yaml_doc
        *doc; /* the file, for complaints found later: yaml_fail(doc, yaml_get(doc->root, "contract"), 0, ...) */
    char *kernel;
    char *about; /* one line for people, or NULL */
    char *rung;  /* of the ladder that it belongs to, a word: "r12"; or NULL */
    bool
        evidence_required; /* `evidence: required`: without a recorded run on a GPU `warpproof evidence check` is red */
    char *source;          /* file name of the .cu beside the launch file, or NULL */
    char *ptx;             /* path of the PTX text: given, or derived from source: fixtures/ptx/<stem>.ptx under root */
    char *cubin;           /* path of the same program as a cubin, for a real GPU, or NULL */
    char *entry;
    char *contract;         /* name of a contract that exists and whose formats the arguments have, or NULL */
    struct split split;     /* of the contract's sums */
    bool operands_in_files; /* all operands of the contract have FILL_FILE */
    struct spec_expr **needs;
    size_t need_count;
    struct spec_expr *grid[3], *block[3]; /* missing dimensions are NULL: 1 */
    struct spec_expr *shared;             /* dynamic bytes, NULL: 0 */
    struct spec_expr *steps;              /* step budget a block, NULL: default */
    struct spec_arg *args;
    size_t arg_count;
    struct spec_arg *declared; /* (declared_count) buffers that `args` does not declare: the key `buffers` */
    size_t declared_count;
    const struct spec_arg **buffers; /* (buffer_count) all declarations: those of args, then those of `buffers` */
    size_t buffer_count;
    struct spec *then; /* (then_count) the launches that follow in the same stream */
    size_t then_count;
    const struct yaml_node *node; /* what all that stands in */
    struct spec_plane *planes;
    size_t plane_count;
    struct spec_stages stages;
    struct spec_mma mma;
    struct spec_count *counts;
    size_t count_count;
    struct spec_published *published;
    size_t published_count;
    struct shape_value *defaults; /* `shape: {n: 1000}`: values for `run` without --set; names owned by the spec */
    size_t default_count;
};

/* root: the project folder that fixtures/ptx is under. On failure NULL and a message with a caret. The files a launch
 * file names are not opened. */
struct spec *spec_load(const char *path, const char *root, struct error *e);
/* The same of a text that stands in for the file's own: a launch file with a planted fault. */
struct spec *spec_load_text(const char *path, const char *text, const char *root, struct error *e);
void spec_free(struct spec *s); /* NULL is fine */
/* Its PTX, parsed. A file that cannot be read is an error at the place that names it. */
struct ptx_module *spec_module(const struct spec *s, struct error *e);

/* Value of an expression for a shape. Fails with file:line:col and a caret on an unknown name, division by zero
 * or overflow of int64. Comparisons give 1 or 0. */
bool spec_eval(const struct spec_expr *x, const struct shape *shape, int64_t *value, struct error *e);
/* The same, and a value outside [min, max] is an error: for counts, grids, bytes. */
bool spec_eval_within(const struct spec_expr *x, const struct shape *shape, int64_t min, int64_t max, int64_t *value,
                      struct error *e);
const char *spec_expr_text(const struct spec_expr *x); /* as written */

/* Bits of a scalar argument for a shape, low bytes first, as struct launch_arg takes them. A value that the type
 * cannot hold is an error. u64 reaches INT64_MAX only: expressions are int64. */
bool spec_scalar(const struct spec_arg *a, const struct shape *shape, uint64_t *bits, struct error *e);

/* A struct by value, as struct launch_arg takes it. Its members are the caller's, who frees them also on failure. */
bool spec_struct(const struct spec_arg *a, const struct shape *shape, struct launch_arg *arg, struct error *e);

/* The first `needs` line that is false for the shape: *unmet = its text, else NULL. False only on an error. */
bool spec_needs(const struct spec *s, const struct shape *shape, const char **unmet, struct error *e);

/* True when some expression of the spec uses the name. */
bool spec_uses(const struct spec *s, const char *name);

#endif
