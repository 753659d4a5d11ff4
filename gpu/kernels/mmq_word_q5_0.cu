// q5_0 x pad40 -> f32, word stage ("generation R1"). The tile and its planes: word_tile.cuh.
// Numeric contract: ref/q5_0_pad40.c.
#include "chunk_q5_0.cuh"
#include "word_tile.cuh"

MMQ_WORD(q5_0, Q5_0, 4)
MMQ_WORD(q5_0, Q5_0, 8)
