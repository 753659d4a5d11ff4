/* The PTX machine's own structures: what decode.c makes, and what the handlers of an instruction work on.
 *
 * A warp is 32 lanes in lockstep. One register is 32 lane values side by side: uint32_t v[32] (128 bytes) for
 * registers of up to 32 bits, uint64_t v[32] (256 bytes) for 64 bits; 8- and 16-bit registers keep zeros above. So an
 * instruction is one loop over 32 lanes, and a fragment register of ldmatrix or mma is an 8 x 16-byte matrix as it
 * stands. A predicate is a 32-bit lane mask. Immediates and special registers are registers too, filled ahead of the
 * run: a handler never asks what kind of operand it has. */
#ifndef GPU_MACHINE_MACHINE_H
#define GPU_MACHINE_MACHINE_H

#include "../../ref/random.h"
#include "../launch.h"
#include <stdatomic.h>

#define LANES     32
#define ALL_LANES 0xffffffffu

struct warp;
struct record;
struct races;
struct probed; /* probe.h */

/* Does what record r says for the lanes of mask (never 0). Handlers with a blend other than BLEND_NONE ignore the
 * mask and compute all 32 lanes: execute.c merges the result when the mask is partial. */
typedef void handler(struct warp *w, const struct record *r, uint32_t mask);

enum blend { BLEND_NONE, BLEND_32, BLEND_64 };
enum gather { /* a member mask's register is at record.a, record.b, or the first of record.wide */
              GATHER_NONE,
              GATHER_LIVE,
              GATHER_MEMBERS_A,
              GATHER_MEMBERS_B,
              GATHER_MEMBERS_WIDE,
};
/* record.imm of a barrier. */
enum { BARRIER_ARRIVE = 1, BARRIER_ALIGNED = 2, BARRIER_POPC = 4, BARRIER_AND = 8, BARRIER_OR = 16, BARRIER_RED = 28 };
enum control {
    CONTROL_NONE,
    CONTROL_BRANCH,
    CONTROL_EXIT,
    CONTROL_BARRIER,
    CONTROL_TRAP,
    CONTROL_INDEXED, /* brx.idx */
    CONTROL_CALL,
    CONTROL_RETURN, /* from a function: ret of an entry is an exit */
    CONTROL_ASSERT, /* __assertfail */
};

#define GUARD_NEGATED 0x80000000u

struct record {
    handler *run;
    int64_t imm;
    uint32_t dst, a, b, c; /* byte offsets into the register file, or predicate numbers. Memory: c = access number.
                            * Branch: dst = target record. brx.idx: a = index, b = number of targets, wide = their
                            * records. Call, return: call.c */
    uint32_t guard;        /* predicate number (| GUARD_NEGATED); 0: always */
    uint32_t wide;         /* first of the offsets in program.wide that do not fit above */
    uint32_t site;         /* instruction of the program: its trace site */
    uint8_t blend, control;
    uint8_t gather; /* which lanes must be together here: enum gather */
    uint8_t weight; /* 1 for the first record of an instruction, 0 for its helpers: what counts as a warp instruction */
};

/* Fixed offsets of the register file. */
enum {
    FILE_SCRATCH = 0, /* results of partial instructions, before they are merged; also the sink `_` */
    FILE_TEMP = 256,  /* temporaries between the records of one instruction, 256 bytes each */
    FILE_TEMPS = 10,
    FILE_FIRST = FILE_TEMP + 256 * FILE_TEMPS,
};
/* Fixed predicate numbers. */
enum { PRED_TRUE = 0, PRED_FALSE = 1, PRED_TEMP = 2, PRED_CARRY = 6, PRED_FIRST = 7 };

enum special {
    SPECIAL_TID_X,
    SPECIAL_TID_Y,
    SPECIAL_TID_Z,
    SPECIAL_CTAID_X,
    SPECIAL_CTAID_Y,
    SPECIAL_CTAID_Z,
    SPECIAL_WARPID,
    SPECIAL_LANEID,
    SPECIAL_LANEMASK_EQ,
    SPECIAL_LANEMASK_LE,
    SPECIAL_LANEMASK_LT,
    SPECIAL_LANEMASK_GE,
    SPECIAL_LANEMASK_GT,
    SPECIALS,
};

