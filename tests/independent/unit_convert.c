/* cvt and cvt.pack, PTX ISA 9.7.9.21 and .22: the value of the source exactly, rounded once to the destination. What
 * the document leaves open (NaNs) is as measured on an H200. */
#include "unit.h"
#include <string.h>

/* An exact number rounded to a whole one; x finite. */
static struct exact whole(const struct exact *x, enum unit_rounding r) {
    int length = big_length(&x->mantissa) + x->exponent; /* bits before the point */
    u128 kept = 0;
    if (x->exponent >= 0) /* whole already */
        return *x;
    for (int i = length - 1; i >= 0; i--)
        kept = kept << 1 | big_bit(&x->mantissa, i - x->exponent);
    int point = -x->exponent; /* bit number of the mantissa that is worth 1 */
    bool half = big_bit(&x->mantissa, point - 1), below = big_any_below(&x->mantissa, point - 1);
    bool up = r == UNIT_RN   ? half && (below || (kept & 1))
              : r == UNIT_RM ? x->negative && (half || below)
              : r == UNIT_RP ? !x->negative && (half || below)
                             : false;
    return exact_of(x->negative, kept + up, 0);
}

/* The value as an integer of type t: out of range the nearest end. */
static uint64_t to_integer(struct unit_type t, const struct exact *x, enum unit_rounding r) {
    s128 most = unit_clamp(t, (s128)1 << 100), least = unit_clamp(t, -((s128)1 << 100));
    if (x->kind == INFINITE)
        return unit_integer_bits(t, x->negative ? least : most);
    struct exact n = whole(x, r);
    if (exact_is_zero(&n))
        return 0;
    if (big_length(&n.mantissa) + n.exponent > 70)
        return unit_integer_bits(t, n.negative ? least : most);
    s128 value = 0;
    for (int i = big_length(&n.mantissa) + n.exponent - 1; i >= 0; i--)
        value = value << 1 | big_bit(&n.mantissa, i - n.exponent);
    return unit_integer_bits(t, unit_clamp(t, n.negative ? -value : value));
}

/* NaN to an integer: 0 from 16- and 32-bit formats to at most 32 bits, else the top bit alone. */
static uint64_t nan_to_integer(const struct unit_format *f, struct unit_type t) {
    return f != &unit_f64 && t.bits <= 32 ? 0 : (uint64_t)1 << (t.bits - 1);
}

/* NaN to another format: binary64 and from binary32 to it hand sign and payload on, made quiet; with .ftz the canonical
 * NaN of binary32 first. bf16 to binary32 without .ftz: the bits as they are. */
static uint64_t nan_to_float(const struct unit_step *s, const struct unit_format *from, const struct unit_format *to,
                             uint64_t a) {
    int quiet_at = to->precision - 2, shift = to->precision - from->precision;
    uint64_t sign = a >> (from->precision - 1 + from->exponent_bits) & 1;
    if (from == &unit_f32 && to == &unit_f64 && s->ftz)
        a = unit_f32.nan, sign = 0;
    if (from == &unit_bf16 && to == &unit_f32 && !s->ftz)
        return a << 16;
    if (to == &unit_tf32 && s->rounding == UNIT_RNA) { /* cut as it is; .satfinite takes one step off (measured) */
        uint64_t cut = a & ~(uint64_t)0x1fff;
        return unit_has(s, "satfinite") ? cut - 0x2000 : cut;
    }
    if ((from != &unit_f64 && to != &unit_f64) || to->pad)
        return to->nan;
    uint64_t payload = unit_low(a, (unsigned)from->precision - 1);
    payload = shift > 0 ? payload << shift : payload >> -shift;
    return unit_infinity(to, sign) | (uint64_t)1 << quiet_at | payload;
}

static uint64_t saturate(const struct unit_format *f, uint64_t bits) {
    struct exact x = unit_decode(f, bits, false), one = exact_of(false, 1, 0);
    if (x.kind == NOT_A_NUMBER || x.negative || exact_is_zero(&x))
        return unit_zero(f, false);
    return exact_compare(&x, &one) > 0 ? unit_round(f, &one, UNIT_RN, false) : bits;
}

static uint64_t to_float(const struct unit_step *s, struct unit_type to, struct unit_type from, uint64_t a) {
    const struct unit_format *f = to.format, *g = from.format;
    bool flush = s->ftz && f == &unit_f32, nan = false;
    struct exact x;
    if ((g == &unit_f32 || g == &unit_f64) && f == g && !s->integral && !s->sat && !s->ftz && !s->relu) /* a move */
        return a;
    if (g) {
        x = unit_decode(g, a, s->ftz && g == &unit_f32 && f != &unit_f16); /* measured: not on the way to f16 */
        nan = x.kind == NOT_A_NUMBER;
    } else {
        s128 n = unit_integer(from, a);
        x = exact_of(n < 0, (u128)(n < 0 ? -n : n), 0);
    }
    if (s->integral && !nan && x.kind == FINITE) {
        bool negative = x.negative;
        x = whole(&x, s->rounding);
        x.negative = negative;
    }
    if (s->relu && !nan && x.negative)
        return unit_zero(f, false);
    bool limited = s->satfinite && f != &unit_f32;
    uint64_t d = nan                             ? nan_to_float(s, g, f, a)
                 : limited && x.kind == INFINITE ? unit_largest(f, x.negative)
                                                 : unit_round(f, &x, s->rounding, flush);
    if (limited && !nan && (unit_decode(f, d, false).kind != FINITE))
        d = unit_largest(f, x.negative);
    return s->sat ? saturate(f, d) : d;
}

static uint64_t convert(const struct unit_step *s, struct unit_type to, struct unit_type from, uint64_t a) {
    a = unit_low(a, from.bits);
    if (to.format)
        return to_float(s, to, from, a);
    if (from.format) {
        struct exact x = unit_decode(from.format, a, s->ftz && from.format == &unit_f32);
        return x.kind == NOT_A_NUMBER ? nan_to_integer(from.format, to) : to_integer(to, &x, s->rounding);
    }
    s128 n = unit_integer(from, a);
    return unit_integer_bits(to, s->sat ? unit_clamp(to, n) : n);
}

/* An integer narrower than its register is extended by its sign, to the width of the register that the form names. */
static void cvt(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    struct unit_type to = s->type[0], from = s->type[1];
    if (unit_has(s, "pack")) { /* cvt.pack.sat.to.s32{.b32} d, a, b{, c} */
        uint64_t high = unit_integer_bits(to, unit_clamp(to, unit_integer(from, a[0])));
        uint64_t low = unit_integer_bits(to, unit_clamp(to, unit_integer(from, a[1])));
        uint64_t rest = s->sources > 2 ? a[2] << 2 * to.bits : 0;
        *d = unit_low(rest | high << to.bits | low, 32);
        return;
    }
    if (to.packed == 2 && from.packed == 1) { /* d, a, b: a above b */
        *d = convert(s, to, from, a[0]) << to.bits | convert(s, to, from, a[1]);
        return;
    }
    for (unsigned i = 0; i < to.packed; i++)
        *d |= convert(s, to, from, a[0] >> from.bits * i) << to.bits * i;
    if (to.kind == 's' && to.bits < 32) /* to the register's own width, cut by whoever stores it */
        *d = (uint64_t)(int64_t)unit_integer(to, *d);
}

const struct unit_rule unit_rules_convert[] = {{"cvt", cvt, NULL}, {NULL, NULL, NULL}};
