/* PTX front end, what well-formed text means: structure, names and scopes, constants, layout, line information. */
#include "../gpu/ptx/ptx.h"
#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER ".version 9.0\n.target sm_80, debug\n.address_size 64\n"

static struct ptx_module *parse(const char *text) {
    struct error e = {""};
    struct ptx_module *m = ptx_parse("t.ptx", text, strlen(text), &e);
    cr_assert(m != NULL, "must parse:\n%s\n%s", text, e.text);
    return m;
}

/* The body between the braces of one entry with two parameters, behind module-level text. */
static struct ptx_module *parse_body(const char *module_text, const char *body) {
    char *text =
        must_format(HEADER "%s\n.visible .entry k(.param .u64 k_0, .param .u32 k_1)\n{\n%s\n}\n", module_text, body);
    struct ptx_module *m = parse(text);
    free(text);
    return m;
}

static const struct ptx_function *kernel(const struct ptx_module *m) {
    const struct ptx_function *f = ptx_entry_named(m, "k");
    cr_assert(f != NULL, "the entry k is missing");
    return f;
}

/* Operands as text, names resolved: registers r<index>, labels @<target>, variables by name. */
static void print_operand(FILE *out, const struct ptx_module *m, const struct ptx_operand *o) {
    static const char *const closing[] = {[PTX_OP_VECTOR] = "}", [PTX_OP_LIST] = ")", [PTX_OP_ADDRESS] = "]"};
    fprintf(out, "%s%s", o->negated ? "!" : "", o->minus ? "-" : "");
    switch (o->kind) {
    case PTX_OP_REGISTER:
        fprintf(out, "r%d", o->reg);
        break;
    case PTX_OP_INTEGER:
        fprintf(out, "%" PRId64, (int64_t)o->bits);
        break;
    case PTX_OP_FLOAT:
        fprintf(out, "%s%" PRIx64, o->double_precision ? "d" : "f", o->bits);
        break;
    case PTX_OP_VECTOR:
        fprintf(out, "{");
        break;
    case PTX_OP_LIST:
        fprintf(out, "(");
        break;
    case PTX_OP_ADDRESS:
        fprintf(out, "[");
        if (o->reg >= 0)
            fprintf(out, "r%d", o->reg);
        if (o->variable >= 0)
            fprintf(out, "%s", m->variables[o->variable].name);
        fprintf(out, "%+" PRId64, o->displacement);
        break;
    case PTX_OP_VARIABLE:
        fprintf(out, "&%s%+" PRId64, m->variables[o->variable].name, o->displacement);
        break;
    case PTX_OP_FUNCTION:
        fprintf(out, "*%s", m->functions[o->function].name);
        break;
    case PTX_OP_LABEL:
        fprintf(out, "@%zu", o->target);
        break;
    case PTX_OP_SINK:
        fprintf(out, "_");
        break;
    case PTX_OP_SPECIAL:
        fprintf(out, "%s", o->name);
        break;
    case PTX_OP_NAME:
        fprintf(out, "name %s", o->name);
        break;
    }
    if (o->second >= 0)
        fprintf(out, "|r%d", o->second);
    for (size_t i = 0; i < o->element_count; i++) {
        fprintf(out, "%s", i || o->kind == PTX_OP_ADDRESS ? "," : o->kind == PTX_OP_NAME ? ":" : "");
        print_operand(out, m, &o->elements[i]);
    }
    if (o->kind == PTX_OP_VECTOR || o->kind == PTX_OP_LIST || o->kind == PTX_OP_ADDRESS)
        fprintf(out, "%s", closing[o->kind]);
}

static char *print_instruction(const struct ptx_module *m, const struct ptx_instruction *in) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (in->guard >= 0)
        fprintf(out, "@%sr%d ", in->guard_negated ? "!" : "", in->guard);
    fprintf(out, "%s", in->opcode);
    for (size_t i = 0; i < in->part_count; i++)
        fprintf(out, ".%s", in->parts[i]);
    for (size_t i = 0; i < in->operand_count; i++) {
        fprintf(out, "%s", i ? ", " : " ");
        print_operand(out, m, &in->operands[i]);
    }
    fclose(out);
    return text;
}

