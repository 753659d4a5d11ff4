#include "terminal.h"
#include "../ref/checked.h"
#include "../ref/printable.h"
#include "audit.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Names of the data classes as they stand in an id, in the order that is a diagnosis. */
static const char *const classes[] = {"exact", "coded", "adv", "rand", "real", "file"};
#define CLASSES (sizeof classes / sizeof classes[0])

/* The class component of an id ("a/b/kernel/shape/CLASS/...") as an index, and where it starts; CLASSES: none. */
static size_t class_of(const char *id, size_t *start) {
    const char *p = id;
    for (int slash = 0; slash < 4 && p != NULL; ++slash) {
        p = strchr(p, '/');
        p = p != NULL ? p + 1 : NULL;
    }
    for (size_t c = 0; p != NULL && c < CLASSES; ++c) {
        const size_t n = strlen(classes[c]);
        if (strncmp(p, classes[c], n) == 0 && p[n] == '/') {
            *start = (size_t)(p - id);
            return c;
        }
    }
    return CLASSES;
}

/* Same id but for the class. */
static bool is_sibling(const char *a, const char *b) {
    size_t sa = 0, sb = 0;
    const size_t ca = class_of(a, &sa), cb = class_of(b, &sb);
    return ca < CLASSES && cb < CLASSES && ca != cb && sa == sb && strncmp(a, b, sa) == 0 &&
           strcmp(a + sa + strlen(classes[ca]), b + sb + strlen(classes[cb])) == 0;
}

/* Text of files (instructions, names) may hold anything: it is made printable first. */
static void print_line(FILE *out, const char *label, const char *text) {
    char safe[2048];
    fprintf(out, "  %-7s %s\n", label, printable(safe, sizeof safe, text, strlen(text)));
}

static void print_also(FILE *out, const struct outcome *o, const struct outcome *all, size_t count) {
    char *text = must_strdup("");
    for (size_t i = 0; i < count; ++i) {
        if (is_sibling(o->id, all[i].id)) {
            size_t start;
            char *more = must_format("%s%s%s %s", text, text[0] ? ", " : "", classes[class_of(all[i].id, &start)],
                                     verdict_name(outcome_verdict(&all[i])));
            free(text);
            text = more;
        }
    }
    for (size_t i = 0; o->judged && oracles[i] != NULL; ++i) {
        const bool silent = oracles[i]->on_request && o->rulings[i] == RULING_NOT_JUDGED;
        if (o->rulings[i] != RULING_FOUND && !silent) {
            char *more = must_format("%s%s%s %s", text, text[0] ? "; " : "", oracles[i]->name,
                                     o->rulings[i] != RULING_CLEAN    ? "not judged"
                                     : outcome_in_part(o, oracles[i]) ? "ok in part"
                                                                      : "ok");
            free(text);
            text = more;
        }
    }
    if (text[0] != 0) {
        print_line(out, "also", text);
    }
    free(text);
}

/* Some line of the finding holds the text already. */
static bool says(const struct finding *f, const char *text) {
    for (size_t i = 0; i < f->line_count; ++i) {
        if (strstr(f->lines[i].text, text) != NULL) {
            return true;
        }
    }
    return false;
}

/* An earlier finding is of the same oracle and verdict. */
static bool repeats_oracle(const struct findings *all, size_t i) {
    for (size_t k = 0; k < i; ++k) {
        if (all->items[k].verdict == all->items[i].verdict && strcmp(all->items[k].oracle, all->items[i].oracle) == 0) {
            return true;
        }
    }
    return false;
}

void terminal_finding(FILE *out, const struct finding *f) {
    for (size_t k = 0; k < f->line_count; ++k) {
        print_line(out, f->lines[k].label, f->lines[k].text);
    }
    if (f->line_count == 0 && f->summary != NULL) {
        print_line(out, f->oracle, f->summary);
    }
    if (f->suspects != NULL && !says(f, f->suspects)) {
        print_line(out, "suspect", f->suspects);
    }
}

#define FINDINGS_SHOWN 4
#define PRINTS_SHOWN   8

