/* Loads, shared stores and ldmatrix of well-behaved accesses: minimum, maximum and OR of the lane addresses against
 * what the access site may use. Anything else goes to memory.c, which looks at each lane and says what is wrong.
 * Compiled once for each instruction set. */
#include "isa.h"
#include "schedule.h"
#include "watch.h"
#include <string.h>

#define JOIN2(a, b) a##_##b
#define JOIN(a, b)  JOIN2(a, b)

#define BIT4(n)  1u << (n), 2u << (n), 4u << (n), 8u << (n)
#define BIT16(n) BIT4(n), BIT4((n) + 4), BIT4((n) + 8), BIT4((n) + 12)
static const uint32_t lane_bit[LANES] __attribute__((aligned(64))) = {BIT16(0), BIT16(16)};

typedef uint32_t four __attribute__((vector_size(16)));

/* where[i] = offset of lane i from the start of the site's range, that of the first lane of mask for lanes outside it.
 * False, with wide[i] = the addresses, when some lane is out of range or misaligned. */
static inline __attribute__((always_inline)) bool reach32(const struct warp *w, const struct record *r, uint32_t mask,
                                                          unsigned bytes, uint32_t where[LANES], uint64_t wide[LANES]) {
    const struct site_range *s = &w->block->sites[r->c];
    const uint32_t *a = reg32(w, r->a);
    const uint32_t shift = (uint32_t)r->imm, start = (uint32_t)s->lo;
    uint32_t low = UINT32_MAX, high = 0, any = 0;
    if (mask == ALL_LANES) {
        for (int i = 0; i < LANES; ++i) {
            const uint32_t address = a[i] + shift;
            low = address < low ? address : low;
            high = address > high ? address : high;
            any |= address;
            where[i] = address - start;
        }
    } else {
        const uint32_t first = a[__builtin_ctz(mask)];
        for (int i = 0; i < LANES; ++i) {
            const uint32_t address = (mask & lane_bit[i] ? a[i] : first) + shift;
            low = address < low ? address : low;
            high = address > high ? address : high;
            any |= address;
            where[i] = address - start;
        }
    }
    if (__builtin_expect(low >= s->lo && (uint64_t)high + bytes <= s->hi && !(any & (bytes - 1)), 1))
        return true;
    for (int i = 0; i < LANES; ++i)
        wide[i] = a[i] + shift;
    return false;
}

/* The same with 64-bit addresses; where[i] then is 64 bits wide as well. */
static inline __attribute__((always_inline)) bool reach64(const struct warp *w, const struct record *r, uint32_t mask,
                                                          unsigned bytes, uint64_t where[LANES], uint64_t wide[LANES]) {
    const struct site_range *s = &w->block->sites[r->c];
    const uint64_t *a = reg64(w, r->a);
    const uint64_t shift = (uint64_t)r->imm, start = s->lo, first = a[__builtin_ctz(mask)];
    uint64_t low = UINT64_MAX, high = 0, any = 0;
    for (int i = 0; i < LANES; ++i) {
        const uint64_t address = (mask & lane_bit[i] ? a[i] : first) + shift;
        low = address < low ? address : low;
        high = address > high ? address : high;
        any |= address;
        where[i] = address - start;
    }
    /* hi is at least `bytes` for every range in use, and 0 with lo > 0 before the first access. */
    if (__builtin_expect(low >= s->lo && s->hi >= bytes && high <= s->hi - bytes && !(any & (bytes - 1)), 1))
        return true;
    for (int i = 0; i < LANES; ++i)
        wide[i] = a[i] + shift;
    return false;
}

