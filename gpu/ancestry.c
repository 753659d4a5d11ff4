#include "ancestry.h"
#include "../ref/checked.h"
#include "machine/machine.h"
#include <stdlib.h>
#include <string.h>

/* ---- the index ---- */

/* Counts, or notes, that instruction i writes the registers of an operand. */
static void write_operand(const struct ptx_operand *o, uint32_t i, uint32_t *count, uint32_t *writers) {
    const int reg[2] = {o->reg, o->second};
    for (int k = 0; k < 2; ++k) {
        if (reg[k] >= 0 && writers != NULL) {
            writers[count[reg[k]]] = i;
        }
        if (reg[k] >= 0) {
            ++count[reg[k]];
        }
    }
    for (size_t k = 0; k < o->element_count; ++k) {
        write_operand(&o->elements[k], i, count, writers);
    }
}

static void write_all(const struct ptx_function *f, uint32_t *count, uint32_t *writers) {
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        for (size_t k = 0; k < in->operand_count; ++k) {
            if (flow_writes(in, k) && in->operands[k].kind != PTX_OP_ADDRESS) {
                write_operand(&in->operands[k], (uint32_t)i, count, writers);
            }
        }
    }
}

void ancestry_open(const struct ptx_function *f, struct ancestry_index *x) {
    *x = (struct ancestry_index){.function = f, .start = must_calloc(f->register_count + 1, sizeof *x->start)};
    uint32_t *count = must_calloc(f->register_count + 1, sizeof *count), sum = 0;
    write_all(f, count, NULL);
    for (size_t r = 0; r <= f->register_count; ++r) {
        const uint32_t own = count[r];
        x->start[r] = count[r] = sum;
        sum += own;
    }
    x->writers = must_calloc(sum + 1, sizeof *x->writers);
    write_all(f, count, x->writers);
    free(count);
}

void ancestry_close(struct ancestry_index *x) {
    free(x->start);
    free(x->writers);
    *x = (struct ancestry_index){.function = NULL};
}

/* ---- the slice ---- */

struct walk {
    const struct ancestry_index *x;
    uint32_t *distance, *queue; /* (instruction_count) */
    size_t queued;
};

static void come_to(struct walk *w, int reg, uint32_t distance) {
    for (uint32_t k = reg >= 0 ? w->x->start[reg] : 1; reg >= 0 && k < w->x->start[reg + 1]; ++k) {
        const uint32_t i = w->x->writers[k];
        if (w->distance[i] == 0) {
            w->distance[i] = distance;
            w->queue[w->queued++] = i;
        }
    }
}

static void come_to_operand(struct walk *w, const struct ptx_operand *o, uint32_t distance) {
    come_to(w, o->reg, distance);
    come_to(w, o->second, distance);
    for (size_t k = 0; k < o->element_count; ++k) {
        come_to_operand(w, &o->elements[k], distance);
    }
}

static void follow(struct walk *w, const struct ptx_instruction *in, enum ancestry_part part, uint32_t distance) {
    for (size_t k = 0; k < in->operand_count && part != ANCESTRY_GUARD; ++k) {
        const bool address = in->operands[k].kind == PTX_OP_ADDRESS;
        if ((address ? part != ANCESTRY_VALUE : part != ANCESTRY_ADDRESS) && (address || !flow_writes(in, k))) {
            come_to_operand(w, &in->operands[k], distance);
        }
    }
    if (part != ANCESTRY_ADDRESS) {
        come_to(w, in->guard, distance);
    }
}

void ancestry_of(const struct ancestry_index *x, size_t instruction, enum ancestry_part part, bool through_mma,
                 uint32_t *distance) {
    const struct ptx_function *f = x->function;
    struct walk w = {.x = x, .distance = distance, .queue = must_calloc(f->instruction_count + 1, sizeof *w.queue)};
    memset(distance, 0, f->instruction_count * sizeof *distance);
    distance[instruction] = 1;
    follow(&w, &f->instructions[instruction], part, 2);
    for (size_t k = 0; k < w.queued; ++k) {
        const struct ptx_instruction *in = &f->instructions[w.queue[k]];
        if (through_mma || strcmp(in->opcode, "mma") != 0) {
            follow(&w, in, ANCESTRY_ALL, distance[w.queue[k]] + 1);
        }
    }
    free(w.queue);
}