/* The body's instructions, printed, are exactly `want`, one a line. */
static bool body_prints(const char *module_text, const char *body, const char *want, char **got) {
    struct ptx_module *m = parse_body(module_text, body);
    const struct ptx_function *f = kernel(m);
    *got = must_strdup("");
    for (size_t i = 0; i < f->instruction_count; i++) {
        char *line = print_instruction(m, &f->instructions[i]);
        char *all = must_format("%s%s\n", *got, line);
        free(*got);
        free(line);
        *got = all;
    }
    ptx_free(m);
    return !strcmp(*got, want);
}

static void expect_body(const char *module_text, const char *body, const char *want) {
    char *got;
    bool same = body_prints(module_text, body, want, &got);
    cr_assert(same, "body:\n%s\nwant:\n%s\ngot:\n%s", body, want, got);
    free(got);
}

#define REGISTERS ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>;\n"

Test(ptx, operands_of_every_kind) {
    static const struct {
        const char *body, *want;
    } rows[] = {
        {"ret;", "ret\n"},
        {"mov.u32 %r7, %tid.x;", "mov.u32 r0, %tid.x\n"},
        {"mov.u64 %rd1, %clock64; mov.u32 %r1, %laneid; mov.b32 %r2, %envreg31;",
         "mov.u64 r0, %clock64\nmov.u32 r1, %laneid\nmov.b32 r2, %envreg31\n"},
        {"@!%p1 bra $L; @%p2 bra.uni $L; $L: ret;", "@!r0 bra @2\n@r1 bra.uni @2\nret\n"},
        {"bra END; END:", "bra @1\n"},
        {"ld.global.nc.v4.u32 {%r1,%r2, _ ,%r1}, [%rd1+-4];", "ld.global.nc.v4.u32 {r0,r1,_,r0}, [r2-4]\n"},
        {"ld.global.L1::no_allocate.L2::128B.b32 %r1, [%rd1-(2*8)];",
         "ld.global.L1::no_allocate.L2::128B.b32 r0, [r1-16]\n"},
        {"ld.shared::cta.u32 %r1, [sm+16]; st.shared.u32 [64], -1;",
         "ld.shared::cta.u32 r0, [sm+16]\nst.shared.u32 [+64], -1\n"},
        {"ld.param.u32 %r1, [k_1];", "ld.param.u32 r0, [k_1+0]\n"},
        {"mov.u32 %r1, sm; mov.u64 %rd1, sm+32;", "mov.u32 r0, &sm+0\nmov.u64 r1, &sm+32\n"},
        {"setp.lt.and.s32 %p1|%p2, %r1, 7, !%p3;", "setp.lt.and.s32 r0|r1, r2, 7, !r3\n"},
        {"shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;", "shfl.sync.bfly.b32 r0|r1, r2, 1, 31, -1\n"},
        {"elect.sync _|%p1, -1;", "elect.sync _|r0, -1\n"},
        {"setp.ne.b32 %p1|_, %r1, 0;", "setp.ne.b32 r0, r1, 0\n"},
        {"add.s32 %r1, -%r2, %r3;", "add.s32 r0, -r1, r2\n"},
        {"mov.b64 %rd1, {%r1, %r2}; mov.b64 {%r1, _}, %rd1;", "mov.b64 r0, {r1,r2}\nmov.b64 {r1,_}, r0\n"},
        {"fma.rn.f32 %f1, 0f3F800000, 0fbf800000, -0f3f800000;", "fma.rn.f32 r0, f3f800000, fbf800000, fbf800000\n"},
        {"mov.f64 %fd1, 0d3FF0000000000000; mov.f64 %fd1, -1.5e0;",
         "mov.f64 r0, d3ff0000000000000\nmov.f64 r0, dbff8000000000000\n"},
        {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1,%r2,%r3,%r4},{%r1,%r2,%r3,%r4},{%r5,%r6},{0,0,0,0};",
         "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {r0,r1,r2,r3}, {r0,r1,r2,r3}, {r4,r5}, {0,0,0,0}\n"},
        {"cp.async.cg.shared.global [%r1], [%rd1], 16, 16;", "cp.async.cg.shared.global [r0+0], [r1+0], 16, 16\n"},
        {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], "
         "[%r4];",
         "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [r0+0], [r1+0,{r2,r3}], "
         "[r4+0]\n"},
        {"lop3.b32 %r1, %r2, %r3, %r4, (0xF0 & 0xCC) | 0xAA;", "lop3.b32 r0, r1, r2, r3, 234\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *body = must_format("%s%s", REGISTERS, rows[i].body);
        expect_body(".extern .shared .align 16 .b8 sm[];", body, rows[i].want);
        free(body);
    }
}

