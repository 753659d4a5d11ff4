// q8_0 x pad40 -> f32, word stage ("generation R1"). The tile and its planes: word_tile.cuh.
// Numeric contract: ref/q8_0_pad40.c.
#include "chunk_q8_0.cuh"
#include "word_tile.cuh"

MMQ_WORD(q8_0, Q8_0, 4)
MMQ_WORD(q8_0, Q8_0, 8)
