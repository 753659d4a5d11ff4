#include "in_step_log.h"
#include <string.h>

static uint64_t mixed(uint64_t h, uint64_t v) {
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static bool has(const struct ptx_instruction *in, const char *part) {
    for (size_t i = 0; i < in->part_count; ++i) {
        if (strcmp(in->parts[i], part) == 0) {
            return true;
        }
    }
    return false;
}

static enum difference_kind kind_of(const struct probe_step *at) {
    const struct ptx_instruction *in = at->text;
    const bool shared = has(in, "shared") || has(in, "shared::cta") || strcmp(in->opcode, "stmatrix") == 0;
    return at->stores && shared                  ? DIFFERENCE_SHARED
           : at->stores                          ? DIFFERENCE_STORE
           : strcmp(in->opcode, "mma") == 0      ? DIFFERENCE_MMA
           : strcmp(in->opcode, "ldmatrix") == 0 ? DIFFERENCE_LDMATRIX
                                                 : DIFFERENCE_REGISTER;
}

enum { KIND_BITS = 3 };

enum difference_kind step_kind(const struct step_digest *s) {
    return (enum difference_kind)(s->key & ((1u << KIND_BITS) - 1));
}

/* A literal that is stored counts as a register of any width. */
static uint32_t key_of(const struct probe_step *at) {
    uint64_t h = at->count + 64 * (uint64_t)at->stores;
    for (const char *c = at->text->opcode; *c != 0; ++c) {
        h = mixed(h, (uint8_t)*c);
    }
    for (size_t i = 0; i < at->count; ++i) {
        h = mixed(h, at->stores ? 0 : at->values[i].bits);
    }
    return (uint32_t)(h >> 32) << KIND_BITS | (uint32_t)kind_of(at);
}

static uint64_t lanes_of(uint64_t h, const struct probe_value *v, uint32_t lanes) {
    for (; lanes != 0; lanes &= lanes - 1) {
        h = mixed(h, probe_value_of(v, (unsigned)__builtin_ctz(lanes)));
    }
    return h;
}

void step_digest_of(const struct probe_step *at, uint32_t instruction, struct step_digest *out) {
    uint64_t h = at->lanes;
    for (size_t i = 0; i < at->count; ++i) {
        h = lanes_of(h, &at->values[i], at->lanes);
    }
    *out = (struct step_digest){.key = key_of(at), .instruction = instruction, .values = h};
    out->all = at->address != NULL ? lanes_of(h, at->address, at->lanes) : h;
}

static void keep(struct snapshot *s, const struct probe_value *v, uint32_t lanes) {
    if (s->count == STEP_VALUES) {
        return;
    }
    for (unsigned i = 0; i < 32; ++i) {
        s->values[s->count][i] = lanes >> i & 1 ? probe_value_of(v, i) : 0;
    }
    s->names[s->count] = v->name;
    s->bits[s->count++] = v->bits;
}

void snapshot_take(struct snapshot *s, const struct probe_step *at) {
    *s = (struct snapshot){.taken = true,
                           .lanes = at->lanes,
                           .text = at->text,
                           .site = at->instruction,
                           .has_address = at->address != NULL};
    if (at->address != NULL) {
        keep(s, at->address, at->lanes);
    }
    for (size_t i = 0; i < at->count; ++i) {
        keep(s, &at->values[i], at->lanes);
    }
}

bool snapshots_differ(const struct snapshot *a, const struct snapshot *b, bool moves, unsigned *lane, size_t *value,
                      uint32_t *lanes) {
    const size_t first = moves && a->has_address ? 1 : 0, count = a->count < b->count ? a->count : b->count;
    bool found = false;
    *lanes = 0;
    for (unsigned i = 0; i < 32; ++i) {
        const bool in_a = a->lanes >> i & 1, in_b = b->lanes >> i & 1;
        for (size_t k = first; (in_a || in_b) && k < count; ++k) {
            if (in_a == in_b && a->values[k][i] == b->values[k][i]) {
                continue;
            }
            *lane = found ? *lane : i;
            *value = found ? *value : k;
            *lanes |= 1u << i;
            found = true;
        }
    }
    return found;
}
