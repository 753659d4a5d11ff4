#include "terminal.h"
#include "../ref/checked.h"
#include "../ref/printable.h"
#include "audit.h"
#include "case_table.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Same id but for the class. */
static bool is_sibling(const char *a, const char *b) {
    size_t sa = 0, sb = 0;
    const size_t ca = case_class(a, &sa), cb = case_class(b, &sb);
    return ca < CASE_CLASSES && cb < CASE_CLASSES && ca != cb && sa == sb && strncmp(a, b, sa) == 0 &&
           strcmp(a + sa + strlen(case_classes[ca]), b + sb + strlen(case_classes[cb])) == 0;
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
            char *more =
                must_format("%s%s%s %s", text, text[0] ? ", " : "", case_classes[case_class(all[i].id, &start)],
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
    const size_t shown = case_columns(all, count);
    size_t width = 6;
    for (size_t i = 0; i < count; ++i) {
        const size_t n = all[i].skipped ? 0 : strlen(all[i].about);
        width = n > width ? n : width;
    }
    fprintf(out, "%-*s", (int)width, "kernel");
    for (size_t c = 0; c < shown; ++c) {
        fprintf(out, " %9s", case_classes[c]);
    }
    fprintf(out, "\n");
    struct case_row row;
    for (size_t i = 0; i < count; i = row.end) {
        row = case_row(all, count, i);
        if (!row.ran) {
            continue;
        }
        fprintf(out, "%-*s", (int)width, all[i].about);
        for (size_t c = 0; c < shown; ++c) {
            char cell[48] = "-";
            if (row.run[c] > 0) {
                snprintf(cell, sizeof cell, "%zu/%zu", row.passed[c], row.run[c]);
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

void terminal_failures(FILE *out, const struct outcome *all, size_t count, size_t full, size_t brief) {
    size_t *told = must_calloc(count + 1, sizeof *told); /* shown, or alike to one that was */
    size_t shown = 0, lines = 0, left = 0;
    for (size_t i = 0; i < count && shown < full; ++i) {
        if (all[i].findings.count == 0 || told[i] > 0) {
            continue;
        }
        size_t alike;
        const size_t best = case_group(all, count, i, shown + 1, told, &alike);
        fprintf(out, "%s", shown > 0 ? "\n" : "");
        terminal_failure(out, &all[best], all, count);
        if (alike > 1) {
            fprintf(out, "  %-7s %zu more red cases with this verdict, site and suspect\n", "like it", alike - 1);
        }
        ++shown;
    }
    for (size_t i = 0; i < count; ++i) {
        if (all[i].findings.count == 0 || told[i] > 0) {
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
