// A variable that a function sets on some paths, and structures that are set in part: where optimised, the variable is
// loaded ahead of the branch that decides whether it counts. speculative_debug.cu is the same without optimisation; what
// is a fault in them is in tests/machine_unset.c.
struct record {
    char tag; // three bytes of nothing behind it
    int value;
    double weight;
};

__device__ __noinline__ bool find(const int *x, int t, int *got) {
    if (x[t] & 1) {
        *got = x[t] * 3;
        return true;
    }
    return false;
}
__device__ __noinline__ record make(const int *x, int t) {
    record r;
    r.tag = char(x[t]);
    if (x[t] & 1)
        r.value = x[t ^ 1];
    r.weight = t;
    return r;
}
__device__ __noinline__ void copy(record *to, const record *from) {
    *to = *from;
}

template <bool FAULT> __device__ __forceinline__ void found(const int *x, int *y) {
    const int t = threadIdx.x;
    int got, v = t;
    if (find(x, t, &got) || (FAULT && t == 6))
        v += got;
    y[t] = v;
}
template <bool FAULT> __device__ __forceinline__ void copied(const int *x, int *y) {
    const int t = threadIdx.x;
    record all[2];
    const record r = make(x, t);
    copy(&all[x[t] & 1], &r);
    int v = all[x[t] & 1].tag;
    if ((x[t] & 1) || (FAULT && t == 6))
        v += all[x[t] & 1].value;
    y[t] = v;
}

extern "C" __global__ void found_clean(const int *x, int *y) {
    found<false>(x, y);
}
extern "C" __global__ void found_fault(const int *x, int *y) {
    found<true>(x, y);
}
extern "C" __global__ void copied_clean(const int *x, int *y) {
    copied<false>(x, y);
}
extern "C" __global__ void copied_fault(const int *x, int *y) {
    copied<true>(x, y);
}
