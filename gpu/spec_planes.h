/* What a launch file says of the planes of shared memory, when they are full, and of what each mma multiplies
 * (docs/explain.md). Part of spec.h. */
#ifndef GPU_SPEC_PLANES_H
#define GPU_SPEC_PLANES_H

#include "expr.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLANE_DIMS = 8, PLANE_VALUES = 8 };

/* Fields of an operand of a contract, decoded by its format (ref/format.h, ref/activation.h), or of a buffer. */
enum value_field {
    VALUE_WEIGHT_Q, /* integer of (row, k) */
    VALUE_WEIGHT_D, /* scale of its block */
    VALUE_WEIGHT_DMIN,
    VALUE_WEIGHT_SCALE, /* integers of its sub-block */
    VALUE_WEIGHT_MIN,
    VALUE_WEIGHT_DS,    /* rn(d * scale) in f32 */
    VALUE_WEIGHT_DM,    /* -rn(dmin * min) in f32 */
    VALUE_WEIGHT_BLOCK, /* bytes of its block */
    VALUE_ACTIVATION_Q,
    VALUE_ACTIVATION_D,
    VALUE_ACTIVATION_SUM, /* stored in its block */
    VALUE_ACTIVATION_BLOCK,
    VALUE_BUFFER, /* element `at` of a plain buffer */
    VALUE_FIELDS,
};
extern const char *const value_field_names[VALUE_FIELDS + 1]; /* "weight.q" ...; ended by NULL */

enum value_type { VALUE_I8, VALUE_U8, VALUE_I16, VALUE_U16, VALUE_I32, VALUE_U32, VALUE_F16, VALUE_F32, VALUE_TYPES };
extern const size_t value_type_bytes[VALUE_TYPES];

enum value_outside { OUTSIDE_ERROR, OUTSIDE_ZERO, OUTSIDE_ANY };

struct spec_value { /* one logical element, as it lies in memory */
    enum value_field field;
    char *buffer;               /* VALUE_BUFFER: its name, else NULL */
    enum value_type as;         /* not VALUE_BUFFER, whose elements keep their type */
    struct spec_expr *row, *k;  /* not VALUE_BUFFER */
    struct spec_expr *at;       /* VALUE_BUFFER: the element; ..._BLOCK: first byte in the block; else NULL */
    enum value_outside outside; /* what stands for an element that does not exist */
};

struct spec_dim {
    char *name;               /* of the index, unique in the plane */
    struct spec_expr *count;  /* indices 0 .. count - 1 */
    struct spec_expr *stride; /* bytes from one to the next */
};

struct spec_content { /* of a plane */
    struct spec_dim dims[PLANE_DIMS];
    size_t dim_count; /* 0: nothing is said */
    struct spec_value values[PLANE_VALUES];
    size_t value_count;     /* side by side in each cell */
    struct spec_expr *when; /* cells where it is 0 hold anything; NULL: all are filled */
};

struct spec_stages {           /* times that a block fills its planes */
    struct spec_expr *count;   /* NULL: 1 */
    struct spec_expr *full_at; /* of stage s: how many barriers of the block have opened before; NULL: s */
};

struct spec_mma { /* mma number i of a warp; only when `given` */
    bool given;
    struct spec_value a, b;
    struct spec_expr *from; /* the k that its accumulator begins at; NULL: the mma's own first */
};

#endif
