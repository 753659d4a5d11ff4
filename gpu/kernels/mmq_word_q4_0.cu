// q4_0 x pad40 -> f32, word stage ("generation R1"). The tile and its planes: word_tile.cuh.
// Numeric contract: ref/q4_0_pad40.c.
#include "chunk_q4_0.cuh"
#include "word_tile.cuh"

MMQ_WORD(q4_0, Q4_0, 4)
MMQ_WORD(q4_0, Q4_0, 8)
