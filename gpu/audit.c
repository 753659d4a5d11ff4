#include "audit.h"
#include "../ref/checked.h"
#include "machine/isa.h"
#include "machine/tensor_model.h"
#include <stdlib.h>
#include <string.h>

const char *const audit_names[AUDIT_KINDS] = {"fusible",          "approximate", "float atomic", "environment",
                                              "machine-specific", "literature",  "measured",     "flush"};
const char *const audit_texts[AUDIT_KINDS] = {
    "mul and add without .rn that ptxas may fuse",
    "approximate instructions: only an error bound is documented",
    "atomics on floats: the order of the additions is open",
    "values of the environment: another run may see others",
    "results that the document leaves to the machine",
    "float mma by the literature's model of this architecture: not measured",
    "open in the document, measured on sm_90",
    ".ftz: subnormal numbers become zeros",
};

bool audit_is_open(enum audit_kind k) {
    return k < AUDIT_MEASURED;
}

static bool is(const struct ptx_instruction *in, const char *opcode) {
    return !strcmp(in->opcode, opcode);
}
static bool has(const struct ptx_instruction *in, const char *part) {
    for (size_t i = 0; i < in->part_count; ++i)
        if (!strcmp(in->parts[i], part))
            return true;
    return false;
}
static enum ptx_type last_type(const struct ptx_instruction *in) {
    enum ptx_type t = PTX_NO_TYPE;
    for (size_t i = 0; i < in->part_count; ++i) {
        const enum ptx_type one = ptx_type_named(in->parts[i]);
        t = one != PTX_NO_TYPE ? one : t;
    }
    return t;
}
static bool is_float(enum ptx_type t) {
    return t >= PTX_F16 && t <= PTX_F64;
}
static bool is_rounded(const struct ptx_instruction *in) {
    return has(in, "rn") || has(in, "rz") || has(in, "rm") || has(in, "rp");
}

static void note(struct audit *a, enum audit_kind k, const struct ptx_function *f, const struct ptx_instruction *at,
                 const struct ptx_instruction *with) {
    if (a->item_count == a->room) {
        a->room = a->room ? 2 * a->room : 64;
        a->items = must_realloc(a->items, a->room, sizeof *a->items);
    }
    a->items[a->item_count++] = (struct audit_item){k, at, with, f};
    ++a->count[k];
}

/* A product that the addition `in` may take in: a float mul without a rounding and without .sat, of the same type and
 * the same .ftz, that defines one of its operands somewhere in the function (defined: of find_products). */
static const struct ptx_instruction *product(const struct ptx_instruction *const *defined,
                                             const struct ptx_instruction *in) {
    for (size_t k = 1; k < in->operand_count; ++k) {
        const struct ptx_operand *o = &in->operands[k];
        const struct ptx_instruction *d = o->kind == PTX_OP_REGISTER ? defined[o->reg] : NULL;
        if (d && last_type(d) == last_type(in) && has(d, "ftz") == has(in, "ftz"))
            return d;
    }
    return NULL;
}

/* (register_count) the last unrounded float mul that writes a register, else NULL. */
static const struct ptx_instruction **find_products(const struct ptx_function *f) {
    const struct ptx_instruction **defined = must_calloc(f->register_count + 1, sizeof *defined);
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        const bool mul = is(in, "mul") && is_float(last_type(in)) && !is_rounded(in) && !has(in, "sat");
        if (mul && in->operand_count == 3 && in->operands[0].kind == PTX_OP_REGISTER)
            defined[in->operands[0].reg] = in;
    }
    return defined;
}

/* *measured: bit for bit on sm_90. */
static bool is_approximate(const struct ptx_instruction *in, bool *measured) {
    static const char *const always[] = {"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"};
    const bool approx = has(in, "approx") || has(in, "full");
    const enum ptx_type t = last_type(in);
    *measured = approx && (t == PTX_F32 ? is(in, "rcp") || is(in, "div") : t != PTX_F64);
    for (size_t i = 0; i < sizeof always / sizeof *always; ++i)
        if (is(in, always[i]))
            return true;
    return approx;
}

static bool reads_environment(const struct ptx_instruction *in) {
    static const char *const specials[] = {"%clock",          "%clock64",        "%clock_hi", "%globaltimer",
                                           "%globaltimer_lo", "%globaltimer_hi", "%smid",     "%nsmid",
                                           "%warpid",         "%nwarpid",        "%gridid"};
    if (is(in, "activemask"))
        return true;
    for (size_t k = 0; k < in->operand_count; ++k)
        for (size_t i = 0; in->operands[k].kind == PTX_OP_SPECIAL && i < sizeof specials / sizeof *specials; ++i)
            if (!strcmp(in->operands[k].name, specials[i]))
                return true;
    return false;
}

static bool is_machine_specific(const struct ptx_instruction *in) {
    const enum ptx_type t = last_type(in);
    if ((is(in, "div") || is(in, "rem")) && t >= PTX_U8 && t <= PTX_S64 && in->operand_count == 3) {
        const struct ptx_operand *divisor = &in->operands[2];
        return divisor->kind != PTX_OP_INTEGER || !divisor->bits;
    }
    if ((is(in, "shfl") || is(in, "vote")) && !has(in, "sync"))
        return true;
    return is(in, "brx");
}

static bool is_float_mma(const struct ptx_instruction *in) {
    if (!is(in, "mma") && !is(in, "wgmma") && !is(in, "wmma"))
        return false;
    return has(in, "f32") || has(in, "f16") || has(in, "f64");
}