struct constant {
    uint32_t offset;
    bool wide; /* 64 bits */
    uint64_t bits;
};

/* What an access orders besides itself. An atomic is a load and a store. */
enum access_order {
    ACCESS_LOAD = 1,
    ACCESS_STORE = 2,
    ACCESS_ACQUIRE = 4,
    ACCESS_RELEASE = 8,
    ACCESS_CTA = 16, /* scope .cta, or .cluster, which is a block here: it orders nothing between blocks */
};

struct access {           /* one load, store, ldmatrix, atomic or copy of the program */
    enum ptx_space space; /* PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_PARAM; generic: PTX_REG */
    bool store, is_signed;
    bool wide_address;   /* the address register has 64 bits */
    bool wide_registers; /* the data registers have 64 bits */
    uint8_t element_bytes, elements;
    uint8_t register_bits; /* of the data registers: 16, 32, 64 */
    uint8_t bytes;         /* of one lane: element_bytes * elements; ldmatrix: 16 */
    uint8_t matrices;      /* of ldmatrix and stmatrix: 1, 2 or 4; else 0 */
    bool unmodelled;       /* nobody knows its wavefronts: atomics, cp.async */
    bool strong;           /* .volatile, .relaxed, .acquire, .release, .mmio, atomics: may meet others of their kind */
    bool atomic;           /* atom, red: a load and a store in one */
    uint16_t reduced; /* a bit for the operation of an atomic when the order of such cannot be seen in what it does:
                       * its result is not used, and it commutes; else 0 */
    uint8_t order;    /* of a strong access: enum access_order */
    bool nc;          /* ld.global.nc */
    bool valued;      /* a store of the registers at record.wide, one for each element */
    bool shadowed;    /* may be of local memory; behind those registers: where their undefined bits are, or 0 */
};

struct callee {                   /* a function of the module that the program may reach, or the entry */
    const struct ptx_function *f; /* NULL: it is not reached, or has no body */
    uint32_t first;               /* record */
    uint32_t site;                /* of its first instruction */
    uint32_t words; /* register file: word 0 of its .param frame; those of an entry's own parameters do not exist */
    /* register file: registers of up to 32 bits and .param words, wider registers, shadows of up to 32 bits, the end */
    uint32_t window, window_wide, window_shadow, window_end;
    uint32_t preds, preds_end;                          /* its predicates */
    uint32_t undefined, undefined_end;                  /* rows of program.undefined */
    uint32_t local_start, local_bytes, local_alignment; /* of an activation: its first variable, bytes from there on */
    bool recursive;                                     /* may be called while it is active */
};

enum follow {                      /* whose undefined results are followed to where they are used (undefined.h) */
              FOLLOW_SHUFFLES = 1, /* what they read of lanes that do not take part */
              FOLLOW_LOADS = 2,    /* what they read of local memory that nothing has written */
};
#define SEVERAL_LOADS UINT32_MAX

struct program {
    const struct ptx_module *module;
    const struct ptx_function *entry;
    struct callee *callees; /* (module->function_count) by the function's index */
    uint32_t *order;        /* (order_count) functions in the order of their sites; the entry is the first */
    size_t order_count, site_count;
    uint8_t *params; /* (entry->param_bytes) the kernel's parameter block */
    struct record *records;
    size_t record_count;
    uint32_t
        *run_end; /* (record_count) end of the straight run that a record is in: the next control record or leader */
    uint64_t *weight; /* (record_count + 1) warp instructions before a record */
    uint32_t *wide;
    size_t wide_count;
    struct constant *constants;
    size_t constant_count;
    uint32_t special[SPECIALS]; /* offset in the register file, 0: not used */
    struct access *accesses;
    size_t access_count;
    bool float_atomics;  /* sums of floating-point numbers by atom or red: their bits depend on the order */
    uint32_t *undefined; /* offsets of the registers that may be read before they are written ... */
    bool *undefined_wide;
    size_t undefined_count;
    size_t file_bytes, pred_count;
    bool *effect;       /* (record_count) the first record of an instruction that others may see: stray.c */
    const char **names; /* of registers that are watched: undefined.h */
    /* (module->variable_count) register file: where the undefined bits of a .param variable of a function are, in words
     * as those of its value; 0: all are defined */
    uint32_t *param_shadows;
    unsigned follows; /* enum follow */
    bool loads_alone; /* loads of local memory are the only source of undefined bits that is known */
    size_t name_count;
};

