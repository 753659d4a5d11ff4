/* PTX front end against damaged text: whatever is done to it, the answer is a sound module or one message that points
 * into the text. Same mutations on every run. */
#include "../gpu/ptx/ptx.h"
#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const seed_text =
    ".version 9.0\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b32 func_retval0) vprintf\n(\n\t.param .b64 vprintf_param_0,\n\t.param .b64 v1\n)\n;\n"
    ".visible .const .align 4 .b8 tab[16] = {1, 0, 253, -1, 0x7f, 1<<3|2};\n"
    ".global .align 8 .u64 ops[2] = {generic(tab)+4, f};\n.global .f32 z[2][2] = {{0f3F800000}, {1.5e0, 2.0}};\n"
    ".extern .shared .align 16 .b8 sm[];\n.shared .align 4 .b8 s1[12];\n"
    ".func (.param .b32 r) f(\n\t.param .b32 a\n)\n.noreturn\n{\n\t.reg .b32 %r<3>;\n\tld.param.b32 %r1, [a];\n"
    "\tst.param.b32 [r+0], %r1;\n\tret;\n}\n"
    ".visible .entry k(\n\t.param .u64 .ptr .global .align 4 k_0,\n\t.param .align 8 .b8 k_1[12]\n)\n"
    ".maxntid 256, 1, 1\n.minnctapersm 2\n{\n\t.local .align 16 .b8 \t__local_depot0[24];\n\t.reg .pred \t%p<4>;\n"
    "\t.reg .b32 \t%r<91>;\n\t.reg .b64 \t%rd<20>;\n\t.reg .f32 %f<4>;\n\t.loc\t1 10 0\n"
    "\tld.param.u64 \t%rd1, [k_0];\n\tmov.u32 \t%r1, %tid.x;\n\tmov.u64 %rd2, __local_depot0;\n"
    "\tsetp.lt.s32 %p1|%p2, %r1, 7;\n\t@!%p1 bra \t$L__BB0_2;\n\t// begin inline asm\n"
    "\t{ .reg .b32 %r5; .reg .pred p; setp.ne.b32 p, %r5, 0; @p bra DONE; mov.u32 %r5, -(3+4)*2; DONE: }\n"
    "\t.loc\t2 20 5, function_name $L__info_string0, inlined_at 1 11 3\n"
    "\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, [%r1+16];\n"
    "\tmma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r20,%r21,_,%r23}, {%r10,%r11,%r12,%r13}, {%r5,%r6}, "
    "{0,0,0,0};\n"
    "$L__BB0_2:\n\tld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [sm+-16];\n"
    "\tfma.rn.f32 %f1, %f2, 0f3F800000, 0fBF800000; /* two\n lines */\n"
    "\t{ // callseq 0, 0\n\t.param .b32 param0;\n\tst.param.b32 [param0+0], %r1;\n\t.param .b32 retval0;\n"
    "\tcall.uni (retval0), \n\tf, \n\t(\n\tparam0\n\t);\n\tld.param.b32 %r2, [retval0+0];\n\t}\n"
    "\tprototype_1 : .callprototype (.param .b32 _) _ (.param .b32 _);\n"
    "\t{ .param .b32 q; .param .b32 w; call (q), %rd2, (w), prototype_1; }\n"
    "\tts: .branchtargets $L__BB0_2, E;\n\tbrx.idx %r1, ts;\n\t.pragma \"nounroll\";\nE:\n\tret;\n}\n"
    ".file\t1 \"gpu/kernels/a.cu\"\n.file 2 \"b.cuh\"\n"
    ".section\t.debug_str\n\t{\n$L__info_string0:\n.b8 95,90,78\n\t}\n";

static uint64_t state;

static uint32_t below(uint32_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 16) % n);
}

/* ---- a module is sound when everything it points to is there ---- */

static bool operand_is_sound(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_operand *o) {
    bool is_variable = o->kind == PTX_OP_VARIABLE, is_function = o->kind == PTX_OP_FUNCTION;
    bool has_register = o->kind == PTX_OP_REGISTER;
    if (o->reg < (has_register ? 0 : -1) || o->reg >= (int)f->register_count || o->second < -1 ||
        o->second >= (int)f->register_count)
        return false;
    if (o->variable < (is_variable ? 0 : -1) || o->variable >= (int)m->variable_count ||
        o->function < (is_function ? 0 : -1) || o->function >= (int)m->function_count)
        return false;
    if (o->kind == PTX_OP_LABEL && o->target > f->instruction_count)
        return false;
    if ((o->kind == PTX_OP_NAME || o->kind == PTX_OP_SPECIAL) && !o->name)
        return false;
    for (size_t i = 0; i < o->element_count; i++) {
        if (!operand_is_sound(m, f, &o->elements[i]))
            return false;
    }
    return true;
}