Test(ptx, the_printed_comparison_can_fail) {
    char *got;
    bool same = body_prints("", REGISTERS "add.s32 %r1, %r2, %r2;", "add.s32 r0, r1, r2\n", &got);
    cr_assert(!same, "r1 twice is not r1, r2: %s", got);
    free(got);
}

Test(ptx, integer_constants) {
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"0", 0},
        {"-2139062144", -2139062144},
        {"0xffffffff", 0xffffffff},
        {"0XfU", 15},
        {"017", 15},
        {"0b101U", 5},
        {"18446744073709551615", -1},
        {"WARP_SZ", 32},
        {"WARP_SZ*2-1", 63},
        {"-(3+4)*2", -14},
        {"~0", -1},
        {"!5", 0},
        {"+7", 7},
        {"1<<4|3", 19},
        {"7&~1", 6},
        {"5^1", 4},
        {"-8>>1", -4},
        {"0x8000000000000000>>63", 1},
        {"-7/2", -3},
        {"-7 % 3", -1},
        {"-1/-1", 1},
        {"10-3-2", 5},
        {"2+3*4", 14},
        {"(2+3)*4", 20},
        {"1?2:3", 2},
        {"0?2:0?4:5", 5},
        {"3<4&&4<=4", 1},
        {"3>4||4>=5", 0},
        {"-1<0", 1},
        {"-1<0U", 0},
        {"3==3!=0", 1},
        {"(.u64)-1>>63", 1},
        {"(.s64)0x8000000000000000>>63", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *body = must_format("%smov.b64 %%rd1, %s;", REGISTERS, rows[i].text);
        char *want = must_format("mov.b64 r0, %" PRId64 "\n", rows[i].want);
        expect_body("", body, want);
        free(body);
        free(want);
    }
}

Test(ptx, registers_of_scopes_are_innermost_first) {
    expect_body(
        "",
        ".reg .b32 x; mov.u32 x, 0;\n"                       /* r0 */
        "{ mov.u32 x, 1; .reg .b32 x; mov.u32 x, 2;\n"       /* r0, then its own: r1 */
        "  { .reg .b32 x; mov.u32 x, 3; } mov.u32 x, 4; }\n" /* r2, back to r1 */
        "{ .reg .b32 x; mov.u32 x, 5; } mov.u32 x, 6;",      /* r3, back to r0 */
        "mov.u32 r0, 0\nmov.u32 r0, 1\nmov.u32 r1, 2\nmov.u32 r2, 3\nmov.u32 r1, 4\nmov.u32 r3, 5\nmov.u32 r0, 6\n");
    char *got; /* planted: without the inner declaration it must be the outer register, and the check must say so */
    bool same = body_prints("", ".reg .b32 x; mov.u32 x, 0; { mov.u32 x, 1; }", "mov.u32 r0, 0\nmov.u32 r1, 1\n", &got);
    cr_assert(!same, "a scope that declares nothing has no register of its own: %s", got);
    free(got);
}

Test(ptx, ranges_and_single_names_across_scopes) {
    expect_body(
        "",
        ".reg .b32 %r<20>; mov.u32 %r12, 0; { .reg .b32 %r12; mov.u32 %r12, 1; mov.u32 %r13, 2; }\n"
        "mov.u32 %r12, 3; { .reg .b64 %r<14>; mov.u32 %r12, 4; mov.u32 %r14, 5; } mov.u32 %r12, 6;\n"
        "{ .reg .b32 %r1<4>; mov.u32 %r12, 7; mov.u32 %r1, 8; }",
        "mov.u32 r0, 0\nmov.u32 r1, 1\nmov.u32 r2, 2\nmov.u32 r0, 3\nmov.u32 r3, 4\nmov.u32 r4, 5\nmov.u32 r0, 6\n"
        "mov.u32 r5, 7\nmov.u32 r6, 8\n");
}

