#include "json.h"
#include "../ref/checked.h"
#include "../ref/half.h"
#include "file.h"
#include <inttypes.h>
#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are not UTF-8 (names inside hostile PTX) become '?': a JSON text holds nothing else. */
static void make_utf8(char *s) {
    for (unsigned char *p = (unsigned char *)s; *p != 0;) {
        const int n = *p < 0x80                 ? 1
                      : *p >= 0xc2 && *p < 0xe0 ? 2
                      : *p >= 0xe0 && *p < 0xf0 ? 3
                      : *p >= 0xf0 && *p < 0xf5 ? 4
                                                : 0;
        bool good = n > 0;
        for (int i = 1; i < n && good; ++i) {
            good = (p[i] & 0xc0) == 0x80;
        }
        if (n == 3 && good) {
            const unsigned code = (p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
            good = code >= 0x800 && (code < 0xd800 || code > 0xdfff);
        }
        if (n == 4 && good) {
            const unsigned code = (p[0] & 7u) << 18 | (p[1] & 63u) << 12 | (p[2] & 63u) << 6 | (p[3] & 63u);
            good = code >= 0x10000 && code <= 0x10ffff;
        }
        if (!good) {
            *p++ = '?';
        } else {
            p += n;
        }
    }
}

/* A string scalar. Words that YAML would read as a number, a boolean or null keep their quotes. */
static struct fy_node *string_node(struct fy_document *d, const char *s) {
    if (s[strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-._~")] == 0) {
        return fy_node_buildf(d, "\"%s\"", s);
    }
    char *copy = must_strdup(s);
    make_utf8(copy);
    struct fy_node *n = fy_node_create_scalar_copy(d, copy, FY_NT);
    free(copy);
    return n;
}

static struct fy_node *number_node(struct fy_document *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static struct fy_node *number_node(struct fy_document *d, const char *format, ...) {
    char text[64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return fy_node_create_scalar_copy(d, text, FY_NT);
}

static void add(struct fy_document *d, struct fy_node *map, const char *key, struct fy_node *value) {
    fy_node_mapping_append(map, fy_node_create_scalar_copy(d, key, FY_NT), value);
}
static void add_string(struct fy_document *d, struct fy_node *map, const char *key, const char *s) {
    if (s != NULL) {
        add(d, map, key, string_node(d, s));
    }
}

static struct fy_node *where_node(struct fy_document *d, const struct where *p) {
    struct fy_node *m = fy_node_create_mapping(d);
    if (p->buffer != NULL) {
        add_string(d, m, "buffer", p->buffer);
        add(d, m, "byte", number_node(d, "%" PRId64, p->offset));
    }
    for (int i = 0; i < 2; ++i) {
        if (p->axis[i] != NULL && p->cell[i] >= 0) {
            add(d, m, p->axis[i], number_node(d, "%" PRId64, p->cell[i]));
        }
    }
    if (p->has_thread) {
        struct fy_node *block = fy_node_create_sequence(d);
        for (int i = 0; i < 3; ++i) {
            fy_node_sequence_append(block, number_node(d, "%u", p->block[i]));
        }
        add(d, m, "block", block);
        add(d, m, "warp", number_node(d, "%u", p->warp));
        add(d, m, "lane", number_node(d, "%u", p->lane));
    }
    if (p->file != NULL) {
        add_string(d, m, "file", p->file);
        add(d, m, "line", number_node(d, "%d", p->line));
    }
    if (p->inlined_file != NULL) {
        add_string(d, m, "inlined_at_file", p->inlined_file);
        add(d, m, "inlined_at_line", number_node(d, "%d", p->inlined_line));
    }
    if (p->ptx_line > 0) {
        add(d, m, "ptx_line", number_node(d, "%d", p->ptx_line));
    }
    add_string(d, m, "instruction", p->instruction);
    return m;
}

static struct fy_node *finding_node(struct fy_document *d, const struct finding *f) {
    struct fy_node *m = fy_node_create_mapping(d);
    add_string(d, m, "oracle", f->oracle);
    add_string(d, m, "verdict", verdict_name(f->verdict));
    add(d, m, "where", where_node(d, &f->where));
    if (f->has_values) {
        char want[24], got[24];
        snprintf(want, sizeof want, "0x%0*" PRIx64, (int)f->value_bytes * 2, f->want);
        snprintf(got, sizeof got, "0x%0*" PRIx64, (int)f->value_bytes * 2, f->got);
        add_string(d, m, "want", want);
        add_string(d, m, "got", got);
    }
    add_string(d, m, "summary", f->summary);
    add_string(d, m, "suspects", f->suspects);
    return m;
}

static const char *ruling_name(enum ruling r) {
    return r == RULING_CLEAN ? "clean" : r == RULING_FOUND ? "found" : "not judged";
}

static struct fy_node *outcome_node(struct fy_document *d, const struct outcome *o) {
    struct fy_node *m = fy_node_create_mapping(d);
    add_string(d, m, "case", o->id);
    add_string(d, m, "kernel", o->about);
    add_string(d, m, "verdict", verdict_name(outcome_verdict(o)));
    add_string(d, m, "why", o->why);
    if (o->judged) {
        struct fy_node *rulings = fy_node_create_mapping(d);
        for (size_t i = 0; oracles[i] != NULL; ++i) {
            add_string(d, rulings, oracles[i]->name, ruling_name(o->rulings[i]));
        }
        add(d, m, "oracles", rulings);
        add_string(d, m, "digest", o->digest);
        add(d, m, "warp_instructions", number_node(d, "%" PRIu64, o->warp_instructions));
        add(d, m, "macs", number_node(d, "%" PRIu64, o->macs));
    }
    struct fy_node *list = fy_node_create_sequence(d);
    for (size_t i = 0; i < o->findings.count; ++i) {
        fy_node_sequence_append(list, finding_node(d, &o->findings.items[i]));
    }
    add(d, m, "findings", list);
    if (o->findings.count > 0) {
        add_string(d, m, "rerun", o->rerun);
    }
    return m;
}

static struct fy_node *totals_node(struct fy_document *d, const struct totals *t) {
    struct fy_node *m = fy_node_create_mapping(d), *s = fy_node_create_mapping(d);
    add(d, s, "passed", number_node(d, "%zu", t->passed));
    add(d, s, "failed", number_node(d, "%zu", t->failed));
    add(d, s, "skipped", number_node(d, "%zu", t->skipped));
    add(d, s, "threads", number_node(d, "%d", t->threads));
    add(d, s, "warp_instructions", number_node(d, "%" PRIu64, t->warp_instructions));
    add(d, s, "macs", number_node(d, "%" PRIu64, t->macs));
    add(d, s, "execution_seconds", number_node(d, "%.6f", t->seconds));
    add(d, s, "wall_seconds", number_node(d, "%.6f", t->wall_seconds));
    add(d, m, "summary", s);
    return m;
}

/* One record, one line. */
static bool write_record(FILE *out, struct fy_document *d, struct fy_node *root) {
    fy_document_set_root(d, root);
    char *text = fy_emit_document_to_string(d, FYECF_MODE_JSON_ONELINE | FYECF_WIDTH_INF);
    bool good = text != NULL;
    if (good) {
        const size_t n = strcspn(text, "\n");
        good = fwrite(text, 1, n, out) == n && fputc('\n', out) != EOF;
    }
    free(text);
    return good;
}

bool json_write(const char *path, const struct outcome *outcomes, size_t count, const struct totals *totals,
                struct error *e) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool good = out != NULL;
    for (size_t i = 0; good && i <= count; ++i) {
        struct fy_document *d = fy_document_create(NULL);
        good = d != NULL && write_record(out, d, i < count ? outcome_node(d, &outcomes[i]) : totals_node(d, totals));
        fy_document_destroy(d);
    }
    if (out != NULL) {
        good = fclose(out) == 0 && good;
    }
    good = good ? file_put(path, text, size, e) : fail(e, "%s: no memory for the JSON text", path);
    free(text);
    return good;
}
