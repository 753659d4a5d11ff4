/* Statements about fragments (fragment.h), each proved by enumeration of its whole domain. */
#ifndef GPU_FRAGMENT_PROOF_H
#define GPU_FRAGMENT_PROOF_H

#include "fragment.h"
#include "layout.h"
#include "statement.h"

/* Appends every statement that the patterns select (statement_selected), proved or refuted. list_only: nothing is
 * enumerated, domain stays 0. */
void fragment_prove(const char *const *patterns, size_t pattern_count, bool list_only, struct statement_list *out);

/* What it is made of. Each takes the maps that it speaks of, so that a wrong one can be planted, and s with proved set;
 * it counts s->domain and refutes s where that is due. */

/* Each element of the tile is held exactly once. */
void prove_bijection(const struct fragment *f, struct statement *s);
/* What lane, register r of f holds, g holds in lane + lanes, register r + registers, shifted by rows and columns; for
 * all of f. Both have the same bits. Of f alone `count` registers from its first are asked, 0: all. */
struct fragment_shift {
    unsigned lanes, registers, rows, columns;
};
void prove_shifted(const struct fragment *f, const struct fragment *g, struct fragment_shift shift,
                   struct statement *s);
/* stmatrix by the map `store`, then ldmatrix by the map `load` of the same rows: every register byte is back where it
 * was; transposed: each matrix is the transposed one. */
void prove_round_trip(const struct fragment *store, const struct fragment *load, bool transposed, struct statement *s);

/* Which lane's half half i (0 low, 1 high) of movmatrix's result comes from: LM-10. */
struct movmatrix_source {
    unsigned lane, half;
};
struct movmatrix_source movmatrix_source(unsigned lane, unsigned i);
typedef struct movmatrix_source movmatrix_map(unsigned lane, unsigned i);
void prove_transposition(movmatrix_map *map, struct statement *s);
void prove_movmatrix_twice(movmatrix_map *map, struct statement *s);

/* at(x, a, b) for a < rows, b < columns are rows * columns different addresses, each a multiple of `unit`, below rows *
 * columns * unit. */
struct address_map {
    unsigned (*at)(const struct address_map *x, unsigned a, unsigned b);
    enum swizzle_mode mode;
    unsigned lbo, sbo, rows, columns, unit;
    const char *a, *b; /* names of the two */
};
void prove_addresses(const struct address_map *x, struct statement *s);
/* Rows 8q .. 8q+7 of every 16-byte column begin in eight different groups of four banks. */
void prove_start_banks(const struct address_map *x, struct statement *s);

/* K-major: a start address that is `further` bytes further gives the bytes that are 32 further along k, for each step
 * in a row of the pattern: WG-14. */
void prove_steps(const struct wgmma_descriptor *d, unsigned further, struct statement *s);

/* An access and the operand that it must deliver, for a matrix that two by two tiles fill (one, where that is too much)
 * and several row strides. */
struct delivery {
    const char *access; /* "ldmatrix.x4.trans", "stmatrix.x2", "ld.shared.b32" ... */
    const char *address;
    bool mn_major;
    unsigned tiles_rows, tiles_columns;
    enum swizzle_mode swizzle; /* SWIZZLE_NONE: several strides; else rows of the pattern, without padding */
};
void prove_delivery(const struct fragment *f, const struct delivery *d, struct statement *s);

#endif
