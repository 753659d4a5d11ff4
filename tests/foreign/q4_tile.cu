// q4_0 x pad40 -> f32: a warp has 16 tokens x 8 rows, operands straight from global memory. mode: bits of what is done
// in another way, right or wrong (tests/explain_kernels.c).
#include <stdint.h>
#define MODE(n) ((mode >> (n)) & 1)

enum {
    BY_SHARED,      // the results go through shared memory
    BY_SHUFFLE,     // the two results of a row change lanes and come back
    WRONG_SCALE,    // the scale of the token beside it
    EXCHANGED,      // tokens of one thread exchanged in the store
    OTHER_TOKEN,    // the tile in shared memory is read a token off
    TYPE_U8,        // A is taken as unsigned
    SKIPS_LAST,     // warp 1 leaves out its last mma
    SKIPS_SECOND,   // warp 1 leaves out its second mma
    ONE_TOO_MANY,   // warp 1 multiplies its first operands twice
    SAME_REGISTER,  // A's first register is handed over twice
    BEYOND,         // warp 1 multiplies its last operands twice
    PLUS_ONE,       // a sum is one too large when it is scaled
    OF_NOTHING,     // warp 1 multiplies zeros first, for nothing
};

#define MMA(type, a1)                                                                                                  \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." type ".s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "     \
                 "{%0,%1,%2,%3};"                                                                                      \
                 : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])                                              \
                 : "r"(a[0]), "r"(a1), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

__device__ __forceinline__ float half_bits(uint16_t h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

__device__ __forceinline__ float scaled(float da, float ds, int acc, float sum) {
    asm("{ .reg .f32 d, i; mul.rn.f32 d, %1, %2; cvt.rn.f32.s32 i, %3; fma.rn.f32 %0, d, i, %4; }"
        : "=f"(sum)
        : "f"(da), "f"(ds), "r"(acc), "f"(sum));
    return sum;
}

__device__ __forceinline__ float across(float v) { // of lane xor 5
    asm volatile("shfl.sync.bfly.b32 %0, %0, 5, 31, 0xffffffff;" : "+f"(v));
    return v;
}

__device__ __forceinline__ int below(int i, int n) {
    return i < n ? i : n - 1;
}

__device__ __forceinline__ uint32_t less_8(uint32_t n) {
    return (((n & 0x0f0f0f0f) | 0x80808080) - 0x08080808) ^ 0x80808080;
}

extern "C" __global__ void __launch_bounds__(64)
    q4_tile(const uint8_t *w, const uint8_t *x, float *y, int nt, int od, int id, int mode) {
    extern __shared__ float scales[]; // of the 16 tokens, a chunk
    __shared__ float tile[16][17];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4, chunks = id / 32;
    const int t0 = blockIdx.x * 16, j0 = blockIdx.y * 16 + warp * 8;
    float sum[4] = {0, 0, 0, 0};
#pragma unroll 1
    for (int c = 0; c < chunks; ++c) {
        __syncthreads();
        if (threadIdx.x < 16)
            scales[threadIdx.x] =
                t0 + threadIdx.x < nt
                    ? half_bits(*(const uint16_t *)(x + ((int64_t)(t0 + threadIdx.x) * chunks + c) * 40))
                    : 0;
        __syncthreads();
        uint32_t a[4], b[2];
        int acc[4] = {0, 0, 0, 0};
        for (int r = 0; r < 4; ++r) {
            const int t = t0 + g + 8 * (r % 2);
            a[r] = t < nt ? *(const uint32_t *)(x + ((int64_t)t * chunks + c) * 40 + 4 + 16 * (r / 2) + 4 * q) : 0;
        }
        const uint16_t *p = (const uint16_t *)(w + ((int64_t)below(j0 + g, od) * chunks + c) * 18 + 2 + 4 * q);
        const uint32_t n = p[0] | (uint32_t)p[1] << 16;
        b[0] = less_8(n);
        b[1] = less_8(n >> 4);
        if (warp == 1 && MODE(OF_NOTHING) && c == 0) {
            asm volatile("{ .reg .s32 n<4>; mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {n0,n1,n2,n3}, "
                         "{%0,%0,%0,%0}, {%0,%0}, {%0,%0,%0,%0}; }" ::"r"(0));
        }
        if (warp == 1 && ((MODE(SKIPS_LAST) && c == chunks - 1) || (MODE(SKIPS_SECOND) && c == 1))) {
        } else if (MODE(TYPE_U8)) {
            MMA("u8", a[1]);
        } else if (MODE(SAME_REGISTER)) {
            MMA("s8", a[0]);
        } else {
            MMA("s8", a[1]);
        }
        if (warp == 1 && ((MODE(ONE_TOO_MANY) && c == 0) || (MODE(BEYOND) && c == chunks - 1)))
            MMA("s8", a[1]);
        for (int l = 0; l < 4; ++l) {
            const int j = below(j0 + 2 * q + l % 2, od);
            const float da = scales[(g + l / 2 * 8) ^ MODE(WRONG_SCALE)],
                        ds = half_bits(*(const uint16_t *)(w + ((int64_t)j * chunks + c) * 18));
            sum[l] = scaled(da, ds, acc[l] + MODE(PLUS_ONE), sum[l]);
        }
    }
    if (MODE(BY_SHUFFLE))
        for (int l = 0; l < 4; ++l)
            sum[l] = across(across(sum[l]));
    if (MODE(BY_SHARED)) {
        for (int l = 0; l < 4; ++l)
            tile[g + l / 2 * 8][warp * 8 + 2 * q + l % 2] = sum[l];
        __syncthreads();
        for (int i = threadIdx.x; i < 256; i += 64) {
            const int t = t0 + i / 16, j = blockIdx.y * 16 + i % 16;
            if (t < nt && j < od)
                y[(int64_t)t * od + j] = tile[i / 16 ^ MODE(OTHER_TOKEN)][i % 16];
        }
        return;
    }
    for (int l = 0; l < 4; ++l) {
        const int t = t0 + g + (l / 2 ^ MODE(EXCHANGED)) * 8, j = j0 + 2 * q + l % 2;
        if (t < nt && j < od)
            y[(int64_t)t * od + j] = sum[l];
    }
}
