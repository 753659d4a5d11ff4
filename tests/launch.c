/* What launch_check refuses. */
#include "../ref/checked.h"
#include "machine_run.h"

struct fault { /* one field changed in a good launch, and what the message must say */
    void (*make)(struct launch *l);
    const char *says;
};

static struct launch_buffer buffers[2];
static struct launch_arg args[3];
static struct launch_plane plane[2];

static struct launch good(const struct ptx_module *m) {
    static uint8_t data[64];
    buffers[0] = (struct launch_buffer){.name = "x", .role = BUFFER_IN, .bytes = 64, .cell_bytes = 4, .data = data};
    buffers[1] = (struct launch_buffer){.name = "y", .role = BUFFER_OUT, .bytes = 64, .cell_bytes = 4, .data = data};
    args[0] = (struct launch_arg){.buffer = 0, .bytes = 8};
    args[1] = (struct launch_arg){.buffer = 1, .bytes = 8};
    args[2] = (struct launch_arg){.buffer = -1, .value = 7, .bytes = 4};
    plane[0] = (struct launch_plane){"a", 0, 512};
    plane[1] = (struct launch_plane){"b", 512, 512};
    return (struct launch){.module = m,
                           .entry = "k",
                           .grid = {1, 1, 1},
                           .block = {64, 1, 1},
                           .shared_bytes = 1024,
                           .buffers = buffers,
                           .buffer_count = 2,
                           .args = args,
                           .arg_count = 3,
                           .planes = plane,
                           .plane_count = 2};
}

#define FAULT(name, statement)                                                                                         \
    static void name(struct launch *l) {                                                                               \
        statement;                                                                                                     \
    }
FAULT(entry, l->entry = "nosuch")
FAULT(grid_zero, l->grid[1] = 0)
FAULT(grid_x, l->grid[0] = 0x80000000u)
FAULT(grid_y, l->grid[1] = 65536)
FAULT(block_zero, l->block[2] = 0)
FAULT(block_z, l->block[2] = 65)
FAULT(block_many, l->block[0] = 64; l->block[1] = 32)
FAULT(block_maxntid, l->block[0] = 129)
FAULT(few_args, l->arg_count = 2)
FAULT(wide_arg, l->args[2].bytes = 8)
FAULT(float_for_integer, l->args[2].is_float = true)
FAULT(odd_arg, l->args[2].bytes = 3)
FAULT(no_buffer, l->args[1].buffer = 2)
FAULT(narrow_buffer, l->args[2].buffer = 0)
FAULT(no_data, l->buffers[0].data = NULL)
FAULT(cells, l->buffers[1].cell_bytes = 5)
FAULT(no_cells, l->buffers[1].cell_bytes = 0)
FAULT(gap, l->planes = (plane[1].offset = 516, plane))
FAULT(overlap, l->planes = (plane[1].offset = 508, plane))
FAULT(short_planes, l->planes = (plane[1].bytes = 508, plane))
FAULT(long_planes, l->planes = (plane[1].bytes = 516, plane))
FAULT(endless_plane, l->planes = (plane[1].bytes = SIZE_MAX - 100, plane))
FAULT(empty_plane, l->planes = (plane[1].bytes = 0, plane))

