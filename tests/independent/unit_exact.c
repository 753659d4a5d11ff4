#include "unit.h"

const struct unit_format unit_f16 = {"f16", 11, -24, 5, 0, false, 0x7fff};
const struct unit_format unit_bf16 = {"bf16", 8, -133, 8, 0, false, 0x7fff};
const struct unit_format unit_tf32 = {"tf32", 11, -136, 8, 13, false, 0x7fffe000};
const struct unit_format unit_f32 = {"f32", 24, -149, 8, 0, false, 0x7fffffff};
const struct unit_format unit_f64 = {"f64", 53, -1074, 11, 0, false, 0xfff8000000000000};
const struct unit_format unit_e4m3 = {"e4m3", 4, -9, 4, 0, true, 0x7f};
const struct unit_format unit_e5m2 = {"e5m2", 3, -16, 5, 0, false, 0x7f};

/* --- whole numbers -------------------------------------------------------------------------------------------- */

static void trim(struct big *x) {
    while (x->count && !x->word[x->count - 1])
        x->count--;
}

static void big_set(struct big *x, u128 value) {
    x->word[0] = (uint64_t)value;
    x->word[1] = (uint64_t)(value >> 64);
    x->count = 2;
    trim(x);
}

static void big_copy(struct big *to, const struct big *from) {
    to->count = from->count;
    for (int i = 0; i < from->count; i++)
        to->word[i] = from->word[i];
}

int big_length(const struct big *x) {
    int bits = 0;
    if (x->count)
        for (uint64_t top = x->word[x->count - 1]; top; top >>= 1)
            bits++;
    return x->count ? 64 * (x->count - 1) + bits : 0;
}

bool big_bit(const struct big *x, int bit) {
    return bit >= 0 && bit / 64 < x->count && x->word[bit / 64] >> bit % 64 & 1;
}

bool big_any_below(const struct big *x, int bit) {
    for (int i = 0; i < x->count && 64 * i < bit; i++) {
        int here = bit - 64 * i;
        if (here >= 64 ? x->word[i] != 0 : (x->word[i] & (((uint64_t)1 << here) - 1)) != 0)
            return true;
    }
    return false;
}

void big_shift_left(struct big *x, int bits) {
    int words = bits / 64, rest = bits % 64;
    if (!x->count || bits <= 0)
        return;
    int count = x->count + words + 1;
    for (int i = count - 1; i >= 0; i--) {
        int from = i - words;
        uint64_t high = from >= 0 && from < x->count ? x->word[from] : 0;
        uint64_t low = from >= 1 && from <= x->count ? x->word[from - 1] : 0;
        x->word[i] = rest ? high << rest | low >> (64 - rest) : high;
    }
    x->count = count;
    trim(x);
}

static int big_compare(const struct big *a, const struct big *b) {
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (int i = a->count - 1; i >= 0; i--)
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    return 0;
}

