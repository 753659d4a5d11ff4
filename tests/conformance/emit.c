/* The kernel of a form. */
#include "conformance.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *bytes;
    size_t length, room;
};

static void __attribute__((format(printf, 2, 3))) put(struct text *t, const char *format, ...) {
    va_list list;
    if (t->room - t->length < 4096) {
        t->room = 2 * t->room + 8192;
        t->bytes = realloc(t->bytes, t->room);
        if (!t->bytes)
            abort();
    }
    va_start(list, format);
    t->length += (size_t)vsnprintf(t->bytes + t->length, t->room - t->length, format, list);
    va_end(list);
}

static const char *register_type(char reg) {
    return reg == 'p'   ? "pred"
           : reg == 'h' ? "b16"
           : reg == 'r' ? "b32"
           : reg == 'l' ? "b64"
           : reg == 'f' ? "f32"
                        : "f64";
}

static bool is_local(const struct unit_memory *m) {
    return !strcmp(m->space, "local");
}
static bool is_shared(const struct unit_memory *m) {
    return !strcmp(m->space, "shared");
}
static const char *access_space(const struct unit_memory *m) {
    return is_shared(m) ? "shared" : is_local(m) ? "local" : "global";
}

/* The instructions, with registers for operands: %i inputs, %o results, %a addresses of memories. */
static void put_code(struct text *t, const char *code) {
    unsigned input = 0, result = 0, memory = 0;
    const size_t length = strlen(code);
    const bool ended = code[length - 1] == ':' || (length > 2 && !strcmp(code + length - 3, "; }"));
    char before = ' ';
    while (*code) {
        size_t word = 1;
        while ((code[word] >= 'a' && code[word] <= 'z') || (code[word] >= '0' && code[word] <= '9'))
            ++word;
        const bool digit = code[1] >= '0' && code[1] <= '9';
        if ((*code == '$' || *code == '@' || *code == '=') && digit) {
            put(t, "%%%c%lu", *code == '$' ? 'i' : 'o', strtoul(code + 1, NULL, 10));
        } else if (*code == '$') {
            put(t, "%%i%u", input++);
        } else if (*code == '=' && code[1] == '_') {
            put(t, "_");
            word = 2;
        } else if (*code == '=') {
            put(t, "%%o%u", result++);
        } else if (*code == '[' && digit && before == ' ') { /* no size of an array */
            put(t, "[%%a%c", code[1]);
        } else if (*code == '[' && (!strncmp(code + 1, "global", 6) || !strncmp(code + 1, "shared", 6) ||
                                    !strncmp(code + 1, "generic", 7) || !strncmp(code + 1, "local", 5) ||
                                    !strncmp(code + 1, "rows", 4))) {
            put(t, "[%%%c%u", !strncmp(code + 1, "rows", 4) ? 'b' : 'a', memory++);
            input += !strncmp(code + 1, "rows", 4) ? 3 : 2;
            result += 2;
            if (!strncmp(code + word, ".warp", 5))
                word += 5;
        } else {
            put(t, "%c", *code);
            word = 1;
        }
        before = code[word - 1];
        code += word;
    }
    put(t, ended ? "\n" : ";\n");
}

