#include "json.h"
#include "../gpu/device/device.h"
#include "../ref/checked.h"
#include "../ref/half.h"
#include "json_node.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fy_node *where_node(struct fy_document *d, const struct where *p) {
    struct fy_node *m = fy_node_create_mapping(d);
    if (p->launch > 0) {
        json_add(d, m, "launch", json_number(d, "%zu", p->launch));
    }
    if (p->buffer != NULL) {
        json_add_string(d, m, "buffer", p->buffer);
        json_add(d, m, "byte", json_number(d, "%" PRId64, p->offset));
    }
    for (int i = 0; i < 2; ++i) {
        if (p->axis[i] != NULL && p->cell[i] >= 0) {
            const bool taken =
                strcmp(p->axis[i], "block") == 0 && (p->has_thread || p->has_block); /* by the launch's */
            json_add(d, m, taken ? "row_block" : p->axis[i], json_number(d, "%" PRId64, p->cell[i]));
        }
    }
    if (p->has_thread || p->has_block) {
        struct fy_node *block = fy_node_create_sequence(d);
        for (int i = 0; i < 3; ++i) {
            fy_node_sequence_append(block, json_number(d, "%u", p->block[i]));
        }
        json_add(d, m, "block", block);
    }
    if (p->has_thread) {
        json_add(d, m, "warp", json_number(d, "%u", p->warp));
        json_add(d, m, "lane", json_number(d, "%u", p->lane));
    }
    if (p->file != NULL) {
        json_add_string(d, m, "file", p->file);
        json_add(d, m, "line", json_number(d, "%d", p->line));
    }
    if (p->inlined_file != NULL) {
        json_add_string(d, m, "inlined_at_file", p->inlined_file);
        json_add(d, m, "inlined_at_line", json_number(d, "%d", p->inlined_line));
    }
    if (p->ptx_line > 0) {
        json_add(d, m, "ptx_line", json_number(d, "%d", p->ptx_line));
    }
    json_add_string(d, m, "instruction", p->instruction);
    return m;
}

struct fy_node *json_finding(struct fy_document *d, const struct finding *f) {
    struct fy_node *m = fy_node_create_mapping(d);
    json_add_string(d, m, "oracle", f->oracle);
    json_add_string(d, m, "verdict", verdict_name(f->verdict));
    json_add(d, m, "where", where_node(d, &f->where));
    if (f->has_values) {
        char want[24], got[24];
        snprintf(want, sizeof want, "0x%0*" PRIx64, (int)f->value_bytes * 2, f->want);
        snprintf(got, sizeof got, "0x%0*" PRIx64, (int)f->value_bytes * 2, f->got);
        json_add_string(d, m, "want", want);
        json_add_string(d, m, "got", got);
    }
    json_add_string(d, m, "summary", f->summary);
    json_add_string(d, m, "suspects", f->suspects);
    return m;
}

static struct fy_node *print_node(struct fy_document *d, const struct trace_print *p) {
    struct fy_node *m = fy_node_create_mapping(d), *block = fy_node_create_sequence(d);
    for (int i = 0; i < 3; ++i) {
        fy_node_sequence_append(block, json_number(d, "%u", p->block[i]));
    }
    json_add(d, m, "block", block);
    json_add(d, m, "warp", json_number(d, "%u", p->warp));
    json_add(d, m, "lane", json_number(d, "%u", p->lane));
    json_add_string(d, m, "text", p->text);
    return m;
}

const char *ruling_name(enum ruling r) {
    return r == RULING_CLEAN ? "clean" : r == RULING_FOUND ? "found" : "not judged";
}

