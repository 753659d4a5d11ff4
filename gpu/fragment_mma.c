/* Kernels of ldmatrix, stmatrix, movmatrix and mma (fragment_kernel.h). */
#include "../ref/checked.h"
#include "fragment.h"
#include "fragment_emit.h"
#include <stdio.h>
#include <string.h>

/* ---- ldmatrix, stmatrix, movmatrix ---- */

enum { ROWS_BYTES = 512 }; /* 32 rows of 16 bytes */

/* Where lane's row lies: scattered, each row once. */
static unsigned row_address(unsigned lane) {
    return 16 * ((5 * lane + 3) % 32);
}

static void put_byte(uint32_t *words, unsigned at, unsigned value) {
    words[at / 4] |= (uint32_t)(value & 0xff) << 8 * (at % 4);
}

static void make_load(struct fragment_kernel *k, const struct fragment *f) {
    char registers[64], body[600];
    k->in_each = 5;
    k->out_each = f->registers;
    k->blocks = 2;
    emit_vector(registers, sizeof registers, 'd', 0, f->registers);
    snprintf(body, sizeof body,
             "mad.lo.u32 %%r3, %%t, 16, %%s;\nst.shared.v4.b32 [%%r3], {%%a0,%%a1,%%a2,%%a3};\nbar.sync 0;\n"
             "add.u32 %%r4, %%s, %%a4;\nldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 %s, [%%r4];\n",
             f->registers, strstr(f->name, ".trans") ? ".trans" : "", registers);
    k->sm = 75;
    k->ptx = emit_kernel("sm_75", k->in_each, k->out_each, ROWS_BYTES, body);
    emit_room(k);
    for (unsigned block = 0; block < 2; ++block)
        for (unsigned lane = 0; lane < 32; ++lane) {
            uint32_t *in = &k->in[(block * 32 + lane) * k->in_each],
                     *want = &k->want[(block * 32 + lane) * k->out_each];
            for (unsigned b = 0; b < 16; ++b)
                put_byte(in, b, (16 * lane + b) >> 8 * block);
            in[4] = row_address(lane);
            for (unsigned n = 0; n < 4 * f->registers; ++n) {
                const struct fragment_cell c = f->at(f, lane, n / 4, n % 4 / 2);
                put_byte(want, n, (row_address(c.row) + 2 * c.column + n % 2) >> 8 * block);
            }
        }
}

static void make_store(struct fragment_kernel *k, const struct fragment *f) {
    char registers[64], body[700];
    k->in_each = f->registers + 1;
    k->out_each = 4;
    k->blocks = 2;
    emit_vector(registers, sizeof registers, 'a', 0, f->registers);
    snprintf(body, sizeof body,
             "mad.lo.u32 %%r3, %%t, 16, %%s;\nmov.b32 %%r4, 0;\nst.shared.v4.b32 [%%r3], {%%r4,%%r4,%%r4,%%r4};\n"
             "bar.sync 0;\nadd.u32 %%r5, %%s, %%a%u;\nstmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%r5], %s;\n"
             "bar.sync 0;\nld.shared.v4.b32 {%%d0,%%d1,%%d2,%%d3}, [%%r3];\n",
             f->registers, f->registers, strstr(f->name, ".trans") ? ".trans" : "", registers);
    k->sm = 90;
    k->ptx = emit_kernel("sm_90", k->in_each, k->out_each, ROWS_BYTES, body);
    emit_room(k);
    for (unsigned block = 0; block < 2; ++block)
        for (unsigned lane = 0; lane < 32; ++lane) {
            uint32_t *in = &k->in[(block * 32 + lane) * k->in_each];
            in[f->registers] = row_address(lane);
            for (unsigned n = 0; n < 4 * f->registers; ++n) {
                const struct fragment_cell c = f->at(f, lane, n / 4, n % 4 / 2);
                const unsigned tag = (lane * f->registers * 4 + n) >> 8 * block;
                put_byte(in, n, tag);
                put_byte(&k->want[block * 32 * k->out_each], row_address(c.row) + 2 * c.column + n % 2, tag);
            }
        }
}

