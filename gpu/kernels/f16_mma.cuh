// Binary16 tensor cores, and copies that run while the warp goes on.
#pragma once
#include "ptx_asm.cuh"

// d += a * b: a (16, 16) binary16 row-major, b (16, 8) column-major, d (16, 8) f32. The bits of the sum are the chip's.
__device__ __forceinline__ void mma_m16n8k16_f16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// 16 bytes into shared memory; with bytes = 0 nothing is read, and they become zero.
__device__ __forceinline__ void copy_16(uint32_t to, const void *from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" : : : "memory"); }
template <int NEWER> __device__ __forceinline__ void copy_wait() {
    asm volatile("cp.async.wait_group %0;" : : "n"(NEWER) : "memory");
}