static struct fy_node *outcome_node(struct fy_document *d, const struct outcome *o) {
    struct fy_node *m = fy_node_create_mapping(d);
    json_add_string(d, m, "case", o->id);
    json_add_string(d, m, "kernel", o->about);
    json_add_string(d, m, "build", o->canary ? "canary" : NULL);
    json_add_string(d, m, "verdict", verdict_name(outcome_verdict(o)));
    json_add_string(d, m, "why", o->why);
    if (o->judged) {
        struct fy_node *rulings = fy_node_create_mapping(d);
        for (size_t i = 0; oracles[i] != NULL; ++i) {
            json_add_string(d, rulings, oracles[i]->name, ruling_name(o->rulings[i]));
        }
        json_add(d, m, "oracles", rulings);
        if (!o->on_gpu) {
            struct fy_node *schedules = fy_node_create_sequence(d);
            for (size_t i = 0; i < o->schedule_count; ++i) {
                fy_node_sequence_append(schedules, json_string(d, o->schedules[i]));
            }
            json_add(d, m, "schedules", schedules);
        }
        json_add_string(d, m, "digest", o->digest);
        if (!o->on_gpu) {
            json_add(d, m, "warp_instructions", json_number(d, "%" PRIu64, o->warp_instructions));
            json_add(d, m, "macs", json_number(d, "%" PRIu64, o->macs));
        }
        struct fy_node *audit = fy_node_create_mapping(d);
        for (int k = 0; k < AUDIT_KINDS; ++k) {
            if (o->audit[k] > 0) {
                json_add(d, audit, audit_names[k], json_number(d, "%zu", o->audit[k]));
            }
        }
        json_add(d, m, "audit", audit);
    }
    struct fy_node *list = fy_node_create_sequence(d);
    for (size_t i = 0; i < o->findings.count; ++i) {
        fy_node_sequence_append(list, json_finding(d, &o->findings.items[i]));
    }
    if (o->print_count > 0) {
        struct fy_node *prints = fy_node_create_sequence(d);
        for (size_t i = 0; i < o->print_count; ++i) {
            fy_node_sequence_append(prints, print_node(d, &o->prints[i]));
        }
        json_add(d, m, "printed", json_number(d, "%" PRIu64, o->print_total));
        json_add(d, m, "prints", prints);
    }
    json_add(d, m, "findings", list);
    if (o->findings.note_count > 0) {
        struct fy_node *notes = fy_node_create_sequence(d);
        for (size_t i = 0; i < o->findings.note_count; ++i) {
            fy_node_sequence_append(notes, json_string(d, o->findings.notes[i]));
        }
        json_add(d, m, "notes", notes);
    }
    if (o->findings.count > 0) {
        json_add_string(d, m, "rerun", o->rerun);
    }
    return m;
}

struct fy_node *json_devices(struct fy_document *d, int first, int count) {
    struct fy_node *list = fy_node_create_sequence(d);
    struct device_identity id;
    struct error e;
    for (int i = first; i < first + count && device_identify(i, &id, &e); ++i) {
        struct fy_node *m = fy_node_create_mapping(d);
        json_add(d, m, "device", json_number(d, "%d", i));
        json_add_string(d, m, "name", id.name);
        json_add(d, m, "sm", json_number(d, "%d", id.sm));
        json_add_string(d, m, "driver", id.driver);
        fy_node_sequence_append(list, m);
    }
    return list;
}

static struct fy_node *totals_node(struct fy_document *d, const struct totals *t) {
    struct fy_node *m = fy_node_create_mapping(d), *s = fy_node_create_mapping(d);
    json_add(d, s, "passed", json_number(d, "%zu", t->passed));
    json_add(d, s, "failed", json_number(d, "%zu", t->failed));
    json_add(d, s, "skipped", json_number(d, "%zu", t->skipped));
    json_add(d, s, "threads", json_number(d, "%d", t->threads));
    json_add_string(d, s, "runner", t->on_gpu ? "device" : "machine");
    json_add(d, s, "launches", json_number(d, "%zu", t->launches));
    if (!t->on_gpu) {
        json_add(d, s, "warp_instructions", json_number(d, "%" PRIu64, t->warp_instructions));
        json_add(d, s, "macs", json_number(d, "%" PRIu64, t->macs));
    }
    if (t->on_gpu) {
        json_add(d, s, "devices", json_devices(d, t->gpu_first, t->gpus));
    }
    json_add(d, s, "execution_seconds", json_number(d, "%.6f", t->seconds));
    json_add(d, s, "wall_seconds", json_number(d, "%.6f", t->wall_seconds));
    json_add(d, m, "summary", s);
    return m;
}

bool json_write(const char *path, const struct outcome *outcomes, size_t count, const struct totals *totals,
                struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d;
    for (size_t i = 0; i <= count && (d = json_next(&lines)) != NULL; ++i) {
        json_put(&lines, d, i < count ? outcome_node(d, &outcomes[i]) : totals_node(d, totals));
    }
    return json_end(&lines, path, e);
}
