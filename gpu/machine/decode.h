/* What the files of the decoder share. An instruction becomes one record, or several that hand temporaries on; the
 * first one counts as the instruction. */
#ifndef GPU_MACHINE_DECODE_H
#define GPU_MACHINE_DECODE_H

#include "isa.h"

#define T(x)     (1u << PTX_##x)
#define TYPES_16 (T(B16) | T(U16) | T(S16))
#define TYPES_32 (T(B32) | T(U32) | T(S32))
#define TYPES_64 (T(B64) | T(U64) | T(S64))

struct decoder {
    const struct launch *l;
    const struct isa *isa;
    struct error *e;
    const struct ptx_module *m;
    const struct ptx_function *f; /* the function at hand */
    int function;                 /* its index */
    struct callee *c;
    struct program *p;
    bool *address_taken; /* (functions) somebody may hold its address */
    bool indirect;       /* some call goes to an address */
    size_t branch_rows;  /* of the tables of all indexed branches */
    size_t undefined_room, record_room, wide_room, constant_room, access_room;
    uint32_t *constant_slots; /* (2 * constant_room) hash table: 1 + number of a constant, 0: free */
    uint32_t *slot;           /* (registers) offset in the file, or predicate number */
    bool *read_across;        /* (registers) other lanes read it: never left undefined */
    size_t file_end;
    uint32_t pred_end;
    uint32_t *spill; /* (parameters) 1 + the byte of the frame where one whose address is taken is kept, or 0 */
    size_t scratch;  /* byte of the .param frame where words for arguments in registers begin */
    /* the instruction at hand */
    const struct ptx_instruction *in;
    size_t index;
    uint32_t guard;
    bool first;     /* its first record is still to come */
    unsigned taken; /* parts that have been understood, a bit each */
    unsigned temps, pred_temps;
    struct watched *watched;     /* decode_watched.h; NULL: nothing is */
    struct undefined *undefined; /* undefined.h */
    size_t scratch_shadow; /* register file: undefined bits of the words at `scratch`, when registers are watched */
    bool shading;          /* the instruction is decoded on the shadows */
};

/* "PTX:LINE:COLUMN: cannot run `text` (SOURCE:LINE): why", or, where why is NULL, "unknown instruction `text`". Always
 * false. */
bool refuse(struct decoder *d, const char *why);
bool refuse_operand(struct decoder *d, const char *why); /* "wrong operand of `text`: why" */
bool on_architecture(struct decoder *d);                 /* the chip of the launch has the instruction at hand */

/* Takes the modifier when it is there; takes the next type; true when every modifier has been taken. */
bool has(struct decoder *d, const char *part);
enum ptx_type next_type(struct decoder *d);
bool all_taken(struct decoder *d);
/* Takes the first of the names that is there and gives its index, or -1. */
int one_of(struct decoder *d, const char *const *names, int count);
enum rounding next_rounding(struct decoder *d, bool *given); /* .rn .rz .rm .rp */

unsigned type_bits(enum ptx_type t);
bool type_signed(enum ptx_type t);
bool type_integer(enum ptx_type t); /* u, s and b */

/* Operands as offsets in the register file. bits: width the operation works on (16, 32, 64), which the register must
 * have. False after refuse(). */
bool source(struct decoder *d, const struct ptx_operand *o, unsigned bits, uint32_t *offset);
bool source_number(struct decoder *d, size_t operand, unsigned bits, uint32_t *offset);
bool destination(struct decoder *d, const struct ptx_operand *o, unsigned bits, uint32_t *offset);
bool destination_number(struct decoder *d, size_t operand, unsigned bits, uint32_t *offset);
bool pred_source(struct decoder *d, const struct ptx_operand *o, uint32_t *pred); /* | GUARD_NEGATED */
bool pred_destination(struct decoder *d, const struct ptx_operand *o, uint32_t *pred);
unsigned register_bits(struct decoder *d, const struct ptx_operand *o); /* 16, 32, 64; 0: not a register */
bool operand_total(struct decoder *d, size_t least, size_t most);
uint32_t constant(struct decoder *d, uint64_t bits, bool wide);
uint32_t temp(struct decoder *d);
uint32_t pred_temp(struct decoder *d);
void reads_across(struct decoder *d, const struct ptx_operand *o);
/* Address of a variable (as mov gives it): shared offset, or where its region is. */
bool variable_address(struct decoder *d, int variable, uint64_t *address);

