#include "aligned_text.h"
#include "../ref/checked.h"
#include "machine/machine.h"
#include <stdlib.h>
#include <string.h>

static uint64_t mixed(uint64_t h, uint64_t v) {
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t mixed_name(uint64_t h, const char *s) {
    for (; s != NULL && *s != 0; ++s) {
        h = mixed(h, (uint8_t)*s);
    }
    return mixed(h, 0x100);
}

static bool gives(const struct ptx_instruction *in, size_t operand) {
    return flow_writes(in, operand) && in->operands[operand].kind != PTX_OP_ADDRESS;
}

/* ---- registers ---- */

static void note(struct aligned_text *t, int reg) {
    if (reg >= 0) {
        t->registers[t->register_count++] = reg;
    }
}

static void note_operand(struct aligned_text *t, const struct ptx_operand *o) {
    note(t, o->reg);
    note(t, o->second);
    for (size_t i = 0; i < o->element_count; ++i) {
        note_operand(t, &o->elements[i]);
    }
}

static size_t most_registers(const struct ptx_operand *o) {
    size_t n = 2;
    for (size_t i = 0; i < o->element_count; ++i) {
        n += most_registers(&o->elements[i]);
    }
    return n;
}

static void note_registers(struct aligned_text *t, const struct ptx_instruction *in) {
    size_t room = 1;
    for (size_t k = 0; k < in->operand_count; ++k) {
        room += most_registers(&in->operands[k]);
    }
    t->registers = must_calloc(room, sizeof *t->registers);
    for (size_t k = 0; k < in->operand_count; ++k) {
        if (gives(in, k)) {
            note_operand(t, &in->operands[k]);
        }
    }
    t->given = t->register_count;
    note(t, in->guard);
    for (size_t k = 0; k < in->operand_count; ++k) {
        if (!gives(in, k)) {
            note_operand(t, &in->operands[k]);
        }
    }
}

/* ---- text ---- */

static uint64_t type_of(const struct ptx_function *f, int reg) {
    return reg < 0 ? 0 : 1 + (uint64_t)f->registers[reg].type;
}

static uint64_t operand_text(uint64_t h, const struct ptx_module *m, const struct ptx_function *f,
                             const struct ptx_operand *o) {
    h = mixed(h, (uint64_t)o->kind << 8 | (uint64_t)o->negated << 1 | (uint64_t)o->minus);
    h = mixed(h, type_of(f, o->reg) << 8 | type_of(f, o->second));
    h = mixed_name(h, o->part);
    h = mixed_name(h, o->variable >= 0 ? m->variables[o->variable].name : NULL);
    h = mixed_name(h, o->function >= 0 ? m->functions[o->function].name : NULL);
    h = mixed_name(h, o->kind == PTX_OP_SPECIAL ? o->name : NULL);
    h = mixed(mixed(h, (uint64_t)o->displacement), o->bits);
    for (size_t i = 0; i < o->element_count; ++i) {
        h = operand_text(h, m, f, &o->elements[i]);
    }
    return mixed(h, o->element_count);
}

static uint64_t text_of(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_instruction *in) {
    uint64_t h = mixed_name(in->guard >= 0 ? 1 + (uint64_t)in->guard_negated : 0, in->opcode);
    for (size_t i = 0; i < in->part_count; ++i) {
        h = mixed_name(h, in->parts[i]);
    }
    for (size_t k = 0; k < in->operand_count; ++k) {
        h = operand_text(h, m, f, &in->operands[k]);
    }
    return h;
}

/* ---- shape ---- */

static bool is_space(const char *part) {
    static const char *const spaces[] = {"global", "shared", "shared::cta", "shared::cluster", "local",
                                         "param",  "const",  "param::func", "param::entry"};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; ++i) {
        if (strcmp(part, spaces[i]) == 0) {
            return true;
        }
    }
    return false;
}

static uint64_t shape_of(const struct ptx_function *f, const struct ptx_instruction *in) {
    uint64_t h = mixed_name(0, in->opcode);
    for (size_t i = 0; i < in->part_count; ++i) {
        h = is_space(in->parts[i]) ? mixed_name(h, in->parts[i]) : h;
    }
    for (size_t k = 0; k < in->operand_count; ++k) {
        const struct ptx_operand *o = &in->operands[k];
        const bool value = o->kind == PTX_OP_REGISTER || o->kind == PTX_OP_INTEGER || o->kind == PTX_OP_FLOAT ||
                           o->kind == PTX_OP_VARIABLE || o->kind == PTX_OP_SPECIAL;
        h = mixed(h, value ? PTX_OP_REGISTER : (uint64_t)o->kind);
        h = mixed(h, o->element_count);
        if (gives(in, k)) {
            h = mixed(h, type_of(f, o->reg) << 8 | type_of(f, o->second));
            for (size_t i = 0; i < o->element_count; ++i) {
                h = mixed(h, type_of(f, o->elements[i].reg));
            }
        }
    }
    return h;
}

struct aligned_text *aligned_texts(const struct ptx_module *m, const struct ptx_function *f) {
    struct aligned_text *t = must_calloc(f->instruction_count + 1, sizeof *t);
    uint64_t *held = must_calloc(f->register_count + 1, sizeof *held); /* expression; 0: nothing above gives it */
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        note_registers(&t[i], in);
        t[i].text = text_of(m, f, in);
        t[i].shape = shape_of(f, in);
        uint64_t h = t[i].text;
        for (uint32_t k = t[i].given; k < t[i].register_count; ++k) {
            h = mixed(h, held[t[i].registers[k]]);
        }
        t[i].expression = h;
        for (uint32_t k = 0; k < t[i].given; ++k) {
            held[t[i].registers[k]] = mixed(h, k + 1);
        }
    }
    free(held);
    return t;
}

void aligned_texts_free(struct aligned_text *t, const struct ptx_function *f) {
    for (size_t i = 0; t != NULL && i < f->instruction_count; ++i) {
        free(t[i].registers);
    }
    free(t);
}

bool aligned_accesses_memory(const struct ptx_instruction *in) {
    static const char *const names[] = {"ld",  "ldu",     "ldmatrix", "st",       "stmatrix", "cp",    "red", "atom",
                                        "bar", "barrier", "membar",   "mbarrier", "fence",    "wgmma", NULL};
    const char *const *n = names;
    while (*n != NULL && strcmp(in->opcode, *n) != 0) {
        ++n;
    }
    return *n != NULL && (in->part_count == 0 || strcmp(in->parts[0], "param") != 0);
}
