/* Races in global memory: inside a block, between blocks, and loads that take their memory for constant. */
#include "machine_run.h"

struct hazard_case {
    const char *name, *module_level, *body;
    uint32_t blocks, threads;
    size_t events; /* of global memory */
    bool open;
    enum event_kind kind; /* of the first, and where it is */
    int line, other_line;
    uint32_t block, other_block;
    uint32_t warp, other_warp;
    int64_t byte;
    int buffer;
};

#define START                                                                                                          \
    "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd9, [p1];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n" /* 4 */
#define MINE                                                                                                           \
    "mov.u32 %r3, %ntid.x;\nmad.lo.u32 %r4, %r2, %r3, %r1;\nmul.wide.u32 %rd2, %r4, 4;\nadd.u64 %rd3, %rd1, %rd2;\n" /* 4: [rd3] */
#define ACROSS                                                                                                         \
    "xor.b32 %r5, %r4, 32;\nmul.wide.u32 %rd4, %r5, 4;\nadd.u64 %rd5, %rd1, %rd4;\n" /* 3: [rd5], the other warp's */

static const struct hazard_case cases[] = {
    {.name = "in place",
     .body = START MINE "ld.global.u32 %r6, [%rd3];\nadd.u32 %r6, %r6, 1;\nst.global.u32 [%rd3], %r6;\nret;\n",
     .blocks = 3,
     .threads = 64},
    {.name = "the other warp's word, no barrier",
     .body = START MINE ACROSS "st.global.u32 [%rd3], %r1;\nld.global.u32 %r6, [%rd5];\nret;\n",
     .blocks = 2,
     .threads = 64,
     .events = 2,
     .kind = EVENT_RACE,
     .line = 12,
     .other_line = 13,
     .warp = 1,
     .byte = 128},
    {.name = "the other warp's word, with a barrier",
     .body = START MINE ACROSS "st.global.u32 [%rd3], %r1;\nbar.sync 0;\nld.global.u32 %r6, [%rd5];\nret;\n",
     .blocks = 2,
     .threads = 64},
    {.name = "the word of another block",
     .body = START MINE "st.global.u32 [%rd3], %r1;\nld.global.u32 %r6, [%rd1];\nret;\n",
     .blocks = 3,
     .threads = 32,
     .events = 1,
     .kind = EVENT_RACE,
     .line = 10,
     .other_line = 9,
     .block = 0,
     .other_block = 0,
     .byte = 0},
    {.name = "blocks that share a word, by bytes",
     .body = START
     "mov.u32 %r3, %ntid.x;\nmad.lo.u32 %r4, %r2, %r3, %r1;\ncvt.u64.u32 %rd2, %r4;\nadd.u64 %rd3, %rd1, %rd2;\n"
     "ld.global.u8 %r6, [%rd3];\nadd.u32 %r6, %r6, 1;\nst.global.u8 [%rd3], %r6;\nret;\n",
     .blocks = 3,
     .threads = 33},
    {.name = "a byte too far",
     .body = START
     "mov.u32 %r3, %ntid.x;\nmad.lo.u32 %r4, %r2, %r3, %r1;\ncvt.u64.u32 %rd2, %r4;\nadd.u64 %rd3, %rd1, %rd2;\n"
     "setp.eq.u32 %p1, %r1, 32;\nst.global.u8 [%rd3], %r1;\n@%p1 ld.global.u8 %r6, [%rd3+1];\nret;\n",
     .blocks = 2,
     .threads = 33,
     .events = 1,
     .kind = EVENT_RACE,
     .line = 10,
     .other_line = 11,
     .block = 1,
     .warp = 0,
     .other_warp = 1,
     .byte = 33},
    {.name = "a constant load of what is stored",
     .body = START MINE "ld.global.nc.u32 %r6, [%rd3];\nst.global.u32 [%rd3], %r6;\nret;\n",
     .blocks = 1,
     .threads = 32,
     .events = 1,
     .kind = EVENT_RACE,
     .line = 10,
     .other_line = 9},
    {.name = "a constant load of what is only read",
     .body = START MINE
     "ld.global.nc.u32 %r6, [%rd9];\nld.global.nc.u32 %r7, [%rd1+4092];\nst.global.u32 [%rd3], %r6;\nret;\n",
     .blocks = 1,
     .threads = 32},
    {.name = "volatile on both sides",
     .body = START MINE ACROSS "st.volatile.global.u32 [%rd3], %r1;\nld.volatile.global.u32 %r6, [%rd5];\nret;\n",
     .blocks = 2,
     .threads = 64,
     .open = true},
    {.name = "volatile on one side",
     .body = START MINE ACROSS "st.volatile.global.u32 [%rd3], %r1;\nld.global.u32 %r6, [%rd5];\nret;\n",
     .blocks = 1,
     .threads = 64,
     .events = 2,
     .kind = EVENT_RACE,
     .line = 12,
     .other_line = 13,
     .warp = 1,
     .byte = 128},
    {.name = "a flag with fences between blocks",
     .body = START "setp.eq.u32 %p1, %r2, 0;\n@!%p1 bra TAKE;\nst.global.u32 [%rd1], "
                   "%r2;\nfence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd1+64], %r3;\n"
                   "bra DONE;\nTAKE:\nld.relaxed.gpu.global.u32 %r6, [%rd1+64];\nfence.acq_rel.gpu;\nld.global.u32 "
                   "%r7, [%rd1];\nDONE:\nret;\n",
     .blocks = 2,
     .threads = 1,
     .open = true},
    {.name = "a flag released and acquired",
     .body =
         START "setp.eq.u32 %p1, %r2, 0;\n@!%p1 bra TAKE;\nst.global.u32 [%rd1], %r2;\nst.release.gpu.global.u32 "
               "[%rd1+64], %r3;\n"
               "bra DONE;\nTAKE:\nld.acquire.gpu.global.u32 %r6, [%rd1+64];\nld.global.u32 %r7, [%rd1];\nDONE:\nret;\n",
     .blocks = 2,
     .threads = 1,
     .open = true},
    {.name = "a flag without fences between blocks",
     .body =
         START "setp.eq.u32 %p1, %r2, 0;\n@!%p1 bra TAKE;\nst.global.u32 [%rd1], %r2;\nst.relaxed.gpu.global.u32 "
               "[%rd1+64], %r3;\n"
               "bra DONE;\nTAKE:\nld.relaxed.gpu.global.u32 %r6, [%rd1+64];\nld.global.u32 %r7, [%rd1];\nDONE:\nret;\n",
     .blocks = 2,
     .threads = 1,
     .events = 1,
     .kind = EVENT_RACE,
     .line = 12,
     .other_line = 7,
     .block = 1},
    {.name = "a flag with a fence of scope cta between blocks",
     .body = START "setp.eq.u32 %p1, %r2, 0;\n@!%p1 bra TAKE;\nst.global.u32 [%rd1], "
                   "%r2;\nfence.acq_rel.cta;\nst.relaxed.gpu.global.u32 [%rd1+64], %r3;\n"
                   "bra DONE;\nTAKE:\nld.relaxed.gpu.global.u32 %r6, [%rd1+64];\nfence.acq_rel.gpu;\nld.global.u32 "
                   "%r7, [%rd1];\nDONE:\nret;\n",
     .blocks = 2,
     .threads = 1,
     .events = 1,
     .kind = EVENT_RACE,
     .line = 14,
     .other_line = 7,
     .block = 1},
    {.name = "a flag acquired in scope cta",
     .body =
         START "setp.eq.u32 %p1, %r2, 0;\n@!%p1 bra TAKE;\nst.global.u32 [%rd1], %r2;\nst.release.gpu.global.u32 "
               "[%rd1+64], %r3;\n"
               "bra DONE;\nTAKE:\nld.acquire.cta.global.u32 %r6, [%rd1+64];\nld.global.u32 %r7, [%rd1];\nDONE:\nret;\n",
     .blocks = 2,
     .threads = 1,
     .events = 2,
     .kind = EVENT_RACE,
     .line = 11,
     .other_line = 8,
     .byte = 64,
     .block = 1},
    {.name = "sums of scope cta by two blocks",
     .body = START "red.relaxed.cta.global.add.u32 [%rd1], 1;\nret;\n",
     .blocks = 2,
     .threads = 1,
     .events = 1,
     .kind = EVENT_RACE,
     .line = 5,
     .other_line = 5,
     .block = 1},
    {.name = "sums of scope cta by one block",
     .body = START "red.relaxed.cta.global.add.u32 [%rd1], 1;\nret;\n",
     .blocks = 1,
     .threads = 64,
     .open = true},
    {.name = "a flag of scope cta in a block",
     .body = START "setp.eq.u32 %p1, %r1, 0;\n@!%p1 bra TAKE;\nst.global.u32 [%rd1], %r2;\nst.release.cta.global.u32 "
                   "[%rd1+64], %r3;\n"
                   "bra DONE;\nTAKE:\nld.acquire.cta.global.u32 %r6, [%rd1+64];\n@%p2 ld.global.u32 %r7, [%rd1];\n"
                   "DONE:\nret;\n",
     .blocks = 1,
     .threads = 2,
     .open = true},
    {.name = "a counter that its last block resets",
     .body = START "atom.global.add.u32 %r6, [%rd1], 1;\nsetp.eq.u32 %p1, %r6, 2;\n@%p1 st.global.u32 [%rd1], "
                   "%r1;\nret;\n",
     .blocks = 3,
     .threads = 1,
     .open = true},
    {.name = "a counter that its last block resets behind a barrier",
     .body = START "setp.eq.u32 %p1, %r1, 0;\n@%p1 atom.global.add.u32 %r6, [%rd1], 1;\nbar.sync 0;\n"
                   "setp.eq.u32 %p2, %r1, 40;\nsetp.eq.and.u32 %p3, %r2, 1, %p2;\n@%p3 st.global.u32 [%rd1], "
                   "%r2;\nret;\n",
     .blocks = 2,
     .threads = 64,
     .open = true},
    {.name = "a counter reset by a thread that did not count",
     .body = START "setp.eq.u32 %p1, %r2, 0;\n@%p1 atom.global.add.u32 %r6, [%rd1], 1;\n"
                   "@!%p1 st.global.u32 [%rd1], %r1;\nret;\n",
     .blocks = 2,
     .threads = 1,
     .events = 1,
     .kind = EVENT_RACE,
     .line = 7,
     .other_line = 6,
     .block = 1},
    {.name = "a counter read without waiting for the others",
     .body = START "atom.global.add.u32 %r6, [%rd1], 1;\nld.global.u32 %r7, [%rd1];\nret;\n",
     .blocks = 2,
     .threads = 1,
     .events = 1,
     .kind = EVENT_RACE,
     .line = 5,
     .other_line = 6,
     .block = 1},
    {.name = "a variable of the module, two values",
     .module_level = ".global .align 4 .u32 total;\n",
     .body = START "mov.u64 %rd4, total;\nst.global.u32 [%rd4], %r2;\nret;\n",
     .blocks = 2,
     .threads = 1,
     .events = 1,
     .kind = EVENT_RACE,
     .line = 6,
     .other_line = 6,
     .block = 1,
     .buffer = -1},
    {.name = "a variable of the module, one value",
     .module_level = ".global .align 4 .u32 total;\n",
     .body = START "mov.u64 %rd4, total;\nst.global.u32 [%rd4], %r1;\nret;\n",
     .blocks = 2,
     .threads = 1,
     .events = 1,
     .kind = EVENT_BENIGN_RACE,
     .line = 6,
     .other_line = 6,
     .block = 1,
     .buffer = -1},
    {.name = "blocks store two values to one cell: coverage's",
     .body = START "st.global.u32 [%rd1], %r2;\nret;\n",
     .blocks = 2,
     .threads = 1,
     .open = true},
    {.name = "blocks store one value to one cell",
     .body = START "st.global.u32 [%rd1], %r1;\nret;\n",
     .blocks = 2,
     .threads = 1},
};

