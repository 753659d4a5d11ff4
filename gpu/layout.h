/* A layout: where the bytes of a matrix lie in a plane of shared memory, which address each lane gives to a load or a
 * store, and which operand must come of it. Whether it does is proved byte by byte. */
#ifndef GPU_LAYOUT_H
#define GPU_LAYOUT_H

#include "expr.h"
#include "fragment.h"
#include "statement.h"

enum layout_access { LAYOUT_LDMATRIX, LAYOUT_STMATRIX, LAYOUT_LD_SHARED, LAYOUT_ST_SHARED, LAYOUT_WGMMA };

enum layout_swizzle { /* bits first..last of the address are xored with as many bits from `from` on of ... */
                      LAYOUT_NO_SWIZZLE,
                      LAYOUT_BY_ADDRESS, /* the shared-memory address, plane offset included */
                      LAYOUT_BY_ROW      /* the row's number */
};

/* Byte (row, byte) of the matrix lies at byte `place` of the plane; without that expression at
 *   row * stride + byte                                                   slot_bytes = 0
 *   row * stride + byte / slot_bytes * slot_stride + byte % slot_bytes    else
 * with the swizzle on top. */
struct layout {
    char *name;  /* owned */
    char *about; /* owned, or NULL */
    unsigned rows, row_bytes;
    bool mn_major; /* a row of the matrix is one k, and m or n lies along it; else a row is one m or n, k along it */
    struct spec_expr *place; /* of row, byte; owned, or NULL */
    unsigned stride, slot_bytes, slot_stride;
    enum layout_swizzle swizzle;
    unsigned swizzle_first, swizzle_last, swizzle_from;
    unsigned plane_offset; /* of the plane in shared memory */
    unsigned plane_bytes;

    enum layout_access access;
    char access_name[32]; /* "ldmatrix.x4", "ld.shared.v2.b32" */
    unsigned matrices;    /* ldmatrix, stmatrix: 1, 2, 4 */
    bool trans;
    unsigned unit; /* bytes that one address stands for: 16; of ld.shared, st.shared 1, 2, 4, 8 or 16 */
    /* Byte of the plane that a lane's address leads to. Names: lane, g, t, warp; ldmatrix, stmatrix: matrix, row (lane
     * / 8, lane % 8), step (which instruction, where an operand takes several); ld.shared, st.shared: register, byte
     * (the first of the access); tile_row, tile_byte (where in the matrix the operand begins); stride, offset. Owned.
     */
    struct spec_expr *address;
    /* Of wgmma, whose address is where a descriptor starts (names: tile_row, tile_byte, stride, offset); start 0. */
    struct wgmma_descriptor descriptor;

    struct fragment wants;
    unsigned tiles_rows, tiles_columns; /* operands that one access delivers: registers count through the columns (k)
                                         * first */
};

enum { LAYOUT_MOST_BYTES = 1 << 18, LAYOUT_REACH = 1 << 30, LAYOUT_WORDS = 80 };

/* Reads a layout file. NULL, with "FILE:LINE:COLUMN: ..." in e, when it is none. */
struct layout *layout_read(const char *path, struct error *e);
void layout_free(struct layout *l); /* NULL is fine */

/* Sizes fit one another: e says what does not, in words. Layouts made by hand are asked too. */
bool layout_check(const struct layout *l, struct error *e);

/* Proves, or refutes with the first counterexample and the mistake that explains all of them, that
 *   1  no two bytes of the matrix lie at one place, and all lie in the plane;
 *   2  every address is a multiple of what it loads (16 bytes for a matrix row) and stays in the plane;
 *   3  every byte of every register of every lane is the one that the operand has there, for all operands that tile the
 *      matrix.
 * s->name and s->text are set; domain counts register bytes. Fails only where an expression has no value. */
bool layout_prove(const struct layout *l, struct statement *s, struct error *e);

/* What a proof leaves open: names that the address uses and that are 0 in all of it; NULL: none. Owned by the caller.
 */
char *layout_note(const struct layout *l);

/* 16 bytes of shared memory, aligned: what lies in them, for a picture. */
struct layout_chunk {
    int64_t row, byte; /* of the matrix: the first byte there; row = -1: padding, or outside the plane */
    unsigned pieces;   /* how many runs of one row's neighbouring bytes, or of padding, lie there */
    uint32_t lanes;    /* bit l: lane l of the first warp gives an address in it, for the first tile */
};
/* The `count` chunks from shared address plane_offset / 128 * 128 on. chunks: (count), written whole. */
bool layout_chunks(const struct layout *l, struct layout_chunk *chunks, size_t count, struct error *e);

/* ---- what layout_prove is made of: layout_place.c, layout_mistake.c ---- */

/* Byte of the plane where (row, byte) lies; may lie outside. */
bool layout_place(const struct layout *l, int64_t row, int64_t byte, int64_t *at, struct error *e);
/* An address that an expression gave is within LAYOUT_REACH of 0. */
bool layout_in_reach(const struct spec_expr *x, int64_t at, struct error *e);
/* The same as layout_place without the expression, with these steps and this swizzle in place of the layout's. */
int64_t layout_linear(const struct layout *l, int64_t stride, int64_t slot_stride, int64_t row, int64_t byte);
int64_t layout_swizzled(const struct layout *l, int64_t row, int64_t linear, int64_t plane_offset);

/* "row 9 k 6", "row 9 k 6..7" of 4-bit elements, "row 9 k 3 byte 1" of wide ones. */
void layout_name_element(const struct layout *l, int64_t row, int64_t byte, char out[LAYOUT_WORDS]);

/* 2 and 3 of layout_prove for an operand that wgmma reads itself. owner: (plane_bytes) row * row_bytes + byte of the
 * matrix, or -1. */
bool layout_wgmma_prove(const struct layout *l, const int32_t *owner, struct statement *s, struct error *e);

struct layout_slot {            /* one address: of one lane, for one access */
    unsigned warp, lane, index; /* of matrices: register; else of the access */
    int64_t got;                /* address that the layout's expression gives */
    int64_t want;               /* address that would be right; meaningless when !wanted */
    bool wanted;                /* there is one: the bytes that the operand wants lie together */
    int64_t row, byte;          /* of the matrix: what belongs at its first byte */
    int64_t tile_byte;          /* of a row: where the operand begins */
    int64_t got_row, got_byte;  /* of the matrix: what lies at `got`; -1: nothing */
};

/* The mistake that explains every slot whose got is not its want, in words that are true of each of them; NULL: none is
 * known. Owned by the caller. slots: `accesses` groups of `group` slots, one warp's at a time, ascending by (index,
 * lane). */
char *layout_mistake(const struct layout *l, const struct layout_slot *slots, size_t count, size_t group);
/* The same of the swizzle alone. */
char *layout_swizzle_mistake(const struct layout *l, const struct layout_slot *slots, size_t count);

#endif
