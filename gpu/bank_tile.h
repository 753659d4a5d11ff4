/* The rows of a tile in shared memory, and the accesses of one warp after another that cover them. */
#ifndef GPU_BANK_TILE_H
#define GPU_BANK_TILE_H

#include "../ref/error.h"
#include "banks.h"
#include <stddef.h>

/* Byte b of row r lies at offset + r * stride + (b / 16 ^ (r >> xor_shift & xor_mask)) * 16 + b % 16.
 * Matrix accesses take matrices of 8 rows x 16 bytes, down the rows first; of 16 rows x 32 bytes, ldmatrix.x4 is the
 * A operand of a byte mma. Other accesses take op.bytes a lane, along the rows first. Lanes outside `lanes`, and those
 * past the end of the tile, ask for nothing. */
struct bank_tile {
    uint32_t rows, row_bytes, stride, offset;
    uint32_t xor_mask, xor_shift;
    struct bank_op op;
    uint32_t lanes; /* of every access that take part; matrices: all */
};
enum {
    BANK_TILE_ROWS = 1 << 16, /* the most of each; rows * stride + offset is at most BANK_TILE_SPAN */
    BANK_TILE_ROW_BYTES = 1 << 16,
    BANK_TILE_STRIDE = 1 << 20,
    BANK_TILE_SPAN = 1 << 28,
    BANK_TILE_ACCESSES = 1 << 20, /* that one question may take */
};

/* Ranges; rows do not overlap, whole matrices, addresses are multiples of what a lane takes, a swizzled chunk stays in
 * its row's stride. e says in words what is not so, naming the flags of the command. */
bool bank_tile_check(const struct bank_tile *t, struct error *e);

/* The rest is for tiles that passed. */
uint32_t bank_tile_place(const struct bank_tile *t, uint32_t row, uint32_t byte);
size_t bank_tile_accesses(const struct bank_tile *t);
struct bank_access_lanes {
    uint32_t at[32], active;
    uint32_t row[32], byte[32]; /* of the tile, where the lane is active */
};
void bank_tile_access(const struct bank_tile *t, size_t index, struct bank_access_lanes *a);
/* All accesses together: at most 2^20 of 32 wavefronts each. */
struct bank_count bank_tile_count(const struct bank_tile *t);

/* The access that covers such a tile with the fewest instructions: ldmatrix.x4, .x2 or .x1; false: no whole matrices.
 */
bool bank_tile_matrices(uint32_t rows, uint32_t row_bytes, struct bank_op *op);

#endif
