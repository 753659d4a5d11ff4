/* Kernels of wgmma (fragment_kernel.h): for a GPU of sm_90a. The form of instruction and descriptor: PTX
 * ISA 9.7.15.5.1.2, facts/ptx.md 3.2, 3.3. */
#include "../ref/checked.h"
#include "fragment.h"
#include "fragment_emit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 8192, MEMORY_WORDS = MEMORY / 4 / 128 }; /* of a block, words of a thread */

/* Integers below 2048 as binary16 and binary32, by shifts: no rounding is asked of anybody. */
static uint32_t exact(unsigned v, unsigned fraction, unsigned bias) {
    unsigned e = 0;
    while (v >> e > 1)
        ++e;
    return v ? (e + bias) << fraction | ((v ^ 1u << e) << (fraction - e)) : 0;
}
static uint32_t number(const char *type, unsigned v) {
    return strcmp(type, "f16") == 0 ? exact(v, 10, 15) : strcmp(type, "f32") == 0 ? exact(v, 23, 127) : v;
}

struct body {
    const char *instruction, *tail;
    unsigned words;   /* of each thread's input, from %a4 on, that go to shared memory */
    unsigned d_count; /* registers of D */
    uint64_t a, b;    /* descriptors without a start address; a = NO_DESCRIPTOR: A is %a0..%a3 */
    unsigned b_at;    /* where B begins in shared memory; A at 0 */
    unsigned skip;    /* the input word that is added to the start address of the operand under test, or 0 */
};
enum { NO_DESCRIPTOR = 0 };

/* %xN = the descriptor of an operand that begins at `from`, plus the input word `skip` (0: none). */
static void put_descriptor(FILE *out, unsigned n, unsigned from, unsigned skip, uint64_t descriptor) {
    fprintf(out, "add.u32 %%r4, %%s, %u;\n", from);
    if (skip > 0)
        fprintf(out, "add.u32 %%r4, %%r4, %%a%u;\n", skip);
    fprintf(out,
            "cvt.u64.u32 %%x%u, %%r4;\nand.b64 %%x%u, %%x%u, 0x3ffff;\nshr.u64 %%x%u, %%x%u, 4;\n"
            "or.b64 %%x%u, %%x%u, 0x%llx;\n",
            n, n, n, n, n, n, n, (unsigned long long)descriptor);
}

static char *body_of(const struct body *x) {
    char *text = NULL, va[32], vd[1200];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return must_strdup("");
    emit_vector(va, sizeof va, 'a', 0, 4);
    emit_vector(vd, sizeof vd, 'd', 0, x->d_count);
    fprintf(out, "mad.lo.u32 %%r3, %%t, %u, %%s;\n", 4 * x->words);
    for (unsigned i = 0; i < x->words; ++i)
        fprintf(out, "st.shared.b32 [%%r3+%u], %%a%u;\n", 4 * i, 4 + i);
    for (unsigned i = 0; i < x->d_count; ++i)
        fprintf(out, "mov.b32 %%d%u, 0;\n", i);
    fprintf(out, "fence.proxy.async;\nbar.sync 0;\n");
    put_descriptor(out, 0, x->b_at, x->a == NO_DESCRIPTOR ? x->skip : 0, x->b);
    if (x->a != NO_DESCRIPTOR)
        put_descriptor(out, 1, 0, x->skip, x->a);
    fprintf(out,
            "setp.ne.u32 %%p0, %%t, %%t;\nwgmma.fence.sync.aligned;\n"
            "wgmma.mma_async.sync.aligned.%s %s, %s, %%x0, %%p0%s;\nwgmma.commit_group.sync.aligned;\n"
            "wgmma.wait_group.sync.aligned 0;\n",
            x->instruction, vd, x->a == NO_DESCRIPTOR ? va : "%x1", x->tail);
    fclose(out);
    return text;
}

/* The two core matrices of k side by side, those of eight rows one after another. */
static const struct wgmma_descriptor packed = {SWIZZLE_NONE, 128, 256, 0};

