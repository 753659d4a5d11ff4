/* The control flow of a function: basic blocks, and which registers may be read before they are written. */
#include "../../ref/checked.h"
#include "machine.h"
#include <stdlib.h>
#include <string.h>

static bool is(const struct ptx_instruction *in, const char *opcode) {
    return !strcmp(in->opcode, opcode);
}
static bool ends_thread(const struct ptx_instruction *in) {
    return is(in, "ret") || is(in, "exit") || is(in, "trap");
}
/* The labels that a branch may go to, as operands; *count = 0 for anything else. */
static const struct ptx_operand *branch_targets(const struct ptx_instruction *in, size_t *count) {
    *count = 0;
    if (is(in, "bra") && in->operand_count == 1 && in->operands[0].kind == PTX_OP_LABEL) {
        *count = 1;
        return &in->operands[0];
    }
    if (is(in, "brx") && in->operand_count == 2 && in->operands[1].kind == PTX_OP_NAME) {
        *count = in->operands[1].element_count;
        return in->operands[1].elements;
    }
    return NULL;
}

struct graph { /* basic blocks; the node `count` is the end of the function */
    size_t count;
    size_t *first; /* (count + 1) instruction a block starts with */
    size_t *block; /* (instructions + 1) block of an instruction */
    size_t *next;  /* successors of all blocks */
    size_t *start; /* (count + 1) of block b they are next[start[b]] .. next[start[b + 1] - 1] */
};

bool *flow_leaders(const struct ptx_function *f) {
    bool *leaders = must_calloc(f->instruction_count + 1, sizeof *leaders);
    leaders[0] = true;
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        size_t count;
        const struct ptx_operand *targets = branch_targets(in, &count);
        for (size_t k = 0; k < count; ++k)
            if (targets[k].kind == PTX_OP_LABEL)
                leaders[targets[k].target] = true;
        if (count || ends_thread(in))
            leaders[i + 1] = true;
    }
    return leaders;
}

static struct graph open_graph(const struct ptx_function *f, const bool *leaders) {
    const size_t n = f->instruction_count;
    struct graph g = {.block = must_calloc(n + 1, sizeof *g.block), .first = must_calloc(n + 1, sizeof *g.first)};
    for (size_t i = 0; i < n; ++i) {
        if (leaders[i])
            g.first[g.count++] = i;
        g.block[i] = g.count - 1;
    }
    g.block[n] = g.count;
    g.first[g.count] = n;
    g.start = must_calloc(g.count + 1, sizeof *g.start);
    for (int pass = 0; pass < 2; ++pass) { /* how many, then which */
        size_t edges = 0;
        for (size_t b = 0; b < g.count; ++b) {
            const struct ptx_instruction *last = &f->instructions[g.first[b + 1] - 1];
            size_t count;
            const struct ptx_operand *targets = branch_targets(last, &count);
            g.start[b] = edges;
            for (size_t k = 0; k < count; ++k, ++edges)
                if (pass)
                    g.next[edges] = targets[k].kind == PTX_OP_LABEL ? g.block[targets[k].target] : g.count;
            if (!count && ends_thread(last) && pass)
                g.next[edges] = g.count;
            edges += !count && ends_thread(last);
            if ((!count && !ends_thread(last)) || last->guard >= 0) {
                if (pass)
                    g.next[edges] = b + 1;
                ++edges;
            }
        }
        g.start[g.count] = edges;
        if (!pass)
            g.next = must_calloc(edges, sizeof *g.next);
    }
    return g;
}

static void close_graph(struct graph *g) {
    free(g->first);
    free(g->block);
    free(g->next);
    free(g->start);
}

bool flow_writes(const struct ptx_instruction *in, size_t operand) {
    static const char *const none[] = {"st", "red",      "bra",       "brx",          "bar",
                                       "cp", "stmatrix", "nanosleep", "stackrestore", "barrier"};
    if (is(in, "call")) /* its results, when a target follows them */
        return operand == 0 && in->operand_count > 1 && in->operands[0].kind == PTX_OP_LIST;
    if (operand == 0 && (is(in, "bar") || is(in, "barrier")))
        for (size_t i = 0; i < in->part_count; ++i)
            if (!strcmp(in->parts[i], "red"))
                return true;
    for (size_t i = 0; i < sizeof none / sizeof *none; ++i)
        if (is(in, none[i]))
            return false;
    return operand == 0;
}

