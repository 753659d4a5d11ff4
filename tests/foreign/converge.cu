// Kernels whose lanes part and must meet again; right results in tests/machine_converge.c.

// The shuffles by hand: the toolkit's headers would put a name made of this file's path into the PTX.
__device__ __forceinline__ int shuffle_xor(int v, int lanes) {
    int d;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=r"(d) : "r"(v), "r"(lanes));
    return d;
}
__device__ __forceinline__ int shuffle_from(unsigned members, int v, int lane) {
    int d;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;" : "=r"(d) : "r"(v), "r"(lane), "r"(members));
    return d;
}

extern "C" __global__ void early_return(const int *x, int *y) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    y[t] = 0;
    if (t >= 50) {
        return;
    }
    s[t] = x[t];
    __syncthreads();
    y[t] = s[49 - t];
}

extern "C" __global__ void return_never_taken(const int *x, int *y) {
    const int t = threadIdx.x;
    int v = 1;
    if (t & 1) {
        if (x[t] == 1000) {
            return;
        }
        v = x[t] * 3;
        if (v == 777) {
            y[0] = 0;
        }
    }
    __syncthreads();
    y[t] = v + shuffle_xor(v, 1);
}

extern "C" __global__ void trap_never_taken(const int *x, int *y) {
    const int t = threadIdx.x;
    int v = 1;
    if (t & 1) {
        if (x[t] == 1000) {
            __trap();
        }
        v = x[t] * 3;
    }
    __syncthreads();
    y[t] = v + shuffle_xor(v, 1);
}

extern "C" __global__ void return_in_loop(const int *x, int *y) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    int v = 0;
    for (int i = 0; i < (t & 7); i++) {
        if (x[t] == 1000 + i) {
            return;
        }
        v += x[(t + i) & 63];
    }
    s[t] = v;
    __syncthreads();
    y[t] = s[63 - t];
}

__device__ __forceinline__ unsigned ballot(unsigned members, bool held) {
    unsigned d;
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; vote.sync.ballot.b32 %0, p, %1;}"
                 : "=r"(d)
                 : "r"(members), "r"((unsigned)held));
    return d;
}
__device__ __forceinline__ void warp_barrier(unsigned members) {
    asm volatile("bar.warp.sync %0;" ::"r"(members) : "memory");
}
__device__ __forceinline__ int lowest_bit(unsigned v) {
    int d;
    asm("{.reg .b32 t; brev.b32 t, %1; clz.b32 %0, t;}" : "=r"(d) : "r"(v));
    return d;
}

// One operation of the whole warp, at two places.
extern "C" __global__ void warp_barrier_in_both(const int *x, int *y) {
    __shared__ volatile int s[64];
    const int t = threadIdx.x;
    if (t & 1) {
        s[t] = x[t] * 3;
        warp_barrier(~0u);
        y[t] = s[t ^ 1];
    } else {
        s[t] = x[t] * 5;
        warp_barrier(~0u);
        y[t] = s[t ^ 1] + 100;
    }
}
extern "C" __global__ void ballot_in_both(const int *x, int *y) {
    const int t = threadIdx.x;
    unsigned r;
    if (t & 1) {
        r = ballot(~0u, x[t] % 3 == 0);
        y[t] = r;
    } else {
        y[t] = 7;
        r = ballot(~0u, x[t] % 4 == 0);
        y[t] = r + 1;
    }
}
// nvcc unrolls the loop, so that lanes with different trip counts shuffle at different places.
extern "C" __global__ void shuffle_in_loop(const int *x, int *y) {
    const int t = threadIdx.x, trips = t * 7 % 11;
    int v = x[t] & 31, i = 0;
    unsigned members = ~0u;
    bool go;
    do {
        v += shuffle_from(members, v, lowest_bit(members));
        warp_barrier(members);
        go = ++i < trips;
        const unsigned b = ballot(members, go);
        if (go) {
            members = b;
        }
    } while (go);
    y[t] = v;
}