static uint64_t descriptor_of(const struct wgmma_descriptor *d) {
    static const uint64_t codes[SWIZZLE_MODES] = {0, 3, 2, 1};
    return (uint64_t)(d->lbo >> 4) << 16 | (uint64_t)(d->sbo >> 4) << 32 | codes[d->mode] << 62;
}

static void finish(struct fragment_kernel *k, unsigned shared, char *body) {
    k->sm = 90;
    k->sm_90a = true;
    k->threads = 128;
    k->ptx = emit_kernel("sm_90a", k->in_each, k->out_each, shared, body);
    free(body);
    emit_room(k);
}

/* Spreads value(row, column) over the registers of a fragment, for one block. */
typedef uint32_t cell_value(const void *context, unsigned row, unsigned column);
static void spread(const struct fragment *f, cell_value *value, const void *context, uint32_t *words, unsigned each) {
    for (unsigned lane = 0; lane < f->lanes; ++lane)
        for (unsigned r = 0; r < f->registers; ++r)
            for (unsigned i = 0; i < fragment_elements(f); ++i) {
                const struct fragment_cell c = f->at(f, lane, r, i);
                emit_element(&words[lane * each + r], i, f->bits, value(context, c.row, c.column));
            }
}

/* Puts an element at a byte of the block's shared memory, which the threads bring `words` words each. */
static void put_shared(const struct fragment_kernel *k, unsigned block, unsigned words, unsigned at, uint32_t value) {
    const unsigned word = at / 4;
    uint32_t *in = &k->in[((size_t)block * k->threads + word / words) * k->in_each + 4 + word % words];
    *in |= value << 8 * (at % 4);
}

static struct fragment named(const char *format, unsigned k, const char *type) {
    char name[48];
    struct fragment f = {.lanes = 0};
    snprintf(name, sizeof name, format, k, type);
    fragment_named(name, &f);
    return f;
}

/* ---- A: one element is 1 ---- */

static const struct {
    const char *type, *accumulator, *tail;
    unsigned k;
} as[] = {{"s8", "s32", "", 32},         {"u8", "s32", "", 32},           {"e4m3", "f32", ", 1, 1", 32},
          {"e5m2", "f32", ", 1, 1", 32}, {"f16", "f32", ", 1, 1, 0", 16}, {"bf16", "f32", ", 1, 1, 0", 16},
          {"tf32", "f32", ", 1, 1", 8}};

struct hot {
    struct fragment_cell at;
    uint32_t one;
    bool code; /* D: the code of at.column in row at.row */
};
static uint32_t code(unsigned n, unsigned k) {
    return n < 7 ? k >> n & 1 : 1;
}
static uint32_t hot_value(const void *context, unsigned row, unsigned column) {
    const struct hot *h = context;
    if (row != h->at.row)
        return 0;
    return h->code ? code(column, h->at.column) * h->one : column == h->at.column ? h->one : 0;
}

bool emit_wgmma_a(size_t i, struct fragment_kernel *k) {
    if (i >= sizeof as / sizeof *as || !k)
        return i < sizeof as / sizeof *as;
    const struct fragment a = named("wgmma.m64k%u.%s/A", as[i].k, as[i].type),
                          d = fragment_wgmma_d(8, as[i].accumulator);
    char instruction[64];
    snprintf(instruction, sizeof instruction, "m64n8k%u.%s.%s.%s", as[i].k, as[i].accumulator, as[i].type, as[i].type);
    snprintf(k->name, sizeof k->name, "%.40s/executed", a.name);
    k->what = "the sums of one-hot operands";
    k->in_each = 5;
    k->out_each = d.registers;
    k->blocks = 128 * 4 * fragment_elements(&a);
    finish(k, 512,
           body_of(&(struct body){.instruction = instruction,
                                  .tail = as[i].tail,
                                  .words = 1,
                                  .d_count = d.registers,
                                  .b = descriptor_of(&packed)}));
    for (unsigned block = 0; block < k->blocks; ++block) {
        const unsigned elements = fragment_elements(&a), lane = block / elements / 4, r = block / elements % 4,
                       e = block % elements;
        struct hot h = {a.at(&a, lane, r, e), emit_one(as[i].type), false};
        snprintf(k->about[block], sizeof *k->about, "A of thread %u, register %u, element %u", lane, r, e);
        spread(&a, hot_value, &h, &k->in[(size_t)block * 128 * k->in_each], k->in_each);
        for (unsigned n = 0; n < 8; ++n)
            for (unsigned kk = 0; kk < as[i].k; ++kk)
                put_shared(k, block, 1, wgmma_k_major(&packed, n, kk * a.bits / 8), code(n, kk) * h.one);
        h.one = emit_one(as[i].accumulator);
        h.code = true;
        spread(&d, hot_value, &h, &k->want[(size_t)block * 128 * k->out_each], k->out_each);
    }
    return true;
}

