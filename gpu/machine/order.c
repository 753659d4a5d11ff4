#include "order.h"
#include <string.h>

void order_start(struct warp_order *o) {
    memset(o->clock, 0, sizeof o->clock);
    o->syncs = o->whole = 0;
    o->parts = false;
}

void order_whole(struct warp_order *o) {
    o->whole = ++o->syncs;
    o->parts = false;
}

void order_sync(struct warp_order *o, uint32_t members, uint32_t existing) {
    if (!(existing & ~members)) {
        order_whole(o);
        return;
    }
    if (!o->parts) {
        memset(o->known, 0, sizeof o->known);
        o->parts = true;
    }
    uint32_t joined[LANES] = {0};
    ++o->syncs;
    for (uint32_t left = members; left; left &= left - 1) {
        const unsigned k = (unsigned)__builtin_ctz(left);
        for (unsigned i = 0; i < LANES; ++i)
            joined[i] = o->known[k][i] > joined[i] ? o->known[k][i] : joined[i];
    }
    for (uint32_t left = members; left; left &= left - 1)
        joined[__builtin_ctz(left)] = o->syncs;
    for (uint32_t left = members; left; left &= left - 1)
        memcpy(o->known[__builtin_ctz(left)], joined, sizeof joined);
}

uint32_t order_open_lanes(const struct warp_order *o, uint32_t me, unsigned lane, uint32_t x, uint32_t clock,
                          uint32_t sync, uint32_t lanes) {
    if (x != me)
        return o->clock[x] > clock ? 0 : lanes;
    lanes &= ~(1u << lane);
    if (o->whole > sync)
        return 0;
    for (uint32_t left = o->parts ? lanes : 0; left; left &= left - 1)
        if (o->known[lane][__builtin_ctz(left)] > sync)
            lanes &= ~(left & -left);
    return lanes;
}
