#include "../../ref/checked.h"
#include "banks.h"
#include <stdlib.h>
#include <string.h>

const char *const bank_kernel_ops[] = {"ld8",
                                       "ld16",
                                       "ld32",
                                       "ld64",
                                       "ld128",
                                       "st8",
                                       "st16",
                                       "st32",
                                       "st64",
                                       "st128",
                                       "ldmatrix_x1",
                                       "ldmatrix_x2",
                                       "ldmatrix_x4",
                                       "stmatrix_x1",
                                       "stmatrix_x2",
                                       "stmatrix_x4",
                                       "ldmatrix_x1_trans",
                                       "ldmatrix_x2_trans",
                                       "ldmatrix_x4_trans",
                                       "stmatrix_x1_trans",
                                       "stmatrix_x2_trans",
                                       "stmatrix_x4_trans",
                                       NULL};

/* The one access, of registers %v0 .. %v3 at [%at]. */
static char *access_text(const struct bank_op *op) {
    static const char *const vectors[] = {"", "{%v0}", "{%v0, %v1}", "", "{%v0, %v1, %v2, %v3}"};
    const char *registers = vectors[op->matrices ? op->matrices : op->bytes > 4 ? op->bytes / 4 : 1];
    if (op->matrices)
        return op->store ? must_format("stmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%at], %s;", op->matrices,
                                       op->trans ? ".trans" : "", registers)
                         : must_format("ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 %s, [%%at];", op->matrices,
                                       op->trans ? ".trans" : "", registers);
    const char *name = op->store ? "st" : "ld";
    if (op->bytes <= 4)
        return op->store ? must_format("@%%on %s.shared.u%u [%%at], %%v0;", name, 8 * op->bytes)
                         : must_format("@%%on %s.shared.u%u %%v0, [%%at];", name, 8 * op->bytes);
    return op->store ? must_format("@%%on %s.shared.v%u.u32 [%%at], %s;", name, op->bytes / 4, registers)
                     : must_format("@%%on %s.shared.v%u.u32 %s, [%%at];", name, op->bytes / 4, registers);
}

/* What is never executed, for the last argument is 0. It keeps ptxas from leaving the access out: what is loaded may
 * have been stored, what is stored may be loaded. */
static const char before_load[] =
    "    @!%odd bra ACCESS;\n    st.shared.u32 [%base], %off;\n    bar.sync 0;\nACCESS:\n";
static const char after_store[] = "    @!%odd bra END;\n    bar.sync 0;\n    ld.shared.u32 %v0, [%base];\nEND:\n";

char *kernels_text(void) {
    char *text = must_strdup(".version 7.8\n.target sm_90\n.address_size 64\n");
    for (size_t i = 0; bank_kernel_ops[i]; ++i) {
        struct bank_op op;
        if (!bank_op_named(bank_kernel_ops[i], &op))
            abort();
        char *
            one = access_text(&op),
           *longer = must_format(
               "%s\n.visible .entry %s(.param .u64 offsets, .param .u64 result, .param .u32 never)\n{\n"
               "    .shared .align 128 .b8 arena[%d];\n"
               "    .reg .pred %%on, %%odd;\n    .reg .b32 %%at, %%base, %%never, %%off, %%v<4>, %%x;\n"
               "    .reg .b64 %%p, %%q, %%lane;\n"
               "    ld.param.u64 %%p, [offsets];\n    ld.param.u64 %%q, [result];\n    ld.param.u32 %%never, [never];\n"
               "    cvta.to.global.u64 %%p, %%p;\n    cvta.to.global.u64 %%q, %%q;\n"
               "    mov.u32 %%x, %%tid.x;\n    mul.wide.u32 %%lane, %%x, 4;\n"
               "    add.s64 %%p, %%p, %%lane;\n    add.s64 %%q, %%q, %%lane;\n"
               "    ld.global.u32 %%off, [%%p];\n    setp.ge.s32 %%on, %%off, 0;\n    max.s32 %%off, %%off, 0;\n"
               "    mov.u32 %%base, arena;\n    add.s32 %%at, %%base, %%off;\n"
               "    mov.u32 %%v0, %%off;\n    mov.u32 %%v1, %%off;\n    mov.u32 %%v2, %%off;\n    mov.u32 %%v3, "
               "%%off;\n"
               "    setp.ne.u32 %%odd, %%never, 0;\n"
               "%s    %s\n%s"
               "    xor.b32 %%v0, %%v0, %%v1;\n    xor.b32 %%v2, %%v2, %%v3;\n    xor.b32 %%v0, %%v0, %%v2;\n"
               "    st.global.u32 [%%q], %%v0;\n    ret;\n}\n",
               text, bank_kernel_ops[i], KERNELS_ARENA, op.store ? "" : before_load, one, op.store ? after_store : "");
        free(one);
        free(text);
        text = longer;
    }
    return text;
}

bool kernels_launch(const struct ptx_module *m, const struct bank_row *row, const struct runner *runner, bool census,
                    struct bank_count *counted, struct error *e) {
    uint32_t offsets[32], result[32] = {0};
    char entry[sizeof row->op.name];
    bank_op_table_name(&row->op, entry);
    for (unsigned lane = 0; lane < 32; ++lane) {
        offsets[lane] = row->active >> lane & 1 ? row->at[lane] : row->op.matrices ? 0 : UINT32_MAX;
        if (offsets[lane] != UINT32_MAX && offsets[lane] > KERNELS_ARENA - row->op.bytes)
            return fail(e, "line %zu: offset %u is past the %d bytes of the kernel", row->line, offsets[lane],
                        KERNELS_ARENA);
    }
    struct launch_buffer buffers[] = {
        {.name = "offsets", .role = BUFFER_IN, .bytes = 128, .cell_bytes = 4, .data = (uint8_t *)offsets},
        {.name = "result", .role = BUFFER_INOUT, .bytes = 128, .cell_bytes = 4, .data = (uint8_t *)result}};
    struct launch_arg args[] = {{.buffer = 0, .bytes = 8}, {.buffer = 1, .bytes = 8}, {.buffer = -1, .bytes = 4}};
    struct launch l = {.module = m,
                       .entry = entry,
                       .grid = {1, 1, 1},
                       .block = {32, 1, 1},
                       .buffers = buffers,
                       .buffer_count = 2,
                       .args = args,
                       .arg_count = 3,
                       .threads = 1,
                       .options = {.census = census, .unwatched = WATCH_UNINIT | WATCH_HAZARDS}};
    struct trace t = {0};
    if (!runner->run(&l, &t, e))
        return false;
    bool good = true;
    if (t.device_fault)
        good = fail(e, "line %zu: the GPU says %s", row->line, t.device_fault);
    else if (t.event_count > 0)
        good = fail(e, "line %zu: the runner saw a fault of kind %d", row->line, (int)t.events[0].kind);
    *counted = (struct bank_count){0, 0};
    for (size_t i = 0; t.counts && i < t.site_count; ++i) {
        counted->wavefronts += (unsigned)t.counts[i].wavefronts;
        counted->conflicts += (unsigned)t.counts[i].conflicts;
    }
    trace_free(&t);
    return good;
}
