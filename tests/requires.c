/* gpu/requires.c: which architecture an instruction and a .target need. Wanted are ptxas 13.0's own answers: it takes
 * the statement for that architecture and refuses it for the one before. */
#include "../gpu/requires.h"
#include "../ref/checked.h"
#include "machine_run.h"

#define MODULE                                                                                                         \
    ".version 9.0\n.target %s\n.address_size 64\n.shared .align 16 .b8 s[1024];\n.visible .entry k() {\n"              \
    ".reg .pred %%p<4>; .reg .b16 %%h<9>; .reg .b32 %%r<9>; .reg .f32 %%f<9>; .reg .b64 %%rd<9>; .reg .b128 %%q<4>;\n" \
    "%s\nret;\n}\n"

static struct ptx_module *parsed(const char *target, const char *line) {
    char *text = must_format(MODULE, target, line);
    struct error e = {""};
    struct ptx_module *m = ptx_parse("k.ptx", text, strlen(text), &e);
    cr_assert(m, "%s: %s", line, e.text);
    free(text);
    return m;
}

Test(requires, instructions) {
    static const struct {
        const char *line;
        unsigned sm;
    } rows[] = {
        {"cp.async.ca.shared.global [%r1], [%rd1], 16;", 80},
        {"cp.async.commit_group;", 80},
        {"redux.sync.add.u32 %r1, %r2, -1;", 80},
        {"discard.global.L2 [%rd1], 128;", 80},
        {"ld.global.L2::256B.u32 %r1, [%rd1];", 80},
        {"ld.global.L2::128B.u32 %r1, [%rd1];", 0},
        {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];", 0},
        {"movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;", 0},
        {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r1};", 90},
        {"elect.sync %r1|%p1, -1;", 90},
        {"griddepcontrol.wait;", 90},
        {"barrier.cluster.arrive;", 90},
        {"fence.acq_rel.cluster;", 90},
        {"fence.acq_rel.gpu;", 0},
        {"mov.u32 %r1, %cluster_ctarank;", 90},
        {"mov.u32 %r1, %ctaid.x;", 0},
        {"fma.rn.bf16 %h1, %h2, %h3, %h4;", 80},
        {"fma.rn.f16 %h1, %h2, %h3, %h4;", 0},
        {"fma.rn.relu.f16 %h1, %h2, %h3, %h4;", 80},
        {"add.rn.bf16 %h1, %h2, %h3;", 90},
        {"add.rn.f16 %h1, %h2, %h3;", 0},
        {"min.f16 %h1, %h2, %h3;", 80},
        {"min.NaN.f32 %f1, %f2, %f3;", 80},
        {"min.xorsign.abs.f32 %f1, %f2, %f3;", 86},
        {"min.f32 %f1, %f2, %f3;", 0},
        {"min.relu.s32 %r1, %r2, %r3;", 90},
        {"add.u16x2 %r1, %r2, %r3;", 90},
        {"ex2.approx.ftz.bf16 %h1, %h2;", 90},
        {"ex2.approx.f16 %h1, %h2;", 0},
        {"cvt.rn.bf16.f32 %h1, %f1;", 80},
        {"cvt.rn.f16x2.f32 %r1, %f1, %f2;", 80},
        {"cvt.rn.f16.f32 %h1, %f1;", 0},
        {"cvt.rna.tf32.f32 %r1, %f1;", 80},
        {"cvt.rn.tf32.f32 %r1, %f1;", 90},
        {"cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", 89},
        {"cvt.rn.bf16.s32 %h1, %r1;", 90},
        {"cvt.ftz.f32.bf16 %f1, %h1;", 90},
        {"cvt.f32.bf16 %f1, %h1;", 80},
        {"atom.global.add.noftz.f16 %h1, [%rd1], %h2;", 0},
        {"atom.global.add.noftz.bf16 %h1, [%rd1], %h2;", 90},
        {"atom.global.exch.b128 %q1, [%rd1], %q2;", 90},
        {"red.global.add.v2.f32 [%rd1], {%f1, %f2};", 90},
        {"red.global.add.f32 [%rd1], %f1;", 0},
        {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
         "{%f1,%f2,%f3,%f4};",
         0}, /* of the model of mma */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct ptx_module *m = parsed("sm_90", rows[i].line);
        const unsigned got = instruction_requires(m->functions[0].instructions);
        cr_expect(got == rows[i].sm, "%s: want %u, got %u", rows[i].line, rows[i].sm, got);
        ptx_free(m);
    }
}

/* Code for an architecture runs on later ones, with `a` on it alone, with `f` on its family. */
Test(requires, targets) {
    static const struct {
        const char *target, *arch;
        bool fits;
    } rows[] = {
        {"sm_52", "sm_75", true},     {"sm_80", "sm_80", true},    {"sm_86", "sm_80", false},
        {"sm_90", "sm_120", true},    {"sm_90a", "sm_90", true},   {"sm_90a", "sm_100", false},
        {"sm_90a", "sm_89", false},   {"sm_100f", "sm_103", true}, {"sm_103f", "sm_100", false},
        {"sm_100f", "sm_120", false}, {"sm_120f", "sm_121", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct ptx_module *m = parsed(rows[i].target, "");
        char *why;
        const bool fits = target_fits(m, arch_named(rows[i].arch), &why);
        cr_expect(fits == rows[i].fits && fits == !why, "%s on %s: %s", rows[i].target, rows[i].arch,
                  why ? why : "fits");
        free(why);
        ptx_free(m);
    }
}

/* The words of the refusal, and the clean twin: the same launch on the architecture that has it. */
Test(requires, a_launch_is_refused_with_its_place) {
    static const struct {
        const char *target, *line, *arch, *says; /* arch NULL: the default */
    } rows[] = {
        {"sm_75", "cp.async.wait_all;", "sm_75",
         "k.ptx:7:1: cannot run `cp.async.wait_all`: it needs sm_80, and the launch is for sm_75"},
        {"sm_75", "cp.async.wait_all;", "sm_80", NULL},
        {"sm_80", "mov.u32 %r1, s; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r1};", "sm_80",
         "k.ptx:7:17: cannot run `stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r1}`: it needs sm_90, and the "
         "launch is for sm_80"},
        {"sm_80", "mov.u32 %r1, s; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r1};", NULL, NULL},
        {"sm_120", "", NULL,
         "k.ptx:2: the module is compiled for sm_120 (.target), and the launch is for sm_90, the default of --arch"},
        {"sm_120", "", "sm_121", NULL},
        {"sm_90a", "", "sm_100", "k.ptx:2: the module is compiled for sm_90a (.target), and the launch is for sm_100"},
        {"sm_90a", "", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct ptx_module *m = parsed(rows[i].target, rows[i].line);
        const struct launch l = {.module = m,
                                 .entry = "k",
                                 .grid = {1, 1, 1},
                                 .block = {32, 1, 1},
                                 .threads = 1,
                                 .options = {.arch = rows[i].arch ? arch_named(rows[i].arch) : NULL}};
        struct trace t;
        struct error e = {""};
        const bool ran = runner_machine.run(&l, &t, &e);
        cr_expect(ran == !rows[i].says && (ran || !strcmp(e.text, rows[i].says)), "want: %s\nsays: %s",
                  rows[i].says ? rows[i].says : "nothing", e.text);
        if (ran)
            trace_free(&t);
        ptx_free(m);
    }
}