static struct ptx_module *run_case(const struct hazard_case *c, int threads, const char *isa, uint32_t unwatched,
                                   struct trace *t) {
    static uint32_t io[1024], in[16];
    memset(io, 0, sizeof io);
    struct launch_buffer b[2] = {
        {.name = "io", .role = BUFFER_INOUT, .bytes = sizeof io, .cell_bytes = 4, .data = (uint8_t *)io},
        {.name = "in", .role = BUFFER_IN, .bytes = sizeof in, .cell_bytes = 4, .data = (uint8_t *)in}};
    const struct machine_test test = {.module_level = c->module_level,
                                      .body = c->body,
                                      .buffers = b,
                                      .buffer_count = 2,
                                      .grid = {c->blocks},
                                      .block = {c->threads},
                                      .threads = threads,
                                      .isa = isa,
                                      .unwatched = unwatched | WATCH_UNINIT};
    return machine_must(&test, t);
}

Test(machine_hazard_global, both_sides_are_named) {
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < 3 * sizeof cases / sizeof *cases; ++k) {
        const struct hazard_case *c = &cases[k / 3];
        const int threads = 1 + (int)(k % 3);
        struct trace t;
        struct ptx_module *m = run_case(c, threads, isas[k % isa_count], 0, &t);
        cr_expect(t.event_count == c->events, "%s, %d threads: %zu events", c->name, threads, t.event_count);
        const bool open = c->open || (c->events && c->kind == EVENT_RACE);
        cr_expect((t.order_open != NULL) == open, "%s: order open: %s", c->name, t.order_open ? t.order_open : "no");
        if (t.event_count && c->events) {
            const struct event *v = &t.events[0];
            const int line = t.sites[v->instruction].line, other = t.sites[v->other.instruction].line;
            cr_expect(v->kind == c->kind && v->space == SPACE_GLOBAL && v->buffer == c->buffer && v->other.present &&
                          line == c->line && other == c->other_line && v->block[0] == c->block &&
                          v->other.block[0] == c->other_block && v->warp == c->warp && v->other.warp == c->other_warp &&
                          v->offset == c->byte,
                      "%s, %d threads: kind %d buffer %d line %d and %d, block %u and %u, warp %u and %u, byte %lld",
                      c->name, threads, v->kind, v->buffer, line, other, v->block[0], v->other.block[0], v->warp,
                      v->other.warp, (long long)v->offset);
        }
        trace_free(&t);
        ptx_free(m);
    }
}

