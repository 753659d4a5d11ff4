/* Sums and differences with the carry flag CC.CF, one for each lane. After a difference the flag is the borrow.
 * Source: PTX ISA 9.0, 9.7.2. */
#include "machine.h"

void op_carry(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t in = r->imm & CARRY_IN ? w->preds[PRED_CARRY] : 0;
    const bool subtract = r->imm & CARRY_SUBTRACT;
    uint32_t out = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        const uint64_t carry = in >> i & 1;
        if (r->imm & CARRY_WIDE) {
            const uint64_t a = reg64(w, r->a)[i], b = reg64(w, r->b)[i];
            const uint64_t part = subtract ? a - b : a + b;
            const uint64_t whole = subtract ? part - carry : part + carry;
            const bool over = subtract ? a < b || part < carry : part < a || whole < part;
            reg64(w, r->dst)[i] = whole;
            out |= (uint32_t)over << i;
        } else {
            const uint64_t a = reg32(w, r->a)[i], b = reg32(w, r->b)[i];
            const uint64_t whole = subtract ? a - b - carry : a + b + carry;
            reg32(w, r->dst)[i] = (uint32_t)whole;
            out |= (uint32_t)(whole >> 32 & 1) << i;
        }
    }
    if (r->imm & CARRY_OUT)
        set_pred(w, PRED_CARRY, out, mask);
}
