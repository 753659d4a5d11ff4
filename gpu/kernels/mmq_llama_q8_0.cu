// q8_0 x q8_1_mmq_d4 -> f32, tiles of J tokens x 128 rows: mmq_llama_tile.cuh.
//
// Numeric contract: ref/q8_0_q8_1_mmq_d4.c.
#include "mmq_llama_q8_0.cuh"

MMQ_LLAMA(q8_0, LlamaQ8_0, 8)
MMQ_LLAMA(q8_0, LlamaQ8_0, 16)
MMQ_LLAMA(q8_0, LlamaQ8_0, 32)
MMQ_LLAMA(q8_0, LlamaQ8_0, 64)
MMQ_LLAMA(q8_0, LlamaQ8_0, 128)
