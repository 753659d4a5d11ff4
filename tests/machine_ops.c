/* Every lane operation of the machine against a formula written here, with random and edge operands, under full and
 * partial masks, on every instruction set this CPU has. Rules: facts of the PTX ISA, 9.7.1 .. 9.7.9. */
#include "machine_ops.h"

#define BLOCKS   48
#define INPUTS   (BLOCKS * 32)
#define SENTINEL 0x5a5a5a5a5a5a5a5au

static const uint64_t edges[] = {
    0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000,
    0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
    0xffffffffffffffff, 0xffffffff80000000, 0xffffffff7fffffff,
    /* f32: subnormals, ones, halves, integer limits, infinities, NaNs */
    0x007fffff, 0x00800000, 0x807fffff, 0x3f800000, 0xbf800000, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000,
    0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0x5f7fffff,
    0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x477fe000, 0x477fefff, 0x477ff000,
    0x33000000, 0x33000001, 0x387fe000, 0x38800000, 0x43000000, 0xc3010000, 0x437f0000, 0x43808000,
    /* f64 */
    0x3ff0000000000000, 0xbff8000000000000, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000,
    0xc1e0000000200000, 0x43e0000000000000, 0xc3e0000000000000, 0x7ff0000000000000, 0xfff0000000000000,
    0x7ff8000000000000, 0x7ff8000020000000, 0xfff4000100000001, 0x7ff0000000000001, 0xffffffffffffffff,
    0x380fffffffffffff, 0x380ffffff0000000, 0x380fffffefffffff, 0xb80fffffe0000000, 0xb80fffffc0000000,
    0x000fffffffffffff, 0x0010000000000000, 0x369fffffffffffff, 0x47efffffefffffff, 0x47effffff0000000,
    0x3ff0000010000000,
    /* f16, twice */
    0x3c003c00, 0x7bff7bff, 0x7c00fc00, 0x7e017c01, 0x00010001, 0x03ff0400, 0x80018000};

static uint64_t operand(uint64_t *seed) {
    const uint64_t x = next_random(seed), kind = next_random(seed) % 8;
    switch (kind) {
    case 0:
    case 1:
        return edges[x % (sizeof edges / sizeof *edges)];
    case 2: /* near one another in magnitude, as f32 */
        return (x & 0x807fffff) | (120 + (x >> 32) % 16) << 23;
    case 3: /* as f64, within the integers */
        return (x & 0x800fffffffffffff) | (uint64_t)(1010 + next_random(seed) % 60) << 52;
    case 4:
        return x % 70;
    case 5: /* halves of ordinary size */
        return (x & 0x83ff83ff) | 0x38003400 | (x >> 33 & 0x0c000c00);
    case 6: /* a NaN as f64 */
        return x | 0x7ff0000000000000;
    default:
        return x;
    }
}

/* Floats whose products and fused sums come to lie next to the least normal number, 2^-126. */
static uint64_t small_operand(uint64_t *seed, int which) {
    const uint64_t x = next_random(seed), low = x >> 40 & 3, sign = x & 0x80000000;
    if (which == 2)
        return sign | (x >> 50 & 1 ? 0x00800000 + low % 3 : 0);
    return sign | (63 + (x >> 48 & 1)) << 23 | (x >> 52 & 1 ? low : 0x7fffff - low);
}

static const char *type_of(char c) {
    return c == 'h' ? "u16" : c == 'r' ? "u32" : c == 'f' ? "f32" : c == 'd' ? "f64" : "u64";
}
static const char *register_of(char c) {
    return c == 'h' ? "%h" : c == 'r' ? "%r" : c == 'f' ? "%f" : c == 'd' ? "%d" : c == 'p' ? "%p" : "%rd";
}

