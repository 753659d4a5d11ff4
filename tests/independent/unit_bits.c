/* Bits, shifts, fields and bytes, PTX ISA 9.7.1.14 to .22, 9.7.8 and 9.7.9.7: bit after bit. */
#include "unit.h"
#include <string.h>

static unsigned width(const struct unit_step *s) {
    return s->types && s->type[0].bits ? s->type[0].bits : 1;
}

static unsigned bit(uint64_t x, unsigned i) {
    return i < 64 ? (unsigned)(x >> i) & 1u : 0;
}

/* d of bits: bit i by a truth table of the bits of a, b, c: number 4 a + 2 b + c */
static uint64_t by_table(unsigned table, uint64_t a, uint64_t b, uint64_t c, unsigned bits) {
    uint64_t d = 0;
    for (unsigned i = 0; i < bits; i++)
        d |= (uint64_t)(table >> (4 * bit(a, i) + 2 * bit(b, i) + bit(c, i)) & 1) << i;
    return d;
}

static void logic_and(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    *d = by_table(0xc0, a[0], a[1], 0, width(s));
}
static void logic_or(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    *d = by_table(0xfc, a[0], a[1], 0, width(s));
}
static void logic_xor(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    *d = by_table(0x3c, a[0], a[1], 0, width(s));
}
static void logic_not(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    *d = by_table(0x0f, a[0], 0, 0, width(s));
}
static void cnot(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)s;
    (void)l;
    *d = a[0] ? 0 : 1;
}

static void lop3(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    d[0] = by_table((unsigned)a[3], a[0], a[1], a[2], 32);
    bool any = d[0] != 0;
    d[1] = unit_has(s, "or") ? any || a[4] : any && a[4];
    if (s->result[0].from == FROM_NOWHERE)
        d[0] = 0;
}

static void shl(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    for (unsigned i = 0; i < width(s); i++)
        if (i >= a[1])
            *d |= (uint64_t)bit(a[0], i - (unsigned)a[1]) << i;
}

static void shr(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    unsigned top = width(s) - 1;
    for (unsigned i = 0; i <= top; i++) {
        uint64_t from = i + a[1];
        unsigned fill = s->type[0].kind == 's' ? bit(a[0], top) : 0;
        *d |= (uint64_t)(from <= top ? bit(a[0], (unsigned)from) : fill) << i;
    }
}

static void shf(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    unsigned n = (unsigned)(s->wrap ? a[2] % 32 : a[2] > 32 ? 32 : a[2]);
    for (unsigned i = 0; i < 32; i++) { /* place in the 64 bits of b above a */
        unsigned from = unit_has(s, "l") ? i + 32 - n : i + n;
        *d |= (uint64_t)(from < 32 ? bit(a[0], from) : bit(a[1], from - 32)) << i;
    }
}

/* First bit and length of a field: PTX cuts them to 8 bits; an H200 does so in the 32-bit forms alone (measured). */
static uint64_t field(const struct unit_step *s, uint64_t x) {
    return width(s) == 32 ? x & 255 : x;
}

static void bfe(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    unsigned top = width(s) - 1, sign = 0;
    uint64_t first = field(s, a[1]), length = field(s, a[2]);
    if (s->type[0].kind == 's' && length)
        sign = bit(a[0], first + length - 1 < top ? (unsigned)(first + length - 1) : top);
    for (unsigned i = 0; i <= top; i++)
        *d |= (uint64_t)(i < length && first + i <= top ? bit(a[0], (unsigned)first + i) : sign) << i;
}

static void bfi(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    uint64_t first = field(s, a[2]), length = field(s, a[3]);
    for (unsigned i = 0; i < width(s); i++)
        *d |= (uint64_t)(i >= first && i - first < length ? bit(a[0], i - (unsigned)first) : bit(a[1], i)) << i;
}

static void bfind(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    unsigned bits = width(s);
    unsigned sought = s->type[0].kind == 's' && bit(a[0], bits - 1) ? 0 : 1;
    *d = 0xffffffff;
    for (unsigned i = 0; i < bits; i++)
        if (bit(a[0], i) == sought)
            *d = s->shiftamt ? bits - 1 - i : i;
}

