// q6_K x pad40_t -> f32, tile 64 tokens x 128 rows, from planes that are made of the weights once a tensor: dense codes
// W_exp ("generation r53"), and scales W_dsc as well (r56).
//
// A stage of codes is copied by cp.async, with nothing to unpack; with W_dsc all of a stage is, in one group. Kernels
// stand in the order in which they run. The tile: half_q6_tile.cuh. Numeric contracts: ref/q6_k_expand.c of the codes,
// ref/q6_k_pad40_t_two_halves.c of the product.
#include "chunk_q6_k.cuh"
#include "stage_q6_k.cuh"

// W_exp: a thread a chunk.
extern "C" __global__ void __launch_bounds__(THREADS)
    expand_q6_k(const uint8_t *__restrict__ w, // (od, id / 256) q6_K blocks
                uint8_t *__restrict__ exp,     // (od, id) codes -32 .. 31
                int od, int id) {
    const int64_t chunk = (int64_t)blockIdx.x * THREADS + threadIdx.x; // rows are whole blocks, without gaps
    if (chunk >= (int64_t)od * (id / 32)) {
        return;
    }
    Q6_K::Chunk c;
    Q6_K::load(c, w + chunk / 8 * Q6_K::BYTES, (int)(chunk % 8));
    uint4 *out = (uint4 *)(exp + chunk * 32);
    out[0] = make_uint4(c.n[0], c.n[1], c.n[2], c.n[3]);
    out[1] = make_uint4(c.n[4], c.n[5], c.n[6], c.n[7]);
}

// W_dsc: a row of blocks a chunk, a thread a row of the weights.
extern "C" __global__ void __launch_bounds__(THREADS)
    scales_q6_k(const uint8_t *__restrict__ w, // (od, id / 256) q6_K blocks
                float2 *__restrict__ dsc,      // [id / 32][od] d * sc of both halves of a chunk
                int od, int id) {
    const int j = blockIdx.x * THREADS + threadIdx.x, chunk = blockIdx.y;
    if (j < od) {
        const uint8_t *block = w + ((int64_t)j * (id / 256) + chunk / 8) * Q6_K_BYTES;
        dsc[(int64_t)chunk * od + j] = q6_k_scales(block, chunk % 8);
    }
}

template <int KD, int STAGES> struct CopiedCodes {
    static constexpr bool COPIES = true;
    __device__ __forceinline__ void begin(uint8_t *arena, int buffer, const Operands &o, int chunk0) {
        using A = Arena<KD, STAGES>;
        const uint32_t plane = shared_address(arena) + A::qb_exp + buffer * A::qb_stage;
        for (unsigned i = threadIdx.x; i < KD * ROWS * 2; i += THREADS) {
            const int half = i % 2, kd = i / 2 % KD, j = i / 2 / KD; // 16 bytes; those of a row side by side
            const bool there = o.row0() + j < o.od;
            const uint8_t *row = o.exp + (int64_t)(there ? o.row0() + j : 0) * o.id;
            copy_async<16>(plane + kd * ROWS * 32 + XorRows::at(j, half), row + (chunk0 + kd) * 32 + 16 * half, there);
        }
    }
    __device__ __forceinline__ void finish(uint8_t *, int, const Operands &, int) {}
};

// As pad40_t has them.
template <int KD, int STAGES> struct CopiedActivations {
    static constexpr bool COPIES = true;
    __device__ __forceinline__ void begin(uint8_t *arena, int buffer, const Operands &o, int chunk0) {
        using A = Arena<KD, STAGES>;
        const uint32_t base = shared_address(arena);
        const int64_t chunk = (int64_t)blockIdx.x * o.chunks() + chunk0;
        const uint8_t *quants = o.x + chunk * PAD40_T_QUANTS;
        const uint8_t *words = o.x + pad40_t_words_at(o.nt, o.chunks()) + chunk * PAD40_T_WORDS;
        for (unsigned i = threadIdx.x; i < KD * PAD40_T_QUANTS / 16; i += THREADS) {
            copy_async<16>(base + A::qa8 + buffer * A::qa8_stage + 16 * i, quants + 16 * i, true);
        }
        for (unsigned i = threadIdx.x; i < KD * PAD40_T_WORDS / 16; i += THREADS) {
            copy_async<16>(base + A::sda_q + buffer * A::sda_stage + 16 * i, words + 16 * i, true);
        }
    }
    __device__ __forceinline__ void finish(uint8_t *, int, const Operands &, int) {}
};

// Of two neighbouring rows at a time: od must be even, for the alignment of a chunk's rows and for its last pair.
template <int KD, int STAGES> struct CopiedScales {
    static constexpr bool COPIES = true;
    __device__ __forceinline__ void begin(uint8_t *arena, int buffer, const Operands &o, int chunk0) {
        using A = Arena<KD, STAGES>;
        const uint32_t plane = shared_address(arena) + A::sds + buffer * A::sds_stage;
        for (unsigned i = threadIdx.x; i < KD * ROWS / 2; i += THREADS) {
            const int j = i % (ROWS / 2) * 2, kd = i / (ROWS / 2);
            const bool there = o.row0() + j < o.od;
            const int64_t at = (int64_t)(chunk0 + kd) * o.od + (there ? o.row0() + j : 0);
            copy_async<16>(plane + (kd * ROWS + j) * 8, o.dsc + at * 8, there);
        }
    }
    __device__ __forceinline__ void finish(uint8_t *, int, const Operands &, int) {}
};

extern "C" __global__ void __launch_bounds__(THREADS, 3)
    mmq_half_q6_k_exp(const uint8_t *__restrict__ w, const uint8_t *__restrict__ exp, const uint8_t *__restrict__ x,
                      float *__restrict__ y, // (nt, od)
                      int nt, int od, int id) {
    using Stage = StageOf<2, 2, LoadedActivations, CopiedCodes, LoadedScales>;
    half_q6_two_buffers<Stage>(y, {w, exp, nullptr, x, nt, od, id});
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
    mmq_half_q6_k_dsc(const uint8_t *__restrict__ exp, const uint8_t *__restrict__ dsc, const uint8_t *__restrict__ x,
                      float *__restrict__ y, // (nt, od)
                      int nt, int od, int id) {
    using Stage = StageOf<2, 2, CopiedActivations, CopiedCodes, CopiedScales>;
    half_q6_two_buffers<Stage>(y, {nullptr, exp, dsc, x, nt, od, id});
}