#define LOAD(name, WIDTH, D, V, conversion)                                                                            \
    static void name(struct warp *w, const struct record *r, uint32_t mask) {                                          \
        uint##WIDTH##_t where[LANES];                                                                                  \
        uint64_t wide[LANES];                                                                                          \
        if (!reach##WIDTH(w, r, mask, sizeof(V), where, wide)) {                                                       \
            memory_access(w, r, mask, wide);                                                                           \
            return;                                                                                                    \
        }                                                                                                              \
        const uint8_t *host = w->block->sites[r->c].host;                                                              \
        uint##D##_t *d = reg##D(w, r->dst);                                                                            \
        if (mask == ALL_LANES) {                                                                                       \
            for (int i = 0; i < LANES; ++i) {                                                                          \
                V v;                                                                                                   \
                memcpy(&v, host + where[i], sizeof v);                                                                 \
                d[i] = (uint##D##_t)conversion v;                                                                      \
            }                                                                                                          \
            watch_range##WIDTH(w, r, mask, where);                                                                     \
            return;                                                                                                    \
        }                                                                                                              \
        for (uint32_t left = mask; left; left &= left - 1) {                                                           \
            const int i = __builtin_ctz(left);                                                                         \
            V v;                                                                                                       \
            memcpy(&v, host + where[i], sizeof v);                                                                     \
            d[i] = (uint##D##_t)conversion v;                                                                          \
        }                                                                                                              \
        watch_range##WIDTH(w, r, mask, where);                                                                         \
    }
/* 16-bit registers keep zeros above, so r->b tells how far a sign goes: a mask for the register. */
#define SIGNED (uint32_t) r->b &(uint32_t)(int32_t)
#define AS_IS

#define LOAD_VECTOR(name, WIDTH, N)                                                                                    \
    static void name(struct warp *w, const struct record *r, uint32_t mask) {                                          \
        uint##WIDTH##_t where[LANES];                                                                                  \
        uint64_t wide[LANES];                                                                                          \
        if (!reach##WIDTH(w, r, mask, 4 * N, where, wide)) {                                                           \
            memory_access(w, r, mask, wide);                                                                           \
            return;                                                                                                    \
        }                                                                                                              \
        const uint8_t *host = w->block->sites[r->c].host;                                                              \
        const uint32_t *to = w->wide + r->wide;                                                                        \
        uint32_t *d[N];                                                                                                \
        for (int e = 0; e < N; ++e)                                                                                    \
            d[e] = reg32(w, to[e]);                                                                                    \
        if (mask == ALL_LANES) {                                                                                       \
            transpose##N(d, host, where);                                                                              \
            watch_range##WIDTH(w, r, mask, where);                                                                     \
            return;                                                                                                    \
        }                                                                                                              \
        for (uint32_t left = mask; left; left &= left - 1) {                                                           \
            const int i = __builtin_ctz(left);                                                                         \
            uint32_t v[N];                                                                                             \
            memcpy(v, host + where[i], sizeof v);                                                                      \
            for (int e = 0; e < N; ++e)                                                                                \
                d[e][i] = v[e];                                                                                        \
        }                                                                                                              \
        watch_range##WIDTH(w, r, mask, where);                                                                         \
    }

/* Four lanes at a time: 4 x 4 words transposed in registers. */
#define transpose4(d, host, where)                                                                                     \
    for (int i = 0; i < LANES; i += 4) {                                                                               \
        four x, y, z, t;                                                                                               \
        memcpy(&x, (host) + (where)[i], 16);                                                                           \
        memcpy(&y, (host) + (where)[i + 1], 16);                                                                       \
        memcpy(&z, (host) + (where)[i + 2], 16);                                                                       \
        memcpy(&t, (host) + (where)[i + 3], 16);                                                                       \
        const four xy0 = __builtin_shufflevector(x, y, 0, 4, 1, 5), xy1 = __builtin_shufflevector(x, y, 2, 6, 3, 7);   \
        const four zt0 = __builtin_shufflevector(z, t, 0, 4, 1, 5), zt1 = __builtin_shufflevector(z, t, 2, 6, 3, 7);   \
        const four w0 = __builtin_shufflevector(xy0, zt0, 0, 1, 4, 5),                                                 \
                   w1 = __builtin_shufflevector(xy0, zt0, 2, 3, 6, 7);                                                 \
        const four w2 = __builtin_shufflevector(xy1, zt1, 0, 1, 4, 5),                                                 \
                   w3 = __builtin_shufflevector(xy1, zt1, 2, 3, 6, 7);                                                 \
        memcpy((d)[0] + i, &w0, 16);                                                                                   \
        memcpy((d)[1] + i, &w1, 16);                                                                                   \
        memcpy((d)[2] + i, &w2, 16);                                                                                   \
        memcpy((d)[3] + i, &w3, 16);                                                                                   \
    }
#define transpose2(d, host, where)                                                                                     \
    for (int i = 0; i < LANES; ++i) {                                                                                  \
        uint32_t v[2];                                                                                                 \
        memcpy(v, (host) + (where)[i], 8);                                                                             \
        (d)[0][i] = v[0];                                                                                              \
        (d)[1][i] = v[1];                                                                                              \
    }

#define LOADS(WIDTH)                                                                                                   \
    LOAD(load##WIDTH##_u8, WIDTH, 32, uint8_t, AS_IS)                                                                  \
    LOAD(load##WIDTH##_s8, WIDTH, 32, int8_t, SIGNED)                                                                  \
    LOAD(load##WIDTH##_u16, WIDTH, 32, uint16_t, AS_IS)                                                                \
    LOAD(load##WIDTH##_s16, WIDTH, 32, int16_t, SIGNED)                                                                \
    LOAD(load##WIDTH##_b32, WIDTH, 32, uint32_t, AS_IS)                                                                \
    LOAD(load##WIDTH##_b64, WIDTH, 64, uint64_t, AS_IS)                                                                \
    LOAD_VECTOR(load##WIDTH##_v2, WIDTH, 2)                                                                            \
    LOAD_VECTOR(load##WIDTH##_v4, WIDTH, 4)
LOADS(32)
LOADS(64)

/* Lanes store in the order of the schedule: of two that store to one address the later one stays. */
#define STORE(name, S, V)                                                                                              \
    static void name(struct warp *w, const struct record *r, uint32_t mask) {                                          \
        uint32_t where[LANES];                                                                                         \
        uint64_t wide[LANES];                                                                                          \
        if (!reach32(w, r, mask, sizeof(V), where, wide)) {                                                            \
            memory_access(w, r, mask, wide);                                                                           \
            return;                                                                                                    \
        }                                                                                                              \
        watch_range32(w, r, mask, where);                                                                              \
        uint8_t *host = w->block->sites[r->c].host;                                                                    \
        const uint##S##_t *s = reg##S(w, r->b);                                                                        \
        const struct lane_order order = lane_order(w->block);                                                          \
        for (uint32_t left = mask; left;) {                                                                            \
            const unsigned i = next_lane(order, &left);                                                                \
            const V v = (V)s[i];                                                                                       \
            memcpy(host + where[i], &v, sizeof v);                                                                     \
        }                                                                                                              \
    }
STORE(store_b8, 32, uint8_t)
STORE(store_b16, 32, uint16_t)
STORE(store_b32, 32, uint32_t)
STORE(store_b64, 64, uint64_t)

#define STORE_VECTOR(name, N)                                                                                          \
    static void name(struct warp *w, const struct record *r, uint32_t mask) {                                          \
        uint32_t where[LANES];                                                                                         \
        uint64_t wide[LANES];                                                                                          \
        if (!reach32(w, r, mask, 4 * N, where, wide)) {                                                                \
            memory_access(w, r, mask, wide);                                                                           \
            return;                                                                                                    \
        }                                                                                                              \
        watch_range32(w, r, mask, where);                                                                              \
        uint8_t *host = w->block->sites[r->c].host;                                                                    \
        const uint32_t *from = w->wide + r->wide;                                                                      \
        const uint32_t *s[N];                                                                                          \
        for (int e = 0; e < N; ++e)                                                                                    \
            s[e] = reg32(w, from[e]);                                                                                  \
        const struct lane_order order = lane_order(w->block);                                                          \
        for (uint32_t left = mask; left;) {                                                                            \
            const unsigned i = next_lane(order, &left);                                                                \
            uint32_t v[N];                                                                                             \
            for (int e = 0; e < N; ++e)                                                                                \
                v[e] = s[e][i];                                                                                        \
            memcpy(host + where[i], v, sizeof v);                                                                      \
        }                                                                                                              \
    }
STORE_VECTOR(store_v2, 2)
STORE_VECTOR(store_v4, 4)

/* Lane 8j + q gives the address of row q of matrix j; its 16 bytes are words 4q .. 4q+3 of register j
 * (PTX ISA 9.7.14.5.15; measured on an H200). Transposed: half h of lane L's word is the 16-bit element (row 2 (L%4) +
 * h, column L/4). */
static void ldmatrix(struct warp *w, const struct record *r, uint32_t mask) {
    const unsigned matrices = r->b & 0xff, rows = 8 * matrices;
    if (matrices < 1 || matrices > 4)
        __builtin_unreachable(); /* decode.c gives 1, 2 or 4 */
    const uint32_t used = rows == LANES ? ALL_LANES : (1u << rows) - 1;
    const struct site_range *s = &w->block->sites[r->c];
    const uint32_t *a = reg32(w, r->a);
    const uint32_t *to = w->wide + r->wide;
    const uint8_t *host[LANES];
    bool fast = false;
    if (!(r->b & LDMATRIX_WIDE) && mask == w->live && (mask & used) == used) {
        uint32_t low = UINT32_MAX, high = 0, any = 0;
        for (unsigned i = 0; i < rows; ++i) {
            const uint32_t address = a[i] + (uint32_t)r->imm;
            low = address < low ? address : low;
            high = address > high ? address : high;
            any |= address;
        }
        fast = low >= s->lo && (uint64_t)high + 16 <= s->hi && !(any & 15);
    }
    if (__builtin_expect(fast, 1)) {
        uint32_t where[LANES] = {0};
        for (unsigned i = 0; i < rows; ++i) {
            where[i] = a[i] + (uint32_t)r->imm - (uint32_t)s->lo;
            host[i] = s->host + where[i];
        }
        watch_range32(w, r, used, where);
    } else {
        uint64_t wide[LANES];
        for (int i = 0; i < LANES; ++i)
            wide[i] = r->b & LDMATRIX_WIDE ? reg64(w, r->a)[i] + (uint64_t)r->imm : a[i] + (uint32_t)r->imm;
        check_convergence(w, r, mask, w->live);
        memory_rows(w, r, mask & used, wide, host);
    }

    uint32_t out[4][LANES] __attribute__((aligned(64)));
    for (unsigned j = 0; j < matrices; ++j) {
        if (!(r->b & LDMATRIX_TRANS)) {
            for (unsigned q = 0; q < 8; ++q)
                memcpy(out[j] + 4 * q, host[8 * j + q], 16);
            continue;
        }
        uint16_t m[8][8];
        for (unsigned q = 0; q < 8; ++q)
            memcpy(m[q], host[8 * j + q], 16);
        for (unsigned i = 0; i < LANES; ++i)
            out[j][i] = m[2 * (i & 3)][i >> 2] | (uint32_t)m[2 * (i & 3) + 1][i >> 2] << 16;
    }
    for (unsigned j = 0; j < matrices; ++j) {
        uint32_t *d = reg32(w, to[j]);
        if (mask == ALL_LANES)
            memcpy(d, out[j], sizeof out[j]);
        else
            for (int i = 0; i < LANES; ++i)
                d[i] = mask & lane_bit[i] ? out[j][i] : d[i];
    }
}

handler *const JOIN(memory_ops, ISA)[MEMORY_OPS] = {
    [MEMORY_LOAD32_U8] = load32_u8,   [MEMORY_LOAD32_S8] = load32_s8,   [MEMORY_LOAD32_U16] = load32_u16,
    [MEMORY_LOAD32_S16] = load32_s16, [MEMORY_LOAD32_B32] = load32_b32, [MEMORY_LOAD32_B64] = load32_b64,
    [MEMORY_LOAD32_V2] = load32_v2,   [MEMORY_LOAD32_V4] = load32_v4,   [MEMORY_LOAD64_U8] = load64_u8,
    [MEMORY_LOAD64_S8] = load64_s8,   [MEMORY_LOAD64_U16] = load64_u16, [MEMORY_LOAD64_S16] = load64_s16,
    [MEMORY_LOAD64_B32] = load64_b32, [MEMORY_LOAD64_B64] = load64_b64, [MEMORY_LOAD64_V2] = load64_v2,
    [MEMORY_LOAD64_V4] = load64_v4,   [MEMORY_STORE32_B8] = store_b8,   [MEMORY_STORE32_B16] = store_b16,
    [MEMORY_STORE32_B32] = store_b32, [MEMORY_STORE32_B64] = store_b64, [MEMORY_STORE32_V2] = store_v2,
    [MEMORY_STORE32_V4] = store_v4,   [MEMORY_LDMATRIX] = ldmatrix,
};
