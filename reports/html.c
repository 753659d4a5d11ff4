#include "html.h"
#include "../ref/checked.h"
#include "audit.h"
#include "case_table.h"
#include "file.h"
#include "html_case.h"
#include "html_style.h"
#include "markup.h"
#include <stdlib.h>
#include <string.h>

static void put_head(FILE *out, const struct html *h) {
    const struct totals *t = h->totals;
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n<title>warpproof %s: %zu passed, %zu failed</title>\n"
            "<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>warpproof %s</h1>\n",
            h->command, t->passed, t->failed, html_style, h->command);
    fprintf(out,
            "<p class=\"sums\"><span class=\"good\">%zu passed</span>, <span class=\"%s\">%zu failed</span>, "
            "<span>%zu skipped</span></p>\n",
            t->passed, t->failed > 0 ? "bad" : "dim", t->failed, t->skipped);
    fprintf(out, "<p class=\"dim\">%zu launch%s on %s, %.1f s</p>\n", t->launches, t->launches == 1 ? "" : "es",
            t->on_gpu ? "a GPU" : "the PTX machine", t->wall_seconds);
}

/* ---- kernels ---- */

static void put_cell(FILE *out, size_t passed, size_t run) {
    if (run == 0) {
        fputs("<td class=\"dim\">-</td>", out);
    } else {
        fprintf(out, "<td class=\"%s\">%zu/%zu</td>", passed == run ? "good" : "bad", passed, run);
    }
}

/* Cases of a row that a GPU ran with today's program. */
static size_t recorded_in(const struct html *h, size_t first, size_t end) {
    const char *program = html_program_of(h, h->outcomes[first].about);
    size_t n = 0;
    for (size_t i = first; program != NULL && i < end; ++i) {
        size_t count = 0, k = 0;
        const struct evidence_line *lines = recorded_of(h->recorded, h->outcomes[i].id, &count);
        while (k < count && strcmp(lines[k].ptx, program) != 0) {
            ++k;
        }
        n += k < count;
    }
    return n;
}

