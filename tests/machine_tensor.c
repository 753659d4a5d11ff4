/* mma of every form on the machine against a second implementation, element by element; what chips lack is refused. */
#include "independent/independent.h"
#include "machine_run.h"
#include "mma_tiles.h"

static int64_t integer(uint32_t code, enum tensor_type t) {
    switch (t) {
    case TENSOR_S8:
        return (int8_t)code;
    case TENSOR_S4:
        return (int64_t)(code & 15) - (code & 8 ? 16 : 0);
    default:
        return code;
    }
}

/* Element (row, n) of D as it must be. */
static uint32_t wanted(const struct mma_case *c, const struct mma_tile *t, const struct arch *arch, int row, int n) {
    if (c->form->type >= TENSOR_F16) {
        uint32_t a[MMA_DEPTH], b[MMA_DEPTH];
        const int low = c->form->type == TENSOR_TF32 ? 13 : 0;
        for (int k = 0; k < c->form->k; ++k)
            a[k] = t->a[row][k] >> low, b[k] = t->b[k][n] >> low;
        return independent_mma(arch->sm, tensor_type_names[c->a], tensor_type_names[c->b], c->form->k, c->half, a, b,
                               t->c[row][n]);
    }
    int64_t sum = (int32_t)t->c[row][n];
    for (int k = 0; k < c->form->k; ++k) {
        const int64_t a = integer(t->a[row][k], c->a), b = integer(t->b[k][n], c->b);
        sum += c->a != TENSOR_B1 ? a * b : c->both ? (a & b) : (a ^ b);
    }
    if (c->clamp)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)sum;
}

static void run(const struct mma_case *c, const struct arch *arch, const char *isa, struct mma_tile *tiles,
                size_t count) {
    struct ptx_module *m;
    struct trace t;
    struct error e = {""};
    cr_assert(mma_run(NULL, c, arch, isa, "", 32, tiles, count, &m, &t, &e), "%s", e.text);
    /* by a model of the literature: one event, and a warp instruction is no more than it was */
    const bool measured = c->a < TENSOR_F16 || tensor_unit(arch)->measured;
    cr_assert(t.event_count == !measured && (measured || t.events[0].kind == EVENT_LITERATURE), "%zu events, kind %d",
              t.event_count, t.event_count ? (int)t.events[0].kind : -1);
    cr_assert(t.macs == count * 8 * c->form->m * c->form->k, "%llu multiply-adds", (unsigned long long)t.macs);
    trace_free(&t);
    ptx_free(m);
}

static void compare(const struct mma_case *c, const struct mma_tile *t, const struct arch *arch, const char *isa) {
    for (int row = 0; row < c->form->m; ++row)
        for (int n = 0; n < 8; ++n) {
            const uint32_t want = wanted(c, t, arch, row, n);
            if (t->d[row][n] == want)
                continue;
            char name[64];
            mma_case_name(c, name);
            cr_assert_fail("%s on %s (%s), row %d column %d, c %08x: want %08x got %08x", name, arch->name, isa, row, n,
                           t->c[row][n], want, t->d[row][n]);
        }
}

struct plan {
    const char *arch;
    size_t tiles, cases;
    bool floats, integers;
};

static void check_case(const struct mma_case *c, void *context) {
    struct plan *plan = context;
    const struct arch *arch = arch_named(plan->arch);
    const bool is_float = c->form->type >= TENSOR_F16;
    if (!mma_case_runs(c, arch) || !(is_float ? plan->floats : plan->integers))
        return;
    const char *isas[3];
    const size_t isa_count = machine_isas(isas), count = plan->tiles;
    struct mma_tile *tiles = calloc(count, sizeof *tiles);
    uint64_t seed = 0x9e3779b97f4a7c15u + plan->cases++;
    for (size_t i = 0; i < count; ++i)
        mma_tile_fill(c, &tiles[i], &seed);
    for (size_t k = 0; k < isa_count; ++k) { /* each set gets a part of the tiles, and the first ones besides */
        const size_t share = count / isa_count, first = k * share, shared = count < 16 ? count : 16;
        run(c, arch, isas[k], tiles + first, k + 1 < isa_count ? share : count - first);
        for (size_t i = first; i < (k + 1 < isa_count ? first + share : count); ++i)
            compare(c, &tiles[i], arch, isas[k]);
        run(c, arch, isas[k], tiles, shared);
        for (size_t i = 0; i < shared; ++i)
            compare(c, &tiles[i], arch, isas[k]);
    }
    free(tiles);
}