/* lane-wise: load a, b, c; the instruction, under a guard when partial; store. Slots of 8 bytes. */
static void write_body(const struct machine_op *op, bool partial, char *body, size_t room) {
    size_t n = (size_t)snprintf(body, room,
                                "ld.param.u64 %%rd20, [p0];\nld.param.u64 %%rd21, [p1];\n"
                                "mov.u32 %%r60, %%ctaid.x;\nmov.u32 %%r61, %%tid.x;\n"
                                "mad.lo.s32 %%r62, %%r60, 32, %%r61;\nmul.wide.u32 %%rd22, %%r62, 24;\n"
                                "add.s64 %%rd20, %%rd20, %%rd22;\nmul.wide.u32 %%rd23, %%r62, 8;\n"
                                "add.s64 %%rd21, %%rd21, %%rd23;\n");
    for (size_t i = 0; op->sources[i]; ++i) {
        const char c = op->sources[i] == 'p' ? 'r' : op->sources[i];
        n += (size_t)snprintf(body + n, room - n, "ld.global.%s %s%zu, [%%rd20+%zu];\n", type_of(c), register_of(c),
                              i + 1, 8 * i);
        if (op->sources[i] == 'p')
            n += (size_t)snprintf(body + n, room - n, "and.b32 %%r59, %%r%zu, 1;\nsetp.ne.u32 %%p%zu, %%r59, 0;\n",
                                  i + 1, i + 1);
    }
    const char *d = register_of(op->dst);
    if (op->dst == 'p')
        n += (size_t)snprintf(body + n, room - n, "setp.eq.u32 %%p9, %%r61, %%r61;\n");
    else
        n += (size_t)snprintf(body + n, room - n, "ld.global.%s %s9, [%%rd21];\n", type_of(op->dst), d);
    /* lanes whose number has a bit in common with 5 */
    n += (size_t)snprintf(body + n, room - n, "and.b32 %%r63, %%r61, 5;\nsetp.ne.u32 %%p15, %%r63, 0;\n");
    n += (size_t)snprintf(body + n, room - n, "%s%s %s9", partial ? "@%p15 " : "", op->instruction, d);
    for (size_t i = 0; op->sources[i]; ++i)
        n += (size_t)snprintf(body + n, room - n, ", %s%zu", register_of(op->sources[i]), i + 1);
    n += (size_t)snprintf(body + n, room - n, "%s;\n", op->tail);
    if (op->dst == 'p')
        snprintf(body + n, room - n, "selp.u32 %%r58, 1, 0, %%p9;\nst.global.u32 [%%rd21], %%r58;\nret;\n");
    else
        snprintf(body + n, room - n, "st.global.%s [%%rd21], %s9;\nret;\n", type_of(op->dst), d);
}

static uint64_t width_mask(char c) {
    return c == 'h' ? 0xffff : c == 'r' || c == 'f' || c == 'p' ? 0xffffffff : UINT64_MAX;
}

/* in and out: INPUTS operands and results. */
static bool agrees_once(const struct machine_op *op, bool partial, const char *isa, uint64_t (*in)[3], uint64_t *out,
                        char *why, size_t room) {
    char body[2048];
    write_body(op, partial, body, sizeof body);
    for (size_t i = 0; i < INPUTS; ++i)
        out[i] = SENTINEL;
    struct launch_buffer buffers[2] = {
        {.name = "in", .role = BUFFER_IN, .bytes = INPUTS * sizeof *in, .cell_bytes = 8, .data = (void *)in},
        {.name = "out", .role = BUFFER_INOUT, .bytes = INPUTS * sizeof *out, .cell_bytes = 8, .data = (void *)out}};
    const struct machine_test test = {
        .body = body, .buffers = buffers, .buffer_count = 2, .grid = {BLOCKS}, .isa = isa};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    bool same = t.event_count == 0;
    if (!same)
        snprintf(why, room, "%s: an event", op->instruction);
    for (size_t i = 0; same && i < INPUTS; ++i) {
        uint64_t v[3] = {0};
        for (size_t s = 0; op->sources[s]; ++s)
            v[s] = op->sources[s] == 'p' ? in[i][s] & 1 : in[i][s] & width_mask(op->sources[s]);
        const uint64_t mask = width_mask(op->dst);
        const bool skipped = partial && !(i % 32 & 5);
        const uint64_t old = op->dst == 'p' ? 1 : SENTINEL & mask;
        const uint64_t want = skipped ? old : op->value(v[0], v[1], v[2]) & mask, got = out[i] & mask;
        same = got == want;
        if (!same)
            snprintf(why, room, "%s (%s%s) of %llx, %llx, %llx: want %llx got %llx", op->instruction, isa,
                     partial ? ", partial" : "", (unsigned long long)v[0], (unsigned long long)v[1],
                     (unsigned long long)v[2], (unsigned long long)want, (unsigned long long)got);
    }
    trace_free(&t);
    ptx_free(m);
    return same;
}

bool machine_agrees(const struct machine_op *op, uint64_t seed, char *why, size_t room) {
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    uint64_t(*in)[3] = malloc(INPUTS * sizeof *in), *out = malloc(INPUTS * sizeof *out);
    bool same = true;
    for (size_t i = 0; i < INPUTS; ++i)
        for (int s = 0; s < 3; ++s)
            in[i][s] = i % 4 ? operand(&seed) : small_operand(&seed, s);
    for (size_t run = 0; same && run < 2 * isa_count; ++run)
        same = agrees_once(op, run & 1, isas[run / 2], in, out, why, room);
    free(in), free(out);
    return same;
}

