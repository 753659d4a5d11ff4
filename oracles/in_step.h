/* Two builds of one kernel on the same operands, step by step on the PTX machine: the first step after which they
 * differ. A is run and a digest of each step is kept; B is run and held to it; A is run again for its values.
 *
 * gpu/aligned.h says which instruction of B is which of A. Each warp is compared by itself, in the order of its own
 * steps, in one of two ways:
 *   in step      as long as it executes the same instructions, those that one program has alone left out: every result
 *                of every lane, by its place in the instruction, and of every store its address and value;
 *   after that   (it has `parted`: a branch went another way, or a body is there more often) results of mma and of
 *                ldmatrix, values stored to shared memory, values and addresses of other stores, each in order; one
 * that A has elsewhere in the warp's order only moved, and is no difference. And at the end the bytes of every buffer
 * that the launch may write. They are what decides: builds that come to the same bytes may have other registers on the
 * way. Only where the programs are one sequence of opcodes whose registers correspond one to one a step that differs
 * says by itself that they do. */
#ifndef ORACLES_IN_STEP_H
#define ORACLES_IN_STEP_H

#include "../gpu/aligned.h"
#include "trial.h"

enum difference_kind {
    DIFFERENCE_REGISTER, /* of any other instruction */
    DIFFERENCE_LDMATRIX,
    DIFFERENCE_MMA,
    DIFFERENCE_SHARED, /* a store to shared memory */
    DIFFERENCE_STORE,  /* any other store */
    DIFFERENCES,
};
extern const char *const difference_names[DIFFERENCES]; /* "register", "ldmatrix result" ... */

struct in_step_side {                   /* of A or B */
    bool present;                       /* false: it has no such step */
    bool executed;                      /* by the lane at hand */
    const struct ptx_instruction *text; /* the module's */
    const char *name;                   /* the register; NULL: a literal. The module's */
    uint64_t value;                     /* or the address */
};

struct difference {
    bool found;
    size_t launch; /* from 1 */
    uint32_t block[3], warp, lane;
    uint64_t step;   /* of B's warp in its block, from 0 */
    unsigned bits;   /* of the value: 1, 32 or 64 */
    bool is_address; /* of a store: values are those of the address */
    bool apart;      /* the warp's programs had parted */
    uint32_t lanes;  /* in which it differs */
    struct {
        uint32_t executed; /* lanes */
        uint64_t values[32];
    } of[2]; /* of each lane what side has of this one */
    struct in_step_side side[2];
    enum aligned_how how; /* of the pair; parted: ALIGNED_ALONE */
};

enum { CAUSES = 3 };
struct in_step_cause {                  /* an instruction of one program that the other has not, or not so */
    const struct ptx_instruction *text; /* the module's */
    enum aligned_how how;
};
struct in_step_causes { /* of the first difference of all, or where there is none of the parting or the output; nearest
                         * first; without the first difference itself */
    struct in_step_cause at[2][CAUSES];
    size_t count[2];
    enum {
        CAUSE_OPERANDS,
        CAUSE_MEMORY,
        CAUSE_NEAR,
        CAUSE_CONTROL,
        CAUSE_EFFECT
    } by; /* what it reads comes from them; they store, copy, wait or synchronise; they are the last ones before it;
           * they decide which lanes execute it; no step differs, and they access memory or synchronise */
};

struct parting { /* where the first warp goes on by other instructions */
    bool found;
    size_t launch;
    uint32_t block[3], warp;
    uint64_t step;
    struct in_step_side side[2]; /* text alone; absent: the warp has no step more */
};

struct output_difference { /* of the first buffer that differs its first cell */
    const char *buffer;    /* NULL: all bytes are equal */
    uint64_t cells, wrong; /* of this buffer */
    uint64_t cell;
    size_t cell_bytes; /* more than 8: the values are those of the first 8 bytes that differ */
    bool is_f32;
    uint64_t offset, value[2];
    struct {
        bool stored; /* somebody stored it; the last one: */
        uint32_t block[3], warp, lane;
        const struct ptx_instruction *text;
    } by[2];
};

struct in_step {
    const struct ptx_module *modules[2];
    bool ran[2];                   /* its launches ran to their ends */
    bool judged_apart;             /* the verdicts differ: the caller says so, once both were judged */
    uint64_t steps, together;      /* of B, that were compared; of those in step */
    uint64_t warps, parted;        /* of all blocks */
    struct aligned_counts aligned; /* of what the launches may execute */
    bool exact;                    /* a step that differs is a difference of the programs */
    bool too_far;                  /* more stands between two anchors than is paired */
    struct difference first[DIFFERENCES];
    int earliest; /* the kind of the first difference of all, or -1 */
    struct parting parting;
    struct in_step_causes causes;
    struct output_difference output;
};

/* Runs both; a and b: the same but for the module (and threads, runner and schedules, which do not count: the machine
 * runs them, in order, one thread). *out points into the modules and the launch file. Fails on what cannot be run, and
 * where there are more than IN_STEP_MOST steps to keep. */
bool in_step_run(const struct trial *a, const struct trial *b, struct in_step *out, struct error *e);

#define IN_STEP_MOST (UINT64_C(1) << 23)

enum in_step_verdict {
    IN_STEP_SAME,    /* the output is equal, and so is every step that was compared */
    IN_STEP_DIFFERS, /* the verdict, the output, or, of programs that are exact, a step; or one of them alone runs to
                        its end */
    IN_STEP_CANNOT_JUDGE, /* the output is equal, a step is not, and that may be the builds' own affair */
};
enum in_step_verdict in_step_verdict(const struct in_step *x);

#endif
