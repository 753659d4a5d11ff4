/* What the files of the PTX front end share. The text is read once, left to right:
 *
 *   lex.c          characters -> tokens
 *   constant.c     constant expressions
 *   symbols.c      names, scopes, and what a name means at a place
 *   variables.c    .reg .param .shared ... declarations; initial.c their initial values
 *   instruction.c  guard, opcode, operands; operand.c one operand
 *   directives.c   .file .loc .section .maxntid ...
 *   parse.c        module, functions, statements
 *   resolve.c      names that could only be bound later: labels, functions; place.c: where variables lie
 *
 * An error is reported once, and from then on the current token is TOKEN_BAD, which no rule accepts: every loop over
 * tokens ends. */
#ifndef GPU_PTX_INTERNAL_H
#define GPU_PTX_INTERNAL_H

#include "ptx.h"

/* Limits; going past one is an error that names it. */
enum {
    MAX_NAME = 16384,           /* characters of a name; C++ mangling makes thousands */
    MAX_SCOPES = 256,           /* { } inside each other */
    MAX_EXPRESSION = 64,        /* operators inside each other in a constant expression */
    MAX_FILES = 65536,          /* .file numbers */
    MAX_REGISTERS = 1 << 18,    /* registers a function really mentions */
    MAX_RANGE = 1000000000,     /* N of %r<N> */
    MAX_RANGE_DIGITS = 9,       /* digits of an index of such a range */
    MAX_INSTRUCTIONS = 1 << 22, /* of a function */
    MAX_OPERANDS = 4096,        /* of an instruction, of a vector, of an argument list */
    MAX_DIMENSIONS = 8,
    MAX_VARIABLES = 1 << 24,
};
#define MAX_TEXT_BYTES     ((size_t)256 << 20)
#define MAX_VARIABLE_BYTES ((size_t)1 << 40) /* of .global; the other spaces have 32-bit addresses */
#define MAX_ARENA_BYTES    ((size_t)2 << 30)

/* Arena: zeroed memory, all of it given back at once. */
struct arena_block;
struct arena {
    struct arena_block *blocks;
    size_t taken; /* bytes, over all blocks */
};
void *arena_take(struct arena *a, size_t count, size_t bytes); /* NULL: more than MAX_ARENA_BYTES, or no memory */
void arena_free(struct arena *a);

/* Tokens */
enum token_kind {
    TOKEN_BAD,
    TOKEN_END,
    TOKEN_WORD,    /* name, %r1, $L__BB0_1, _ */
    TOKEN_DOTTED,  /* .global, .L2::128B: the dot is not part of it */
    TOKEN_INTEGER, /* bits */
    TOKEN_FLOAT,   /* bits, is_double */
    TOKEN_STRING,  /* without its quotes */
    TOKEN_MARK,    /* mark */
};
enum mark {
    MARK_SHL = 256,
    MARK_SHR,
    MARK_LE,
    MARK_GE,
    MARK_EQ,
    MARK_NE,
    MARK_AND,
    MARK_OR
}; /* others: the character */

struct token {
    enum token_kind kind;
    int mark;
    size_t at;        /* of its first character in the text */
    const char *text; /* (size) the word itself, not terminated */
    size_t size;
    int line;
    uint64_t bits;
    bool is_unsigned, is_double;
};

/* Names and what they mean. Each name is held once; its bindings form a stack, innermost scope on top. */
enum binding_kind { BOUND_REGISTER, BOUND_VARIABLE, BOUND_LABEL, BOUND_FUNCTION, BOUND_NAME };

struct binding {
    enum binding_kind kind;
    unsigned depth;           /* of its scope; 0 is the module */
    int index;                /* register (-1: not mentioned yet), variable, function */
    enum ptx_type type;       /* of a register */
    bool from_range;          /* a register that a range stands for */
    size_t target;            /* of a label */
    struct ptx_operand *rows; /* of a table of targets */
    size_t row_count;
    struct symbol *symbol;
    struct binding *outer; /* what the name meant outside of this scope */
    struct binding *next;  /* in the same scope */
};

