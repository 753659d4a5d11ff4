/* Our kernels in llama.cpp's design (gpu/kernels/mmq_llama_*, quantize_q8_1_mmq) on the PTX machine, on the operands
 * that llama.cpp's own kernels had on an H200 (fixtures/golden/README.md): the same bytes, with and without stream-k.
 */
#include "../gpu/operands.h"
#include "../ref/activation.h"
#include "../ref/contract.h"
#include "../ref/format.h"
#include "../ref/rcp_approx.h"
#include "machine_run.h"
#include "measured.h"

/* Runs an entry whose parameters are the buffers, then the numbers; nothing may happen but stores. */
static void run_entry(const char *file, const char *entry, uint32_t grid_x, uint32_t grid_y, size_t shared,
                      struct launch_buffer *buffers, size_t buffer_count, const int *numbers, size_t number_count) {
    char path[128];
    struct error e = {""};
    snprintf(path, sizeof path, "fixtures/ptx/%s.ptx", file);
    struct ptx_module *m = ptx_load(path, &e);
    cr_assert(m, "%s", e.text);
    struct launch_arg args[8];
    for (size_t i = 0; i < buffer_count; ++i)
        args[i] = (struct launch_arg){.buffer = (int)i, .bytes = 8};
    for (size_t i = 0; i < number_count; ++i)
        args[buffer_count + i] = (struct launch_arg){.buffer = -1, .bytes = 4, .value = (uint64_t)numbers[i]};
    struct launch l = {.module = m,
                       .entry = entry,
                       .grid = {grid_x, grid_y, 1},
                       .block = {256, 1, 1},
                       .shared_bytes = shared,
                       .buffers = buffers,
                       .buffer_count = buffer_count,
                       .args = args,
                       .arg_count = buffer_count + number_count,
                       .threads = 2};
    struct trace t;
    cr_assert(runner_machine.run(&l, &t, &e), "%s: %s", entry, e.text);
    cr_assert(t.event_count == 0 && t.order_open == NULL, "%s: event %d; %s", entry,
              t.event_count ? (int)t.events[0].kind : -1, t.order_open ? t.order_open : "no order is open");
    for (size_t b = 0; b < buffer_count; ++b)
        for (size_t i = 0; buffers[b].role == BUFFER_OUT && i < buffers[b].bytes; ++i)
            cr_assert(t.coverage[b].stores[i] == 1, "%s: byte %zu of %s stored %d times", entry, i, buffers[b].name,
                      t.coverage[b].stores[i]);
    trace_free(&t);
    ptx_free(m);
}

/* ---- quantisers ---- */

static void expect_quantised(const char *kind, const char *x_path, const char *want_path, int nt, int id) {
    const size_t blocks = (size_t)nt * (size_t)id / 128;
    uint8_t *x = golden_file(x_path, blocks * 512), *want = golden_file(want_path, blocks * 144);
    uint8_t *got = malloc(blocks * 144);
    char entry[64];
    snprintf(entry, sizeof entry, "quantize_q8_1_mmq_%s", kind);
    memset(got, 0xcb, blocks * 144);
    struct launch_buffer b[2] = {
        {.name = "activation", .role = BUFFER_IN, .bytes = blocks * 512, .cell_bytes = 4, .data = x},
        {.name = "result", .role = BUFFER_OUT, .bytes = blocks * 144, .cell_bytes = 144, .data = got}};
    run_entry("quantize_q8_1_mmq", entry, (uint32_t)(blocks + 7) / 8, 1, 0, b, 2, (int[]){nt, id}, 2);
    for (size_t i = 0; i < blocks; ++i)
        cr_assert(!memcmp(got + 144 * i, want + 144 * i, 144), "%s of %s: block %zu differs", kind, x_path, i);
    free(x), free(want), free(got);
}

