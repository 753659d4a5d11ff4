/* Comparisons and selections, PTX ISA 9.7.6 and 9.7.7. */
#include "unit.h"
#include <string.h>

int unit_compare(struct unit_type t, uint64_t a, uint64_t b, bool flush) {
    if (!t.format) {
        s128 x = unit_integer(t, a), y = unit_integer(t, b);
        return (x > y) - (x < y);
    }
    struct exact x = unit_decode(t.format, unit_low(a, t.bits), flush),
                 y = unit_decode(t.format, unit_low(b, t.bits), flush);
    return x.kind == NOT_A_NUMBER || y.kind == NOT_A_NUMBER ? 2 : exact_compare(&x, &y);
}

/* What a comparison says for -1, 0, 1, and with a NaN. */
static const struct {
    const char *name;
    bool below, equal, above, nan;
} comparisons[] = {
    {"eq", 0, 1, 0, 0},  {"ne", 1, 0, 1, 0},  {"lt", 1, 0, 0, 0},  {"le", 1, 1, 0, 0},  {"gt", 0, 0, 1, 0},
    {"ge", 0, 1, 1, 0},  {"lo", 1, 0, 0, 0},  {"ls", 1, 1, 0, 0},  {"hi", 0, 0, 1, 0},  {"hs", 0, 1, 1, 0},
    {"equ", 0, 1, 0, 1}, {"neu", 1, 0, 1, 1}, {"ltu", 1, 0, 0, 1}, {"leu", 1, 1, 0, 1}, {"gtu", 0, 0, 1, 1},
    {"geu", 0, 1, 1, 1}, {"num", 1, 1, 1, 0}, {"nan", 0, 0, 0, 1},
};

static bool holds(const struct unit_step *s, struct unit_type t, uint64_t a, uint64_t b) {
    int side = unit_compare(t, a, b, s->ftz);
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (!strcmp(s->part[0], comparisons[i].name))
            return side == 2   ? comparisons[i].nan
                   : side < 0  ? comparisons[i].below
                   : side == 0 ? comparisons[i].equal
                               : comparisons[i].above;
    return false;
}

static bool combined(const struct unit_step *s, bool t, bool c) {
    return unit_has(s, "and") ? t && c : unit_has(s, "or") ? t || c : unit_has(s, "xor") ? t != c : t;
}

/* p = (a op b) bool c, q = !(a op b) bool c; of f16x2 both halves: p of the low one, q of the high one */
static void setp(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    struct unit_type t = s->type[0];
    bool low = holds(s, t, a[0], a[1]), c = s->sources > 2 && a[2];
    d[0] = combined(s, low, c);
    d[1] = combined(s, t.packed == 2 ? holds(s, t, a[0] >> 16, a[1] >> 16) : !low, c);
}

static void set(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    struct unit_type to = s->type[0], t = s->type[1];
    struct exact one = exact_of(false, 1, 0);
    uint64_t yes =
        to.format ? unit_round(to.format, &one, UNIT_RN, false) : unit_low(UINT64_MAX, t.packed == 2 ? 16 : to.bits);
    for (unsigned i = 0; i < t.packed; i++)
        if (combined(s, holds(s, t, a[0] >> t.bits * i, a[1] >> t.bits * i), s->sources > 2 && a[2]))
            *d |= yes << 16 * i;
}

static void selp(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)s;
    (void)l;
    *d = a[2] ? a[0] : a[1];
}

/* c >= 0 ? a : b: so for -0, and with .ftz for a small negative number; not for a NaN. */
static void slct(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    int side = unit_compare(s->type[1], a[2], 0, s->ftz);
    *d = side == 0 || side == 1 ? a[0] : a[1];
}

const struct unit_rule unit_rules_compare[] = {
    {"setp", setp, NULL}, {"set", set, NULL}, {"selp", selp, NULL}, {"slct", slct, NULL}, {NULL, NULL, NULL}};
