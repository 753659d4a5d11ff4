/* Instructions of 32 lanes, PTX ISA 9.7.9.6, 9.7.13.9 to .14, 9.7.14.5.15 to .17, all lanes taking part. */
#include "unit.h"
#include <string.h>

static void shfl(const struct unit_step *s, const uint64_t (*a)[32], uint64_t (*d)[32], struct unit_lane *l) {
    (void)l;
    for (int lane = 0; lane < 32; lane++) {
        int by = (int)(a[1][lane] & 31), clamp = (int)(a[2][lane] & 31), segment = (int)(a[2][lane] >> 8 & 31);
        int most = (lane & segment) | (clamp & ~segment), from;
        bool valid;
        if (unit_has(s, "up")) {
            from = lane - by;
            valid = from >= most;
        } else {
            from = unit_has(s, "down")   ? lane + by
                   : unit_has(s, "bfly") ? lane ^ by
                                         : (lane & segment) | (by & ~segment);
            valid = from <= most;
        }
        d[0][lane] = a[0][valid ? from : lane];
        d[1][lane] = valid;
    }
}

static uint64_t ballot(const uint64_t *p) {
    uint64_t bits = 0;
    for (int lane = 0; lane < 32; lane++)
        bits += (uint64_t)(p[lane] & 1) << lane;
    return bits;
}

static void spread(uint64_t *d, uint64_t x) {
    for (int lane = 0; lane < 32; lane++)
        d[lane] = x;
}

static void vote(const struct unit_step *s, const uint64_t (*a)[32], uint64_t (*d)[32], struct unit_lane *l) {
    (void)l;
    uint64_t yes = ballot(a[0]), all = 0xffffffff;
    spread(d[0], unit_has(s, "ballot") ? yes
                 : unit_has(s, "all")  ? yes == all
                 : unit_has(s, "any")  ? yes != 0
                                       : yes == all || yes == 0);
}

static void match(const struct unit_step *s, const uint64_t (*a)[32], uint64_t (*d)[32], struct unit_lane *l) {
    (void)l;
    for (int lane = 0; lane < 32; lane++)
        for (int other = 0; other < 32; other++)
            d[0][lane] |= (uint64_t)(a[0][lane] == a[0][other]) << other;
    if (unit_has(s, "all"))
        for (int lane = 0; lane < 32; lane++) {
            d[1][lane] = d[0][lane] == 0xffffffff;
            d[0][lane] = d[1][lane] ? d[0][lane] : 0;
        }
}

static void redux(const struct unit_step *s, const uint64_t (*a)[32], uint64_t (*d)[32], struct unit_lane *l) {
    (void)l;
    struct unit_type t = s->type[0];
    s128 x = unit_integer(t, a[0][0]);
    for (int lane = 1; lane < 32; lane++) {
        s128 y = unit_integer(t, a[0][lane]);
        x = unit_has(s, "add")   ? x + y
            : unit_has(s, "min") ? (x < y ? x : y)
            : unit_has(s, "max") ? (x > y ? x : y)
            : unit_has(s, "and") ? (x & y)
            : unit_has(s, "or")  ? (x | y)
                                 : (x ^ y);
    }
    spread(d[0], unit_integer_bits(t, x));
}

static void activemask(const struct unit_step *s, const uint64_t (*a)[32], uint64_t (*d)[32], struct unit_lane *l) {
    (void)s;
    (void)a;
    (void)l;
    spread(d[0], 0xffffffff);
}

/* The lowest lane, as measured. */
static void elect(const struct unit_step *s, const uint64_t (*a)[32], uint64_t (*d)[32], struct unit_lane *l) {
    (void)s;
    (void)a;
    (void)l;
    spread(d[0], 0);
    for (int lane = 0; lane < 32; lane++)
        d[1][lane] = lane == 0;
}

/* Of a block of one warp. */
static void bar(const struct unit_step *s, const uint64_t (*a)[32], uint64_t (*d)[32], struct unit_lane *l) {
    (void)l;
    if (!unit_has(s, "red"))
        return;
    uint64_t yes = ballot(a[s->sources - 1]), count = 0;
    for (int lane = 0; lane < 32; lane++)
        count += yes >> lane & 1;
    spread(d[0], unit_has(s, "popc") ? count : unit_has(s, "and") ? count == 32 : count > 0);
}

static unsigned matrices(const struct unit_step *s) {
    return unit_has(s, "x4") ? 4 : unit_has(s, "x2") ? 2 : 1;
}

/* The byte of memory that is byte b of register j of a lane: LM-4, LM-5 of the fact sheet. */
static uint8_t *matrix_byte(const struct unit_step *s, const uint64_t *address, struct unit_lane *l, int lane, int j,
                            int b) {
    int g = lane / 4, t = lane % 4;
    bool trans = unit_has(s, "trans");
    int giver = 8 * j + (trans ? 2 * t + b / 2 : g), byte = trans ? 2 * g + b % 2 : 4 * t + b;
    uint64_t operand = address[giver];
    return l[operand >> 16 & 31].memory[operand >> 8 & 3] + byte;
}

static void ldmatrix(const struct unit_step *s, const uint64_t (*a)[32], uint64_t (*d)[32], struct unit_lane *l) {
    for (int lane = 0; lane < 32; lane++)
        for (unsigned j = 0; j < matrices(s); j++)
            for (int b = 0; b < 4; b++)
                d[j][lane] |= (uint64_t)*matrix_byte(s, a[0], l, lane, (int)j, b) << 8 * b;
}

static void stmatrix(const struct unit_step *s, const uint64_t (*a)[32], uint64_t (*d)[32], struct unit_lane *l) {
    (void)d;
    for (int lane = 0; lane < 32; lane++)
        for (unsigned j = 0; j < matrices(s); j++)
            for (int b = 0; b < 4; b++)
                *matrix_byte(s, a[0], l, lane, (int)j, b) = (uint8_t)(a[1 + j][lane] >> 8 * b);
}

/* An 8 x 8 matrix of 16 bits, transposed: element (row, column) stands in lane 4 row + column / 2. */
static void movmatrix(const struct unit_step *s, const uint64_t (*a)[32], uint64_t (*d)[32], struct unit_lane *l) {
    (void)s;
    (void)l;
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 8; column++) {
            uint64_t x = a[0][4 * row + column / 2] >> 16 * (column % 2) & 0xffff;
            d[0][4 * column + row / 2] |= x << 16 * (row % 2);
        }
}

const struct unit_rule unit_rules_warp[] = {
    {"shfl", NULL, shfl},
    {"vote", NULL, vote},
    {"match", NULL, match},
    {"redux", NULL, redux},
    {"activemask", NULL, activemask},
    {"elect", NULL, elect},
    {"bar", NULL, bar},
    {"barrier", NULL, bar},
    {"ldmatrix", NULL, ldmatrix},
    {"stmatrix", NULL, stmatrix},
    {"movmatrix", NULL, movmatrix},
    {NULL, NULL, NULL},
};