/* 10^5 results a form on the chip whose numbers were measured. */
Test(machine_tensor, floats_on_hopper) {
    struct plan plan = {.arch = "sm_90", .tiles = 800, .floats = true};
    mma_each_case(check_case, &plan);
    cr_assert(plan.cases == 24, "%zu cases", plan.cases);
}

Test(machine_tensor, floats_on_other_chips) {
    static const struct {
        const char *arch;
        size_t cases;
    } chips[] = {{"sm_75", 2}, {"sm_80", 8}, {"sm_86", 8}, {"sm_89", 24}, {"sm_100", 8}, {"sm_120", 24}};
    for (size_t i = 0; i < sizeof chips / sizeof *chips; ++i) {
        struct plan plan = {.arch = chips[i].arch, .tiles = 120, .floats = true};
        mma_each_case(check_case, &plan);
        cr_assert(plan.cases == chips[i].cases, "%s: %zu cases", chips[i].arch, plan.cases);
    }
}

Test(machine_tensor, integers) {
    struct plan plan = {.arch = "sm_80", .tiles = 60, .integers = true};
    mma_each_case(check_case, &plan);
    cr_assert(plan.cases == 3 * 8 + 3 * 8 + 3 * 2, "%zu cases", plan.cases);
}

/* Single products and sums with a known result on sm_90, as measured on an H200: element (0, 0), the rest is zero. */
Test(machine_tensor, special_values) {
    static const struct {
        const char *name;
        uint32_t a[3], b[3], c, want; /* k = 0, 1, 2 */
    } rows[] = {
        {"m16n8k16.f32.f16.f16.f32", {0x7e00}, {0x3c00}, 0, 0x7fffffff},                 /* NaN */
        {"m16n8k16.f32.f16.f16.f32", {0x7c00}, {0}, 0, 0x7fffffff},                      /* Inf * 0 */
        {"m16n8k16.f32.f16.f16.f32", {0x7c00, 0x7c00}, {0x3c00, 0xbc00}, 0, 0x7fffffff}, /* Inf - Inf */
        {"m16n8k16.f32.f16.f16.f32", {0x7c00}, {0x3c00}, 0xff800000, 0x7fffffff},        /* Inf + C = -Inf */
        {"m16n8k16.f32.f16.f16.f32", {0x7c00}, {0xbc00}, 0x3f800000, 0xff800000},        /* -Inf */
        {"m16n8k16.f32.f16.f16.f32", {0x3c00}, {0x3c00}, 0x7fc12345, 0x7fffffff},        /* NaN in C */
        {"m16n8k16.f32.f16.f16.f32", {0}, {0}, 0x80000000, 0},                           /* -0 alone */
        {"m16n8k16.f32.f16.f16.f32", {0x8000, 0x8000}, {0x3c00, 0x3c00}, 0x80000000, 0}, /* nothing but -0 */
        {"m16n8k16.f32.f16.f16.f32", {0x0001}, {0x0001}, 0, 0x27800000},                 /* subnormals: 2^-48 */
        {"m16n8k16.f32.f16.f16.f32", {0}, {0}, 0x00000001, 0x00000001},                  /* subnormal C */
        {"m16n8k16.f16.f16.f16.f16", {0x7e00}, {0x3c00}, 0, 0x7fff},                     /* NaN */
        {"m16n8k16.f16.f16.f16.f16", {0x3c00}, {0x4b80}, 0x7bff, 0x7bff},                /* 65504 + 15 */
        {"m16n8k16.f16.f16.f16.f16", {0x3c00}, {0x4c00}, 0x7bff, 0x7c00},                /* 65504 + 16 */
        {"m16n8k8.f16.f16.f16.f16", {0x0200}, {0x8200}, 0, 0},                           /* -2^-30 becomes +0 */
        {"m16n8k8.f16.f16.f16.f16", {0x0200}, {0x8200}, 0x8000, 0},
        {"m16n8k8.f32.bf16.bf16.f32", {0x1a00}, {0x9780}, 0, 0},          /* -2^-155 becomes +0 */
        {"m16n8k8.f32.bf16.bf16.f32", {0x1a00}, {0x9b00}, 0, 0x80000002}, /* -2^-148 */
        {"m16n8k16.f32.bf16.bf16.f32",
         {0x7180, 0x7180, 0x3f80},
         {0x7180, 0xf180, 0x3f80},
         0,
         0},                                                                        /* 2^200 - 2^200 + 1 */
        {"m16n8k16.f32.bf16.bf16.f32", {0x7f00}, {0x3f80}, 0x7f7fffff, 0x7f800000}, /* past 2^128 */
        {"m16n8k16.f32.bf16.bf16.f32", {0x3f80}, {0x3f80}, 0x7f7fffff, 0x7f7fffff}, /* cut, not rounded up */
        {"m16n8k8.f32.tf32.tf32.f32", {0x3f801fff}, {0x3f801fff}, 0, 0x3f800000},   /* 13 bits do not count */
        {"m16n8k8.f32.tf32.tf32.f32", {0x7f800001}, {0x3f800000}, 0, 0x7f800000},   /* so this NaN is Inf */
        {"m16n8k32.f32.e4m3.e4m3.f32", {0x7f}, {0x38}, 0, 0x7fffffff},              /* e4m3's NaN */
        {"m16n8k32.f32.e4m3.e4m3.f32", {0x7e}, {0x7e}, 0, 0x48440000},              /* 448 * 448 */
        {"m16n8k32.f32.e5m2.e4m3.f32", {0x7c}, {0x38}, 0, 0x7f800000},              /* e5m2's Inf */
        {"m16n8k32.f16.e5m2.e5m2.f16", {0x01}, {0x81}, 0x8000, 0},                  /* -2^-32 + -0 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct mma_case c;
        cr_assert(mma_case_named(rows[i].name, &c), "%s", rows[i].name);
        struct mma_tile *t = calloc(1, sizeof *t);
        for (int k = 0; k < 3; ++k)
            t->a[0][k] = rows[i].a[k], t->b[k][0] = rows[i].b[k];
        t->c[0][0] = rows[i].c;
        run(&c, arch_named("sm_90"), NULL, t, 1);
        cr_assert(t->d[0][0] == rows[i].want, "row %zu, %s: want %08x got %08x", i, rows[i].name, rows[i].want,
                  t->d[0][0]);
        compare(&c, t, arch_named("sm_90"), "best");
        free(t);
    }
}

/* One column of A is 1, B is coded by row and column: what comes out says which element of B each one met; and the
 * other way round. For every shape; the codes are small integers that every type has. */
static void check_fragments(const struct mma_case *c, void *context) {
    static const uint32_t one[TENSOR_TYPES] = {
        [TENSOR_S8] = 1,      [TENSOR_U8] = 1,       [TENSOR_S4] = 1,        [TENSOR_U4] = 1,
        [TENSOR_B1] = 1,      [TENSOR_F16] = 0x3c00, [TENSOR_BF16] = 0x3f80, [TENSOR_TF32] = 0x3f800000,
        [TENSOR_E4M3] = 0x38, [TENSOR_E5M2] = 0x3c};
    size_t *count = context;
    const int depth = c->form->k, m = c->form->m;
    if (c->clamp || (c->form->type == TENSOR_B1 && !c->both))
        return;
    const bool integer_result = c->form->type < TENSOR_F16;
    const uint32_t result_one = integer_result ? 1 : c->half ? 0x3c00 : 0x3f800000;
    struct mma_tile *tiles = calloc((size_t)depth * 2, sizeof *tiles);
    for (int k = 0; k < depth; ++k)
        for (int side = 0; side < 2; ++side) {
            struct mma_tile *t = &tiles[2 * k + side];
            for (int i = 0; i < 16; ++i) /* bit i of the hash of the place says whether the element is 1 or 0 */
                for (int j = 0; j < depth; ++j)
                    t->a[i][j] = side ? ((i * 7 + j * 5 + i * j) % 3 ? one[c->a] : 0) : j == k ? one[c->a] : 0;
            for (int j = 0; j < depth; ++j)
                for (int n = 0; n < 8; ++n)
                    t->b[j][n] = side ? j == k ? one[c->b] : 0 : (n * 3 + j * 11 + n * j) % 5 < 2 ? one[c->b] : 0;
        }
    run(c, arch_named("sm_90"), NULL, tiles, (size_t)depth * 2);
    for (int k = 0; k < depth; ++k)
        for (int side = 0; side < 2; ++side)
            for (int i = 0; i < m; ++i)
                for (int n = 0; n < 8; ++n) {
                    const bool is_one = side ? (i * 7 + k * 5 + i * k) % 3 : (n * 3 + k * 11 + n * k) % 5 < 2;
                    char name[64];
                    mma_case_name(c, name);
                    cr_assert(tiles[2 * k + side].d[i][n] == (is_one ? result_one : 0),
                              "%s: row %d column %d met another element than k = %d", name, i, n, k);
                }
    free(tiles);
    ++*count;
}

Test(machine_tensor, fragments) {
    size_t count = 0;
    mma_each_case(check_fragments, &count);
    cr_assert(count == 24 + 3 * 4 + 3 * 4 + 3, "%zu cases", count);
}

/* D may be A, B or C in any order; C may be constants; `_` drops a result. */
Test(machine_tensor, overlapping_operands) {
    static const char *const instructions[] = {
        /* D over A and B */
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r13, %r12, %r14, %r15}, {%r10, %r11, %r12, %r13}, "
        "{%r14, %r15}, {%r16, %r17, %r18, %r19};\nmov.b32 %r30, %r13;\nmov.b32 %r31, %r12;\nmov.b32 %r32, %r14;\n"
        "mov.b32 %r33, %r15;",
        /* D over C, turned round */
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r19, %r18, %r17, %r16}, {%r10, %r11, %r12, %r13}, "
        "{%r14, %r15}, {%r16, %r17, %r18, %r19};\nmov.b32 %r30, %r19;\nmov.b32 %r31, %r18;\nmov.b32 %r32, %r17;\n"
        "mov.b32 %r33, %r16;",
        /* the first two of D alone */
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r30, %r31, _, _}, {%r10, %r11, %r12, %r13}, "
        "{%r14, %r15}, {%r16, %r17, %r18, %r19};",
        /* constants */
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r30, %r31, %r32, %r33}, {%r10, %r11, %r12, %r13}, "
        "{%r14, %r15}, {0f3F800000, 0f3F800000, 0f3F800000, 0f3F800000};",
    };
    struct mma_case c;
    cr_assert(mma_case_named("m16n8k16.f32.f16.f16.f32", &c), "no such case");
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; ++i) {
        struct mma_tile *t = calloc(2, sizeof *t);
        uint64_t seed = 5 + i;
        do /* operands that leave C its say */
            mma_tile_fill(&c, t, &seed);
        while (t->c[0][0] % 0x800000 == 0);
        if (i == 3)
            for (int k = 0; k < 128; ++k)
                t->c[k / 8][k % 8] = 0x3f800000;
        t[1] = t[0];
        run(&c, NULL, NULL, t, 1);
        struct ptx_module *m;
        struct trace trace;
        struct error e = {""};
        char prefix[600]; /* instead of the ordinary one, which is jumped over */
        snprintf(prefix, sizeof prefix, "%s\nbra.uni JOIN;", instructions[i]);
        cr_assert(mma_run(NULL, &c, NULL, NULL, prefix, 32, t + 1, 1, &m, &trace, &e), "%s", e.text);
        for (int k = 0; k < 128; ++k)
            cr_assert(t[1].d[k / 8][k % 8] == (i == 2 && k >= 64 ? 0 : t[0].d[k / 8][k % 8]),
                      "instruction %zu: row %d column %d", i, k / 8, k % 8);
        trace_free(&trace), ptx_free(m), free(t);
    }
}

