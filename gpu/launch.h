/* A launch: program + grid + shared arena + buffers, and what came of it. The PTX machine and a real GPU both take
 * exactly this (struct runner), so that a case cannot tell them apart. */
#ifndef GPU_LAUNCH_H
#define GPU_LAUNCH_H

#include "arch.h"
#include "probe.h"
#include "ptx/ptx.h"

/* SCRATCH: what launches hand on among themselves; begins as OUT does, none of it has to be written, and it is no part
 * of the result. */
enum buffer_role { BUFFER_IN, BUFFER_OUT, BUFFER_INOUT, BUFFER_SCRATCH };

struct launch_buffer {
    const char *name;
    enum buffer_role role;
    size_t bytes;      /* exact: one byte more is out of bounds */
    size_t cell_bytes; /* unit of coverage: 4 for f32; divides bytes */
    bool is_f32;       /* cells are binary32: reports show them as numbers too */
    uint8_t *data;     /* (bytes) host copy: contents before the launch, and after it unless it is IN. Buffers that
                        * are OUT or SCRATCH arrive filled with poison by whoever set the launch up */
    uint8_t *written;  /* (bytes) of OUT and SCRATCH: not 0 where an earlier launch has stored; NULL: none has */
};

struct launch_member {    /* of a struct by value */
    size_t offset, bytes; /* bytes: 1, 2, 4 or 8; 8 for a buffer */
    int buffer;           /* index into buffers: its address; or -1 */
    uint64_t value;       /* of a scalar, low bytes first */
};

struct launch_arg {
    int buffer;                    /* index into buffers, or -1: a scalar or a struct */
    uint64_t value;                /* of a scalar, low bytes first */
    size_t bytes;                  /* 1, 2, 4 or 8; 8 for a buffer; of a struct the whole, with its padding */
    bool is_float;                 /* a scalar that is a floating-point number */
    struct launch_member *members; /* (member_count) of a struct; NULL: it is none. What lies between them is zero */
    size_t member_count, alignment;
};

struct launch_global { /* a .global variable of the module whose bytes the launch begins with, and is asked for */
    const char *name;
    size_t bytes;  /* all of it */
    uint8_t *data; /* (bytes) its contents before the launch, and after it */
};

struct launch_plane { /* a named part of the dynamic shared arena */
    const char *name;
    size_t offset, bytes;
};

/* What the machine looks for besides the bits; a launch may switch each off. A fault that is not watched is treated as
 * ever (a bad load gives 0xFF bytes, a bad store is dropped), only not reported. */
enum watch {
    WATCH_BOUNDS = 1 << 0,    /* buffers, shared and local memory; stores into inputs */
    WATCH_ALIGNMENT = 1 << 1, /* of every access */
    WATCH_PLANES = 1 << 2,    /* an access site stays in one plane of the arena */
    WATCH_UNINIT = 1 << 3,    /* reads of registers, shared, global and local bytes that nothing has written */
    WATCH_HAZARDS = 1 << 4,   /* accesses of one byte by two threads that nothing orders */
    WATCH_ASYNC = 1 << 5,     /* cp.async: touched before its wait, in flight at the exit */
    WATCH_SYNC = 1 << 6,      /* divergent barriers and warp-wide instructions, absent lanes */
    WATCH_STORES = 1 << 7,    /* who stored each cell of an output, how often, and which values */
    WATCH_ALL = (1 << 8) - 1,
};
enum { WATCHES = 8 };
extern const char *const watch_names[WATCHES]; /* "bounds" ..., by bit */

/* The order in which blocks, warps, lanes of one store, and asynchronous copies take their turns. PTX allows every one.
 */
enum schedule_order { SCHEDULE_IN_ORDER, SCHEDULE_REVERSED, SCHEDULE_RANDOM };
struct schedule {
    enum schedule_order order;
    uint64_t seed;    /* SCHEDULE_RANDOM */
    bool async_early; /* cp.async lands when it is issued; else when it is waited for */
};

/* "in-order", "reversed", "random:SEED": as --schedule takes it. */
#define SCHEDULE_NAME 32
void schedule_name(const struct schedule *s, char name[SCHEDULE_NAME]);