static bool function_is_sound(const struct ptx_module *m, const struct ptx_function *f) {
    for (size_t i = 0; i < f->param_count + f->return_count; i++) {
        int v = i < f->param_count ? f->params[i] : f->returns[i - f->param_count];
        if (v < 0 || v >= (int)m->variable_count || m->variables[v].space != PTX_PARAM ||
            m->variables[v].offset + m->variables[v].bytes > f->frame_bytes)
            return false;
    }
    for (size_t i = 0; i < f->register_count; i++) {
        if (!f->registers[i].name || f->registers[i].type == PTX_NO_TYPE)
            return false;
    }
    for (size_t i = 0; i < f->instruction_count; i++) {
        const struct ptx_instruction *in = &f->instructions[i];
        if (!in->opcode || !in->text || in->part_count > PTX_MAX_PARTS || in->guard >= (int)f->register_count ||
            in->file >= (int)m->file_count || (in->file >= 0 && !m->files[in->file]) || in->ptx_line < 1)
            return false;
        for (size_t k = 0; k < in->operand_count; k++) {
            if (!operand_is_sound(m, f, &in->operands[k]))
                return false;
        }
    }
    return f->name != NULL;
}

static bool module_is_sound(const struct ptx_module *m) {
    for (size_t i = 0; i < m->variable_count; i++) {
        const struct ptx_variable *v = &m->variables[i];
        if (!v->name || !v->alignment || (v->alignment & (v->alignment - 1)) || v->offset % v->alignment)
            return false;
        if (v->space == PTX_SHARED && !v->external &&
            v->offset + v->bytes > ptx_static_shared(m, v->function >= 0 ? &m->functions[v->function] : NULL))
            return false;
        for (size_t k = 0; k < v->relocation_count; k++) {
            const struct ptx_relocation *r = &v->relocations[k];
            if (r->offset + r->bytes > v->bytes || (r->variable < 0) == (r->function < 0) ||
                r->variable >= (int)m->variable_count || r->function >= (int)m->function_count)
                return false;
        }
    }
    for (size_t i = 0; i < m->function_count; i++) {
        if (!function_is_sound(m, &m->functions[i]))
            return false;
    }
    return true;
}

/* "f.ptx:LINE:COLUMN: ..." with a line and a column that the text has, and a caret at the end. */
static bool message_is_sound(const char *message, const char *text, size_t size) {
    int line = 0, column = 0, used = 0;
    if (sscanf(message, "f.ptx:%d:%d: %n", &line, &column, &used) != 2 || !used || !message[used])
        return false;
    size_t at = 0;
    for (int i = 1; i < line; i++) {
        const char *end = at < size ? memchr(text + at, '\n', size - at) : NULL;
        if (!end)
            return false;
        at = (size_t)(end - text) + 1;
    }
    return column >= 1 && at + (size_t)column - 1 <= size && message[strlen(message) - 1] == '^';
}

/* Parses an exact-size copy, so that the sanitizers see a read past the end. */
static bool survives(const char *text, size_t size, bool *parsed) {
    struct error e = {""};
    char *exact = malloc(size ? size : 1);
    cr_assert(exact != NULL, "no memory for %zu bytes", size);
    memcpy(exact, text, size);
    struct ptx_module *m = ptx_parse("f.ptx", exact, size, &e);
    bool ok = m ? module_is_sound(m) : message_is_sound(e.text, exact, size);
    *parsed = m != NULL;
    ptx_free(m);
    free(exact);
    return ok;
}

Test(fuzz_ptx, every_prefix) {
    size_t size = strlen(seed_text);
    bool parsed;
    for (size_t n = 0; n <= size; n++)
        cr_assert(survives(seed_text, n, &parsed), "the first %zu bytes of the seed", n);
    cr_assert(parsed, "the whole seed is sound PTX");
}

