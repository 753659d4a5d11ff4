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
    cr_assert(mma_run(c, arch, isa, "", 32, tiles, count, &m, &t, &e), "%s", e.text);
    cr_assert(t.event_count == 0, "event %d", t.events[0].kind);
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