static void put_memory(struct text *t, const struct form *f, unsigned m) {
    const struct unit_memory *y = &f->read.memory[m];
    if (is_shared(y)) {
        put(t, ".shared .align 16 .b8 memory%u[%u];\n.reg .b32 %%a%u, %%b%u;\n", m, 16 * f->block, m, m);
        put(t, "mov.u32 %%a%u, memory%u;\nshr.u32 %%t1, %%thread, %u;\n", m, m, y->shared_by_warp ? 5 : 0);
        put(t, "shl.b32 %%t1, %%t1, 4;\nadd.u32 %%a%u, %%a%u, %%t1;\n", m, m);
    } else if (is_local(y)) {
        put(t, ".local .align 16 .b8 memory%u[16];\n.reg .b64 %%a%u;\nmov.u64 %%a%u, memory%u;\n", m, m, m, m);
    } else {
        put(t, ".reg .b64 %%a%u;\nshr.u32 %%t1, %%vector, %u;\nmul.wide.u32 %%u1, %%t1, 16;\n", m,
            y->shared_by_warp ? 5 : 0);
        put(t, "add.u64 %%a%u, %%scratch, %%u1;\nadd.u64 %%a%u, %%a%u, %zu;\n", m, m, m, 16 * f->vectors * m);
    }
    if (y->shared_by_warp)
        put(t, "and.b32 %%t1, %%thread, 31;\nsetp.eq.u32 %%first, %%t1, 0;\n@%%first ");
    put(t, "st.%s.v2.b64 [%%a%u], {%%i%u, %%i%u};\n", access_space(y), m, y->input, y->input + 1);
    if (y->rows) {
        put(t, "and.b32 %%t1, %%thread, 0x7fffffe0;\nadd.u32 %%t1, %%t1, %%i%u;\nshl.b32 %%t1, %%t1, 4;\n",
            y->input + 2);
        put(t, "mov.u32 %%b%u, memory%u;\nadd.u32 %%b%u, %%b%u, %%t1;\n", m, m, m, m);
    }
    if (y->rows || y->shared_by_warp)
        put(t, "bar.warp.sync -1;\n");
}

char *emit_form(const struct form *f) {
    struct text t = {NULL, 0, 0};
    const struct unit_form *r = &f->read;
    put(&t, ".version 9.0\n.target sm_90\n.address_size 64\n%s\n", f->module ? f->module : "");
    put(&t, ".visible .entry form(.param .u64 in, .param .u64 out, .param .u64 scratch)\n{\n");
    put(&t, ".reg .b32 %%t1, %%thread, %%vector, %%block, %%threads;\n.reg .b64 %%in, %%out, %%scratch, %%u1;\n");
    put(&t, ".reg .pred %%first;\n");
    for (unsigned k = 0; k < r->inputs; ++k)
        put(&t, ".reg .%s %%i%u;\n", register_type(kind_named(r->input[k])->reg), k);
    for (unsigned k = 0; k < r->results; ++k)
        put(&t, ".reg .%s %%o%u;\n", register_type(kind_named(r->result[k])->reg), k);
    put(&t, "ld.param.u64 %%in, [in];\nld.param.u64 %%out, [out];\nld.param.u64 %%scratch, [scratch];\n");
    put(&t, "mov.u32 %%thread, %%tid.x;\nmov.u32 %%block, %%ctaid.x;\nmov.u32 %%threads, %%ntid.x;\n");
    put(&t, "mad.lo.u32 %%vector, %%block, %%threads, %%thread;\nmul.wide.u32 %%u1, %%vector, 8;\n");
    put(&t, "add.u64 %%in, %%in, %%u1;\nadd.u64 %%out, %%out, %%u1;\n");
    for (unsigned k = 0; k < r->inputs; ++k) {
        const char reg = kind_named(r->input[k])->reg;
        const size_t at = 8 * f->vectors * k;
        if (reg == 'p')
            put(&t, "ld.global.b32 %%t1, [%%in+%zu];\nsetp.ne.u32 %%i%u, %%t1, 0;\n", at, k);
        else
            put(&t, "ld.global.%s %%i%u, [%%in+%zu];\n", register_type(reg), k, at);
    }
    for (unsigned m = 0; m < r->memories; ++m)
        put_memory(&t, f, m);
    put_code(&t, f->text);
    for (unsigned m = 0; m < r->memories; ++m) {
        const struct unit_memory *y = &r->memory[m];
        if (y->rows || y->shared_by_warp)
            put(&t, "bar.warp.sync -1;\n");
        put(&t, "ld.%s.v2.b64 {%%o%u, %%o%u}, [%%a%u];\n", access_space(y), y->result, y->result + 1, m);
    }
    for (unsigned k = 0; k < r->results; ++k) {
        const char reg = kind_named(r->result[k])->reg;
        const size_t at = 8 * f->vectors * k;
        if (reg == 'p')
            put(&t, "selp.b32 %%t1, 1, 0, %%o%u;\nst.global.b32 [%%out+%zu], %%t1;\n", k, at);
        else
            put(&t, "st.global.%s [%%out+%zu], %%o%u;\n", register_type(reg), at, k);
    }
    put(&t, "ret;\n}\n");
    return t.bytes;
}
