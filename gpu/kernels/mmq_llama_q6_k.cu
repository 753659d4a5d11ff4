// q6_K x q8_1_mmq_d4 -> f32, tiles of J tokens x 128 rows: mmq_llama_tile.cuh.
//
// Numeric contract: ref/q6_k_q8_1_mmq_d4.c.
#include "mmq_llama_q6_k.cuh"

MMQ_LLAMA(q6_k, LlamaQ6_K, 8)
MMQ_LLAMA(q6_k, LlamaQ6_K, 16)
MMQ_LLAMA(q6_k, LlamaQ6_K, 32)
MMQ_LLAMA(q6_k, LlamaQ6_K, 64)
MMQ_LLAMA(q6_k, LlamaQ6_K, 128)
