/* Contents of the plain buffers of foreign kernels: `fill: random | iota | zero | {file: PATH}` of a launch file. */
#ifndef GPU_FILL_H
#define GPU_FILL_H

#include "../ref/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* data = count elements of a type ("i8" ... "f64", little-endian), a function of key and type alone:
 *   integers   all bits uniform
 *   floats     uniform in [-1, 1) on a grid that the type holds exactly: steps of 2^-7 (bf16), 2^-10 (f16), 2^-23
 * (f32), 2^-52 (f64) */
void fill_random(const char *type, size_t count, uint64_t key, uint8_t *data);

/* data[i] = i: in integers modulo their width, in floats modulo the end of the unbroken run of integers from 0 that the
 * type holds: 256 (bf16), 2048 (f16), 2^24 (f32), 2^53 (f64). */
void fill_iota(const char *type, size_t count, uint8_t *data);

/* data = the whole file, which must be a regular file of exactly `bytes` bytes; and, when sha256 (64 lower-case hex
 * digits) is not NULL, of that digest. Messages name the path. */
bool fill_file(const char *path, const char *sha256, size_t bytes, uint8_t *data, struct error *e);

#endif
