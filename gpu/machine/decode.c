/* PTX instructions -> records: operands to register offsets, constants and special registers to registers of their
 * own, branches to records. What the instructions mean is in decode_*.c. */
#include "../../ref/checked.h"
#include "decode_watched.h"
#include "probe.h"
#include "undefined.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool has(struct decoder *d, const char *part) {
    for (size_t i = 0; i < d->in->part_count; ++i)
        if (!(d->taken >> i & 1) && !strcmp(d->in->parts[i], part)) {
            d->taken |= 1u << i;
            return true;
        }
    return false;
}

enum ptx_type next_type(struct decoder *d) {
    for (size_t i = 0; i < d->in->part_count; ++i) {
        const enum ptx_type t = ptx_type_named(d->in->parts[i]);
        if (t != PTX_NO_TYPE && !(d->taken >> i & 1)) {
            d->taken |= 1u << i;
            return t;
        }
    }
    return PTX_NO_TYPE;
}

int one_of(struct decoder *d, const char *const *names, int count) {
    for (int i = 0; i < count; ++i)
        if (has(d, names[i]))
            return i;
    return -1;
}

enum rounding next_rounding(struct decoder *d, bool *given) {
    static const char *const names[] = {"rn", "rz", "rm", "rp"};
    const int found = one_of(d, names, 4);
    *given = found >= 0;
    return found < 0 ? ROUND_RN : (enum rounding)found;
}

unsigned type_bits(enum ptx_type t) {
    return t == PTX_PRED ? 1 : 8 * (unsigned)ptx_type_bytes(t);
}
bool type_signed(enum ptx_type t) {
    return t >= PTX_S8 && t <= PTX_S64;
}
bool type_integer(enum ptx_type t) {
    return t >= PTX_B8 && t <= PTX_S64 && t != PTX_B128;
}

/* Where a constant is in the hash table, or the free place for it. */
static uint32_t *constant_slot(const struct decoder *d, uint64_t bits, bool wide_register) {
    const size_t last = 2 * d->constant_room - 1;
    uint64_t h = (bits ^ wide_register) * 0x9e3779b97f4a7c15u;
    for (h = (h ^ h >> 32) & last;; h = (h + 1) & last) {
        uint32_t *slot = &d->constant_slots[h];
        const struct constant *c = *slot ? &d->p->constants[*slot - 1] : NULL;
        if (!c || (c->bits == bits && c->wide == wide_register))
            return slot;
    }
}

static void grow_constants(struct decoder *d) {
    struct program *p = d->p;
    d->constant_room = d->constant_room ? 2 * d->constant_room : 64;
    p->constants = must_realloc(p->constants, d->constant_room, sizeof *p->constants);
    free(d->constant_slots);
    d->constant_slots = must_calloc(2 * d->constant_room, sizeof *d->constant_slots);
    for (size_t i = 0; i < p->constant_count; ++i)
        *constant_slot(d, p->constants[i].bits, p->constants[i].wide) = (uint32_t)i + 1;
}

uint32_t constant(struct decoder *d, uint64_t bits, bool wide_register) {
    struct program *p = d->p;
    if (p->constant_count == d->constant_room)
        grow_constants(d);
    uint32_t *slot = constant_slot(d, bits, wide_register);
    if (*slot)
        return p->constants[*slot - 1].offset;
    const uint32_t offset = (uint32_t)d->file_end;
    d->file_end += wide_register ? 256 : 128;
    p->constants[p->constant_count++] = (struct constant){.offset = offset, .wide = wide_register, .bits = bits};
    *slot = (uint32_t)p->constant_count;
    return offset;
}

uint32_t temp(struct decoder *d) {
    return FILE_TEMP + 256 * (d->temps++ % FILE_TEMPS);
}
uint32_t pred_temp(struct decoder *d) {
    return PRED_TEMP + d->pred_temps++ % (PRED_FIRST - PRED_TEMP);
}

