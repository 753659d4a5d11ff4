/* Fragments as tables, copied from the figures of the PTX ISA (9.7.14.5.3 .. .13, .15, 9.7.15.5.1.1, 9.7.15.5.1.2.1):
 * in which thread and element a cell of the tile is. The maps under test go the other way, by formulas. */
#include "independent.h"

/* The threads of a row of a figure: each has one register's worth of cells. */
static const uint8_t threads_of_row[8][4] = {{0, 1, 2, 3},     {4, 5, 6, 7},     {8, 9, 10, 11},   {12, 13, 14, 15},
                                             {16, 17, 18, 19}, {20, 21, 22, 23}, {24, 25, 26, 27}, {28, 29, 30, 31}};

/* The first element of a thread in the four blocks of A: rows 0-7 and 8-15 down, 16 bytes of k across; a figure for
 * each number of elements that a register has. */
static const struct {
    unsigned bits, first[2][2];
} figures[] = {{4, {{0, 16}, {8, 24}}}, {8, {{0, 8}, {4, 12}}}, {16, {{0, 4}, {2, 6}}}, {32, {{0, 2}, {1, 3}}}};

static unsigned first_element(unsigned bits, unsigned down, unsigned across) {
    for (unsigned i = 0; i < 4; ++i)
        if (figures[i].bits == bits)
            return figures[i].first[down][across];
    return ~0u;
}

struct holder independent_a(unsigned m, unsigned row_bytes, unsigned bits, unsigned row, unsigned k) {
    unsigned warp = 0, per_thread = 32 / bits;
    while (row >= 16 && m == 64) { /* a warp of the group has 16 rows */
        row -= 16;
        ++warp;
    }
    const unsigned down = row >= 8, across = row_bytes == 32 && k >= 4 * per_thread;
    return (struct holder){32 * warp + threads_of_row[row - 8 * down][(k - across * 4 * per_thread) / per_thread],
                           first_element(bits, down, across) + k % per_thread};
}

struct holder independent_b(unsigned bits, unsigned n, unsigned k) {
    const unsigned per_thread = 32 / bits;
    unsigned block = 0;
    while (k >= 4 * per_thread) {
        k -= 4 * per_thread;
        ++block;
    }
    return (struct holder){threads_of_row[n][k / per_thread], block * per_thread + k % per_thread};
}

struct holder independent_c(unsigned row, unsigned n) {
    /* {c0, c1} in rows 0-7, {c2, c3} in rows 8-15; the next eight columns go on with c4 */
    static const uint8_t pair[2][2] = {{0, 1}, {2, 3}};
    unsigned warp = 0, slab = 0;
    for (; row >= 16; row -= 16)
        ++warp;
    for (; n >= 8; n -= 8)
        ++slab;
    return (struct holder){32 * warp + threads_of_row[row % 8][n / 2], 4 * slab + pair[row / 8][n % 2]};
}

struct holder independent_matrix(bool trans, unsigned row, unsigned column) {
    const unsigned matrix = row / 8, r = trans ? column : row % 8, c = trans ? row % 8 : column;
    return (struct holder){threads_of_row[r][c / 2], 2 * matrix + c % 2};
}

unsigned independent_chunk(unsigned width, unsigned row, unsigned chunk) {
    static const uint8_t of_128[8][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5},
                                         {3, 2, 1, 0, 7, 6, 5, 4}, {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
                                         {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
    static const uint8_t of_64[8][4] = {{0, 1, 2, 3}, {0, 1, 2, 3}, {1, 0, 3, 2}, {1, 0, 3, 2},
                                        {2, 3, 0, 1}, {2, 3, 0, 1}, {3, 2, 1, 0}, {3, 2, 1, 0}};
    static const uint8_t of_32[8][2] = {{0, 1}, {0, 1}, {0, 1}, {0, 1}, {1, 0}, {1, 0}, {1, 0}, {1, 0}};
    return width == 128 ? of_128[row][chunk] : width == 64 ? of_64[row][chunk] : of_32[row][chunk];
}

/* The figures of the canonical layouts: whole patterns of eight rows one after another, a row of a pattern `width`
 * bytes, its 16-byte chunks in the order of the swizzle. Unswizzled, a pattern is a core matrix, and two lie side by
 * side. */
unsigned independent_k_major(unsigned width, unsigned row, unsigned k) {
    unsigned at = 0;
    if (width == 16) {
        for (; row >= 8; row -= 8)
            at += 2 * 128;
        if (k >= 16) {
            at += 128;
            k -= 16;
        }
        return at + 16 * row + k;
    }
    for (; row >= 8; row -= 8)
        at += 8 * width;
    return at + width * row + 16 * independent_chunk(width, row, k / 16) + k % 16;
}

unsigned independent_mn_major(unsigned width, unsigned mn, unsigned k) {
    const unsigned along = width / 2; /* elements of mn in a pattern, whose rows are eight k */
    unsigned at = 0;
    for (; mn >= along; mn -= along)
        at += 2 * 8 * width;
    if (k >= 8) {
        at += 8 * width;
        k -= 8;
    }
    return at + width * k + (width == 16 ? 0 : 16 * independent_chunk(width, k, mn / 8)) + mn % 8 * 2;
}
