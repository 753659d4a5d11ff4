/* Operations across a warp and on fragments: shfl, vote, match, redux, ldmatrix, mma. */
#include "machine_run.h"

#define THREAD                                                                                                         \
    "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 64;\n"          \
    "add.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"

/* Sixteen words a lane in, sixteen out; the registers %r10 .. %r25 are loaded before the body. */
static struct ptx_module *run_words(const char *body, uint32_t in[32][16], uint32_t out[32][16], const char *isa,
                                    size_t threads, struct trace *t) {
    char text[4096];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", THREAD);
    for (int i = 0; i < 16; ++i)
        n += (size_t)snprintf(text + n, sizeof text - n, "ld.global.u32 %%r%d, [%%rd4+%d];\n", 10 + i, 4 * i);
    snprintf(text + n, sizeof text - n, "%s\nret;\n", body);
    memset(out, 0xcb, 32 * 64);
    struct launch_buffer b[2] = {
        {.name = "in", .role = BUFFER_IN, .bytes = 2048, .cell_bytes = 4, .data = (void *)in},
        {.name = "out", .role = BUFFER_OUT, .bytes = 2048, .cell_bytes = 4, .data = (void *)out}};
    const struct machine_test test = {.body = text,
                                      .buffers = b,
                                      .buffer_count = 2,
                                      .isa = isa,
                                      .block = {(uint32_t)threads},
                                      .unwatched = WATCH_UNINIT};
    return machine_must(&test, t);
}

static void fill(uint32_t in[32][16], uint64_t seed) {
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < 16; ++i)
            in[lane][i] = (uint32_t)next_random(&seed);
}

/* The pseudo-code of PTX ISA 9.7.9.6. */
Test(machine_warp, shfl) {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    for (int mode = 0; mode < 4; ++mode)
        for (unsigned round = 0; round < 40; ++round) {
            uint32_t in[32][16], out[32][16];
            char body[512];
            fill(in, 1 + round);
            for (int lane = 0; lane < 32 && round >= 10; ++lane) { /* the operands that CUDA makes: width 1 .. 32 */
                in[lane][1] = in[0][1] % 32;
                in[lane][2] = (32 - (1u << in[0][2] % 6)) << 8 | (mode ? 31 : 0);
            }
            snprintf(body, sizeof body,
                     "shfl.sync.%s.b32 %%r30|%%p1, %%r10, %%r11, %%r12, -1;\nselp.u32 %%r31, 1, 0, %%p1;\n"
                     "st.global.v2.u32 [%%rd5], {%%r30, %%r31};",
                     modes[mode]);
            struct trace t;
            struct ptx_module *m = run_words(body, in, out, NULL, 32, &t);
            for (int lane = 0; lane < 32; ++lane) {
                const int by = in[lane][1] & 31, c = in[lane][2] & 31, segment = in[lane][2] >> 8 & 31;
                const int most = (lane & segment) | (c & ~segment), least = lane & segment;
                int from = mode == 0   ? lane - by
                           : mode == 1 ? lane + by
                           : mode == 2 ? (lane ^ by)
                                       : (least | (by & ~segment));
                const bool ok = mode == 0 ? from >= most : from <= most;
                from = ok ? from : lane;
                cr_assert(out[lane][0] == in[from][0] && out[lane][1] == ok, "shfl %s lane %d: from %d", modes[mode],
                          lane, from);
            }
            trace_free(&t);
            ptx_free(m);
        }
}