static void big_add(struct big *x, const struct big *y) {
    uint64_t carry = 0;
    int count = x->count > y->count ? x->count : y->count;
    for (int i = 0; i < count; i++) {
        u128 sum = (u128)(i < x->count ? x->word[i] : 0) + (i < y->count ? y->word[i] : 0) + carry;
        x->word[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    x->word[count] = carry;
    x->count = count + 1;
    trim(x);
}

/* difference = a - b, a not below b */
static void big_subtract(struct big *difference, const struct big *a, const struct big *b) {
    uint64_t borrow = 0;
    int count = a->count;
    for (int i = 0; i < count; i++) {
        uint64_t take = i < b->count ? b->word[i] : 0;
        u128 rest = (u128)a->word[i] - take - borrow;
        difference->word[i] = (uint64_t)rest;
        borrow = (uint64_t)(rest >> 64) & 1;
    }
    difference->count = count;
    trim(difference);
}

/* --- numbers ---------------------------------------------------------------------------------------------------- */

struct exact exact_of(bool negative, u128 mantissa, int exponent) {
    struct exact x;
    x.kind = FINITE;
    x.negative = negative;
    x.more = false;
    x.exponent = exponent;
    big_set(&x.mantissa, mantissa);
    return x;
}

bool exact_is_zero(const struct exact *x) {
    return x->kind == FINITE && !x->mantissa.count && !x->more;
}

struct exact unit_decode(const struct unit_format *f, uint64_t bits, bool flush) {
    bits >>= f->pad;
    uint64_t fraction_ones = ((uint64_t)1 << (f->precision - 1)) - 1, fraction = bits & fraction_ones;
    uint64_t field_ones = ((uint64_t)1 << f->exponent_bits) - 1, field = bits >> (f->precision - 1) & field_ones;
    bool negative = bits >> (f->precision - 1 + f->exponent_bits) & 1;
    uint64_t mantissa = field ? fraction + fraction_ones + 1 : flush ? 0 : fraction;
    struct exact x = exact_of(negative, mantissa, f->least + (field ? (int)field - 1 : 0));
    if (f->all_finite)
        x.kind = field == field_ones && fraction == fraction_ones ? NOT_A_NUMBER : FINITE;
    else if (field == field_ones)
        x.kind = fraction ? NOT_A_NUMBER : INFINITE;
    return x;
}

static uint64_t signed_bits(const struct unit_format *f, bool negative, uint64_t magnitude) {
    return ((uint64_t)negative << (f->precision - 1 + f->exponent_bits) | magnitude) << f->pad;
}

uint64_t unit_zero(const struct unit_format *f, bool negative) {
    return signed_bits(f, negative, 0);
}

uint64_t unit_infinity(const struct unit_format *f, bool negative) {
    return signed_bits(f, negative, (((uint64_t)1 << f->exponent_bits) - 1) << (f->precision - 1));
}

uint64_t unit_largest(const struct unit_format *f, bool negative) {
    if (f->all_finite)
        return signed_bits(f, negative, ((uint64_t)1 << (f->precision - 1 + f->exponent_bits)) - 2);
    return signed_bits(f, negative, ((((uint64_t)1 << f->exponent_bits) - 1) << (f->precision - 1)) - 1);
}

static bool goes_up(enum unit_rounding r, bool negative, bool odd, bool half, bool below) {
    switch (r) {
    case UNIT_RN:
        return half && (below || odd);
    case UNIT_RNA:
        return half;
    case UNIT_RM:
        return negative && (half || below);
    case UNIT_RP:
        return !negative && (half || below);
    default:
        return false;
    }
}

/* Significant bits of x with the last one worth 2^last, rounded. */
static uint64_t at_step(const struct exact *x, int last, enum unit_rounding r) {
    int drop = last - x->exponent; /* bits of the mantissa that are below the last place */
    uint64_t kept = 0;
    int length = big_length(&x->mantissa);
    for (int i = length - 1; i >= drop; i--)
        kept = kept << 1 | (i >= 0 && big_bit(&x->mantissa, i));
    bool half = drop > 0 && big_bit(&x->mantissa, drop - 1);
    bool below = x->more || (drop > 1 && big_any_below(&x->mantissa, drop - 1));
    return kept + goes_up(r, x->negative, kept & 1, half, below);
}

uint64_t unit_round(const struct unit_format *f, const struct exact *x, enum unit_rounding r, bool flush) {
    if (x->kind == INFINITE)
        return unit_infinity(f, x->negative);
    if (exact_is_zero(x))
        return unit_zero(f, x->negative);
    int last = x->exponent + big_length(&x->mantissa) - f->precision;
    if (flush) {
        uint64_t whole = at_step(x, last, r);
        int top = whole >> f->precision ? last + 1 : last;
        if (top < f->least)
            return unit_zero(f, x->negative);
    }
    if (last < f->least)
        last = f->least;
    uint64_t kept = at_step(x, last, r);
    if (kept >> f->precision) {
        kept >>= 1;
        last++;
    }
    uint64_t field = kept >> (f->precision - 1) ? (uint64_t)(last - f->least + 1) : 0;
    uint64_t fraction = kept & (((uint64_t)1 << (f->precision - 1)) - 1);
    uint64_t bits = signed_bits(f, x->negative, field << (f->precision - 1) | fraction);
    bool over = field >= ((uint64_t)1 << f->exponent_bits) - (f->all_finite ? 0 : 1);
    over = over || (f->all_finite && unit_decode(f, bits, false).kind == NOT_A_NUMBER);
    if (!over)
        return bits;
    bool to_infinity = r == UNIT_RN || r == UNIT_RNA || (r == UNIT_RM && x->negative) || (r == UNIT_RP && !x->negative);
    return !to_infinity    ? unit_largest(f, x->negative)
           : f->all_finite ? signed_bits(f, x->negative, f->nan)
                           : unit_infinity(f, x->negative);
}

void exact_multiply(struct exact *product, const struct exact *a, const struct exact *b) {
    product->kind = FINITE;
    product->negative = a->negative != b->negative;
    product->more = false;
    product->exponent = a->exponent + b->exponent;
    struct big *p = &product->mantissa;
    p->count = a->mantissa.count + b->mantissa.count;
    for (int i = 0; i < p->count; i++)
        p->word[i] = 0;
    for (int i = 0; i < a->mantissa.count; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < b->mantissa.count; j++) {
            u128 t = (u128)a->mantissa.word[i] * b->mantissa.word[j] + p->word[i + j] + carry;
            p->word[i + j] = (uint64_t)t;
            carry = (uint64_t)(t >> 64);
        }
        p->word[i + b->mantissa.count] += carry;
    }
    trim(p);
}

void exact_add(struct exact *sum, const struct exact *a, const struct exact *b) {
    /* A zero without an exponent of its own would have the other number moved for nothing. */
    if (!a->mantissa.count || !b->mantissa.count) {
        const struct exact *other = a->mantissa.count ? a : b;
        bool both = !a->mantissa.count && !b->mantissa.count;
        sum->kind = FINITE;
        sum->more = false;
        sum->negative = both ? a->negative && b->negative : other->negative;
        sum->exponent = other->exponent;
        big_copy(&sum->mantissa, &other->mantissa);
        return;
    }
    static _Thread_local struct big x, y;
    int exponent = a->exponent < b->exponent ? a->exponent : b->exponent;
    big_copy(&x, &a->mantissa);
    big_copy(&y, &b->mantissa);
    big_shift_left(&x, a->exponent - exponent);
    big_shift_left(&y, b->exponent - exponent);
    bool negative_a = a->negative, negative_b = b->negative;
    sum->kind = FINITE;
    sum->more = false;
    sum->exponent = exponent;
    if (negative_a == negative_b) {
        big_copy(&sum->mantissa, &x);
        big_add(&sum->mantissa, &y);
        sum->negative = negative_a;
        return;
    }
    int order = big_compare(&x, &y);
    if (order >= 0)
        big_subtract(&sum->mantissa, &x, &y);
    else
        big_subtract(&sum->mantissa, &y, &x);
    sum->negative = order > 0 ? negative_a : order < 0 ? negative_b : false;
}

int exact_compare(const struct exact *a, const struct exact *b) {
    bool zero_a = exact_is_zero(a), zero_b = exact_is_zero(b);
    int sign_a = zero_a ? 0 : a->negative ? -1 : 1, sign_b = zero_b ? 0 : b->negative ? -1 : 1;
    if (sign_a != sign_b)
        return sign_a < sign_b ? -1 : 1;
    if (!sign_a)
        return 0;
    if (a->kind == INFINITE || b->kind == INFINITE)
        return a->kind == b->kind ? 0 : (a->kind == INFINITE ? sign_a : -sign_a);
    static _Thread_local struct exact difference, minus;
    minus.kind = FINITE;
    minus.exponent = b->exponent;
    minus.negative = !b->negative;
    big_copy(&minus.mantissa, &b->mantissa);
    exact_add(&difference, a, &minus);
    return exact_is_zero(&difference) ? 0 : difference.negative ? -1 : 1;
}
