#include "isa.h"
#include <stdlib.h>
#include <string.h>

#define BITS_u16 16
#define BITS_s16 16
#define BITS_u32 32
#define BITS_s32 32
#define BITS_f32 32
#define BITS_u64 64
#define BITS_s64 64
#define BITS_f64 64

const struct lane_shape lane_shapes[LANE_OPS] = {
#define LANE1(name, D, A, expr)            {#name, BITS_##D, BITS_##A, 0, 0},
#define LANE2(name, D, A, B, expr)         {#name, BITS_##D, BITS_##A, BITS_##B, 0},
#define LANE3(name, D, A, B, C, expr)      {#name, BITS_##D, BITS_##A, BITS_##B, BITS_##C},
#define RARE2(name, T, expr, rare, mended) {#name, BITS_##T, BITS_##T, BITS_##T, 0},
#define RARE3(name, T, expr, rare, mended) {#name, BITS_##T, BITS_##T, BITS_##T, BITS_##T},
#define COMPARE(name, A, expr)             {#name, 1, BITS_##A, BITS_##A, 0},
#define SELECT(name, D)                    {#name, BITS_##D, BITS_##D, BITS_##D, 1},
#include "lane_list.h"
};

static const struct isa sets[] = {
    {"base", lane_ops_base, memory_ops_base, tensor_ops_base},
#if defined __x86_64__
    {"avx2", lane_ops_avx2, memory_ops_avx2, tensor_ops_avx2},
    {"avx512", lane_ops_avx512, memory_ops_avx512, tensor_ops_avx512},
#endif
};

static bool supported(const char *name) {
#if defined __x86_64__
    __builtin_cpu_init();
    if (!strcmp(name, "avx2"))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (!strcmp(name, "avx512"))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
#endif
    return !strcmp(name, "base");
}

const struct isa *isa_choose(struct error *e) {
    const size_t count = sizeof sets / sizeof *sets;
    const char *wanted = getenv("WARPPROOF_ISA");
    if (!wanted || !*wanted) {
        size_t best = 0;
        for (size_t i = 0; i < count; ++i)
            if (supported(sets[i].name))
                best = i;
        return &sets[best];
    }
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(sets[i].name, wanted))
            continue;
        if (supported(wanted))
            return &sets[i];
        fail(e, "WARPPROOF_ISA=%s: this CPU does not have that instruction set", wanted);
        return NULL;
    }
    fail(e, "WARPPROOF_ISA=%.40s: unknown instruction set; known: base, avx2, avx512", wanted);
    return NULL;
}