struct launch_options { /* how to run; all zeros: in order, as sm_90 does, all watches on */
    uint32_t unwatched; /* enum watch */
    struct schedule schedule;
    const struct arch *arch;   /* NULL: arch_default */
    bool census;               /* fill trace.counts */
    const struct probe *probe; /* called while the machine runs, or NULL */
    int gpu;                   /* which GPU of this machine runs it (device/device.h), from 0; the machine is none */
};

struct launch {
    const struct ptx_module *module;
    const char *cubin; /* path of the same program built for one architecture, for a real GPU; NULL: the PTX is built
                        * when it is loaded */
    const char *entry;
    uint32_t grid[3], block[3];
    size_t shared_bytes; /* dynamic */
    struct launch_buffer *buffers;
    size_t buffer_count;
    struct launch_arg *args;
    size_t arg_count;
    const struct launch_plane *planes; /* ascending, without gaps, or none */
    size_t plane_count;
    uint8_t **variables; /* (module->variable_count) of launches that follow each other: what an earlier one left in
                          * the .global variables, NULL: it begins as the module says. The machine keeps there what
                          * this one leaves; a real GPU keeps it itself. NULL: nothing is handed on */
    struct launch_global *globals; /* (global_count) of this launch alone, whatever `variables` says of them */
    size_t global_count;
    uint64_t step_budget; /* warp instructions a block may take; 0: LAUNCH_STEP_BUDGET */
    int threads;          /* CPU threads; 0: all */
    struct launch_options options;
};

#define LAUNCH_STEP_BUDGET (1ull << 28)
enum {
    LAUNCH_TOTAL_BLOCKS = 64, /* a launch may take this many times the budget of a block */
    LAUNCH_BLOCK_STEPS = 256, /* what the beginning of a block costs: so it bounds the blocks of a launch as well */
};

enum event_kind {
    EVENT_OUT_OF_BOUNDS, /* outside every buffer, outside the shared arena, outside local memory */
    EVENT_READ_ONLY,     /* a store into a BUFFER_IN */
    EVENT_MISALIGNED,
    EVENT_PLANE,             /* an access site that has used one plane reaches into another */
    EVENT_DIVERGENT_BARRIER, /* bar.sync by a part of a warp's live lanes */
    EVENT_DIVERGENT_ALIGNED, /* ldmatrix, mma ... by a part of a warp's live lanes */
    EVENT_BARRIER_OPERAND,   /* a barrier's number or thread count is out of range, or not that of all its lanes */
    EVENT_DEADLOCK,          /* warps wait at barriers that can never fill */
    EVENT_STEP_BUDGET,       /* a block ran past the budget: endless loop */
    EVENT_TRAP,
    EVENT_LIMIT,         /* the launch asks for more than the architecture has; nothing was run */
    EVENT_UNINITIALISED, /* a read of bytes, or of a register, that nothing has written */
    EVENT_RACE,          /* two accesses of one byte that nothing orders, at least one a store of another value */
    EVENT_BENIGN_RACE,   /* the same, both stores, of the same value: named, not a fault */
    EVENT_ASYNC_PENDING, /* bytes of a cp.async that its thread has not waited for are read or written */
    EVENT_ASYNC_EXIT,    /* a thread exits with copies in flight */
    EVENT_ASYNC_SIZE,    /* a cp.async whose source size (offset) is above its size (bytes): undefined */
    EVENT_ABSENT_LANE,   /* shfl.sync reads a lane that does not take part */
    EVENT_APPROXIMATE,   /* an instruction without a bit-exact model was executed */
    EVENT_LITERATURE,    /* an mma was executed by a numeric model that is the literature's, not measured */
    EVENT_BAD_TARGET, /* a call through a pointer that is no function's, or of another shape; brx.idx past its table */
    EVENT_STACK,      /* calls too deep, or local memory of a thread or block past what the machine gives */
    EVENT_ASSERT,     /* __assertfail; trace.assertion has its text */
    EVENT_KINDS,
};

enum event_space { SPACE_NONE, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM, SPACE_REGISTER };