struct range { /* `.reg .b32 %r<91>;` on the stem %r */
    unsigned depth;
    uint32_t count;
    enum ptx_type type;
    struct symbol *symbol;
    struct range *outer, *next;
};

struct symbol {
    const char *name;
    size_t length;
    uint64_t hash;
    struct symbol *stem; /* the name without its last digit, when there is one: where a range may be declared */
    struct binding *top;
    struct range *range;
    size_t pending; /* index + 1 of the newest pending operand with this name in the function, 0 when there is none */
};

struct scope {
    struct binding *bindings;
    struct range *ranges;
    size_t first_pending; /* index into parser.pending */
    size_t opened_at;
    size_t frame_end; /* where the .param variables of the scope begin: those of two scopes may lie over each other */
};

/* A name in an operand that what is known so far does not explain: a label or a function further down. */
struct pending {
    struct ptx_operand *operand;
    struct symbol *symbol;
    size_t at, older; /* older: the one before it on the same name, as index + 1; 0 when there is none */
    bool label_only;  /* bra: nothing but a label will do */
    bool bound;
};

/* A direct call, checked against its function once all are known. */
struct call_site {
    struct ptx_operand *operands;
    size_t operand_count, at;
};

/* An initial value that names a variable or function. */
struct address_cell {
    struct ptx_relocation *relocation;
    struct symbol *symbol;
    size_t at;
};

struct place_in_source {
    int file, line, column;
};
struct inlined_edge { /* .loc `at` was inlined into `into` */
    struct place_in_source at, into;
};

struct raw_operand { /* an operand being read; symbol != NULL: to be bound later */
    struct ptx_operand operand;
    struct symbol *symbol;
    size_t at;
    bool label_only;
};

/* An array that grows by doubling; malloc'ed, freed with the parser. */
struct growing {
    void *items;
    size_t count, room;
};

struct parser {
    struct error *e;
    bool failed;
    const char *path, *text;
    size_t size;

    size_t next; /* where the lexer goes on */
    int next_line;
    struct token token;
    size_t token_ended; /* where the token before `token` ended */

    struct arena *arena;
    struct ptx_module *module;
    struct growing variables; /* ptx_variable, ptx_function of the module */
    struct growing functions;

    struct growing symbols; /* open-addressed table of struct symbol * */
    size_t symbol_count;

    struct scope scopes[MAX_SCOPES];
    unsigned depth; /* of the current scope */
    struct growing pending, calls, cells;

    int function; /* index of the one being read, or -1 */
    struct growing registers, instructions, raw;
    size_t least_alignment;        /* of the next parameter: 1 for an entry's, else a word */
    size_t frame_end, frame_bytes; /* of the variables in scope, and the most that it has been */
    struct ptx_instruction loc;    /* only what .loc says: file ... place */
    struct growing inlined;        /* table of inlined_edge, emptied for each function */
    size_t inlined_count;
};

/* arena.c */
void *take(struct parser *p, size_t count, size_t bytes);           /* of the arena; NULL after an error */
void *grow(struct parser *p, struct growing *g, size_t item_bytes); /* a zeroed new last item; NULL after an error */
void free_growing(struct growing *g);

