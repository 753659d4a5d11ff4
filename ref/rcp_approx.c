#include "rcp_approx.h"
#include "measured.h"
#include <stdlib.h>

/* Two bits a mantissa, lowest first: the distance from rn(1/x), plus 1. */
enum { TABLE_BYTES = 1 << 21 };
static const uint8_t table_digest[32] = {
    0xbb, 0xda, 0x0d, 0x68, 0x5a, 0xb5, 0xa6, 0x67, 0x67, 0xc2, 0xc3, 0x88, 0x1a, 0x67, 0xdf, 0xf1,
    0x47, 0xe1, 0xf5, 0xa2, 0xc7, 0x66, 0xdb, 0x1f, 0x6d, 0xd5, 0xb6, 0x3f, 0xec, 0xed, 0xcf, 0x2c,
};
static uint8_t *table; /* NULL: not read */

bool rcp_approx_load(const char *path, struct error *e) {
    uint8_t *bytes = measured_table_read(path, TABLE_BYTES, table_digest, e);
    if (!bytes)
        return false;
    if (!table)
        table = bytes;
    else
        free(bytes); /* a second load brings the same bytes */
    return true;
}

bool rcp_approx_measured(void) {
    return table != NULL;
}

float rcp_approx_ftz(float x) {
    const uint32_t infinity = 0x7f800000, one = 0x3f800000;
    uint32_t bits = float_bits(x), sign = bits & 0x80000000, magnitude = bits & 0x7fffffff;
    if (magnitude > infinity)
        return bits_float(0x7fffffff);
    if (magnitude == infinity)
        return bits_float(sign);
    if (magnitude < 0x00800000)
        return bits_float(sign | infinity);
    uint32_t mantissa = magnitude & 0x7fffff;
    int exponent = (int)(magnitude >> 23) - 127;
    /* 1/m of m in [1, 2), in (1/2, 1]: an exponent of 126 or 127, which x's is taken off. */
    uint32_t inverse = float_bits(1.0f / bits_float(one | mantissa));
    if (table)
        inverse += (table[mantissa / 4] >> 2 * (mantissa % 4) & 3) - 1u;
    int result = (int)(inverse >> 23) - exponent;
    return bits_float(result < 1 ? sign : sign | (uint32_t)result << 23 | (inverse & 0x7fffff));
}