/* Virtual addresses. Buffer i is at (i + 1) * 2^40, so any overrun short of 2^39 bytes still names its buffer. */
#define BUFFER_SHIFT  40
#define BUFFER_HALF   ((uint64_t)1 << (BUFFER_SHIFT - 1))
#define SHARED_WINDOW ((uint64_t)1 << 62) /* generic address of shared byte 0 */
#define LOCAL_WINDOW  ((uint64_t)5 << 60) /* of a thread's local byte 0 */
#define PARAM_WINDOW  ((uint64_t)6 << 60) /* of the first byte of the kernel's parameters */
#define CODE_WINDOW   ((uint64_t)7 << 60) /* address of function 0; CODE_BYTES to the next */
#define WINDOW_BYTES  ((uint64_t)1 << 32)
enum { CODE_BYTES = 16, MOST_REGIONS = 1 << 21 /* those end below SHARED_WINDOW */ };

/* Who came by one word of a writable region: hazard_global.c. */
struct traffic {
    uint32_t low, high; /* 1 + the lowest and the highest block; 0: none */
    uint16_t thread;    /* 1 + the one thread of the block, or MANY_THREADS */
    uint8_t seen;       /* enum seen */
    uint16_t reduced;   /* struct access */
};

struct region { /* a buffer of the launch, or a .global or .const variable of the module */
    uint64_t base;
    size_t bytes;
    uint8_t *data;
    bool writable;
    int buffer;       /* of the launch, or -1 */
    const char *name; /* of the variable, else NULL */
    size_t cell_bytes;
    size_t lock_bytes;                /* least common multiple of cell_bytes and 16 */
    struct traffic *traffic;          /* (bytes / 4 + 1), guarded by the same locks; NULL: not needed */
    bool notes_stores;                /* in traffic; else coverage tells of them */
    bool direct;                      /* stores are told to nobody, and blocks come one after the other */
    atomic_bool met;                  /* there is something in traffic */
    uint8_t *suspects;                /* (bytes / 4 + 1) words that the exact pass looks at, or NULL */
    uint32_t *heads;                  /* (bytes / 4 + 1) race.h: their accesses, in the exact pass */
    struct buffer_coverage *coverage; /* NULL: stores are not counted */
    uint32_t *winner;                 /* (bytes) 1 + the highest place of a block that stored a byte; its value stays.
                                       * 0 while coverage says the same: one store, of a whole cell */
    bool watched_reads;     /* its bytes have no contents before a store of the launch, and loads of such are told */
    const uint8_t *written; /* (bytes) not 0: such a byte has contents of an earlier launch; NULL: none */
};

struct range { /* of shared addresses that one access site may use: a plane, or the static variables */
    uint64_t lo, hi;
    int plane; /* -1: static variables, or no planes given */
};

#define STORE_LOCKS 1024

/* Why the bits may depend on the order of execution (trace.order_open), first the reason that says most. */
enum order_reason {
    OPEN_RACE = 1 << 0,
    OPEN_STOPPED = 1 << 1,    /* not run to its end, or lanes went apart where they must not */
    OPEN_STRONG = 1 << 2,     /* an atomic or .volatile ... access of memory that the launch writes */
    OPEN_ACTIVEMASK = 1 << 3, /* activemask: which lanes are together is nobody's promise */
    OPEN_BARRIER = 1 << 4,    /* a warp may come to a barrier one turn early */
    OPEN_BUDGET = 1 << 5,     /* too many accesses to judge them all */
    OPEN_UNWATCHED = 1 << 6,
    OPEN_CLOCK = 1 << 7,   /* %clock, %globaltimer, %smid, %nsmid, %gridid */
    OPEN_DISCARD = 1 << 8, /* a discard: what stood there, and who stored it, is gone for coverage and races */
};