Test(ptx, a_huge_range_costs_only_what_is_mentioned) {
    struct ptx_module *m =
        parse_body("", ".reg .b32 %r<1000000000>; .reg .f64 unused; mov.u32 %r999999999, %r0; mov.u32 %r0, 1;");
    const struct ptx_function *f = kernel(m);
    cr_assert(f->register_count == 2, "two registers are mentioned, not %zu", f->register_count);
    cr_assert(!strcmp(f->registers[0].name, "%r999999999") && f->registers[0].type == PTX_B32, "the first is %s",
              f->registers[0].name);
    ptx_free(m);
}

Test(ptx, labels_are_innermost_first_forward_and_backward) {
    expect_body("",
                REGISTERS "L: mov.u32 %r1, 0; bra L;\n"              /* 0 1: L at 0 */
                          "{ bra L; L: mov.u32 %r1, 1; bra L; }\n"   /* 2 3 4: its own L at 3, forward and backward */
                          "{ { bra M; } bra L; } M: ret; bra N; N:", /* 5: M at 7; 6: L at 0; 8: the end, 9 */
                "mov.u32 r0, 0\nbra @0\nbra @3\nmov.u32 r0, 1\nbra @3\nbra @7\nbra @0\nret\nbra @9\n");
    char *got;
    bool same = body_prints("", "L: ret; { bra L; L: ret; }", "ret\nbra @0\nret\n", &got);
    cr_assert(!same, "the outer L was taken although the scope has its own: %s", got);
    free(got);
}

Test(ptx, calls_prototypes_and_target_tables) {
    expect_body(".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
                ".func g() { ret; }\n.global .align 8 .u64 table[2] = {g, g};",
                REGISTERS
                "{ .param .b64 param0; .param .b64 param1; .param .b32 retval0;\n"
                "call.uni (retval0),\nvprintf,\n(\nparam0,\nparam1\n);\n"
                "prototype_1 : .callprototype (.param .b32 _) _ (.param .b64 _, .param .b64 _);\n"
                "call (retval0), %rd1, (param0, 3), prototype_1; }\n"
                "call g; call g, (); mov.u64 %rd2, g;\n"
                "T: .branchtargets A, B, A; brx.idx %r1, T; A: ret; B: brx.idx.uni %r1, U; U: .branchtargets B;\n"
                "V: .calltargets g, k; call %rd1, V;",
                "call.uni (&retval0+0), *vprintf, (&param0+0,&param1+0)\n"
                "call (&retval0+0), r0, (&param0+0,3), name prototype_1\n"
                "call *g\ncall *g, ()\nmov.u64 r1, *g\n"
                "brx.idx r2, name T:@6,@7,@6\nret\nbrx.idx.uni r2, name U:@7\ncall r0, name V:*g,*k\n");
}

