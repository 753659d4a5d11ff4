/* What mutant_flow.c and mutant_lanes.c share. */
#ifndef GPU_MUTANT_FLOW_PARTS_H
#define GPU_MUTANT_FLOW_PARTS_H

#include "mutant_flow.h"

#define NOWHERE SIZE_MAX

struct block {
    size_t first, last; /* instructions, inclusive */
    size_t next[2];     /* taken or only, and fallen through; NOWHERE */
    size_t before;      /* how many come to it */
    size_t dominator;
    bool reached;
    bool leaves; /* some thread may end with it */
};

struct definition { /* of a register */
    size_t instruction, element, count;
    bool wild; /* some instruction writes it that no rule is for: the second half of %p|%q */
};

struct mutant_flow {
    const struct ptx_module *m;
    const struct ptx_function *f;
    size_t function;
    const struct spec *spec;
    struct value_set *values;      /* (registers) */
    struct definition *definition; /* (registers) the first one */
    struct value_set *params;      /* (f->param_count) */
    struct value_set thread[3], block[3], size[3], grid[3];
    struct block *blocks;
    size_t block_count;
    size_t *block_of; /* (instructions) */
    bool branches_known;
    struct mutant_lanes *lanes; /* mutant_lanes.c */
    bool *comes, *executes; /* (instructions) some thread comes to it, its guard lets one: mutant_flow_walk; or NULL */
};

bool flow_never(const struct mutant_flow *f, size_t instruction); /* known to be executed by no thread */
/* Definitions, dominators, ranges and lanes, by blocks and by what is never executed. */
void flow_learn(struct mutant_flow *f);

/* mutant_flow.c: what an operand that is no register holds; !p; a wider register read as a narrower one; what an
 * instruction gives (element: of a vector); it has no result. */
struct value_set flow_constant(const struct mutant_flow *f, const struct ptx_operand *o, unsigned bits);
struct value_set flow_negate(struct value_set v);
struct value_set flow_read_as(struct value_set v, unsigned bits);
struct value_set flow_gives(const struct mutant_flow *f, const struct ptx_instruction *in, unsigned bits,
                            size_t element, const struct value_sources *s);
bool flow_writes_nothing(const struct ptx_instruction *in);

struct mutant_lanes *lanes_make(const struct mutant_flow *f);
void lanes_free(struct mutant_lanes *l);

#endif
