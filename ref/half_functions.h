/* The approximate functions of 16-bit numbers on sm_90. An H200 gave their result for each of the 65536 operands, so
 * the table is the whole function: fixtures/golden/half_functions_sm90.bin.zz (the README there says how). Source: PTX
 * ISA 9.7.4.9, 9.7.4.10 `tanh`, `ex2`. */
#ifndef REF_HALF_FUNCTIONS_H
#define REF_HALF_FUNCTIONS_H

#include "error.h"
#include <stdbool.h>
#include <stdint.h>

enum half_function {
    HALF_EX2_F16,  /* ex2.approx.f16 */
    HALF_TANH_F16, /* tanh.approx.f16 */
    HALF_EX2_BF16, /* ex2.approx.ftz.bf16 */
    HALF_TANH_BF16 /* tanh.approx.bf16 */
};

/* Reads the measured tables (a zlib stream of 2^19 bytes, known by their SHA-256). Fails, with one line, on any other
 * file, and leaves what was there before. Call it before threads that compute are started. */
bool half_functions_load(const char *path, struct error *e);
bool half_functions_measured(void);

/* f of the number whose bits are h. The tables MUST have been read. */
uint16_t half_function(enum half_function f, uint16_t h);

#endif