Test(ptx, functions_parameters_and_frames) {
    struct ptx_module *m = parse(
        HEADER
        ".func (.param .align 8 .b8 r[12]) f (.param .b8 a, .param .b64 b, .param .align 4 .b8 c[5]);\n"
        ".weak .func (.param .align 8 .b8 r[12]) f (.param .b8 a, .param .b64 b, .param .align 4 .b8 c[5])\n.noreturn\n"
        "{ .param .b16 p; { .param .b64 q; } .local .align 16 .b8 depot[40]; .local .b64 more; ret; }\n"
        ".visible .entry k(.param .u8 x, .param .align 16 .b8 s[20], .param .u64 .ptr .global .align 16 y)\n"
        ".maxntid 256, 2\n.minnctapersm 2\n.maxnreg 64\n.reqnctapercluster 2,1,1\n.pragma \"nounroll\";\n{\nret;\n}\n"
        ".entry nothing .reqntid 32 { }\n");
    cr_assert(m->function_count == 3, "a declaration and its definition are one function; found %zu",
              m->function_count);
    const struct ptx_function *f = &m->functions[0], *k = kernel(m);
    static const size_t offsets[] = {0, 8, 16};
    for (int i = 0; i < 3; i++)
        cr_assert(m->variables[f->params[i]].offset == offsets[i], "parameter %d of f is at %zu, want %zu", i,
                  m->variables[f->params[i]].offset, offsets[i]);
    cr_assert(f->param_bytes == 21 && m->variables[f->returns[0]].offset == 24,
              "f: %zu bytes of parameters, result at %zu", f->param_bytes, m->variables[f->returns[0]].offset);
    cr_assert(f->frame_bytes == 48, "result at 24..35, p at 36, q at 40..47: 48, not %zu", f->frame_bytes);
    cr_assert(f->local_bytes == 48, "40 bytes and an aligned 8: 48, not %zu", f->local_bytes);
    cr_assert(!f->declared_only && !f->entry, "f is defined and no entry");
    static const size_t entry_offsets[] = {0, 16, 40};
    for (int i = 0; i < 3; i++)
        cr_assert(m->variables[k->params[i]].offset == entry_offsets[i], "parameter %d of k is at %zu, want %zu", i,
                  m->variables[k->params[i]].offset, entry_offsets[i]);
    cr_assert(k->param_bytes == 48, "k takes %zu bytes, want 48", k->param_bytes);
    cr_assert(k->maxntid[0] == 256 && k->maxntid[1] == 2 && k->maxntid[2] == 1, "maxntid %u %u %u", k->maxntid[0],
              k->maxntid[1], k->maxntid[2]);
    cr_assert(k->reqntid[0] == 0 && k->cluster[0] == 2, "reqntid %u, cluster %u", k->reqntid[0], k->cluster[0]);
    const struct ptx_function *nothing = ptx_entry_named(m, "nothing");
    cr_assert(nothing && nothing->reqntid[0] == 32 && !nothing->instruction_count, "an entry without anything");
    cr_assert(!ptx_entry_named(m, "f") && !ptx_entry_named(m, "zzz"), "f is no entry and zzz is nothing");
    cr_assert(m->version_major == 9 && m->version_minor == 0 && !strcmp(m->target, "sm_80") && m->address_size == 64,
              "header: %u.%u %s %u", m->version_major, m->version_minor, m->target, m->address_size);
    ptx_free(m);
}

static const struct ptx_variable *variable_named(const struct ptx_module *m, const char *name) {
    for (size_t i = 0; i < m->variable_count; i++) {
        if (!strcmp(m->variables[i].name, name))
            return &m->variables[i];
    }
    cr_assert_fail("no variable %s", name);
    return NULL;
}

Test(ptx, shared_variables_are_placed) {
    struct ptx_module *m =
        parse(HEADER ".extern .shared .align 16 .b8 dyn[];\n.extern .shared .align 128 .f32 dyn2[];\n"
                     ".shared .align 1 .b8 a[3];\n"
                     ".entry k() { .shared .align 8 .b8 b[9]; { .shared .u16 c; } }\n"
                     ".func f() { .shared .v4 .f32 v; ret; }\n"
                     ".entry l() { .shared .align 4 .b8 d[100]; }\n");
    static const struct {
        const char *name;
        size_t offset, bytes;
    } want[] = {{"a", 0, 3},    {"v", 16, 16},   {"b", 32, 9},    {"c", 42, 2},
                {"d", 32, 100}, {"dyn", 256, 0}, {"dyn2", 256, 0}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const struct ptx_variable *v = variable_named(m, want[i].name);
        cr_assert(v->offset == want[i].offset && v->bytes == want[i].bytes && v->space == PTX_SHARED,
                  "%s: %zu bytes at %zu, want %zu at %zu", v->name, v->bytes, v->offset, want[i].bytes, want[i].offset);
    }
    cr_assert(ptx_static_shared(m, ptx_entry_named(m, "k")) == 44, "the first entry ends at 44");
    cr_assert(ptx_static_shared(m, ptx_entry_named(m, "l")) == 132, "the second entry ends at 132");
    cr_assert(ptx_static_shared(m, NULL) == 32, "what all entries share ends at 32");
    cr_assert(variable_named(m, "b")->function == 0 && variable_named(m, "a")->function == -1, "owners");
    ptx_free(m);
}

