/* Rows as ptxas 13.0 takes and refuses the forms for sm_75 .. sm_100; setmaxnreg is of sm_90a (facts/ptx.md SM-1).
 * Targets: PTX ISA 11.1.2: code for sm_90 runs on later ones, for sm_90a on it alone, for sm_100f on its family. */
#include "requires.h"
#include "../ref/checked.h"
#include <stdlib.h>
#include <string.h>

struct row {
    const char *opcodes; /* "add|sub"; "": any but mma */
    const char *parts;   /* modifiers that are all there, each `a|b`: one of them; no modifier serves twice */
    unsigned sm;
};

static const struct row rows[] = {
    {"", "bf16|bf16x2|tf32", 80},
    {"", "NaN", 80},
    {"", "relu", 80},
    {"", "L2::256B|L2::cache_hint", 80},
    {"", "xorsign", 86},
    {"", "e4m3x2|e5m2x2", 89},
    {"", "cluster|shared::cluster", 90},
    {"min|max", "f16|f16x2", 80},
    {"min|max", "relu", 90},
    {"add|min|max", "u16x2|s16x2", 90},
    {"add|sub|mul|ex2|tanh|set|setp|atom|red", "bf16|bf16x2", 90},
    {"cvt", "f16x2 f32", 80},
    {"cvt", "bf16 bf16", 90},
    {"cvt", "ftz f32 bf16", 90},
    {"cvt", "bf16 f16|f64|u8|s8|u16|s16|u32|s32|u64|s64", 90},
    {"cvt", "tf32 rn|rz", 90},
    {"atom|red", "b128|v2|v4|v8", 90},
    {"cp|redux|discard|applypriority|createpolicy", "", 80},
    {"prefetch", "L2::evict_last|L2::evict_normal", 80},
    {"prefetch", "tensormap", 90},
    {"fence", "async|async::generic|tensormap::generic", 90},
    {"stmatrix|elect|griddepcontrol|setmaxnreg", "", 90},
};

/* The word is one of those in list[0, n), which `|` separates. */
static bool in_list(const char *list, size_t n, const char *word) {
    const size_t length = strlen(word);
    for (const char *s = list; s < list + n;) {
        const size_t one = strcspn(s, "| ");
        if (one == length && !strncmp(s, word, length))
            return true;
        s += one + 1;
    }
    return false;
}

static bool has_parts(const struct ptx_instruction *in, const char *wanted) {
    unsigned taken = 0;
    for (const char *s = wanted; *s;) {
        const size_t n = strcspn(s, " ");
        size_t i = 0;
        while (i < in->part_count && (taken >> i & 1 || !in_list(s, n, in->parts[i])))
            ++i;
        if (i == in->part_count)
            return false;
        taken |= 1u << i;
        s += n + (s[n] == ' ');
    }
    return true;
}

/* Special registers that came with clusters. */
static unsigned operand_requires(const struct ptx_operand *o) {
    static const char *const later[] = {"%cluster", "%ncluster", "%is_explicit_cluster", "%aggr_smem_size"};
    for (size_t i = 0; o->kind == PTX_OP_SPECIAL && i < sizeof later / sizeof *later; ++i)
        if (!strncmp(o->name, later[i], strlen(later[i])))
            return 90;
    return 0;
}

unsigned instruction_requires(const struct ptx_instruction *in) {
    unsigned sm = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const struct row *r = &rows[i];
        const bool mine = *r->opcodes ? in_list(r->opcodes, strlen(r->opcodes), in->opcode) : strcmp(in->opcode, "mma");
        if (mine && r->sm > sm && has_parts(in, r->parts))
            sm = r->sm;
    }
    for (size_t i = 0; i < in->operand_count; ++i) {
        const unsigned least = operand_requires(&in->operands[i]);
        sm = least > sm ? least : sm;
    }
    return sm;
}

bool target_fits(const struct ptx_module *m, const struct arch *arch, char **why) {
    char *end;
    const unsigned sm = (unsigned)strtoul(m->target + strlen("sm_"), &end, 10);
    const bool fits = *end == 'a'   ? sm == arch->sm
                      : *end == 'f' ? sm <= arch->sm && sm / 10 == arch->sm / 10
                                    : sm <= arch->sm;
    *why = fits ? NULL : must_format("the module is compiled for %s (.target)", m->target);
    return fits;
}
