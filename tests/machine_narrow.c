/* Conversions to f16, bf16, tf32 and fp8 from every type that goes there, in every rounding, against a search for the
 * neighbours of the exact value (tests/independent/narrow.c). Values lie on, and next to, ties of the format, so that a
 * second rounding on the way shows. */
#include "independent/independent.h"
#include "machine_run.h"

enum { BLOCKS = 32, VALUES = BLOCKS * 32 };

struct source {
    const char *name, *load; /* PTX type; what brings the 64 bits in %rd30 into the operand */
    const char *operand;
    int fraction, exponent_bits; /* of a float; 0: an integer */
    bool is_signed;
    int bits;
};
static const struct source sources[] = {
    {"f32", "cvt.u32.u64 %r50, %rd30;\nmov.b32 %f1, %r50;", "%f1", 23, 8, true, 32},
    {"f64", "mov.b64 %d1, %rd30;", "%d1", 52, 11, true, 64},
    {"f16", "cvt.u16.u64 %h1, %rd30;", "%h1", 10, 5, true, 16},
    {"bf16", "cvt.u16.u64 %h1, %rd30;", "%h1", 7, 8, true, 16},
    {"s64", "mov.b64 %rd1, %rd30;", "%rd1", 0, 0, true, 64},
    {"u64", "mov.b64 %rd1, %rd30;", "%rd1", 0, 0, false, 64},
    {"s32", "cvt.u32.u64 %r1, %rd30;", "%r1", 0, 0, true, 32},
    {"u32", "cvt.u32.u64 %r1, %rd30;", "%r1", 0, 0, false, 32},
    {"s16", "cvt.u16.u64 %h1, %rd30;", "%h1", 0, 0, true, 16},
    {"u8", "cvt.u16.u64 %h1, %rd30;", "%h1", 0, 0, false, 8},
};

static uint64_t low_bits(uint64_t x, int n) {
    return n > 63 ? x : x & (((uint64_t)1 << n) - 1);
}

/* +-(mantissa * 2^exponent) of the operand's bits. False: infinite or NaN (*nan). */
static bool take_apart(const struct source *s, uint64_t bits, bool *negative, uint64_t *mantissa, int *exponent,
                       bool *nan) {
    bits = low_bits(bits, s->bits);
    *negative = s->is_signed && bits >> (s->bits - 1) & 1;
    *nan = false;
    *exponent = 0;
    if (!s->fraction) {
        *mantissa = *negative ? low_bits(0 - bits, s->bits) : bits;
        return true;
    }
    const uint64_t field = bits >> s->fraction & ((1u << s->exponent_bits) - 1);
    *mantissa = low_bits(bits, s->fraction);
    *nan = *mantissa;
    if (field == (1u << s->exponent_bits) - 1)
        return false;
    *nan = false;
    *mantissa += field ? (uint64_t)1 << s->fraction : 0;
    *exponent = (int)(field ? field : 1) - ((1 << (s->exponent_bits - 1)) - 1) - s->fraction;
    return true;
}

/* Bits of a source at, or one unit off, a number or a tie of the format; or any bits. */
static uint64_t value(const struct source *s, const struct narrow_format *f, uint64_t *seed) {
    const uint64_t x = next_random(seed), choice = next_random(seed);
    const int kept = f->precision + (int)(choice >> 8 & 1); /* with the bit of the tie */
    const int64_t off = choice >> 16 & 1 ? 0 : choice >> 17 & 1 ? 1 : -1;
    if (choice % 8 == 0)
        return x;
    if (!s->fraction) {
        const int size = 1 + (int)(x % (unsigned)s->bits), below = size > kept ? size - kept : 0;
        const uint64_t whole = (next_random(seed) >> (64 - size) >> below << below) + (uint64_t)off;
        return choice >> 20 & 1 ? 0 - whole : whole;
    }
    const int bias = (1 << (s->exponent_bits - 1)) - 1, below = s->fraction - kept + 1 > 0 ? s->fraction - kept + 1 : 0;
    /* about the format's least and largest numbers, and between */
    const int spread = f->precision + 8, low = f->least + bias - 4, most = (1 << s->exponent_bits) - 1;
    int field = choice >> 20 & 1 ? low + (int)(x % (unsigned)spread) : bias - 20 + (int)(x % 40);
    if (choice >> 21 & 1)
        field = (int)(x % (unsigned)most);
    field = field < 0 ? 0 : field > most ? most : field;
    const uint64_t fraction = low_bits(next_random(seed), s->fraction) >> below << below;
    const uint64_t bits = ((uint64_t)field << s->fraction | fraction) + (uint64_t)off;
    return bits ^ (choice >> 22 & 1 ? (uint64_t)1 << (s->bits - 1) : 0);
}

