/* What the registers of a function hold, for every launch that the facts allow: ranges over the whole function, and at
 * one instruction what the branches before it say as well. */
#ifndef GPU_MUTANT_FLOW_H
#define GPU_MUTANT_FLOW_H

#include "mutant_range.h"
#include "spec.h"

struct mutant_flow;

/* function: index of an entry of the module. spec: its launch file, for block, grid, needs and scalar arguments; it
 * must outlive the result, as must the module. The caller frees it with mutant_flow_free. */
struct mutant_flow *mutant_flow_make(const struct ptx_module *m, size_t function, const struct spec *spec);
void mutant_flow_free(struct mutant_flow *f);
const struct spec *mutant_flow_spec(const struct mutant_flow *f);
size_t mutant_flow_function(const struct mutant_flow *f);

/* Follows every thread of a block through the function, and learns again without the instructions and branches that
 * none takes. Nothing changes where that is not known: a block of a size that depends on the shape, or too long a way.
 */
void mutant_flow_walk(struct mutant_flow *f);

/* What an instruction may find in the registers, state after state: every thread of a block, every round of a loop of
 * which the number of rounds is known. False ends it. */
typedef bool flow_visit(void *context, size_t instruction, const struct value_sources *s);
/* Visits all states of one instruction (SIZE_MAX: of each one) in which a thread comes to it, guarded: in which its
 * guard may let it. True: those were all, and each visit gave true. */
bool flow_every_state(const struct mutant_flow *f, size_t instruction, bool guarded, flow_visit *visit, void *context);

/* A mutant of one instruction. */
struct flow_change {
    size_t instruction;
    bool of_guard;                       /* it changes the guard alone */
    const struct ptx_instruction *after; /* (after_count) what stands in its place, the result last */
    size_t after_count;
    int extra; /* the register that only the mutant has, -1: none */
    unsigned extra_bits;
};
/* In every thread, whatever the shape and memory, the mutant takes the same branches, and every load, store, copy,
 * shuffle and tensor instruction has the same operands: all that differs are registers that only computations of
 * registers read. */
bool flow_same_in_every_thread(const struct mutant_flow *f, const struct flow_change *change);

#define FLOW_FACTS 32

/* At one instruction, in any thread that executes it. */
struct flow_place {
    const struct mutant_flow *flow;
    size_t instruction;
    bool dead; /* none does: a branch before it, or its guard, never lets it */
    int why;   /* the PTX line of that branch; 0: no thread of a block takes the way (mutant_flow_walk) */
    struct {
        int reg;
        struct value_set v;
    } facts[FLOW_FACTS];
    size_t fact_count;
    bool supposed; /* flow_suppose */
    int supposed_reg;
    struct value_set supposed_value;
};
/* guarded: in a thread whose guard lets it, else in one that comes to it. */
void flow_at(const struct mutant_flow *f, size_t instruction, bool guarded, struct flow_place *p);
struct value_set flow_register(const struct flow_place *p, int reg);
struct value_sources flow_sources(struct flow_place *p);                                             /* for value_of */
struct value_set flow_result(struct flow_place *p, const struct ptx_instruction *in, unsigned bits); /* of its first */
/* Whatever its definition gives, the register holds v here. */
void flow_suppose(struct flow_place *p, int reg, struct value_set v);
bool flow_once(const struct mutant_flow *f, int reg); /* one instruction writes it */
/* Its one result is computed of its operands alone, and it can go wrong nowhere. */
bool flow_computes(const struct ptx_instruction *in);
/* Nothing that is ever executed reads the register, but to compute what again nothing reads. */
bool flow_unread(const struct mutant_flow *f, int reg, int depth);
/* Instructions that read the register: how many, and the first `room` of them. */
size_t flow_uses(const struct mutant_flow *f, int reg, size_t *out, size_t room);

/* The register, a constant that differs between the two, is nothing but the mask of shuffles in reductions over a warp;
 * each of them takes every value of its group of lanes once, before and after. */
bool flow_same_reductions(const struct mutant_flow *before, const struct mutant_flow *after, int mask);

/* The branch leads around a block that stores the same bytes to the same places whichever lanes of a warp come to it:
 * every lane of a warp comes to the branch or none, and neither addresses nor values differ between lanes. */
bool flow_leads_around_same_stores(const struct mutant_flow *f, size_t branch);
/* The lanes, a bit each, that the guard of this instruction lets, where it depends on nothing but the lane. */
bool flow_guarded_lanes(const struct mutant_flow *f, size_t instruction, uint32_t *lanes);

unsigned flow_bits(const struct mutant_flow *f, int reg);

#endif
