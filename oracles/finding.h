/* What a judge says about one launch, and what a verdict means for the exit code. */
#ifndef ORACLES_FINDING_H
#define ORACLES_FINDING_H

#include "lane_map.h"
#include "wrong_map.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict { /* closed set; the order is the order of precedence, worst last */
               VERDICT_PASS,
               VERDICT_SKIPPED,
               VERDICT_UNTESTED,
               VERDICT_APPROXIMATE,
               VERDICT_UNWRITTEN,
               VERDICT_DIFFERS,
               VERDICT_HAZARD,
               VERDICT_GUARD,
               VERDICT_LAUNCH,
               VERDICT_INPUT,
               VERDICTS,
};

const char *verdict_name(enum verdict v);              /* "PASS" ... */
bool verdict_named(const char *name, enum verdict *v); /* false when it is none */
bool verdict_is_wrong_kernel(enum verdict v);          /* exit 1: UNWRITTEN DIFFERS HAZARD GUARD LAUNCH APPROXIMATE */

/* A place in the launch. Fields that do not apply: NULL, -1 or has_... false. Texts are owned by the finding unless
 * said otherwise. */
struct where {
    char *buffer;               /* buffer or plane */
    int64_t offset;             /* byte in it, may be negative (before its start) */
    int64_t cell[2];            /* token and row, token and value, or element and -1; -1 when unknown */
    const char *axis[2];        /* what cell[] counts: "token", "row"; static */
    bool has_thread, has_block; /* the latter: the block is known, the thread is not */
    uint32_t block[3], warp, lane;
    char *file; /* source file, NULL when the PTX has no line info */
    int line;
    char *inlined_file; /* of the call that `file` was inlined into, NULL when there is none */
    int inlined_line;
    int ptx_line;      /* 0 when unknown */
    uint64_t place;    /* of ptx_instruction: the same for what was unrolled or cloned of one place; 0: unknown */
    char *instruction; /* text of the PTX instruction, or NULL */
    size_t launch;     /* of several, the one that did it, from 1; 0: there is one */
};

#define FINDING_LINES 9

struct finding {
    const char *oracle; /* static */
    enum verdict verdict;
    const char *cause;   /* one word for the kind of mistake, static; findings of one judge and one cause may be one
                          * mistake. NULL: the judge tells no kinds apart */
    uint64_t extent;     /* accesses, bytes, registers, sums or cells that it tells of; 0: not counted */
    bool missing;        /* some of them were never stored */
    bool unordered_load; /* what a load of shared memory gives depends on an order that nothing fixes */
    struct where where;
    struct where *other; /* of a race: the place of the other access, owned; else NULL */
    bool has_values;
    unsigned value_bytes; /* 1 .. 8 */
    bool value_is_float;  /* f32 bits: shown as a number as well */
    uint64_t want, got;
    char *summary;  /* one line */
    char *suspects; /* likely mistakes, one line, or NULL */
    struct {
        const char *label; /* static, at most 7 characters: "first", "shape", "probe" */
        char *text;
    } lines[FINDING_LINES]; /* the lines of the failure message, in order */
    size_t line_count;
    struct {
        uint32_t lanes, at[32]; /* shared addresses; lanes 0: not known */
        unsigned bytes;         /* of one lane */
    } shared;                   /* the access of the warp at `where` */
    struct wrong_map *wrong; /* of parity and of what is not written: which cells of where.buffer, else NULL; owned */
    struct lane_map *lanes;  /* of a fragment's fault, else NULL; owned */
};

struct findings {
    struct finding *items; /* owned */
    size_t count;
    char **notes; /* owned: what is worth a word and is no fault, one line each */
    size_t note_count;
};

void where_free(struct where *p); /* its texts */

/* Appends an empty finding of that oracle and verdict and returns it for filling; never NULL. */
struct finding *findings_add(struct findings *f, const char *oracle, enum verdict v);
/* Adds a line of the failure message. Lines past FINDING_LINES are a programming error and abort. */
void finding_line(struct finding *f, const char *label, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Adds a note; it changes no verdict. */
void findings_note(struct findings *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
enum verdict findings_worst(const struct findings *f); /* VERDICT_PASS when empty */
/* The first finding of the worst verdict, or NULL when there is none. */
const struct finding *findings_first(const struct findings *f);
void findings_free(struct findings *f);

#endif
