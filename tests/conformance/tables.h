/* The tables of forms: one a family. */
#ifndef CONFORMANCE_TABLES_H
#define CONFORMANCE_TABLES_H

#include "conformance.h"

extern const struct row rows_integer[], rows_carry[], rows_bits[], rows_move[], rows_video[], rows_f32[], rows_f64[],
    rows_f16[], rows_bf16[], rows_convert[], rows_compare[], rows_set[], rows_warp[], rows_memory[], rows_atomic[],
    rows_matrix[], rows_async[], rows_control[], rows_mma_integer[], rows_mma_float[], rows_approximate[];

#endif
