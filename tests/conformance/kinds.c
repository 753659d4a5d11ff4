#include "conformance.h"
#include <string.h>

static const struct operand_kind kinds[] = {
    {"pred", 'p', 1, VALUES_PREDICATE, NULL, 1, 0},
    {"b16", 'h', 16, VALUES_INTEGER, NULL, 1, 0},
    {"b32", 'r', 32, VALUES_INTEGER, NULL, 1, 0},
    {"b64", 'l', 64, VALUES_INTEGER, NULL, 1, 0},
    {"f16", 'h', 16, VALUES_FLOAT, &unit_f16, 1, 0},
    {"bf16", 'h', 16, VALUES_FLOAT, &unit_bf16, 1, 0},
    {"f16x2", 'r', 32, VALUES_FLOAT, &unit_f16, 2, 0},
    {"bf16x2", 'r', 32, VALUES_FLOAT, &unit_bf16, 2, 0},
    {"tf32", 'r', 32, VALUES_FLOAT, &unit_f32, 1, 0}, /* low bits too */
    {"f32", 'f', 32, VALUES_FLOAT, &unit_f32, 1, 0},
    {"f64", 'd', 64, VALUES_FLOAT, &unit_f64, 1, 0},
    {"e4m3x2", 'h', 16, VALUES_INTEGER, NULL, 1, 0},
    {"e5m2x2", 'h', 16, VALUES_INTEGER, NULL, 1, 0},
    {"e4m3x4", 'r', 32, VALUES_FLOAT, &unit_e4m3, 4, 0},
    {"e5m2x4", 'r', 32, VALUES_FLOAT, &unit_e5m2, 4, 0},
    {"h16x4", 'l', 64, VALUES_FLOAT, &unit_f16, 4, 0},
    {"count", 'r', 32, VALUES_COUNT, NULL, 1, 0}, /* of a shift */
    {"field", 'r', 32, VALUES_FIELD, NULL, 1, 0}, /* first bit or length of a bit field */
    {"row", 'r', 32, VALUES_ROW, NULL, 1, 0},     /* a permutation of the lanes */
    {"few32", 'r', 32, VALUES_FEW, NULL, 1, 0},   /* few different values in a warp */
    {"few64", 'l', 64, VALUES_FEW, NULL, 1, 0},
    {"lane", 'r', 32, VALUES_LANE, NULL, 1, 0},   /* of shfl: which lane, or by how many */
    {"clamp", 'r', 32, VALUES_CLAMP, NULL, 1, 0}, /* of shfl: end and segment */
    {"size4", 'r', 32, VALUES_SIZE, NULL, 1, 4},  /* 0 .. 4 */
    {"size8", 'r', 32, VALUES_SIZE, NULL, 1, 8},
    {"size16", 'r', 32, VALUES_SIZE, NULL, 1, 16},
    {"place", 'r', 32, VALUES_SIZE, NULL, 1, 31},
    {"index", 'r', 32, VALUES_SIZE, NULL, 1, 3},
};

const struct operand_kind *kind_named(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (!strcmp(kinds[i].name, name))
            return &kinds[i];
    return NULL;
}
