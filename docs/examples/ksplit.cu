// Sums of the columns of x (k rows, n columns), cut into parts of some rows each: a launch that leaves one sum a part and column,
// and a launch that adds these, the first part first.
extern "C" __global__ void ksplit_parts(const float *x, float *parts, int rows, int k, int n) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, part = blockIdx.y;
    const int end = min((part + 1) * rows, k);
    if (column >= n) {
        return;
    }
    float sum = 0.0f;
    for (int r = part * rows; r < end; ++r) {
        sum = __fadd_rn(sum, x[r * n + column]);
    }
    parts[part * n + column] = sum;
}

extern "C" __global__ void ksplit_sum(const float *parts, float *y, int count, int n) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n) {
        return;
    }
    float sum = parts[column];
    for (int p = 1; p < count; ++p) {
        sum = __fadd_rn(sum, parts[p * n + column]);
    }
    y[column] = sum;
}
