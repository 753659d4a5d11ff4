// q5_1 x pad40 -> f32, word stage ("generation R1"). The tile and its planes: word_tile.cuh.
// Numeric contract: ref/q5_1_pad40_two_term.c.
#include "chunk_q5_1.cuh"
#include "word_tile.cuh"

MMQ_WORD(q5_1, Q5_1, 4)
MMQ_WORD(q5_1, Q5_1, 8)