static void put_table(FILE *out, const struct html *h) {
    const bool evidence = h->recorded != NULL && h->program_count > 0;
    size_t start, columns = 0; /* none where no case has a class */
    for (size_t i = 0; i < h->count && columns == 0; ++i) {
        columns = case_class(h->outcomes[i].id, &start) < CASE_CLASSES ? case_columns(h->outcomes, h->count) : 0;
    }
    fprintf(out,
            "<h2 id=\"kernels\">Kernels</h2>\n<p class=\"dim\">passed of run%s%s</p>\n"
            "<div class=\"wide\" tabindex=\"0\">\n<table>\n<thead><tr><th scope=\"col\">kernel</th><th "
            "scope=\"col\">cases</th>",
            columns > 0 ? ", by data class" : "",
            evidence ? "; evidence: cases that a GPU has run with this program" : "");
    for (size_t c = 0; c < columns; ++c) {
        fprintf(out, "<th scope=\"col\">%s</th>", case_classes[c]);
    }
    fprintf(out, "%s</tr></thead>\n<tbody>\n", evidence ? "<th scope=\"col\">evidence</th>" : "");
    struct case_row row;
    for (size_t i = 0; i < h->count; i = row.end) {
        row = case_row(h->outcomes, h->count, i);
        size_t run = 0, passed = 0;
        for (size_t k = i; k < row.end; ++k) {
            run += !h->outcomes[k].skipped;
            passed += html_verdict(h, k) == VERDICT_PASS;
        }
        if (!row.ran) {
            continue;
        }
        fputs("<tr><th scope=\"row\">", out);
        markup_text(out, h->outcomes[i].about);
        fputs("</th>", out);
        put_cell(out, passed, run);
        for (size_t c = 0; c < columns; ++c) {
            put_cell(out, row.passed[c], row.run[c]);
        }
        if (evidence) {
            fprintf(out, "<td>%zu/%zu</td>", recorded_in(h, i, row.end), row.end - i);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table>\n</div>\n", out);
}

/* ---- red cases ---- */

/* The other cases of a group. */
static void put_alike(FILE *out, const struct html *h, const size_t *group, size_t number, size_t best, size_t alike) {
    if (alike < 2) {
        return;
    }
    size_t shown = 0;
    fprintf(out, "<details>\n<summary>%zu more like it</summary>\n<ul>\n", alike - 1);
    for (size_t i = 0; i < h->count && shown < HTML_IDS; ++i) {
        if (group[i] == number && i != best) {
            fputs("<li>", out);
            markup_text(out, h->outcomes[i].id);
            fputs("</li>\n", out);
            ++shown;
        }
    }
    fputs("</ul>\n", out);
    if (shown < alike - 1) {
        fprintf(out, "<p class=\"dim\">and %zu more</p>\n", alike - 1 - shown);
    }
    fputs("</details>\n", out);
}

static void put_group(FILE *out, const struct html *h, const size_t *group, size_t number, size_t best, size_t alike) {
    const struct outcome *o = &h->outcomes[best];
    fprintf(out, "<details class=\"red\" id=\"red-%zu\"%s>\n<summary>", number, number <= 3 ? " open" : "");
    html_put_verdict(out, html_verdict(h, best));
    fputs(" <code>", out);
    markup_text(out, o->id);
    fputs("</code></summary>\n", out);
    html_case(out, h, best, number <= HTML_PICTURES && ftell(out) < HTML_FULL);
    put_alike(out, h, group, number, best, alike);
    fputs("</details>\n", out);
}

static void put_limits(FILE *out, size_t number, size_t staged, size_t left, bool full) {
    if (number > staged) {
        fprintf(out,
                "<p class=\"dim\">Stages and banks are those of the first %d kinds of failure, where a case is small "
                "enough; "
                "<code>warpproof explain CASE --html FILE</code> shows them of any.</p>\n",
                HTML_STAGED);
    }
    if (full || number > HTML_PICTURES) {
        fprintf(out, "<p class=\"dim\">%s</p>\n",
                full ? "Later ones have no pictures: the page would be too large."
                     : "Of the first 20 there are pictures.");
    }
    if (left > 0) {
        fprintf(out, "<p class=\"dim\">and %zu more red cases of other kinds</p>\n", left);
    }
}

size_t html_telling(const struct outcome *outcomes, size_t count, size_t telling[HTML_STAGED]) {
    size_t *group = must_calloc(count + 1, sizeof *group), number = 0, alike;
    for (size_t i = 0; i < count && number < HTML_STAGED; ++i) {
        if (outcomes[i].findings.count > 0 && group[i] == 0) {
            telling[number] = case_group(outcomes, count, i, number + 1, group, &alike);
            ++number;
        }
    }
    free(group);
    return number;
}

static void put_red(FILE *out, const struct html *h) {
    size_t *group = must_calloc(h->count + 1, sizeof *group);
    size_t number = 0, staged = 0, left = 0;
    if (h->totals->failed > 0) {
        fputs("<h2 id=\"red\">Red cases</h2>\n", out);
    }
    for (size_t i = 0; i < h->count; ++i) {
        if (h->outcomes[i].findings.count == 0 || group[i] > 0) {
            continue;
        }
        if (number == HTML_GROUPS) {
            ++left;
            continue;
        }
        size_t alike;
        const size_t best = case_group(h->outcomes, h->count, i, ++number, group, &alike);
        staged += html_detail(h, best) != NULL && html_detail(h, best)->staged;
        put_group(out, h, group, number, best, alike);
    }
    put_limits(out, number, staged, left, ftell(out) >= HTML_FULL);
    free(group);
}

static void put_whole(FILE *out, const struct html *h) {
    for (size_t i = 0; i < h->count; ++i) {
        fputs("<h2>", out);
        html_put_verdict(out, html_verdict(h, i));
        fputs(" <code>", out);
        markup_text(out, h->outcomes[i].id);
        fputs("</code></h2>\n", out);
        html_case(out, h, i, true);
    }
}

/* ---- the others ---- */

static void put_skipped(FILE *out, const struct html *h) {
    size_t shown = 0;
    for (size_t i = 0; i < h->count && h->totals->skipped > 0; ++i) {
        const struct outcome *o = &h->outcomes[i];
        if (!o->skipped || shown++ >= HTML_IDS) {
            continue;
        }
        fputs(shown == 1 ? "<h2 id=\"skipped\">Skipped</h2>\n<ul>\n<li>" : "<li>", out);
        markup_text(out, o->id);
        fputs(": ", out);
        markup_text(out, o->why != NULL ? o->why : "");
        fputs("</li>\n", out);
    }
    if (shown > 0) {
        fputs("</ul>\n", out);
    }
    if (shown > HTML_IDS) {
        fprintf(out, "<p class=\"dim\">and %zu more</p>\n", shown - HTML_IDS);
    }
}

static void put_passed_case(FILE *out, const struct html *h, size_t i) {
    const struct outcome *o = &h->outcomes[i];
    fputs("<li>", out);
    markup_text(out, o->id);
    if (!o->parity_judged) {
        fputs(" <span class=\"dim\">(parity not judged)</span>", out);
    }
    const char *state, *tone, *program = html_program_of(h, o->about);
    const struct evidence_line *l = h->recorded != NULL ? html_line_of(h, o, html_detail(h, i), &state, &tone) : NULL;
    if (l != NULL) {
        const bool same = program != NULL && strcmp(l->ptx, program) == 0;
        fputs(" <span class=\"dim\">", out);
        char *text = same ? must_format("(%s %s: %s)", l->device, l->date, verdict_name(l->verdict))
                          : must_format("(evidence %s)", state);
        markup_text(out, text);
        free(text);
        fputs("</span>", out);
    }
    fputs("</li>\n", out);
}

/* One list a kernel, or only how many: a whole lattice has ten thousand. */
static void put_passed(FILE *out, const struct html *h) {
    if (h->totals->passed == 0) {
        return;
    }
    fputs("<h2 id=\"passed\">Passed</h2>\n", out);
    if (h->totals->passed > HTML_PASSED) {
        fprintf(out, "<p>%zu cases; the table has them by kernel.</p>\n", h->totals->passed);
        return;
    }
    struct case_row row;
    for (size_t i = 0; i < h->count; i = row.end) {
        row = case_row(h->outcomes, h->count, i);
        size_t passed = 0;
        for (size_t k = i; k < row.end; ++k) {
            passed += outcome_verdict(&h->outcomes[k]) == VERDICT_PASS;
        }
        if (passed == 0) {
            continue;
        }
        fputs("<details>\n<summary>", out);
        markup_text(out, h->outcomes[i].about);
        fprintf(out, " <span class=\"dim\">%zu</span></summary>\n", passed);
        char *open = audit_summary(h->outcomes[i].audit);
        if (open != NULL) {
            fputs("<p class=\"dim\">the program leaves bits open: ", out);
            markup_text(out, open);
            fputs("</p>\n", out);
            free(open);
        }
        fputs("<ul>\n", out);
        for (size_t k = i; k < row.end; ++k) {
            if (outcome_verdict(&h->outcomes[k]) == VERDICT_PASS) {
                put_passed_case(out, h, k);
            }
        }
        fputs("</ul>\n</details>\n", out);
    }
}

static void put_page(FILE *out, const void *of) {
    const struct html *h = of;
    put_head(out, h);
    if (h->whole) {
        put_whole(out, h);
    } else {
        put_red(out, h); /* first: the table of a whole gate is several screens long */
        put_table(out, h);
        put_skipped(out, h);
        put_passed(out, h);
    }
    fputs("</main>\n</body>\n</html>\n", out);
}

bool html_write(const char *path, const struct html *h, struct error *e) {
    return file_put_text(path, put_page, h, e);
}