struct machine { /* one run */
    const struct launch *launch;
    const struct program *program;
    struct region *regions;
    size_t region_count;
    struct range *ranges;
    size_t range_count;
    bool planes;             /* some ranges are planes, and a site stays in one */
    atomic_uint unfollowed;  /* enum follow: what gave an undefined value that nobody followed */
    size_t static_bytes;     /* of the entry's static shared variables; they start at shared address 0 */
    size_t shared_bytes;     /* static variables, gap that is nobody's, dynamic arena */
    size_t dynamic_start;    /* shared address of the dynamic arena */
    uint32_t warps, threads; /* a block */
    uint64_t blocks, budget;
    uint64_t block_stride, block_shift; /* order of the blocks: schedule.h */
    bool parallel;
    bool strong;            /* the program has accesses outside shared memory that are strong */
    bool exact;             /* this pass judges the accesses of suspect words of global memory; one CPU thread */
    struct races *global;   /* of that pass */
    uint32_t global_places; /* accesses and fences so far in it */
    atomic_uint open;       /* enum order_reason, of this pass */
    atomic_bool differed;   /* two stores of one byte differed */
    atomic_flag locks[STORE_LOCKS];
    atomic_uint_fast64_t spent;      /* warp instructions of the blocks that have ended, in this pass */
    atomic_uint_fast64_t stop_after; /* lowest place of a block that trapped or ran out of steps; those above are not
                                      * wanted */
};

struct site_range {  /* per block: what an access site may touch without a closer look */
    uint64_t lo, hi; /* addresses as the instruction forms them */
    uint8_t *host;   /* where the byte at lo is */
    int32_t region;  /* of a global range: index of the region + 1 */
    int32_t range;   /* index of the site's own range of shared memory + 1, 0 before its first access there */
    uint8_t watched; /* enum watched: whom the fast path must tell of an access that is in range */
};

static inline bool watches(const struct machine *m, enum watch what) {
    return !(m->launch->options.unwatched & what);
}
static inline unsigned unfollowed(struct machine *m) {
    return atomic_load_explicit(&m->unfollowed, memory_order_relaxed);
}
/* The range that holds this shared address, or NULL. */
static inline const struct range *range_at(const struct machine *m, int64_t address) {
    for (size_t i = 0; i < m->range_count; ++i)
        if (address >= (int64_t)m->ranges[i].lo && address < (int64_t)m->ranges[i].hi)
            return &m->ranges[i];
    return NULL;
}

/* What a block knows of its shared memory: watch.h, hazard.c, valid.c. */
struct hazards;
struct valid;

struct event_entry {
    struct event event;
    uint64_t block, order; /* the block's place, and that among the block's events: of the first one */
    int32_t next;          /* of the same site, or -1 */
};
struct event_table {
    struct event_entry *entries;
    size_t count, room;
    int32_t *head; /* (sites) */
};

enum warp_state { WARP_READY, WARP_WAITING, WARP_DONE };

/* A function in execution. Lanes that came to it by the same calls share one frame, and only those of one frame ever
 * become one group. The entry's frame is warp.root. Functions keep their registers in a part of the register file of
 * their own, so a call saves nothing, unless the function may be active already. */
struct frame {
    struct frame *caller;                  /* NULL: the entry's */
    struct frame *child, *next, *previous; /* calls from here that are active, as a list */
    uint32_t function, back;               /* back: record to return to; the call is the one before */
    uint32_t depth, lanes;                 /* lanes: in it, or in what it called */
    uint32_t base[LANES], end[LANES];      /* local memory of each of them: its first byte, the first one past it */
    uint8_t *saved; /* registers, .param words and predicates of the activation further out, by lane; or NULL */
};