bool module_address(const struct launch *l, int variable, uint64_t *address) {
    const struct ptx_variable *v = &l->module->variables[variable];
    if (v->space == PTX_SHARED) {
        *address = v->offset;
        return true;
    }
    if (v->space != PTX_GLOBAL && v->space != PTX_CONST)
        return false;
    /* runner.c places these variables behind the buffers, in this order. */
    *address = (uint64_t)(l->buffer_count + v->number + 1) << BUFFER_SHIFT;
    return true;
}

bool variable_address(struct decoder *d, int variable, uint64_t *address) {
    return module_address(d->l, variable, address) || refuse_operand(d, "an address in this state space");
}

/* A launch without clusters has those of one block. */
static bool one_block_clusters(const struct ptx_function *f) {
    return f->cluster[0] <= 1 && f->cluster[1] <= 1 && f->cluster[2] <= 1;
}

/* Special registers that are the same for the whole launch. */
static bool launch_constant(const struct decoder *d, const char *name, uint32_t *value) {
    const struct launch *l = d->l;
    const char *const dims = "xyz";
    for (unsigned k = 0; k < 3; ++k) {
        const char ntid[] = {'%', 'n', 't', 'i', 'd', '.', dims[k], 0};
        const char nctaid[] = {'%', 'n', 'c', 't', 'a', 'i', 'd', '.', dims[k], 0};
        if (!strcmp(name, ntid))
            return *value = l->block[k], true;
        if (!strcmp(name, nctaid))
            return *value = l->grid[k], true;
    }
    for (unsigned k = 0; k < 3 && one_block_clusters(d->f); ++k) {
        const char nclusterid[] = {'%', 'n', 'c', 'l', 'u', 's', 't', 'e', 'r', 'i', 'd', '.', dims[k], 0};
        const char ctaid[] = {'%', 'c', 'l', 'u', 's', 't', 'e', 'r', '_', 'c', 't', 'a', 'i', 'd', '.', dims[k], 0};
        if (!strcmp(name, nclusterid))
            return *value = l->grid[k], true;
        if (!strcmp(name, ctaid))
            return *value = 0, true;
        if (!strncmp(name, "%cluster_nctaid.", 16) && name[16] == dims[k])
            return *value = 1, true;
    }
    if (one_block_clusters(d->f) && !strcmp(name, "%cluster_ctarank"))
        return *value = 0, true;
    if (one_block_clusters(d->f) && !strcmp(name, "%cluster_nctarank"))
        return *value = 1, true;
    const uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (!strcmp(name, "%nwarpid"))
        return *value = (uint32_t)((threads + LANES - 1) / LANES), true;
    if (!strcmp(name, "WARP_SZ"))
        return *value = LANES, true;
    if (!strcmp(name, "%dynamic_smem_size"))
        return *value = (uint32_t)l->shared_bytes, true;
    const size_t shared = ptx_static_shared(d->m, d->f) + l->shared_bytes, whole = (shared + 127) / 128 * 128;
    if (!strcmp(name, "%total_smem_size"))
        return *value = (uint32_t)whole, true;
    if (!strcmp(name, "%aggr_smem_size")) /* with what the system keeps for itself */
        return *value = (uint32_t)whole + 1024, true;
    return false;
}

static bool is_wide_special(const char *name) {
    return !strcmp(name, "%clock64") || !strcmp(name, "%globaltimer") || !strcmp(name, "%gridid");
}

