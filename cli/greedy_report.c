/* What `warpproof greedy` prints, and its JSON. */
#include "../gpu/bind.h"
#include "../ref/checked.h"
#include "../ref/half.h"
#include "../ref/printable.h"
#include "../reports/json_node.h"
#include "../reports/terminal.h"
#include "greedy.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const tensor_names[LAYER_WEIGHTS + 1] = {"attn_q",   "attn_k", "attn_v",   "attn_output",
                                                            "ffn_gate", "ffn_up", "ffn_down", "head"};

/* "attn_q attn_k"; the caller frees it. */
static char *tensors_text(unsigned tensors) {
    char *text = must_strdup("");
    for (unsigned i = 0; i <= LAYER_WEIGHTS; ++i) {
        if (tensors >> i & 1) {
            char *more = must_format("%s%s%s", text, text[0] != 0 ? " " : "", tensor_names[i]);
            free(text);
            text = more;
        }
    }
    return text;
}

static const char *shown(char room[64], const char *text) {
    return printable(room, 64, text, strlen(text));
}

static void report_tokens(FILE *out, const struct decoded *d) {
    fprintf(out, "%5s  %8s  %8s  %8s  %s%s\n", "step", "id", "margin", "other", d->forced != NULL ? "  fed  " : "",
            d->pieces != NULL ? "piece" : "");
    for (size_t i = 0; i < d->count; ++i) {
        const struct decoder_choice *c = &d->choices[i];
        char fed[32] = "", piece[64] = "";
        if (d->forced != NULL) {
            snprintf(fed, sizeof fed, "%8u%s  ", d->forced[i], d->forced[i] == c->id ? "" : " *");
        }
        if (d->pieces != NULL) {
            snprintf(piece, sizeof piece, "%s", d->pieces[i]); /* printable already */
        }
        fprintf(out, c->margin < 1e6 ? "%5zu  %8u  %8.3f  %8u  %s%s\n" : "%5zu  %8u  %8.1e  %8u  %s%s\n", i, c->id,
                c->margin, c->other, fed, piece);
    }
    if (d->forced != NULL) {
        fprintf(out, "agreement  %zu of %zu positions chose the id that was fed\n", d->agreed, d->count);
    }
}

static void report_served(FILE *out, const struct greedy_arm *a) {
    fprintf(out, "\n%-8s %-6s %-24s %-26s %9s %14s %14s %9s  %s\n", "format", "tokens", "kernel", "contract",
            "products", "MACs", "bits compared", "seconds", "tensors");
    for (size_t i = 0; i < a->served_count; ++i) {
        const struct served *s = &a->served[i];
        char *tensors = tensors_text(s->tensors);
        const bool ran = a->runner != NULL && s->row->spec != NULL;
        fprintf(out, "%-8s %-6s %-24s %-26s %9" PRIu64 " %14" PRIu64 " %14" PRIu64 " %9.2f  %s\n", s->row->format,
                s->single ? "1" : "prompt", ran ? s->row->spec->kernel : "reference",
                s->row->contract != NULL ? s->row->contract->name : "plain", s->products, s->macs, s->bits,
                ran ? s->seconds : s->reference_seconds, tensors);
        free(tensors);
    }
}

