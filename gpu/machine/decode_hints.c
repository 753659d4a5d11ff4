/* Instructions that change no value here: fences, prefetches, cache policies, hints to the hardware; and discard, which
 * gives bytes up. Each is taken in the spellings of PTX and in no other.
 * Source: PTX ISA 9.0, 9.7.9.14 .. 9.7.9.18, 9.7.13.4, 9.7.13.13, 9.7.19; facts/ptx.md A-8, FP-1, SM-1. */
#include "decode.h"
#include <string.h>

/* True when the modifiers, joined by dots, match the pattern: words to be there, in this order; `a|b` one of them;
 * `a|` perhaps it. */
static bool spelled(struct decoder *d, const char *pattern) {
    size_t part = 0;
    for (const char *s = pattern; *s;) {
        const size_t n = strcspn(s, " ");
        bool optional = false, found = false;
        for (const char *one = s; one < s + n;) {
            const size_t length = strcspn(one, "| ");
            if (part < d->in->part_count && strlen(d->in->parts[part]) == length &&
                !strncmp(d->in->parts[part], one, length))
                found = true;
            one += length;
            if (*one == '|')
                ++one;
            optional |= one == s + n && one[-1] == '|';
        }
        if (!found && !optional)
            return false;
        part += found;
        s += n + (s[n] == ' ');
    }
    return part == d->in->part_count;
}

static bool spelled_as(struct decoder *d, const char *const *patterns) {
    for (; *patterns; ++patterns)
        if (spelled(d, *patterns)) {
            d->taken = (1u << d->in->part_count) - 1;
            return true;
        }
    return refuse(d, NULL);
}

static bool nothing(struct decoder *d) {
    emit(d, op_nothing, BLEND_NONE, 0, 0, 0, 0, 0);
    return true;
}

bool take_fence(struct decoder *d) {
    static const char *const membars[] = {"cta|gl|sys", "proxy alias", NULL};
    static const char *const fences[] = {"sc|acq_rel|acquire|release| cta|cluster|gpu|sys",
                                         "acquire sync_restrict::shared::cluster cluster",
                                         "release sync_restrict::shared::cta cluster",
                                         "mbarrier_init release cluster",
                                         "proxy alias|async",
                                         "proxy async global|shared::cta|shared::cluster",
                                         "proxy async::generic acquire|release sync_restrict::shared::cluster|"
                                         "sync_restrict::shared::cta cluster",
                                         "proxy tensormap::generic release cta|cluster|gpu|sys",
                                         NULL};
    static const char *const of_tensormap[] = {"proxy tensormap::generic acquire cta|cluster|gpu|sys", NULL};
    if (d->in->opcode[0] == 'm')
        return spelled_as(d, membars) && operand_total(d, 0, 0);
    if (spelled(d, of_tensormap[0]))
        return spelled_as(d, of_tensormap) && operand_total(d, 2, 2);
    return spelled_as(d, fences) && operand_total(d, 0, 0);
}

/* The address operand of a hint: looked at, so that it is one, and then left alone. */
static bool hint_address(struct decoder *d, size_t operand, enum ptx_space space, struct access *x, uint32_t *base,
                         int64_t *shift) {
    x->space = space;
    return address(d, &d->in->operands[operand], x, base, shift);
}

static bool decode_prefetch(struct decoder *d) {
    static const char *const plain[] = {"global|local| L1|L2", "global L2::evict_last|L2::evict_normal",
                                        "const|param| tensormap", NULL};
    static const char *const uniform[] = {"L1", NULL};
    struct access x = {0};
    uint32_t base;
    int64_t shift;
    const bool u = !strcmp(d->in->opcode, "prefetchu");
    return spelled_as(d, u ? uniform : plain) && operand_total(d, 1, 1) &&
           hint_address(d, 0, PTX_REG, &x, &base, &shift) && nothing(d);
}

static bool is_line(struct decoder *d, size_t operand) {
    const struct ptx_operand *o = &d->in->operands[operand];
    return (o->kind == PTX_OP_INTEGER && o->bits == 128) || refuse_operand(d, "a size other than 128");
}

static bool decode_applypriority(struct decoder *d) {
    static const char *const spellings[] = {"global| L2::evict_normal", NULL};
    struct access x = {0};
    uint32_t base;
    int64_t shift;
    return spelled_as(d, spellings) && operand_total(d, 2, 2) && is_line(d, 1) &&
           hint_address(d, 0, PTX_GLOBAL, &x, &base, &shift) && nothing(d);
}