/* Without the watch there is no event, and the order is called open. */
Test(machine_hazard_global, can_be_switched_off) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        struct trace t;
        struct ptx_module *m = run_case(&cases[k], 1, NULL, WATCH_HAZARDS, &t);
        cr_expect(t.event_count == 0 && t.order_open, "%s: %zu events", cases[k].name, t.event_count);
        trace_free(&t);
        ptx_free(m);
    }
}

/* --- stores that a lock orders: coverage counts them, and is told that they are no fault --- */

#define TAKE_LOCK "TAKE:\natom.global.cas.b32 %r6, [%rd1+64], 0, 1;\nsetp.ne.u32 %p1, %r6, 0;\n@%p1 bra TAKE;\n"
#define ADD_ONE   "ld.global.u32 %r7, [%rd1];\nadd.u32 %r7, %r7, 1;\nst.global.u32 [%rd1], %r7;\n"
#define ADD_ONE_VOLATILE                                                                                               \
    "ld.volatile.global.u32 %r7, [%rd1];\nadd.u32 %r7, %r7, 1;\nst.volatile.global.u32 [%rd1], %r7;\n"
#define FREE_LOCK "atom.global.exch.b32 %r8, [%rd1+64], 0;\nret;\n"
#define FENCE     "fence.acq_rel.gpu;\n"