/* A warp of 20 lanes; lanes that go round an mma: the rest does it, with a finding, and theirs stay as they were. */
static void check_missing_lanes(const struct mma_case *c, void *context) {
    size_t *count = context;
    struct mma_tile *t = calloc(3, sizeof *t);
    uint64_t seed = 77 + *count;
    mma_tile_fill(c, t, &seed);
    t[1] = t[2] = t[0];
    struct error e = {""};
    char name[64];
    mma_case_name(c, name);
    run(c, NULL, NULL, t, 1);
    for (int way = 0; way < 2; ++way) {
        struct ptx_module *m;
        struct trace trace;
        cr_assert(mma_run(NULL, c, NULL, NULL, way ? "setp.lt.u32 %p1, %r1, 7;\n@%p1 bra JOIN;" : "", way ? 32 : 20,
                          t + 1 + way, 1, &m, &trace, &e),
                  "%s: %s", name, e.text);
        cr_assert(trace.event_count == (size_t)way, "%s: %zu events", name, trace.event_count);
        if (way)
            cr_assert(trace.events[0].kind == EVENT_DIVERGENT_ALIGNED && trace.events[0].lane == 7,
                      "%s: event %d lane %u", name, trace.events[0].kind, trace.events[0].lane);
        trace_free(&trace), ptx_free(m);
    }
    for (int row = 0; row < c->form->m; ++row)
        for (int n = 0; n < 8; ++n) {
            const int lane = 4 * (row % 8) + n / 2;
            cr_assert(t[2].d[row][n] == (lane < 7 ? 0 : t[0].d[row][n]), "%s, lanes 0 to 6 away: row %d column %d",
                      name, row, n);
        }
    free(t);
    ++*count;
}

