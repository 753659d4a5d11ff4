/* stmatrix and movmatrix: 8 x 8 matrices of 16-bit elements, spread over the lanes as ldmatrix spreads them.
 * Source: PTX ISA 9.0, 9.7.14.5.16, .17; facts/ptx.md LM-2 .. LM-5, LM-9, LM-10 (measured on an H200). */
#include "isa.h"
#include "spot.h"
#include <string.h>

/* Row q of matrix j goes to where lane 8j + q says. Lane L's word of matrix j holds columns 2 (L%4), +1 of row L/4;
 * transposed: rows 2 (L%4), +1 of column L/4. */
void op_stmatrix(struct warp *w, const struct record *r, uint32_t mask) {
    const unsigned matrices = r->b & 0xff, rows = 8 * matrices;
    const uint32_t used = rows == LANES ? ALL_LANES : (1u << rows) - 1;
    const uint32_t *from = w->wide + r->wide;
    uint64_t addr[LANES];
    struct spot spots[LANES];
    check_convergence(w, r, mask, w->live);
    memory_addresses(w, r, addr);
    find_spots(w, r, mask & used, addr, spots);
    for (unsigned row = 0; row < rows; ++row) {
        if (!(mask >> row & 1) || !spots[row].host || spots[row].region)
            continue;
        const uint32_t *words = reg32(w, from[row / 8]);
        const unsigned q = row % 8;
        uint16_t elements[8];
        for (unsigned column = 0; column < 8; ++column) {
            const bool trans = r->b & LDMATRIX_TRANS;
            const unsigned major = trans ? column : q, minor = trans ? q : column;
            elements[column] = (uint16_t)(words[4 * major + minor / 2] >> (16 * (minor & 1)));
        }
        memcpy(spots[row].host, elements, sizeof elements);
    }
}

void op_movmatrix(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t *a = reg32(w, r->a);
    uint32_t out[LANES];
    check_convergence(w, r, mask, w->live);
    for (unsigned lane = 0; lane < LANES; ++lane) {
        const unsigned g = lane >> 2, t = lane & 3, shift = 16 * (g & 1);
        const uint32_t low = a[8 * t + (g >> 1)] >> shift & 0xffff, high = a[8 * t + 4 + (g >> 1)] >> shift & 0xffff;
        out[lane] = low | high << 16;
    }
    for (uint32_t left = mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        reg32(w, r->dst)[i] = out[i];
    }
}
