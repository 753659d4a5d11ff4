#include "../../ref/random.h"
#include "banks.h"
#include <string.h>

enum { LANES = 32, IDLE = -1 };

struct pattern {
    const char *op;
    char label[64];
    int at[LANES];
};

static struct random_stream stream;

static int below(int bound) {
    return (int)random_below(&stream, (uint32_t)bound);
}

static void put(FILE *out, const struct pattern *p) {
    fprintf(out, "%s\t%s\t-\t-\t", p->op, p->label);
    for (int lane = 0; lane < LANES; ++lane)
        fprintf(out, "%s%d", lane ? " " : "", p->at[lane]);
    fprintf(out, "\n");
}

#define PATTERN(p, op_, ...)                                                                                           \
    struct pattern p = {.op = op_};                                                                                    \
    snprintf(p.label, sizeof p.label, __VA_ARGS__)

static const char *const matrix_ops[] = {
    "ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4", "ldmatrix_x1_trans", "ldmatrix_x2_trans", "ldmatrix_x4_trans",
    "stmatrix_x1", "stmatrix_x2", "stmatrix_x4", "stmatrix_x1_trans", "stmatrix_x2_trans", "stmatrix_x4_trans"};
enum { MATRIX_OPS = sizeof matrix_ops / sizeof *matrix_ops };

/* Rows of a tile, 16 rows x 32 bytes, at every stride and with xor swizzles of the 16-byte chunk. */
static void matrices(FILE *out) {
    static const int strides[] = {16,  32,  48,  64,  80,  96,  112, 128, 144, 160,
                                  176, 192, 208, 224, 240, 256, 272, 304, 336, 528};
    for (int i = 0; i < 20; ++i)
        for (int k = 0; k < 3; ++k) { /* every stride with three accesses, every access with five strides */
            PATTERN(p, matrix_ops[(5 * i + 4 * k) % MATRIX_OPS], "m_stride%d", strides[i]);
            for (int lane = 0; lane < LANES; ++lane)
                p.at[lane] = lane % 16 * strides[i] + lane / 16 * 16;
            put(out, &p);
        }
    for (int i = 0; i < 28; ++i) {
        const int stride = 32 << i % 4, mask = (1 << (1 + i % 3)) - 1, shift = i / 4 % 4, chunks = stride / 16;
        PATTERN(p, matrix_ops[i % MATRIX_OPS], "m_stride%d_xor%d_shift%d", stride, mask, shift);
        for (int lane = 0; lane < LANES; ++lane) {
            const int row = lane % 16, chunk = (lane / 16 ^ (row >> shift & mask)) % chunks;
            p.at[lane] = row * stride + chunk * 16;
        }
        put(out, &p);
    }
    for (int i = 0; i < 48; ++i) {
        const int span = i % 4 == 0   ? 16
                         : i % 4 == 1 ? 64
                         : i % 4 == 2 ? 256
                                      : 1024; /* rows of 16 bytes to choose of */
        PATTERN(p, matrix_ops[i % MATRIX_OPS], "m_rand%d_%d", span, i);
        for (int lane = 0; lane < LANES; ++lane)
            p.at[lane] = below(span) * 16;
        put(out, &p);
    }
}

/* All matrices of an access the same one, or every second; lanes that give no row hold another address. */
static void equal_matrices(FILE *out) {
    for (int i = 0; i < 2 * MATRIX_OPS; ++i) {
        const int stride = 16 << i % 3, apart = i < MATRIX_OPS ? 1 : 2;
        PATTERN(p, matrix_ops[i % MATRIX_OPS], "m_equal%d_stride%d", apart, stride);
        const int lanes = 8 * (strstr(p.op, "_x")[2] - '0');
        for (int lane = 0; lane < LANES; ++lane)
            p.at[lane] = lane < lanes ? lane % 8 * stride + lane / 8 % apart * 16 : 4096 + below(64) * 16;
        put(out, &p);
    }
}

/* Plain loads and stores. */
static const struct {
    const char *op;
    int bytes;
} plain[] = {{"ld8", 1}, {"ld16", 2}, {"ld32", 4}, {"ld64", 8}, {"ld128", 16},
             {"st8", 1}, {"st16", 2}, {"st32", 4}, {"st64", 8}, {"st128", 16}};
enum { PLAIN = sizeof plain / sizeof *plain };

/* One lane in `of` is idle; 0: none. */
static void idle(struct pattern *p, int of) {
    for (int lane = 0; of > 0 && lane < LANES; ++lane)
        if (below(of) == 0)
            p->at[lane] = IDLE;
}

