/* The judges. One judge is one file that defines `const struct oracle oracle_<name>` and one row of the table in
 * oracle.c. A judge looks at what a launch left behind; it never runs anything. */
#ifndef ORACLES_ORACLE_H
#define ORACLES_ORACLE_H

#include "../gpu/census.h"
#include "../ref/contract.h"
#include "finding.h"

/* A launch of a launch file that was run. Of several, all have the same buffers. */
struct launch_run {
    const struct launch *launch;
    const struct trace *trace;
    size_t number, all; /* launch 1 .. all of its file */
    bool complete;      /* it ran to its end */
};

/* The same launch, run once more in another order (gpu/launch.h). */
struct schedule_run {
    char name[SCHEDULE_NAME];
    const struct launch *launch; /* its buffers hold what the kernel left in that run */
    const struct trace *trace;
    bool complete;
    const struct launch_run *before; /* (before_count of the evidence) in that order */
};

struct plain_run { /* what the plain build left of the launches that a canary build (gpu/canary.h) has run */
    const uint8_t *const *bytes; /* (buffer_count) of each buffer after the last launch, of the same sizes */
    bool complete;               /* it ran to its end */
};

struct expected_count { /* one of the launch file's `counts`, for this shape */
    const char *name;
    int64_t value;
};

/* One launch that has run, with everything a judge may ask for. Where it is one of several, the buffers hold what all
 * of them left, and those who judge by that do so after the last (`follows`). */
struct evidence {
    const struct launch *launch; /* buffers hold what the kernel left */
    const struct trace *trace;
    const struct contract *contract;          /* NULL: a foreign kernel */
    const struct contract_operands *operands; /* of the contract, else NULL */
    const uint8_t *const
        *expected;               /* (launch->buffer_count) right bytes of each OUT or INOUT buffer, NULL: not known */
    uint32_t poison;             /* the word that fills OUT buffers before the launch */
    bool complete;               /* the launch ran to its end: no trap, deadlock or exhausted budget */
    size_t result;               /* the buffer of the contract's result, SIZE_MAX without one */
    const uint8_t *recorded;     /* what a file says of that result too, NULL: there is none */
    const struct census *census; /* NULL: nothing was counted */
    const struct expected_count *counts; /* (count_count) */
    size_t count_count;
    char schedule[SCHEDULE_NAME];      /* the order of this run */
    const struct schedule_run *others; /* (other_count) the other orders that were run */
    size_t other_count;
    const struct evidence *first;    /* of the first order, where `trace` is the news of one of the others; else NULL */
    const struct launch_run *before; /* (before_count) the launches of the same file that were run before this one */
    size_t before_count;
    const struct plain_run *plain; /* of a canary build; else NULL */
    size_t number, all;            /* this is launch `number` of `all`; 0: the file has one */
    bool follows;                  /* another one was run after it */
};

enum ruling { /* what a judge did with the evidence */
              RULING_CLEAN,
              RULING_FOUND,
              RULING_NOT_JUDGED, /* it had nothing to judge by (no contract, no line of the launch file ...) */
};

struct oracle {
    const char *name;  /* "parity" */
    const char *about; /* one line for `warpproof list oracles` */
    bool on_request;   /* judges only when asked to: a report does not mention that it did not */
    uint32_t watches;  /* what it judges by (enum watch): without all of these not at all, without some in part; 0: by
                        * other things */
    enum ruling (*judge)(const struct evidence *e, struct findings *out);
};

extern const struct oracle *const oracles[]; /* in the order they judge, ended by NULL */
#define ORACLES_MAX 16

/* Fills block, warp, lane of a place from a cell writer, and file, line, text from a trace site. */
void where_writer(struct where *p, const struct launch *l, const struct trace *t, const struct cell_writer *w);
/* "block (0,0,1) warp 2 lane 3 at gpu/kernels/x.cu:143"; the caller frees it. */
char *writer_text(const struct launch *l, const struct trace *t, const struct cell_writer *w);
void where_site(struct where *p, const struct trace *t, size_t instruction);
/* Two instructions (indices into the sites) are one, or stand in one source line. */
bool trace_same_line(const struct trace *t, size_t a, size_t b);
/* Two instructions are one, or one operation at one place in the source: line, column and every call that it was
 * inlined at. Unrolled code has several of these; two calls of one inlined function are two places. */
bool trace_same_place(const struct trace *t, size_t a, size_t b);
/* "gpu/kernels/x.cu:143", or "PTX line 88" without line info, in a static thread-local buffer. */
const char *where_text(const struct where *p);

/* Appends the finding of event number i of the trace: summary (taken over), suspects, the thread and instruction as
 * `where`, and the lines `<oracle> summary`, `by block warp lane`, `site file:line instruction`. Unrolled code makes
 * several instructions of one source line: they are one finding, the first event's. */
struct finding *finding_of_event(struct findings *out, const char *oracle, enum verdict v, const struct evidence *e,
                                 size_t i, char *summary, const char *suspects);
/* What an instruction does to memory: "store", "load", "copy" (cp.async), "atomic"; and "4-byte store", which the
 * caller frees. */
const char *access_word(const struct trace *t, size_t instruction, bool store);
char *access_text(const struct evidence *e, size_t instruction, size_t bytes, bool store);
/* The program has an mma or loads matrices for one: fragments, whose mistakes make patterns of their own. */
bool evidence_fragments(const struct evidence *e);
/* An earlier event has the same kind, plane, buffer or variable and source line, so the finding is made already. */
bool event_repeats(const struct evidence *e, size_t i);

/* What the cells of a buffer are called: token and row for a matrix result, element otherwise. cell[] and axis[] of p.
 */
void where_cell(struct where *p, const struct evidence *e, size_t buffer, size_t cell);

/* The first n (at most 8) bytes as a number, low bytes first; as text, an f32 with its value; the caller frees it. */
uint64_t cell_value(const uint8_t *bytes, size_t n);
char *cell_text(uint64_t v, unsigned bytes, bool is_f32);

/* How many bytes of a cell of an OUT buffer the launch left unwritten; where stores are not counted all of them, when
 * poison fills the cell, or none; poison that is the right value (quants can be any four bytes) counts as written. */
size_t evidence_unwritten(const struct evidence *e, size_t buffer, size_t cell);

/* The launch that stored a cell last: e's own, or one before it. False: none did, or nobody counted stores. */
bool evidence_store(const struct evidence *e, size_t buffer, size_t cell, struct launch_run *by);
/* The same of another order. */
bool schedule_store(const struct evidence *e, const struct schedule_run *o, size_t buffer, size_t cell,
                    struct launch_run *by);

/* The launch executed an instruction without a bit-exact model: equal or not, its bits prove nothing. */
bool evidence_approximate(const struct evidence *e);

#endif