Test(machine_warp, votes_and_reductions) {
    static const char body[] =
        "and.b32 %r30, %r10, 3;\nsetp.ne.u32 %p1, %r30, 0;\nvote.sync.all.pred %p2, %p1, -1;\n"
        "vote.sync.any.pred %p3, %p1, -1;\nvote.sync.uni.pred %p4, !%p1, -1;\nvote.sync.ballot.b32 %r31, %p1, -1;\n"
        "selp.u32 %r32, 1, 0, %p2;\nselp.u32 %r33, 2, 0, %p3;\nselp.u32 %r34, 4, 0, %p4;\nor.b32 %r32, %r32, %r33;\n"
        "or.b32 %r32, %r32, %r34;\nmatch.any.sync.b32 %r35, %r30, -1;\nmatch.all.sync.b32 %r36|%p5, %r30, -1;\n"
        "selp.u32 %r37, 1, 0, %p5;\nredux.sync.add.s32 %r38, %r10, -1;\nredux.sync.min.s32 %r39, %r10, -1;\n"
        "redux.sync.max.u32 %r40, %r10, -1;\nredux.sync.xor.b32 %r41, %r10, -1;\nredux.sync.and.b32 %r42, %r10, -1;\n"
        "activemask.b32 %r43;\nbar.warp.sync -1;\nst.global.v4.u32 [%rd5], {%r31, %r32, %r35, %r36};\n"
        "st.global.v4.u32 [%rd5+16], {%r37, %r38, %r39, %r40};\nst.global.v4.u32 [%rd5+32], {%r41, %r42, %r43, %r43};";
    for (unsigned round = 0; round < 30; ++round) {
        uint32_t in[32][16], out[32][16];
        const int lanes = round % 3 == 2 ? 20 : 32;
        fill(in, 100 + round);
        for (int lane = 0; lane < 32; ++lane)
            in[lane][0] = round % 3 == 0 ? in[0][0] : in[lane][0] & (round % 5 ? UINT32_MAX : 0xfffffffc);
        struct trace t;
        struct ptx_module *m = run_words(body, in, out, NULL, (size_t)lanes, &t);
        uint32_t ballot = 0, sum = 0, least = in[0][0], most = 0, parity = 0, common = UINT32_MAX, all = 0;
        bool alike = true;
        for (int lane = 0; lane < lanes; ++lane) {
            const uint32_t x = in[lane][0];
            all |= 1u << lane;
            ballot |= (uint32_t)((x & 3) != 0) << lane;
            sum += x;
            least = (int32_t)x < (int32_t)least ? x : least;
            most = x > most ? x : most;
            parity ^= x;
            common &= x;
            alike &= (x & 3) == (in[0][0] & 3);
        }
        const uint32_t votes =
            (ballot == all) | (uint32_t)(ballot != 0) << 1 | (uint32_t)(!ballot || ballot == all) << 2;
        for (int lane = 0; lane < lanes; ++lane) {
            uint32_t same = 0;
            for (int other = 0; other < lanes; ++other)
                same |= (uint32_t)((in[other][0] & 3) == (in[lane][0] & 3)) << other;
            const uint32_t want[11] = {ballot, votes, same,   alike ? all : 0, alike, sum,
                                       least,  most,  parity, common,          all};
            for (int i = 0; i < 11; ++i)
                cr_assert(out[lane][i] == want[i], "round %u lane %d value %d: want %x got %x", round, lane, i, want[i],
                          out[lane][i]);
        }
        cr_assert(t.event_count == 0, "an event");
        trace_free(&t);
        ptx_free(m);
    }
}

/* Lanes that go round a .sync operation and exit are not waited for (PTX ISA 9.7.9.6); .aligned ones must not be gone
 * round. Lanes that exited before count nowhere. */
Test(machine_warp, missing_lanes) {
    static const char *const operations[] = {
        "shfl.sync.bfly.b32 %r30, %r10, 1, 31, -1;", "vote.sync.ballot.b32 %r30, %p1, -1;", "bar.warp.sync -1;",
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r30,%r31}, {%r10}, {%r11}, {%r12,%r13};",
        ".shared .align 16 .b8 words[512];\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r30}, [words];"};
    for (size_t k = 0; k < 2 * sizeof operations / sizeof *operations; ++k) {
        uint32_t in[32][16], out[32][16];
        char body[512];
        fill(in, k);
        snprintf(body, sizeof body, "setp.lt.u32 %%p1, %%r1, 7;\n@%%p1 %s SKIP;\n%s\nSKIP:\nadd.u32 %%r9, %%r9, 1;",
                 k & 1 ? "ret; //" : "bra", operations[k / 2]);
        struct trace t;
        struct ptx_module *m = run_words(body, in, out, NULL, 32, &t);
        cr_assert(t.event_count == (k >= 6 && !(k & 1)), "%s: %zu events", operations[k / 2], t.event_count);
        if (t.event_count)
            cr_assert(t.events[0].kind == EVENT_DIVERGENT_ALIGNED && t.events[0].lane == 7, "%s: kind %d lane %u",
                      operations[k / 2], t.events[0].kind, t.events[0].lane);
        trace_free(&t);
        ptx_free(m);
    }
}

/* Lanes at one place, each with the mask of those that have its key: the aggregated atomics of NVIDIA's own guide. In
 * the second round lanes come there from two branches, one of which waits for members in the other. */
