#include "independent.h"

/* At most a tenth of the room of whole waves may stay empty; then every tile has a worker of its own. */
size_t independent_stream_k_workers(size_t tiles, size_t multiprocessors) {
    size_t room = multiprocessors;
    while (room < tiles)
        room += multiprocessors;
    return (room - tiles) * 10 <= room ? tiles : multiprocessors;
}

/* Block by block, without a division: every block brings `workers` parts of work, a share is `blocks` of them, and a
 * block is of the last worker whose share has begun when the block ends. A step goes where its last block goes. */
void independent_stream_k(size_t tiles, size_t row_blocks, size_t step, size_t multiprocessors, size_t *owner) {
    const size_t workers = independent_stream_k_workers(tiles, multiprocessors), blocks = tiles * row_blocks;
    size_t worker = 0;
    u128 done = 0, begun = 0; /* parts before the end of the block; before the worker's share */
    for (size_t tile = 0; tile < tiles; tile++) {
        size_t open = 0; /* blocks of a step that has not ended */
        for (size_t block = 0; block < row_blocks; block++) {
            done += workers;
            while (begun + blocks < done) {
                begun += blocks;
                worker++;
            }
            open++;
            if (open == step || block + 1 == row_blocks)
                for (; open > 0; open--)
                    owner[tile * row_blocks + block + 1 - open] = worker;
        }
    }
}
