// Faults that explain must tell apart: two of one inlined function, a copy that is waited for too late, a barrier that is
// missing, blocks that leave early. And races whose first pair of accesses is of one warp, though others are not.
#include <cstdint>

__device__ __forceinline__ void put(int *arena, int at, int v) { arena[at] = v; }

extern "C" __global__ void two_puts(const int *a, const int *b, int *y) {
    extern __shared__ int arena[];
    const int t = threadIdx.x;
    put(arena, t ^ 1, a[t]);
    put(arena + 64, t, b[(t + 3) % 64]);
    __syncthreads();
    y[t] = arena[63 - t] + arena[64 + (t ^ 2)];
}

// The launch file's stage s is full at the barrier ahead of which 2 s have opened.
template <bool SECOND, bool LEAVES, int AFTER> __device__ void steps_body(const int *x, int *y, int steps, int *arena) {
    const int t = threadIdx.x;
    if (LEAVES && blockIdx.x == 1) {
        return;
    }
    x += blockIdx.x * 64 * steps;
    y += blockIdx.x * 64 * steps;
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
        arena[t] = x[s * 64 + t];
        __syncthreads();
        y[s * 64 + t] = arena[63 - t];
        if (SECOND) {
            __syncthreads();
        }
    }
    for (int i = 0; i < AFTER; ++i) {
        __syncthreads();
    }
}

extern "C" __global__ void one_barrier(const int *x, int *y, int steps) {
    extern __shared__ int arena[];
    steps_body<false, false, 0>(x, y, steps, arena);
}

extern "C" __global__ void barriers_after(const int *x, int *y, int steps) {
    extern __shared__ int arena[];
    steps_body<false, false, 2>(x, y, steps, arena);
}

extern "C" __global__ void leaves(const int *x, int *y, int steps) {
    extern __shared__ int arena[];
    steps_body<true, true, 0>(x, y, steps, arena);
}

extern "C" __global__ void late_wait(const int *x, int *y) {
    extern __shared__ int arena[];
    const int t = threadIdx.x;
    asm volatile("{\n.reg .u64 to;\ncvta.to.shared.u64 to, %0;\ncp.async.ca.shared.global [to], [%1], 4;\n}" ::"l"(arena + t),
                 "l"(x + t));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 1;");
    __syncthreads();
    y[t] = arena[63 - t];
    asm volatile("cp.async.wait_group 0;");
}

// b is read before anybody has waited for it to be stored.
extern "C" __global__ void read_early(const int8_t *a, const int8_t *b, int *y) {
    extern __shared__ int arena[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    int c[4] = {0, 0, 0, 0};
    if (warp == 1) {
        arena[lane] = ((const int *)b)[lane];
        arena[lane + 32] = ((const int *)b)[lane + 32];
    }
    const int b0 = arena[g * 8 + t], b1 = arena[g * 8 + 4 + t];
    const int *a0 = (const int *)(a + g * 32) + t, *a8 = (const int *)(a + (g + 8) * 32) + t;
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a0[0]), "r"(a8[0]), "r"(a0[4]), "r"(a8[4]), "r"(b0), "r"(b1));
    __syncthreads();
    for (int l = 0; l < 4 && warp == 0; ++l) {
        y[(g + 8 * (l / 2)) * 8 + 2 * t + l % 2] = c[l];
    }
}

extern "C" __global__ void tree(const int *x, int *y) {
    __shared__ int part[64];
    const int t = threadIdx.x;
    part[t] = x[t];
#pragma unroll 1
    for (int n = 32; n > 0; n /= 2) {
        if (t < n) {
            part[t] += part[t + n];
        }
    }
    __syncthreads();
    y[t] = part[0];
}

extern "C" __global__ void counted(const int *x, int *y) {
    __shared__ int count[8];
    const int t = threadIdx.x;
    if (t < 8) {
        count[t] = 0;
    }
    __syncthreads();
    count[x[t] & 7] += 1;
    __syncthreads();
    if (t < 8) {
        y[t] = count[t];
    }
}

extern "C" __global__ void stored_twice(int *y) {
    const int t = threadIdx.x;
    if (t == 0) {
        y[0] = 1;
    }
    if (t == 1) {
        y[0] = 2;
    }
}
