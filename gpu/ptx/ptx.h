/* PTX text -> a program with every name resolved. lex.c cuts the text into tokens, parse.c builds the module,
 * resolve.c binds registers, labels, symbols and parameters (scopes innermost first). What an instruction *does* is
 * not known here: any well-formed instruction parses, and the machine refuses those it cannot run.
 * Source: PTX ISA 9.0 / 9.1, sections 4 (syntax), 5 (state spaces, types), 9.3 (instructions), 10, 11 (directives). */
#ifndef GPU_PTX_PTX_H
#define GPU_PTX_PTX_H

#include "../../ref/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ptx_type { /* fundamental types, PTX ISA 5.2.1 */
                PTX_NO_TYPE,
                PTX_PRED,
                PTX_B8,
                PTX_B16,
                PTX_B32,
                PTX_B64,
                PTX_B128,
                PTX_U8,
                PTX_U16,
                PTX_U32,
                PTX_U64,
                PTX_S8,
                PTX_S16,
                PTX_S32,
                PTX_S64,
                PTX_F16,
                PTX_F16X2,
                PTX_BF16,
                PTX_BF16X2,
                PTX_F32,
                PTX_F64,
};

enum ptx_space { PTX_REG, PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_PARAM, PTX_CONST };

struct ptx_register {
    const char *name; /* as written: "%r12" */
    enum ptx_type type;
};

/* A cell of an initialised variable that holds an address, which only whoever places the variables can know:
 * the `bytes` bytes at `offset` of the variable become (address of variable or function) + addend. */
struct ptx_relocation {
    size_t offset, bytes; /* bytes is 4 or 8 */
    int variable;         /* index into the module's variables, or -1 */
    int function;         /* index into the module's functions, or -1 */
    int64_t addend;
    bool generic; /* generic(x): the generic address, else the one within x's own space */
};

/* A variable in memory: module-level, function-level, a kernel parameter, or a call's .param. */
struct ptx_variable {
    const char *name;
    enum ptx_space space;
    enum ptx_type type;
    bool external;    /* .extern .shared x[]: starts where the static shared variables end */
    size_t alignment; /* bytes, a power of two */
    size_t bytes;     /* 0 for an .extern array without a size */
    size_t offset;    /* parameters: natural C layout, those of functions each from a word on; shared, local: placed by
                       * place.c, each space from 0;    global and const: 0, whoever runs the program places them */
    size_t number;    /* of a .global or .const variable: how many of these two spaces come before it */
    int function;     /* declared in this function (index), or -1: module-level */
    int reg;          /* parameter or return value in a register (.reg): which one; else -1 */
    const uint8_t *initial;                   /* (bytes) or NULL: not initialised */
    const struct ptx_relocation *relocations; /* addresses within initial, ascending by offset */
    size_t relocation_count;
};

enum ptx_operand_kind {
    PTX_OP_REGISTER, /* register */
    PTX_OP_INTEGER,  /* bits: two's complement 64-bit */
    PTX_OP_FLOAT,    /* bits: of the double when double_precision (0d.., 1.5), else of the float (0f..) */
    PTX_OP_VECTOR,   /* elements */
    PTX_OP_ADDRESS,  /* [base + displacement]; [base, {..}] and [base, reg]: what follows the comma in elements */
    PTX_OP_VARIABLE, /* variable (+ displacement): its address as a value */
    PTX_OP_FUNCTION, /* function: its address, or a call's target */
    PTX_OP_LABEL,    /* target: an instruction index of the same function */
    PTX_OP_SPECIAL,  /* %tid.x ...: text in `name` */
    PTX_OP_SINK,     /* _ */
    PTX_OP_LIST,     /* ( a, b ): arguments of a call, in elements */
    PTX_OP_NAME,     /* a call prototype, or a table of branch or call targets: its rows in elements */
};

struct ptx_operand {
    enum ptx_operand_kind kind;
    bool negated;     /* !%p */
    bool minus;       /* -%r (negated source register, rare) */
    int reg;          /* register index; in an ADDRESS the base register, or -1 */
    int second;       /* `%p|%q` and `_|%q`: the second destination register, else -1 */
    const char *part; /* %r1.b0, %r1.h10: "b0", "h10", the bytes or halves that a video instruction means; or NULL */
    int variable;     /* index into the module's (>= 0) variables, or -1 */
    int function;     /* index into the module's functions, or -1 */
    int64_t displacement; /* of an ADDRESS or VARIABLE */
    uint64_t bits;
    bool double_precision;
    size_t target;                /* LABEL: instruction_count for a label at the end of the body */
    const char *name;             /* SPECIAL ("%tid.x"), NAME, LABEL, FUNCTION, VARIABLE: as written */
    struct ptx_operand *elements; /* VECTOR, LIST: (element_count) */
    size_t element_count;
};