Test(ptx, initial_values) {
    static const struct {
        const char *declaration;
        size_t bytes;
        uint8_t want[16];
    } rows[] = {
        {".global .u32 x = 0x01020304;", 4, {4, 3, 2, 1}},
        {".const .align 4 .b8 x[6] = {1, -1, 255};", 6, {1, 255, 255, 0, 0, 0}},
        {".global .s16 x[2] = {-2, 65535};", 4, {0xfe, 0xff, 0xff, 0xff}},
        {".global .f32 x[2] = {0f3F800000, -1.0};", 8, {0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xbf}},
        {".global .f32 x = 3;", 4, {0, 0, 0x40, 0x40}},
        {".global .f64 x = 0d3FF8000000000000;", 8, {0, 0, 0, 0, 0, 0, 0xf8, 0x3f}},
        {".global .f64 x = 0fBF800000;", 8, {0, 0, 0, 0, 0, 0, 0xf0, 0xbf}},
        {".global .b32 x = 0f40000000;", 4, {0, 0, 0, 0x40}},
        {".global .u64 x = 18446744073709551615;", 8, {255, 255, 255, 255, 255, 255, 255, 255}},
        {".global .b8 x[2][3] = {{1}, {2, 3}};", 6, {1, 0, 0, 2, 3, 0}},
        {".global .b8 x[2][3] = {1, 2, 3, {4}};", 6, {1, 2, 3, 4, 0, 0}},
        {".global .b8 x[][2] = {{1}, {2, 3}, {4}};", 6, {1, 0, 2, 3, 4, 0}},
        {".global .b8 x[] = {9, 8, 1<<3|1};", 3, {9, 8, 9}},
        {".global .v2 .u16 x[2] = {{1, 2}, {3, 4}};", 8, {1, 0, 2, 0, 3, 0, 4, 0}},
        {".global .b8 x[2*2] = {};", 4, {0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ptx_module *m = parse_body(rows[i].declaration, "ret;");
        const struct ptx_variable *v = variable_named(m, "x");
        cr_assert(v->bytes == rows[i].bytes && v->initial, "%s: %zu bytes", rows[i].declaration, v->bytes);
        for (size_t b = 0; b < v->bytes; b++)
            cr_assert(v->initial[b] == rows[i].want[b], "%s: byte %zu is %u, want %u", rows[i].declaration, b,
                      v->initial[b], rows[i].want[b]);
        ptx_free(m);
    }
    struct ptx_module *m = parse_body(".global .u32 y; .const .f32 z, w[3];", "ret;");
    cr_assert(!variable_named(m, "y")->initial && variable_named(m, "w")->bytes == 12, "no initial value, no bytes");
    ptx_free(m);
}

Test(ptx, initial_addresses) {
    struct ptx_module *m = parse_body(
        ".global .b8 s[8]; .func f() { ret; }\n"
        ".global .u64 x[4] = {generic(s)+4, f, 7, s-1};\n.global .u64 y = generic(x);\n.global .u64 z = later;",
        "ret; } .func later() {");
    const struct ptx_variable *x = variable_named(m, "x"), *z = variable_named(m, "z");
    cr_assert(x->relocation_count == 3 && x->initial[16] == 7, "three addresses and a 7; found %zu",
              x->relocation_count);
    const struct ptx_relocation *r = x->relocations;
    cr_assert(r[0].offset == 0 && r[0].bytes == 8 && r[0].generic && r[0].addend == 4 && r[0].function == -1,
              "generic(s)+4: offset %zu addend %" PRId64, r[0].offset, r[0].addend);
    cr_assert(!strcmp(m->variables[r[0].variable].name, "s"), "the first names s");
    cr_assert(r[1].offset == 8 && r[1].variable == -1 && !strcmp(m->functions[r[1].function].name, "f"),
              "the second is f");
    cr_assert(r[2].offset == 24 && r[2].addend == -1 && !r[2].generic, "the third is s-1");
    cr_assert(z->relocation_count == 1 && !strcmp(m->functions[z->relocations[0].function].name, "later"),
              "a function defined further down");
    ptx_free(m);
}

Test(ptx, line_information) {
    struct ptx_module *m =
        parse(HEADER ".visible .entry k() {\nret;\n"                                           /* 0 */
                     ".loc 1 10 3\nret;\n"                                                     /* 1 */
                     ".loc\t2 20 1, function_name $L__info_string0, inlined_at 1 11 5\nret;\n" /* 2 */
                     ".loc 2 30 1, function_name $L__s+12, inlined_at 2 20 1\nret;\n"          /* 3 */
                     ".loc 1 0 42\nret;\n"                                                     /* 4 */
                     ".loc 7 5 1\nret;\n"                                                      /* 5 */
                     ".loc 2 40 1, function_name $L__s, inlined_at 2 40 1\nret;\n}\n"          /* 6 */
                     ".entry l() { ret; }\n"
                     ".file 1 \"gpu/kernels/a.cu\"\n.file\t2 \"b.cuh\", 0, 17\n"
                     ".section .debug_str { $L__info_string0: .b8 95,90 .b8 0 { } }\n");
    static const struct {
        int file, line, inlined_file, inlined_line;
    } want[] = {{-1, 0, -1, 0}, {1, 10, -1, 0}, {2, 20, 1, 11}, {2, 30, 1, 11},
                {-1, 0, -1, 0}, {-1, 0, -1, 0}, {2, 40, 2, 40}};
    const struct ptx_function *f = kernel(m);
    cr_assert(f->instruction_count == 7, "seven instructions, not %zu", f->instruction_count);
    for (size_t i = 0; i < f->instruction_count; i++) {
        const struct ptx_instruction *in = &f->instructions[i];
        cr_assert(in->file == want[i].file && in->line == want[i].line && in->inlined_file == want[i].inlined_file &&
                      in->inlined_line == want[i].inlined_line,
                  "instruction %zu: %d:%d inlined at %d:%d", i, in->file, in->line, in->inlined_file, in->inlined_line);
    }
    cr_assert(f->instructions[0].ptx_line == 5 && f->instructions[6].ptx_line == 17, "lines of the PTX: %d, %d",
              f->instructions[0].ptx_line, f->instructions[6].ptx_line);
    cr_assert(ptx_entry_named(m, "l")->instructions[0].file == -1, "a .loc does not reach into the next function");
    cr_assert(m->file_count == 3 && !m->files[0] && !strcmp(m->files[1], "gpu/kernels/a.cu"), "files");
    ptx_free(m);
}

Test(ptx, the_text_of_a_statement) {
    struct ptx_module *m = parse_body("", REGISTERS "@%p1 add.s32\t%r1, // one\n   %r2,/* two\n* / */%r3 ;/**/ret;");
    const struct ptx_instruction *in = kernel(m)->instructions;
    cr_assert(!strcmp(in[0].text, "add.s32 %r1, %r2, %r3"), "got '%s'", in[0].text);
    cr_assert(!strcmp(in[1].text, "ret"), "got '%s'", in[1].text);
    ptx_free(m);
}

Test(ptx, types) {
    cr_assert(ptx_type_named("u32") == PTX_U32 && ptx_type_named("bf16x2") == PTX_BF16X2, "known types");
    cr_assert(ptx_type_named("") == PTX_NO_TYPE && ptx_type_named("u33") == PTX_NO_TYPE, "unknown types");
    cr_assert(ptx_type_bytes(PTX_B128) == 16 && ptx_type_bytes(PTX_PRED) == 0 && ptx_type_bytes(PTX_NO_TYPE) == 0,
              "sizes");
}

/* Whatever `make ptx` built: it parses, and every instruction that has a line has a file. */
Test(ptx, built_kernels) {
    glob_t found;
    bool any = glob("fixtures/ptx/*.ptx", 0, NULL, &found) == 0;
    for (size_t i = 0; any && i < found.gl_pathc; i++) {
        struct error e = {""};
        struct ptx_module *m = ptx_load(found.gl_pathv[i], &e);
        cr_assert(m != NULL, "%s", e.text);
        size_t instructions = 0;
        for (size_t f = 0; f < m->function_count; f++) {
            instructions += m->functions[f].instruction_count;
            for (size_t k = 0; k < m->functions[f].instruction_count; k++) {
                const struct ptx_instruction *in = &m->functions[f].instructions[k];
                cr_assert((in->line > 0) == (in->file >= 0), "%s:%d: line %d of file %d", found.gl_pathv[i],
                          in->ptx_line, in->line, in->file);
            }
        }
        cr_assert(instructions > 0, "%s holds no instruction", found.gl_pathv[i]);
        ptx_free(m);
    }
    globfree(&found);
    if (!any)
        cr_skip_test("no kernels in fixtures/ptx");
}