void terminal_prints(FILE *out, const struct outcome *o) {
    size_t lines = 0;
    uint64_t left = o->print_total;
    for (size_t i = 0; i < o->print_count && lines < PRINTS_SHOWN; ++i, --left) {
        const struct trace_print *p = &o->prints[i];
        const char *text = p->text;
        do {
            const size_t n = strcspn(text, "\n");
            char *line = must_format("block (%u,%u,%u) warp %u lane %u: %.*s", p->block[0], p->block[1], p->block[2],
                                     p->warp, p->lane, (int)n, text);
            print_line(out, "printf", line);
            free(line);
            text += n + (text[n] == '\n');
        } while (*text != 0 && ++lines < PRINTS_SHOWN);
        ++lines;
    }
    if (left > 0) {
        fprintf(out, "  %-7s %" PRIu64 " more calls of printf (--json has the first %d)\n", "", left, TRACE_PRINTS);
    }
}

void terminal_notes(FILE *out, const struct outcome *o) {
    for (size_t i = 0; i < o->findings.note_count && i < FINDINGS_SHOWN; ++i) {
        print_line(out, "note", o->findings.notes[i]);
    }
}

void terminal_failure(FILE *out, const struct outcome *o, const struct outcome *all, size_t count) {
    fprintf(out, "%s %s\n", verdict_name(outcome_verdict(o)), o->id);
    /* worst verdict first; within one the order of the oracles */
    size_t shown = 0;
    for (int turn = 0; turn < 2 * VERDICTS; ++turn) { /* first one finding of every oracle, then further ones */
        for (size_t i = 0; i < o->findings.count; ++i) {
            const struct finding *f = &o->findings.items[i];
            const bool further = turn >= VERDICTS;
            if ((int)f->verdict != VERDICTS - 1 - turn % VERDICTS || further != repeats_oracle(&o->findings, i) ||
                shown++ >= FINDINGS_SHOWN) {
                continue;
            }
            if (f->verdict != outcome_verdict(o)) {
                fprintf(out, "  %-7s %s by oracle %s\n", "and", verdict_name(f->verdict), f->oracle);
            }
            terminal_finding(out, f);
        }
    }
    if (shown > FINDINGS_SHOWN) {
        fprintf(out, "  %-7s %zu more finding%s (--json has all)\n", "more", shown - FINDINGS_SHOWN,
                shown - FINDINGS_SHOWN == 1 ? "" : "s");
    }
    terminal_prints(out, o);
    terminal_notes(out, o);
    print_also(out, o, all, count);
    char *open = audit_summary(o->audit);
    if (open != NULL) {
        char *text = must_format("the program leaves bits open (%s): warpproof audit", open);
        print_line(out, "audit", text);
        free(text);
        free(open);
    }
    if (o->rerun != NULL) {
        print_line(out, "rerun", o->rerun);
    }
}

void terminal_table(FILE *out, const struct outcome *all, size_t count) {
    size_t width = 6, shown = CLASSES - 1; /* class file, the last, has a column where there are such cases */
    for (size_t i = 0; i < count; ++i) {
        size_t start;
        const size_t n = all[i].skipped ? 0 : strlen(all[i].about);
        width = n > width ? n : width;
        shown = class_of(all[i].id, &start) == CLASSES - 1 ? CLASSES : shown;
    }
    fprintf(out, "%-*s", (int)width, "kernel");
    for (size_t c = 0; c < shown; ++c) {
        fprintf(out, " %9s", classes[c]);
    }
    fprintf(out, "\n");
    for (size_t i = 0, end; i < count; i = end) {
        size_t run[CLASSES] = {0}, passed[CLASSES] = {0};
        bool ran = false;
        for (end = i; end < count && strcmp(all[end].about, all[i].about) == 0; ++end) {
            size_t start;
            const size_t c = class_of(all[end].id, &start);
            ran |= !all[end].skipped;
            if (c < CLASSES && !all[end].skipped) {
                ++run[c];
                passed[c] += outcome_verdict(&all[end]) == VERDICT_PASS;
            }
        }
        if (!ran) {
            continue;
        }
        fprintf(out, "%-*s", (int)width, all[i].about);
        for (size_t c = 0; c < shown; ++c) {
            char cell[48] = "-";
            if (run[c] > 0) {
                snprintf(cell, sizeof cell, "%zu/%zu", passed[c], run[c]);
            }
            fprintf(out, " %9s", cell);
        }
        fprintf(out, "\n");
    }
    for (size_t i = 0; i < count; ++i) {
        if (all[i].skipped) {
            fprintf(out, "SKIPPED %s: %s\n", all[i].id, all[i].why);
        }
    }
}

