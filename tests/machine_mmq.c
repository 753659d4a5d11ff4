/* The compiled MMQ kernel on the machine, against a naive computation on operands for which every order of summation
 * gives the same bits: scales are powers of two, all sums stay below 2^24. */
#include "../ref/half.h"
#include "machine_run.h"

struct operands {
    int nt, od, id;
    uint8_t *w, *x;
    float *want, *got;
};

/* q4_K blocks: 144 bytes of 256 values; pad40: 40 bytes of 32 values. Written from the formats, not with ref/. */
static struct operands make_operands(int nt, int od, int id, uint64_t seed) {
    struct operands o = {nt, od, id, NULL, NULL, NULL, NULL};
    const int supers = id / 256, chunks = id / 32;
    o.w = calloc((size_t)od * supers, 144);
    o.x = calloc((size_t)nt * chunks, 40);
    o.want = calloc((size_t)nt * od, 4);
    o.got = malloc((size_t)nt * od * 4);
    int *wq = calloc((size_t)od * id, sizeof *wq), *ws = calloc((size_t)od * chunks, sizeof *ws);
    int *wm = calloc((size_t)od * chunks, sizeof *wm), *xq = calloc((size_t)nt * id, sizeof *xq);
    for (int j = 0; j < od; ++j)
        for (int s = 0; s < supers; ++s) {
            uint8_t *b = o.w + ((size_t)j * supers + s) * 144;
            const uint16_t one = 0x3c00, quarter = 0x3400;
            memcpy(b, &one, 2);
            memcpy(b + 2, &quarter, 2);
            for (int k = 0; k < 8; ++k) {
                const int sc = 1 << next_random(&seed) % 6, m = 4 << next_random(&seed) % 4; /* both below 64 */
                ws[j * chunks + s * 8 + k] = sc;
                wm[j * chunks + s * 8 + k] = m;
                if (k < 4) {
                    b[4 + k] |= (uint8_t)sc;
                    b[8 + k] |= (uint8_t)m;
                } else {
                    b[8 + k] |= (uint8_t)((sc & 15) | (m & 15) << 4);
                    b[4 + k - 4] |= (uint8_t)(sc >> 4 << 6);
                    b[4 + k] |= (uint8_t)(m >> 4 << 6);
                }
                for (int i = 0; i < 32; ++i) {
                    const int q = (int)(next_random(&seed) % 4) * (int)(next_random(&seed) % 4 == 0);
                    wq[(size_t)j * id + s * 256 + k * 32 + i] = q;
                    b[16 + 32 * (k / 2) + i] |= (uint8_t)(q << 4 * (k & 1));
                }
            }
        }
    for (int t = 0; t < nt; ++t)
        for (int c = 0; c < chunks; ++c) {
            uint8_t *b = o.x + ((size_t)t * chunks + c) * 40;
            const uint16_t half = 0x3800;
            int32_t sum = 0;
            memcpy(b, &half, 2);
            for (int i = 0; i < 32; ++i) {
                const int q = (int)(next_random(&seed) % 7) - 3;
                xq[(size_t)t * id + c * 32 + i] = q;
                b[4 + i] = (uint8_t)q;
                sum += q;
            }
            memcpy(b + 36, &sum, 4);
        }
    for (int t = 0; t < nt; ++t)
        for (int j = 0; j < od; ++j) {
            double total = 0; /* d = 1, dmin = 1/4, activation scale 1/2 */
            for (int k = 0; k < id; ++k)
                total += 0.5 * xq[(size_t)t * id + k] *
                         (ws[j * chunks + k / 32] * wq[(size_t)j * id + k] - 0.25 * wm[j * chunks + k / 32]);
            o.want[(size_t)t * od + j] = (float)total;
        }
    free(wq), free(ws), free(wm), free(xq);
    return o;
}

static void free_operands(struct operands *o) {
    free(o->w), free(o->x), free(o->want), free(o->got);
}

