#include "mutant_range.h"
#include <string.h>

static uint64_t mask_of(unsigned bits) {
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static int64_t least_of(unsigned bits) {
    return bits == 1 ? 0 : bits >= 64 ? INT64_MIN : -(INT64_C(1) << (bits - 1));
}

static int64_t most_of(unsigned bits) {
    return bits == 1 ? 1 : bits >= 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
}

static int64_t as_signed(unsigned bits, uint64_t v) {
    if (bits == 1 || bits >= 64) {
        return (int64_t)v;
    }
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    return (int64_t)(((v & mask_of(bits)) ^ sign) - sign);
}

/* Bits and bounds say more together. */
static struct value_set tidy(struct value_set a) {
    if (a.bits > 1) {
        const uint64_t sign = UINT64_C(1) << (a.bits - 1);
        if (a.low == a.high) {
            a.one = (uint64_t)a.low & mask_of(a.bits);
            a.zero = ~a.one;
        } else if (a.low >= 0) { /* what the highest value has no bits of */
            uint64_t above = (uint64_t)a.high;
            for (int s = 1; s < 64; s *= 2) {
                above |= above >> s;
            }
            a.zero |= ~above;
        }
        const uint64_t possible = ~a.zero & mask_of(a.bits);
        if ((a.zero & sign) != 0) {
            a.low = a.low > (int64_t)a.one ? a.low : (int64_t)a.one;
            a.high = a.high < (int64_t)possible ? a.high : (int64_t)possible;
        } else if ((a.one & sign) != 0) {
            const int64_t low = as_signed(a.bits, a.one), high = as_signed(a.bits, possible);
            a.low = a.low > low ? a.low : low;
            a.high = a.high < high ? a.high : high;
        }
    } else {
        a.low = a.one & 1;
        a.high = (a.zero & 1) == 0;
    }
    return a;
}

struct value_set value_any(unsigned bits) {
    return (struct value_set){
        .some = true, .bits = bits, .zero = ~mask_of(bits), .low = least_of(bits), .high = most_of(bits)};
}

struct value_set value_one(unsigned bits, uint64_t v) {
    struct value_set a = value_any(bits);
    a.one = v & mask_of(bits);
    a.zero = ~a.one;
    a.low = a.high = as_signed(bits, v);
    if (bits == 32 && a.one == 0) {
        a.is_number = true; /* +0 */
        a.places = 0;
        a.least = 127;
        a.most = -149;
    }
    return a;
}

struct value_set value_within(unsigned bits, int64_t low, int64_t high) {
    if (low < least_of(bits) || high > most_of(bits)) {
        return value_any(bits);
    }
    struct value_set a = value_any(bits);
    a.low = low;
    a.high = high;
    if (bits == 1) {
        a.one = low == 1;
        a.zero |= high == 0;
    }
    return tidy(a);
}

struct value_set value_number(int places, int least, int most) {
    struct value_set a = value_any(32);
    a.is_number = places <= 24 && least >= -126 && most <= 128;
    a.places = places < most - least ? places : most - least;
    a.places = a.places > 0 ? a.places : 0;
    a.least = least;
    a.most = most;
    return a;
}

static int lesser(int a, int b) {
    return a < b ? a : b;
}

static int greater(int a, int b) {
    return a > b ? a : b;
}

struct value_set value_join(struct value_set a, struct value_set b) {
    if (!a.some || !b.some) {
        return a.some ? a : b;
    }
    if (a.bits != b.bits) {
        return value_any(greater((int)a.bits, (int)b.bits));
    }
    a.zero &= b.zero;
    a.one &= b.one;
    a.low = a.low < b.low ? a.low : b.low;
    a.high = a.high > b.high ? a.high : b.high;
    a.is_number &= b.is_number;
    a.places = greater(a.places, b.places);
    a.least = lesser(a.least, b.least);
    a.most = greater(a.most, b.most);
    return a;
}

struct value_set value_meet(struct value_set a, struct value_set b) {
    if (!b.some || a.bits != b.bits || value_disjoint(a, b)) {
        return a;
    }
    a.zero |= b.zero;
    a.one |= b.one;
    a.low = a.low > b.low ? a.low : b.low;
    a.high = a.high < b.high ? a.high : b.high;
    if (b.is_number && !a.is_number) {
        a.is_number = true;
        a.places = b.places;
        a.least = b.least;
        a.most = b.most;
    }
    return tidy(a);
}

bool value_same(struct value_set a, struct value_set b) {
    return a.some == b.some &&
           (!a.some || (a.bits == b.bits && a.zero == b.zero && a.one == b.one && a.low == b.low && a.high == b.high &&
                        a.is_number == b.is_number &&
                        (!a.is_number || (a.places == b.places && a.least == b.least && a.most == b.most))));
}

struct value_set value_widen(struct value_set before, struct value_set now) {
    if (!before.some || !now.some || value_same(before, now)) {
        return now;
    }
    if (now.low < before.low) {
        now.low = least_of(now.bits);
    }
    if (now.high > before.high) {
        now.high = most_of(now.bits);
    }
    if (before.is_number && now.is_number &&
        (now.places > before.places || now.least < before.least || now.most > before.most)) {
        now.is_number = false;
    }
    return now;
}

bool value_is_one(struct value_set a, uint64_t *v) {
    *v = a.one;
    return a.some && (a.zero | a.one) == UINT64_MAX;
}

bool value_disjoint(struct value_set a, struct value_set b) {
    return (a.zero & b.one) != 0 || (a.one & b.zero) != 0 || a.high < b.low || b.high < a.low;
}

void value_unsigned(struct value_set a, uint64_t *low, uint64_t *high) {
    *low = a.one;
    *high = ~a.zero;
    if (a.low >= 0) {
        *low = *low > (uint64_t)a.low ? *low : (uint64_t)a.low;
        *high = *high < (uint64_t)a.high ? *high : (uint64_t)a.high;
    }
}

int value_compare(const char *comparison, bool is_signed, struct value_set a, struct value_set b) {
    static const struct {
        const char *name;
        char kind; /* '<' '{' (<=) '=' */
        bool swapped, negated;
    } rows[] = {{"eq", '=', false, false}, {"ne", '=', false, true}, {"lt", '<', false, false},
                {"lo", '<', false, false}, {"ge", '<', false, true}, {"hs", '<', false, true},
                {"gt", '<', true, false},  {"hi", '<', true, false}, {"le", '<', true, true},
                {"ls", '<', true, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (strcmp(rows[i].name, comparison) != 0) {
            continue;
        }
        const struct value_set x = rows[i].swapped ? b : a, y = rows[i].swapped ? a : b;
        uint64_t u, v, x_low, x_high, y_low, y_high;
        int holds = -1;
        if (rows[i].kind == '=') {
            holds = value_disjoint(x, y) ? 0 : value_is_one(x, &u) && value_is_one(y, &v) && u == v ? 1 : -1;
        } else if (is_signed) {
            holds = x.high < y.low ? 1 : x.low >= y.high ? 0 : -1;
        } else {
            value_unsigned(x, &x_low, &x_high);
            value_unsigned(y, &y_low, &y_high);
            holds = x_high < y_low ? 1 : x_low >= y_high ? 0 : -1;
        }
        return holds < 0 ? -1 : holds ^ rows[i].negated;
    }
    return -1;
}

/* ---- instructions ---- */

static bool has_part(const struct ptx_instruction *in, const char *part) {
    for (size_t i = 0; i < in->part_count; ++i) {
        if (strcmp(in->parts[i], part) == 0) {
            return true;
        }
    }
    return false;
}

static bool is(const struct ptx_instruction *in, const char *opcode) {
    return strcmp(in->opcode, opcode) == 0;
}

static enum ptx_type type_at(const struct ptx_instruction *in, size_t from_end) {
    return in->part_count > from_end ? ptx_type_named(in->parts[in->part_count - 1 - from_end]) : PTX_NO_TYPE;
}

static unsigned width(enum ptx_type t) {
    return t == PTX_PRED ? 1 : 8 * (unsigned)ptx_type_bytes(t);
}

static bool is_signed(enum ptx_type t) {
    return t == PTX_S8 || t == PTX_S16 || t == PTX_S32 || t == PTX_S64;
}

static bool is_float(enum ptx_type t) {
    return t >= PTX_F16;
}

/* low .. high where neither overflowed the arithmetic or the width, which else wraps. */
static struct value_set wrapped(unsigned bits, bool overflow, int64_t low, int64_t high) {
    return overflow ? value_any(bits) : value_within(bits, low, high);
}

/* Bits of a sum below the lowest one that is not known of both. */
static struct value_set low_bits(struct value_set sum, struct value_set a, struct value_set b, bool minus) {
    const uint64_t known = (a.zero | a.one) & (b.zero | b.one), unknown = ~known & mask_of(sum.bits);
    const uint64_t below = unknown == 0 ? mask_of(sum.bits) : (unknown & -unknown) - 1;
    const uint64_t v = (minus ? a.one - b.one : a.one + b.one) & below;
    struct value_set bits = value_any(sum.bits);
    bits.one = v;
    bits.zero |= below & ~v;
    return value_meet(sum, tidy(bits));
}

static struct value_set add(struct value_set a, struct value_set b, bool minus) {
    int64_t low, high;
    bool over = minus ? __builtin_sub_overflow(a.low, b.high, &low) : __builtin_add_overflow(a.low, b.low, &low);
    over |= minus ? __builtin_sub_overflow(a.high, b.low, &high) : __builtin_add_overflow(a.high, b.high, &high);
    return low_bits(wrapped(a.bits, over, low, high), a, b, minus);
}

static unsigned trailing(uint64_t zero) {
    return ~zero == 0 ? 64 : (unsigned)__builtin_ctzll(~zero);
}

static struct value_set multiply(struct value_set a, struct value_set b, unsigned bits) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    bool over = false;
    for (int i = 0; i < 4; ++i) {
        int64_t p;
        over |= __builtin_mul_overflow(i & 1 ? a.low : a.high, i & 2 ? b.low : b.high, &p);
        low = p < low ? p : low;
        high = p > high ? p : high;
    }
    struct value_set v = wrapped(bits, over, low, high), bottom = value_any(bits);
    const unsigned zeros = trailing(a.zero) + trailing(b.zero);
    bottom.zero |= zeros >= bits ? UINT64_MAX : (UINT64_C(1) << zeros) - 1;
    return value_meet(v, tidy(bottom));
}

static struct value_set shifted(const struct ptx_instruction *in, struct value_set a, struct value_set by,
                                bool arithmetic) {
    uint64_t n;
    struct value_set v = value_any(a.bits);
    if (!value_is_one(by, &n)) {
        return v;
    }
    const uint64_t mask = mask_of(a.bits);
    if (is(in, "shl")) {
        if (n >= a.bits) {
            return value_one(a.bits, 0);
        }
        v.zero |= (a.zero << n | ((UINT64_C(1) << n) - 1)) | ~mask;
        v.one = a.one << n & mask;
        const bool fits = n < 62 && a.low >= least_of(a.bits) >> n && a.high <= most_of(a.bits) >> n;
        return fits ? value_meet(tidy(v), value_within(a.bits, a.low * (INT64_C(1) << n), a.high * (INT64_C(1) << n)))
                    : tidy(v);
    }
    if (arithmetic || a.low >= 0) {
        const uint64_t most = n >= a.bits ? a.bits - 1 : n;
        v = value_within(a.bits, a.low >> most, a.high >> most);
        if (a.low < 0) {
            return v;
        }
    }
    if (n >= a.bits) {
        return value_one(a.bits, 0);
    }
    struct value_set bits = value_any(a.bits);
    bits.zero = (a.zero & mask) >> n | ~(mask >> n);
    bits.one = a.one >> n;
    return arithmetic && a.low < 0 ? v : value_meet(tidy(bits), v);
}

static struct value_set logic(const struct ptx_instruction *in, struct value_set a, struct value_set b) {
    struct value_set v = value_any(a.bits);
    if (is(in, "and")) {
        v.zero = a.zero | b.zero;
        v.one = a.one & b.one;
    } else if (is(in, "or")) {
        v.zero = a.zero & b.zero;
        v.one = a.one | b.one;
    } else {
        v.zero = (a.zero & b.zero) | (a.one & b.one) | ~mask_of(a.bits);
        v.one = (a.zero & b.one) | (a.one & b.zero);
    }
    return tidy(v);
}

static struct value_set converted(const struct ptx_instruction *in, unsigned bits, struct value_set a) {
    const enum ptx_type to = type_at(in, 1), from = type_at(in, 0);
    if (is_float(to) && from == PTX_F16) {
        return to == PTX_F32 ? value_number(11, -24, 16) : value_any(bits);
    }
    if (is_float(to) && is_float(from)) {
        return value_any(bits);
    }
    if (to == PTX_F32) {
        uint64_t low, high;
        value_unsigned(a, &low, &high);
        if (a.low < -(INT64_C(1) << 40) || (!is_signed(from) && high > UINT64_C(1) << 40)) {
            return value_any(bits);
        }
        const int64_t magnitude = is_signed(from) ? (a.high > -a.low ? a.high : -a.low) : (int64_t)high;
        int most = 0;
        while (most < 40 && magnitude >> most != 0) {
            ++most;
        }
        return most <= 24 ? value_number(most, 0, most) : value_any(bits);
    }
    if (is_float(to) || is_float(from) || has_part(in, "sat")) {
        return value_any(bits);
    }
    uint64_t low, high;
    const unsigned read = width(from);
    if (read < a.bits) { /* the low bits of a wider register */
        struct value_set cut = value_any(read);
        cut.zero |= a.zero;
        cut.one = a.one & mask_of(read);
        const bool fits = a.low >= least_of(read) && a.high <= most_of(read);
        a = fits ? value_meet(tidy(cut), value_within(read, a.low, a.high)) : tidy(cut);
    }
    value_unsigned(a, &low, &high);
    const unsigned wide = width(to);
    struct value_set v;
    if (wide > a.bits) {
        v = is_signed(from)                   ? value_within(wide, a.low, a.high)
            : high <= (uint64_t)most_of(wide) ? value_within(wide, (int64_t)low, (int64_t)high)
                                              : value_any(wide);
    } else if (wide == a.bits) {
        v = a;
    } else {
        v = value_any(wide);
        v.zero |= a.zero;
        v.one = a.one & mask_of(wide);
        const bool fits = a.low >= least_of(wide) && a.high <= most_of(wide);
        v = fits ? value_meet(tidy(v), value_within(wide, a.low, a.high)) : tidy(v);
    }
    if (v.bits == bits) {
        return v;
    }
    return v.bits < bits && (v.low >= 0 || is_signed(to)) ? value_within(bits, v.low, v.high) : value_any(bits);
}

static struct value_set number(const struct ptx_instruction *in, const struct value_sources *s) {
    struct value_set a[3];
    const size_t n = in->operand_count - 1;
    bool known = n >= 1 && n <= 3;
    for (size_t i = 0; known && i < n; ++i) {
        a[i] = s->source(s->context, &in->operands[i + 1], 32);
        known &= a[i].is_number;
    }
    if (!known) {
        return value_any(32);
    }
    if (is(in, "mul") && n == 2) {
        return value_number(a[0].places + a[1].places, a[0].least + a[1].least, a[0].most + a[1].most);
    }
    if ((is(in, "add") || is(in, "sub")) && n == 2) {
        const int least = lesser(a[0].least, a[1].least), most = greater(a[0].most, a[1].most) + 1;
        return value_number(most - least, least, most);
    }
    if (is(in, "fma") && n == 3) {
        const int least = lesser(a[0].least + a[1].least, a[2].least);
        const int most = greater(a[0].most + a[1].most, a[2].most) + 1;
        return value_number(most - least, least, most);
    }
    if ((is(in, "neg") || is(in, "abs") || is(in, "mov")) && n == 1) {
        return value_number(a[0].places, a[0].least, a[0].most);
    }
    return value_any(32);
}

bool value_exact(const struct ptx_instruction *in, const struct value_sources *s) {
    return number(in, s).is_number;
}

bool value_exact_product(const struct ptx_instruction *in, const struct value_sources *s) {
    const struct value_set a = s->source(s->context, &in->operands[1], 32),
                           b = s->source(s->context, &in->operands[2], 32);
    return a.is_number && b.is_number &&
           value_number(a.places + b.places, a.least + b.least, a.most + b.most).is_number;
}

/* Sums of products of 8-bit integers: c +- n * 2^14. */
static struct value_set dot(unsigned bits, struct value_set c, int64_t n) {
    int64_t low, high;
    const bool over =
        __builtin_sub_overflow(c.low, n * 16384, &low) || __builtin_add_overflow(c.high, n * 16384, &high);
    return bits == 32 && !over ? value_within(32, low, high) : value_any(bits);
}

static struct value_set predicate_logic(const struct ptx_instruction *in, const struct value_sources *s) {
    const struct value_set a = s->source(s->context, &in->operands[1], 1);
    if (is(in, "not") || is(in, "mov")) {
        struct value_set v = a;
        if (is(in, "not")) {
            v.one = a.zero & 1;
            v.zero = a.one | ~UINT64_C(1);
        }
        return tidy(v);
    }
    if (in->operand_count != 3) {
        return value_any(1);
    }
    return logic(in, a, s->source(s->context, &in->operands[2], 1));
}

static struct value_set compared(const struct ptx_instruction *in, const struct value_sources *s) {
    const enum ptx_type t = type_at(in, 0);
    if (in->operand_count != 3 || in->part_count != 2 || is_float(t) || in->operands[0].second >= 0) {
        return value_any(1);
    }
    const unsigned bits = width(t);
    const int holds = value_compare(in->parts[0], is_signed(t), s->source(s->context, &in->operands[1], bits),
                                    s->source(s->context, &in->operands[2], bits));
    return holds < 0 ? value_any(1) : value_one(1, (uint64_t)holds);
}

static struct value_set integers(const struct ptx_instruction *in, unsigned bits, const struct value_sources *s) {
    const enum ptx_type t = type_at(in, 0);
    const unsigned w = width(t);
    const size_t n = in->operand_count - 1;
    struct value_set a[3];
    for (size_t i = 0; i < n && i < 3; ++i) {
        const bool shift = (is(in, "shl") || is(in, "shr")) && i == 1;
        const bool sum = i == 2 && (has_part(in, "wide"));
        a[i] = s->source(s->context, &in->operands[i + 1], shift ? 32 : sum ? 2 * w : w);
    }
    if (has_part(in, "sat") || has_part(in, "cc") || has_part(in, "hi")) {
        return value_any(bits);
    }
    if (is(in, "mov") && n == 1 && bits == w) {
        return a[0];
    }
    if ((is(in, "add") || is(in, "sub")) && n == 2) {
        return add(a[0], a[1], is(in, "sub"));
    }
    if ((is(in, "mul") || is(in, "mad")) && n >= 2) {
        const bool wide = has_part(in, "wide");
        uint64_t low, high;
        for (int i = 0; wide && !is_signed(t) && i < 2; ++i) {
            value_unsigned(a[i], &low, &high);
            a[i] = high <= INT64_MAX ? value_within(64, (int64_t)low, (int64_t)high) : value_any(64);
        }
        const struct value_set p = multiply(a[0], a[1], wide ? 2 * w : w);
        return n == 3 && is(in, "mad") ? add(p, a[2], false) : n == 2 ? p : value_any(bits);
    }
    if ((is(in, "shl") || is(in, "shr")) && n == 2) {
        return shifted(in, a[0], a[1], is_signed(t));
    }
    if ((is(in, "and") || is(in, "or") || is(in, "xor")) && n == 2) {
        return logic(in, a[0], a[1]);
    }
    if (is(in, "not") && n == 1) {
        return logic(&(struct ptx_instruction){.opcode = "xor"}, a[0], value_one(w, UINT64_MAX));
    }
    if ((is(in, "min") || is(in, "max")) && n == 2 && is_signed(t)) {
        const bool min = is(in, "min");
        return value_within(w, (a[0].low < a[1].low) == min ? a[0].low : a[1].low,
                            (a[0].high < a[1].high) == min ? a[0].high : a[1].high);
    }
    if (is(in, "selp") && n == 3) {
        return value_join(a[0], a[1]);
    }
    if (is(in, "bfi") && n == 4 && in->operands[3].kind == PTX_OP_INTEGER && in->operands[4].kind == PTX_OP_INTEGER &&
        in->operands[3].bits < w && in->operands[4].bits > 0 && in->operands[4].bits <= w - in->operands[3].bits) {
        const unsigned at = (unsigned)in->operands[3].bits;
        const uint64_t field = mask_of((unsigned)in->operands[4].bits) << at;
        struct value_set v = value_any(w); /* a's low bits in the field, b's outside */
        v.zero |= (a[0].zero << at & field) | (a[1].zero & ~field);
        v.one = (a[0].one << at & field) | (a[1].one & ~field);
        return tidy(v);
    }
    if (is(in, "shfl") && n >= 1) {
        return s->source(s->context, &in->operands[1], bits);
    }
    return value_any(bits);
}

struct value_set value_of(const struct ptx_instruction *in, unsigned bits, size_t index,
                          const struct value_sources *s) {
    const enum ptx_type t = type_at(in, 0);
    if (in->operand_count < 2) {
        return value_any(bits);
    }
    if (is(in, "setp")) {
        return compared(in, s);
    }
    if (is(in, "ld")) {
        return t == PTX_U8                 ? value_within(bits, 0, bits > 16 || bits == 16 ? 255 : most_of(bits))
                               : t == PTX_U16 && bits > 16 ? value_within(bits, 0, 65535)
               : t == PTX_S8               ? value_within(bits, -128, 127)
               : t == PTX_S16              ? value_within(bits, -32768, 32767)
                                           : value_any(bits);
    }
    if (is(in, "mma") && has_part(in, "s8") && !has_part(in, "u8") && has_part(in, "m16n8k32") && bits == 32 &&
        in->operand_count == 4 && in->operands[3].kind == PTX_OP_VECTOR && index < in->operands[3].element_count) {
        return dot(bits, s->source(s->context, &in->operands[3].elements[index], 32), 32);
    }
    if (is(in, "dp4a") && has_part(in, "s32") && !has_part(in, "u32") && in->operand_count == 4) {
        return dot(bits, s->source(s->context, &in->operands[3], 32), 4);
    }
    if (is(in, "cvt") && in->part_count >= 2 && in->operand_count == 2) {
        const enum ptx_type from = type_at(in, 0);
        unsigned read = width(from);
        read = read < 16 ? 16 : read;
        return converted(in, bits, s->source(s->context, &in->operands[1], read));
    }
    if (t == PTX_PRED) {
        return predicate_logic(in, s);
    }
    if (t == PTX_F32 && bits == 32) {
        if (is(in, "selp") && in->operand_count == 4) {
            return value_join(s->source(s->context, &in->operands[1], 32), s->source(s->context, &in->operands[2], 32));
        }
        if (is(in, "mov")) {
            return s->source(s->context, &in->operands[1], 32);
        }
        return number(in, s);
    }
    if (t != PTX_NO_TYPE && !is_float(t) && width(t) >= 16) {
        return integers(in, bits, s);
    }
    return value_any(bits);
}
