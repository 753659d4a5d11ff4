/* atom and red, lane after lane. In global memory a sum of f32 flushes subnormals, in shared memory it keeps them
 * (facts of an H200). Blocks run in parallel: what commutes and gives nothing back may come in any order; after
 * anything else that two blocks do at one place the launch is run again, one block after the other (runner.c).
 * Source: PTX ISA 9.0, 9.7.13.5, 9.7.13.6. */
#include "../../ref/half.h"
#include "nan.h"
#include "schedule.h"
#include "spot.h"
#include "valid.h"
#include <string.h>

struct value { /* of one element: 128 bits for exch and cas */
    uint64_t low, high;
};

static uint32_t flush(uint32_t x) {
    return x & 0x7f800000u ? x : x & 0x80000000u;
}
static uint32_t add_f32(uint32_t a, uint32_t b, bool flushes) {
    if (flushes) {
        a = flush(a);
        b = flush(b);
    }
    const uint32_t sum = float_bits(nan32(bits_float(a) + bits_float(b)));
    return flushes ? flush(sum) : sum;
}
/* Of two NaNs global memory hands on that of the operand, as it is; shared memory that of the cell, made quiet (as the
 * code that ptxas makes of it does on an H200). */
static uint64_t add_f64(uint64_t a, uint64_t b, bool global) {
    if (global && (is_nan64(a) || is_nan64(b)))
        return is_nan64(b) ? b : a;
    return to_bits64(nan64(from_bits64(a) + from_bits64(b), from_bits64(a), from_bits64(b), from_bits64(b)));
}

