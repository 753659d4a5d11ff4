// f16 x f16 -> f32, tile 64 tokens x 64 rows: the control path beside the quantised kernels, fed by dequantize.cu.
//
// 128 threads = 4 warps, two by two; a warp owns 32 tokens x 32 rows = 2 token groups x 4 row groups of mma.m16n8k16
// (A = activations, M = tokens; B = weights, N = rows). A stage is 32 values deep, two take turns: the next is copied
// while this one is multiplied. Planes of the dynamic arena, in order and without gaps:
//
//   xs  [2][64 tokens][80 B]   32 binary16 values + 16 B pad: 8 rows start in 8 distinct bank groups
//   ws  [2][64 rows][80 B]     likewise
//
// Numeric contract: ref/f16_mma_k16.c.
#include "f16_mma.cuh"

constexpr int TILE = 64, DEPTH = 32, THREADS = 128;
constexpr int SLOT = 80; // bytes of a row in a stage
constexpr int XS = 0, WS = 2 * TILE * SLOT + CANARY, STAGE = TILE * SLOT;

// One stage of one operand: 16 bytes a step, zeros for rows past the end.
__device__ __forceinline__ void copy_stage(uint32_t plane, const uint16_t *from, int first, int rows, int id, int k) {
#pragma unroll
    for (int i = threadIdx.x; i < TILE * 4; i += THREADS) {
        const int piece = i % 4, row = i / 4;
        const bool there = first + row < rows;
        const uint16_t *source = from + (int64_t)(there ? first + row : 0) * id + k + 8 * piece;
        copy_16(plane + row * SLOT + 16 * piece, source, there ? 16 : 0);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm_f16(const uint16_t *__restrict__ w, // (od, id)
             const uint16_t *__restrict__ x, // (nt, id)
             float *__restrict__ y,          // (nt, od)
             int nt, int od, int id) {
    SHARED_ARENA(arena);
    const int t0 = blockIdx.x * TILE, j0 = blockIdx.y * TILE;
    const int lane = threadIdx.x & 31, warp_t = (threadIdx.x >> 5 & 1) * 32, warp_j = (threadIdx.x >> 6) * 32;
    const int stages = id / DEPTH;
    const uint32_t base = shared_address(arena);

    // ldmatrix addresses. A: matrices (tokens 0-7 | 8-15) x (k 0-7 | 8-15), tokens fastest. B: matrices 0/1 = rows 0-7,
    // k 0-7 and 8-15; 2/3 = rows 8-15.
    const uint32_t a_lane = base + XS + (warp_t + (lane & 15)) * SLOT + (lane >> 4) * 16;
    const uint32_t b_lane = base + WS + (warp_j + (lane & 7) + (lane >> 4) * 8) * SLOT + (lane >> 3 & 1) * 16;

    float sum[2][4][4]; // [token group][row group][C element]
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        sum[i / 16][i / 4 % 4][i % 4] = 0.0f;
    }

    copy_stage(base + XS, x, t0, nt, id, 0);
    copy_stage(base + WS, w, j0, od, id, 0);
    copy_commit();
    for (int s = 0; s < stages; ++s) {
        if (s + 1 < stages) {
            copy_stage(base + XS + (s + 1) % 2 * STAGE, x, t0, nt, id, (s + 1) * DEPTH);
            copy_stage(base + WS + (s + 1) % 2 * STAGE, w, j0, od, id, (s + 1) * DEPTH);
        }
        copy_commit(); // an empty group at the end, so that the wait below is the same
        copy_wait<1>();
        __syncthreads();
#pragma unroll
        for (int half = 0; half < DEPTH / 16; ++half) {
            const uint32_t at = s % 2 * STAGE + half * 32;
            uint32_t a[2][4], b[2][4]; // b: {b0, b1} of rows 0-7, {b0, b1} of rows 8-15
#pragma unroll
            for (int g = 0; g < 2; ++g) {
                ldmatrix_x4(a[g], a_lane + at + g * 16 * SLOT);
                ldmatrix_x4(b[g], b_lane + at + g * 16 * SLOT);
            }
#pragma unroll
            for (int g = 0; g < 2; ++g) {
#pragma unroll
                for (int n = 0; n < 4; ++n) {
                    mma_m16n8k16_f16(sum[g][n], a[g], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
                }
            }
        }
        __syncthreads(); // the stage has been read
    }

    // C element l of an m16n8 fragment: token lane/4 + 8*(l/2), row 2*(lane%4) + l%2.
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        const int g = i / 16, n = i / 4 % 4, l = i % 4;
        const int t = t0 + warp_t + g * 16 + (lane >> 2) + 8 * (l / 2);
        const int j = j0 + warp_j + n * 8 + (lane & 3) * 2 + l % 2;
        if (t < nt && j < od) {
            y[(int64_t)t * od + j] = sum[g][n][l];
        }
    }
}
