/* What the planes of a block must hold in a stage, byte by byte, and what each mma must multiply: the expressions of a
 * launch file, evaluated over the elements of the operands. */
#ifndef GPU_PLANE_CONTENT_H
#define GPU_PLANE_CONTENT_H

#include "bind.h"
#include "elements.h"

struct content { /* of one launch */
    const struct spec *spec;
    const struct launch *launch;
    struct elements elements;
    const struct shape *shape;
};

/* b: bound, not yet run, and there as long as the content is. Fails on a field that a format does not have, and on what
 * elements_open fails on; *c is then empty. */
bool content_open(const struct bound *b, const struct operands *operands, struct content *c, struct error *e);
void content_free(struct content *c);
bool content_given(const struct spec *s); /* some plane of the launch file has content */

/* stages.count and stages.full_at of stage `stage`: *count 1 .. 2^31 - 1, *barrier >= 0. */
bool content_stages(const struct content *c, uint64_t *count, struct error *e);
bool content_full_at(const struct content *c, const uint32_t block[3], uint64_t stage, uint64_t *barrier,
                     struct error *e);

struct plane_byte { /* which element a byte of a plane belongs to */
    uint32_t cell;  /* 1 + number of the cell, the last index fastest; 0: padding, or any */
    uint8_t value;  /* of the cell's values */
    uint8_t at;     /* byte of that value */
};
struct plane_image {         /* of one plane; all NULL when the launch file says nothing of it */
    uint8_t *want;           /* (bytes) */
    struct plane_byte *byte; /* (bytes) */
    size_t bytes;
};

/* Fills an image, which is zero or of an earlier call for the same plane. Fails on an index whose cell is not in the
 * plane, on two cells that share a byte, and on an element that does not exist where the launch file says nothing of
 * `outside`: with the indices, and the place of the expression. */
bool plane_image_make(const struct content *c, size_t plane, const uint32_t block[3], uint64_t stage,
                      struct plane_image *image, struct error *e);
void plane_image_free(struct plane_image *image);

/* The row (token) and k of the element of an operand that a byte belongs to; false: it is padding, or of a buffer. */
bool plane_element_at(const struct content *c, size_t plane, const uint32_t block[3], uint64_t stage,
                      struct plane_byte byte, int64_t *row, int64_t *k);
/* "activation.q of token 5, k 33" of a byte that is some element's, and "t 5, kd 1, b 1", its indices; the caller frees
 * them. */
char *plane_element_text(const struct content *c, size_t plane, const uint32_t block[3], uint64_t stage,
                         struct plane_byte byte);
char *plane_index_text(const struct content *c, size_t plane, const uint32_t block[3], uint64_t stage,
                       struct plane_byte byte);

enum { MMA_ROWS = 16, MMA_DEPTH = 32 };
struct mma_operand {                     /* one fragment's tile: rows of A, columns of B */
    int64_t row[MMA_ROWS], k[MMA_DEPTH]; /* of a plain buffer: not set */
    int64_t at[MMA_ROWS][MMA_DEPTH];     /* of a plain buffer alone */
    bool exists[MMA_ROWS][MMA_DEPTH];    /* false: `outside: any` */
    uint8_t want[MMA_ROWS][MMA_DEPTH];
};
struct mma_content {
    struct mma_operand a, b;
    int64_t from; /* depth at which the accumulator begins; -1: at this mma */
};

/* For mma number i of a warp, of shape m x n x k with 8-bit elements. */
bool mma_content_make(const struct content *c, const uint32_t block[3], uint32_t warp, uint64_t i, unsigned m,
                      unsigned n, unsigned k, struct mma_content *out, struct error *e);

#endif