struct sets { /* of registers, of one basic block */
    uint64_t *reads, *writes, *live;
};

static void add(uint64_t *set, int reg) {
    if (reg >= 0)
        set[reg / 64] |= (uint64_t)1 << (reg % 64);
}

static void note_reads(const struct ptx_operand *o, uint64_t *reads, const uint64_t *writes) {
    const int reg[2] = {o->reg, o->second};
    for (int k = 0; k < 2; ++k)
        if (reg[k] >= 0 && !(writes[reg[k] / 64] >> (reg[k] % 64) & 1))
            add(reads, reg[k]);
    for (size_t i = 0; i < o->element_count; ++i)
        note_reads(&o->elements[i], reads, writes);
}
static void note_writes(const struct ptx_operand *o, uint64_t *writes) {
    add(writes, o->reg);
    add(writes, o->second);
    for (size_t i = 0; i < o->element_count; ++i)
        note_writes(&o->elements[i], writes);
}

enum { MOST_SET_WORDS = 1 << 24 }; /* of one kind of set: 128 MiB */
/* Words looked at: half a second. What nvcc makes settles in a few rounds, but blocks that stand in the wrong order
 * take as many rounds as there are blocks. */
#define MOST_SET_STEPS ((size_t)1 << 28)

/* What is live at the start of each block, backwards until nothing changes. False: it takes too long. */
static bool settle(const struct graph *g, const struct sets *sets, size_t words) {
    const size_t round = (g->start[g->count] + g->count) * words;
    size_t steps = 0;
    for (bool changed = true; changed; steps += round) {
        if (steps > MOST_SET_STEPS)
            return false;
        changed = false;
        for (size_t b = g->count; b-- > 0;)
            for (size_t k = 0; k < words; ++k) {
                uint64_t live = 0;
                for (size_t n = g->start[b]; n < g->start[b + 1]; ++n)
                    live |= sets[g->next[n]].live[k];
                live = sets[b].reads[k] | (live & ~sets[b].writes[k]);
                changed |= live != sets[b].live[k];
                sets[b].live[k] = live;
            }
    }
    return true;
}

/* Liveness per lane: a guarded write may not happen, so it ends no register's life. Where that would take too much
 * memory or time every register is given its poison: the same, only slower. */
bool *flow_undefined(const struct ptx_module *m, const struct ptx_function *f) {
    bool *undefined = must_calloc(f->register_count, sizeof *undefined);
    bool *leaders = flow_leaders(f);
    struct graph g = open_graph(f, leaders);
    const size_t words = (f->register_count + 63) / 64;
    if (words && g.count > MOST_SET_WORDS / words) {
        memset(undefined, true, f->register_count);
        free(leaders);
        close_graph(&g);
        return undefined;
    }
    uint64_t *memory = must_calloc(3 * (g.count + 1) * words, sizeof *memory);
    struct sets *sets = must_calloc(g.count + 1, sizeof *sets);
    for (size_t b = 0; b <= g.count; ++b)
        sets[b] = (struct sets){memory + 3 * b * words, memory + (3 * b + 1) * words, memory + (3 * b + 2) * words};
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        struct sets *s = &sets[g.block[i]];
        if (in->guard >= 0 && !(s->writes[in->guard / 64] >> (in->guard % 64) & 1))
            add(s->reads, in->guard);
        for (size_t k = 0; k < in->operand_count; ++k)
            if (!flow_writes(in, k) || in->operands[k].kind == PTX_OP_ADDRESS)
                note_reads(&in->operands[k], s->reads, s->writes);
        for (size_t k = 0; k < in->operand_count && in->guard < 0; ++k)
            if (flow_writes(in, k) && in->operands[k].kind != PTX_OP_ADDRESS)
                note_writes(&in->operands[k], s->writes);
    }
    for (size_t i = 0; i < f->return_count; ++i) /* ret reads the registers of results */
        add(sets[g.count].live, m->variables[f->returns[i]].reg);
    const bool settled = settle(&g, sets, words);
    for (size_t i = 0; i < f->register_count; ++i)
        undefined[i] = !settled || (g.count && (sets[0].live[i / 64] >> (i % 64) & 1));
    free(memory), free(sets), free(leaders);
    close_graph(&g);
    return undefined;
}