void machine_check_ops(const struct machine_op *ops, size_t count) {
    for (size_t k = 0; k < count; ++k) {
        char why[400];
        cr_assert(machine_agrees(&ops[k], 0x9e3779b97f4a7c15u + k, why, sizeof why), "%s", why);
    }
}

typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef uint16_t u16;
typedef int16_t s16;
__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

static u64 bit_by_bit_bfe(u64 a, u64 b, u64 c, unsigned width, bool is_signed) {
    const unsigned pos = b & 255, len = c & 255;
    const unsigned top = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
    const u64 fill = is_signed && len ? a >> top & 1 : 0;
    u64 d = 0;
    for (unsigned i = 0; i < width; ++i)
        d |= (i < len && pos + i < width ? a >> (pos + i) & 1 : fill) << i;
    return d;
}
static u64 at_most_255(u64 x) {
    return x > 255 ? 255 : x;
}
static u64 bit_by_bit_bfi(u64 a, u64 b, unsigned pos, unsigned len, unsigned width) {
    for (unsigned i = 0; i < len && pos + i < width; ++i)
        b = (b & ~((u64)1 << (pos + i))) | (a >> i & 1) << (pos + i);
    return b;
}
static u64 bytes_picked(u64 a, u64 b, u64 c) {
    u64 d = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned s = c >> (4 * i) & 15, j = s & 7;
        const unsigned byte = (j < 4 ? a >> (8 * j) : b >> (8 * (j - 4))) & 255;
        d |= (u64)(s < 8 ? byte : byte > 127 ? 255 : 0) << (8 * i);
    }
    return d;
}
static u64 bits_mapped(u64 a, u64 b, u64 c, unsigned table) {
    u64 d = 0;
    for (int i = 0; i < 32; ++i)
        d |= (u64)(table >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i;
    return d;
}
static u64 mirrored(u64 a, int width) {
    u64 d = 0;
    for (int i = 0; i < width; ++i)
        d |= (a >> i & 1) << (width - 1 - i);
    return d;
}
static u64 highest(u64 a, int width) {
    for (int i = width - 1; i >= 0; --i)
        if (a >> i & 1)
            return (u64)i;
    return UINT32_MAX;
}
static u64 counted(u64 a) {
    u64 n = 0;
    for (; a; a >>= 1)
        n += a & 1;
    return n;
}
static s64 part(u64 x, int i, int bits, bool is_unsigned) {
    const u64 v = x >> (bits * i) & (((u64)1 << bits) - 1);
    return is_unsigned || !(v >> (bits - 1)) ? (s64)v : (s64)v - ((s64)1 << bits);
}
static u64 dots(u64 a, u64 b, u64 c, bool ua, bool ub) {
    s64 sum = (s64)c;
    for (int i = 0; i < 4; ++i)
        sum += part(a, i, 8, ua) * part(b, i, 8, ub);
    return (u64)sum;
}
static u64 dots2(u64 a, u64 b, u64 c, bool ua, bool ub, int from) {
    return (u64)((s64)c + part(a, 0, 16, ua) * part(b, from, 8, ub) + part(a, 1, 16, ua) * part(b, from + 1, 8, ub));
}
static u64 divided(s128 a, s128 b) {
    return b ? (u64)(a / b) : UINT64_MAX;
}
static u64 remained(s128 a, s128 b) {
    return b ? (u64)(a % b) : UINT64_MAX;
}
static u64 clamped(s64 x) {
    return (u64)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}
static u64 distance(s128 a, s128 b) {
    return (u64)(a > b ? a - b : b - a);
}

/* instruction, class of the destination, classes of the sources, rest of the operands, value */
#define INTEGER_OPS(OP)                                                                                                \
    OP(add_u16, "add.u16", 'h', "hh", "", a + b)                                                                       \
    OP(add_s32, "add.s32", 'r', "rr", "", a + b)                                                                       \
    OP(add_s64, "add.s64", 'l', "ll", "", a + b)                                                                       \
    OP(add_sat, "add.sat.s32", 'r', "rr", "", clamped((s64)(s32)a + (s32)b))                                           \
    OP(sub_sat, "sub.sat.s32", 'r', "rr", "", clamped((s64)(s32)a - (s32)b))                                           \
    OP(sub_s16, "sub.s16", 'h', "hh", "", a - b)                                                                       \
    OP(sub_u32, "sub.u32", 'r', "rr", "", a - b)                                                                       \
    OP(sub_u64, "sub.u64", 'l', "ll", "", a - b)                                                                       \
    OP(mul_lo_s16, "mul.lo.s16", 'h', "hh", "", a *b)                                                                  \
    OP(mul_lo_s32, "mul.lo.s32", 'r', "rr", "", a *b)                                                                  \
    OP(mul_lo_s64, "mul.lo.s64", 'l', "ll", "", a *b)                                                                  \
    OP(mul_hi_s16, "mul.hi.s16", 'h', "hh", "", (u64)((s64)(s16)a * (s16)b >> 16))                                     \
    OP(mul_hi_u16, "mul.hi.u16", 'h', "hh", "", a *b >> 16)                                                            \
    OP(mul_hi_s32, "mul.hi.s32", 'r', "rr", "", (u64)((s64)(s32)a * (s32)b >> 32))                                     \
    OP(mul_hi_u32, "mul.hi.u32", 'r', "rr", "", a *b >> 32)                                                            \
    OP(mul_hi_s64, "mul.hi.s64", 'l', "ll", "", (u64)((s128)(s64)a * (s64)b >> 64))                                    \
    OP(mul_hi_u64, "mul.hi.u64", 'l', "ll", "", (u64)((u128)a * b >> 64))                                              \
    OP(mul_wide_s16, "mul.wide.s16", 'r', "hh", "", (u64)((s64)(s16)a * (s16)b))                                       \
    OP(mul_wide_u16, "mul.wide.u16", 'r', "hh", "", a *b)                                                              \
    OP(mul_wide_s32, "mul.wide.s32", 'l', "rr", "", (u64)((s64)(s32)a * (s32)b))                                       \
    OP(mul_wide_u32, "mul.wide.u32", 'l', "rr", "", a *b)                                                              \
    OP(mad_lo_u16, "mad.lo.u16", 'h', "hhh", "", a *b + c)                                                             \
    OP(mad_lo_s32, "mad.lo.s32", 'r', "rrr", "", a *b + c)                                                             \
    OP(mad_lo_s64, "mad.lo.s64", 'l', "lll", "", a *b + c)                                                             \
    OP(mad_hi_s32, "mad.hi.s32", 'r', "rrr", "", (u64)((s64)(s32)a * (s32)b >> 32) + c)                                \
    OP(mad_hi_u64, "mad.hi.u64", 'l', "lll", "", (u64)((u128)a * b >> 64) + c)                                         \
    OP(mad_hi_sat, "mad.hi.sat.s32", 'r', "rrr", "", clamped(((s64)(s32)a * (s32)b >> 32) + (s32)c))                   \
    OP(mad_wide_s16, "mad.wide.s16", 'r', "hhr", "", (u64)((s64)(s16)a * (s16)b) + c)                                  \
    OP(mad_wide_u16, "mad.wide.u16", 'r', "hhr", "", a *b + c)                                                         \
    OP(mad_wide_s32, "mad.wide.s32", 'l', "rrl", "", (u64)((s64)(s32)a * (s32)b) + c)                                  \
    OP(mad_wide_u32, "mad.wide.u32", 'l', "rrl", "", a *b + c)                                                         \
    OP(mul24_lo_u, "mul24.lo.u32", 'r', "rr", "", (a & 0xffffff) * (b & 0xffffff))                                     \
    OP(mul24_hi_u, "mul24.hi.u32", 'r', "rr", "", (a & 0xffffff) * (b & 0xffffff) >> 16)                               \
    OP(mul24_lo_s, "mul24.lo.s32", 'r', "rr", "", (u64)(part(a, 0, 24, false) * part(b, 0, 24, false)))                \
    OP(mul24_hi_s, "mul24.hi.s32", 'r', "rr", "", (u64)(part(a, 0, 24, false) * part(b, 0, 24, false) >> 16))          \
    OP(mad24_lo_s, "mad24.lo.s32", 'r', "rrr", "", (u64)(part(a, 0, 24, false) * part(b, 0, 24, false)) + c)           \
    OP(sad_u16, "sad.u16", 'h', "hhh", "", distance(a, b) + c)                                                         \
    OP(sad_s16, "sad.s16", 'h', "hhh", "", distance((s16)a, (s16)b) + c)                                               \
    OP(sad_s32, "sad.s32", 'r', "rrr", "", distance((s32)a, (s32)b) + c)                                               \
    OP(sad_u32, "sad.u32", 'r', "rrr", "", distance(a, b) + c)                                                         \
    OP(sad_s64, "sad.s64", 'l', "lll", "", distance((s64)a, (s64)b) + c)                                               \
    OP(sad_u64, "sad.u64", 'l', "lll", "", distance(a, b) + c)                                                         \
    OP(div_u16, "div.u16", 'h', "hh", "", divided(a, b))                                                               \
    OP(div_s16, "div.s16", 'h', "hh", "", divided((s16)a, (s16)b))                                                     \
    OP(div_u32, "div.u32", 'r', "rr", "", divided(a, b))                                                               \
    OP(div_s32, "div.s32", 'r', "rr", "", divided((s32)a, (s32)b))                                                     \
    OP(div_u64, "div.u64", 'l', "ll", "", divided(a, b))                                                               \
    OP(div_s64, "div.s64", 'l', "ll", "", divided((s64)a, (s64)b))                                                     \
    OP(rem_u16, "rem.u16", 'h', "hh", "", remained(a, b))                                                              \
    OP(rem_s16, "rem.s16", 'h', "hh", "", remained((s16)a, (s16)b))                                                    \
    OP(rem_u32, "rem.u32", 'r', "rr", "", remained(a, b))                                                              \
    OP(rem_s32, "rem.s32", 'r', "rr", "", remained((s32)a, (s32)b))                                                    \
    OP(rem_u64, "rem.u64", 'l', "ll", "", remained(a, b))                                                              \
    OP(rem_s64, "rem.s64", 'l', "ll", "", remained((s64)a, (s64)b))                                                    \
    OP(min_u16, "min.u16", 'h', "hh", "", a < b ? a : b)                                                               \
    OP(min_s16, "min.s16", 'h', "hh", "", (s16)a < (s16)b ? a : b)                                                     \
    OP(min_u32, "min.u32", 'r', "rr", "", a < b ? a : b)                                                               \
    OP(min_s32, "min.s32", 'r', "rr", "", (s32)a < (s32)b ? a : b)                                                     \
    OP(min_u64, "min.u64", 'l', "ll", "", a < b ? a : b)                                                               \
    OP(min_s64, "min.s64", 'l', "ll", "", (s64)a < (s64)b ? a : b)                                                     \
    OP(max_u16, "max.u16", 'h', "hh", "", a > b ? a : b)                                                               \
    OP(max_s16, "max.s16", 'h', "hh", "", (s16)a > (s16)b ? a : b)                                                     \
    OP(max_u32, "max.u32", 'r', "rr", "", a > b ? a : b)                                                               \
    OP(max_s32, "max.s32", 'r', "rr", "", (s32)a > (s32)b ? a : b)                                                     \
    OP(max_u64, "max.u64", 'l', "ll", "", a > b ? a : b)                                                               \
    OP(max_s64, "max.s64", 'l', "ll", "", (s64)a > (s64)b ? a : b)                                                     \
    OP(abs_s16, "abs.s16", 'h', "h", "", (s16)a < 0 ? 0 - a : a)                                                       \
    OP(abs_s32, "abs.s32", 'r', "r", "", (s32)a < 0 ? 0 - a : a)                                                       \
    OP(abs_s64, "abs.s64", 'l', "l", "", (s64)a < 0 ? 0 - a : a)                                                       \
    OP(neg_s16, "neg.s16", 'h', "h", "", 0 - a)                                                                        \
    OP(neg_s32, "neg.s32", 'r', "r", "", 0 - a)                                                                        \
    OP(neg_s64, "neg.s64", 'l', "l", "", 0 - a)
#define BIT_OPS(OP)                                                                                                    \
    OP(and_b16, "and.b16", 'h', "hh", "", a &b)                                                                        \
    OP(and_b32, "and.b32", 'r', "rr", "", a &b)                                                                        \
    OP(and_b64, "and.b64", 'l', "ll", "", a &b)                                                                        \
    OP(or_b16, "or.b16", 'h', "hh", "", a | b)                                                                         \
    OP(or_b32, "or.b32", 'r', "rr", "", a | b)                                                                         \
    OP(or_b64, "or.b64", 'l', "ll", "", a | b)                                                                         \
    OP(xor_b16, "xor.b16", 'h', "hh", "", a ^ b)                                                                       \
    OP(xor_b32, "xor.b32", 'r', "rr", "", a ^ b)                                                                       \
    OP(xor_b64, "xor.b64", 'l', "ll", "", a ^ b)                                                                       \
    OP(not_b16, "not.b16", 'h', "h", "", ~a)                                                                           \
    OP(not_b32, "not.b32", 'r', "r", "", ~a)                                                                           \
    OP(not_b64, "not.b64", 'l', "l", "", ~a)                                                                           \
    OP(cnot_b16, "cnot.b16", 'h', "h", "", !a)                                                                         \
    OP(cnot_b32, "cnot.b32", 'r', "r", "", !a)                                                                         \
    OP(cnot_b64, "cnot.b64", 'l', "l", "", !a)                                                                         \
    OP(shl_b16, "shl.b16", 'h', "hr", "", b < 16 ? a << b : 0)                                                         \
    OP(shl_b32, "shl.b32", 'r', "rr", "", b < 32 ? a << b : 0)                                                         \
    OP(shl_b64, "shl.b64", 'l', "lr", "", b < 64 ? a << b : 0)                                                         \
    OP(shr_u16, "shr.u16", 'h', "hr", "", b < 16 ? a >> b : 0)                                                         \
    OP(shr_s16, "shr.s16", 'h', "hr", "", (u64)((s64)(s16)a >> (b < 16 ? b : 16)))                                     \
    OP(shr_b32, "shr.b32", 'r', "rr", "", b < 32 ? a >> b : 0)                                                         \
    OP(shr_s32, "shr.s32", 'r', "rr", "", (u64)((s64)(s32)a >> (b < 32 ? b : 32)))                                     \
    OP(shr_u64, "shr.u64", 'l', "lr", "", b < 64 ? a >> b : 0)                                                         \
    OP(shr_s64, "shr.s64", 'l', "lr", "", (u64)((s64)a >> (b < 63 ? b : 63)))                                          \
    OP(shf_lw, "shf.l.wrap.b32", 'r', "rrr", "", (b << 32 | a) << (c & 31) >> 32)                                      \
    OP(shf_lc, "shf.l.clamp.b32", 'r', "rrr", "", c < 32 ? (b << 32 | a) << c >> 32 : a)                               \
    OP(shf_rw, "shf.r.wrap.b32", 'r', "rrr", "", (b << 32 | a) >> (c & 31))                                            \
    OP(shf_rc, "shf.r.clamp.b32", 'r', "rrr", "", c < 32 ? (b << 32 | a) >> c : b)                                     \
    OP(bfe_u32, "bfe.u32", 'r', "rrr", "", bit_by_bit_bfe(a, b, c, 32, false))                                         \
    OP(bfe_s32, "bfe.s32", 'r', "rrr", "", bit_by_bit_bfe(a, b, c, 32, true))                                          \
    OP(bfe_u64, "bfe.u64", 'l', "lrr", "", bit_by_bit_bfe(a, at_most_255(b), at_most_255(c), 64, false))               \
    OP(bfe_s64, "bfe.s64", 'l', "lrr", "", bit_by_bit_bfe(a, at_most_255(b), at_most_255(c), 64, true))                \
    OP(bfi_4_28, "bfi.b32", 'r', "rr", ", 4, 28", bit_by_bit_bfi(a, b, 4, 28, 32))                                     \
    OP(bfi_20_20, "bfi.b32", 'r', "rr", ", 20, 20", bit_by_bit_bfi(a, b, 20, 20, 32))                                  \
    OP(bfi_pos, "bfi.b32", 'r', "rrr", ", 9", bit_by_bit_bfi(a, b, c & 255, 9, 32))                                    \
    OP(bfi_b64, "bfi.b64", 'l', "llr", ", 40", bit_by_bit_bfi(a, b, (unsigned)at_most_255(c), 40, 64))                 \
    OP(prmt, "prmt.b32", 'r', "rrr", "", bytes_picked(a, b, c))                                                        \
    OP(prmt_f4e, "prmt.b32.f4e", 'r', "rrr", "", bytes_picked(a, b, 0x3210 + (c & 3) * 0x1111))                        \
    OP(prmt_b4e, "prmt.b32.b4e", 'r', "rrr", "", bytes_picked(a, b, ((u64[]){0x5670, 0x6701, 0x7012, 0x0123})[c & 3])) \
    OP(prmt_rc8, "prmt.b32.rc8", 'r', "rrr", "", bytes_picked(a, b, (c & 3) * 0x1111))                                 \
    OP(prmt_ecl, "prmt.b32.ecl", 'r', "rrr", "", bytes_picked(a, b, ((u64[]){0x3210, 0x3211, 0x3222, 0x3333})[c & 3])) \
    OP(prmt_ecr, "prmt.b32.ecr", 'r', "rrr", "", bytes_picked(a, b, ((u64[]){0x0000, 0x1110, 0x2210, 0x3210})[c & 3])) \
    OP(prmt_rc16, "prmt.b32.rc16", 'r', "rrr", "", bytes_picked(a, b, c & 1 ? 0x3232 : 0x1010))                        \
    OP(lop3_e2, "lop3.b32", 'r', "rrr", ", 0xe2", bits_mapped(a, b, c, 0xe2))                                          \
    OP(lop3_96, "lop3.b32", 'r', "rrr", ", 0x96", bits_mapped(a, b, c, 0x96))                                          \
    OP(popc_b32, "popc.b32", 'r', "r", "", counted(a))                                                                 \
    OP(popc_b64, "popc.b64", 'r', "l", "", counted(a))                                                                 \
    OP(clz_b32, "clz.b32", 'r', "r", "", 31 - highest(a, 32))                                                          \
    OP(clz_b64, "clz.b64", 'r', "l", "", 63 - highest(a, 64))                                                          \
    OP(brev_b32, "brev.b32", 'r', "r", "", mirrored(a, 32))                                                            \
    OP(brev_b64, "brev.b64", 'l', "l", "", mirrored(a, 64))                                                            \
    OP(bfind_u32, "bfind.u32", 'r', "r", "", highest(a, 32))                                                           \
    OP(bfind_s32, "bfind.s32", 'r', "r", "", highest((s32)a < 0 ? ~a & 0xffffffff : a, 32))                            \
    OP(bfind_u64, "bfind.u64", 'r', "l", "", highest(a, 64))                                                           \
    OP(bfind_s64, "bfind.s64", 'r', "l", "", highest((s64)a < 0 ? ~a : a, 64))                                         \
    OP(bfind_amount, "bfind.shiftamt.u32", 'r', "r", "", a ? 31 - highest(a, 32) : UINT32_MAX)                         \
    OP(bmsk_c, "bmsk.clamp.b32", 'r', "rr", "", a > 31 ? 0 : (b > 31 ? UINT32_MAX : ((u64)1 << b) - 1) << a)           \
    OP(bmsk_w, "bmsk.wrap.b32", 'r', "rr", "", (((u64)1 << (b & 31)) - 1) << (a & 31))                                 \
    OP(dp4a_ss, "dp4a.s32.s32", 'r', "rrr", "", dots(a, b, c, false, false))                                           \
    OP(dp4a_su, "dp4a.s32.u32", 'r', "rrr", "", dots(a, b, c, false, true))                                            \
    OP(dp4a_us, "dp4a.u32.s32", 'r', "rrr", "", dots(a, b, c, true, false))                                            \
    OP(dp4a_uu, "dp4a.u32.u32", 'r', "rrr", "", dots(a, b, c, true, true))                                             \
    OP(dp2a_lo, "dp2a.lo.s32.s32", 'r', "rrr", "", dots2(a, b, c, false, false, 0))                                    \
    OP(dp2a_hi, "dp2a.hi.s32.u32", 'r', "rrr", "", dots2(a, b, c, false, true, 2))                                     \
    OP(dp2a_us, "dp2a.lo.u32.s32", 'r', "rrr", "", dots2(a, b, c, true, false, 0))                                     \
    OP(dp2a_uu, "dp2a.hi.u32.u32", 'r', "rrr", "", dots2(a, b, c, true, true, 2))                                      \
    OP(mov_b16, "mov.b16", 'h', "h", "", a)                                                                            \
    OP(mov_b32, "mov.b32", 'f', "r", "", a)                                                                            \
    OP(mov_u64, "mov.u64", 'l', "l", "", a)                                                                            \
    OP(selp_b16, "selp.b16", 'h', "hhp", "", c ? a : b)                                                                \
    OP(selp_b32, "selp.b32", 'r', "rrp", "", c ? a : b)                                                                \
    OP(selp_f32, "selp.f32", 'f', "ffp", "", c ? a : b)                                                                \
    OP(selp_b64, "selp.b64", 'l', "llp", "", c ? a : b)                                                                \
    OP(slct_b32, "slct.u32.s32", 'r', "rrr", "", (s32)c >= 0 ? a : b)                                                  \
    OP(slct_b64, "slct.u64.s32", 'l', "llr", "", (s32)c >= 0 ? a : b)                                                  \
    OP(slct_b16, "slct.u16.s32", 'h', "hhr", "", (s32)c >= 0 ? a : b)                                                  \
    OP(and_pred, "and.pred", 'p', "pp", "", a &b)                                                                      \
    OP(or_pred, "or.pred", 'p', "pp", "", a | b)                                                                       \
    OP(xor_pred, "xor.pred", 'p', "pp", "", a ^ b)                                                                     \
    OP(not_pred, "not.pred", 'p', "p", "", !a)                                                                         \
    OP(mov_pred, "mov.pred", 'p', "p", "", a)                                                                          \
    OP(eq_u16, "setp.eq.u16", 'p', "hh", "", a == b)                                                                   \
    OP(ne_b64, "setp.ne.b64", 'p', "ll", "", a != b)                                                                   \
    OP(eq_s32, "setp.eq.s32", 'p', "rr", "", a == b)                                                                   \
    OP(lt_s16, "setp.lt.s16", 'p', "hh", "", (s16)a < (s16)b)                                                          \
    OP(ge_u16, "setp.ge.u16", 'p', "hh", "", a >= b)                                                                   \
    OP(le_s32, "setp.le.s32", 'p', "rr", "", (s32)a <= (s32)b)                                                         \
    OP(gt_s32, "setp.gt.s32", 'p', "rr", "", (s32)a > (s32)b)                                                          \
    OP(lt_u32, "setp.lt.u32", 'p', "rr", "", a < b)                                                                    \
    OP(lo_u32, "setp.lo.u32", 'p', "rr", "", a < b)                                                                    \
    OP(hs_u32, "setp.hs.u32", 'p', "rr", "", a >= b)                                                                   \
    OP(ge_s64, "setp.ge.s64", 'p', "ll", "", (s64)a >= (s64)b)                                                         \
    OP(hi_u64, "setp.hi.u64", 'p', "ll", "", a > b)                                                                    \
    OP(lt_and, "setp.lt.and.s32", 'p', "rrp", "", ((s32)a < (s32)b) & c)                                               \
    OP(lt_xor, "setp.lt.xor.s32", 'p', "rrp", "", ((s32)a < (s32)b) ^ c)                                               \
    OP(set_u32, "set.gt.u32.s32", 'r', "rr", "", (s32)a > (s32)b ? UINT32_MAX : 0)                                     \
    OP(set_f32, "set.eq.or.f32.u32", 'f', "rrp", "", a == b || c ? 0x3f800000 : 0)

#define FUNCTION(name, text, dst, sources, tail, expr)                                                                 \
    static u64 value_##name(u64 a, u64 b, u64 c) {                                                                     \
        (void)a, (void)b, (void)c;                                                                                     \
        return (expr);                                                                                                 \
    }
