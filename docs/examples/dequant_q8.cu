// y[i] = d[i / 32] * q[i]: 8-bit integers, one scale for each block of 32, back to floats.
extern "C" __global__ void dequant_q8(const signed char *q, const float *d, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __fmul_rn(d[i / 32], (float)q[i]);
}
