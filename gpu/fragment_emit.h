/* What the kernels of fragment_kernel.c are made of. */
#ifndef GPU_FRAGMENT_EMIT_H
#define GPU_FRAGMENT_EMIT_H

#include "fragment_kernel.h"

/* The PTX of a kernel: thread i loads in_each words into %a0.., runs the body, and stores %d0.. . The body may use
 * %r0..%r9, %x0..%x3 (64 bits), %p0, and %s, the address of `shared` bytes of shared memory (aligned to 1024); %t is
 * the thread. */
char *emit_kernel(const char *target, unsigned in_each, unsigned out_each, unsigned shared, const char *body);
/* "{%a4,%a5}" */
void emit_vector(char *out, size_t size, char letter, unsigned first, unsigned count);

/* The value 1 of a type as the bits of an element: s8 .. tf32, s32, f32. */
uint32_t emit_one(const char *type);
/* Room for in, want and about by blocks, threads, in_each and out_each. */
void emit_room(struct fragment_kernel *k);
/* Bits of an element at bit i * bits of a word. */
static inline void emit_element(uint32_t *word, unsigned i, unsigned bits, uint32_t value) {
    *word |= value << i * bits;
}

/* Kernel i of each family; false: there is none. */
bool emit_matrix(size_t i, struct fragment_kernel *k);
bool emit_mma(size_t i, struct fragment_kernel *k);
bool emit_wgmma_a(size_t i, struct fragment_kernel *k);
bool emit_wgmma_d(size_t i, struct fragment_kernel *k);
bool emit_wgmma_shared(size_t i, struct fragment_kernel *k);

#endif