struct event_access { /* the other side of a race, or the copy that is in flight */
    bool present, store;
    uint32_t block[3], warp, lane;
    size_t instruction;
    size_t bytes; /* of its lane's access */
};

struct event_lanes { /* of a warp's access of shared memory: which lanes, and their addresses from shared address 0 */
    uint32_t mask, at[32];
};

struct event {
    enum event_kind kind;
    enum event_space space;
    bool store;
    int buffer;      /* global: the buffer whose range the address is in or nearest to, else -1 */
    int plane;       /* shared: the access site's own plane (EVENT_PLANE), or the plane hit, else -1 */
    int other_plane; /* EVENT_PLANE: the plane reached into, else -1 */
    int64_t offset;  /* of the first bad byte: from the start of the buffer; of the plane when plane >= 0 (its
                      * own plane for EVENT_PLANE); in shared memory otherwise: of the dynamic arena when
                      * the entry has no static shared memory (ptx_static_shared), else from shared address 0; of
                      * local memory */
    size_t bytes;    /* of one lane's access */
    uint32_t block[3], warp, lane;
    size_t instruction; /* index into trace.sites */
    const char *name;   /* the register, or the .global or .const variable, as the PTX calls it; else NULL; owned by
                         * the module */
    enum event_space window; /* SPACE_GLOBAL outside of all buffers and variables: the space whose generic address it
                              * is, or SPACE_NONE */
    bool anonymous;          /* a real GPU: nobody knows by which thread and instruction */
    bool across_warps;       /* with `other`: of all accesses that are counted here, some are of two warps */
    struct event_access other;
    struct event_lanes lanes; /* of a race or a read before any store, in shared memory; mask 0: not kept */
    uint64_t count;           /* lane accesses of this kind at this site, all blocks together */
};

struct trace_site {   /* one instruction of the entry, or of a function that it may call */
    const char *file; /* source file from .file, NULL when the PTX has no line info; owned by the module */
    int line;
    const char
        *inlined_file; /* where the outermost inlined call stands, when `file` is an inlined function's; else NULL */
    int inlined_line;
    uint64_t place; /* of ptx_instruction */
    int ptx_line;
    const char *text;      /* owned by the module */
    int instruction_class; /* enum instruction_class (census.h) */
};

/* Who stored a cell: block number (x fastest), thread number in the block, instruction. */
struct cell_writer {
    uint32_t block;
    uint32_t thread;
    uint32_t instruction;
};

struct cell_history {
    struct cell_writer first, last; /* lowest and highest in (block, program order) */
    uint32_t arrivals, syncs; /* barriers and bar.warp.sync that the last writer's warp had come to at that store */
    bool raced;               /* two threads of one block stored different bytes with no barrier between */
    bool atomic;  /* an atomic has written it: what may come before or after a store of other bytes is not told
                   * by stores alone */
    bool several; /* more than one thread stored it */
    bool settled; /* its stores differ, and fences and strong accesses may order all of them: no fault, no proof */
};

struct buffer_coverage {        /* of a buffer that is not IN; empty for IN */
    uint8_t *stores;            /* (bytes): how often each byte was stored, at most 127; bit 7: two stores differed */
    struct cell_history *cells; /* (bytes / cell_bytes); meaningful where a byte of the cell was stored */
};

struct site_count {    /* of one instruction, all blocks together */
    uint64_t executed; /* by a warp; guarded-off ones count as well */
    /* of a memory instruction: */
    uint64_t requests;   /* executed with at least one lane */
    uint64_t wavefronts; /* shared memory */
    uint64_t conflicts;  /* shared memory: wavefronts past one a phase */
    uint64_t sectors;    /* global memory: 32-byte sectors */
};

/* Of the accesses of shared memory by one instruction, the one with the most bank conflicts (then wavefronts; then that
 * of the lowest block, and the first one there), for pictures. */
struct site_access {
    uint32_t lanes, at[32]; /* (lane) shared addresses of the lanes in the mask `lanes`; 0: there was none */
    uint32_t bytes;         /* of one lane */
    uint32_t warp, wavefronts, conflicts;
    uint64_t block; /* its number, x fastest */
};