static enum audit_kind float_mma_kind(const struct ptx_instruction *in, const struct arch *arch) {
    const struct tensor_unit *unit = tensor_unit(arch);
    const bool fp8 = has(in, "e4m3") || has(in, "e5m2");
    return unit->measured ? AUDIT_MEASURED : fp8 && unit->fp8 == FP8_UNKNOWN ? AUDIT_MACHINE : AUDIT_LITERATURE;
}

static void audit_instruction(struct audit *a, const struct ptx_function *f, const struct arch *arch,
                              const struct ptx_instruction *const *products, const struct ptx_instruction *in) {
    bool measured = false;
    const enum ptx_type t = last_type(in);
    if ((is(in, "add") || is(in, "sub")) && is_float(t) && !is_rounded(in)) {
        const struct ptx_instruction *mul = product(products, in);
        if (mul)
            note(a, AUDIT_FUSIBLE, f, in, mul);
    }
    if (is_approximate(in, &measured))
        note(a, measured && arch->sm == 90 ? AUDIT_MEASURED : AUDIT_APPROXIMATE, f, in, NULL);
    if ((is(in, "atom") || is(in, "red")) && is_float(t) && has(in, "add"))
        note(a, AUDIT_FLOAT_ATOMIC, f, in, NULL);
    if (reads_environment(in))
        note(a, AUDIT_ENVIRONMENT, f, in, NULL);
    if (is_machine_specific(in))
        note(a, AUDIT_MACHINE, f, in, NULL);
    if (is_float_mma(in))
        note(a, float_mma_kind(in, arch), f, in, NULL);
    if (has(in, "ftz"))
        note(a, AUDIT_FLUSH, f, in, NULL);
}

struct todo { /* functions within reach, each once */
    bool *reached;
    size_t *functions, count;
};

static void add(struct todo *t, int function) {
    if (function < 0 || t->reached[function])
        return;
    t->reached[function] = true;
    t->functions[t->count++] = (size_t)function;
}

/* Functions whose address or name an instruction of f uses. */
static void reach(const struct ptx_function *f, struct todo *t) {
    for (size_t i = 0; i < f->instruction_count; ++i)
        for (size_t k = 0; k < f->instructions[i].operand_count; ++k) {
            const struct ptx_operand *o = &f->instructions[i].operands[k];
            if (o->kind == PTX_OP_FUNCTION)
                add(t, o->function);
            for (size_t n = 0; n < o->element_count; ++n)
                if (o->elements[n].kind == PTX_OP_FUNCTION)
                    add(t, o->elements[n].function);
        }
}

void audit_entry(const struct ptx_module *m, const struct ptx_function *entry, const struct arch *arch,
                 struct audit *a) {
    *a = (struct audit){.items = NULL};
    arch = arch ? arch : arch_default();
    struct todo t = {must_calloc(m->function_count + 1, sizeof *t.reached),
                     must_calloc(m->function_count + 1, sizeof *t.functions), 0};
    add(&t, (int)(entry - m->functions));
    for (size_t i = 0; i < m->variable_count; ++i) /* tables of function pointers */
        for (size_t k = 0; k < m->variables[i].relocation_count; ++k)
            add(&t, m->variables[i].relocations[k].function);
    for (size_t i = 0; i < t.count; ++i)
        reach(&m->functions[t.functions[i]], &t);
    for (size_t i = 0; i < m->function_count; ++i) {
        const struct ptx_function *f = &m->functions[i];
        if (!t.reached[i])
            continue;
        const struct ptx_instruction **products = find_products(f);
        for (size_t k = 0; k < f->instruction_count; ++k)
            audit_instruction(a, f, arch, products, &f->instructions[k]);
        free(products);
        a->instructions += f->instruction_count;
    }
    free(t.reached);
    free(t.functions);
}

void audit_free(struct audit *a) {
    free(a->items);
    *a = (struct audit){.items = NULL};
}

size_t audit_open(const struct audit *a) {
    size_t n = 0;
    for (int k = 0; k < AUDIT_KINDS; ++k)
        n += audit_is_open((enum audit_kind)k) ? a->count[k] : 0;
    return n;
}

char *audit_refusal(const struct ptx_module *m, const struct ptx_function *entry, const struct arch *arch) {
    enum { MOST_PARAMETERS = 1 << 20 }; /* bytes; ptxas takes 32764 */
    static struct launch_member none;
    if (entry->param_bytes > MOST_PARAMETERS)
        return must_format("%s: entry %s has %zu bytes of parameters", m->path, entry->name, entry->param_bytes);
    struct launch_arg *args = must_calloc(entry->param_count + 1, sizeof *args);
    for (size_t i = 0; i < entry->param_count; ++i) /* zeros */
        args[i] = (struct launch_arg){
            .buffer = -1, .bytes = m->variables[entry->params[i]].bytes, .members = &none, .member_count = 0};
    const struct launch l = {.module = m,
                             .entry = entry->name,
                             .grid = {1, 1, 1},
                             .block = {32, 1, 1},
                             .args = args,
                             .arg_count = entry->param_count,
                             .options = {.arch = arch}};
    struct error e;
    const struct isa *isa = isa_choose(&e);
    struct program *p = isa ? decode(&l, isa, 0, &e) : NULL;
    char *said = p ? NULL : must_strdup(e.text);
    program_free(p);
    free(args);
    return said;
}
