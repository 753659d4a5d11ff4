// Functions that stay functions, with everything they bring; right results in tests/machine_call_nvcc.c. calls_debug.cu
// is the same without optimisation.
#include <cassert>
#include <cstdio>

struct record {
    int a;
    float b[3];
    double c;
    char d;
};

__device__ __noinline__ int fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
__device__ __noinline__ record change(record s, int k) {
    s.a += k;
    s.b[k % 3] = k;
    s.c *= 2;
    s.d = 'x';
    return s;
}

typedef int (*operation)(int, int);
__device__ __noinline__ int add(int a, int b) {
    return a + b;
}
__device__ __noinline__ int mul(int a, int b) {
    return a * b;
}
__device__ operation operations[2] = {add, mul};

struct base {
    int v;
    __device__ virtual int f(int x) {
        return x + v;
    }
};
struct derived : base {
    __device__ int f(int x) override {
        return x * v;
    }
};
__device__ __noinline__ int use(base *b, int x) {
    return b->f(x);
}

__device__ __noinline__ int sum(const int *p, int n) {
    int s = 0;
    for (int i = 0; i < n; ++i)
        s += p[i];
    return s;
}

// The shuffle by hand: the toolkit's headers would put a name made of this file's path into the PTX.
__device__ __noinline__ int shuffle_from(unsigned members, int v, int lane) {
    int d;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;" : "=r"(d) : "r"(v), "r"(lane), "r"(members));
    return d;
}

extern "C" __global__ void calls(int *out, const __grid_constant__ record s, int n) {
    const int t = threadIdx.x;
    int list[16];
    for (int i = 0; i < 16; ++i)
        list[i] = i * n;
    const record r = change(s, t & 3);
    base b;
    derived d;
    b.v = 2;
    d.v = 3;
    int value = fib(t & 7) + operations[t & 1](t, 3) + list[(t * 7) & 15] + r.a + (int)r.c + (int)r.b[t % 3];
    value += use(t & 2 ? &d : &b, t) + sum(list, t & 15);
    const float *fields = s.b;
    value += (int)fields[t % 3];
    if (t % 5 == 1)
        value += shuffle_from(0x84210842u, value, (t + 5) % 30);
    if (t == 7)
        printf("%d is %d of %s: %.2f\n", t, value, "calls", s.c);
    assert(value != 12345);
    out[t] = value;
}