struct trace_print { /* what printf wrote, one call of one lane */
    uint32_t block[3], warp, lane;
    size_t instruction;
    char *text; /* owned */
};

struct trace {
    struct event *events; /* sorted by (block, order of execution); one per (kind, site, buffer or plane) */
    size_t event_count;
    struct trace_site *sites;
    size_t site_count;
    struct site_count *counts;  /* (site_count) of a census; else, and on a real GPU, NULL */
    struct site_access *worst;  /* (site_count) likewise */
    struct trace_print *prints; /* in (block, order of execution); at most TRACE_PRINTS */
    size_t print_count;
    uint64_t print_total; /* calls that printed, those past TRACE_PRINTS too */
    char *assertion;      /* of the one failed assertion that ended the grid (EVENT_ASSERT), or NULL; owned */
    /* What the bits may depend on besides the operands: NULL when the watches show that no order of warps, lanes,
     * copies or blocks can change them (gpu/machine/hazard.c has the argument); else one line that says why this is
     * open. */
    char *order_open;
    struct buffer_coverage *coverage; /* (buffer_count) */
    size_t buffer_count;
    char *device_fault;         /* what a real GPU said when it stopped the launch, else NULL */
    bool has_coverage;          /* false without WATCH_STORES and on a real GPU: only the poison tells there */
    bool on_gpu;                /* a real GPU ran it: besides bytes there are its fault and changed guard bands and
                                 * inputs (anonymous events), and nothing else was watched or counted */
    uint64_t warp_instructions; /* guarded-off instructions count as well, as on hardware */
    uint64_t macs;              /* multiply-adds done by mma and dp4a, over all lanes */
    double seconds;             /* wall time of the execution alone */
};

enum { TRACE_PRINTS = 1000 };

struct runner {
    const char *name; /* "machine", "device" */
    /* Runs l. True: it ran (perhaps with events); trace is filled and the caller frees it. False: the launch
     * or the program cannot be run at all; e says why with file, line and text, and trace is empty. */
    bool (*run)(const struct launch *l, struct trace *t, struct error *e);
};

extern const struct runner runner_machine, runner_device;

void trace_free(struct trace *t);
/* The launch ran to its end: no trap, failed assertion, bad jump, deadlock, exhausted stack or budget, no fault of a
 * GPU, and it was not refused. */
bool trace_complete(const struct trace *t);
/* It asked for more than the architecture has: nothing was run. */
bool trace_refused(const struct trace *t);
/* Checks what every runner needs: the entry exists, argument count, sizes and kinds fit its parameters (a
 * floating-point number for .f32 and .f64, an integer for .u and .s, either for .b; a struct where it has an
 * array of bytes of the same size),
 * the module's .target is one that the architecture of the options can load, block at most 1024 threads and not beyond
 * .maxntid, grid within limits, planes tile the arena, the .global variables that are set exist and have their sizes.
 */
bool launch_check(const struct launch *l, struct error *e);

struct launch_place { /* the part of a launch that is wrong */
    enum { LAUNCH_OTHER, LAUNCH_ENTRY, LAUNCH_GRID, LAUNCH_BLOCK, LAUNCH_ARGUMENT, LAUNCH_PLANES } part;
    size_t argument; /* SIZE_MAX: one is missing */
};
/* The .global variable of that name that the whole module sees, or NULL. */
const struct ptx_variable *launch_variable(const struct ptx_module *m, const char *name);
bool launch_check_at(const struct launch *l, struct launch_place *at, struct error *e);
/* The bytes of an argument as the kernel gets them. addresses: of the buffers, on whatever runs the launch. */
void launch_arg_bytes(const struct launch_arg *a, const uint64_t *addresses, uint8_t *out);

/* What a checked launch asks for and the architecture of its options does not have: "135168 B of shared memory, sm_121
 * gives a block 101376" (the caller frees it), or NULL; *suspects, where asked for: where that may come from. */
char *launch_excess(const struct launch *l, const char **suspects);
/* The trace of a launch that asks for too much: EVENT_LIMIT alone. */
void launch_refused(const struct launch *l, struct trace *t);

#endif