static void run_mmq(struct operands *o, int depth, int threads, const char *isa, struct ptx_module *m,
                    struct trace *t) {
    const size_t w_bytes = (size_t)o->od * (o->id / 256) * 144, x_bytes = (size_t)o->nt * (o->id / 32) * 40;
    struct launch_buffer buffers[3] = {
        {.name = "weight", .role = BUFFER_IN, .bytes = w_bytes, .cell_bytes = 144, .data = o->w},
        {.name = "activation", .role = BUFFER_IN, .bytes = x_bytes, .cell_bytes = 40, .data = o->x},
        {.name = "result",
         .role = BUFFER_OUT,
         .bytes = (size_t)o->nt * o->od * 4,
         .cell_bytes = 4,
         .data = (uint8_t *)o->got}};
    struct launch_arg args[6] = {{.buffer = 0, .bytes = 8},  {.buffer = 1, .bytes = 8},  {.buffer = 2, .bytes = 8},
                                 {.buffer = -1, .bytes = 4}, {.buffer = -1, .bytes = 4}, {.buffer = -1, .bytes = 4}};
    args[3].value = (uint64_t)o->nt, args[4].value = (uint64_t)o->od, args[5].value = (uint64_t)o->id;
    const size_t bytes[4] = {(size_t)depth * 4096, (size_t)depth * 1024, 49152, (size_t)depth * 1024};
    struct launch_plane planes[4];
    size_t end = 0;
    for (int i = 0; i < 4; ++i) {
        planes[i] = (struct launch_plane){.name = "plane", .offset = end, .bytes = bytes[i]};
        end += bytes[i];
    }
    struct launch l = {.module = m,
                       .entry = depth == 8 ? "mmq_wide_ldb_kd8" : "mmq_wide_ldb_kd4",
                       .grid = {(uint32_t)(o->nt + 127) / 128, (uint32_t)(o->od + 127) / 128, 1},
                       .block = {256, 1, 1},
                       .shared_bytes = end,
                       .buffers = buffers,
                       .buffer_count = 3,
                       .args = args,
                       .arg_count = 6,
                       .planes = planes,
                       .plane_count = 4,
                       .threads = threads};
    memset(o->got, 0xcb, buffers[2].bytes);
    if (isa)
        setenv("WARPPROOF_ISA", isa, 1);
    struct error e = {""};
    cr_assert(runner_machine.run(&l, t, &e), "mmq kd%d nt %d od %d id %d: %s", depth, o->nt, o->od, o->id, e.text);
}

static void judge(const struct operands *o, const struct trace *t, int depth) {
    cr_assert(t->event_count == 0, "kd%d nt %d od %d: event %d at line %d", depth, o->nt, o->od, t->events[0].kind,
              t->sites[t->events[0].instruction].line);
    for (int i = 0; i < o->nt; ++i)
        for (int j = 0; j < o->od; ++j) {
            const size_t cell = (size_t)i * o->od + j;
            /* a sum of nothing but zeros may be -0 in one of the two */
            const uint32_t want = o->want[cell] == 0 ? 0 : float_bits(o->want[cell]);
            const uint32_t got = float_bits(o->got[cell]) == 0x80000000u ? 0 : float_bits(o->got[cell]);
            cr_assert(got == want, "kd%d nt %d od %d id %d: token %d row %d: want %08x got %08x", depth, o->nt, o->od,
                      o->id, i, j, want, got);
            for (int b = 0; b < 4; ++b)
                cr_assert(t->coverage[2].stores[4 * cell + b] == 1, "token %d row %d byte %d: stored %d times", i, j, b,
                          t->coverage[2].stores[4 * cell + b]);
        }
    const uint64_t tiles = (uint64_t)((o->nt + 127) / 128) * (uint64_t)((o->od + 127) / 128);
    cr_assert(t->macs == tiles * 128 * 128 * (uint64_t)o->id, "kd%d: %llu multiply-adds", depth,
              (unsigned long long)t->macs);
}

Test(machine_mmq, exact) {
    static const int shapes[][3] = {{1, 1, 256}, {33, 70, 512}, {129, 128, 256}, {130, 257, 1024}};
    struct error e = {""};
    struct ptx_module *m = ptx_load("fixtures/ptx/mmq_wide_ldb.ptx", &e);
    cr_assert(m, "%s", e.text);
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        struct operands o = make_operands(shapes[s][0], shapes[s][1], shapes[s][2], 88172645463325252u + s);
        for (int depth = 4; depth <= 8; depth += 4) {
            struct trace t;
            run_mmq(&o, depth, 2, isas[s % isa_count], m, &t);
            judge(&o, &t, depth);
            trace_free(&t);
        }
        free_operands(&o);
    }
    ptx_free(m);
}

/* A fault in one weight nibble must show, or the comparison above proves nothing. */
Test(machine_mmq, sees_a_changed_nibble) {
    struct error e = {""};
    struct ptx_module *m = ptx_load("fixtures/ptx/mmq_wide_ldb.ptx", &e);
    cr_assert(m, "%s", e.text);
    struct operands o = make_operands(3, 17, 256, 99);
    struct trace t;
    o.w[16 * 144 + 16 + 5] ^= 1; /* row 16, value 5 */
    run_mmq(&o, 8, 1, NULL, m, &t);
    int wrong = 0, elsewhere = 0;
    for (int i = 0; i < 3 * 17; ++i) {
        const bool differs = memcmp(&o.want[i], &o.got[i], 4) != 0;
        wrong += differs;
        elsewhere += differs && i % 17 != 16;
    }
    cr_assert(wrong >= 1 && elsewhere == 0, "%d wrong cells, %d outside row 16", wrong, elsewhere);
    trace_free(&t);
    free_operands(&o);
    ptx_free(m);
}