/* ---- D: row, then n ---- */

struct numbered {
    unsigned block;
    const char *type;
};
static uint32_t first_column(const void *context, unsigned row, unsigned column) {
    const struct numbered *x = context;
    return column > 0 ? 0 : number(x->type, x->block == 0 ? row : 1);
}
static uint32_t row_or_n(const void *context, unsigned row, unsigned column) {
    const struct numbered *x = context;
    return number(x->type, x->block == 0 ? row : column);
}

bool emit_wgmma_d(size_t i, struct fragment_kernel *k) {
    static const char *const accumulators[] = {"f32", "f16", "s32"};
    size_t at = i;
    for (unsigned n = 8; n <= 256; n += 8)
        for (unsigned which = 0; which < 3; ++which) {
            if ((which == 2 && n > 32 && n % 16 != 0) || at-- != 0)
                continue;
            if (!k)
                return true;
            const char *accumulator = accumulators[which], *type = which == 2 ? "u8" : "f16";
            const unsigned depth = which == 2 ? 32 : 16;
            const struct fragment a = named("wgmma.m64k%u.%s/A", depth, type), d = fragment_wgmma_d(n, accumulator);
            char instruction[64];
            snprintf(instruction, sizeof instruction, "m64n%uk%u.%s.%s.%s", n, depth, accumulator, type, type);
            snprintf(k->name, sizeof k->name, "%.40s/executed", d.name);
            k->what = "row and n";
            k->in_each = 4 + MEMORY_WORDS;
            k->out_each = d.registers;
            k->blocks = 2;
            finish(k, MEMORY,
                   body_of(&(struct body){.instruction = instruction,
                                          .tail = which == 2 ? "" : ", 1, 1, 0",
                                          .words = MEMORY_WORDS,
                                          .d_count = d.registers,
                                          .b = descriptor_of(&packed)}));
            for (unsigned block = 0; block < 2; ++block) {
                const struct numbered in = {block, type}, out = {block, accumulator};
                spread(&a, first_column, &in, &k->in[(size_t)block * 128 * k->in_each], k->in_each);
                for (unsigned column = 0; column < n; ++column)
                    put_shared(k, block, MEMORY_WORDS, wgmma_k_major(&packed, column, 0),
                               number(type, block == 0 ? 1 : column));
                spread(&d, row_or_n, &out, &k->want[(size_t)block * 128 * k->out_each], k->out_each);
            }
            return true;
        }
    return false;
}

/* ---- operands in shared memory ---- */

/* The other operand is the unit matrix, so that D shows the one under test, element by element. */
static uint32_t unit(const void *context, unsigned row, unsigned column) {
    return row == column ? *(const uint32_t *)context : 0;
}

struct tagged {
    bool a, mn; /* A is tagged, else B; MN-major 16-bit elements, else K-major bytes */
    struct wgmma_descriptor in;
    unsigned step, byte; /* byte of the address that is the tag */
    unsigned depth;
};
static uint32_t tag_at(const void *context, unsigned row, unsigned column) {
    const struct tagged *x = context;
    const unsigned mn = x->a ? row : column, k = x->a ? column : row;
    if (k >= x->depth)
        return 0;
    if (x->mn)
        return number("f32", wgmma_mn_major(&x->in, mn, k) / 2);
    return wgmma_k_major(&x->in, mn, 32 * x->step + k) >> 8 * x->byte & 0xff;
}

