// Several results of one input, each wrong by itself: other arithmetic, on some elements or on all, and another element.
extern "C" __global__ void three_results(const int *x, int *a, int *b, int *c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    a[i] = x[i] + (i % 7 == 3);
    b[i] = x[i] + (i >= 32);
    c[i] = x[i ^ 1];
}

// One mistake in two results: what both store is made in one place.
extern "C" __global__ void two_of_one(const int *x, int *a, int *b, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = b[i] = x[i] + 1;
}

// Each thread loads what another one stores, with no barrier in between.
extern "C" __global__ void mirrored(const int *x, int *y) {
    __shared__ int t[64];
    t[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = t[63 - threadIdx.x];
}