struct ptx_call_place { /* in the source: index into files, or -1; line */
    int file, line;
};

#define PTX_MAX_PARTS 16

struct ptx_instruction {
    const char *opcode;               /* "ld" */
    const char *parts[PTX_MAX_PARTS]; /* "global" "nc" "v4" "u32"; shared::cta is one part */
    size_t part_count;
    int guard; /* predicate register, or -1 */
    bool guard_negated;
    struct ptx_operand *operands; /* in the order written */
    size_t operand_count;
    int ptx_line;                   /* line of the PTX text */
    size_t ptx_at;                  /* byte of the module's text where the opcode stands */
    const char *text;               /* the statement as written, one line, without guard and ';' trimmed ends */
    int file, line;                 /* from .loc: index into files and line, or -1 and 0. For inlined code the
                                     * place of the innermost function (what the author sees in his editor) */
    int inlined_file, inlined_line; /* outermost `inlined_at` of that .loc, or -1 and 0 */
    /* (inlined_count) every call of inlined code, the innermost first; the last is inlined_file and inlined_line */
    const struct ptx_call_place *inlined;
    size_t inlined_count;
    uint64_t place; /* hash of file, line and column of that .loc and of every call that it was inlined at: instructions
                     * of one place in the source, unrolled ones too, have the same; 0: there is none */
};

struct ptx_function {
    const char *name;
    bool entry;
    bool declared_only;    /* .extern .func vprintf */
    int *params, *returns; /* variable indices, in order, all of space PTX_PARAM; see ptx_variable.reg */
    size_t param_count, return_count;
    size_t param_bytes; /* size of the parameter block with natural alignment */
    size_t frame_bytes; /* .param space of one call: parameters, then return values, then the .param variables of
                         * the body, those of disjoint scopes over each other; every offset of a PTX_PARAM variable
                         * counts from its start */
    struct ptx_register *registers;
    size_t register_count;
    struct ptx_instruction *instructions;
    size_t instruction_count;
    size_t local_bytes;              /* .local of this function */
    size_t local_alignment;          /* largest of those variables, 0 when there are none */
    unsigned maxntid[3], reqntid[3]; /* 0 when not given; an axis left out of a given one is 1 */
    unsigned cluster[3];             /* .reqnctapercluster, likewise */
    int ptx_line;
};

struct ptx_module {
    const char *path; /* of the PTX text, as given */
    const char *text; /* (text_bytes + 1) a copy of it, ended by 0 */
    size_t text_bytes;
    unsigned version_major, version_minor; /* .version */
    const char *target;                    /* "sm_80", one that there is */
    int target_line;
    unsigned address_size;
    const char **files; /* .file index -> path, NULL where the number is unused */
    size_t file_count;
    /* All of the module, parameters and locals included. Static .shared variables: those of the module and of device
     * functions lie first, then each entry's own. A launch runs one entry, so the entries' parts lie over each other.
     * External ones all lie where the largest entry's part ends, rounded up to the largest of their alignments. */
    struct ptx_variable *variables;
    size_t variable_count;
    struct ptx_function *functions;
    size_t function_count;
    size_t local_bytes; /* .local of the module, in every thread below those of its functions */
};

/* Parses and resolves `size` bytes of text. path is for messages. On failure NULL and
 * "PATH:LINE:COLUMN: message" followed by the line and a caret. The module owns all it points to (one arena). */
struct ptx_module *ptx_parse(const char *path, const char *text, size_t size, struct error *e);
struct ptx_module *ptx_load(const char *path, struct error *e); /* reads the file first; at most 256 MiB */
void ptx_free(struct ptx_module *m);

const struct ptx_function *ptx_entry_named(const struct ptx_module *m, const char *name); /* NULL when there is none */
/* Bytes of static shared memory that a block of the entry has: the highest end of the .shared variables of the module,
 * of device functions, and of this entry; other entries' and external ones do not count. Source: PTX ISA 5.1.7. */
size_t ptx_static_shared(const struct ptx_module *m, const struct ptx_function *entry);
size_t ptx_space_bytes(const struct ptx_module *m, enum ptx_space space); /* of all variables there; SIZE_MAX: more */
size_t ptx_type_bytes(enum ptx_type t);                                   /* 0 for PTX_NO_TYPE and PTX_PRED */
enum ptx_type ptx_type_named(const char *s); /* "u32" -> PTX_U32; PTX_NO_TYPE when it is none */

#endif
