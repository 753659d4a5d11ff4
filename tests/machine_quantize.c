/* The compiled activation quantiser on the machine, against ref/: every byte, every instruction set. */
#include "../ref/pad40.h"
#include "machine_run.h"

Test(machine_quantize, blocks) {
    static const int shapes[][2] = {{1, 32}, {3, 96}, {5, 512}};
    struct error e = {""};
    struct ptx_module *m = ptx_load("fixtures/ptx/quantize_pad40.ptx", &e);
    cr_assert(m, "%s", e.text);
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t s = 0; s < isa_count * sizeof shapes / sizeof *shapes; ++s) {
        const int nt = shapes[s / isa_count][0], id = shapes[s / isa_count][1];
        const size_t blocks = (size_t)nt * (size_t)id / 32;
        uint32_t *x = malloc(blocks * 128);
        uint8_t *y = malloc(blocks * 40);
        uint64_t seed = 11 + s;
        for (size_t i = 0; i < blocks * 32; ++i) { /* blocks of all sizes: zero, subnormal, ordinary, large */
            const uint32_t bits = (uint32_t)next_random(&seed);
            const uint32_t exponent = i / 32 % 5 == 0   ? 0
                                      : i / 32 % 5 == 1 ? bits >> 9 & 7
                                                        : 60 + (uint32_t)(i / 32 * 29 % 150);
            x[i] = i / 32 % 7 == 6 ? 0 : (bits & 0x807fffff) | exponent << 23;
        }
        memset(y, 0xcb, blocks * 40);
        struct launch_buffer b[2] = {
            {.name = "activation", .role = BUFFER_IN, .bytes = blocks * 128, .cell_bytes = 4, .data = (void *)x},
            {.name = "result", .role = BUFFER_OUT, .bytes = blocks * 40, .cell_bytes = 40, .data = y}};
        struct launch_arg a[4] = {{.buffer = 0, .bytes = 8},
                                  {.buffer = 1, .bytes = 8},
                                  {.buffer = -1, .value = (uint64_t)nt, .bytes = 4},
                                  {.buffer = -1, .value = (uint64_t)id, .bytes = 4}};
        struct launch l = {.module = m,
                           .entry = "quantize_pad40",
                           .grid = {(uint32_t)(blocks + 7) / 8, 1, 1},
                           .block = {256, 1, 1},
                           .buffers = b,
                           .buffer_count = 2,
                           .args = a,
                           .arg_count = 4,
                           .threads = 2};
        struct trace t;
        setenv("WARPPROOF_ISA", isas[s % isa_count], 1);
        cr_assert(runner_machine.run(&l, &t, &e), "%s", e.text);
        cr_assert(t.event_count == 0, "event %d", t.events[0].kind);
        for (size_t k = 0; k < blocks; ++k) {
            struct block_pad40 want;
            float in[32];
            memcpy(in, x + 32 * k, sizeof in);
            pad40_quantize(in, &want);
            cr_assert(!memcmp(y + 40 * k, &want, 40), "%s: %d x %d, block %zu differs", isas[s % isa_count], nt, id, k);
            for (int i = 0; i < 40; ++i)
                cr_assert(t.coverage[1].stores[40 * k + (size_t)i] == 1, "block %zu byte %d stored %d times", k, i,
                          t.coverage[1].stores[40 * k + (size_t)i]);
        }
        trace_free(&t);
        free(x), free(y);
    }
    ptx_free(m);
}
