// Entries that tests/sequence.c runs one after the other: what launches hand on to each other.
extern "C" __global__ void put(int *y, int from, int to, int what) {
    const int i = from + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < to) {
        y[i] = i + what;
    }
}

extern "C" __global__ void twice(const int *x, int *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 2 * x[i];
    }
}

extern "C" __global__ void add_into(const int *x, int *y, int from, int to) {
    const int i = from + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < to) {
        y[i] += x[i];
    }
}

__device__ int total = 5;
extern "C" __global__ void count(int n) {
    total += n;
}
extern "C" __global__ void tell(int *y) {
    y[threadIdx.x] = total + threadIdx.x;
}

extern "C" __global__ void stop_at(int *y, int block) {
    if (blockIdx.x == block) {
        __trap();
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// atomicAdd of the toolkit's headers leaves names in the PTX that differ from folder to folder.
__device__ __forceinline__ unsigned add_next(unsigned *p) {
    unsigned old;
    asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(p) : "memory");
    return old;
}
__device__ __forceinline__ void add_float(float *p, float v) {
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory");
}

// What the blocks leave in tickets depends on their order, and so does sum[0], but not the sum of the tickets.
extern "C" __global__ void take_tickets(int *tickets, unsigned *next, float *sum) {
    tickets[add_next(next)] = blockIdx.x;
    add_float(sum, 1.0f / (float)(1 + 7 * blockIdx.x));
}
extern "C" __global__ void add_tickets(const int *tickets, int *y, int n) {
    int all = 0;
    for (int i = 0; i < n; ++i) {
        all += tickets[i];
    }
    y[threadIdx.x] = all;
}
extern "C" __global__ void copy_float(const float *x, float *y) {
    y[threadIdx.x] = x[threadIdx.x];
}