/* A mask of bits from a on, b of them. */
static void bmsk(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    uint64_t first = s->wrap ? a[0] % 32 : a[0], length = s->wrap ? a[1] % 32 : a[1];
    for (unsigned i = 0; i < 32; i++)
        *d |= (uint64_t)(i >= first && i - first < length) << i;
}

/* The low b bits of a, extended. */
static void szext(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    uint64_t n = s->wrap ? a[1] % 32 : a[1] > 32 ? 32 : a[1];
    for (unsigned i = 0; i < 32; i++)
        *d |= (uint64_t)(i < n ? bit(a[0], i) : s->type[0].kind == 's' && n ? bit(a[0], (unsigned)n - 1) : 0) << i;
}

static void popc(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    for (unsigned i = 0; i < width(s); i++)
        *d += bit(a[0], i);
}

static void clz(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    while (*d < width(s) && !bit(a[0], width(s) - 1 - (unsigned)*d))
        ++*d;
}

static void brev(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    for (unsigned i = 0; i < width(s); i++)
        *d |= (uint64_t)bit(a[0], i) << (width(s) - 1 - i);
}

/* The number of the n-th bit that is set, from bit `base` on upward (n > 0) or downward (n < 0); n = 0: base itself. */
static void fns(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)s;
    (void)l;
    int base = (int)a[1], n = (int)(int32_t)a[2], step = n < 0 ? -1 : 1;
    *d = 0xffffffff;
    if (n == 0) {
        if (bit(a[0], (unsigned)base))
            *d = (uint64_t)base;
        return;
    }
    long long left = n < 0 ? -(long long)n : n;
    for (int i = base; i >= 0 && i < 32; i += step)
        if (bit(a[0], (unsigned)i) && --left == 0) {
            *d = (uint64_t)i;
            return;
        }
}

static void prmt(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    uint8_t byte[8];
    for (unsigned i = 0; i < 8; i++)
        byte[i] = (uint8_t)(a[i / 4] >> 8 * (i % 4));
    int mode = -1, n = (int)(a[2] & 3);
    for (int m = 0; m < 6; m++)
        if (unit_has(s, modes[m]))
            mode = m;
    for (int i = 0; i < 4; i++) {
        int pick = mode == 0   ? (n + i) % 8
                   : mode == 1 ? (n + 8 - i) % 8
                   : mode == 2 ? n
                   : mode == 3 ? (i > n ? i : n)
                   : mode == 4 ? (i < n ? i : n)
                   : mode == 5 ? 2 * (n & 1) + i % 2
                               : (int)(a[2] >> 4 * i & 7);
        unsigned value = byte[pick];
        if (mode < 0 && (a[2] >> 4 * i & 8))
            value = value >= 128 ? 255 : 0;
        *d |= (uint64_t)value << 8 * i;
    }
}

static void mov(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    unsigned bits = width(s), from = bits / s->sources, to = bits / s->results, at = 0;
    uint64_t word[2] = {0, 0};
    for (unsigned k = 0; k < s->sources; k++) {
        for (unsigned i = 0; i < from && i < 64; i++)
            word[(at + i) / 64] |= (uint64_t)bit(a[k], i) << (at + i) % 64;
        at += from;
    }
    for (unsigned k = 0; k < s->results; k++)
        for (unsigned i = 0; i < to && i < 64; i++)
            d[k] |= (uint64_t)bit(word[(k * to + i) / 64], (k * to + i) % 64) << i;
}

const struct unit_rule unit_rules_bits[] = {
    {"and", logic_and, NULL}, {"or", logic_or, NULL}, {"xor", logic_xor, NULL}, {"not", logic_not, NULL},
    {"cnot", cnot, NULL},     {"lop3", lop3, NULL},   {"shl", shl, NULL},       {"shr", shr, NULL},
    {"shf", shf, NULL},       {"bfe", bfe, NULL},     {"bfi", bfi, NULL},       {"bfind", bfind, NULL},
    {"bmsk", bmsk, NULL},     {"szext", szext, NULL}, {"popc", popc, NULL},     {"clz", clz, NULL},
    {"brev", brev, NULL},     {"fns", fns, NULL},     {"prmt", prmt, NULL},     {"mov", mov, NULL},
    {NULL, NULL, NULL},
};
