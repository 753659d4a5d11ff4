#include "mma_f16.h"
#include "half.h"
#include <math.h>

bool mma_f16_split(const uint16_t *h, size_t groups, struct mma_f16 *out) {
    bool finite = true;
    for (size_t i = 0; i < groups * MMA_F16_DEPTH; i++) {
        struct mma_f16 *group = &out[i / MMA_F16_DEPTH];
        const int field = h[i] >> 10 & 31, fraction = h[i] & 1023, size = field ? fraction + 1024 : fraction;
        finite &= field != 31;
        group->significand[i % MMA_F16_DEPTH] = (float)(h[i] >> 15 ? -size : size);
        group->exponent[i % MMA_F16_DEPTH] = (int16_t)(size ? (field ? field : 1) - 15 : MMA_F16_NOTHING);
    }
    return finite;
}

/* m * 2^shift toward zero. */
static int64_t cut(int64_t m, int32_t shift) {
    if (shift >= 0)
        return m * ((int64_t)1 << shift);
    const int64_t size = shift < -62 ? 0 : (m < 0 ? -m : m) >> -shift;
    return m < 0 ? -size : size;
}

/* sum * 2^(top - MMA_F16_FRACTION) as an f32, toward zero. |sum| < 2^33. */
static uint32_t packed(int64_t sum, int32_t top) {
    if (sum == 0)
        return 0;
    const uint32_t sign = sum < 0 ? 0x80000000 : 0;
    const uint64_t size = (uint64_t)(sum < 0 ? -sum : sum);
    const int32_t lead = 63 - __builtin_clzll(size), own = lead + top - MMA_F16_FRACTION;
    if (own > 127)
        return sign | 0x7f800000;
    const int32_t exponent = own < -126 ? -126 : own;
    const int32_t drop = exponent - 23 - (top - MMA_F16_FRACTION);
    const uint32_t kept = (uint32_t)(drop >= 0 ? size >> drop : size << -drop);
    return sign | (kept & 0x00800000 ? (uint32_t)(exponent + 127) << 23 | (kept & 0x007fffff) : kept);
}

/* What is so far below the top leaves nothing: a product has 22 bits, and 25 are kept. */
enum { LEAST_SHIFT = -64 };

/* Times a power of two a product stays exact, and the conversion to an integer cuts it toward zero. Sixteen of them are
 * below 2^31: 16 * 2047^2 * 2^5. Written as plain loops over the sixteen, for the compiler to make vectors of. */
uint32_t mma_f16_sum(const struct mma_f16 *a, const struct mma_f16 *b, uint32_t c) {
    const int32_t field = c >> 23 & 255, fraction = c & 0x007fffff;
    const int64_t size = field ? fraction + 0x00800000 : fraction;
    const int32_t exponent = (field ? field : 1) - 127;
    int16_t e[MMA_F16_DEPTH], top = (int16_t)(size && exponent > MMA_F16_FLOOR ? exponent : MMA_F16_FLOOR);
    for (size_t i = 0; i < MMA_F16_DEPTH; i++) {
        e[i] = (int16_t)(a->exponent[i] + b->exponent[i]);
        top = e[i] > top ? e[i] : top;
    }
    uint32_t bits[MMA_F16_DEPTH];
    for (size_t i = 0; i < MMA_F16_DEPTH; i++) {
        const int16_t shift = (int16_t)(e[i] - top + MMA_F16_FRACTION - 20);
        bits[i] = (uint32_t)((shift > LEAST_SHIFT ? shift : LEAST_SHIFT) + 127) << 23;
    }
    float scale[MMA_F16_DEPTH];
    memcpy(scale, bits, sizeof scale);
    int32_t sum = 0;
    for (size_t i = 0; i < MMA_F16_DEPTH; i++)
        sum += (int32_t)(a->significand[i] * b->significand[i] * scale[i]);
    return packed(sum + cut(c >> 31 ? -size : size, exponent - top + MMA_F16_FRACTION - 23), top);
}

uint32_t mma_f16_sum_any(const uint16_t a[MMA_F16_DEPTH], const uint16_t b[MMA_F16_DEPTH], uint32_t c) {
    struct mma_f16 x, y;
    if (mma_f16_split(a, 1, &x) & mma_f16_split(b, 1, &y) && (c & 0x7f800000) != 0x7f800000)
        return mma_f16_sum(&x, &y, c);
    double sum = isfinite(bits_float(c)) ? 0 : bits_float(c); /* finite addends cannot bring back an infinity */
    for (size_t i = 0; i < MMA_F16_DEPTH; i++) {
        const double product = (double)half_to_float(a[i]) * half_to_float(b[i]);
        sum += isfinite(product) ? 0 : product;
    }
    return isnan(sum) ? 0x7fffffff : sum < 0 ? 0xff800000 : 0x7f800000;
}
