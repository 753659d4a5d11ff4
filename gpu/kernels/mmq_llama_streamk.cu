// q4_K, q6_K and q8_0 x q8_1_mmq -> f32 by stream-k, and the kernels that add up the parts: mmq_llama_streamk.cuh. The
// tiles are those of mmq_llama_<format>.cu.
//
// Numeric contracts: ref/q4_k_q8_1_mmq_ds4.c, ref/q6_k_q8_1_mmq_d4.c, ref/q8_0_q8_1_mmq_d4.c, split stream-k.
#include "mmq_llama_q4_k.cuh"
#include "mmq_llama_q6_k.cuh"
#include "mmq_llama_q8_0.cuh"
#include "mmq_llama_streamk.cuh"

MMQ_LLAMA_STREAMK(q4_k, LlamaQ4_K, 8)
MMQ_LLAMA_STREAMK(q4_k, LlamaQ4_K, 128)
MMQ_LLAMA_STREAMK(q6_k, LlamaQ6_K, 8)
MMQ_LLAMA_STREAMK(q6_k, LlamaQ6_K, 64)
MMQ_LLAMA_STREAMK(q8_0, LlamaQ8_0, 8)
MMQ_LLAMA_STREAMK(q8_0, LlamaQ8_0, 40)
MMQ_LLAMA_STREAMK(q8_0, LlamaQ8_0, 64)
MMQ_LLAMA_FIXUP(8)
MMQ_LLAMA_FIXUP(40)
MMQ_LLAMA_FIXUP(64)
MMQ_LLAMA_FIXUP(128)