struct record *emit(struct decoder *d, handler *run, enum blend blend, uint32_t dst, uint32_t a, uint32_t b, uint32_t c,
                    int64_t imm);
void lane(struct decoder *d, enum lane_op op, uint32_t dst, uint32_t a, uint32_t b, uint32_t c, int64_t imm);
/* decode_memory.c: an address operand in x->space as a register (or a constant in one) and a displacement; sets
 * x->wide_address. The number of a new access. */
bool address(struct decoder *d, const struct ptx_operand *o, struct access *x, uint32_t *reg, int64_t *shift);
uint32_t add_access(struct decoder *d, const struct access *x);
/* Takes .global, .shared ...; PTX_REG: generic. */
bool take_space(struct decoder *d, enum ptx_space *space);
/* Space for `count` offsets in program.wide; its index. */
uint32_t wide(struct decoder *d, size_t count);
/* Number of the lane operation "stem_type", or LANE_OPS. */
enum lane_op lane_named(const char *stem, const char *type);
void pred_logic(struct decoder *d, uint32_t dst, uint32_t a, uint32_t b, int what);

typedef bool decode_function(struct decoder *d);
struct opcode {
    const char *name;
    decode_function *decode;
};
extern const struct opcode opcodes_scalar[], opcodes_convert[], opcodes_compare[], opcodes_cvt[], opcodes_memory[],
    opcodes_async[], opcodes_warp[]; /* end: NULL */
extern const struct opcode opcodes_video[], opcodes_atomic[], opcodes_hints[], opcodes_tensor[];
/* decode_integer.c: carries, packed and other rare integer forms, told by their modifiers. */
bool is_rare_integer(const struct decoder *d);
bool decode_rare_integer(struct decoder *d);
/* decode_hints.c: takes the modifiers and operands of membar and fence. */
bool take_fence(struct decoder *d);
extern const struct opcode opcodes_call[];
/* decode.c: the instruction at hand; the parts of decoding a function. start[i]: first record of instruction i. */
bool decode_one(struct decoder *d);
void find_undefined(struct decoder *d);
/* A register of the function, or a shadow, is all ones when an activation begins. */
void starts_poisoned(struct decoder *d, uint32_t offset, bool wide);
void link_records(struct decoder *d, const size_t *start);
void count_executed(struct decoder *d);
/* Around an mma of 8-bit integers, when there is a probe; list and imm: probe.h. */
void probe_aside(struct decoder *d, bool after, uint32_t list, int64_t imm);
/* decode_step.c: behind the instruction at hand, when there is a probe that is told of it. */
bool step_aside(struct decoder *d);
void tell_literature(struct decoder *d); /* ahead of an mma by a model that is not measured */
void gather_asides(struct decoder *d, size_t from);

/* decode_function.c: the function is part of the program: decoded in its turn. */
void reach(struct decoder *d, size_t function);
void reach_taken(struct decoder *d);
bool decode_body(struct decoder *d, int function); /* its records and its sites, behind those that are there */
void find_recursion(struct decoder *d);

/* decode.c */
/* A register with the local address of a .local variable, or of a parameter whose address is taken, + displacement. */
bool frame_address(struct decoder *d, int variable, int64_t displacement, uint32_t *offset);

uint32_t add_access(struct decoder *d, const struct access *x); /* decode_memory.c: its number */

/* decode_call.c */
bool own_param(const struct decoder *d, const struct ptx_operand *o); /* a .param variable of this function */
int formal(const struct decoder *d, int variable); /* which parameter of this function it is, or -1 */
/* ld.param, st.param in the .param frame of a function. */
bool decode_param(struct decoder *d, const struct ptx_operand *o, const struct access *x, const uint32_t registers[]);
void decode_prologue(struct decoder *d); /* parameters in registers, or whose address is taken */
void decode_return(struct decoder *d);
size_t call_scratch(const struct ptx_instruction *in); /* bytes of decoder.scratch that a call needs */

/* With a census: the access is counted when it is executed. Goes ahead of the record of the access itself. */
void count_access(struct decoder *d, uint32_t base, uint32_t access, int64_t shift);
/* By the table of operations that are one lane operation. */
bool decode_table(struct decoder *d);
/* Arithmetic with a type f16, f16x2, bf16 or bf16x2 among its modifiers; .approx and .full; f32 with .xorsign.abs. */
bool half_typed(const struct decoder *d);
decode_function decode_half, decode_approximate, decode_xorsign;
/* What the instruction at hand is of sm_100 and later by, or NULL. */
const char *of_later_architecture(const struct decoder *d);

#endif
