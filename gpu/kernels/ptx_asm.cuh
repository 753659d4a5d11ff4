// PTX instructions that CUDA C has no operator for. No header of the toolkit: line info names files of ours only.
#pragma once
#include "canary.cuh"
#include <stdint.h>

// Byte offset of a pointer into shared memory, as ldmatrix wants it.
__device__ __forceinline__ uint32_t shared_address(const void *p) {
    uint64_t a;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(a) : "l"(p));
    return (uint32_t)a;
}

// One float of shared memory. The compiler joins neighbouring loads of its own into wider ones; not these.
__device__ __forceinline__ float shared_float(uint32_t address) {
    float f;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(f) : "r"(address) : "memory");
    return f;
}

// Four 8x8 matrices of 16-bit elements; lane 8j+q gives the address of row q of matrix j (PTX ISA 9.7.14.5.15).
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// d = a * b in exact integers: a (16, 32) int8 row-major, b (32, 8) int8 column-major, d (16, 8) int32.
__device__ __forceinline__ void mma_m16n8k32_s8(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%10, %10, %10, %10};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(0));
}

// binary16 <-> binary32; to half: nearest, ties to even.
__device__ __forceinline__ float half_value(uint32_t bits) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"((uint16_t)bits));
    return f;
}
__device__ __forceinline__ uint32_t half_bits_rn(float f) {
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

// The value of lane (lane ^ mask), all 32 lanes taking part.
__device__ __forceinline__ uint32_t shuffle_xor(uint32_t v, uint32_t mask) {
    uint32_t d;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=r"(d) : "r"(v), "r"(mask));
    return d;
}

// Copies of BYTES (4, 8 or 16) to shared memory that are in flight until their group is waited for; zeros where `there`
// is false, and nothing is read. 16 bytes pass by L1.
template <int BYTES> __device__ __forceinline__ void copy_async(uint32_t to, const void *from, bool there) {
    const int bytes = there ? BYTES : 0;
    if (BYTES == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(bytes), "n"(BYTES)
                     : "memory");
    }
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most PENDING of the thread's groups are in flight.
template <int PENDING> __device__ __forceinline__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
