/* Stands in for OpenMP's header where clang has no such library: without -fopenmp everything runs on one thread. */
#ifndef TESTS_FUZZ_OMP_H
#define TESTS_FUZZ_OMP_H

static inline int omp_get_thread_num(void) {
    return 0;
}
static inline int omp_get_max_threads(void) {
    return 1;
}

#endif
