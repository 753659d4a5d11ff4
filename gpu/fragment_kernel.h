/* Small kernels that show which element each register holds, on whatever runs them: the PTX machine, or a real GPU.
 * Each has its inputs and the outputs that the maps of fragment.h say it must give.
 *
 * - ldmatrix: every byte of the rows is tagged with its address (low bytes in block 0, high bytes in block 1), rows in
 * a scattered order; the registers come out
 * - stmatrix: register bytes are tagged with lane, register, byte; the rows come out
 * - movmatrix: likewise
 * - mma: one element of A (then B, then C) is 1, all others 0, a block each; the other operand has in row (column) j <
 * 7 bit j of k and in the last 1: D says in which row and k the one was
 * - wgmma A: the same with A in registers
 * - wgmma D: D[row][n] = row in block 0, n in block 1
 * - wgmma shared: tags of its address are in shared memory, and the other operand is the unit matrix: D[k][n] is what
 * lies at (n, k) of B, D[m][k] what lies at (m, k) of A */
#ifndef GPU_FRAGMENT_KERNEL_H
#define GPU_FRAGMENT_KERNEL_H

#include "launch.h"
#include "statement.h"

struct fragment_kernel {
    char name[64]; /* "mma.m16n8k32.s8/executed" */
    char *ptx;     /* entry k(in, out), one warp a block, four for wgmma */
    unsigned sm;   /* the first architecture that runs it: 75, 80 ... */
    bool sm_90a;   /* only sm_90 runs it, and not the PTX machine */
    unsigned blocks, threads;
    unsigned in_each, out_each; /* words of a thread */
    uint32_t *in, *want;        /* (blocks * threads * in_each, out_each): thread by thread */
    const char *what;           /* in a sentence: "... are those of the map" */
    /* operands of one-hot kernels: which element block `b` sets, else "" */
    char (*about)[64];
};

size_t fragment_kernel_count(void);
/* The kernel number i, in a fixed order. Freed by fragment_kernel_free. */
void fragment_kernel_make(size_t i, struct fragment_kernel *k);
void fragment_kernel_free(struct fragment_kernel *k);

static inline size_t fragment_kernel_words(const struct fragment_kernel *k) {
    return (size_t)k->blocks * k->threads * k->out_each;
}

/* Runs it; out (fragment_kernel_words). False: it does not run, or something besides its bits was reported. */
bool fragment_kernel_run(const struct fragment_kernel *k, const struct runner *runner, uint32_t *out, struct error *e);
/* Holds outputs to the map. where: "the PTX machine", "NVIDIA H200", "the recorded bytes". */
void fragment_kernel_judge(const struct fragment_kernel *k, const char *where, const uint32_t *out,
                           struct statement *s);

/* ---- outputs of all kernels in one file, packed by zlib: fixtures/golden/fragments ---- */

struct fragment_record {
    uint8_t *bytes; /* name, ' ', words in decimal, '\n', then the words, low bytes first; kernel after kernel */
    size_t size;
};
void fragment_record_add(struct fragment_record *r, const struct fragment_kernel *k, const uint32_t *out);
/* *out = the outputs of the kernel, in r (4 bytes a word, low bytes first), or NULL: not there, or another size. */
const uint8_t *fragment_record_find(const struct fragment_record *r, const struct fragment_kernel *k);
/* The packed file, to be freed; NULL: no memory. */
uint8_t *fragment_record_pack(const struct fragment_record *r, size_t *size);
bool fragment_record_read(const char *path, struct fragment_record *r, struct error *e);
void fragment_record_free(struct fragment_record *r);

#endif
