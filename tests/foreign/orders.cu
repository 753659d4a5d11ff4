// Kernels whose bytes do, or do not, depend on the order of warps, lanes, copies and blocks; right results in
// tests/machine_schedule.c.

// Copies by hand: the toolkit's headers would put a name made of this file's path into the PTX.
__device__ __forceinline__ void copy16(void *to, const void *from, unsigned bytes) {
    unsigned at;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(at) : "l"(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int KEEP> __device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(KEEP) : "memory");
}

// y[t] folds n stages of 64 x int4 through STAGES buffers; row t of a stage is read by thread 63 - t. KEEP groups stay
// in flight at the wait; FIRST, LAST: the barriers before a stage is read and before it is filled again.
template <int STAGES, int KEEP, bool FIRST, bool LAST>
__device__ __forceinline__ void pipeline(const int4 *x, int *y, int n, int rows) {
    __shared__ int4 tile[STAGES][64];
    const int t = threadIdx.x;
    int sum = 0;
#pragma unroll 1
    for (int i = 0; i < STAGES - 1; i++) {
        if (i < n) {
            copy16(&tile[i][t], &x[i * 64 + t], i * 64 + t < rows ? 16 : 0);
        }
        commit();
    }
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        const int next = i + STAGES - 1;
        if (next < n) {
            copy16(&tile[next % STAGES][t], &x[next * 64 + t], next * 64 + t < rows ? 16 : 0);
        }
        commit();
        wait<KEEP>();
        if (FIRST) {
            __syncthreads();
        }
        const int4 v = tile[i % STAGES][63 - t];
        sum = sum * 3 + v.x - 2 * v.y + 5 * v.z - 7 * v.w;
        if (LAST) {
            __syncthreads();
        }
    }
    wait<0>();
    y[t] = sum;
}

extern "C" __global__ void two_stages(const int4 *x, int *y, int n, int rows) {
    pipeline<2, 1, true, true>(x, y, n, rows);
}
extern "C" __global__ void four_stages(const int4 *x, int *y, int n, int rows) {
    pipeline<4, 3, true, true>(x, y, n, rows);
}
extern "C" __global__ void keeps_too_many(const int4 *x, int *y, int n, int rows) {
    pipeline<2, 2, true, true>(x, y, n, rows);
}
extern "C" __global__ void no_barrier_to_read(const int4 *x, int *y, int n, int rows) {
    pipeline<2, 1, false, true>(x, y, n, rows);
}
extern "C" __global__ void no_barrier_to_fill(const int4 *x, int *y, int n, int rows) {
    pipeline<2, 1, true, false>(x, y, n, rows);
}

// Warps read what other warps store, and no barrier is between.
extern "C" __global__ void warps_race(const int *x, int *y) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = -1;
    __syncthreads();
    s[t] = x[t];
    y[t] = s[63 - t];
}

__device__ __forceinline__ void sync_warp() {
    asm volatile("bar.warp.sync -1;" ::: "memory");
}

// Lanes 2k and 2k + 1 store to one word of shared memory.
extern "C" __global__ void lanes_race(const int *x, int *y) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = x[t];
    sync_warp();
    s[t & 62] = t;
    sync_warp();
    y[t] = s[t & 62];
}

// Each block goes on from what the one before left.
extern "C" __global__ void blocks_race(int *y, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        y[i] = y[i] * 2 + (int)blockIdx.x;
    }
}

// Sums of floats: their order is that of the atomics.
extern "C" __global__ void float_sums(const int *x, float *y) {
    const int t = threadIdx.x + blockIdx.x * blockDim.x;
    asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(&y[t % 8]), "f"((float)x[t] * 1e-3f) : "memory");
}

// Sums of integers: every order gives the same.
extern "C" __global__ void integer_sums(const int *x, int *y) {
    const int t = threadIdx.x + blockIdx.x * blockDim.x;
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(&y[t % 8]), "r"(x[t]) : "memory");
}

// A copy out of memory that the kernel has stored, and that a thread stores again while the copy is in flight.
extern "C" __global__ void source_is_stored(const int *x, int *y) {
    __shared__ int4 tile[64];
    const int t = threadIdx.x;
    int4 *z = (int4 *)(y + 64);
    z[t] = make_int4(x[t], 1, 2, 3);
    copy16(&tile[t], &z[t], 16);
    commit();
    z[t].x = -1;
    wait<0>();
    y[t] = tile[t].x;
}

// Each warp waits for all others, twice, and within each warp odd lanes wait for even ones.
extern "C" __global__ void spins(const int *x, int *y) {
    __shared__ volatile int here[2][4], lanes[128];
    const int t = threadIdx.x, warp = t / 32;
    if (t < 8) {
        here[t / 4][t % 4] = 0;
    }
    lanes[t] = 0;
    __syncthreads();
    for (int turn = 0; turn < 2; turn++) {
        if (t % 32 == 7) {
            here[turn][warp] = 1;
        }
        for (int other = 0; other < 4; other++) {
            while (here[turn][other] == 0) {
            }
        }
    }
    if (t & 1) {
        while (lanes[t - 1] == 0) {
        }
        y[t] = x[t] + lanes[t - 1];
    } else {
        y[t] = x[t];
        lanes[t] = t + 1;
    }
}

// Whoever of the warps 0 and 1 comes first finds nothing there: warp 1 must not.
extern "C" __global__ void trap_when_first(const int *x, int *y) {
    __shared__ volatile int seen;
    const int t = threadIdx.x;
    if (t == 0) {
        seen = 0;
    }
    __syncthreads();
    if (t == 32 && seen == 0) {
        __trap();
    }
    if (t == 0) {
        seen = 1;
    }
    y[t] = x[t];
}

// Warp 1 reaches past the end of y when it comes before warp 0.
extern "C" __global__ void past_the_end_when_first(const int *x, int *y) {
    __shared__ volatile int seen;
    const int t = threadIdx.x;
    if (t == 0) {
        seen = 0;
    }
    __syncthreads();
    if (t == 32 && seen == 0) {
        y[blockDim.x] = 1;
    }
    if (t == 0) {
        seen = 1;
    }
    y[t] = x[t];
}

// Loops of different lengths, early exits, shuffles, and sums through shared memory: every order gives the same.
extern "C" __global__ void orderly(const int *x, int *y) {
    __shared__ int s[4][33];
    const int t = threadIdx.x + blockIdx.x * blockDim.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = x[t];
    for (int i = 0; i < (v & 15); i++) {
        v = v * 3 + i;
        if (v % 7 == 0) {
            v += lane;
        }
    }
    for (int by = 16; by > 0; by /= 2) {
        int d;
        asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=r"(d) : "r"(v), "r"(by));
        v += d * (lane + 1);
    }
    s[warp][lane] = v;
    __syncthreads();
    v = s[(warp + 1) % 4][31 - lane];
    __syncthreads();
    s[warp][(lane + 5) % 32] = v ^ t;
    __syncthreads();
    if (warp == 3 && lane > 20) {
        y[t] = 0;
        return;
    }
    y[t] = s[warp][lane] + v;
}