static void report_difference(FILE *out, const struct greedy_arm *a) {
    const struct difference *f = &a->difference;
    char name[64], layer[32] = "the head";
    if (f->layer != SIZE_MAX) {
        snprintf(layer, sizeof layer, "layer %zu", f->layer);
    }
    fprintf(out, "\n%s step %zu, %s, tensor %s, kernel %s, nt = %zu%s\n", verdict_name(greedy_verdict(f)), f->step,
            layer, shown(name, f->tensor), f->kernel, f->nt, f->quantiser ? ": the quantised activation" : "");
    if (f->wrong > 0 && f->got == BIND_POISON) {
        fprintf(out, "  first   token %zu (position %zu), %s %zu   want 0x%08x   never written\n", f->token,
                f->position, f->quantiser ? "word of its blocks" : "row", f->row, f->want);
    } else if (f->wrong > 0 && f->quantiser) {
        fprintf(out, "  first   token %zu (position %zu), word %zu of its blocks   want 0x%08x   got 0x%08x\n",
                f->token, f->position, f->row, f->want, f->got);
    } else if (f->wrong > 0) {
        fprintf(out, "  first   token %zu (position %zu), row %zu   want 0x%08x %.9g   got 0x%08x %.9g\n", f->token,
                f->position, f->row, f->want, bits_float(f->want), f->got, bits_float(f->got));
    } else {
        fprintf(out, "  first   no bit differs: a watch found a fault\n");
    }
    const bool alone = f->outcome.id != NULL, right = alone && outcome_verdict(&f->outcome) == VERDICT_PASS;
    if (f->shape != NULL && (!alone || right)) {
        fprintf(out, "  shape   %s%s%s\n", f->shape, f->suspects != NULL ? "   -> " : "",
                f->suspects != NULL ? f->suspects : "");
    }
    if (f->operands != NULL) {
        fprintf(out, "  operand %s\n", f->operands);
    }
    if (right) {
        fprintf(out, "  alone   the kernel has its contract's bits on the operands it got%s\n",
                f->operands != NULL ? ": the fault is in what it was given" : "");
    } else if (alone) {
        fprintf(out, "  alone   these operands once more, all watched:\n");
        terminal_failures(out, &f->outcome, 1, 1, 0);
    }
    if (f->rerun != NULL) {
        fprintf(out, "  case    %s\n  rerun   %s%s\n", f->folder, f->rerun,
                right ? "   (which passes: the operands are as the kernel got them)" : "");
    } else if (f->unwritten != NULL) {
        fprintf(out, "  case    not written: %s\n", f->unwritten);
    }
}

void greedy_report(FILE *out, const struct greedy_arm *a, const struct decoded *d) {
    const struct decoder_model *m = a->model;
    char name[256];
    fprintf(out, "model   %s: %s, %zu layers, width %zu, %zu heads over %zu key heads of %zu, vocabulary %zu\n",
            printable(name, sizeof name, d->model, strlen(d->model)), m->architecture, m->layers, m->width, m->heads,
            m->key_heads, m->key_size, m->vocabulary);
    fprintf(out, "arm     %s%s%s\nprompt  %zu token%s:", d->arm, a->plan != NULL ? ", plan " : "",
            a->plan != NULL ? a->plan->name : "", d->prompt_count, plural(d->prompt_count));
    for (size_t i = 0; i < d->prompt_count && i < 16; ++i) {
        fprintf(out, " %u", d->prompt[i]);
    }
    fprintf(out, "%s\n\n", d->prompt_count > 16 ? " ..." : "");
    report_tokens(out, d);
    if (a->plan != NULL) {
        report_served(out, a);
    }
    if (a->difference.present) {
        report_difference(out, a);
    }
}

/* ---- JSON ---- */

static struct fy_node *ids(struct fy_document *doc, const uint32_t *id, size_t count) {
    struct fy_node *list = fy_node_create_sequence(doc);
    for (size_t i = 0; i < count; ++i) {
        fy_node_sequence_append(list, json_number(doc, "%u", id[i]));
    }
    return list;
}

static struct fy_node *json_served(struct fy_document *doc, const struct greedy_arm *a) {
    struct fy_node *list = fy_node_create_sequence(doc);
    for (size_t i = 0; i < a->served_count; ++i) {
        const struct served *s = &a->served[i];
        struct fy_node *map = fy_node_create_mapping(doc);
        char *tensors = tensors_text(s->tensors);
        json_add_string(doc, map, "format", s->row->format);
        json_add_string(doc, map, "tokens", s->single ? "one" : "prompt");
        json_add_string(doc, map, "kernel", a->runner != NULL && s->row->spec != NULL ? s->row->spec->kernel : NULL);
        json_add_string(doc, map, "contract", s->row->contract != NULL ? s->row->contract->name : "plain");
        json_add_string(doc, map, "tensors", tensors);
        json_add(doc, map, "products", json_number(doc, "%" PRIu64, s->products));
        json_add(doc, map, "macs", json_number(doc, "%" PRIu64, s->macs));
        json_add(doc, map, "bits_compared", json_number(doc, "%" PRIu64, s->bits));
        fy_node_sequence_append(list, map);
        free(tensors);
    }
    return list;
}

