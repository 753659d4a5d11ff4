/* The PTX machine against an independent evaluation, and against bytes of a real GPU, instruction by instruction.
 *
 * A form is an instruction with all its modifiers: one row of a table in forms_*.c, in the notation of
 * tests/independent/unit.h, stands for many forms: <a,b> for each of these (one of them may be nothing), #1 for what
 * the first such group of the row stands for here. Of each form a kernel is made: thread i loads its operands from
 * buffers, executes the instruction, and stores its results. */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include "../../gpu/launch.h"
#include "../independent/unit.h"

/* True where the bits of a vector are left open: several results are right. */
typedef bool open_bits(const struct unit_form *f, const uint64_t in[UNIT_INPUTS]);

struct row {
    const char *code;   /* what is executed */
    const char *model;  /* what is evaluated, when it is not the code: the same operands in the same order */
    const char *module; /* module-level PTX that the code needs */
    const char *note;   /* why bits are left open */
    open_bits *open;    /* where altogether */
    unsigned units;     /* and elsewhere within so many of the last place of a binary32; 0: not at all */
};

struct family {
    const char *name;
    const struct row *rows; /* ended by a row without code */
};
extern const struct family families[]; /* ended by one without a name */

struct form {
    char *text, *module; /* owned */
    const struct family *family;
    const struct row *row;
    struct unit_form read;
    size_t vectors; /* threads */
    unsigned block;
};

struct form_list {
    struct form *forms;
    size_t count;
};
/* All forms whose text matches the pattern (NULL: all). Dies, naming the row, of a row that cannot be read. */
struct form_list forms_open(const char *pattern);
void forms_close(struct form_list *list);

/* The results of a vector may differ as these do. */
bool form_excuses(const struct form *f, const uint64_t in[UNIT_INPUTS], const uint64_t *want, const uint64_t *got);

/* ---- kinds.c: operands ---- */

enum values {
    VALUES_INTEGER,
    VALUES_FLOAT,
    VALUES_COUNT,
    VALUES_FIELD,
    VALUES_ROW,
    VALUES_FEW,
    VALUES_PREDICATE,
    VALUES_LANE,
    VALUES_CLAMP,
    VALUES_SIZE
};
struct operand_kind {
    const char *name;
    char reg; /* h 16 bits, r 32, l 64, f f32, d f64, p predicate */
    unsigned bits;
    enum values values;
    const struct unit_format *format; /* of floats */
    unsigned packed, limit;
};
const struct operand_kind *kind_named(const char *name);

/* ---- vectors.c ---- */

/* in[k * vectors + i] = operand k of vector i: the edges of all operands against one another, then random ones. A
 * function of the form's text alone. */
void vectors_make(const struct form *f, uint64_t *in);

/* ---- emit.c ---- */

/* The kernel `form` of a form; parameters: in, out, scratch (16 bytes a vector and memory). The caller frees it. */
char *emit_form(const struct form *f);

/* ---- run.c ---- */

/* out[k * vectors + i] = result k. path: where the PTX text is kept for a runner that reads it there, or NULL. False:
 * the form does not run, e says why. event: "" or what the machine reported. */
bool run_form(const struct form *f, const struct runner *runner, const char *path, const uint64_t *in, uint64_t *out,
              char event[128], struct error *e);
/* The same by the independent rules. */
void evaluate_form(const struct form *f, const uint64_t *in, uint64_t *out);
uint64_t result_mask(const char *kind);

/* ---- golden.c ---- */

/* 8 bytes of SHA-256 */
uint64_t operands_digest(const struct form *f, const uint64_t *in);
uint64_t results_digest(const struct form *f, const uint64_t *out);

struct golden;
enum { GOLDEN_VECTORS = 256 };
/* Bytes measured on a GPU: folder/index.tsv and folder/results.bin.zz. NULL with "" in e: there are none. */
struct golden *golden_open(const char *folder, struct error *e);
void golden_close(struct golden *g);
const char *golden_about(const struct golden *g);
enum golden_verdict { GOLDEN_NONE, GOLDEN_EQUAL, GOLDEN_STALE, GOLDEN_DIFFERS };
/* Compares results with the kept ones: all vectors by their digest, the first GOLDEN_VECTORS by their bytes. first: the
 * first that differs, or f->vectors when the digest alone does; differ: how many of the kept ones. */
enum golden_verdict golden_compare(const struct golden *g, const struct form *f, const uint64_t *in,
                                   const uint64_t *out, size_t *first, size_t *differ, uint64_t *want);
struct recording;
struct recording *recording_open(const char *folder, const char *about, struct error *e);
/* first = the results of `out` that are kept: (results, at most GOLDEN_VECTORS) */
void recorded_results(const struct form *f, const uint64_t *out, uint64_t *first);
void recording_add(struct recording *r, const struct form *f, uint64_t operands, uint64_t results,
                   const uint64_t *first);
bool recording_close(struct recording *r, struct error *e);

#endif