Test(machine_warp, masks_of_a_key) {
    static const char body[] =
        "and.b32 %r30, %r10, 3;\nsetp.lt.u32 %p1, %r10, %r11;\nmatch.any.sync.b32 %r31, %r30, -1;\nbfind.u32 %r32, "
        "%r31;\n@%p1 bra NEXT;\nadd.u32 %r33, %r33, 1;\nNEXT:\nshfl.sync.idx.b32 %r34|%p2, %r12, %r32, 31, %r31;\n"
        "redux.sync.add.s32 %r35, %r12, %r31;\nvote.sync.ballot.b32 %r36, %p1, %r31;\nbar.warp.sync %r31;\n"
        "st.global.v4.u32 [%rd5], {%r31, %r34, %r35, %r36};";
    for (unsigned round = 0; round < 20; ++round) {
        uint32_t in[32][16], out[32][16];
        fill(in, 500 + round);
        for (int lane = 0; lane < 32 && round % 2 == 0; ++lane)
            in[lane][1] = 0;
        struct trace t;
        struct ptx_module *m = run_words(body, in, out, NULL, 32, &t);
        for (int lane = 0; lane < 32; ++lane) {
            uint32_t same = 0, sum = 0, low = 0;
            int last = 0;
            for (int i = 0; i < 32; ++i)
                if ((in[i][0] & 3) == (in[lane][0] & 3)) {
                    same |= 1u << i;
                    sum += in[i][2];
                    low |= (uint32_t)(in[i][0] < in[i][1]) << i;
                    last = i;
                }
            cr_assert(out[lane][0] == same && out[lane][1] == in[last][2] && out[lane][2] == sum && out[lane][3] == low,
                      "round %u lane %d: %x %x %x %x", round, lane, out[lane][0], out[lane][1], out[lane][2],
                      out[lane][3]);
        }
        cr_assert(t.event_count == 0, "round %u: %zu events", round, t.event_count);
        trace_free(&t);
        ptx_free(m);
    }
}

/* A lane that names another one which names other members is told: the two do not do it together. */
Test(machine_warp, masks_that_disagree) {
    uint32_t in[32][16], out[32][16];
    fill(in, 7);
    struct trace t;
    struct ptx_module *m = run_words("mov.u32 %r30, -1;\nsetp.eq.u32 %p1, %r1, 9;\n@%p1 mov.u32 %r30, 0x200;\n"
                                     "shfl.sync.idx.b32 %r31, %r10, 3, 31, %r30;\nst.global.u32 [%rd5], %r31;",
                                     in, out, NULL, 32, &t);
    cr_assert(t.event_count >= 1 && t.events[0].kind == EVENT_DIVERGENT_ALIGNED, "%zu events", t.event_count);
    trace_free(&t);
    ptx_free(m);
}

/* PTX ISA 9.7.14.5.15: byte b of register j in lane L. Rows lie anywhere, on multiples of 16. */
Test(machine_warp, ldmatrix) {
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (unsigned round = 0; round < 36 * isa_count; ++round) {
        const int count = 1 << round % 3, trans = round / 3 % 2, form = round / 6 % 3;
        static const char *const addresses[] = {".shared.b16 %s, [%%r31]", ".b16 %s, [%%rd10]",
                                                ".shared.b16 %s, [%%rd9]"};
        static const char *const vectors[] = {"{%r40}", "{%r40, %r41}", "", "{%r40, %r41, %r42, %r43}"};
        uint32_t in[32][16], out[32][16], rows[32];
        uint8_t memory[2048];
        char body[1024], op[256];
        fill(in, 40 + round);
        memcpy(memory, in, sizeof memory);
        for (int lane = 0; lane < 32; ++lane)
            rows[lane] = in[lane][15] % 128 * 16;
        snprintf(op, sizeof op, addresses[form], vectors[count - 1]);
        /* every lane copies its 64 bytes to shared memory; the addresses come from word 15 */
        snprintf(body, sizeof body,
                 ".shared .align 16 .b8 pad[32];\n.shared .align 16 .b8 words[2048];\nmov.u32 %%r30, words;\n"
                 "shl.b32 %%r31, %%r1, 6;\nadd.u32 %%r31, %%r31, %%r30;\n"
                 "st.shared.v4.u32 [%%r31], {%%r10,%%r11,%%r12,%%r13};\n"
                 "st.shared.v4.u32 [%%r31+16], {%%r14,%%r15,%%r16,%%r17};\n"
                 "st.shared.v4.u32 [%%r31+32], {%%r18,%%r19,%%r20,%%r21};\n"
                 "st.shared.v4.u32 [%%r31+48], {%%r22,%%r23,%%r24,%%r25};\nbar.warp.sync -1;\n"
                 "and.b32 %%r31, %%r25, 127;\nshl.b32 %%r31, %%r31, 4;\nadd.u32 %%r31, %%r31, %%r30;\n"
                 "mov.b32 %%r41, 0;\nmov.b32 %%r42, 0;\nmov.b32 %%r43, 0;\ncvt.u64.u32 %%rd9, %%r31;\ncvta.shared.u64 "
                 "%%rd10, %%rd9;\n"
                 "ldmatrix.sync.aligned.m8n8.x%d%s%s;\nst.global.v4.u32 [%%rd5], {%%r40,%%r41,%%r42,%%r43};",
                 count, trans ? ".trans" : "", op);
        struct trace t;
        struct ptx_module *m = run_words(body, in, out, isas[round % isa_count], 32, &t);
        cr_assert(t.event_count == 0, "event %d", t.events[0].kind);
        for (int lane = 0; lane < 32; ++lane)
            for (int j = 0; j < count; ++j)
                for (int b = 0; b < 4; ++b) {
                    const int g = lane / 4, q = lane % 4;
                    const uint32_t at =
                        trans ? rows[8 * j + 2 * q + b / 2] + 2 * g + b % 2 : rows[8 * j + g] + 4 * q + b;
                    cr_assert((out[lane][j] >> (8 * b) & 255) == memory[at], "x%d%s lane %d register %d byte %d", count,
                              trans ? ".trans" : "", lane, j, b);
                }
        trace_free(&t);
        ptx_free(m);
    }
}

