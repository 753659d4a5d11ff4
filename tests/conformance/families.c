#include "tables.h"

const struct family families[] = {
    {"integer", rows_integer},     {"carry", rows_carry},
    {"bits", rows_bits},           {"move", rows_move},
    {"video", rows_video},         {"compare", rows_compare},     {"set", rows_set},
    {"f32", rows_f32},             {"f64", rows_f64},
    {"f16", rows_f16},             {"bf16", rows_bf16},
    {"approximate", rows_approximate},
    {"convert", rows_convert},     {"warp", rows_warp},
    {"memory", rows_memory},       {"atomic", rows_atomic},
    {"matrix", rows_matrix},       {"async", rows_async},
    {"control", rows_control},
    {"mma integer", rows_mma_integer}, {"mma float", rows_mma_float},
    {NULL, NULL},
};
