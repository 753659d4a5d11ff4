// q4_K x q8_1_mmq_ds4 -> f32, tiles of J tokens x 128 rows ("llama.cpp's design"): mmq_llama_tile.cuh. At J = 128 an
// ldmatrix serves 8 mma.
//
// Numeric contract: ref/q4_k_q8_1_mmq_ds4.c.
#include "mmq_llama_q4_k.cuh"

MMQ_LLAMA(q4_k, LlamaQ4_K, 8)
MMQ_LLAMA(q4_k, LlamaQ4_K, 16)
MMQ_LLAMA(q4_k, LlamaQ4_K, 32)
MMQ_LLAMA(q4_k, LlamaQ4_K, 64)
MMQ_LLAMA(q4_k, LlamaQ4_K, 128)