struct shape {
    const char *name;
    int m, k, a, b, c; /* registers of A, B, C */
};

static int64_t element(const uint32_t in[32][16], int lane, int reg, int byte, bool is_unsigned) {
    const uint8_t x = (uint8_t)(in[lane][reg] >> (8 * byte));
    return is_unsigned ? x : (int8_t)x;
}

/* The fragments of PTX ISA 9.7.14.5 as a triple loop over rows, columns and k. */
static int64_t product(const struct shape *s, const uint32_t in[32][16], int row, int n, bool ua, bool ub) {
    int64_t sum = 0;
    for (int k = 0; k < s->k; ++k) {
        const int reg_a = (row / 8) + 2 * (k / 16), reg_b = k / 16; /* m8 shapes have rows below 8 and k below 16 */
        const int lane_a = 4 * (row % 8) + k % 16 / 4, lane_b = 4 * n + k % 16 / 4;
        sum += element(in, lane_a, reg_a, k % 4, ua) * element(in, lane_b, s->a + reg_b, k % 4, ub);
    }
    return sum;
}

Test(machine_warp, mma) {
    static const struct shape shapes[] = {
        {"m16n8k32", 16, 32, 4, 2, 4}, {"m16n8k16", 16, 16, 2, 1, 4}, {"m8n8k16", 8, 16, 1, 1, 2}};
    static const char *const types[] = {"s8", "u8"};
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (unsigned round = 0; round < 3 * 4 * 2 * 6 * isa_count; ++round) {
        const struct shape *s = &shapes[round % 3];
        const bool ua = round / 3 & 1, ub = round / 6 & 1, clamp = round / 12 & 1;
        const unsigned kind = round / 24 % 6;
        uint32_t in[32][16], out[32][16];
        char body[1024];
        fill(in, 900 + round);
        for (int lane = 0; lane < 32; ++lane) {
            for (int i = 0; i < s->a + s->b && kind == 1; ++i)
                in[lane][i] = i < s->a ? 0x80808080u : 0x7f7f7f7fu; /* the largest sums */
            for (int i = 0; i < s->a + s->b && kind == 2; ++i)
                in[lane][i] = 0xffffffffu;
            for (int i = 0; i < 4 && kind >= 3; ++i) /* accumulators next to their limits */
                in[lane][s->a + s->b + i] = kind == 3   ? 0x7fffff00u + (in[lane][10 + i] & 255)
                                            : kind == 4 ? 0x80000000u + (in[lane][10 + i] & 0xfff)
                                                        : 0;
        }
        const int a = 10, b = a + s->a, c = b + s->b;
        size_t n = (size_t)snprintf(body, sizeof body, "mma.sync.aligned.%s.row.col%s.s32.%s.%s.s32 ", s->name,
                                    clamp ? ".satfinite" : "", types[ua], types[ub]);
        const int first[4] = {c, a, b, c}, count[4] = {s->c, s->a, s->b, s->c}; /* D overwrites C */
        for (int v = 0; v < 4; ++v) {
            n += (size_t)snprintf(body + n, sizeof body - n, "%s{", v ? ", " : "");
            for (int i = 0; i < count[v]; ++i)
                n += (size_t)snprintf(body + n, sizeof body - n, "%s%%r%d", i ? ", " : "", first[v] + i);
            n += (size_t)snprintf(body + n, sizeof body - n, "}");
        }
        n += (size_t)snprintf(body + n, sizeof body - n, ";\n");
        for (int i = 0; i < s->c; ++i)
            n += (size_t)snprintf(body + n, sizeof body - n, "st.global.u32 [%%rd5+%d], %%r%d;\n", 4 * i, c + i);
        struct trace t;
        struct ptx_module *m = run_words(body, in, out, isas[round % isa_count], 32, &t);
        for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < s->c; ++i) {
                const int row = lane / 4 + 8 * (i / 2), col = 2 * (lane % 4) + i % 2;
                const int64_t exact =
                    product(s, (const uint32_t(*)[16])in, row, col, ua, ub) + (int32_t)in[lane][s->a + s->b + i];
                const uint32_t want = !clamp              ? (uint32_t)exact
                                      : exact > INT32_MAX ? 0x7fffffffu
                                      : exact < INT32_MIN ? 0x80000000u
                                                          : (uint32_t)exact;
                cr_assert(out[lane][i] == want, "%s %s.%s%s (%s) row %d column %d: want %x got %x", s->name, types[ua],
                          types[ub], clamp ? " satfinite" : "", isas[round % isa_count], row, col, want, out[lane][i]);
            }
        cr_assert(t.macs == (uint64_t)(s->m * 8 * s->k), "%s: %llu multiply-adds", s->name, (unsigned long long)t.macs);
        trace_free(&t);
        ptx_free(m);
    }
}