Test(golden_llama_kernels, activations_of_an_h200) {
    static const struct {
        const char *kind, *x, *want;
        int nt, id;
    } rows[] = {
        {"ds4", "llama_q4_k/x_f32.bin", "llama_q4_k/q8_1_mmq.bin", 128, 512},
        {"ds4", "llama_q4_k/edge_x_f32.bin", "llama_q4_k/edge_q8_1_mmq.bin", 8, 512},
        {"ds4", "llama_mmq/fallback_x_f32.bin", "llama_mmq/fallback_q4_K.q8_1.bin", 7, 768},
        {"d4", "llama_mmq/fallback_x_f32.bin", "llama_mmq/fallback_q6_K.q8_1.bin", 7, 768},
        {"ds4", "q8_1/x_f32.bin", "q8_1/q8_1_mmq_ds4.bin", 112, 128},
        {"d4", "q8_1/x_f32.bin", "q8_1/q8_1_mmq_d4.bin", 112, 128},
        {"d2s6", "q8_1/x_f32.bin", "q8_1/q8_1_mmq_d2s6.bin", 112, 128},
    };
    struct error e;
    cr_assert(rcp_approx_load(RCP_TABLE, &e), "%s", e.text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char x[128], want[128];
        snprintf(x, sizeof x, "fixtures/golden/%s", rows[i].x);
        snprintf(want, sizeof want, "fixtures/golden/%s", rows[i].want);
        expect_quantised(rows[i].kind, x, want, rows[i].nt, rows[i].id);
    }
}

/* ---- products ---- */

struct product {
    const char *format; /* of the kernel's name: "q4_k" */
    const char *contract;
    int nt, od, id, tokens; /* tokens of a tile */
    uint8_t *weight, *activation;
};

static size_t arena_bytes(int tokens) {
    return (size_t)tokens * 4 + ((size_t)tokens * 144 + 1023) / 1024 * 1024 + 38912;
}

static size_t weight_bytes(const struct product *p) {
    const struct block_format *f = format_named(contract_named(p->contract)->weight);
    return (size_t)p->od * ((size_t)p->id / f->block_values) * f->block_bytes;
}

static size_t activation_size(const struct product *p) {
    size_t bytes;
    cr_assert(activation_bytes(activation_named(contract_named(p->contract)->activation), (size_t)p->nt, (size_t)p->id,
                               &bytes),
              "size");
    return bytes;
}

/* y (nt, od) of the kernel; workers of stream-k, or 0: the kernel without. The caller frees it. */
static uint32_t *kernel_product(const struct product *p, size_t workers) {
    const size_t bytes = (size_t)p->nt * (size_t)p->od * 4, part_bytes = workers * (size_t)p->tokens * 128 * 4;
    uint32_t *y = malloc(bytes);
    uint8_t *parts = malloc(part_bytes + 1);
    char entry[64];
    memset(y, 0xcb, bytes);
    memset(parts, 0xff, part_bytes + 1); /* NaN: what nobody left there must not be added */
    struct launch_buffer b[4] = {
        {.name = "weight", .role = BUFFER_IN, .bytes = weight_bytes(p), .cell_bytes = 2, .data = p->weight},
        {.name = "activation", .role = BUFFER_IN, .bytes = activation_size(p), .cell_bytes = 4, .data = p->activation},
        {.name = "result", .role = BUFFER_OUT, .bytes = bytes, .cell_bytes = 4, .data = (uint8_t *)y},
        {.name = "parts", .role = BUFFER_INOUT, .bytes = part_bytes, .cell_bytes = 4, .data = parts}};
    const int numbers[4] = {p->nt, p->od, p->id, (int)format_named(contract_named(p->contract)->weight)->block_values};
    snprintf(entry, sizeof entry, "mmq_llama_%s_j%d%s", p->format, p->tokens, workers ? "_streamk" : "");
    if (!workers) {
        char file[64];
        snprintf(file, sizeof file, "mmq_llama_%s", p->format);
        run_entry(file, entry, (uint32_t)((p->nt + p->tokens - 1) / p->tokens), (uint32_t)(p->od + 127) / 128,
                  arena_bytes(p->tokens), b, 3, numbers, 3);
    } else {
        run_entry("mmq_llama_streamk", entry, (uint32_t)workers, 1, arena_bytes(p->tokens), b, 4, numbers, 3);
        snprintf(entry, sizeof entry, "mmq_llama_fixup_j%d", p->tokens);
        b[2].role = BUFFER_INOUT;
        struct launch_buffer fixup[2] = {b[2], b[3]};
        fixup[1].role = BUFFER_IN;
        run_entry("mmq_llama_streamk", entry, (uint32_t)workers, 1, 0, fixup, 2, numbers, 4);
    }
    free(parts);
    return y;
}