/* Those that change while a block runs, or from launch to launch: the time is the number of steps. */
static bool changing_register(struct decoder *d, const char *name, uint32_t *offset) {
    static const struct {
        const char *name;
        int how;
    } clocks[] = {
        {"%clock", 0},          {"%clock_hi", CLOCK_HIGH},      {"%clock64", CLOCK_WIDE}, {"%globaltimer", CLOCK_WIDE},
        {"%globaltimer_lo", 0}, {"%globaltimer_hi", CLOCK_HIGH}};
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; ++i)
        if (!strcmp(name, clocks[i].name)) {
            *offset = temp(d);
            emit(d, op_clock, BLEND_NONE, *offset, 0, 0, 0, clocks[i].how);
            return true;
        }
    if (!strcmp(name, "%gridid") || !strcmp(name, "%smid") || !strcmp(name, "%nsmid")) {
        const int64_t value = strcmp(name, "%smid") != 0; /* grid 1, one processor */
        *offset = temp(d);
        emit(d, op_clock, BLEND_NONE, *offset, 0, 0, 0,
             CLOCK_FIXED | (is_wide_special(name) ? CLOCK_WIDE : 0) | value << CLOCK_SHIFT);
        return true;
    }
    return false;
}

/* The register as it is, of 32 or 64 bits. */
static bool special_register(struct decoder *d, const char *name, uint32_t *offset) {
    static const char *const names[SPECIALS] = {
        "%tid.x",  "%tid.y",       "%tid.z",       "%ctaid.x",     "%ctaid.y",     "%ctaid.z",    "%warpid",
        "%laneid", "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt"};
    static const char *const clusters[] = {"%clusterid.x", "%clusterid.y", "%clusterid.z"};
    uint32_t value;
    if (launch_constant(d, name, &value)) {
        *offset = constant(d, value, false);
        return true;
    }
    if (changing_register(d, name, offset))
        return true;
    for (int i = 0; i < SPECIALS; ++i) {
        const bool cluster = i >= SPECIAL_CTAID_X && i <= SPECIAL_CTAID_Z && one_block_clusters(d->f) &&
                             !strcmp(name, clusters[i - SPECIAL_CTAID_X]);
        if (strcmp(name, names[i]) && !cluster)
            continue;
        if (!d->p->special[i]) {
            d->p->special[i] = (uint32_t)d->file_end;
            d->file_end += 128;
        }
        *offset = d->p->special[i];
        return true;
    }
    char why[120];
    snprintf(why, sizeof why, "special register %.80s", name);
    return refuse(d, why);
}

/* Read with another width than its own, where ptxas takes it: the low 16 bits, and the low half of %gridid. */
static bool special_source(struct decoder *d, const char *name, unsigned bits, uint32_t *offset) {
    uint32_t own = 0;
    const bool wide_register = is_wide_special(name);
    if (bits > 64 || (bits == 64) > wide_register || (bits < 64 && wide_register && strcmp(name, "%gridid")))
        return refuse_operand(d, "a special register of another width");
    if (!special_register(d, name, &own))
        return false;
    *offset = bits == (wide_register ? 64 : 32) ? own : temp(d);
    if (bits < 64 && wide_register)
        lane(d, OP_low32, *offset, own, 0, 0, 0);
    if (bits == 16)
        lane(d, OP_zext16, *offset, wide_register ? *offset : own, 0, 0, 0);
    return true;
}

unsigned register_bits(struct decoder *d, const struct ptx_operand *o) {
    if (o->kind == PTX_OP_SPECIAL || o->kind == PTX_OP_NAME)
        return is_wide_special(o->name) ? 64 : 32;
    if (o->kind != PTX_OP_REGISTER)
        return 0;
    const unsigned bits = type_bits(d->f->registers[o->reg].type);
    return bits == 8 ? 16 : bits;
}

static bool is_in_frame(const struct decoder *d, const struct ptx_operand *o) {
    return d->m->variables[o->variable].space == PTX_LOCAL ||
           (own_param(d, o) && !d->f->entry && formal(d, o->variable) >= 0);
}