/* Lanes of a warp that are at one place. Groups are disjoint, so there are never more of them than lanes. */
struct group {
    uint32_t pc, mask;
    struct frame *frame;
    bool waiting;    /* before a record that needs lanes which are elsewhere */
    uint32_t missed; /* lanes that it waits for, or waited for when it began to */
    uint64_t since;  /* steps of the block when it last ran */
};

struct warp {
    uint8_t *regs; /* (program.file_bytes), 64-byte aligned */
    uint32_t *preds;
    const uint32_t *wide; /* program.wide */
    struct block *block;
    uint32_t number;
    uint32_t existing; /* lanes that it began with */
    uint32_t live;     /* lanes that have not exited */
    uint32_t pc, mask; /* the group that runs */
    struct frame *frame;
    struct group others[LANES];
    unsigned other_count;   /* 0: all live lanes are together */
    bool pinned;            /* the group that runs goes on, though another one is at a lower place */
    bool forced;            /* the next record that needs other lanes goes without them: they cannot come */
    uint64_t slice;         /* steps of the block at which the next turn is due */
    struct frame root;      /* of the entry */
    uint8_t *local;         /* (local_room * LANES) word a / 4 of lane l is the 32-bit word a / 4 * LANES + l */
    uint8_t *local_written; /* the same for the bits that are defined; NULL when that is not watched */
    uint32_t local_room;
    enum warp_state state;
    unsigned barrier;       /* waited for */
    uint32_t barrier_lanes; /* lanes that wait for it, and get its result */
    uint32_t syncs;         /* bar.warp.sync, and barriers waited for */
    uint32_t clock[LANES];  /* [x]: barrier arrivals of warp x that are ordered before what this warp does now; its own
                             * entry counts its own arrivals */
    uint32_t absent[LANES]; /* 1 + the site of a shuffle that gave the lane an undefined value, or 0; when followed */
    uint32_t unset_load[LANES];  /* the same of a load of local memory; SEVERAL_LOADS: of more than one */
    uint32_t last_effect[LANES]; /* 1 + the record of the last store of a lane while it is apart from others, or 0 */
    bool astray;                 /* some live lane has such a store */
    uint32_t strayed;            /* lanes that exited with such a store */
};

struct reach { /* 1 + two records of the entry, and whether the one is reached from the other; 0: none */
    uint32_t from, to;
    bool yes;
};

struct barrier {
    uint32_t clock[LANES];  /* what is known once it opens: the greatest of the arriving warps' clocks */
    uint32_t arrived;       /* threads, in whole warps */
    uint32_t expected;      /* 0: every warp that has not exited */
    uint32_t votes, yes;    /* .red: threads, and those whose predicate holds */
    uint32_t opened[LANES]; /* clock when it last opened */
};

struct async; /* copies in flight of one block: async.c */

struct block { /* one block in execution; reused by its CPU thread */
    struct machine *machine;
    struct warp *warps;
    uint8_t *memory; /* of registers and predicates */
    uint8_t *shared; /* (shared_bytes), then 64 poison bytes at poison */
    size_t poison;
    struct site_range *sites; /* (access_count) */
    uint32_t id[3];
    uint64_t number; /* x fastest */
    uint64_t place;  /* in the order of blocks: schedule.h */
    uint64_t steps, macs;
    struct random_stream draws; /* SCHEDULE_RANDOM: the choices of this block */
    uint64_t event_order;
    struct reach reached[64]; /* what stray.c has looked up */
    struct event_table events;
    struct barrier barriers[16];
    struct site_count *counts;       /* (sites) with options.census, else NULL */
    struct site_access *worst;       /* (sites) likewise */
    struct hazards *hazards;         /* NULL: not watched */
    struct valid *valid;             /* NULL: not watched */
    struct async *async;             /* NULL: the program copies nothing */
    struct frame **spare;            /* (functions) frames to be used again, by function */
    size_t frame_bytes, spare_bytes; /* of the frames in use, and of the spare ones */
    struct prints *prints;           /* print.c */
    struct probed *probed;           /* NULL: no probe */
    bool stopped;                    /* by a trap, the budget, a deadlock, or because a lower block ended the grid */
    bool ends_grid;                  /* a trap or the budget */
};

