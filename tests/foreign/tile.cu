// A tile of a matrix through padded shared memory, and sums of products by mma: what a kernel looks like whose operands
// are plain buffers; and two buffers that cp.async fills in turns. tile_wrong stages each row one further, dot_wrong takes
// rows of b one further, ring_wrong exchanges neighbours.
#include <cstdint>

constexpr int PITCH = 33;

template <int SHIFT> __device__ void tile_body(const int *x, int *y, int rows, int cols, int *arena) {
    for (int c0 = 0; c0 < cols; c0 += 32) {
        for (int r = threadIdx.y; r < 32; r += blockDim.y) {
            const int row = blockIdx.x * 32 + r, col = c0 + threadIdx.x;
            if (row < rows && col < cols) {
                arena[(r + SHIFT) % 32 * PITCH + threadIdx.x] = x[row * cols + col];
            }
        }
        __syncthreads();
        for (int c = threadIdx.y; c < 32; c += blockDim.y) {
            const int row = blockIdx.x * 32 + threadIdx.x, col = c0 + c;
            if (row < rows && col < cols) {
                y[col * rows + row] = arena[threadIdx.x * PITCH + c];
            }
        }
        __syncthreads();
    }
}

extern "C" __global__ void tile(const int *x, int *y, int rows, int cols) {
    extern __shared__ int arena[];
    tile_body<0>(x, y, rows, cols, arena);
}

extern "C" __global__ void tile_wrong(const int *x, int *y, int rows, int cols) {
    extern __shared__ int arena[];
    tile_body<1>(x, y, rows, cols, arena);
}

template <int SHIFT> __device__ void dot_body(const int8_t *a, const int8_t *b, int *y, int depth) {
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;
    int c[4] = {0, 0, 0, 0};
    for (int k = 0; k < depth; k += 32) {
        const int *a0 = (const int *)(a + g * depth + k) + t, *a8 = (const int *)(a + (g + 8) * depth + k) + t;
        const int *b0 = (const int *)(b + (g + SHIFT) % 8 * depth + k) + t;
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                     : "r"(a0[0]), "r"(a8[0]), "r"(a0[4]), "r"(a8[4]), "r"(b0[0]), "r"(b0[4]));
    }
    for (int l = 0; l < 4; ++l) {
        y[(g + 8 * (l / 2)) * 8 + 2 * t + l % 2] = c[l];
    }
}

extern "C" __global__ void dot(const int8_t *a, const int8_t *b, int *y, int depth) { dot_body<0>(a, b, y, depth); }

extern "C" __global__ void dot_wrong(const int8_t *a, const int8_t *b, int *y, int depth) {
    dot_body<1>(a, b, y, depth);
}

template <int FLIP> __device__ void ring_body(const int *x, int *y, int steps, int *arena) {
    const int t = threadIdx.x;
    for (int s = -1; s < steps; ++s) {
        if (s + 1 < steps) {
            asm volatile("{\n.reg .u64 to;\ncvta.to.shared.u64 to, %0;\ncp.async.ca.shared.global [to], [%1], 4;\n}" ::"l"(
                             arena + (s + 1) % 2 * 32 + t),
                         "l"(x + (s + 1) * 32 + (t ^ FLIP)));
        }
        asm volatile("cp.async.commit_group;");
        if (s >= 0) {
            asm volatile("cp.async.wait_group 1;");
            __syncthreads();
            y[s * 32 + t] = arena[s % 2 * 32 + 31 - t];
            __syncthreads();
        }
    }
}

extern "C" __global__ void ring(const int *x, int *y, int steps) {
    extern __shared__ int arena[];
    ring_body<0>(x, y, steps, arena);
}

extern "C" __global__ void ring_wrong(const int *x, int *y, int steps) {
    extern __shared__ int arena[];
    ring_body<1>(x, y, steps, arena);
}