/* lex.c */
void advance(struct parser *p); /* p->token = the next one */
/* The first message of a parse is the one that counts. The fail_ forms are false, for the compiler to see as well. */
void report_at(struct parser *p, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void report_unexpected(struct parser *p, const char *wanted); /* "expected WANTED, found TOKEN" at the current token */
#define fail_at(p, at, ...)        (report_at(p, at, __VA_ARGS__), false)
#define fail_unexpected(p, wanted) (report_unexpected(p, wanted), false)
bool is_mark(const struct parser *p, int mark);
bool is_dotted(const struct parser *p, const char *word);
bool accept_mark(struct parser *p, int mark);
bool expect_mark(struct parser *p, int mark);
bool expect_unsigned(struct parser *p, const char *what, uint64_t most, uint64_t *out); /* an integer literal */

/* constant.c */
struct constant {
    enum { CONSTANT_INTEGER, CONSTANT_SINGLE, CONSTANT_DOUBLE } kind;
    uint64_t bits;
    bool is_unsigned;
};
bool parse_constant(struct parser *p, struct constant *out);
bool parse_integer_constant(struct parser *p, uint64_t *bits);
bool starts_constant(const struct parser *p);

/* symbols.c */
struct symbol *intern(struct parser *p, const char *text, size_t size); /* NULL after an error */
const char *intern_name(struct parser *p, const char *text, size_t size);
bool open_scope(struct parser *p);
bool close_scope(struct parser *p); /* binds its labels (resolve.c) first */
void drop_scope(struct parser *p);  /* forgets the bindings of the innermost scope */
/* Binds a name in the innermost scope; NULL after an error when it is bound there already. */
struct binding *declare(struct parser *p, struct symbol *s, enum binding_kind kind, size_t at);
struct binding *declare_function(struct parser *p, struct symbol *s, size_t at); /* in the module's scope */
bool declare_range(struct parser *p, struct symbol *stem, uint32_t count, enum ptx_type type, size_t at);
/* What the name means here, innermost first; *out = NULL when nothing. Registers get their index at the first mention.
 */
bool look_up(struct parser *p, struct symbol *s, size_t at, struct binding **out);

/* variables.c */
struct shape { /* of an array */
    size_t count, extent[MAX_DIMENSIONS];
    size_t cells; /* product of the extents; an open one counts as 1 */
    bool open;    /* x[]: the first extent is left to the initial value, or to the launch */
};
bool parse_declaration(struct parser *p, enum ptx_space space, bool external); /* after the space's word, up to ; */
bool parse_register_declaration(struct parser *p);
/* ( .param ..., .reg ... ): indices of the variables, in the arena. A .reg is a register of the function and a variable
 * that hands it over; an entry has none. */
bool parse_parameters(struct parser *p, bool entry, int **indices, size_t *count);
bool space_named(const struct token *t, enum ptx_space *space);

/* initial.c */
/* From "=" on: sets v->initial and, for an open shape, v->bytes. vector: elements of .v2 / .v4, else 1. */
bool parse_initial(struct parser *p, struct ptx_variable *v, const struct shape *shape, size_t vector);

/* place.c */
void place_parameter(struct parser *p, struct ptx_variable *v); /* next in the frame of the function */
void place_variables(struct parser *p);

/* operand.c */
bool parse_operand(struct parser *p, struct raw_operand *out, bool label_only);
/* ( A, B ): the arguments or results of a call. */
bool parse_argument_list(struct parser *p, struct raw_operand *out);
bool push_raw(struct parser *p, const struct raw_operand *raw);
/* The raw operands from `first` on move to the arena; what they leave open is noted for resolve.c. */
bool settle(struct parser *p, size_t first, struct ptx_operand **out, size_t *count);

/* instruction.c */
bool parse_guard(struct parser *p, int *guard, bool *negated); /* @p or @!p */
/* After its opcode: parts, operands, ; */
bool parse_instruction(struct parser *p, const struct token *opcode, int guard, bool negated);
bool parse_target_table(struct parser *p, struct binding *table); /* after .branchtargets or .calltargets */

/* directives.c */
bool parse_file(struct parser *p);
bool parse_loc(struct parser *p);
bool parse_pragma(struct parser *p);
bool skip_section(struct parser *p);
bool parse_header(struct parser *p);                                      /* .version .target .address_size */
bool parse_function_directives(struct parser *p, struct ptx_function *f); /* up to { or ; */
bool parse_attribute(struct parser *p);                                   /* after .attribute */

/* resolve.c */
bool bind_labels(struct parser *p);   /* of the innermost scope */
bool bind_the_rest(struct parser *p); /* functions, initial values, call arguments: at the end of the module */

/* parse.c */
bool parse_module(struct parser *p);

static inline struct ptx_variable *variable_at(const struct parser *p, size_t index) {
    return (struct ptx_variable *)p->variables.items + index;
}
static inline struct ptx_function *function_at(const struct parser *p, size_t index) {
    return (struct ptx_function *)p->functions.items + index;
}

#endif