/* The launch is to be run once more, from the start, with this followed; the rest of this run is not wanted. */
static inline void must_follow(struct block *b, unsigned what) {
    atomic_fetch_or_explicit(&b->machine->unfollowed, what, memory_order_relaxed);
    b->stopped = true;
}

static inline uint32_t *reg32(const struct warp *w, uint32_t offset) {
    return (uint32_t *)(void *)__builtin_assume_aligned(w->regs + offset, 64);
}
static inline uint64_t *reg64(const struct warp *w, uint32_t offset) {
    return (uint64_t *)(void *)__builtin_assume_aligned(w->regs + offset, 64);
}
static inline void set_pred(struct warp *w, uint32_t number, uint32_t bits, uint32_t mask) {
    w->preds[number] = (w->preds[number] & ~mask) | (bits & mask);
}

/* decode.c: the entry of l as records; module-level variables get the region numbers that runner.c gives them.
 * isa: the handlers to use. follows: enum follow. On failure NULL and "PTX:LINE: message". program_free takes NULL. */
struct isa;
struct program *decode(const struct launch *l, const struct isa *isa, unsigned follows, struct error *e);
void program_free(struct program *p);
/* Address of a .global, .const (generic) or .shared variable (in its space) of the module. False in other spaces. */
bool module_address(const struct launch *l, int variable, uint64_t *address);

/* Address of a function of the module. */
static inline uint64_t function_address(int function) {
    return CODE_WINDOW + (uint64_t)function * CODE_BYTES;
}

/* flow.c: leaders[i]: a basic block starts at instruction i. (instruction_count + 1); the caller frees it. */
bool *flow_leaders(const struct ptx_function *f);
/* Registers that some path reads before it writes them. (register_count), the caller frees it. */
bool *flow_undefined(const struct ptx_module *m, const struct ptx_function *f);
/* What a source or destination operand of an instruction is; the destinations come first in PTX. */
bool flow_writes(const struct ptx_instruction *in, size_t operand);

/* events.c */
void events_open(struct event_table *t, size_t sites);
void events_close(struct event_table *t);
/* Adds one event (or `count` to an earlier one of its kind, site and buffer or plane). */
void events_add(struct event_table *t, const struct event *v, uint64_t block, uint64_t order);
void events_merge(struct event_table *into, const struct event_table *from);
/* The events in (block, order of execution); the caller frees them. */
struct event *events_sorted(const struct event_table *t);
/* Fills in block, warp, site and, where it is 0, a count of 1, and adds it to the block's events. */
void event_at(struct warp *w, const struct record *r, unsigned lane, struct event v);
/* v.lanes of these lanes of an access. */
void event_keep_lanes(struct event *v, uint32_t mask, const uint32_t at[LANES]);
/* An event of no memory that these lanes have together; the first of them is named. */
void event_of_lanes(struct warp *w, const struct record *r, uint32_t lanes, enum event_kind kind);

/* memory.c: the exact path of an access of any space, lane by lane, with all events. addr: as the instruction forms
 * them; 32-bit shared addresses are zero-extended. */
void memory_access(struct warp *w, const struct record *r, uint32_t mask, const uint64_t addr[LANES]);
/* ldmatrix: host[i] = the row of lane i of `rows`, or the poison. */
void memory_rows(struct warp *w, const struct record *r, uint32_t rows, const uint64_t addr[LANES],
                 const uint8_t *host[LANES]);
handler memory_store_word; /* of 32 bits, to global memory */
handler memory_general;    /* load or store of any shape, without a fast path */
handler memory_discard;    /* discard.L2: 128 bytes become poison */

/* atomic.c: atom and red. b = enum atomic_op | enum ptx_type << 8; wide = values[elements], destinations[elements], and
 * of cas the new value. ATOMIC_... */