Test(launch, refusals) {
    static const char text[] = ".version 9.0\n.target sm_80\n.address_size 64\n.shared .align 4 .b8 fixed[64];\n"
                               ".visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)\n.maxntid 64, 2, 1\n"
                               "{\nret;\n}\n.visible .entry r() .reqntid 32, 2, 1 {\nret;\n}\n";
    static const struct fault faults[] = {{entry, "no entry nosuch"},
                                          {grid_zero, "grid.y is 0"},
                                          {grid_x, "grid.x is 2147483648"},
                                          {grid_y, "grid.y is 65536"},
                                          {block_zero, "block.z is 0"},
                                          {block_z, "block.z is 65"},
                                          {block_many, "2048 threads"},
                                          {block_maxntid, ".maxntid"},
                                          {few_args, "3 parameters"},
                                          {wide_arg, "argument 2"},
                                          {float_for_integer, "argument 2 of k is a floating-point number, the "
                                                              "parameter n is an integer (.u32)"},
                                          {odd_arg, "argument 2"},
                                          {no_buffer, "buffer 2 of 2"},
                                          {narrow_buffer, "must have 8 bytes"},
                                          {no_data, "has no data"},
                                          {cells, "cells of 5 bytes"},
                                          {no_cells, "cells of 0 bytes"},
                                          {gap, "plane b starts at byte 516"},
                                          {overlap, "plane b starts at byte 508"},
                                          {short_planes, "end at byte 1020"},
                                          {long_planes, "plane b has 516"},
                                          {endless_plane, "plane b has"},
                                          {empty_plane, "plane b has 0"}};
    struct error e = {""};
    struct ptx_module *m = ptx_parse("k.ptx", text, strlen(text), &e);
    cr_assert(m, "%s", e.text);
    struct launch l = good(m);
    struct trace t;
    cr_assert(launch_check(&l, &e), "a good launch is refused: %s", e.text);
    cr_assert(runner_machine.run(&l, &t, &e), "a good launch does not run: %s", e.text);
    trace_free(&t);
    for (size_t k = 0; k < sizeof faults / sizeof *faults; ++k) {
        l = good(m);
        faults[k].make(&l);
        e.text[0] = 0;
        cr_assert(!launch_check(&l, &e), "fault %zu (%s) passes", k, faults[k].says);
        cr_assert(strstr(e.text, faults[k].says), "fault %zu: no \"%s\" in: %s", k, faults[k].says, e.text);
        cr_assert(!runner_machine.run(&l, &t, &e), "fault %zu runs", k);
        cr_assert(!t.events && !t.coverage && !t.sites, "fault %zu leaves a trace", k);
    }
    l = good(m);
    l.entry = "r";
    l.arg_count = 0;
    l.block[0] = 32;
    cr_assert(!launch_check(&l, &e) && strstr(e.text, "block.y is 1"), "reqntid: %s", e.text);
    l.block[1] = 2;
    cr_assert(launch_check(&l, &e), "reqntid met: %s", e.text);
    ptx_free(m);
}

/* One parameter, as declared, and one argument: NULL, or what launch_check says. */
static const char *refusal_of(const char *parameter, struct launch_arg a) {
    static struct error e;
    static uint8_t data[8];
    char text[256];
    snprintf(text, sizeof text,
             ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param %s)\n{\nret;\n}\n", parameter);
    struct ptx_module *m = ptx_parse("k.ptx", text, strlen(text), &e);
    cr_assert(m, "%s", e.text);
    struct launch_buffer x = {.name = "x", .role = BUFFER_IN, .bytes = 8, .cell_bytes = 4, .data = data};
    const struct launch l = {.module = m,
                             .entry = "k",
                             .grid = {1, 1, 1},
                             .block = {1, 1, 1},
                             .buffers = &x,
                             .buffer_count = 1,
                             .args = &a,
                             .arg_count = 1};
    const bool good = launch_check(&l, &e);
    ptx_free(m);
    return good ? NULL : e.text;
}

static const char *refusal(const char *type, struct launch_arg a) {
    char parameter[64];
    snprintf(parameter, sizeof parameter, "%s p", type);
    return refusal_of(parameter, a);
}