bool frame_address(struct decoder *d, int variable, int64_t displacement, uint32_t *offset) {
    const struct ptx_variable *v = &d->m->variables[variable];
    if (v->space == PTX_LOCAL && v->function < 0) { /* of the module: the same in every function */
        *offset = constant(d, v->offset + (uint64_t)displacement, true);
        return true;
    }
    if (v->function != d->function)
        return refuse_operand(d, "a variable of another function");
    if (v->space == PTX_PARAM && (formal(d, variable) < 0 || !d->spill[formal(d, variable)]))
        return refuse(d, "a parameter in local memory, whose address is never taken");
    uint64_t at = v->offset;
    if (v->space == PTX_PARAM)
        at = d->spill[formal(d, variable)] - 1;
    else
        at += d->c->local_start;
    *offset = temp(d);
    emit(d, op_local_address, BLEND_64, *offset, 0, 0, 0, (int64_t)(at + (uint64_t)displacement));
    return true;
}

bool source(struct decoder *d, const struct ptx_operand *o, unsigned bits, uint32_t *offset) {
    if (o->minus || o->negated)
        return refuse_operand(d, "a negated operand");
    if (o->part)
        return refuse_operand(d, "a part of a register");
    if (bits == 128 && o->kind != PTX_OP_REGISTER)
        return refuse_operand(d, "a value of 128 bits that is no register");
    switch (o->kind) {
    case PTX_OP_REGISTER:
        if (register_bits(d, o) != bits)
            return refuse_operand(d, "an operand's register has another width than the operation");
        *offset = d->slot[o->reg];
        return true;
    case PTX_OP_INTEGER:
        *offset = constant(d, bits == 64 ? o->bits : bits == 32 ? (uint32_t)o->bits : (uint16_t)o->bits, bits == 64);
        return true;
    case PTX_OP_FLOAT: {
        uint64_t value = o->bits;
        if (o->double_precision && bits == 32) {
            double wide_value;
            memcpy(&wide_value, &value, 8);
            const float narrow = (float)wide_value;
            uint32_t u;
            memcpy(&u, &narrow, 4);
            value = u;
        } else if (bits == 16 || (!o->double_precision && bits == 64)) {
            return refuse_operand(d, "a floating-point constant of another width");
        }
        *offset = constant(d, value, bits == 64);
        return true;
    }
    case PTX_OP_FUNCTION:
        if (bits != 64)
            return refuse_operand(d, "a function's address in a narrow register");
        d->address_taken[o->function] = true;
        *offset = constant(d, function_address(o->function), true);
        return true;
    case PTX_OP_VARIABLE: {
        uint64_t address = 0;
        if (bits < 32)
            return refuse_operand(d, "an address in a narrow register");
        if (is_in_frame(d, o))
            return bits == 64 ? frame_address(d, o->variable, o->displacement, offset)
                              : refuse_operand(d, "a local address in a narrow register");
        if (own_param(d, o) && d->f->entry && formal(d, o->variable) >= 0) { /* PTX ISA 7.1: of the .param space */
            *offset = constant(d, d->m->variables[o->variable].offset + (uint64_t)o->displacement, bits == 64);
            return true;
        }
        if (!variable_address(d, o->variable, &address))
            return false;
        address += (uint64_t)o->displacement;
        *offset = constant(d, bits == 64 ? address : (uint32_t)address, bits == 64);
        return true;
    }
    case PTX_OP_SPECIAL:
    case PTX_OP_NAME:
        return special_source(d, o->name, bits, offset);
    default:
        return refuse_operand(d, "an operand that is no value");
    }
}

bool source_number(struct decoder *d, size_t operand, unsigned bits, uint32_t *offset) {
    return source(d, &d->in->operands[operand], bits, offset);
}

bool destination(struct decoder *d, const struct ptx_operand *o, unsigned bits, uint32_t *offset) {
    *offset = FILE_SCRATCH;
    if (o->kind == PTX_OP_SINK)
        return true;
    if (o->kind != PTX_OP_REGISTER)
        return refuse_operand(d, "a destination that is no register");
    if (o->part)
        return refuse_operand(d, "a part of a register");
    if (register_bits(d, o) != bits)
        return refuse_operand(d, "the destination's register has another width than the operation");
    *offset = d->slot[o->reg];
    return true;
}

