#include "in_step.h"
#include "../ref/checked.h"
#include <inttypes.h>
#include <string.h>

static const char side_names[2] = {'A', 'B'};

/* "0, 1 and 5..8" */
static void lanes_text(FILE *out, uint32_t lanes) {
    const int n = __builtin_popcount(lanes);
    fprintf(out, "%d lane%s differ%s: ", n, n == 1 ? "" : "s", n == 1 ? "s" : "");
    for (unsigned i = 0, some = 0; i < 32; ++i) {
        if ((lanes >> i & 1) == 0) {
            continue;
        }
        unsigned last = i;
        while (last < 31 && lanes >> (last + 1) & 1) {
            ++last;
        }
        fprintf(out, "%s%u", some++ > 0 ? ", " : "", i);
        if (last > i) {
            fprintf(out, "%s%u", last == i + 1 ? ", " : "..", last);
        }
        i = last;
    }
    fprintf(out, "\n");
}

/* "@!%p1 ", as the PTX has it ahead of the opcode. */
static void guard_text(FILE *out, const struct ptx_module *m, const struct ptx_instruction *in) {
    size_t end = in->ptx_at, at;
    while (end > 0 && strchr(" \t", m->text[end - 1]) != NULL) {
        --end;
    }
    for (at = end; at > 0 && end - at < 64 && m->text[at] != '@' && m->text[at] != '\n';) {
        --at;
    }
    if (in->guard >= 0 && m->text[at] == '@') {
        fprintf(out, "%.*s ", (int)(end - at), m->text + at);
    }
}

/* "PTX:LINE (SOURCE:LINE, inlined at SOURCE:LINE, SOURCE:LINE)  TEXT", the innermost call first */
static void site_text(FILE *out, const struct ptx_module *m, const struct ptx_instruction *in, const char *path) {
    if (in == NULL) {
        fprintf(out, "%s\n", path);
        return;
    }
    fprintf(out, "%s:%d", path, in->ptx_line);
    if (in->file >= 0) {
        fprintf(out, " (%s:%d", m->files[in->file], in->line);
        const char *label = ", inlined at";
        for (size_t i = 0; i < in->inlined_count; ++i) {
            const struct ptx_call_place *at = &in->inlined[i];
            if (at->file >= 0 && (size_t)at->file < m->file_count && m->files[at->file] != NULL) {
                fprintf(out, "%s %s:%d", label, m->files[at->file], at->line);
                label = ",";
            }
        }
        fprintf(out, ")");
    }
    fprintf(out, "  ");
    guard_text(out, m, in);
    fprintf(out, "%s\n", in->text);
}

static void thread_text(FILE *out, size_t launch, size_t launches, const uint32_t block[3], uint32_t warp) {
    if (launches > 1) {
        fprintf(out, "launch %zu ", launch);
    }
    fprintf(out, "block (%u,%u,%u) warp %u", block[0], block[1], block[2], warp);
}

static void value_text(FILE *out, const struct in_step_side *s, unsigned bits, bool is_address) {
    fprintf(out, "%s%s = ", is_address ? "address " : "", s->name != NULL ? s->name : "literal");
    if (bits == 1) {
        fprintf(out, "%" PRIu64, s->value);
    } else {
        fprintf(out, "0x%0*" PRIx64, bits == 64 ? 16 : 8, s->value);
    }
    if (is_address) {
        return;
    }
    if (s->name != NULL && strncmp(s->name, "%f", 2) == 0 && bits == 32) {
        float f;
        const uint32_t u = (uint32_t)s->value;
        memcpy(&f, &u, sizeof f);
        fprintf(out, " (%.9g)", (double)f);
    } else if (bits == 32) {
        fprintf(out, " (%" PRId32 ")", (int32_t)(uint32_t)s->value);
    }
}

static void difference_text(FILE *out, const char *label, const struct in_step *x, enum difference_kind kind,
                            const char *const paths[2], size_t launches) {
    const struct difference *d = &x->first[kind];
    fprintf(out, "%-7s %s, ", label, difference_names[kind]);
    thread_text(out, d->launch, launches, d->block, d->warp);
    fprintf(out, " lane %u, step %" PRIu64 " of the warp%s\n", d->lane, d->step,
            d->apart ? ", after the programs parted" : "");
    for (int k = 0; k < 2; ++k) {
        const struct in_step_side *s = &d->side[k];
        fprintf(out, "  %c     ", side_names[k]);
        if (!s->present) {
            fprintf(out, "the warp has no such step\n");
            continue;
        }
        if (s->executed) {
            value_text(out, s, d->bits, d->is_address);
        } else {
            fprintf(out, "the lane does not execute it");
        }
        fprintf(out, "\n        ");
        site_text(out, x->modules[k], s->text, paths[k]);
    }
    fprintf(out, "        ");
    lanes_text(out, d->lanes);
}