static bool decode_discard(struct decoder *d) {
    static const char *const spellings[] = {"global| L2", NULL};
    struct access x = {.store = true, .elements = 1, .element_bytes = 128, .bytes = 128};
    uint32_t base;
    int64_t shift;
    if (!spelled_as(d, spellings) || !operand_total(d, 2, 2) || !is_line(d, 1) ||
        !hint_address(d, 0, PTX_GLOBAL, &x, &base, &shift))
        return false;
    emit(d, memory_discard, BLEND_NONE, FILE_SCRATCH, base, 0, add_access(d, &x), shift);
    return true;
}

/* A policy is a value that only hints look at: zero. */
static bool decode_createpolicy(struct decoder *d) {
    static const char *const fractional[] = {
        "fractional L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
        "L2::evict_first|L2::evict_unchanged| b64",
        NULL};
    static const char *const range[] = {
        "range global| L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
        "L2::evict_first|L2::evict_unchanged| b64",
        NULL};
    static const char *const convert[] = {"cvt L2 b64", NULL};
    const char *kind = d->in->part_count ? d->in->parts[0] : "";
    struct access x = {0};
    uint32_t dst, s[2];
    int64_t shift;
    if (!strcmp(kind, "range")) {
        if (!spelled_as(d, range) || !operand_total(d, 4, 4) || !hint_address(d, 1, PTX_GLOBAL, &x, &s[0], &shift) ||
            !source_number(d, 2, 32, &s[0]) || !source_number(d, 3, 32, &s[1]))
            return false;
    } else if (!strcmp(kind, "cvt")) {
        if (!spelled_as(d, convert) || !operand_total(d, 2, 2) || !source_number(d, 1, 64, &s[0]))
            return false;
    } else if (!spelled_as(d, fractional) || !operand_total(d, 1, 2) ||
               (d->in->operand_count == 2 && !source_number(d, 1, 32, &s[0]))) {
        return false;
    }
    if (!destination_number(d, 0, 64, &dst))
        return false;
    lane(d, OP_mov_b64, dst, constant(d, 0, true), 0, 0, 0);
    return true;
}

static bool decode_nanosleep(struct decoder *d) {
    static const char *const spellings[] = {"u32", NULL};
    uint32_t time;
    return spelled_as(d, spellings) && operand_total(d, 1, 1) && source_number(d, 0, 32, &time) && nothing(d);
}

static bool decode_pmevent(struct decoder *d) {
    static const char *const spellings[] = {"mask|", NULL};
    if (!spelled_as(d, spellings) || !operand_total(d, 1, 1))
        return false;
    const struct ptx_operand *o = d->in->operands;
    if (o->kind != PTX_OP_INTEGER || o->bits > (d->in->part_count ? 0xffff : 15))
        return refuse_operand(d, "an event number");
    return nothing(d);
}

/* One grid runs by itself: those that it depends on are over, and none depends on it. */
static bool decode_griddepcontrol(struct decoder *d) {
    static const char *const spellings[] = {"wait|launch_dependents", NULL};
    return spelled_as(d, spellings) && operand_total(d, 0, 0) && nothing(d);
}

static bool decode_setmaxnreg(struct decoder *d) {
    static const char *const spellings[] = {"inc|dec sync aligned u32", NULL};
    if (!spelled_as(d, spellings) || !operand_total(d, 1, 1))
        return false;
    const struct ptx_operand *o = d->in->operands;
    if (o->kind != PTX_OP_INTEGER || o->bits < 24 || o->bits > 256 || o->bits % 8)
        return refuse_operand(d, "a number of registers is a multiple of 8, from 24 to 256");
    return nothing(d);
}

static bool refuse_mbarrier(struct decoder *d) {
    return refuse(d, "mbarrier objects are not run");
}
static bool refuse_cluster(struct decoder *d) {
    return refuse(d, "clusters are not run");
}

const struct opcode opcodes_hints[] = {
    {"prefetch", decode_prefetch},
    {"prefetchu", decode_prefetch},
    {"applypriority", decode_applypriority},
    {"discard", decode_discard},
    {"createpolicy", decode_createpolicy},
    {"nanosleep", decode_nanosleep},
    {"pmevent", decode_pmevent},
    {"griddepcontrol", decode_griddepcontrol},
    {"setmaxnreg", decode_setmaxnreg},
    {"mbarrier", refuse_mbarrier},
    {"mapa", refuse_cluster},
    {"getctarank", refuse_cluster},
    {NULL, NULL},
};
