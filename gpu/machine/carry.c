/* Sums and differences with the carry flag CC.CF, one for each lane. A difference is the sum a + ~b + 1: it sets the
 * flag when it borrows nothing, and subc borrows when the flag is not set. (An H200 does so, as sums and differences in
 * one chain show; PTX ISA speaks of a borrow.) Source: PTX ISA 9.0, 9.7.2. */
#include "machine.h"

void op_carry(struct warp *w, const struct record *r, uint32_t mask) {
    const bool subtract = r->imm & CARRY_SUBTRACT;
    const uint32_t in = r->imm & CARRY_IN ? w->preds[PRED_CARRY] : subtract ? ALL_LANES : 0;
    uint32_t out = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        const uint64_t carry = in >> i & 1;
        if (r->imm & CARRY_WIDE) {
            const uint64_t a = reg64(w, r->a)[i], b = reg64(w, r->b)[i] ^ (subtract ? UINT64_MAX : 0);
            const uint64_t part = a + b, whole = part + carry;
            reg64(w, r->dst)[i] = whole;
            out |= (uint32_t)(part < a || whole < part) << i;
        } else {
            const uint64_t a = reg32(w, r->a)[i], b = reg32(w, r->b)[i] ^ (subtract ? UINT32_MAX : 0);
            const uint64_t whole = a + b + carry;
            reg32(w, r->dst)[i] = (uint32_t)whole;
            out |= (uint32_t)(whole >> 32) << i;
        }
    }
    if (r->imm & CARRY_OUT)
        set_pred(w, PRED_CARRY, out, mask);
}
