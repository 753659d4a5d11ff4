/* Approximate functions: `.approx`, `.full`. Source: PTX ISA 9.7.3.8, .13 .. .22, 9.7.4.8 to .10. */
#include "../../ref/half_functions.h"
#include "../../ref/rcp_approx.h"
#include "decode.h"
#include "float.h"
#include <string.h>

struct function {
    const char *opcode, *modifier; /* approx, full */
    enum approximate what;
    uint32_t types, ftz_types; /* that it takes without and with .ftz */
};
#define HALVES (T(F16) | T(F16X2))
#define BRAINS (T(BF16) | T(BF16X2))
static const struct function functions[] = {
    {"rcp", "approx", APPROXIMATE_RCP, T(F32), T(F32) | T(F64)},
    {"div", "approx", APPROXIMATE_DIV, T(F32), T(F32)},
    {"div", "full", APPROXIMATE_DIV_FULL, T(F32), T(F32)},
    {"rsqrt", "approx", APPROXIMATE_RSQRT, T(F32) | T(F64), T(F32) | T(F64)},
    {"sqrt", "approx", APPROXIMATE_SQRT, T(F32), T(F32)},
    {"ex2", "approx", APPROXIMATE_EX2, T(F32) | HALVES, T(F32) | BRAINS},
    {"lg2", "approx", APPROXIMATE_LG2, T(F32), T(F32)},
    {"sin", "approx", APPROXIMATE_SIN, T(F32), T(F32)},
    {"cos", "approx", APPROXIMATE_COS, T(F32), T(F32)},
    {"tanh", "approx", APPROXIMATE_TANH, T(F32) | HALVES | BRAINS, 0},
};

/* The measured tables are those of sm_90. */
static bool is_exact(const struct decoder *d, enum approximate what, enum ptx_type t) {
    const struct arch *arch = d->l->options.arch ? d->l->options.arch : arch_default();
    if (arch->sm != 90)
        return false;
    return t == PTX_F32 ? what <= APPROXIMATE_DIV_FULL && rcp_approx_measured()
                        : t != PTX_F64 && half_functions_measured();
}

bool decode_approximate(struct decoder *d) {
    const struct function *f = NULL;
    d->taken = 0;
    for (size_t i = 0; !f && i < sizeof functions / sizeof *functions; ++i)
        if (!strcmp(functions[i].opcode, d->in->opcode) && has(d, functions[i].modifier))
            f = &functions[i];
    const bool flush = has(d, "ftz");
    const enum ptx_type t = next_type(d);
    if (!f || t == PTX_NO_TYPE || !((flush ? f->ftz_types : f->types) >> t & 1))
        return refuse(d, NULL);
    const bool divides = f->what == APPROXIMATE_DIV || f->what == APPROXIMATE_DIV_FULL;
    const unsigned bits = type_bits(t);
    uint32_t dst, a, b = 0;
    if (!all_taken(d) || !operand_total(d, divides ? 3 : 2, divides ? 3 : 2) || !destination_number(d, 0, bits, &dst) ||
        !source_number(d, 1, bits, &a) || (divides && !source_number(d, 2, bits, &b)))
        return false;
    int64_t imm = f->what | (flush ? APPROXIMATE_FTZ : 0) | (is_exact(d, f->what, t) ? APPROXIMATE_EXACT : 0);
    imm |= HALVES >> t & 1 ? APPROXIMATE_F16 : BRAINS >> t & 1 ? APPROXIMATE_BF16 : 0;
    imm |= t == PTX_F16X2 || t == PTX_BF16X2 ? APPROXIMATE_PAIR : t == PTX_F64 ? APPROXIMATE_F64 : 0;
    emit(d, op_approximate, t == PTX_F64 ? BLEND_64 : BLEND_32, dst, a, b, 0, imm);
    return true;
}