static const char *const tokens[] = {
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "@",
    "!",
    "|",
    "+",
    "-",
    "<",
    ">",
    "=",
    "%r1",
    "%r90",
    "%p1",
    "_",
    "sm",
    "f",
    "k",
    "$L__BB0_2",
    ".reg",
    ".b32",
    ".param",
    ".shared",
    ".func",
    ".entry",
    ".loc",
    ".file",
    ".section",
    ".align",
    "0",
    "1",
    "0xffffffffffffffff",
    "4294967296",
    "0f3F800000",
    "1.5",
    "\"",
    "/*",
    "*/",
    "//",
    "\n",
    " ",
    "%tid.x",
    "call",
    "bra",
    ".branchtargets",
    "generic(",
    "WARP_SZ",
    "<1000000000>",
    ".v4",
    "[]",
    "\0",
    "\xff",
    "::",
    ".",
};

/* One to eight small wounds, mostly few: bytes, tokens, cuts, copies of pieces. */
static size_t wound(char *text, size_t size, size_t room) {
    for (uint32_t n = 1 + below(1u << below(4)); n; n--) {
        size_t at = below((uint32_t)size + 1), length = below(40);
        switch (below(4)) {
        case 0:
            if (at < size)
                text[at] = (char)below(256);
            break;
        case 1: {
            const char *token = tokens[below(sizeof tokens / sizeof *tokens)];
            size_t bytes = *token ? strlen(token) : 1;
            if (size + bytes > room)
                break;
            memmove(text + at + bytes, text + at, size - at);
            memcpy(text + at, token, bytes);
            size += bytes;
            break;
        }
        case 2:
            length = length > size - at ? size - at : length;
            memmove(text + at, text + at + length, size - at - length);
            size -= length;
            break;
        default: {
            size_t from = below((uint32_t)size + 1);
            length = length > size - from ? size - from : length;
            if (size + length > room)
                break;
            char piece[40];
            memcpy(piece, text + from, length);
            memmove(text + at + length, text + at, size - at);
            memcpy(text + at, piece, length);
            size += length;
        }
        }
    }
    return size;
}

static void fuzz(const char *seed, size_t seed_size, int rounds, int *sound, int *refused) {
    size_t room = seed_size + 400;
    char *text = must_calloc(room, 1);
    for (int i = 0; i < rounds; i++) {
        bool parsed;
        state = 0x9e3779b97f4a7c15ull * (uint64_t)(i + 1);
        memcpy(text, seed, seed_size);
        size_t size = wound(text, seed_size, room);
        cr_assert(survives(text, size, &parsed), "round %d; text:\n%.*s", i, (int)size, text);
        *(parsed ? sound : refused) += 1;
    }
    free(text);
}

Test(fuzz_ptx, wounds) {
    int sound = 0, refused = 0;
    fuzz(seed_text, strlen(seed_text), 20000, &sound, &refused);
    cr_assert(sound > 500 && refused > 500, "both answers must occur often: %d sound, %d refused", sound, refused);
}

Test(fuzz_ptx, wounds_of_a_built_kernel) {
    FILE *f = fopen("fixtures/ptx/quantize_pad40.ptx", "r");
    if (!f)
        cr_skip_test("no kernels in fixtures/ptx");
    char *text = must_calloc(1 << 16, 1);
    size_t size = fread(text, 1, 1 << 16, f);
    fclose(f);
    int sound = 0, refused = 0;
    fuzz(text, size, 3000, &sound, &refused);
    cr_assert(refused > 100, "damage must be seen: %d sound, %d refused", sound, refused);
    free(text);
}

Test(fuzz_ptx, the_checks_can_fail) {
    struct ptx_module *m = ptx_parse("f.ptx", seed_text, strlen(seed_text), NULL);
    cr_assert(m && module_is_sound(m), "the seed is sound");
    struct ptx_function *f = &m->functions[m->function_count - 1];
    cr_assert(f->entry && f->instruction_count > 10, "the last function is the kernel");
    struct ptx_operand *o = &f->instructions[1].operands[0];
    int kept = o->reg;
    o->reg = (int)f->register_count;
    cr_assert(!module_is_sound(m), "a register that does not exist must be seen");
    o->reg = kept;
    f->instructions[0].file = 99;
    cr_assert(!module_is_sound(m), "a file that does not exist must be seen");
    ptx_free(m);
    cr_assert(message_is_sound("f.ptx:2:1: x\ny\n^", "a\nb", 3), "a sound message");
    cr_assert(!message_is_sound("f.ptx:3:1: x\ny\n^", "a\nb", 3), "a line the text does not have");
    cr_assert(!message_is_sound("f.ptx:2:3: x\ny\n^", "a\nb", 3), "a column the text does not have");
    cr_assert(!message_is_sound("f.ptx: x", "a\nb", 3), "no place at all");
}
