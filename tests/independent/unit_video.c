/* Video instructions, PTX ISA 9.7.18: parts of registers as exact integers, the operation, a part put into d or a sum.
 */
#include "unit.h"
#include <string.h>

static struct unit_type part_type(char kind, unsigned bits) {
    return (struct unit_type){.kind = kind, .bits = bits, .packed = 1};
}

/* .b0 .. .b3, .h0, .h1, or nothing: where, and how many bits. */
static unsigned part_bits(const char *selector, unsigned *at) {
    unsigned bits = !selector[0] ? 32 : selector[0] == 'b' ? 8 : 16;
    *at = selector[0] ? bits * (unsigned)(selector[1] - '0') : 0;
    return bits;
}

static s128 part(struct unit_type t, const char *selector, uint64_t x) {
    unsigned at, bits = part_bits(selector, &at);
    return unit_integer(part_type(t.kind, bits), x >> at);
}

/* vset has no type of its result. */
static bool is_comparison(const struct unit_step *s) {
    return !strncmp(s->name, "vset", 4);
}

static const char *operation(const struct unit_step *s) { /* without v, and without a 2 or 4 behind */
    return s->name + 1;
}

static bool is(const struct unit_step *s, const char *name) {
    return !strncmp(operation(s), name, strlen(name));
}

static bool compares(const struct unit_step *s, s128 a, s128 b) {
    return unit_has(s, "eq")   ? a == b
           : unit_has(s, "ne") ? a != b
           : unit_has(s, "lt") ? a < b
           : unit_has(s, "le") ? a <= b
           : unit_has(s, "gt") ? a > b
                               : a >= b;
}

static s128 computed(const struct unit_step *s, s128 a, s128 b) {
    if (is_comparison(s))
        return compares(s, a, b);
    if (is(s, "add"))
        return a + b;
    if (is(s, "sub"))
        return a - b;
    if (is(s, "avrg"))
        return (a + b + (a + b >= 0)) >> 1;
    if (is(s, "absdiff"))
        return a < b ? b - a : a - b;
    if (is(s, "min"))
        return a < b ? a : b;
    if (is(s, "max"))
        return a > b ? a : b;
    s128 n = s->wrap ? b & 31 : b > 32 ? 32 : b;
    return is(s, "shl") ? a * ((s128)1 << n) : a >> n;
}

static uint64_t merged(uint64_t c, uint64_t x, unsigned at, unsigned bits) {
    uint64_t ones = unit_low(~(uint64_t)0, bits) << at;
    return (c & ~ones) | (x << at & ones);
}

static void scalar(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    bool compare = is_comparison(s);
    struct unit_type to = compare ? part_type('u', 32) : s->type[0];
    struct unit_type ta = s->type[compare ? 0 : 1], tb = s->type[compare ? 1 : 2];
    unsigned at, bits = part_bits(s->result[0].selector, &at);
    if (is(s, "shl") || is(s, "shr"))
        tb = part_type('u', 32);
    s128 x = computed(s, part(ta, s->source[0].selector, a[0]), part(tb, s->source[1].selector, a[1]));
    if (s->sat)
        x = unit_clamp(part_type(to.kind, bits), x);
    if (s->result[0].selector[0]) {
        *d = merged(a[2], (uint64_t)(u128)x, at, bits);
        return;
    }
    s128 c = s->sources > 2 ? unit_integer(to, a[2]) : 0, y = unit_integer(to, (uint64_t)(u128)x);
    x = unit_has(s, "add") ? y + c : unit_has(s, "min") ? (y < c ? y : c) : unit_has(s, "max") ? (y > c ? y : c) : y;
    *d = unit_integer_bits(part_type('u', 32), x);
}

/* a * b + c, negated operands, + 1 with .po, scaled. */
static void vmad(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    bool is_signed = s->type[1].kind == 's' || s->type[2].kind == 's';
    s128 x = part(s->type[1], s->source[0].selector, a[0]) * part(s->type[2], s->source[1].selector, a[1]);
    x += unit_integer(part_type(is_signed ? 's' : 'u', 32), a[2]) + unit_has(s, "po");
    x = unit_has(s, "shr7") ? x >> 7 : unit_has(s, "shr15") ? x >> 15 : x;
    x = s->sat ? unit_clamp(part_type(is_signed ? 's' : 'u', 32), x) : x;
    *d = unit_integer_bits(part_type('u', 32), x);
}

/* Two halves or four bytes; which of the eight bytes (four halves) of a and b, by the digits of a selector. */
static void packed(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    unsigned count = s->name[strlen(s->name) - 1] == '2' ? 2 : 4, bits = 32 / count;
    bool compare = is_comparison(s);
    struct unit_type to = compare ? part_type('u', 32) : s->type[0];
    struct unit_type ta = part_type(s->type[compare ? 0 : 1].kind, bits),
                     tb = part_type(s->type[compare ? 1 : 2].kind, bits);
    uint64_t both = (uint64_t)unit_low(a[1], 32) << 32 | unit_low(a[0], 32);
    const char *mask = s->result[0].selector, *select_a = s->source[0].selector, *select_b = s->source[1].selector;
    s128 sum = (s128)a[2];
    uint64_t all = a[2];
    for (unsigned i = 0; i < count; i++) {
        unsigned from_a = select_a[0] ? (unsigned)(select_a[count - i] - '0') : i;
        unsigned from_b = select_b[0] ? (unsigned)(select_b[count - i] - '0') : i + count;
        s128 x = computed(s, unit_integer(ta, both >> bits * from_a), unit_integer(tb, both >> bits * from_b));
        if (s->sat)
            x = unit_clamp(part_type(to.kind, bits), x);
        if (mask[0] && !strchr(mask + 1, '0' + (int)i))
            continue;
        sum += x;
        all = merged(all, (uint64_t)(u128)x, bits * i, bits);
    }
    *d = unit_has(s, "add") ? unit_low((uint64_t)(u128)sum, 32) : all;
}

const struct unit_rule unit_rules_video[] = {
    {"vadd", scalar, NULL},      {"vsub", scalar, NULL},  {"vabsdiff", scalar, NULL}, {"vmin", scalar, NULL},
    {"vmax", scalar, NULL},      {"vshl", scalar, NULL},  {"vshr", scalar, NULL},     {"vset", scalar, NULL},
    {"vmad", vmad, NULL},        {"vadd2", packed, NULL}, {"vsub2", packed, NULL},    {"vavrg2", packed, NULL},
    {"vabsdiff2", packed, NULL}, {"vmin2", packed, NULL}, {"vmax2", packed, NULL},    {"vset2", packed, NULL},
    {"vadd4", packed, NULL},     {"vsub4", packed, NULL}, {"vavrg4", packed, NULL},   {"vabsdiff4", packed, NULL},
    {"vmin4", packed, NULL},     {"vmax4", packed, NULL}, {"vset4", packed, NULL},    {NULL, NULL, NULL},
};
