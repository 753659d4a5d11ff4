/* in_step.h as JSON. */
#include "in_step.h"
#include <inttypes.h>

static const char *const how_names[ALIGNED_HOWS] = {"alone", "same", "registers", "changed", "moved"};
static const char *const side_names[2] = {"a", "b"};

/* ptx_line, text, and the places in the source, the innermost first. */
static void add_site(struct fy_document *d, struct fy_node *m, const struct ptx_module *module,
                     const struct ptx_instruction *in) {
    if (in == NULL) {
        return;
    }
    json_add(d, m, "ptx_line", json_number(d, "%d", in->ptx_line));
    json_add_string(d, m, "text", in->text);
    struct fy_node *all = fy_node_create_sequence(d);
    const struct ptx_call_place at = {in->file, in->line};
    for (size_t i = 0; i <= in->inlined_count; ++i) {
        const struct ptx_call_place *p = i == 0 ? &at : &in->inlined[i - 1];
        if (p->file < 0 || (size_t)p->file >= module->file_count || module->files[p->file] == NULL) {
            continue;
        }
        struct fy_node *place = fy_node_create_mapping(d);
        json_add_string(d, place, "file", module->files[p->file]);
        json_add(d, place, "line", json_number(d, "%d", p->line));
        fy_node_sequence_append(all, place);
    }
    json_add(d, m, "source", all);
}

static struct fy_node *hexadecimal(struct fy_document *d, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    return json_string(d, text);
}

static struct fy_node *block_node(struct fy_document *d, const uint32_t block[3]) {
    struct fy_node *n = fy_node_create_sequence(d);
    for (int i = 0; i < 3; ++i) {
        fy_node_sequence_append(n, json_number(d, "%" PRIu32, block[i]));
    }
    return n;
}

static struct fy_node *difference_node(struct fy_document *d, const struct in_step *x, int kind) {
    const struct difference *f = &x->first[kind];
    struct fy_node *n = fy_node_create_mapping(d), *lanes = fy_node_create_sequence(d);
    json_add_string(d, n, "kind", difference_names[kind]);
    json_add(d, n, "launch", json_number(d, "%zu", f->launch));
    json_add(d, n, "block", block_node(d, f->block));
    json_add(d, n, "warp", json_number(d, "%" PRIu32, f->warp));
    json_add(d, n, "lane", json_number(d, "%" PRIu32, f->lane));
    json_add(d, n, "step", json_number(d, "%" PRIu64, f->step));
    json_add(d, n, "parted", json_bool(d, f->apart));
    json_add(d, n, "address", json_bool(d, f->is_address));
    for (unsigned i = 0; i < 32; ++i) {
        if (f->lanes >> i & 1) {
            fy_node_sequence_append(lanes, json_number(d, "%u", i));
        }
    }
    json_add(d, n, "lanes", lanes);
    for (int k = 0; k < 2; ++k) {
        const struct in_step_side *s = &f->side[k];
        struct fy_node *m = fy_node_create_mapping(d);
        if (s->present) {
            json_add(d, m, "executed", json_bool(d, s->executed));
            json_add_string(d, m, "register", s->name);
            json_add(d, m, "value", s->executed ? hexadecimal(d, s->value) : json_number(d, "null"));
            struct fy_node *all = fy_node_create_sequence(d); /* a lane each */
            for (unsigned i = 0; i < 32; ++i) {
                fy_node_sequence_append(all, f->of[k].executed >> i & 1 ? hexadecimal(d, f->of[k].values[i])
                                                                        : json_number(d, "null"));
            }
            json_add(d, m, "values", all);
            add_site(d, m, x->modules[k], s->text);
        }
        json_add(d, n, side_names[k], m);
    }
    return n;
}

static struct fy_node *causes_node(struct fy_document *d, const struct in_step *x) {
    static const char *const by[] = {"operands", "memory", "near", "control", "near"};
    struct fy_node *all = fy_node_create_sequence(d);
    for (int k = 0; (x->causes.by != CAUSE_EFFECT || x->judged_apart) && k < 2; ++k) {
        for (size_t i = 0; i < x->causes.count[k]; ++i) {
            struct fy_node *n = fy_node_create_mapping(d);
            json_add_string(d, n, "program", side_names[k]);
            json_add_string(d, n, "how", how_names[x->causes.at[k][i].how]);
            json_add_string(d, n, "by", by[x->causes.by]);
            add_site(d, n, x->modules[k], x->causes.at[k][i].text);
            fy_node_sequence_append(all, n);
        }
    }
    return all;
}