/* What the programs do not have alike, and the first difference comes from. */
static void causes_text(FILE *out, const struct in_step *x, const char *const paths[2]) {
    static const char *const words[] = {"alone", "same", "other registers", "changed", "moved"};
    const struct in_step_causes *c = &x->causes;
    static const char *const labels[] = {"from", "memory", "before", "control", "before"};
    const char *label = labels[c->by];
    if (c->by == CAUSE_EFFECT && !x->judged_apart) {
        return; /* nothing differs */
    }
    for (int k = 0; k < 2; ++k) {
        for (size_t i = 0; i < c->count[k]; ++i) {
            fprintf(out, "%-7s %c %s  ", label, side_names[k], words[c->at[k][i].how]);
            site_text(out, x->modules[k], c->at[k][i].text, paths[k]);
            label = "";
        }
    }
}

static void parting_text(FILE *out, const struct in_step *x, const char *const paths[2], size_t launches) {
    const struct parting *p = &x->parting;
    fprintf(out, "parted  %" PRIu64 " of %" PRIu64 " warps go on by other instructions; first ", x->parted, x->warps);
    thread_text(out, p->launch, launches, p->block, p->warp);
    fprintf(out, ", step %" PRIu64 ": the programs differ too much from here\n", p->step);
    for (int k = 0; k < 2; ++k) {
        fprintf(out, "  %c     ", side_names[k]);
        if (p->side[k].present) {
            site_text(out, x->modules[k], p->side[k].text, paths[k]);
        } else {
            fprintf(out, "the warp has no step more\n");
        }
    }
}

static void output_text(FILE *out, const struct in_step *x, const char *const paths[2]) {
    const struct output_difference *o = &x->output;
    if (o->buffer == NULL) {
        fprintf(out, "output  equal\n");
        return;
    }
    fprintf(out, "output  %s: %" PRIu64 " of %" PRIu64 " cells differ, first cell %" PRIu64 " (byte %" PRIu64 ")\n",
            o->buffer, o->wrong, o->cells, o->cell, o->offset);
    for (int k = 0; k < 2; ++k) {
        const int digits = o->cell_bytes < 8 ? 2 * (int)o->cell_bytes : 16;
        fprintf(out, "  %c     0x%0*" PRIx64, side_names[k], digits, o->value[k]);
        if (o->is_f32) {
            float f;
            const uint32_t u = (uint32_t)o->value[k];
            memcpy(&f, &u, sizeof f);
            fprintf(out, " (%.9g)", (double)f);
        }
        if (!o->by[k].stored) {
            fprintf(out, "   nobody stored it\n");
            continue;
        }
        fprintf(out, "   block (%u,%u,%u) warp %u lane %u stored it\n        ", o->by[k].block[0], o->by[k].block[1],
                o->by[k].block[2], o->by[k].warp, o->by[k].lane);
        site_text(out, x->modules[k], o->by[k].text, paths[k]);
    }
}

static void aligned_text(FILE *out, const struct in_step *x) {
    const struct aligned_counts *a = &x->aligned;
    fprintf(out,
            "pairs   %zu instructions, %zu of them changed, %zu by other registers; %zu moved, %zu in A alone, %zu in "
            "B alone%s\n",
            a->pairs[ALIGNED_SAME] + a->pairs[ALIGNED_REGISTERS] + a->pairs[ALIGNED_CHANGED], a->pairs[ALIGNED_CHANGED],
            a->pairs[ALIGNED_REGISTERS], a->moved, a->alone[0], a->alone[1],
            x->too_far ? "; the programs differ too much to pair all" : "");
    if (in_step_verdict(x) == IN_STEP_CANNOT_JUDGE) {
        fprintf(
            out,
            "open    the output is equal, and the step that differs is one of programs that differ: that may be the "
            "builds' own affair\n");
    }
}

/* After the first of all the others follow as data does: loaded, multiplied, stored. */
void in_step_text(FILE *out, const struct in_step *x, const char *const paths[2], size_t launches) {
    const bool apart = x->parting.found && (x->earliest < 0 || x->first[x->earliest].apart);
    for (int k = 0; k < 2; ++k) {
        if (!x->ran[k]) {
            fprintf(out, "%c       does not run to its end\n", side_names[k]);
        }
    }
    if (apart) {
        parting_text(out, x, paths, launches);
    }
    if (x->earliest >= 0) {
        difference_text(out, "first", x, (enum difference_kind)x->earliest, paths, launches);
    } else {
        fprintf(out, "first   no step that was compared differs\n");
    }
    causes_text(out, x, paths);
    for (int k = 0; k < DIFFERENCES; ++k) {
        if (x->first[k].found && k != x->earliest) {
            difference_text(out, "also", x, (enum difference_kind)k, paths, launches);
        }
    }
    if (x->parting.found && !apart) {
        parting_text(out, x, paths, launches);
    }
    output_text(out, x, paths);
    aligned_text(out, x);
    fprintf(out, "steps   %" PRIu64 " of %" PRIu64 " warps compared, %" PRIu64 " of them in step\n", x->steps, x->warps,
            x->together);
}