// bar.warp.sync orders the stores of a warp's lanes; a barrier orders those of the warps that take part in it, and no
// other's; bar.arrive orders what came before it.
extern "C" __global__ void warp_barrier_orders(const int *x, int *y) {
    const int t = threadIdx.x;
    volatile int *v = y;
    v[t] = 1;
    warp_barrier(~0u);
    v[t ^ 1] = x[t];
}
__device__ __forceinline__ void meet(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void arrive(int id, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
extern "C" __global__ void other_barriers(const int *x, int *y) {
    volatile int *v = y;
    const int t = threadIdx.x;
    if (t < 32) {
        v[t] = 1;
        v[t + 32] = 1;
        meet(1, 32);
    } else {
        meet(2, 32);
        v[t] = x[t];
        v[t - 32] = x[t];
    }
}
extern "C" __global__ void arrive_then_store(const int *x, int *y) {
    volatile int *v = y;
    const int t = threadIdx.x;
    if (t < 32) {
        arrive(1, 64);
        v[t] = 1;
        v[t + 32] = 1;
    } else {
        meet(1, 64);
        v[t] = x[t];
        v[t - 32] = x[t];
    }
}
extern "C" __global__ void store_then_arrive(const int *x, int *y) {
    volatile int *v = y;
    const int t = threadIdx.x;
    if (t < 32) {
        v[t] = 1;
        v[t + 32] = 1;
        arrive(1, 64);
    } else {
        meet(1, 64);
        v[t] = x[t];
        v[t - 32] = x[t];
    }
}

// Warp 0 waits for a store of warp 1, lane 0 of warp 1 for one of lane 9.
extern "C" __global__ void spin(const int *x, int *y) {
    volatile int *v = y;
    const int t = threadIdx.x;
    if (t == 40) {
        v[40] = 7;
    } else if (t == 3) {
        while (v[40] != 7) {
        }
        v[3] = 5;
    } else if (t == 32) {
        while (v[41] != 9) {
        }
        v[32] = 6;
    } else if (t == 41) {
        v[41] = 9;
    } else {
        v[t] = x[t];
    }
}

// One load that goes to shared memory in odd lanes and to global memory in even ones.
extern "C" __global__ void mixed_spaces(const int *x, int *y) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = x[t] * 2;
    __syncthreads();
    volatile const int *p = t & 1 ? s : x;
    y[t] = p[t];
}

// Cells are cleared by one thread and, after a barrier, set by another: ordered, so no race.
extern "C" __global__ void clear_then_set(const int *x, int *y) {
    volatile int *v = y;
    const int t = threadIdx.x;
    v[t] = 0;
    __syncthreads();
    v[63 - t] = x[t];
}

// The same without the barrier, and a cell that a second thread changes in between.
extern "C" __global__ void clear_and_set(const int *x, int *y) {
    volatile int *v = y;
    const int t = threadIdx.x;
    v[t] = 0;
    v[63 - t] = x[t] + 1;
}
extern "C" __global__ void there_and_back(const int *x, int *y) {
    volatile int *v = y;
    const int t = threadIdx.x;
    if (t == 0) {
        v[0] = 5;
    }
    if (t == 32) {
        v[0] = 7;
    }
    __syncthreads();
    if (t == 0) {
        v[0] = 5;
    } else {
        v[t] = x[t];
    }
}

// A lane that is no member of the mask executes the shuffle.
extern "C" __global__ void not_a_member(const int *x, int *y) {
    const int t = threadIdx.x;
    y[t] = shuffle_from(1u, x[t], (t + 1) & 31);
}
// Half of a warp does a warp-wide shuffle that names all lanes, the other half never comes.
extern "C" __global__ void member_absent(const int *x, int *y) {
    const int t = threadIdx.x;
    int v = x[t];
    if (t & 1) {
        v = shuffle_xor(v, 2);
    } else {
        __syncthreads();
    }
    y[t] = v;
}
