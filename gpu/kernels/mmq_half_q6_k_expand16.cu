// q6_K x pad40_t -> f32, tile 64 tokens x 128 rows: mmq_half_q6_k_double.cu with 16-byte loads of the codes
// ("generation r41").
//
// A block of 210 bytes begins where the last one ended, so that a piece of 16 bytes lies across two aligned ones. Where
// rows begin on multiples of 16 it does so alike in all of them: super-block s begins 2 s mod 16 bytes past an aligned
// place, and two loads and one shift, which the whole block shares, give the piece. So the bytes of a row must be a
// multiple of 16, and w must be aligned to 16. No load leaves the blocks of a row: a piece ends at most at byte 192, 18
// bytes ahead of the block's end.
// The tile: half_q6_tile.cuh. Numeric contract: ref/q6_k_pad40_t_two_halves.c.
#include "stage_q6_k.cuh"

// The 16 bytes at p, which lies `past` bytes (0, 2 .. 14) after a multiple of 16; loaded, not yet shifted.
struct Piece {
    uint32_t word[8];
    __device__ __forceinline__ void fill(uint32_t v) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            word[i] = v;
        }
    }
    __device__ __forceinline__ void load(const uint8_t *p, int past) {
        const uint4 *at = (const uint4 *)(p - past);
        const uint4 a = at[0], b = at[1];
        const uint32_t v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            word[i] = v[i];
        }
    }
    __device__ __forceinline__ void shift(uint32_t (&out)[4], int past) const {
        uint32_t v[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            v[i] = past & 8 ? word[(i + 2) % 8] : word[i];
        }
#pragma unroll
        for (int i = 0; i < 5; ++i) {
            v[i] = past & 4 ? v[i + 1] : v[i];
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            out[i] = (uint32_t)(((uint64_t)v[i + 1] << 32 | v[i]) >> 8 * (past & 2));
        }
    }
};

// Codes, 16 at a time: a thread takes half a chunk i % 2 of row i / 2, of both chunks of the stage.
template <int KD, int STAGES> struct WideCodes {
    static_assert(KD == 2 && ROWS * 2 == THREADS, "a piece of each chunk a thread");
    static constexpr bool COPIES = false;
    Piece low[2], high;

    static __device__ __forceinline__ int past(int chunk0) { return chunk0 / 8 * Q6_K_BYTES % 16; }
    __device__ __forceinline__ void begin(uint8_t *, int, const Operands &o, int chunk0) {
        const int part = threadIdx.x % 2, j = threadIdx.x / 2, half = chunk0 / 4 % 2;
        low[0].fill(CodeWords::NO_LOW);
        low[1].fill(CodeWords::NO_LOW);
        high.fill(CodeWords::NO_HIGH);
        if (o.row0() + j < o.od) {
            const uint8_t *block = q6_k_block(o, j, chunk0);
            low[0].load(block + 64 * half + 16 * part, past(chunk0));
            low[1].load(block + 64 * half + 32 + 16 * part, past(chunk0));
            high.load(block + Q6_K_HIGH + 32 * half + 16 * part, past(chunk0));
        }
    }
    __device__ __forceinline__ void finish(uint8_t *arena, int buffer, const Operands &, int chunk0) {
        using A = Arena<KD, STAGES>;
        const int part = threadIdx.x % 2, j = threadIdx.x / 2;
        uint8_t *slot = arena + A::qb_exp + buffer * A::qb_stage + XorRows::at(j, part);
        uint32_t pairs[4];
        high.shift(pairs, past(chunk0));
#pragma unroll
        for (int kd = 0; kd < KD; ++kd) {
            const int r = (chunk0 + kd) % 4;
            uint32_t n[4];
            low[kd].shift(n, past(chunk0));
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                n[i] = CodeWords::centred(n[i], pairs[i], r);
            }
            *(uint4 *)(slot + kd * ROWS * 32) = make_uint4(n[0], n[1], n[2], n[3]);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    mmq_half_q6_k_expand16(const uint8_t *__restrict__ w, // (od, id / 256) q6_K blocks, rows aligned to 16
                           const uint8_t *__restrict__ x, // (nt, id) pad40_t
                           float *__restrict__ y,         // (nt, od)
                           int nt, int od, int id) {
    using Stage = StageOf<2, 2, LoadedActivations, WideCodes, LoadedScales>;
    half_q6_two_buffers<Stage>(y, {w, nullptr, nullptr, x, nt, od, id});
}
