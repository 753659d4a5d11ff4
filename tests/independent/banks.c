/* Wavefronts of an access, byte by byte, from the sentences BK-1 .. BK-9 of facts/ptx.md 5.1. */
#include "independent.h"
#include <stdlib.h>
#include <string.h>

/* Lanes that go together, by their numbers. */
struct phase {
    int lane[32], count;
};

/* Distinct words of one bank that a phase touches, for the worst bank. */
static unsigned degree_of(const struct phase *p, const int64_t at[32], int bytes) {
    int64_t words[32 * 4];
    unsigned count = 0, worst = 0;
    for (int i = 0; i < p->count; ++i)
        for (int byte = 0; byte < bytes && at[p->lane[i]] >= 0; ++byte) {
            const int64_t word = (at[p->lane[i]] + byte) / 4;
            bool known = false;
            for (unsigned k = 0; k < count; ++k)
                known = known || words[k] == word;
            if (!known)
                words[count++] = word;
        }
    for (int bank = 0; bank < 32; ++bank) {
        unsigned here = 0;
        for (unsigned k = 0; k < count; ++k)
            here += words[k] % 32 == bank;
        worst = here > worst ? here : worst;
    }
    return worst;
}

static bool partners_equal(const int64_t at[32], int lane, int distance, enum bank_rule broken) {
    const int64_t mine = at[lane], other = at[lane ^ distance];
    if (mine < 0 || other < 0)
        return broken != BANK_RULE_IDLE_DIFFERS || (mine < 0 && other < 0);
    return mine == other;
}

/* Of lanes from .. to - 1. */
static bool all_equal(const int64_t at[32], int distance, int from, int to, enum bank_rule broken) {
    for (int lane = from; lane < to; ++lane)
        if (!partners_equal(at, lane, distance, broken))
            return false;
    return true;
}

static bool each_at_some_distance(const int64_t at[32]) {
    for (int lane = 0; lane < 32; ++lane)
        if (!partners_equal(at, lane, 1, BANK_RULE_NONE) && !partners_equal(at, lane, 2, BANK_RULE_NONE))
            return false;
    return true;
}

static bool merges(const int64_t at[32], bool store, int from, int to, enum bank_rule broken) {
    if ((store && broken != BANK_RULE_STORES_MERGE) || broken == BANK_RULE_NEVER_MERGES)
        return false;
    if (broken == BANK_RULE_MIXED)
        return each_at_some_distance(at);
    return all_equal(at, 1, from, to, broken) ||
           (broken != BANK_RULE_NO_DISTANCE_2 && all_equal(at, 2, from, to, broken)) ||
           (broken == BANK_RULE_DISTANCE_4 && all_equal(at, 4, from, to, broken));
}

/* Lanes from .. to - 1 in `count` phases, or half as many. */
static int cut(struct phase *phases, int from, int to, int count, bool merged, enum bank_rule broken) {
    count = merged ? count / 2 : count;
    for (int lane = from; lane < to; ++lane) {
        struct phase *p =
            &phases[broken == BANK_RULE_INTERLEAVED ? lane % count : (lane - from) / ((to - from) / count)];
        p->lane[p->count++] = lane;
    }
    return count;
}

struct independent_banks independent_banks(const char *op, const int64_t at[32], enum bank_rule broken) {
    struct phase phases[4];
    const char *matrix = strstr(op, "matrix_x");
    const bool store = op[0] == 's';
    int count, bytes = 16;
    memset(phases, 0, sizeof phases);
    if (matrix) { /* rows of matrix j: lanes 8j .. 8j + 7 */
        count = matrix[8] - '0';
        count = cut(phases, 0, 8 * count, count, false, broken);
    } else {
        const int bits = atoi(op + 2);
        bytes = bits / 8;
        count = bits == 128 ? 4 : bits == 64 ? 2 : 1;
        if (bits == 128 && broken == BANK_RULE_HALVES) {
            count = cut(phases, 0, 16, 2, merges(at, store, 0, 16, broken), broken);
            count += cut(phases + count, 16, 32, 2, merges(at, store, 16, 32, broken), broken);
        } else {
            count = cut(phases, 0, 32, count, count > 1 && merges(at, store, 0, 32, broken), broken);
        }
    }
    struct independent_banks sum = {0, 0};
    for (int i = 0; i < count; ++i) {
        const unsigned degree = degree_of(&phases[i], at, bytes);
        bool same = broken == BANK_RULE_MATRICES_MERGE && matrix && i > 0;
        for (int k = 0; k < 8 && same; ++k)
            same = at[phases[i].lane[k]] == at[phases[i - 1].lane[k]];
        if (same)
            continue;
        sum.wavefronts += degree;
        sum.conflicts += degree > 1 ? degree - 1 : 0;
    }
    return sum;
}
