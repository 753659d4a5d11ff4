/* gpu/machine/probe.c: a probe is shown every barrier of the block and every integer mma, and changes nothing unless it
 * says so; what it changes is what the program goes on with. */
#include "../gpu/ptx/ptx.h"
#include "machine_run.h"

struct seen {
    unsigned barriers, operands, sums;
    uint32_t arena[3], writers[3]; /* word 1 at each barrier, and 1 + the thread that stored it */
    uint32_t a0, c0_before, d0_after, add_to_word, set_d; /* the last two: what the probe changes */
    uint64_t numbers;                                     /* of the mma, a digit each */
};

static void at_barrier(void *context, const struct probe_barrier *at) {
    struct seen *s = context;
    uint32_t word;
    memcpy(&word, at->arena + 4, 4);
    cr_assert(at->number == s->barriers && s->barriers < 3 && at->bytes == 256);
    s->arena[s->barriers] = word;
    s->writers[s->barriers++] = at->writes[4].thread;
    word += s->add_to_word;
    memcpy(at->arena + 4, &word, 4);
}

static void at_operands(void *context, const struct probe_mma *at) {
    struct seen *s = context;
    cr_assert(at->m == 16 && at->n == 8 && at->k == 32 && at->live == 0xffffffff && !at->a_unsigned &&
              at->a_count == 4 && at->b_count == 2 && at->d_count == 4 && at->warp == 0 && !at->saturates);
    s->a0 = at->a[0][3];
    s->c0_before = at->c[0][3];
    s->numbers = s->numbers * 10 + at->number + 1;
    ++s->operands;
}

static void at_sums(void *context, const struct probe_mma *at) {
    struct seen *s = context;
    s->d0_after = at->d[0][3];
    at->d[0][3] = s->set_d > 0 ? s->set_d : at->d[0][3];
    ++s->sums;
}

/* Thread t stores t into word t, then reads word 1; two mma of ones; p0[t] = word 1 of both phases and the sums. */
static const char body[] = "mov.u32 %r0, %tid.x;\n"
                           "shl.b32 %r1, %r0, 2;\n"
                           "mov.u32 %r2, arena;\n"
                           "add.u32 %r3, %r2, %r1;\n"
                           "st.shared.u32 [%r3], %r0;\n"
                           "bar.sync 0;\n"
                           "ld.shared.u32 %r4, [%r2+4];\n"
                           "bar.sync 0;\n"
                           "st.shared.u32 [%r3], 7;\n"
                           "bar.sync 0;\n"
                           "ld.shared.u32 %r5, [%r2+4];\n"
                           "mov.u32 %r6, 0x01010101;\n"
                           "mov.u32 %r10, 5;\n"
                           "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r10, %r11, %r12, %r13}, {%r6, %r6, %r6, "
                           "%r6}, {%r6, %r6}, {%r10, %r10, %r10, %r10};\n"
                           "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r10, %r11, %r12, %r13}, {%r6, %r6, %r6, "
                           "%r6}, {%r6, %r6}, {%r10, %r11, %r12, %r13};\n"
                           "ld.param.u64 %rd0, [p0];\n"
                           "mul.wide.u32 %rd1, %r0, 12;\n"
                           "add.u64 %rd2, %rd0, %rd1;\n"
                           "st.global.u32 [%rd2], %r4;\n"
                           "st.global.u32 [%rd2+4], %r5;\n"
                           "st.global.u32 [%rd2+8], %r10;\n"
                           "exit;\n";

static void run_probed(const struct probe *probe, uint32_t out[96]) {
    struct launch_buffer y = {.name = "y", .role = BUFFER_OUT, .bytes = 384, .cell_bytes = 4, .data = (uint8_t *)out};
    const struct launch_plane planes[] = {{.name = "words", .bytes = 256}};
    const struct machine_test test = {.module_level = ".extern .shared .align 16 .b8 arena[];",
                                      .body = body,
                                      .buffers = &y,
                                      .buffer_count = 1,
                                      .shared = 256,
                                      .planes = planes,
                                      .plane_count = 1,
                                      .unwatched = WATCH_ALL & ~WATCH_STORES,
                                      .options = {.probe = probe}};
    struct ptx_module *m;
    struct trace t;
    struct error e = {""};
    cr_assert(machine_try(&test, &m, &t, &e), "%s", e.text);
    cr_assert(t.event_count == 0);
    trace_free(&t);
    ptx_free(m);
}