bool destination_number(struct decoder *d, size_t operand, unsigned bits, uint32_t *offset) {
    return destination(d, &d->in->operands[operand], bits, offset);
}

static bool is_pred(const struct decoder *d, int reg) {
    return reg >= 0 && d->f->registers[reg].type == PTX_PRED;
}

bool pred_source(struct decoder *d, const struct ptx_operand *o, uint32_t *pred) {
    if (o->kind == PTX_OP_INTEGER)
        *pred = o->bits ? PRED_TRUE : PRED_FALSE;
    else if (o->kind == PTX_OP_SPECIAL && !strcmp(o->name, "%is_explicit_cluster") && !d->f->cluster[0])
        *pred = PRED_FALSE;
    else if (o->kind == PTX_OP_REGISTER && is_pred(d, o->reg))
        *pred = d->slot[o->reg];
    else
        return refuse_operand(d, "an operand that is no predicate");
    if (o->part)
        return refuse_operand(d, "a part of a register");
    *pred |= o->negated ? GUARD_NEGATED : 0;
    return true;
}

bool pred_destination(struct decoder *d, const struct ptx_operand *o, uint32_t *pred) {
    if (o->kind == PTX_OP_SINK) {
        *pred = pred_temp(d);
        return true;
    }
    if (o->kind != PTX_OP_REGISTER || !is_pred(d, o->reg) || o->part)
        return refuse_operand(d, "a destination that is no predicate");
    *pred = d->slot[o->reg];
    return true;
}

void reads_across(struct decoder *d, const struct ptx_operand *o) {
    if (o->kind == PTX_OP_REGISTER || o->kind == PTX_OP_ADDRESS)
        if (o->reg >= 0)
            d->read_across[o->reg] = true;
    for (size_t i = 0; i < o->element_count; ++i)
        reads_across(d, &o->elements[i]);
}

struct record *emit(struct decoder *d, handler *run, enum blend blend, uint32_t dst, uint32_t a, uint32_t b, uint32_t c,
                    int64_t imm) {
    struct program *p = d->p;
    if (p->record_count == d->record_room) {
        d->record_room = d->record_room ? 2 * d->record_room : 1024;
        p->records = must_realloc(p->records, d->record_room, sizeof *p->records);
        p->run_end = must_realloc(p->run_end, d->record_room, sizeof *p->run_end);
        p->weight = must_realloc(p->weight, d->record_room + 1, sizeof *p->weight);
    }
    struct record *r = &p->records[p->record_count++];
    *r = (struct record){.run = run,
                         .imm = imm,
                         .dst = dst,
                         .a = a,
                         .b = b,
                         .c = c,
                         .guard = d->guard,
                         .site = d->c->site + (uint32_t)d->index,
                         .blend = (uint8_t)blend,
                         .weight = d->first};
    d->first = false;
    return r;
}

/* A record that is no instruction of its own. */
static struct record *emit_aside(struct decoder *d, handler *run, uint32_t a, uint32_t c, int64_t imm) {
    const bool first = d->first;
    d->first = false;
    struct record *r = emit(d, run, BLEND_NONE, 0, a, 0, c, imm);
    d->first = first;
    return r;
}

void count_access(struct decoder *d, uint32_t base, uint32_t access, int64_t shift) {
    if (d->l->options.census)
        emit_aside(d, op_count_access, base, access, shift);
}

/* Guarded-off instructions count as well, as on hardware. */
void count_executed(struct decoder *d) {
    const uint32_t guard = d->guard;
    d->guard = 0;
    if (d->l->options.census)
        emit_aside(d, op_count_executed, 0, 0, 0);
    d->guard = guard;
}

void probe_aside(struct decoder *d, bool after, uint32_t list, int64_t imm) {
    if (d->l->options.probe)
        emit_aside(d, after ? op_probe_sums : op_probe_operands, 0, 0, imm)->wide = list;
}

void tell_literature(struct decoder *d) {
    emit_aside(d, op_literature, 0, 0, 0);
}

