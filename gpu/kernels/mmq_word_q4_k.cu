// q4_K x pad40 -> f32, word stage ("generation R1"). The tile and its planes: word_tile.cuh.
// Numeric contract: ref/q4_k_pad40_two_term.c.
#include "chunk_q4_k.cuh"
#include "word_tile.cuh"

MMQ_WORD(q4_k, Q4_K, 4)
MMQ_WORD(q4_k, Q4_K, 8)
