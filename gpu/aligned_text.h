/* What aligned.c compares of an instruction. */
#ifndef GPU_ALIGNED_TEXT_H
#define GPU_ALIGNED_TEXT_H

#include "ptx/ptx.h"

struct aligned_text {
    uint64_t expression;     /* of the text, and the expressions of the registers it reads, as they stand above it */
    uint64_t text;           /* without the numbers of registers, and without targets of branches */
    uint64_t shape;          /* of the opcode, its space, the types of what it gives, and the kinds of operands */
    int *registers;          /* (register_count) as they stand: first those that it gives */
    uint32_t register_count; /* where two texts are the same, as many */
    uint32_t given;
};

/* (f->instruction_count), the caller's. */
struct aligned_text *aligned_texts(const struct ptx_module *m, const struct ptx_function *f);
void aligned_texts_free(struct aligned_text *t, const struct ptx_function *f);

#endif