Test(machine_hazard_global, stores_in_order_of_a_lock) {
    static const struct {
        const char *name, *body;
        bool settled;
        size_t events;
    } locked[] = {
        {"a lock", START TAKE_LOCK FENCE ADD_ONE FENCE FREE_LOCK, true, 0},
        {"a lock around volatile accesses", START TAKE_LOCK FENCE ADD_ONE_VOLATILE FENCE FREE_LOCK, true, 0},
        {"no fence before it is freed", START TAKE_LOCK FENCE ADD_ONE FREE_LOCK, false, 2},
        {"no fence after it is taken", START TAKE_LOCK ADD_ONE FENCE FREE_LOCK, false, 2},
        {"volatile accesses without a lock", START ADD_ONE_VOLATILE "ret;\n", false, 0},
        {"a lock for one cell of two", START TAKE_LOCK FENCE ADD_ONE "st.global.u32 [%rd1+4], %r7;\n" FENCE FREE_LOCK,
         true, 0},
        {"a store after it was freed",
         START TAKE_LOCK FENCE ADD_ONE FENCE "atom.global.exch.b32 %r8, [%rd1+64], 0;\nst.global.u32 [%rd1], %r2;\n"
                                             "ret;\n",
         false, 1},
    };
    for (size_t k = 0; k < 3 * sizeof locked / sizeof *locked; ++k) {
        const struct hazard_case c = {
            .name = locked[k / 3].name, .body = locked[k / 3].body, .blocks = 4, .threads = 1};
        struct trace t;
        struct ptx_module *m = run_case(&c, 1 + (int)(k % 3), NULL, 0, &t);
        const struct buffer_coverage *b = &t.coverage[0];
        cr_expect(b->stores[0] >> 7 && b->cells[0].settled == locked[k / 3].settled && t.order_open &&
                      t.event_count == locked[k / 3].events,
                  "%s: settled %d, %zu events, order open: %s", c.name, b->cells[0].settled, t.event_count,
                  t.order_open ? t.order_open : "no");
        trace_free(&t);
        ptx_free(m);
    }
}
