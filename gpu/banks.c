#include "banks.h"
#include <stdbool.h>

enum { LANES = 32, BANKS = 32, MOST_WORDS = 4 };

/* Most distinct words of one bank among lanes from .. to - 1, each with `words` words; 0 without an active lane. */
static unsigned degree(const uint32_t at[LANES], uint32_t active, unsigned from, unsigned to, unsigned words) {
    uint32_t seen[BANKS][LANES * MOST_WORDS];
    unsigned count[BANKS] = {0}, most = 0;
    for (unsigned lane = from; lane < to; ++lane)
        for (unsigned k = 0; k < words && active >> lane & 1; ++k) {
            const uint32_t word = at[lane] / 4 + k, bank = word % BANKS;
            unsigned i = 0;
            while (i < count[bank] && seen[bank][i] != word)
                ++i;
            if (i == count[bank])
                seen[bank][count[bank]++] = word;
            most = count[bank] > most ? count[bank] : most;
        }
    return most;
}

static bool pairs_agree(const uint32_t at[LANES], uint32_t active, unsigned step) {
    for (unsigned lane = 0; lane < LANES; ++lane) {
        const unsigned other = lane ^ step;
        if (active >> lane & 1 && active >> other & 1 && at[lane] != at[other])
            return false;
    }
    return true;
}

struct bank_count bank_count(enum bank_access kind, unsigned bytes, unsigned matrices, const uint32_t at[32],
                             uint32_t active) {
    const unsigned words = bytes > 4 ? bytes / 4 : 1;
    unsigned phases = words, lanes;
    if (kind == BANK_MATRIX) {
        phases = matrices;
        lanes = 8;
        active = ~(uint32_t)0;
    } else {
        if (kind == BANK_LOAD && words > 1 && (pairs_agree(at, active, 1) || pairs_agree(at, active, 2)))
            phases /= 2;
        lanes = LANES / phases;
    }
    struct bank_count count = {0, 0};
    for (unsigned p = 0; p < phases; ++p) {
        const unsigned d = degree(at, active, p * lanes, (p + 1) * lanes, words);
        count.wavefronts += d;
        count.conflicts += d > 0 ? d - 1 : 0;
    }
    return count;
}
