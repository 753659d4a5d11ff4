// What a probe of plain buffers may not get wrong: high bits, sets of strides, a row that leaves an element out, cells
// that are not written.
#include <cstdint>

// high nibbles, as q4_0 has them
extern "C" __global__ void nibbles(const uint8_t *q, float *y, int n) {
    const int i = threadIdx.x, k = i % 32;
    if (i < n) {
        const int b = q[i / 32 * 16 + k % 16];
        y[i] = (float)((k < 16 ? b & 15 : b >> 4) - 8);
    }
}

extern "C" __global__ void bits(const uint32_t *q, int *y, int n) {
    const int i = threadIdx.x;
    if (i < n) {
        y[i] = q[i / 32] >> i % 32 & 1;
    }
}

// 7 rows of 9, of 11 products
extern "C" __global__ void product(const float *a, const float *b, float *y) {
    const int i = threadIdx.x;
    float sum = 0;
    for (int k = 0; i < 63 && k < 11; ++k) {
        sum += a[i / 9 * 11 + k] * b[k * 9 + i % 9];
    }
    if (i < 63) {
        y[i] = sum;
    }
}

// row 3 leaves out its element 4; the last `n` of 11 rows are not written
extern "C" __global__ void rows(const int *x, int *y, int n) {
    const int i = threadIdx.x;
    int sum = 0;
    for (int k = 0; i < 11 && k < 8; ++k) {
        sum += i == 3 && k == 4 ? 0 : x[8 * i + k];
    }
    if (i < 11 - n) {
        y[i] = sum;
    }
}

extern "C" __global__ void three(const int *x, int *y) {
    y[threadIdx.x] = x[threadIdx.x] == x[0] ? 3 : 3;
}

// the scale, one of two bytes before 32 codes, and the code
extern "C" __global__ void blocks(const uint8_t *w, int *y) {
    const uint8_t *b = w + threadIdx.x / 32 * 34;
    y[threadIdx.x] = b[0] + 256 * b[1] + 65536 * b[2 + threadIdx.x % 32];
}