#define ROW(name, text, dst, sources, tail, expr) {text, dst, sources, tail, value_##name},

INTEGER_OPS(FUNCTION)
BIT_OPS(FUNCTION)

Test(machine_ops, integers) {
    static const struct machine_op ops[] = {INTEGER_OPS(ROW)};
    machine_check_ops(ops, sizeof ops / sizeof *ops);
}

Test(machine_ops, bits) {
    static const struct machine_op ops[] = {BIT_OPS(ROW)};
    machine_check_ops(ops, sizeof ops / sizeof *ops);
}

/* Instructions whose value is given wrong must be told from right ones: by an edge, by one lane in thousands. */
static u64 clamps_not(u64 a, u64 b, u64 c) {
    (void)c;
    return a << (b & 31);
}
static u64 forgets_the_mask(u64 a, u64 b, u64 c) {
    (void)b, (void)c;
    return (u64)(s64)(int8_t)a;
}
Test(machine_ops, sees_a_wrong_value) {
    static const struct machine_op wrong[] = {
        {"add.s32", 'r', "rr", "", value_sub_u32},       {"shl.b32", 'r', "rr", "", clamps_not},
        {"mul.hi.s32", 'r', "rr", "", value_mul_hi_u32}, {"shr.u32", 'r', "rr", "", value_shr_s32},
        {"bfe.u32", 'r', "rrr", "", value_bfe_s32},      {"cvt.u32.u8", 'r', "r", "", forgets_the_mask},
        {"setp.lt.u32", 'p', "rr", "", value_le_s32}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
        char why[400];
        cr_assert(!machine_agrees(&wrong[k], 77 + k, why, sizeof why), "a wrong %s passes", wrong[k].instruction);
    }
}