struct form {
    const struct narrow_format *to;
    const struct source *from;
    char mode;
    bool sat, relu, satfinite;
};

/* Of f64 a NaN keeps its sign and payload: that is not looked at here. */
static uint32_t expected(const struct form *m, uint64_t bits, bool *skip) {
    bool negative, nan;
    uint64_t mantissa;
    int exponent;
    const struct narrow_format *f = m->to;
    const bool finite = take_apart(m->from, bits, &negative, &mantissa, &exponent, &nan);
    *skip = nan && m->from->bits == 64;
    if (nan && m->mode == 'a') /* tf32: cut to its bits, and .satfinite takes a step off, as an H200 does */
        return (uint32_t)(bits >> 13 & 0x7ffff) - (m->satfinite ? 1 : 0);
    if (nan)
        return m->sat ? 0 : f->nan;
    if (negative && (m->sat || m->relu))
        return 0;
    uint32_t p = m->satfinite || !f->infinity ? f->finite : f->infinity;
    if (finite)
        p = independent_narrow(f, m->mode, negative, mantissa, exponent, m->satfinite);
    const uint32_t one = independent_narrow(f, 'n', false, 1, 0, false);
    if (m->sat && p > one)
        p = one;
    const uint32_t sign = !strcmp(f->name, "tf32") ? 1u << 18 : f->nan > 0xff ? 0x8000 : 0x80;
    return p | (negative ? sign : 0);
}

/* The instruction with the register of its result, and how its result is read: fp8 and half pairs have the value in
 * both halves. */
static void write_form(const struct form *m, char *text, size_t room) {
    const char *to = m->to->name;
    const bool byte = to[0] == 'e', tf32 = to[0] == 't';
    const char *rounding = m->mode == 'n' ? ".rn" : m->mode == 'z' ? ".rz" : m->mode == 'm' ? ".rm" : ".rp";
    const bool same = !strcmp(to, m->from->name);
    snprintf(text, room, "cvt%s%s%s%s.%s%s.%s %s, %s%s%s",
             same             ? ""
             : m->mode == 'a' ? ".rna"
                              : rounding,
             m->sat ? ".sat" : "", m->relu ? ".relu" : "", m->satfinite ? ".satfinite" : "", to, byte ? "x2" : "",
             m->from->name, tf32 ? "%r0" : "%h0", m->from->operand, byte ? ", " : "", byte ? m->from->operand : "");
}

