/* Runs small PTX texts on the PTX machine: what the tests of the machine share. */
#ifndef TESTS_MACHINE_RUN_H
#define TESTS_MACHINE_RUN_H

#include "../gpu/launch.h"
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A module of one entry `k` with the given parameter list and body; registers %p0.. %h0.. %r0.. %f0.. %rd0.. %d0.. are
 * declared. Lines of the body count from 1 in messages and in trace sites' `line` (file "k.cu"). The caller frees it.
 */
static inline char *ptx_text(const char *module_level, const char *params, const char *body) {
    const size_t room = strlen(body) * 40 + strlen(params) + strlen(module_level) + 1024;
    char *text = malloc(room);
    size_t n =
        (size_t)snprintf(text, room,
                         ".version 9.0\n.target sm_80\n.address_size 64\n.file 1 \"k.cu\"\n%s\n"
                         ".visible .entry k(%s)\n{\n.reg .pred %%p<20>;\n.reg .b16 %%h<40>;\n.reg .b32 %%r<80>;\n"
                         ".reg .f32 %%f<40>;\n.reg .b64 %%rd<40>;\n.reg .f64 %%d<20>;\n",
                         module_level, params);
    int line = 0;
    for (const char *s = body; *s;) {
        const size_t length = strcspn(s, "\n");
        n += (size_t)snprintf(text + n, room - n, ".loc 1 %d 0\n%.*s\n", ++line, (int)length, s);
        s += length + (s[length] == '\n');
    }
    snprintf(text + n, room - n, "}\n");
    return text;
}

struct machine_test { /* one launch; zero means the usual: one block of 32 threads, one CPU thread */
    const char *module_level, *body;
    struct launch_buffer *buffers; /* each is a parameter: a 64-bit pointer "p0", "p1" ... */
    size_t buffer_count;
    uint32_t grid[3], block[3];
    size_t shared;
    const struct launch_plane *planes;
    size_t plane_count;
    uint64_t budget;
    int threads;
    uint32_t unwatched; /* enum watch */
    const char *isa;    /* WARPPROOF_ISA, or NULL */
    struct launch_options options;
};

/* Runs it; the caller frees the trace (trace_free) and the module (ptx_free), which the trace points into. */
static inline bool machine_try(const struct machine_test *test, struct ptx_module **module, struct trace *t,
                               struct error *e) {
    char params[512] = "";
    struct launch_arg args[8];
    for (size_t i = 0; i < test->buffer_count; ++i) {
        snprintf(params + strlen(params), sizeof params - strlen(params), "%s.param .u64 p%zu", i ? ", " : "", i);
        args[i] = (struct launch_arg){.buffer = (int)i, .bytes = 8};
    }
    char *text = ptx_text(test->module_level ? test->module_level : "", params, test->body);
    *t = (struct trace){0};
    *module = ptx_parse("k.ptx", text, strlen(text), e);
    free(text);
    if (!*module)
        return false;
    struct launch l = {.module = *module,
                       .entry = "k",
                       .shared_bytes = test->shared,
                       .buffers = test->buffers,
                       .buffer_count = test->buffer_count,
                       .args = args,
                       .arg_count = test->buffer_count,
                       .planes = test->planes,
                       .plane_count = test->plane_count,
                       .step_budget = test->budget,
                       .threads = test->threads ? test->threads : 1,
                       .options = test->options};
    l.options.unwatched |= test->unwatched;
    for (int k = 0; k < 3; ++k) {
        l.grid[k] = test->grid[k] ? test->grid[k] : 1;
        l.block[k] = test->block[k] ? test->block[k] : k ? 1 : 32;
    }
    if (test->isa)
        setenv("WARPPROOF_ISA", test->isa, 1);
    return runner_machine.run(&l, t, e);
}

static inline struct ptx_module *machine_must(const struct machine_test *test, struct trace *t) {
    struct ptx_module *m;
    struct error e = {""};
    const bool ok = machine_try(test, &m, t, &e);
    cr_assert(ok, "the launch does not run: %s", e.text);
    return m;
}

/* The instruction sets that this CPU can run. */
static inline size_t machine_isas(const char *names[3]) {
    size_t count = 0;
    names[count++] = "base";
#if defined __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        names[count++] = "avx2";
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vnni") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        names[count++] = "avx512";
#endif
    return count;
}

/* A plain generator for operands: Marsaglia's xorshift. */
static inline uint64_t next_random(uint64_t *state) {
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

#endif