static size_t differing(const uint32_t *got, const uint32_t *want, size_t cells) {
    size_t wrong = 0;
    for (size_t i = 0; i < cells; ++i)
        wrong += got[i] != want[i];
    return wrong;
}

/* The workers of stream-k on so many multiprocessors: as many as tiles where these fill nine tenths of whole waves. */
static size_t workers_of(const struct product *p, size_t multiprocessors) {
    const size_t tiles =
        (size_t)((p->nt + p->tokens - 1) / p->tokens) * (size_t)((p->od + 127) / 128); /* of tokens, of rows */
    const size_t waves = (tiles + multiprocessors - 1) / multiprocessors;
    return 100 * tiles / (multiprocessors * waves) >= 90 ? tiles : multiprocessors;
}

Test(golden_llama_kernels, results_of_an_h200) {
    static const struct {
        const char *folder, *stem; /* files stem + w.bin ... of llama_mmq */
        struct product p;
        size_t multiprocessors;
    } rows[] = {
        {"llama_mmq", "fallback_q4_K", {"q4_k", "q4_k_q8_1_mmq_ds4", 7, 200, 768, 8, NULL, NULL}, 132},
        {"llama_mmq", "fallback_q6_K", {"q6_k", "q6_k_q8_1_mmq_d4", 7, 200, 768, 8, NULL, NULL}, 132},
        {"llama_mmq", "fallback_q8_0", {"q8_0", "q8_0_q8_1_mmq_d4", 7, 200, 768, 8, NULL, NULL}, 132},
        {"llama_mmq", "ragged_q8_0", {"q8_0", "q8_0_q8_1_mmq_d4", 40, 384, 896, 40, NULL, NULL}, 7},
        {"llama_mmq", "edge_q6_K", {"q6_k", "q6_k_q8_1_mmq_d4", 33, 100, 1024, 64, NULL, NULL}, 132},
        {"llama_mmq", "edge_q8_0", {"q8_0", "q8_0_q8_1_mmq_d4", 33, 100, 1024, 64, NULL, NULL}, 132},
        {"llama_mmq", "wild_q6_K", {"q6_k", "q6_k_q8_1_mmq_d4", 33, 100, 1024, 64, NULL, NULL}, 132},
        {"llama_mmq", "wild_q8_0", {"q8_0", "q8_0_q8_1_mmq_d4", 33, 100, 1024, 64, NULL, NULL}, 132},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct product p = rows[i].p;
        char path[128];
        snprintf(path, sizeof path, "fixtures/golden/%s/%s.w.bin", rows[i].folder, rows[i].stem);
        p.weight = golden_file(path, weight_bytes(&p));
        snprintf(path, sizeof path, "fixtures/golden/%s/%s.q8_1.bin", rows[i].folder, rows[i].stem);
        p.activation = golden_file(path, activation_size(&p));
        snprintf(path, sizeof path, "fixtures/golden/%s/%s.y.bin", rows[i].folder, rows[i].stem);
        const size_t cells = (size_t)p.nt * (size_t)p.od;
        uint32_t *want = (uint32_t *)golden_file(path, cells * 4);
        uint32_t *got = kernel_product(&p, workers_of(&p, rows[i].multiprocessors));
        cr_expect_eq(differing(got, want, cells), 0, "%s: %zu of %zu cells differ", rows[i].stem,
                     differing(got, want, cells), cells);
        free(p.weight), free(p.activation), free(want), free(got);
    }
}