handler op_atomic;
enum atomic_op {
    ATOMIC_ADD,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_EXCH,
    ATOMIC_CAS,
    ATOMIC_INC,
    ATOMIC_DEC,
};
enum { ATOMIC_RETURNS = 1 << 16 }; /* the old value goes to the destinations */

/* matrix.c: stmatrix: a = address, b = matrices | LDMATRIX_TRANS | LDMATRIX_WIDE, wide = sources; movmatrix: dst, a. */
handler op_stmatrix, op_movmatrix;

/* census.c: *into becomes the worse of the two (launch.h), whichever came first. */
void census_keep_worst(struct site_access *into, const struct site_access *one);
/* census.c: counts instruction r->site as executed; counts one access (c, a and imm as of its record). */
handler op_count_executed, op_count_access;
handler op_literature; /* ahead of an mma whose model is the literature's: the event that says so */

/* warp_ops.c */
handler op_elect, op_clock;
/* imm of op_clock: 64 bits, or the high half of them, else the low half; of the steps, or (FIXED) of the bits above. */
enum { CLOCK_WIDE = 1, CLOCK_HIGH = 2, CLOCK_FIXED = 4, CLOCK_SHIFT = 8 };
handler op_shfl, op_vote, op_ballot, op_match, op_redux, op_activemask, op_pred_logic, op_warp_sync, op_macs, op_fence,
    op_nothing;
struct part { /* lanes of a .sync operation that do it at one place */
    const struct record *r;
    uint32_t mask;
};
/* One .sync operation done at several places at once. */
void run_together(struct warp *w, const struct part *parts, unsigned count);
/* stray.c: lanes that miss a barrier or a .sync operation and exit. Marks program.effect; notes that lanes of the
 * running group have an effect at w->pc while others are elsewhere; lanes that are together again; lanes that exit;
 * looks at a record that needs certain lanes, when w->strayed. */
void stray_mark(struct program *p);
void stray_note(struct warp *w, uint32_t mask);
void stray_together(struct warp *w, uint32_t mask);
void stray_exit(struct warp *w, uint32_t lanes);
void stray_check(struct warp *w, const struct record *r, uint32_t mask);
/* execute.c: the member mask that a .sync operation names, as its first lane gives it; all lanes for .aligned ones. */
uint32_t named_members(const struct warp *w, const struct record *r, uint32_t mask);
/* Those of the lanes that name the same members as the first of them. */
uint32_t alike_members(const struct warp *w, const struct record *r, uint32_t mask);

/* carry.c: dst = a +- b with the carry flag CC.CF, which is predicate PRED_CARRY. imm = CARRY_... */
handler op_carry;
enum { CARRY_IN = 1, CARRY_OUT = 2, CARRY_SUBTRACT = 4, CARRY_WIDE = 8 };

/* directed.c: operations rounded toward zero, minus or plus infinity. imm = enum directed | enum rounding << 8
 * (| DIRECTED_WIDE_SOURCE); the blend tells the width of the result */
handler op_directed;
enum directed {
    DIRECTED_ADD,
    DIRECTED_SUB,
    DIRECTED_MUL,
    DIRECTED_FMA,
    DIRECTED_DIV,
    DIRECTED_RCP,
    DIRECTED_SQRT,
    DIRECTED_S32,
    DIRECTED_U32,
    DIRECTED_S64,
    DIRECTED_U64,
    DIRECTED_NARROW, /* f64 -> f32 */
};
#define DIRECTED_WIDE_SOURCE 0x10000 /* a has 64 bits */
/* .ftz of a result of 32 bits: operands of 32 bits are flushed, and so is a result that is below the normal numbers
 * when rounded to 24 bits with no end to the exponents. */
#define DIRECTED_FTZ 0x20000
enum rounding { ROUND_RN, ROUND_RZ, ROUND_RM, ROUND_RP };

/* EVENT_DIVERGENT_ALIGNED by these lanes. */
void event_diverged(struct warp *w, const struct record *r, uint32_t lanes);
/* The same when live lanes of `wanted` are not in the mask that executes. */
void check_convergence(struct warp *w, const struct record *r, uint32_t mask, uint32_t wanted);