Test(machine_tensor, missing_lanes) {
    size_t count = 0;
    mma_each_case(check_missing_lanes, &count);
    cr_assert(count == 24 + 30 + 24, "%zu cases", count);
}

/* What a chip does not have, or nobody knows of it; and what no chip has. */
Test(machine_tensor, refused) {
    static const struct {
        const char *name, *arch, *says;
    } rows[] = {
        {"m16n8k16.f32.f16.f16.f32", "sm_75", "m16n8k16 of f16 needs sm_80, and the launch is for sm_75"},
        {"m16n8k32.s32.s8.s8.s32", "sm_75", "needs sm_80"},
        {"m8n8k128.s32.b1.b1.s32.and.popc", "sm_75", "needs sm_80"},
        {"m16n8k32.f32.e4m3.e5m2.f32", "sm_87", "m16n8k32 of e4m3 needs sm_89, and the launch is for sm_87"},
        {"m16n8k32.f32.e4m3.e5m2.f32", "sm_103", "how sm_103 adds fp8 products"},
        {"m16n8k8.f32.f16.f16.f32", "sm_75", NULL},
        {"m8n8k128.s32.b1.b1.s32.xor.popc", "sm_75", NULL},
        {"m16n8k32.f32.e4m3.e5m2.f32", "sm_121", NULL},
    };
    struct mma_tile *t = calloc(1, sizeof *t);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct mma_case c;
        struct ptx_module *m;
        struct trace trace;
        struct error e = {""};
        cr_assert(mma_case_named(rows[i].name, &c), "%s", rows[i].name);
        const bool ran = mma_run(NULL, &c, arch_named(rows[i].arch), NULL, "", 32, t, 1, &m, &trace, &e);
        cr_assert(ran == !rows[i].says, "%s on %s: %s", rows[i].name, rows[i].arch, e.text);
        cr_assert(ran || (strstr(e.text, rows[i].says) && strstr(e.text, "mma.ptx:")), "\"%s\" does not say \"%s\"",
                  e.text, rows[i].says);
        trace_free(&trace), ptx_free(m);
    }
    free(t);
    static const struct {
        const char *text, *says;
    } texts[] = {
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
         "{%f1,%f2,%f3,%f4};",
         "types together"},
        {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f32 {%r1,%r2}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
         "{%f1,%f2,%f3,%f4};",
         "types together"},
        {"mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16 {%r1,%r2}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r1,%r2};",
         "types together"},
        {"mma.sync.aligned.m16n8k4.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r5}, {%f1,%f2,%f3,%f4};",
         "no mma of f16 has this shape"},
        {"mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
         "{%f1,%f2,%f3,%f4};",
         "by columns"},
        {"mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
         "{%f1,%f2,%f3,%f4};",
         "by columns"},
        {"mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
         "{%f1,%f2,%f3,%f4};",
         "satfinite"},
        {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.popc {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
         "{%r1,%r2,%r3,%r4};",
         "popc"},
        {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
         "{%r1,%r2,%r3,%r4};",
         "accumulator of integers"},
        {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s4.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
         "{%r1,%r2,%r3,%r4};",
         "types together"},
        {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,0}, {%r5,%r6}, "
         "{%r1,%r2,%r3,%r4};",
         "A and B are registers"},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
         "{0,0,0,0};",
         "of its type"},
        {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {0,0};",
         "of its type"},
        {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1,%r2}, {%r3}, {%r5}, {0f3F800000,%tid.x};", "of its type"},
        {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1,%r2,%r3}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
         "{%r1,%r2,%r3,%r4};",
         "length"},
        {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1,%r2}, %r3, {%r5}, {%r1,%r2};", "braces"},
        {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1,%d2}, {%d3}, {%r5}, {%d1,%d2};", "width"},
        {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1}, {%r1}, {%r2}, {%f1};", "wmma"},
        {"wgmma.fence.sync.aligned;", "warpgroup"},
        {"tcgen05.wait::ld.sync.aligned;", "tensor memory"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        struct ptx_module *m;
        struct trace trace;
        struct error e = {""};
        const struct machine_test test = {.body = texts[i].text};
        cr_assert(!machine_try(&test, &m, &trace, &e), "%s runs", texts[i].text);
        cr_assert(strstr(e.text, texts[i].says) && strstr(e.text, "k.cu:1"), "%s: \"%s\" does not say \"%s\"",
                  texts[i].text, e.text, texts[i].says);
        ptx_free(m);
    }
}