static void strided(FILE *out) {
    static const int strides[] = {1, 2, 3, 5, 6, 9, 17, 33, 34, 36, 40, 66, 68};
    for (int i = 0; i < 13; ++i)
        for (int k = 0; k < 2; ++k) {
            const int which = (3 * i + 5 * k) % PLAIN;
            PATTERN(p, plain[which].op, "p_stride%d", strides[i] * plain[which].bytes);
            for (int lane = 0; lane < LANES; ++lane)
                p.at[lane] = lane * strides[i] * plain[which].bytes;
            put(out, &p);
        }
}

static void randoms(FILE *out) {
    for (int i = 0; i < 8 * PLAIN; ++i) {
        const int which = i % PLAIN, bytes = plain[which].bytes;
        const int span = (const int[]){128, 512, 2048, 16384}[i / 2 / PLAIN % 4], of = i / PLAIN % 2 ? 3 : 0;
        PATTERN(p, plain[which].op, "p_rand%d_idle%d_%d", span, of, i);
        for (int lane = 0; lane < LANES; ++lane)
            p.at[lane] = below(span / bytes) * bytes;
        idle(&p, of);
        put(out, &p);
    }
    for (int i = 0; i < PLAIN; ++i) { /* many lanes, few addresses */
        PATTERN(p, plain[i].op, "p_few");
        int few[3];
        for (int k = 0; k < 3; ++k)
            few[k] = below(512) * plain[i].bytes;
        for (int lane = 0; lane < LANES; ++lane)
            p.at[lane] = few[below(3)];
        put(out, &p);
    }
}

/* Masks that leave phases, halves of phases, or single lanes. */
static void masked(FILE *out) {
    static const unsigned masks[] = {0x1,        0x80000000, 0xff,       0xff00,     0xffff0000, 0x0000ffff,
                                     0x55555555, 0xaaaaaaaa, 0x0f0f0f0f, 0x00ff00ff, 0x80000001, 0x7fffffff,
                                     0xfffffffe, 0x01010101, 0x33333333, 0x0};
    for (int i = 0; i < 16; ++i)
        for (int k = 0; k < 3; ++k) {
            const int which = (i + 3 * k + 2) % PLAIN, stride = k == 0 ? 1 : k == 1 ? 4 : 9;
            PATTERN(p, plain[which].op, "p_mask%08x_stride%d", masks[i], stride * plain[which].bytes);
            for (int lane = 0; lane < LANES; ++lane)
                p.at[lane] = masks[i] >> lane & 1 ? lane * stride * plain[which].bytes : IDLE;
            put(out, &p);
        }
}

/* Against the rule that equal pairs of lanes merge: pairs at distance 1, 2, 4, 8, 16; one pair that is not equal; one
 * partner idle; pairs of both distances mixed; equal words by other addresses never. */
static void pairs(FILE *out) {
    static const char *const ops[] = {"ld64", "ld128", "st64", "st128"};
    for (int i = 0; i < 4; ++i) {
        const int bytes = i % 2 ? 16 : 8;
        for (int step = 1; step <= 16; step *= 2)
            for (int kind = 0; kind < 5; ++kind) {
                PATTERN(p, ops[i], "pair%d_%s", step,
                        (const char *const[]){"random", "odd_one_out", "half_idle", "idle_and_odd", "mixed"}[kind]);
                int value[LANES];
                for (int lane = 0; lane < LANES; ++lane)
                    value[lane] = below(64) * bytes;
                for (int lane = 0; lane < LANES; ++lane)
                    p.at[lane] = value[lane & ~step];
                if (kind == 1 || kind == 3) {
                    const int lane = below(LANES);
                    p.at[lane] = (p.at[lane] + bytes * (1 + below(7))) % (64 * bytes);
                }
                if (kind == 2 || kind == 3)
                    for (int lane = 0; lane < LANES; ++lane)
                        if (below(2))
                            p.at[lane ^ (below(2) * step)] = IDLE;
                if (kind == 4) /* one half of the lanes pairs at this distance, the other at another */
                    for (int lane = 16; lane < LANES; ++lane)
                        p.at[lane] = value[lane & ~(step == 1 ? 2 : 1)];
                put(out, &p);
            }
        for (int k = 0; k < 4; ++k) { /* four equal lanes; all idle but one pair */
            PATTERN(p, ops[i], "quad_%d", k);
            int value[LANES];
            for (int lane = 0; lane < LANES; ++lane)
                value[lane] = below(32) * bytes;
            for (int lane = 0; lane < LANES; ++lane)
                p.at[lane] = k < 2 ? value[lane & ~3] : lane / 2 == 4 + k ? value[k == 2 ? 0 : lane] : IDLE;
            put(out, &p);
        }
    }
}

void patterns_write(FILE *out) {
    stream = random_open(random_key("bank patterns"), 0);
    fprintf(out, "# op\tlabel\twavefronts\tconflicts\tbyte offset of each lane, -1 = lane inactive\n");
    matrices(out);
    equal_matrices(out);
    strided(out);
    randoms(out);
    masked(out);
    pairs(out);
}
