// q6_K x pad40 -> f32, word stage ("generation R1"). The tile and its planes: word_tile.cuh.
// Numeric contract: ref/q6_k_pad40_two_halves.c.
#include "chunk_q6_k.cuh"
#include "word_tile.cuh"

MMQ_WORD(q6_k, Q6_K, 4)
MMQ_WORD(q6_k, Q6_K, 8)
