/* Times compared within rounds: medians, ratios, and whether two things are apart; by hand, each with what would be
 * wrong. */
#include "../oracles/paired.h"
#include "../gpu/device/timing.h"
#include <criterion/criterion.h>
#include <math.h>

Test(paired, medians_and_ends) {
    const struct spread one = spread_of((double[]){3}, 1), odd = spread_of((double[]){5, 1, 4}, 3),
                        even = spread_of((double[]){8, 1, 2, 4}, 4);
    cr_expect(one.least == 3 && one.median == 3 && one.most == 3, "one value is all of them");
    cr_expect(odd.least == 1 && odd.median == 4 && odd.most == 5, "of 5 1 4: %g %g %g", odd.least, odd.median,
              odd.most);
    cr_expect(even.least == 1 && even.median == 3 && even.most == 8, "of 8 1 2 4: %g %g %g", even.least, even.median,
              even.most);
}

/* Clocks fall while it is measured: both get slower alike. Each round's ratio is the same; the times are not apart. */
Test(paired, a_drift_is_in_both) {
    const double base[] = {10, 12, 15, 20}, other[] = {8, 9.6, 12, 16};
    const struct paired p = paired_compare(base, other, 4);
    cr_expect(fabs(p.ratio.median - 1.25) < 1e-12 && fabs(p.ratio.least - 1.25) < 1e-12 &&
                  fabs(p.ratio.most - 1.25) < 1e-12,
              "1.25 in every round, not %g (%g .. %g)", p.ratio.median, p.ratio.least, p.ratio.most);
    cr_expect(!p.separated && p.overlap == 2, "8 .. 16 and 10 .. 20: %zu", p.overlap);
}

/* The median of the ratios is not the ratio of the medians. */
Test(paired, ratios_are_within_rounds) {
    const double base[] = {1, 2, 9}, other[] = {2, 1, 3};
    const struct paired p = paired_compare(base, other, 3);
    cr_expect(p.ratio.median == 2 && p.ratio.least == 0.5 && p.ratio.most == 3, "0.5 2 3, not %g (%g .. %g)",
              p.ratio.median, p.ratio.least, p.ratio.most);
}

Test(paired, apart_only_when_all_rounds_are) {
    const struct {
        const char *about;
        double base[5], other[5];
        bool separated;
        size_t overlap;
    } rows[] = {
        {"apart, the other is faster", {20, 21, 22, 21, 20}, {10, 11, 19, 12, 10}, true, 0},
        {"apart, the other is slower", {10, 11, 12, 11, 10}, {20, 21, 22, 21, 13}, true, 0},
        {"one slow round of the faster one", {20, 21, 22, 21, 20}, {10, 11, 20, 12, 10}, false, 1},
        {"one fast round of the slower one", {20, 21, 9, 21, 20}, {10, 11, 8, 12, 10}, false, 1},
        {"a touch is no separation", {12, 13, 14, 13, 12}, {10, 11, 12, 11, 10}, false, 1},
        {"the same", {5, 5, 5, 5, 5}, {5, 5, 5, 5, 5}, false, 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const struct paired p = paired_compare(rows[i].base, rows[i].other, 5);
        cr_expect(p.separated == rows[i].separated && p.overlap == rows[i].overlap, "%s: separated %d, overlap %zu",
                  rows[i].about, p.separated, p.overlap);
    }
}

/* However far they are apart: with four rounds chance does that one time in 35. */
Test(paired, few_rounds_say_nothing) {
    const double base[5] = {20, 21, 22, 21, 20}, other[5] = {10, 11, 12, 11, 10};
    for (size_t rounds = 1; rounds <= 5; ++rounds) {
        const struct paired p = paired_compare(base, other, rounds);
        cr_expect(p.separated == (rounds == 5) && p.enough == p.separated && p.overlap == 0,
                  "%zu rounds: separated %d, enough %d, overlap %zu", rounds, p.separated, p.enough, p.overlap);
    }
}

/* Between two launches on one copy, the others' bytes are three times the L2. */
Test(paired, copies_leave_the_l2_cold) {
    const size_t l2 = 50 << 20;
    for (size_t bytes = 20480; bytes <= (size_t)4 << 30; bytes += bytes / 3) {
        const size_t n = timing_copies(bytes, l2);
        cr_expect(n >= 2 && (n - 1) * bytes >= TIMING_L2_TIMES * l2, "%zu copies of %zu bytes", n, bytes);
        cr_expect(n == 2 || (n - 2) * bytes < TIMING_L2_TIMES * l2, "%zu copies of %zu bytes are too many", n, bytes);
    }
    cr_expect_eq(timing_copies(256, l2), (size_t)TIMING_MOST_COPIES, "there is a limit");
    cr_expect_eq(timing_copies(0, l2), 2, "no bytes");
    cr_expect_eq(timing_copies(4096, 0), 2, "no L2");
}