static struct fy_node *json_difference(struct fy_document *doc, const struct difference *f) {
    struct fy_node *map = fy_node_create_mapping(doc);
    json_add(doc, map, "step", json_number(doc, "%zu", f->step));
    json_add(doc, map, "layer", f->layer == SIZE_MAX ? json_number(doc, "null") : json_number(doc, "%zu", f->layer));
    json_add_string(doc, map, "tensor", f->tensor);
    json_add_string(doc, map, "kernel", f->kernel);
    json_add_string(doc, map, "of", f->quantiser ? "activation" : "product");
    json_add_string(doc, map, "verdict", verdict_name(greedy_verdict(f)));
    json_add(doc, map, "wrong", json_number(doc, "%zu", f->wrong));
    if (f->wrong > 0) { /* else a watch found a fault, and no cell is wrong */
        json_add(doc, map, "token", json_number(doc, "%zu", f->token));
        json_add(doc, map, "position", json_number(doc, "%zu", f->position));
        json_add(doc, map, "row", json_number(doc, "%zu", f->row));
        json_add(doc, map, "want", fy_node_buildf(doc, "\"0x%08x\"", f->want));
        json_add(doc, map, "got", fy_node_buildf(doc, "\"0x%08x\"", f->got));
    }
    if (f->outcome.findings.count > 0) {
        json_add_string(doc, map, "finding", f->outcome.findings.items[0].summary);
    }
    json_add_string(doc, map, "operand", f->operands);
    json_add_string(doc, map, "case", f->folder);
    json_add_string(doc, map, "rerun", f->rerun);
    return map;
}

static struct fy_node *json_run(struct fy_document *doc, const struct greedy_arm *a, const struct decoded *d) {
    struct fy_node *root = fy_node_create_mapping(doc), *margins = fy_node_create_sequence(doc);
    uint32_t *chosen = must_calloc(d->count + 1, sizeof *chosen);
    for (size_t i = 0; i < d->count; ++i) {
        chosen[i] = d->choices[i].id;
        fy_node_sequence_append(margins, json_number(doc, "%.6g", d->choices[i].margin));
    }
    json_add_string(doc, root, "model", d->model);
    if (a->runner != NULL) {
        json_add_string(doc, root, "verdict",
                        a->difference.present ? verdict_name(greedy_verdict(&a->difference)) : "PASS");
    }
    json_add_string(doc, root, "architecture", a->model->architecture);
    json_add_string(doc, root, "arm", d->arm);
    if (a->runner == &runner_device) {
        json_add(doc, root, "devices", json_devices(doc, a->devices->first, a->devices->count));
    }
    json_add_string(doc, root, "plan", a->plan != NULL ? a->plan->name : NULL);
    json_add(doc, root, "prompt", ids(doc, d->prompt, d->prompt_count));
    json_add(doc, root, "tokens", ids(doc, chosen, d->count));
    json_add(doc, root, "margins", margins);
    if (d->forced != NULL) {
        json_add(doc, root, "fed", ids(doc, d->forced, d->count));
        json_add(doc, root, "agreed", json_number(doc, "%zu", d->agreed));
    }
    json_add(doc, root, "served", json_served(doc, a));
    if (a->difference.present) {
        json_add(doc, root, "difference", json_difference(doc, &a->difference));
    }
    free(chosen);
    return root;
}

bool greedy_json(const char *path, const struct greedy_arm *a, const struct decoded *d, struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *doc = json_next(&lines);
    if (doc != NULL) {
        json_put(&lines, doc, json_run(doc, a, d));
    }
    return json_end(&lines, path, e);
}