static bool agrees(const struct form *m, uint64_t seed, char *why, size_t room) {
    char instruction[120], body[1500];
    static uint64_t in[VALUES], out[VALUES];
    write_form(m, instruction, sizeof instruction);
    const bool tf32 = m->to->name[0] == 't', byte = m->to->name[0] == 'e';
    snprintf(body, sizeof body,
             "ld.param.u64 %%rd20, [p0];\nld.param.u64 %%rd21, [p1];\nmov.u32 %%r60, %%ctaid.x;\nmov.u32 %%r61, "
             "%%tid.x;\nmad.lo.s32 %%r62, %%r60, 32, %%r61;\nmul.wide.u32 %%rd22, %%r62, 8;\n"
             "add.s64 %%rd20, %%rd20, %%rd22;\nadd.s64 %%rd21, %%rd21, %%rd22;\nld.global.b64 %%rd30, [%%rd20];\n"
             "%s\n%s;\n%s\nst.global.b64 [%%rd21], %%rd31;\nret;\n",
             m->from->load, instruction, tf32 ? "cvt.u64.u32 %rd31, %r0;" : "cvt.u64.u16 %rd31, %h0;");
    for (int i = 0; i < VALUES; ++i)
        in[i] = value(m->from, m->to, &seed);
    struct launch_buffer buffers[2] = {
        {.name = "in", .role = BUFFER_IN, .bytes = sizeof in, .cell_bytes = 8, .data = (void *)in},
        {.name = "out", .role = BUFFER_OUT, .bytes = sizeof out, .cell_bytes = 8, .data = (void *)out}};
    const struct machine_test test = {.body = body, .buffers = buffers, .buffer_count = 2, .grid = {BLOCKS}};
    struct trace t;
    struct ptx_module *module = machine_must(&test, &t);
    bool same = true;
    for (int i = 0; same && i < VALUES; ++i) {
        bool skip;
        uint64_t want = expected(m, in[i], &skip);
        want = tf32 ? want << 13 : byte ? want | want << 8 : want;
        same = skip || out[i] == want;
        if (!same)
            snprintf(why, room, "%s of %llx: want %llx got %llx", instruction, (unsigned long long)in[i],
                     (unsigned long long)want, (unsigned long long)out[i]);
    }
    trace_free(&t);
    ptx_free(module);
    return same;
}

/* Which forms ptxas takes (PTX ISA 9.7.9.21). */
static bool exists(const struct form *m) {
    const char *to = m->to->name, *from = m->from->name;
    const bool f32 = !strcmp(from, "f32"), half = !strcmp(from, "f16") || !strcmp(from, "bf16");
    const bool limited = m->relu || m->satfinite;
    if (to[0] == 'e')
        return f32 && m->mode == 'n' && m->satfinite && !m->sat;
    if (to[0] == 't')
        return f32 && !m->sat && (m->mode == 'a' ? !m->relu : !m->satfinite && (m->mode == 'n' || m->mode == 'z'));
    if (m->mode == 'a' || (m->sat && (!strcmp(to, "bf16") || !strcmp(from, "bf16") || half)) || (half && limited))
        return false;
    if (!strcmp(to, from))
        return m->mode == 'n' && !limited && !m->sat;
    if (!strcmp(to, "bf16") && !strcmp(from, "u8"))
        return false;
    return !limited || (f32 && !m->sat && (m->mode == 'n' || m->mode == 'z'));
}

Test(machine_narrow, every_conversion_rounds_once) {
    char why[300];
    int forms = 0;
    for (size_t t = 0; t < 5; ++t)
        for (size_t s = 0; s < sizeof sources / sizeof *sources; ++s)
            for (const char *mode = "nzmpa"; *mode; ++mode)
                for (int k = 0; k < 8; ++k) {
                    const struct form m = {&independent_narrow_formats[t], &sources[s], *mode, k & 1, k & 2, k & 4};
                    if (!exists(&m))
                        continue;
                    ++forms;
                    cr_assert(agrees(&m, 77 + t * 1000 + s * 100 + (unsigned)k, why, sizeof why), "%s", why);
                }
    cr_assert(forms > 100, "%d forms only", forms);
    /* planted: another rounding is seen */
    for (size_t s = 0; s < sizeof sources / sizeof *sources; ++s) {
        const struct form right = {&independent_narrow_formats[1], &sources[s], 'n', false, false, false};
        struct narrow_format coarse = *right.to;
        coarse.precision += 1; /* rounded a bit too late */
        coarse.least -= 1;
        const struct form wrong = {&coarse, &sources[s], 'n', false, false, false};
        if (exists(&right) && strcmp(sources[s].name, "bf16"))
            cr_assert(!agrees(&wrong, 5, why, sizeof why), "planted: %s to a wrong format passes", sources[s].name);
    }
}