/* Two destinations, and several registers at once. */
Test(machine_warp, packs_and_pairs) {
    static const char body[] =
        "setp.lt.u32 %p1|%p2, %r10, %r11;\nsetp.gt.and.s32 %p3|%p4, %r10, %r11, %p1;\nselp.u32 %r30, 1, 0, %p1;\n"
        "selp.u32 %r31, 2, 0, %p2;\nselp.u32 %r32, 4, 0, %p3;\nselp.u32 %r33, 8, 0, %p4;\nadd.u32 %r30, %r30, %r31;\n"
        "add.u32 %r30, %r30, %r32;\nadd.u32 %r30, %r30, %r33;\nmov.b64 %rd10, {%r10, %r11};\nmov.b64 {%r34, %r35}, "
        "%rd10;\n"
        "mov.b32 {%h1, %h2}, %r12;\nmov.b32 %r36, {%h2, %h1};\nmov.b64 {%h3, %h4, %h5, %h6}, %rd10;\n"
        "mov.b64 %rd11, {%h6, %h5, %h4, %h3};\nst.global.v4.u32 [%rd5], {%r30, %r34, %r35, %r36};\n"
        "st.global.u64 [%rd5+16], %rd11;\nlop3.or.b32 %r37|%p5, %r10, %r11, %r12, 0x80, %p1;\nselp.u32 %r38, 1, 0, "
        "%p5;\n"
        "st.global.v2.u32 [%rd5+24], {%r37, %r38};\nsetp.ne.u32 %p6, %r10, %r11;\n@%p6 setp.eq.u32 %p6|%p7, %r10, "
        "%r10;\n"
        "selp.u32 %r39, 1, 0, %p7;\nst.global.u32 [%rd5+32], %r39;";
    uint32_t in[32][16], out[32][16];
    fill(in, 4242);
    in[3][0] = in[3][1] = in[3][2] = 0;
    struct trace t;
    struct ptx_module *m = run_words(body, in, out, NULL, 32, &t);
    for (int lane = 0; lane < 32; ++lane) {
        const uint32_t a = in[lane][0], b = in[lane][1], c = in[lane][2];
        const bool less = a<b, greater = (int32_t)a>(int32_t) b;
        const uint32_t want[9] = {(less ? 1u : 2u) + (greater && less ? 4u : 0) + (!greater && less ? 8u : 0),
                                  a,
                                  b,
                                  c << 16 | c >> 16,
                                  b >> 16 | b << 16,
                                  a >> 16 | a << 16,
                                  a & b & c,
                                  (a & b & c) != 0 || less,
                                  0};
        for (int i = 0; i < 9; ++i)
            cr_assert(out[lane][i] == want[i], "lane %d value %d: want %x got %x", lane, i, want[i], out[lane][i]);
    }
    trace_free(&t);
    ptx_free(m);
}