void lane(struct decoder *d, enum lane_op op, uint32_t dst, uint32_t a, uint32_t b, uint32_t c, int64_t imm) {
    const unsigned bits = lane_shapes[op].dst;
    emit(d, d->isa->lanes[op], bits == 1 ? BLEND_NONE : bits == 64 ? BLEND_64 : BLEND_32, dst, a, b, c, imm);
}

uint32_t wide(struct decoder *d, size_t count) {
    struct program *p = d->p;
    if (p->wide_count + count > d->wide_room) {
        d->wide_room = 2 * d->wide_room + count + 64;
        p->wide = must_realloc(p->wide, d->wide_room, sizeof *p->wide);
    }
    p->wide_count += count;
    return (uint32_t)(p->wide_count - count);
}

enum lane_op lane_named(const char *stem, const char *type) {
    char name[32];
    snprintf(name, sizeof name, "%.15s_%.15s", stem, type);
    for (int i = 0; i < LANE_OPS; ++i)
        if (!strcmp(lane_shapes[i].name, name))
            return (enum lane_op)i;
    return LANE_OPS;
}

void pred_logic(struct decoder *d, uint32_t dst, uint32_t a, uint32_t b, int what) {
    emit(d, op_pred_logic, BLEND_NONE, dst, a, b, 0, what);
}

bool decode_one(struct decoder *d) {
    static const struct opcode *const tables[] = {opcodes_convert, opcodes_compare, opcodes_cvt,    opcodes_memory,
                                                  opcodes_async,   opcodes_warp,    opcodes_tensor, opcodes_scalar,
                                                  opcodes_video,   opcodes_atomic,  opcodes_hints,  opcodes_call};
    if (is_rare_integer(d))
        return decode_rare_integer(d);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; ++t)
        for (const struct opcode *o = tables[t]; o->name; ++o)
            if (!strcmp(o->name, d->in->opcode))
                return o->decode(d);
    return decode_table(d);
}

/* A census counts an instruction that needs the whole warp once, when the warp has come. */
void gather_asides(struct decoder *d, size_t from) {
    struct record *r = d->p->records;
    size_t at = from;
    while (at < d->p->record_count && (r[at].gather != GATHER_LIVE || r[at].guard))
        ++at;
    for (size_t i = from; at < d->p->record_count && i < at; ++i)
        r[i].gather = GATHER_LIVE;
}

static void fill_params(struct decoder *d) {
    const struct ptx_function *f = d->p->entry;
    uint64_t *addresses = must_calloc(d->l->buffer_count, sizeof *addresses);
    for (size_t i = 0; i < d->l->buffer_count; ++i)
        addresses[i] = (i + 1) << BUFFER_SHIFT;
    d->p->params = must_calloc(f->param_bytes, 1);
    for (size_t i = 0; i < f->param_count; ++i)
        launch_arg_bytes(&d->l->args[i], addresses, d->p->params + d->m->variables[f->params[i]].offset);
    free(addresses);
}

/* Registers that hold a defined poison when a block starts: those some path reads first, and those other lanes read. */
void starts_poisoned(struct decoder *d, uint32_t offset, bool wide) {
    struct program *p = d->p;
    if (p->undefined_count == d->undefined_room) {
        d->undefined_room = 2 * d->undefined_room + 64;
        p->undefined = must_realloc(p->undefined, d->undefined_room, sizeof *p->undefined);
        p->undefined_wide = must_realloc(p->undefined_wide, d->undefined_room, sizeof *p->undefined_wide);
    }
    p->undefined[p->undefined_count] = offset;
    p->undefined_wide[p->undefined_count++] = wide;
}

