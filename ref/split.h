/* Where kernels cut the depth of a matrix product into parts that are summed apart and added up at the end: a cut moves
 * roundings, so it belongs to the numeric contract. In which order the parts are added is each contract's to say.
 *
 * A result (nt, od) falls into tiles; the cells of a tile are cut at the same depths. Depths are in values. */
#ifndef REF_SPLIT_H
#define REF_SPLIT_H

#include "error.h"
#include <stdbool.h>
#include <stddef.h>

enum split_kind {
    SPLIT_NONE,
    SPLIT_AT,      /* every cell at the same depths */
    SPLIT_STREAM_K /* tile by tile, as llama.cpp's MMQ spreads the work over so many multiprocessors */
};
enum { SPLIT_MOST_CUTS = 64, SPLIT_MOST_MULTIPROCESSORS = 65535 };

struct split {
    enum split_kind kind;
    size_t multiprocessors;                  /* SPLIT_STREAM_K: 1 .. SPLIT_MOST_MULTIPROCESSORS */
    size_t cut_count, cuts[SPLIT_MOST_CUTS]; /* SPLIT_AT: ascending, 0 < cut < id */
};

/* "none", "at:256,512" (depths in values) or "stream-k:132" (multiprocessors). Fails on anything else. */
bool split_parse(const char *text, struct split *s, struct error *e);

/* Fails when the split cannot serve a product of depth id: a cut past its end, or one that is no multiple of
 * `multiple` values. */
bool split_check(const struct split *s, size_t id, size_t multiple, struct error *e);

/* A split laid over one product: its tiles, and for stream-k the workers that walk them. */
struct split_plan {
    struct split split;
    size_t id;
    size_t tile_tokens, tile_rows; /* of a tile; those at the end of nt and od may be smaller */
    size_t token_tiles, row_tiles; /* tile i: tokens from i % token_tiles * tile_tokens, rows from i / token_tiles *
                                    * tile_rows */
    size_t block_values, row_blocks, iteration_blocks, workers; /* SPLIT_STREAM_K */
};

/* The plan of a product (nt, od, id) of weights in blocks of block_values; id MUST be a multiple of it, all MUST be
 * positive and tiles * id / block_values * workers fit size_t (llama.cpp refuses from 2^30 blocks on).
 *
 * stream-k, as llama.cpp does it on NVIDIA (ggml d99724f2, ggml-cuda/mmq.cuh): tiles of 128 rows and J tokens
 * (split_tile_tokens); as many workers as tiles where those fill at least 90 % of whole waves,
 * 100 * tiles / (n * ceil(tiles / n)) >= 90 on n multiprocessors, else n. The blocks of all tiles in one row, tile by
 * tile, are shared out: worker w takes those from start(w) to start(w + 1) - 1 (split_worker_start).
 * none, at: all cells are cut alike; the tiles are then of 128 by 128. */
struct split_plan split_plan(const struct split *s, size_t nt, size_t od, size_t id, size_t block_values);

/* J, tokens of a tile of llama.cpp's MMQ: the smallest of 8 16 24 32 40 48 64 80 96 112 128 (8 16 32 64 128 where od is
 * no multiple of 128) with the fewest tiles, ceil(nt / J). */
size_t split_tile_tokens(size_t nt, size_t od);

/* start(w) = first - (first % row_blocks) % iteration_blocks with first = floor(w * blocks / workers), w = 0 ..
 * workers: in blocks from the first block of tile 0. It is brought down to whole iterations of 256 values counted from
 * the start of its own row of blocks, not of all blocks. */
size_t split_worker_start(const struct split_plan *p, size_t worker);

/* The depth at which the part of a tile that ends at depth k_end starts; k_end is id or what this function gave. So the
 * parts of a tile are met from the last to the first, whose start is 0. */
size_t split_part_start(const struct split_plan *p, size_t tile, size_t k_end);

/* How often a tile is cut; the first `most` of the depths, ascending, are in cuts (may be NULL when most is 0). */
size_t split_cuts(const struct split_plan *p, size_t tile, size_t *cuts, size_t most);

#endif
