/* Loads, stores, atomic operations and asynchronous copies, PTX ISA 9.7.9 and 9.7.13: on 16 bytes of memory. */
#include "unit.h"
#include <string.h>

static uint8_t *place(struct unit_lane *l, uint64_t operand) {
    return l->memory[operand >> 8 & 3] + (operand & 15);
}

static uint64_t get(const uint8_t *at, unsigned bits) {
    uint64_t x = 0;
    for (unsigned i = 0; i < bits / 8; i++)
        x |= (uint64_t)at[i] << 8 * i;
    return x;
}

static void put(uint8_t *at, unsigned bits, uint64_t x) {
    for (unsigned i = 0; i < bits / 8; i++)
        at[i] = (uint8_t)(x >> 8 * i);
}

static unsigned element_bits(struct unit_type t) {
    return t.bits * t.packed;
}

static void ld(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    const uint8_t *from = place(l, a[0]);
    struct unit_type t = s->type[0];
    for (unsigned k = 0; k < s->vector; k++) {
        uint64_t x = get(from + k * element_bits(t) / 8, element_bits(t));
        d[k] = t.kind == 's' ? (uint64_t)(int64_t)unit_integer(t, x) : x;
    }
}

static void st(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)d;
    for (unsigned k = 0; k < s->vector; k++)
        put(place(l, a[0]) + k * element_bits(s->type[0]) / 8, element_bits(s->type[0]), a[1 + k]);
}

static bool is_nan64(uint64_t x) {
    return unit_decode(&unit_f64, x, false).kind == NOT_A_NUMBER;
}

/* In global memory binary32 flushes subnormal numbers, and binary64 hands a NaN on as it is, the operand's first; in
 * shared memory that of the cell first (measured). */
static uint64_t sum(const struct unit_step *s, const struct unit_format *f, uint64_t old, uint64_t b) {
    bool global = !unit_has(s, "shared");
    if (f == &unit_f64 && global && (is_nan64(old) || is_nan64(b)))
        return is_nan64(b) ? b : old;
    bool cell_first = f == &unit_f64;
    return unit_add_float(f, cell_first ? b : old, cell_first ? old : b, UNIT_RN, f == &unit_f32 && global);
}

/* What an atomic operation leaves in memory. */
static uint64_t changed(const struct unit_step *s, uint64_t old, uint64_t b, uint64_t c) {
    struct unit_type t = s->type[0];
    if (unit_has(s, "exch"))
        return b;
    if (unit_has(s, "cas"))
        return old == b ? c : old;
    if (unit_has(s, "and") || unit_has(s, "or") || unit_has(s, "xor"))
        return unit_has(s, "and") ? old & b : unit_has(s, "or") ? old | b : old ^ b;
    if (unit_has(s, "inc"))
        return old >= b ? 0 : old + 1;
    if (unit_has(s, "dec"))
        return old == 0 || old > b ? b : old - 1;
    uint64_t d = 0;
    for (unsigned i = 0; i < t.packed; i++) {
        uint64_t x = unit_low(old >> t.bits * i, t.bits), y = unit_low(b >> t.bits * i, t.bits), z;
        if (unit_has(s, "add"))
            z = t.format ? sum(s, t.format, x, y) : unit_integer_bits(t, unit_integer(t, x) + unit_integer(t, y));
        else
            z = (unit_compare(t, x, y, false) < 0) == unit_has(s, "min") ? x : y;
        d |= z << t.bits * i;
    }
    return d;
}

static void atom(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    unsigned bits = element_bits(s->type[0]);
    for (unsigned k = 0; k < s->vector; k++) {
        uint8_t *at = place(l, a[0]) + k * bits / 8;
        uint64_t old = get(at, bits);
        d[k] = old;
        put(at, bits, unit_low(changed(s, old, unit_low(a[1 + k], bits), unit_low(a[1 + s->vector + k], bits)), bits));
    }
}

static void red(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    uint64_t old[8];
    (void)d;
    atom(s, a, old, l);
}

/* cp.async: n bytes, of which the first `size` come from the source and the others are zeros; with a predicate in that
 * place and true, all are zeros. The other cp.async only wait. */
static void cp(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)d;
    if (s->sources < 3)
        return;
    uint8_t *to = place(l, a[0]);
    const uint8_t *from = place(l, a[1]);
    uint64_t size = s->sources > 3 ? a[3] : a[2];
    if (unit_has(s, "ignore")) /* written in a model only */
        size = a[3] ? 0 : a[2];
    for (uint64_t i = 0; i < a[2]; i++)
        to[i] = i < size ? from[i] : 0;
}

static void nothing(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)s;
    (void)a;
    (void)d;
    (void)l;
}

/* Of a model: source 1 + n, n the first source. */
static void pick(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    *d = a[0] + 1 < s->sources ? a[1 + a[0]] : 0;
}

const struct unit_rule unit_rules_memory[] = {
    {"ld", ld, NULL},
    {"ldu", ld, NULL},
    {"st", st, NULL},
    {"atom", atom, NULL},
    {"red", red, NULL},
    {"cp", cp, NULL},
    {"fence", nothing, NULL},
    {"membar", nothing, NULL},
    {"prefetch", nothing, NULL},
    {"nanosleep", nothing, NULL},
    {"pick", pick, NULL},
    {NULL, NULL, NULL},
};