static void make_movmatrix(struct fragment_kernel *k) {
    const struct fragment straight = fragment_ldmatrix(1, false), turned = fragment_ldmatrix(1, true);
    uint32_t matrix[8][8]; /* tag of each half */
    k->in_each = k->out_each = k->blocks = 1;
    k->sm = 75;
    k->ptx = emit_kernel("sm_75", 1, 1, 0, "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;\n");
    emit_room(k);
    for (unsigned n = 0; n < 64; ++n) {
        const struct fragment_cell c = straight.at(&straight, n / 2, 0, n % 2);
        matrix[c.row][c.column] = 1 + n;
        emit_element(&k->in[n / 2], n % 2, 16, 1 + n);
    }
    for (unsigned n = 0; n < 64; ++n) {
        const struct fragment_cell c = turned.at(&turned, n / 2, 0, n % 2);
        emit_element(&k->want[n / 2], n % 2, 16, matrix[c.row][c.column]);
    }
}

bool emit_matrix(size_t i, struct fragment_kernel *k) {
    if (i > 12 || !k)
        return i <= 12;
    const unsigned matrices = 1u << i % 3;
    const bool trans = i / 3 % 2, store = i >= 6 && i < 12;
    const struct fragment f = store ? fragment_stmatrix(matrices, trans) : fragment_ldmatrix(matrices, trans);
    k->what = "the tags";
    snprintf(k->name, sizeof k->name, "%s/executed", i == 12 ? "movmatrix" : f.name);
    if (i < 6)
        make_load(k, &f);
    else if (i < 12)
        make_store(k, &f);
    else
        make_movmatrix(k);
    return true;
}

/* ---- mma ---- */

static const struct mma {
    const char *shape, *accumulator, *type; /* facts/ptx.md 2.2 */
    unsigned sm;                            /* the first that has it */
} mmas[] = {
    {"m16n8k32", "s32", "s8", 80},   {"m16n8k32", "s32", "u8", 80},   {"m16n8k16", "s32", "s8", 80},
    {"m16n8k16", "s32", "u8", 80},   {"m8n8k16", "s32", "s8", 75},    {"m8n8k16", "s32", "u8", 75},
    {"m16n8k64", "s32", "s4", 80},   {"m16n8k64", "s32", "u4", 80},   {"m16n8k32", "s32", "s4", 80},
    {"m16n8k32", "s32", "u4", 80},   {"m8n8k32", "s32", "s4", 75},    {"m8n8k32", "s32", "u4", 75},
    {"m16n8k16", "f32", "f16", 80},  {"m16n8k16", "f16", "f16", 80},  {"m16n8k16", "f32", "bf16", 80},
    {"m16n8k8", "f32", "f16", 75},   {"m16n8k8", "f16", "f16", 75},   {"m16n8k8", "f32", "bf16", 80},
    {"m16n8k8", "f32", "tf32", 80},  {"m16n8k4", "f32", "tf32", 80},  {"m16n8k32", "f32", "e4m3", 89},
    {"m16n8k32", "f16", "e4m3", 89}, {"m16n8k32", "f32", "e5m2", 89}, {"m16n8k32", "f16", "e5m2", 89},
    {"m16n8k16", "f32", "e4m3", 89}, {"m16n8k16", "f16", "e4m3", 89}, {"m16n8k16", "f32", "e5m2", 89},
    {"m16n8k16", "f16", "e5m2", 89},
};

struct tile { /* 0 or 1 each; k is at most 64 */
    uint8_t a[16][64], b[8][64], c[16][8];
};

/* words[lane * each + first + r] = the fragment of the tile's rows. */
static void spread(const struct fragment *f, const uint8_t *tile, unsigned pitch, uint32_t one, uint32_t *words,
                   unsigned each, unsigned first) {
    for (unsigned lane = 0; lane < f->lanes; ++lane)
        for (unsigned r = 0; r < f->registers; ++r)
            for (unsigned i = 0; i < fragment_elements(f); ++i) {
                const struct fragment_cell c = f->at(f, lane, r, i);
                if (tile[c.row * pitch + c.column])
                    emit_element(&words[lane * each + first + r], i, f->bits, one);
            }
}

/* Row (column) j of the operand that is no unit: bit j of k, the last one marks that there was a 1 at all. */
static uint8_t code(unsigned j, unsigned k) {
    return j < 7 ? k >> j & 1 : j == 7;
}