/* Of one product llama.cpp's bytes are there with and without the split. Tiles of other widths give the same. */
Test(golden_llama_kernels, with_and_without_the_split) {
    struct product p = {"q4_k", "q4_k_q8_1_mmq_ds4", 128, 128, 512, 128, NULL, NULL};
    const size_t cells = 128 * 128;
    p.weight = golden_file("fixtures/golden/llama_q4_k/w_q.bin", weight_bytes(&p));
    p.activation = golden_file("fixtures/golden/llama_q4_k/q8_1_mmq.bin", activation_size(&p));
    uint32_t *whole = (uint32_t *)golden_file("fixtures/golden/llama_q4_k/y_nosplit_f32.bin", cells * 4);
    uint32_t *split = (uint32_t *)golden_file("fixtures/golden/llama_q4_k/y_streamk_f32.bin", cells * 4);
    static const int tokens[] = {8, 16, 32, 64, 128};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; ++i) {
        p.tokens = tokens[i];
        uint32_t *y = kernel_product(&p, 0);
        cr_expect_eq(differing(y, whole, cells), 0, "tiles of %d tokens: %zu cells differ", p.tokens,
                     differing(y, whole, cells));
        cr_expect_gt(differing(y, split, cells), 0, "the split shows nowhere");
        free(y);
    }
    uint32_t *y = kernel_product(&p, workers_of(&p, 132));
    cr_expect_eq(differing(y, split, cells), 0, "stream-k: %zu cells differ", differing(y, split, cells));
    free(y), free(whole), free(split), free(p.weight), free(p.activation);
}

/* Tiles of three and more parts, workers of several tiles, as many workers as tiles, and depths that end in the middle
 * of an iteration: the contract's bits, whose cuts tests/split.c and tests/independent/stream_k.c hold to llama.cpp. */
Test(golden_llama_kernels, any_number_of_workers) {
    static const struct {
        struct product p;
        int multiprocessors[5];
    } rows[] = {
        {{"q4_k", "q4_k_q8_1_mmq_ds4", 130, 300, 1280, 128, NULL, NULL}, {1, 4, 7, 20, 132}},
        {{"q4_k", "q4_k_q8_1_mmq_ds4", 5, 257, 2560, 8, NULL, NULL}, {2, 5, 7, 13, 132}},
        {{"q6_k", "q6_k_q8_1_mmq_d4", 61, 200, 1536, 64, NULL, NULL}, {1, 5, 7, 11, 132}},
        {{"q8_0", "q8_0_q8_1_mmq_d4", 38, 384, 1152, 40, NULL, NULL}, {2, 5, 7, 9, 132}},
        {{"q8_0", "q8_0_q8_1_mmq_d4", 3, 129, 640, 8, NULL, NULL}, {2, 3, 5, 7, 132}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        for (size_t n = 0; n < 5; ++n) {
            struct product p = rows[i].p;
            const int multiprocessors = rows[i].multiprocessors[n];
            struct operands_request r = {.contract = contract_named(p.contract),
                                         .nt = (size_t)p.nt,
                                         .od = (size_t)p.od,
                                         .id = (size_t)p.id,
                                         .data = DATA_RAND,
                                         .key = 7 + i};
            struct operands o;
            struct error e = {""};
            r.split = (struct split){.kind = SPLIT_STREAM_K, .multiprocessors = (size_t)multiprocessors};
            cr_assert(operands_make(&r, &o, &e), "%s", e.text);
            p.weight = o.weight, p.activation = o.activation;
            const size_t cells = (size_t)p.nt * (size_t)p.od;
            uint32_t *want = malloc(cells * 4), *got = kernel_product(&p, workers_of(&p, (size_t)multiprocessors));
            r.contract->evaluate(&o.view, want);
            cr_expect_eq(differing(got, want, cells), 0, "%s nt %d od %d id %d on %d: %zu cells differ", p.format, p.nt,
                         p.od, p.id, multiprocessors, differing(got, want, cells));
            free(want), free(got);
            operands_free(&o);
        }
}