/* call.c: frames. Limits; going past one is EVENT_STACK. */
enum { MOST_DEPTH = 1024, MOST_LOCAL = 512 << 10, FRAME_GAP = 64 /* bytes between frames that are nobody's */ };
enum { MOST_FRAME = 64 << 10 };              /* .param bytes of a function: its own and those of its calls */
#define MOST_STACK_BYTES ((size_t)256 << 20) /* of a block: local memory, and as much for frames */
/* Local memory that a thread may have, of a block of so many warps: MOST_LOCAL, but for large blocks. */
static inline uint32_t local_limit(uint32_t warps) {
    const size_t share = MOST_STACK_BYTES / LANES / warps;
    return share < MOST_LOCAL ? (uint32_t)share : MOST_LOCAL;
}
bool frames_open(struct block *b, struct error *e);
void frames_close(struct block *b);
void frames_start(struct warp *w, uint32_t lanes);                  /* the entry's frame alone, for these lanes */
void frames_exit(struct frame *f, uint32_t lanes, struct block *b); /* these lanes are gone from it and its callers */
/* Where a group is among others of its warp: < 0: a comes before b in the program's order of execution, as far as it
 * has one: calls count where they stand, and what is called comes before what follows. */
int frame_order(const struct frame *a, uint32_t pc_a, const struct frame *b, uint32_t pc_b);
/* The lanes of mask do call r. *target: the function of the first of them, *went: those that go there; their frame, or
 * NULL after an event that stops the block. */
struct frame *call_enter(struct warp *w, const struct record *r, uint32_t mask, uint32_t *went);
/* The lanes of mask return from w->frame: results are handed over. The caller's frame; *back: the record to go on at.
 */
struct frame *call_leave(struct warp *w, uint32_t mask, uint32_t *back);
/* Makes an event that ends the block and the grid. */
void stop_block(struct warp *w, const struct record *r, unsigned lane, struct event v);

/* local.c: lanes' accesses at addresses within their local memory. */
void local_access(struct warp *w, const struct record *r, uint32_t mask, const uint64_t addr[LANES]);
bool local_room(struct warp *w, uint32_t bytes);
/* Bytes from .. to - 1 of the lanes of mask are as at the start: 0xff, never written. */
void local_clear(struct warp *w, uint32_t mask, const uint32_t from[LANES], const uint32_t to[LANES]);
/* Host copy of local bytes of one lane, for record r, which uses them; false when some are out of its frames. */
bool local_read(struct warp *w, const struct record *r, unsigned lane, uint64_t at, uint8_t *out, size_t bytes);
handler op_local, op_local_address, op_local_spill, op_alloca, op_stacksave, op_stackrestore, op_isspacep, op_param;
/* memory.c: copies bytes at a generic address as lane `lane` sees it. False, without an event: they are nobody's. The
 * record's access is one of single bytes. */
bool generic_read(struct warp *w, const struct record *r, unsigned lane, uint64_t address, uint8_t *out, size_t bytes);

/* print.c */
handler op_printf;
void print_assertion(struct warp *w, const struct record *r, unsigned lane); /* the text of a failed assertion */
bool prints_open(struct block *b);
void prints_close(struct block *b);
void prints_clear(struct block *b);
/* The first TRACE_PRINTS of all blocks in order, and the assertion of the lowest block. Takes them over. */
void prints_merge(struct trace *t, struct block *blocks, int count);
/* The bits of this launch may depend on an order: enum order_reason. */
static inline void leave_open(struct machine *m, unsigned reason) {
    if ((atomic_load_explicit(&m->open, memory_order_relaxed) & reason) != reason)
        atomic_fetch_or(&m->open, reason);
}

/* execute.c: runs a warp until it waits at a barrier or is done, or the block is stopped. */
void warp_start(struct warp *w, uint32_t lanes);
void warp_run(struct warp *w);

/* schedule.c: runs all warps of a block to their end, in the order of the launch's schedule. */
void block_run(struct block *b);
void barrier_arrive(struct warp *w, const struct record *r, uint32_t mask);

#endif
