#include "tensor_model.h"

const char *const tensor_type_names[TENSOR_TYPES] = {
    [TENSOR_S8] = "s8",     [TENSOR_U8] = "u8",     [TENSOR_S4] = "s4",     [TENSOR_U4] = "u4",
    [TENSOR_B1] = "b1",     [TENSOR_F16] = "f16",   [TENSOR_BF16] = "bf16", [TENSOR_TF32] = "tf32",
    [TENSOR_E4M3] = "e4m3", [TENSOR_E5M2] = "e5m2", [TENSOR_F64] = "f64",   [TENSOR_S32] = "s32",
    [TENSOR_F32] = "f32",
};

const struct tensor_float tensor_floats[TENSOR_TYPES] = {
    [TENSOR_F16] = {5, 10, 16, true}, [TENSOR_BF16] = {8, 7, 16, true}, [TENSOR_TF32] = {8, 10, 19, true},
    [TENSOR_E4M3] = {4, 3, 8, false}, [TENSOR_E5M2] = {5, 2, 8, true},
};

/* What ptxas 13.0 takes for which target; f64 of m16 only for sm_90 and later. */
const struct tensor_form tensor_forms[] = {
    {"m16n8k32", TENSOR_S8, 4, 2, 4, 16, 32, 80},   {"m16n8k16", TENSOR_S8, 2, 1, 4, 16, 16, 80},
    {"m8n8k16", TENSOR_S8, 1, 1, 2, 8, 16, 75},     {"m16n8k64", TENSOR_S4, 4, 2, 4, 16, 64, 80},
    {"m16n8k32", TENSOR_S4, 2, 1, 4, 16, 32, 80},   {"m8n8k32", TENSOR_S4, 1, 1, 2, 8, 32, 75},
    {"m16n8k256", TENSOR_B1, 4, 2, 4, 16, 256, 80}, {"m16n8k128", TENSOR_B1, 2, 1, 4, 16, 128, 80},
    {"m8n8k128", TENSOR_B1, 1, 1, 2, 8, 128, 75},   {"m16n8k16", TENSOR_F16, 4, 2, 4, 16, 16, 80},
    {"m16n8k8", TENSOR_F16, 2, 1, 4, 16, 8, 75},    {"m16n8k16", TENSOR_BF16, 4, 2, 4, 16, 16, 80},
    {"m16n8k8", TENSOR_BF16, 2, 1, 4, 16, 8, 80},   {"m16n8k8", TENSOR_TF32, 4, 2, 4, 16, 8, 80},
    {"m16n8k4", TENSOR_TF32, 2, 1, 4, 16, 4, 80},   {"m16n8k32", TENSOR_E4M3, 4, 2, 4, 16, 32, 89},
    {"m16n8k16", TENSOR_E4M3, 2, 1, 4, 16, 16, 89}, {"m8n8k4", TENSOR_F64, 1, 1, 2, 8, 4, 80},
    {"m16n8k4", TENSOR_F64, 2, 1, 4, 16, 4, 90},    {"m16n8k8", TENSOR_F64, 4, 2, 4, 16, 8, 90},
    {"m16n8k16", TENSOR_F64, 8, 4, 4, 16, 16, 90},  {NULL, TENSOR_S8, 0, 0, 0, 0, 0, 0},
};

const struct tensor_unit tensor_units[] = {
    {75, "Turing", false, 24, 16, -132, -20, FP8_NONE, 0, 0},
    {80, "Ampere", false, 24, 16, -132, -20, FP8_NONE, 0, 0},
    {89, "Ada", false, 24, 16, -132, -20, FP8_NATIVE, 13, 13},
    {90, "Hopper", true, 25, 32, -133, -21, FP8_AS_F16, 25, 23},
    {100, "Blackwell", false, 25, 32, -133, -21, FP8_UNKNOWN, 0, 0},
    {120, "RTX Blackwell", false, 25, 32, -133, -21, FP8_NATIVE, 25, 23},
    {0, NULL, false, 0, 0, 0, 0, FP8_NONE, 0, 0},
};

const struct tensor_unit *tensor_unit(const struct arch *a) {
    const unsigned sm = (a ? a : arch_default())->sm;
    const struct tensor_unit *found = tensor_units;
    for (const struct tensor_unit *u = tensor_units; u->name && u->sm <= sm; ++u)
        found = u;
    return found;
}
