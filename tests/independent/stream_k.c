#include "independent.h"

/* Where the share of a worker starts: its place in the row of all blocks, moved back to a whole step inside the tile.
 */
static size_t share(size_t worker, size_t tiles, size_t row_blocks, size_t step, size_t workers) {
    size_t place = (size_t)((u128)worker * tiles * row_blocks / workers);
    size_t tile = place / row_blocks, block = place - tile * row_blocks;
    return tile * row_blocks + block / step * step;
}

void independent_stream_k(size_t tiles, size_t row_blocks, size_t step, size_t workers, size_t *owner) {
    for (size_t w = 0; w < workers; w++)
        for (size_t i = share(w, tiles, row_blocks, step, workers); i < share(w + 1, tiles, row_blocks, step, workers);
             i++)
            owner[i] = w;
}