Test(launch, kinds_of_scalars) {
    static const struct {
        const char *type;
        size_t bytes;
        bool integer, real, buffer; /* what the parameter takes */
    } rows[] = {
        {".u8", 1, true, false, false},  {".s16", 2, true, false, false}, {".u32", 4, true, false, false},
        {".s32", 4, true, false, false}, {".u64", 8, true, false, true},  {".s64", 8, true, false, true},
        {".f32", 4, false, true, false}, {".f64", 8, false, true, false}, {".b32", 4, true, true, false},
        {".b64", 8, true, true, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        for (int give = 0; give < 3; ++give) {
            if (give == 2 && rows[i].bytes != 8)
                continue;
            const char *says = refusal(
                rows[i].type,
                (struct launch_arg){.buffer = give == 2 ? 0 : -1, .bytes = rows[i].bytes, .is_float = give == 1});
            const char *given = give == 0 ? "an integer" : give == 1 ? "a floating-point number" : "a buffer";
            const bool takes = give == 0 ? rows[i].integer : give == 1 ? rows[i].real : rows[i].buffer;
            cr_expect(takes == !says, "%s to %s: %s", given, rows[i].type, says ? says : "passes");
            char *want = must_format("argument 0 of k is %s, the parameter p is %s (%s)", given,
                                     rows[i].real ? "a floating-point number" : "an integer", rows[i].type);
            cr_expect(!says || !strcmp(says, want), "want \"%s\", says \"%s\"", want, says);
            free(want);
        }
}

/* The argument has the parameter's size and no stricter alignment; members lie within it. */
Test(launch, structs_by_value) {
    static struct launch_member good[] = {{0, 4, -1, 7}, {8, 8, 0, 0}}, wild[] = {{12, 8, -1, 0}},
                                odd[] = {{2, 4, -1, 0}};
    static struct launch_member nobody[] = {{8, 8, 1, 0}}, narrow[] = {{4, 4, 0, 0}};
    static const struct {
        const char *type;
        struct launch_arg arg;
        const char *says; /* NULL: nothing */
    } rows[] = {
        {".align 8 .b8 s[16]", {.buffer = -1, .bytes = 16, .members = good, .member_count = 2, .alignment = 8}, NULL},
        {".align 16 .b8 s[16]", {.buffer = -1, .bytes = 16, .members = good, .member_count = 2, .alignment = 8}, NULL},
        {".align 8 .b8 s[16]",
         {.buffer = -1, .bytes = 8},
         "parameter 0 of k, s, is an array (a struct by value) of 16"},
        {".align 4 .u32 s[4]",
         {.buffer = -1, .bytes = 16, .members = good, .member_count = 2, .alignment = 8},
         "is an array (a struct by value) of 16 bytes, the argument is a struct"},
        {".u64 s",
         {.buffer = -1, .bytes = 8, .members = good, .member_count = 1, .alignment = 4},
         "s, is a scalar of 8"},
        {".align 8 .b8 s[24]",
         {.buffer = -1, .bytes = 16, .members = good, .member_count = 2, .alignment = 8},
         "argument 0 of k is a struct of 16 bytes, the parameter s has 24"},
        {".align 4 .b8 s[16]",
         {.buffer = -1, .bytes = 16, .members = good, .member_count = 2, .alignment = 8},
         "argument 0 of k is a struct on multiples of 8 bytes, the parameter s is on 4"},
        {".align 8 .b8 s[16]",
         {.buffer = -1, .bytes = 16, .members = wild, .member_count = 1, .alignment = 8},
         "member 0 has 8 bytes at 12"},
        {".align 8 .b8 s[16]",
         {.buffer = -1, .bytes = 16, .members = odd, .member_count = 1, .alignment = 8},
         "member 0 has 4 bytes at 2"},
        {".align 8 .b8 s[16]",
         {.buffer = -1, .bytes = 16, .members = nobody, .member_count = 1, .alignment = 8},
         "member 0 names buffer 1 of 1"},
        {".align 8 .b8 s[16]",
         {.buffer = -1, .bytes = 16, .members = narrow, .member_count = 1, .alignment = 8},
         "member 0 names buffer 0 of 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const char *says = refusal_of(rows[i].type, rows[i].arg);
        cr_expect(rows[i].says ? says && strstr(says, rows[i].says) : !says, "%s: %s", rows[i].type,
                  says ? says : "passes");
    }
    uint8_t out[16];
    const uint64_t addresses[] = {0x1122334455667788};
    const struct launch_arg arg = {.buffer = -1, .bytes = 16, .members = good, .member_count = 2, .alignment = 8};
    static const uint8_t want[16] = {7, 0, 0, 0, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
    launch_arg_bytes(&arg, addresses, out);
    cr_assert(!memcmp(out, want, 16), "the bytes of a struct with a scalar, padding and a buffer's address");
}

/* Parameters lie as in C, and scalars of every size arrive. */
Test(launch, parameters) {
    static const char text[] =
        ".version 9.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u8 a, .param .u16 b, .param .u32 c, .param .u64 y, .param .s16 d, .param .f32 "
        "e)\n{\n"
        ".reg .b64 %rd<4>;\n.reg .b32 %r<9>;\n.reg .b16 %h<4>;\n.reg .f32 %f<2>;\nld.param.u64 %rd1, [y];\n"
        "ld.param.u8 %r1, [a];\nld.param.u16 %h1, [b];\ncvt.u32.u16 %r2, %h1;\nld.param.u32 %r3, [c];\n"
        "ld.param.s16 %r4, [d];\nld.param.f32 %f1, [e];\nld.param.u16 %r5, [c+2];\n"
        "st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};\nst.global.f32 [%rd1+16], %f1;\n"
        "st.global.u32 [%rd1+20], %r5;\nret;\n}\n";
    struct error e = {""};
    struct ptx_module *m = ptx_parse("k.ptx", text, strlen(text), &e);
    cr_assert(m, "%s", e.text);
    uint32_t out[6] = {0};
    struct launch_buffer y = {
        .name = "y", .role = BUFFER_OUT, .bytes = sizeof out, .cell_bytes = 4, .data = (uint8_t *)out};
    struct launch_arg a[6] = {{.buffer = -1, .value = 0xfa, .bytes = 1},
                              {.buffer = -1, .value = 0xfedc, .bytes = 2},
                              {.buffer = -1, .value = 0x89abcdef, .bytes = 4},
                              {.buffer = 0, .bytes = 8},
                              {.buffer = -1, .value = 0x8001, .bytes = 2},
                              {.buffer = -1, .value = 0x3fc00000, .bytes = 4, .is_float = true}};
    struct launch l = {.module = m,
                       .entry = "k",
                       .grid = {1, 1, 1},
                       .block = {1, 1, 1},
                       .buffers = &y,
                       .buffer_count = 1,
                       .args = a,
                       .arg_count = 6,
                       .threads = 1};
    struct trace t;
    cr_assert(runner_machine.run(&l, &t, &e), "%s", e.text);
    const uint32_t want[6] = {0xfa, 0xfedc, 0x89abcdef, 0xffff8001, 0x3fc00000, 0x89ab};
    for (int i = 0; i < 6; ++i)
        cr_assert(out[i] == want[i], "value %d: want %x got %x", i, want[i], out[i]);
    trace_free(&t);
    ptx_free(m);
}

/* A block's shared memory is that of the launched entry: what the module and device functions have, and its own, but no
 * other's, and the dynamic arena. How much there may be is the architecture's business. More is no error of the launch:
 * nothing runs, and one event says so. */
Test(launch, shared_memory_of_the_entry) {
    static const char text[] = ".version 9.0\n.target sm_80\n.address_size 64\n.shared .align 4 .b8 all[64];\n"
                               ".extern .shared .align 16 .b8 arena[];\n"
                               ".func f() {\n.shared .align 4 .b8 v[32];\nret;\n}\n"
                               ".visible .entry large() {\n.shared .align 4 .b8 z[40960];\nret;\n}\n"
                               ".visible .entry huge() {\n.shared .align 4 .b8 z[49152];\nret;\n}\n"
                               ".visible .entry small() {\nret;\n}\n";
    static const struct {
        const char *entry, *arch;
        size_t fixed, most;
    } rows[] = {{"small", NULL, 96, 232448},
                {"large", NULL, 41056, 232448},
                {"small", "sm_121", 96, 101376},
                {"large", "sm_80", 41056, 166912}};
    struct error e = {""};
    struct ptx_module *m = ptx_parse("k.ptx", text, strlen(text), &e);
    cr_assert(m, "%s", e.text);
    struct trace t;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct launch l = {.module = m,
                           .entry = rows[i].entry,
                           .grid = {1, 1, 1},
                           .block = {32, 1, 1},
                           .threads = 1,
                           .options = {.arch = rows[i].arch ? arch_named(rows[i].arch) : NULL}};
        l.shared_bytes = rows[i].most - rows[i].fixed;
        cr_expect(launch_excess(&l, NULL) == NULL, "%s with %zu bytes is too much", l.entry, l.shared_bytes);
        cr_assert(runner_machine.run(&l, &t, &e), "%s: %s", l.entry, e.text);
        cr_expect(t.event_count == 0 && t.warp_instructions > 0, "%s: %zu events", l.entry, t.event_count);
        trace_free(&t);
        l.shared_bytes++;
        char *want = must_format("%zu B of shared memory, %s gives a block %zu", rows[i].most + 1,
                                 rows[i].arch ? rows[i].arch : "sm_90", rows[i].most);
        char *got = launch_excess(&l, NULL);
        cr_expect(got && !strcmp(got, want), "want \"%s\", says \"%s\"", want, got ? got : "nothing");
        cr_assert(runner_machine.run(&l, &t, &e), "%s: %s", l.entry, e.text);
        cr_expect(t.event_count == 1 && t.events[0].kind == EVENT_LIMIT && t.warp_instructions == 0,
                  "%s: %zu events, %llu warp instructions", l.entry, t.event_count,
                  (unsigned long long)t.warp_instructions);
        trace_free(&t);
        free(want);
        free(got);
        l.shared_bytes = SIZE_MAX - 4;
        got = launch_excess(&l, NULL);
        cr_expect(got && strstr(got, "18446744073709551615 B of shared memory"), "says \"%s\"", got ? got : "nothing");
        free(got);
    }
    const struct launch l = {.module = m, .entry = "huge", .grid = {1, 1, 1}, .block = {32, 1, 1}};
    char *got = launch_excess(&l, NULL);
    cr_expect(got && !strcmp(got, "49248 B of static shared memory, a block has at most 49152"), "says \"%s\"",
              got ? got : "nothing");
    free(got);
    ptx_free(m);
}

/* PTX ISA 5.1.3: 64 KB of constants. */
Test(launch, constant_memory_of_the_module) {
    for (size_t bytes = 65536; bytes <= 65537; ++bytes) {
        char *text = must_format(".version 9.0\n.target sm_80\n.address_size 64\n.const .b8 a[65532];\n"
                                 ".const .b8 b[%zu];\n.visible .entry k() { ret; }\n",
                                 bytes - 65532);
        struct error e = {""};
        struct ptx_module *m = ptx_parse("k.ptx", text, strlen(text), &e);
        cr_assert(m, "%s", e.text);
        const struct launch l = {.module = m, .entry = "k", .grid = {1, 1, 1}, .block = {32, 1, 1}, .threads = 1};
        const char *suspects = "";
        char *got = launch_excess(&l, &suspects);
        cr_expect(bytes == 65536 ? !got : got && strstr(got, "65537 B of .const variables, a module has at most 65536"),
                  "%zu bytes: %s", bytes, got ? got : "nothing");
        cr_expect(!got || strstr(suspects, ".global"), "suspects: %s", suspects);
        free(got);
        ptx_free(m);
        free(text);
    }
}
