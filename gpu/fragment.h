/* Which element of a tile each register of each lane holds: the operands of mma, of wgmma (A and D in registers), and
 * of ldmatrix, stmatrix and movmatrix. Maps are formulas, not tables; tests/independent has them as tables.
 *
 * Throughout: g = lane / 4, t = lane % 4 (lane within its warp), r = register, i = element of it, low bits first, of
 * E = 32 / bits elements. A tile is rows x columns elements:
 *   A     rows "row" (m), columns "k"       a row's bytes lie along k
 *   B     rows "n",       columns "k"
 *   C, D  rows "row",     columns "col" (n)
 * Sources: PTX ISA 9.1, 9.7.14.5 (mma), 9.7.14.5.15 .. 17 (ldmatrix, stmatrix, movmatrix), 9.7.15.5.1 (wgmma); each
 * formula has its id of facts/ptx.md, where it was checked on an H200. */
#ifndef GPU_FRAGMENT_H
#define GPU_FRAGMENT_H

#include <stdbool.h>
#include <stddef.h>

struct fragment_cell {
    unsigned row, column;
};

enum fragment_operand { FRAGMENT_A, FRAGMENT_B, FRAGMENT_C, FRAGMENT_D, FRAGMENT_MATRICES };

struct fragment {
    char name[48]; /* "mma.m16n8k32.s8/A", "wgmma.m64n128.f32/D", "ldmatrix.x4.trans" */
    enum fragment_operand operand;
    unsigned lanes;         /* 32; 128 for wgmma */
    unsigned registers;     /* of 32 bits, a lane */
    unsigned bits;          /* of an element: 4, 8, 16 or 32 */
    unsigned rows, columns; /* of the tile, elements */
    const char *row_name, *column_name;
    const char *source;
    /* The element that lane (0 .. lanes-1), register, element (0 .. 32/bits-1) hold. */
    struct fragment_cell (*at)(const struct fragment *f, unsigned lane, unsigned r, unsigned i);
};

/* Every operand of facts/ptx.md 1, 2.2 and 3.1: (*count), to be freed by the caller. */
struct fragment *fragment_list(size_t *count);
/* The one of that name; a blank may stand for the '/'. */
bool fragment_named(const char *name, struct fragment *out);

/* The operand of wgmma, D: n = 8 .. 256 by 8, type s32, f32 or f16. For the statements about slabs. */
struct fragment fragment_wgmma_d(unsigned n, const char *type);
/* ldmatrix, and stmatrix, which has the same map, of 1, 2 or 4 matrices of 8 x 8 b16: rows 8 * matrix + row, columns
 * b16. */
struct fragment fragment_ldmatrix(unsigned matrices, bool trans);
struct fragment fragment_stmatrix(unsigned matrices, bool trans);

/* "lane 9", or of wgmma's four warps "warp 1 lane 9"; lane: 0 .. lanes-1. */
struct fragment_lane_name {
    char text[32];
};
struct fragment_lane_name fragment_lane_name(const struct fragment *f, unsigned lane);

/* Elements of a register. */
static inline unsigned fragment_elements(const struct fragment *f) {
    return 32 / f->bits;
}

/* ---- operands that wgmma reads from shared memory: PTX ISA 9.7.15.5.1.2, facts/ptx.md 3.4 ---- */

enum swizzle_mode { SWIZZLE_NONE, SWIZZLE_32B, SWIZZLE_64B, SWIZZLE_128B, SWIZZLE_MODES };
extern const char *const swizzle_names[SWIZZLE_MODES]; /* "none", "32B" ... */
/* Bytes of a row of the pattern: 16, 32, 64, 128; the pattern repeats every eight rows. */
unsigned swizzle_width(enum swizzle_mode mode);
/* at ^ ((at >> 3) & mask), mask 0, 0x10, 0x30, 0x70: WG-13. at: a shared-memory address. */
unsigned swizzle(enum swizzle_mode mode, unsigned at);

/* What a descriptor says, base offset 0: leading offset `lbo` (K-major: unswizzled only), stride offset `sbo`, and the
 * start address, bytes. */
struct wgmma_descriptor {
    enum swizzle_mode mode;
    unsigned lbo, sbo, start;
};
/* Shared-memory address of byte kb of row `row` (m of A, n of B), K-major: WG-12, WG-13. The xor takes bits of that
 * address, not of the distance from the start: WG-15. */
unsigned wgmma_k_major(const struct wgmma_descriptor *d, unsigned row, unsigned kb);
/* Of the first byte of the 16-bit element (mn, k), MN-major: WG-16. */
unsigned wgmma_mn_major(const struct wgmma_descriptor *d, unsigned mn, unsigned k);

/* The B operand of wgmma by its name, "wgmma.n128k16.f16 B": n, k and bits; it has no registers and no map. */
bool fragment_wgmma_b(const char *name, struct fragment *out);

#endif
