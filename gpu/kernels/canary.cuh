// The canary build (-DWARPPROOF_CANARY; ci/ptx makes it, `warpproof gate --canary` runs it): guard words after each
// plane of the arena, written when a block begins and looked at when it ends. Without the flag CANARY is 0, and the
// arena is only declared. A kernel with planes says SHARED_ARENA(arena) once, where its outermost scope begins, and
// adds CANARY to the offset of every plane but the first; `bytes`, which is the planes' alone, takes them off again.
// Where that scope ends is a barrier of the whole block: lanes must not `return` by themselves before it, not even
// after the kernel's own last barrier; whole warps may, after that.
#pragma once
#include <stdint.h>

#ifndef WARPPROOF_CANARY
constexpr int CANARY = 0;
#define SHARED_ARENA(NAME) extern __shared__ __align__(16) uint8_t NAME[]
#else
// Bytes of a guard. 1024 is a multiple of all that a layout may count on (the 128 B after which banks repeat, the
// 1024 B of a swizzle's atom, every alignment), so that planes keep their banks; and a word for each of 256 threads.
constexpr int CANARY = 1024;

// What host and kernel tell each other (gpu/canary.h has the same numbers). The host says where guards lie, from the
// launch file: a kernel that lays its planes out in another way writes into them.
// Atomics only count what is wrong, and one block says that it has looked: where nothing is wrong, no order of blocks
// can make a difference.
enum : unsigned {
    CANARY_CHANGED,      // words that were changed
    CANARY_LOOKED,       // 1: block (0,0,0) has looked at its guards
    CANARY_GUARDS,       // by the host: how many guards there are,
    CANARY_OFFSETS,      // and the byte of the arena where each begins
    CANARY_RECORDS = 19, // of the first changed words: block x, block y | block z << 16, plane, side, offset, word
    CANARY_RECORD_WORDS = 6,
    CANARY_ROOM = 256, // records
};
extern "C" {
__device__ uint32_t canary_report[CANARY_RECORDS + CANARY_ROOM * CANARY_RECORD_WORDS];
}

class CanaryGuards {
    static constexpr unsigned WORDS = CANARY / 4;
    uint32_t arena; // shared address

    // Word i of all guards. It depends on the block as well: what is copied from elsewhere is not right here.
    static __device__ __forceinline__ uint32_t word(unsigned i) {
        uint32_t v = blockIdx.x * 0x9e3779b1u + (blockIdx.y | blockIdx.z << 16) * 0x85ebca6bu + i * 0xc2b2ae35u;
        v = (v ^ v >> 15 ^ 0x27d4eb2f) * 0x2c1b3c6du;
        return v ^ v >> 13;
    }
    __device__ __forceinline__ uint32_t place(unsigned i) const {
        return arena + canary_report[CANARY_OFFSETS + i / WORDS] + i % WORDS * 4;
    }
    static __device__ __forceinline__ uint32_t count(unsigned what) {
        uint32_t before;
        asm volatile("atom.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(&canary_report[what]) : "memory");
        return before;
    }

    // Laid to the plane whose edge is nearer: bytes past the end of the one below, or (negative) before the start of
    // the one above. No plane follows the last guard.
    static __device__ __forceinline__ void report(unsigned i, uint32_t found) {
        const uint32_t n = count(CANARY_CHANGED), guard = i / WORDS;
        const int at = i % WORDS * 4;
        const bool below = at >= CANARY / 2 && guard + 1 < canary_report[CANARY_GUARDS];
        if (n < CANARY_ROOM) {
            uint32_t *record = canary_report + CANARY_RECORDS + n * CANARY_RECORD_WORDS;
            record[0] = blockIdx.x;
            record[1] = blockIdx.y | blockIdx.z << 16;
            record[2] = guard + below;
            record[3] = below;
            record[4] = below ? at - CANARY : at;
            record[5] = found;
        }
    }

  public:
    // Loads and stores by hand: the compiler, which knows all stores of some kernels, might leave them out.
    explicit __device__ __forceinline__ CanaryGuards(const uint8_t *planes) {
        uint64_t address;
        asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(planes));
        arena = (uint32_t)address;
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < canary_report[CANARY_GUARDS] * WORDS; i += blockDim.x) {
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(place(i)), "r"(word(i)) : "memory");
        }
        __syncthreads();
    }
    __device__ __forceinline__ ~CanaryGuards() {
        __syncthreads();
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < canary_report[CANARY_GUARDS] * WORDS; i += blockDim.x) {
            uint32_t found;
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(found) : "r"(place(i)) : "memory");
            if (found != word(i)) {
                report(i, found);
            }
        }
        if ((threadIdx.x | blockIdx.x | blockIdx.y | blockIdx.z) == 0) {
            canary_report[CANARY_LOOKED] = 1;
        }
    }
};

#define SHARED_ARENA(NAME)                                                                                             \
    extern __shared__ __align__(16) uint8_t NAME[];                                                                    \
    const CanaryGuards NAME##_guards(NAME)
#endif