void find_undefined(struct decoder *d) {
    struct program *p = d->p;
    bool *undefined = flow_undefined(d->m, d->f);
    for (size_t i = 0; i < d->f->register_count; ++i) {
        const enum ptx_type t = d->f->registers[i].type;
        if (t == PTX_PRED || !(undefined[i] || d->read_across[i]))
            continue;
        for (uint32_t half = 0; half < (type_bits(t) == 128 ? 2 : 1); ++half) /* of 128 bits: two halves */
            starts_poisoned(d, d->slot[i] + 256 * half, type_bits(t) >= 64);
    }
    d->c->undefined_end = (uint32_t)p->undefined_count;
    free(undefined);
}

/* Branch targets of the function become records; straight runs and weights. start[i]: first record of instruction i. */
void link_records(struct decoder *d, const size_t *start) {
    struct program *p = d->p;
    bool *leaders = flow_leaders(d->f);
    const size_t first = d->c->first, n = p->record_count;
    bool *leader = must_calloc(n - first + 1, sizeof *leader);
    for (size_t i = 0; i <= d->f->instruction_count; ++i)
        leader[start[i] - first] |= leaders[i];
    p->weight[0] = 0;
    for (size_t i = first; i < n; ++i) {
        struct record *r = &p->records[i];
        p->weight[i + 1] = p->weight[i] + r->weight;
        if (r->control == CONTROL_BRANCH)
            r->dst = (uint32_t)start[r->dst];
        for (uint32_t k = 0; r->control == CONTROL_INDEXED && k < r->b; ++k)
            p->wide[r->wide + k] = (uint32_t)start[p->wide[r->wide + k]];
    }
    for (size_t i = n; i-- > first;) /* the last record is an exit or a return */
        p->run_end[i] = p->records[i].control   ? (uint32_t)i
                        : leader[i + 1 - first] ? (uint32_t)i + 1
                                                : p->run_end[i + 1];
    free(leaders), free(leader);
}

struct program *decode(const struct launch *l, const struct isa *isa, unsigned follows, struct error *e) {
    struct program *p = must_calloc(1, sizeof *p);
    p->follows = follows;
    struct decoder d = {.l = l, .isa = isa, .e = e, .m = l->module, .p = p, .file_end = FILE_FIRST};
    d.pred_end = PRED_FIRST;
    p->module = d.m;
    p->entry = ptx_entry_named(l->module, l->entry);
    p->callees = must_calloc(d.m->function_count, sizeof *p->callees);
    p->order = must_calloc(d.m->function_count, sizeof *p->order);
    d.address_taken = must_calloc(d.m->function_count, sizeof *d.address_taken);
    for (size_t i = 0; i < d.m->variable_count; ++i)
        for (size_t k = 0; k < d.m->variables[i].relocation_count; ++k)
            if (d.m->variables[i].relocations[k].function >= 0)
                d.address_taken[d.m->variables[i].relocations[k].function] = true;
    fill_params(&d);
    p->param_shadows = must_calloc(d.m->variable_count + 1, sizeof *p->param_shadows);
    d.watched = watched_open(&d, !(l->options.unwatched & WATCH_UNINIT));
    p->loads_alone = d.watched && !d.watched->unset_registers;
    reach(&d, (size_t)(p->entry - d.m->functions));
    bool ok = true;
    for (size_t i = 0; ok && i < p->order_count; ++i) {
        ok = decode_body(&d, (int)p->order[i]);
        if (d.indirect && i + 1 == p->order_count)
            reach_taken(&d);
    }
    if (ok) {
        find_recursion(&d);
        stray_mark(p);
        p->file_bytes = (d.file_end + 63) / 64 * 64;
        p->pred_count = d.pred_end;
    }
    watched_close(d.watched);
    free(d.address_taken);
    free(d.constant_slots);
    if (ok)
        return p;
    program_free(p);
    return NULL;
}

void program_free(struct program *p) {
    if (!p)
        return;
    free(p->records), free(p->run_end), free(p->weight), free(p->wide), free(p->constants), free(p->accesses);
    free(p->undefined), free(p->undefined_wide), free(p->names), free(p->param_shadows), free(p->callees);
    free(p->order), free(p->params), free(p->effect);
    free(p);
}
