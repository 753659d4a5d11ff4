// q4_1 x pad40 -> f32, word stage ("generation R1"). The tile and its planes: word_tile.cuh.
// Numeric contract: ref/q4_1_pad40_two_term.c.
#include "chunk_q4_1.cuh"
#include "word_tile.cuh"

MMQ_WORD(q4_1, Q4_1, 4)
MMQ_WORD(q4_1, Q4_1, 8)