static void one_hot(unsigned n, const struct fragment *of, char what, char about[64], struct fragment_cell *c) {
    const unsigned elements = fragment_elements(of), i = n % elements, r = n / elements % of->registers,
                   lane = n / elements / of->registers;
    *c = of->at(of, lane, r, i);
    snprintf(about, 64, "%c of lane %u, register %u, element %u", what, lane, r, i);
}

static void make_block(struct fragment_kernel *k, unsigned block, const struct fragment *a, const struct fragment *b,
                       const struct fragment *d, const struct mma *m) {
    struct tile in = {.a = {{0}}}, out = {.a = {{0}}};
    struct fragment_cell c;
    const unsigned of_a = 32 * a->registers * fragment_elements(a), of_b = 32 * b->registers * fragment_elements(b);
    char *about = k->about[block];
    if (block < of_a) {
        one_hot(block, a, 'A', about, &c);
        in.a[c.row][c.column] = 1;
        for (unsigned n = 0; n < 8; ++n) {
            for (unsigned kk = 0; kk < a->columns; ++kk)
                in.b[n][kk] = code(n, kk);
            out.c[c.row][n] = code(n, c.column);
        }
    } else if (block < of_a + of_b) {
        one_hot(block - of_a, b, 'B', about, &c);
        in.b[c.row][c.column] = 1;
        for (unsigned row = 0; row < 8; ++row) {
            for (unsigned kk = 0; kk < a->columns; ++kk)
                in.a[row][kk] = code(row, kk);
            out.c[row][c.row] = code(row, c.column);
        }
    } else {
        one_hot(block - of_a - of_b, d, 'C', about, &c);
        in.c[c.row][c.column] = out.c[c.row][c.column] = 1;
    }
    uint32_t *words = &k->in[(size_t)block * 32 * k->in_each];
    const uint32_t one = emit_one(m->type), sum = emit_one(m->accumulator);
    spread(a, in.a[0], 64, one, words, k->in_each, 0);
    spread(b, in.b[0], 64, one, words, k->in_each, a->registers);
    spread(d, in.c[0], 8, sum, words, k->in_each, a->registers + b->registers);
    spread(d, out.c[0], 8, sum, &k->want[(size_t)block * 32 * k->out_each], k->out_each, 0);
}

bool emit_mma(size_t i, struct fragment_kernel *k) {
    if (i >= sizeof mmas / sizeof *mmas || !k)
        return i < sizeof mmas / sizeof *mmas;
    const struct mma *m = &mmas[i];
    const bool half = strcmp(m->accumulator, "f16") == 0;
    struct fragment a = {.lanes = 0}, b = a, d = a;
    char name[48], operand[64], target[16], va[64], vb[64], vc[64], vd[64], body[512];
    snprintf(name, sizeof name, "mma.%s.%s", m->shape, m->type);
    snprintf(operand, sizeof operand, "%s/A", name);
    fragment_named(operand, &a);
    snprintf(operand, sizeof operand, "%s/B", name);
    fragment_named(operand, &b);
    snprintf(name, sizeof name, "mma.%s.%s%s", m->shape, half ? "f16." : "", m->type);
    snprintf(operand, sizeof operand, "%s/D", name);
    fragment_named(operand, &d);
    snprintf(k->name, sizeof k->name, "%s/executed", name);
    k->sm = m->sm;
    k->what = "the sums of one-hot operands";
    k->in_each = a.registers + b.registers + d.registers;
    k->out_each = d.registers;
    k->blocks = 32 * (a.registers * fragment_elements(&a) + b.registers * fragment_elements(&b) +
                      d.registers * fragment_elements(&d));
    emit_vector(va, sizeof va, 'a', 0, a.registers);
    emit_vector(vb, sizeof vb, 'a', a.registers, b.registers);
    emit_vector(vc, sizeof vc, 'a', a.registers + b.registers, d.registers);
    emit_vector(vd, sizeof vd, 'd', 0, d.registers);
    snprintf(body, sizeof body, "mma.sync.aligned.%s.row.col.%s.%s.%s.%s %s, %s, %s, %s;\n", m->shape, m->accumulator,
             m->type, m->type, m->accumulator, vd, va, vb, vc);
    snprintf(target, sizeof target, "sm_%u", m->sm);
    k->ptx = emit_kernel(target, k->in_each, k->out_each, 0, body);
    emit_room(k);
    for (unsigned block = 0; block < k->blocks; ++block)
        make_block(k, block, &a, &b, &d, m);
    return true;
}