/* Red cases that fail alike: same kernel, verdict, oracle, source line and suspects of the worst finding. */
static bool fails_alike(const struct outcome *a, const struct outcome *b) {
    const struct finding *f = findings_first(&a->findings), *g = findings_first(&b->findings);
    const char *x = f->suspects != NULL ? f->suspects : "", *y = g->suspects != NULL ? g->suspects : "";
    const char *p = f->where.file != NULL ? f->where.file : "", *q = g->where.file != NULL ? g->where.file : "";
    return f->verdict == g->verdict && strcmp(f->oracle, g->oracle) == 0 && strcmp(a->about, b->about) == 0 &&
           f->where.line == g->where.line && f->where.ptx_line == g->where.ptx_line && strcmp(p, q) == 0 &&
           strcmp(x, y) == 0;
}

/* How much a red case tells: structured data first (every scale and element of `coded` says where it belongs), then a
 * result of more than one warp's rows and one fragment's tokens, then few cells. Greater is better. */
static double telling(const struct outcome *o) {
    static const double class_worth[CLASSES + 1] = {3, 4, 1, 2, 0, 0, 0};
    size_t start = 0, nt = 0, od = 0;
    const size_t c = class_of(o->id, &start);
    const char *shape = strstr(o->id, "/nt");
    if (shape == NULL || sscanf(shape, "/nt%zu.od%zu", &nt, &od) != 2) {
        return class_worth[c];
    }
    const bool small = nt < 17 || od < 17;
    return class_worth[c] + (small ? 0 : 10) - 1e-9 * (double)nt * (double)od;
}

void terminal_failures(FILE *out, const struct outcome *all, size_t count, size_t full, size_t brief) {
    bool *told = must_calloc(count + 1, sizeof *told); /* shown, or alike to one that was */
    size_t shown = 0, lines = 0, left = 0;
    for (size_t i = 0; i < count && shown < full; ++i) {
        if (all[i].findings.count == 0 || told[i]) {
            continue;
        }
        size_t best = i, alike = 0;
        for (size_t k = i; k < count; ++k) {
            if (all[k].findings.count > 0 && !told[k] && fails_alike(&all[i], &all[k])) {
                told[k] = true;
                ++alike;
                best = telling(&all[k]) > telling(&all[best]) ? k : best;
            }
        }
        fprintf(out, "%s", shown > 0 ? "\n" : "");
        terminal_failure(out, &all[best], all, count);
        if (alike > 1) {
            fprintf(out, "  %-7s %zu more red cases with this verdict, site and suspect\n", "like it", alike - 1);
        }
        ++shown;
    }
    for (size_t i = 0; i < count; ++i) {
        if (all[i].findings.count == 0 || told[i]) {
            continue;
        }
        if (lines++ >= brief) {
            ++left;
            continue;
        }
        fprintf(out, "%s%s %s\n", lines == 1 && shown > 0 ? "\n" : "", verdict_name(outcome_verdict(&all[i])),
                all[i].id);
    }
    if (left > 0) {
        fprintf(out, "... and %zu more red cases (--json has all)\n", left);
    }
    free(told);
}

void terminal_stats(FILE *out, const struct totals *t) {
    const double s = t->seconds > 0 ? t->seconds : 1e-9;
    if (t->on_gpu) {
        fprintf(out, "device: %zu launch%s in %.6f s\n", t->launches, t->launches == 1 ? "" : "es", t->seconds);
        fprintf(out, "run: %.2f s wall\n", t->wall_seconds);
        return;
    }
    fprintf(out,
            "machine: %" PRIu64 " warp instructions, %" PRIu64 " MACs in %.3f thread-seconds: "
            "%.1f M warp instructions/s and %.1f M MACs/s a thread\n",
            t->warp_instructions, t->macs, t->seconds, (double)t->warp_instructions / s / 1e6,
            (double)t->macs / s / 1e6);
    fprintf(out, "run: %.2f s wall on %d thread%s\n", t->wall_seconds, t->threads, plural((size_t)t->threads));
}

void terminal_last_line(FILE *out, const struct totals *t) {
    fprintf(out, "%zu passed, %zu failed, %zu skipped\n", t->passed, t->failed, t->skipped);
}
