/* Limits per compute capability: facts of cuda_occupancy.h (CUDA 13.0); those of 9.0 were read from an H200. */
#include "arch.h"
#include <string.h>

#define KIB(n) ((size_t)(n)*1024)

const struct arch archs[] = {
    {"sm_75", 75, KIB(64), KIB(64), 1024, 16},     {"sm_80", 80, KIB(163), KIB(164), 2048, 32},
    {"sm_86", 86, KIB(99), KIB(100), 1536, 16},    {"sm_87", 87, KIB(163), KIB(164), 1536, 16},
    {"sm_89", 89, KIB(99), KIB(100), 1536, 24},    {"sm_90", 90, KIB(227), KIB(228), 2048, 32},
    {"sm_100", 100, KIB(227), KIB(228), 2048, 32}, {"sm_103", 103, KIB(227), KIB(228), 2048, 32},
    {"sm_110", 110, KIB(227), KIB(228), 1536, 24}, {"sm_120", 120, KIB(99), KIB(100), 1536, 24},
    {"sm_121", 121, KIB(99), KIB(100), 1536, 24},  {NULL, 0, 0, 0, 0, 0},
};

const struct arch *arch_named(const char *name) {
    const char *digits = strncmp(name, "sm_", 3) == 0 ? name + 3 : name;
    for (const struct arch *a = archs; a->name; ++a) {
        const size_t n = strlen(a->name + 3);
        const char *end = digits + n;
        if (!strncmp(digits, a->name + 3, n) && (!*end || ((*end == 'a' || *end == 'f') && !end[1])))
            return a;
    }
    return NULL;
}

const struct arch *arch_default(void) {
    return arch_named("sm_90");
}