/* 16-bit floats are added in f32 and rounded once more, which changes nothing: 24 >= 2 * 11 + 2. */
static float from_small(uint16_t x, bool brain) {
    return brain ? bits_float((uint32_t)x << 16) : half_to_float(x);
}
static uint16_t to_small(float x, bool brain) {
    if (!brain)
        return half_from_float(x);
    const uint32_t u = float_bits(x);
    return x != x ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static uint16_t apply_small(unsigned op, uint16_t a, uint16_t b, bool brain) {
    const float x = from_small(a, brain), y = from_small(b, brain);
    if (op == ATOMIC_ADD)
        return to_small(x + y, brain);
    if (x != x || y != y) /* a NaN gives way to the other operand */
        return x == x ? a : y == y ? b : 0x7fff;
    const bool less = x < y || (x == y && a & 0x8000); /* -0 is below +0 */
    return less == (op == ATOMIC_MIN) ? a : b;
}

static uint64_t apply_integer(unsigned op, enum ptx_type t, uint64_t a, uint64_t b) {
    const bool is_signed = t == PTX_S32 || t == PTX_S64;
    const unsigned unused = t == PTX_U64 || t == PTX_S64 || t == PTX_B64 ? 0 : 32;
    const bool less = is_signed ? (int64_t)(a << unused) < (int64_t)(b << unused) : a < b;
    switch (op) {
    case ATOMIC_ADD:
        return a + b;
    case ATOMIC_MIN:
        return less ? a : b;
    case ATOMIC_MAX:
        return less ? b : a;
    case ATOMIC_AND:
        return a & b;
    case ATOMIC_OR:
        return a | b;
    case ATOMIC_XOR:
        return a ^ b;
    case ATOMIC_INC:
        return a >= b ? 0 : a + 1;
    default: /* ATOMIC_DEC */
        return a == 0 || a > b ? b : a - 1;
    }
}

static struct value apply(unsigned op, enum ptx_type t, struct value old, struct value b, struct value c, bool global) {
    if (op == ATOMIC_EXCH)
        return b;
    if (op == ATOMIC_CAS)
        return old.low == b.low && old.high == b.high ? c : old;
    const bool brain = t == PTX_BF16 || t == PTX_BF16X2;
    struct value result = {0};
    switch (t) {
    case PTX_F32:
        result.low = add_f32((uint32_t)old.low, (uint32_t)b.low, global);
        break;
    case PTX_F64:
        result.low = add_f64(old.low, b.low, global);
        break;
    case PTX_F16X2:
    case PTX_BF16X2:
        result.low = (uint32_t)apply_small(op, (uint16_t)(old.low >> 16), (uint16_t)(b.low >> 16), brain) << 16;
        __attribute__((fallthrough));
    case PTX_F16:
    case PTX_BF16:
        result.low |= apply_small(op, (uint16_t)old.low, (uint16_t)b.low, brain);
        break;
    default:
        result.low = apply_integer(op, t, old.low, b.low);
    }
    return result;
}

static struct value get(const struct warp *w, const struct access *x, uint32_t offset, unsigned lane) {
    if (x->element_bytes == 16) /* a register of 128 bits: low halves, then high halves */
        return (struct value){reg64(w, offset)[lane], reg64(w, offset + 256)[lane]};
    return (struct value){x->wide_registers ? reg64(w, offset)[lane] : reg32(w, offset)[lane], 0};
}
static void put(struct warp *w, const struct access *x, uint32_t offset, unsigned lane, struct value v) {
    if (x->element_bytes == 16) {
        reg64(w, offset)[lane] = v.low;
        if (offset != FILE_SCRATCH)
            reg64(w, offset + 256)[lane] = v.high;
    } else if (x->wide_registers) {
        reg64(w, offset)[lane] = v.low;
    } else {
        reg32(w, offset)[lane] = (uint32_t)v.low;
    }
}

/* One lane's. All of its operands are read before a destination is written. */
static void run_lane(struct warp *w, const struct record *r, const struct access *x, unsigned lane,
                     const struct spot *spot) {
    const unsigned op = r->b & 0xff;
    const enum ptx_type t = (enum ptx_type)(r->b >> 8 & 0xff);
    const bool returns = r->b & ATOMIC_RETURNS;
    const uint32_t *registers = w->wide + r->wide;
    const size_t unit = x->element_bytes;
    struct value old[8];
    for (unsigned e = 0; e < x->elements; ++e)
        old[e] = (struct value){UINT64_MAX, UINT64_MAX};
    if (spot->host) {
        const struct value c = op == ATOMIC_CAS ? get(w, x, registers[2 * x->elements], lane) : (struct value){0};
        atomic_flag *lock = lock_spot(w->block->machine, spot);
        if (spot->region && spot->region->watched_reads && x->atomic)
            valid_global(w, r, lane, spot->region, spot->offset, x->bytes);
        if (spot->region)
            note_atomic(w, r, lane, spot, x->bytes);
        for (unsigned e = 0; e < x->elements; ++e) {
            struct value b = get(w, x, registers[e], lane);
            if (unit < 8)
                b.low &= ((uint64_t)1 << (8 * unit)) - 1;
            old[e] = (struct value){0};
            memcpy(&old[e], spot->host + e * unit, unit);
            const struct value now = apply(op, t, old[e], b, c, spot->region);
            memcpy(spot->host + e * unit, &now, unit);
        }
        unlock_spot(lock);
    }
    for (unsigned e = 0; returns && e < x->elements; ++e) {
        if (x->register_bits == 16)
            old[e].low &= 0xffff;
        put(w, x, registers[x->elements + e], lane, old[e]);
    }
}

void op_atomic(struct warp *w, const struct record *r, uint32_t mask) {
    const struct access *x = &w->block->machine->program->accesses[r->c];
    uint64_t addr[LANES];
    struct spot spots[LANES];
    memory_addresses(w, r, addr);
    find_spots(w, r, mask, addr, spots);
    const struct lane_order order = lane_order(w->block);
    for (uint32_t left = mask; left;) {
        const unsigned lane = next_lane(order, &left);
        run_lane(w, r, x, lane, &spots[lane]);
    }
}
