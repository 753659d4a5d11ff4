// q5_K x pad40 -> f32, word stage ("generation R1"). The tile and its planes: word_tile.cuh.
// Numeric contract: ref/q5_k_pad40_two_term.c.
#include "chunk_q5_k.cuh"
#include "word_tile.cuh"

MMQ_WORD(q5_k, Q5_K, 4)
MMQ_WORD(q5_k, Q5_K, 8)
