#include "banks.h"
#include <string.h>

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

/* Phases of an access, and whether pairs of lanes make them half as many. */
static unsigned phases_of(enum bank_access kind, unsigned bytes, unsigned matrices, const uint32_t at[LANES],
                          uint32_t active, bool *merged) {
    const unsigned words = bytes > 4 ? bytes / 4 : 1;
    *merged = kind == BANK_LOAD && words > 1 && (pairs_agree(at, active, 1) || pairs_agree(at, active, 2));
    return kind == BANK_MATRIX ? matrices : *merged ? words / 2 : words;
}

struct bank_count bank_count(enum bank_access kind, unsigned bytes, unsigned matrices, const uint32_t at[32],
                             uint32_t active) {
    if (kind == BANK_MATRIX)
        active = ~(uint32_t)0;
    bool merged;
    const unsigned words = bytes > 4 ? bytes / 4 : 1, phases = phases_of(kind, bytes, matrices, at, active, &merged);
    const unsigned lanes = kind == BANK_MATRIX ? 8 : LANES / phases;
    struct bank_count count = {0, 0};
    for (unsigned p = 0; p < phases; ++p) {
        const unsigned d = degree(at, active, p * lanes, (p + 1) * lanes, words);
        count.wavefronts += d;
        count.conflicts += d > 0 ? d - 1 : 0;
    }
    return count;
}

const char bank_op_names[] = "ld8 ld16 ld32 ld64 ld128 st8 st16 st32 st64 st128 ldmatrix.x1|x2|x4[.trans] "
                             "stmatrix.x1|x2|x4[.trans]";

bool bank_op_named(const char *name, struct bank_op *op) {
    struct bank_op o = {.bytes = 16};
    if (strlen(name) >= sizeof o.name)
        return false;
    strcpy(o.name, name);
    for (char *s = o.name; (s = strchr(s, '_')) != NULL;)
        *s = '.';
    const bool load = strncmp(o.name, "ld", 2) == 0;
    if (!load && strncmp(o.name, "st", 2) != 0)
        return false;
    const char *rest = o.name + 2;
    o.store = !load;
    if (strncmp(rest, "matrix.x", 8) == 0) {
        o.kind = BANK_MATRIX;
        o.matrices = rest[8] == '1' ? 1 : rest[8] == '2' ? 2 : rest[8] == '4' ? 4 : 0;
        rest += o.matrices ? 9 : 8;
        o.trans = strcmp(rest, ".trans") == 0;
        if (!o.matrices || (rest[0] && !o.trans))
            return false;
    } else {
        static const char *const bits[] = {"8", "16", "32", "64", "128"};
        unsigned i = 0;
        while (i < 5 && strcmp(rest, bits[i]) != 0)
            ++i;
        if (i == 5)
            return false;
        o.kind = load ? BANK_LOAD : BANK_STORE;
        o.bytes = 1u << i;
    }
    *op = o;
    return true;
}

void bank_op_table_name(const struct bank_op *op, char name[20]) {
    strcpy(name, op->name);
    for (char *s = name; (s = strchr(s, '.')) != NULL;)
        *s = '_';
}

uint32_t bank_op_lanes(const struct bank_op *op) {
    return op->matrices == 0 || op->matrices == 4 ? ~(uint32_t)0 : ((uint32_t)1 << 8 * op->matrices) - 1;
}

struct bank_plan bank_plan(const struct bank_op *op, const uint32_t at[32], uint32_t active) {
    struct bank_plan p = {.count = {0, 0}};
    active = op->matrices ? bank_op_lanes(op) : active;
    p.phases = phases_of(op->kind, op->bytes, op->matrices, at, active, &p.merged);
    const unsigned lanes = op->matrices ? 8 : LANES / p.phases, group = op->bytes > 4 ? op->bytes / 4 : 1;
    memset(p.wavefront, BANK_IDLE, sizeof p.wavefront);
    for (unsigned k = 0; k < p.phases; ++k) {
        const unsigned from = k * lanes;
        for (unsigned lane = from; lane < from + lanes; ++lane) {
            if (!(active >> lane & 1))
                continue;
            const uint32_t word = at[lane] / 4, bank = word % BANKS / group;
            unsigned mine = 0; /* distinct addresses of these banks before it: first come, first served */
            bool known = false;
            for (unsigned other = from; other < lane && !known; ++other) {
                if (!(active >> other & 1) || at[other] / 4 % BANKS / group != bank)
                    continue;
                known = at[other] / 4 == word;
                const unsigned theirs = p.wavefront[other] - p.count.wavefronts;
                mine = known ? theirs : theirs + 1 > mine ? theirs + 1 : mine;
            }
            p.lanes[k] |= (uint32_t)1 << lane;
            p.wavefront[lane] = (uint8_t)(p.count.wavefronts + mine);
            p.degree[k] = mine + 1 > p.degree[k] ? mine + 1 : p.degree[k];
        }
        p.count.wavefronts += p.degree[k];
        p.count.conflicts += p.degree[k] > 0 ? p.degree[k] - 1 : 0;
    }
    return p;
}