/* Shared memory of one block: tags of every address, and the unit matrix of B behind them where A is tagged. */
static void put_tags(const struct fragment_kernel *k, unsigned block, const struct tagged *x, unsigned words) {
    const uint32_t one = emit_one(x->mn ? "f16" : "u8");
    for (unsigned at = 0; at < (x->mn ? 4096 : MEMORY); at += x->mn ? 2 : 1)
        put_shared(k, block, words, at, x->mn ? number("f16", at / 2) : at >> 8 * x->byte & 0xff);
    for (unsigned n = 0; n < x->depth && x->a; ++n)
        put_shared(k, block, words, MEMORY + wgmma_k_major(&packed, n, x->mn ? 2 * n : n), one);
}

bool emit_wgmma_shared(size_t i, struct fragment_kernel *k) {
    enum { OF_B = 2 * SWIZZLE_MODES, KERNELS = 2 * OF_B, ROOM = MEMORY + 1024, ROOM_WORDS = ROOM / 4 / 128 };
    if (i >= KERNELS || !k)
        return i < KERNELS;
    struct tagged x = {.a = i >= OF_B, .mn = i % OF_B >= SWIZZLE_MODES, .in.mode = i % SWIZZLE_MODES};
    const unsigned width = swizzle_width(x.in.mode), words = x.a ? ROOM_WORDS : MEMORY_WORDS, skip = 4 + words;
    x.depth = x.mn ? 16 : 32;
    x.in.lbo = x.in.mode == SWIZZLE_NONE || !x.mn ? 128 : 16 * width;
    x.in.sbo = x.in.mode == SWIZZLE_NONE ? 256 : 8 * width;
    const unsigned n = x.a ? x.depth : x.mn ? 128 : 64;
    const uint32_t one = emit_one(x.mn ? "f16" : "u8");
    const struct fragment a = named("wgmma.m64k%u.%s/A", x.depth, x.mn ? "f16" : "u8"),
                          d = fragment_wgmma_d(n, x.mn ? "f32" : "s32");
    const uint64_t tagged = descriptor_of(&x.in), plain = descriptor_of(&packed);
    char instruction[64];
    snprintf(instruction, sizeof instruction, x.mn ? "m64n%uk16.f32.f16.f16" : "m64n%uk32.s32.u8.u8", n);
    snprintf(k->name, sizeof k->name, "wgmma.shared.%s.%s/%s", x.mn ? "mn_major" : "k_major", swizzle_names[x.in.mode],
             x.a ? "executed_A" : "executed_B");
    k->what = "the tags";
    k->in_each = skip + 1;
    k->out_each = d.registers;
    k->blocks = x.mn ? 1 : 2 * (width < 32 ? 1 : width / 32);
    finish(k, x.a ? ROOM : MEMORY,
           body_of(&(struct body){.instruction = instruction,
                                  .tail = !x.mn ? ""
                                          : x.a ? ", 1, 1, 1, 0"
                                                : ", 1, 1, 1",
                                  .words = words,
                                  .d_count = d.registers,
                                  .a = x.a ? tagged : NO_DESCRIPTOR,
                                  .b = x.a ? plain : tagged,
                                  .b_at = x.a ? MEMORY : 0,
                                  .skip = skip}));
    for (unsigned block = 0; block < k->blocks; ++block) {
        x.step = block / 2;
        x.byte = block % 2;
        if (!x.a)
            spread(&a, unit, &one, &k->in[(size_t)block * 128 * k->in_each], k->in_each);
        put_tags(k, block, &x, words);
        for (unsigned thread = 0; thread < 128; ++thread)
            k->in[((size_t)block * 128 + thread) * k->in_each + skip] = 32 * x.step;
        spread(&d, tag_at, &x, &k->want[(size_t)block * 128 * k->out_each], k->out_each);
    }
    return true;
}