static struct fy_node *parting_node(struct fy_document *d, const struct in_step *x) {
    const struct parting *p = &x->parting;
    struct fy_node *n = fy_node_create_mapping(d);
    json_add(d, n, "warps", json_number(d, "%" PRIu64, x->parted));
    json_add(d, n, "launch", json_number(d, "%zu", p->launch));
    json_add(d, n, "block", block_node(d, p->block));
    json_add(d, n, "warp", json_number(d, "%" PRIu32, p->warp));
    json_add(d, n, "step", json_number(d, "%" PRIu64, p->step));
    for (int k = 0; k < 2; ++k) {
        struct fy_node *m = fy_node_create_mapping(d);
        if (p->side[k].present) {
            add_site(d, m, x->modules[k], p->side[k].text);
        }
        json_add(d, n, side_names[k], m);
    }
    return n;
}

static struct fy_node *output_node(struct fy_document *d, const struct in_step *x) {
    const struct output_difference *o = &x->output;
    struct fy_node *n = fy_node_create_mapping(d);
    json_add_string(d, n, "buffer", o->buffer);
    json_add(d, n, "cells", json_number(d, "%" PRIu64, o->cells));
    json_add(d, n, "wrong", json_number(d, "%" PRIu64, o->wrong));
    json_add(d, n, "cell", json_number(d, "%" PRIu64, o->cell));
    json_add(d, n, "byte", json_number(d, "%" PRIu64, o->offset));
    for (int k = 0; k < 2; ++k) {
        struct fy_node *m = fy_node_create_mapping(d);
        json_add(d, m, "value", hexadecimal(d, o->value[k]));
        json_add(d, m, "stored", json_bool(d, o->by[k].stored));
        if (o->by[k].stored) {
            add_site(d, m, x->modules[k], o->by[k].text);
        }
        json_add(d, n, side_names[k], m);
    }
    return n;
}

static struct fy_node *pairs_node(struct fy_document *d, const struct in_step *x) {
    const struct aligned_counts *a = &x->aligned;
    struct fy_node *n = fy_node_create_mapping(d);
    json_add(d, n, "same", json_number(d, "%zu", a->pairs[ALIGNED_SAME]));
    json_add(d, n, "changed", json_number(d, "%zu", a->pairs[ALIGNED_CHANGED]));
    json_add(d, n, "registers", json_number(d, "%zu", a->pairs[ALIGNED_REGISTERS]));
    json_add(d, n, "moved", json_number(d, "%zu", a->moved));
    json_add(d, n, "alone_in_a", json_number(d, "%zu", a->alone[0]));
    json_add(d, n, "alone_in_b", json_number(d, "%zu", a->alone[1]));
    json_add(d, n, "too_far", json_bool(d, x->too_far));
    return n;
}

struct fy_node *in_step_node(struct fy_document *d, const struct in_step *x) {
    static const char *const verdicts[] = {"same", "differs", "cannot judge"};
    struct fy_node *n = fy_node_create_mapping(d);
    json_add_string(d, n, "verdict", verdicts[in_step_verdict(x)]);
    json_add(d, n, "a_ran", json_bool(d, x->ran[0]));
    json_add(d, n, "b_ran", json_bool(d, x->ran[1]));
    json_add(d, n, "first", x->earliest >= 0 ? difference_node(d, x, x->earliest) : json_number(d, "null"));
    json_add(d, n, "causes", causes_node(d, x));
    struct fy_node *also = fy_node_create_sequence(d);
    for (int k = 0; k < DIFFERENCES; ++k) {
        if (x->first[k].found && k != x->earliest) {
            fy_node_sequence_append(also, difference_node(d, x, k));
        }
    }
    json_add(d, n, "also", also);
    json_add(d, n, "parted", x->parting.found ? parting_node(d, x) : json_number(d, "null"));
    json_add(d, n, "output", x->output.buffer != NULL ? output_node(d, x) : json_number(d, "null"));
    json_add(d, n, "pairs", pairs_node(d, x));
    json_add(d, n, "steps", json_number(d, "%" PRIu64, x->steps));
    json_add(d, n, "in_step", json_number(d, "%" PRIu64, x->together));
    return n;
}