Test(machine_probe, sees_everything_and_changes_nothing) {
    uint32_t plain[96], probed[96];
    struct seen s = {0};
    const struct probe probe = {&s, at_barrier, at_operands, at_sums, NULL, NULL, NULL};
    run_probed(NULL, plain);
    run_probed(&probe, probed);
    cr_expect(memcmp(plain, probed, sizeof plain) == 0);
    cr_expect(plain[0] == 1 && plain[1] == 7 && plain[2] == 5 + 64);
    cr_expect(s.barriers == 3 && s.operands == 2 && s.sums == 2 && s.numbers == 12);
    cr_expect(s.arena[0] == 1 && s.arena[1] == 1 && s.arena[2] == 7 && s.writers[0] == 2 && s.writers[2] == 2);
    cr_expect(s.a0 == 0x01010101 && s.c0_before == 37 && s.d0_after == 69);
}

Test(machine_probe, what_it_changes_counts) {
    uint32_t probed[96];
    struct seen s = {.add_to_word = 100, .set_d = 1000};
    const struct probe probe = {&s, at_barrier, at_operands, at_sums, NULL, NULL, NULL};
    run_probed(&probe, probed);
    cr_expect(s.arena[0] == 1 && s.arena[1] == 101 && s.arena[2] == 7);
    cr_expect(probed[0] == 101 && probed[1] == 107, "%u %u", probed[0], probed[1]);
    cr_expect(probed[2] == 69 && probed[3 * 3 + 2] == 1000, "%u %u", probed[2], probed[11]);
    cr_expect(s.c0_before == 1000 && s.d0_after == 1032);
}

/* ---- steps ---- */

static void no_barrier(void *context, const struct probe_barrier *at) {
    (void)context;
    (void)at;
}

static void no_mma(void *context, const struct probe_mma *at) {
    (void)context;
    (void)at;
}

struct steps {
    unsigned told, stores, barriers, mma;
    uint32_t loaded;     /* by the first ld.shared, lane 3 */
    uint64_t last_store; /* address of the last one, lane 1 */
    bool numbered;
};

static void at_step(void *context, const struct probe_step *at) {
    struct steps *s = context;
    s->numbered &= at->number == s->told++ && at->warp == 0 && at->place.block_number == 0;
    s->stores += at->stores;
    s->barriers += strcmp(at->text->opcode, "bar") == 0 && at->count == 0;
    if (strcmp(at->text->opcode, "mma") == 0 && at->count == 4 && strcmp(at->values[3].name, "%r13") == 0) {
        ++s->mma;
    }
    if (strcmp(at->text->opcode, "ld") == 0 && strcmp(at->values[0].name, "%r4") == 0) {
        s->loaded = (uint32_t)probe_value_of(&at->values[0], 3);
    }
    if (at->stores && at->address != NULL) {
        s->last_store = probe_value_of(at->address, 1);
    }
}

/* All but exit. */
Test(machine_probe, tells_every_step_and_changes_nothing) {
    uint32_t plain[96], probed[96];
    struct seen seen = {0};
    struct steps s = {.numbered = true};
    const struct probe quiet = {&seen, at_barrier, at_operands, at_sums, NULL, NULL, NULL};
    run_probed(&quiet, plain);
    struct probe probe = {.context = &s, .barrier = no_barrier, .operands = no_mma, .sums = no_mma, .step = at_step};
    run_probed(&probe, probed);
    cr_expect(memcmp(plain, probed, sizeof plain) == 0);
    cr_expect(s.numbered && s.told == 21 && s.stores == 5 && s.barriers == 3 && s.mma == 2, "%u %u %u %u", s.told,
              s.stores, s.barriers, s.mma);
    cr_expect(s.loaded == 1, "%u", s.loaded);
    cr_expect((s.last_store & 0xffff) == 12 + 8, "%llx", (unsigned long long)s.last_store);
}
