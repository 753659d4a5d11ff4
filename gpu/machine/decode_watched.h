/* Which registers and .param bytes may hold bits that nothing has defined, over all functions that a launch may reach:
 * what decode_undefined.c makes records for. */
#ifndef GPU_MACHINE_DECODE_WATCHED_H
#define GPU_MACHINE_DECODE_WATCHED_H

#include "decode.h"

enum effect {
    EFFECT_ANY,    /* the results depend on all of every source */
    EFFECT_SHADOW, /* the same instruction on the shadows moves the undefined bits; operands of `kept` are as they are
                    */
    EFFECT_LOGIC,  /* bitwise */
    EFFECT_SHUFFLE,
    EFFECT_PARAM, /* a load or a store in .param space */
    EFFECT_CHECK, /* sources must be defined */
    EFFECT_FREE,  /* undefined sources do no harm here */
};

/* *kept: the first source that is a control and no data, for EFFECT_SHADOW. */
enum effect effect_of(const struct ptx_instruction *in, size_t *kept);
bool has_opcode(const struct ptx_instruction *in, const char *opcode);
bool has_part(const struct ptx_instruction *in, const char *part);
/* A destination of the instruction; a source whose undefined bits it hands on to them. */
bool is_result(const struct ptx_instruction *in, size_t operand);
bool hands_on(const struct ptx_instruction *in, size_t operand);
/* A load or a store that may be of local memory, at a generic address; of no other space by name. */
bool is_generic(const struct ptx_instruction *in);
/* The registers of an operand, one after the other: *next counts from 0, -1 at the end. */
int register_of(const struct ptx_operand *o, size_t *next);

struct watched {
    const struct ptx_module *m;
    bool **registers; /* (functions) by register; NULL: the function cannot be reached */
    bool **unset;     /* those of them that the function may read before it writes them */
    size_t *first;    /* (variables) first byte in `bytes` of a .param variable of such a function, or SIZE_MAX */
    uint8_t *bytes;   /* 1: may be undefined */
    bool all;         /* else only what shuffles read of lanes that do not take part, and local memory keeps of it */
    bool unset_registers;                      /* some path reads a register or a .param byte before it writes it */
    bool indirect_arguments, indirect_results; /* of calls through addresses: some may be undefined */
    bool grew;
};

/* NULL where nothing is to be watched. all: as in struct watched. */
struct watched *watched_open(const struct decoder *d, bool all);
void watched_close(struct watched *x);
/* Some byte of the .param variable may be undefined. */
bool watched_variable(const struct watched *x, int variable);

#endif
