#include "html_case.h"
#include "../ref/checked.h"
#include "explain.h"
#include "html_pictures.h"
#include "markup.h"
#include "terminal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct case_detail *html_detail(const struct html *h, size_t i) {
    for (size_t k = 0; k < h->detail_count; ++k) {
        if (h->details[k].outcome == i) {
            return &h->details[k];
        }
    }
    return NULL;
}

enum verdict html_verdict(const struct html *h, size_t i) {
    const struct case_detail *d = html_detail(h, i);
    return d != NULL && d->staged ? explained_verdict(&h->outcomes[i], &d->explanation)
                                  : outcome_verdict(&h->outcomes[i]);
}

void html_put_verdict(FILE *out, enum verdict v) {
    fprintf(out, "<strong class=\"%s\">%s</strong>",
            v == VERDICT_PASS      ? "good"
            : v == VERDICT_SKIPPED ? "dim"
                                   : "bad",
            verdict_name(v));
}

const char *html_program_of(const struct html *h, const char *kernel) {
    for (size_t i = 0; i < h->program_count; ++i) {
        if (strcmp(h->programs[i].kernel, kernel) == 0 && h->programs[i].digest[0] != 0) {
            return h->programs[i].digest;
        }
    }
    return NULL;
}

/* ---- the message ---- */

static void put_oracles(FILE *out, const struct outcome *o) {
    if (!o->judged) {
        return;
    }
    fputs("<p class=\"oracles\">", out);
    for (size_t i = 0; oracles[i] != NULL; ++i) {
        const enum ruling r = o->rulings[i];
        if (!oracles[i]->on_request || r != RULING_NOT_JUDGED) {
            fprintf(out, "<span class=\"%s\">%s %s</span> ",
                    r == RULING_FOUND   ? "bad"
                    : r == RULING_CLEAN ? "good"
                                        : "dim",
                    oracles[i]->name, r == RULING_CLEAN ? "ok" : ruling_name(r));
        }
    }
    fputs("</p>\n", out);
}

/* Text of several lines, the first HTML_MESSAGE bytes of it; text is freed. */
static void put_pre(FILE *out, char *text) {
    const size_t size = text != NULL ? strlen(text) : 0;
    fputs("<pre tabindex=\"0\">", out);
    if (size > HTML_MESSAGE) {
        text[HTML_MESSAGE] = 0; /* a character that is cut in two becomes U+FFFD */
    }
    markup_text(out, text != NULL ? text : "no memory for the message");
    if (size > HTML_MESSAGE) {
        fprintf(out, "\n... and %zu more bytes", size - HTML_MESSAGE);
    }
    fputs("</pre>\n", out);
    free(text);
}

static char *closed(FILE *out, char **text) {
    if (fclose(out) != 0) {
        free(*text);
        *text = NULL;
    }
    return *text;
}

static void put_message(FILE *out, const struct html *h, const struct outcome *o) {
    char *text = NULL;
    size_t size;
    FILE *message = open_memstream(&text, &size);
    if (message != NULL) {
        terminal_failure(message, o, h->outcomes, h->count);
        text = closed(message, &text);
    }
    put_pre(out, text);
}

static void put_finding(FILE *out, const struct finding *f) {
    char *text = NULL;
    size_t size;
    FILE *message = open_memstream(&text, &size);
    if (message != NULL) {
        terminal_finding(message, f);
        text = closed(message, &text);
    }
    put_pre(out, text);
}

/* ---- stages ---- */

static void put_stage(FILE *out, const struct explanation *x, int k) {
    const struct stage *s = &x->stages[k];
    const bool judged = s->ruling != RULING_NOT_JUDGED;
    fprintf(out, "<tr><th scope=\"row\">%s</th><td class=\"word\"><span class=\"%s\">%s</span></td><td>",
            stage_names[k],
            s->ruling == RULING_FOUND   ? "bad"
            : s->ruling == RULING_CLEAN ? "good"
                                        : "dim",
            s->ruling == RULING_FOUND   ? "WRONG"
            : s->ruling == RULING_CLEAN ? "ok"
                                        : "not judged");
    if (judged) {
        fprintf(out, "%" PRIu64 "</td><td>%" PRIu64 " %s", s->wrong, s->compared, s->unit);
    } else {
        fputs("</td><td>", out);
    }
    fputs("</td><td class=\"word\">", out);
    const char *note = judged ? s->rest : s->why;
    markup_text(out, note != NULL ? note : "");
    fputs("</td></tr>\n", out);
}

static void put_stages(FILE *out, const struct explanation *x, const struct case_detail *d, bool pictures) {
    fputs("<h3>Stages</h3>\n<div class=\"wide\" tabindex=\"0\">\n<table>\n<thead><tr><th scope=\"col\">stage</th>"
          "<th scope=\"col\" class=\"word\">ruling</th><th scope=\"col\">wrong</th><th scope=\"col\">compared</th>"
          "<th scope=\"col\" class=\"word\">note</th></tr></thead>\n<tbody>\n",
          out);
    for (int k = 0; k < STAGES; ++k) {
        put_stage(out, x, k);
    }
    fputs("</tbody>\n</table>\n</div>\n", out);
    for (size_t i = 0; i < x->faults.count; ++i) {
        const struct finding *f = &x->faults.items[i];
        fprintf(out, "<h4>Fault %zu of %zu: %s</h4>\n", i + 1, x->faults.count, f->oracle);
        put_finding(out, f);
        if (pictures) {
            html_fault_pictures(out, f, &d->banks);
        }
    }
}

/* ---- suspects ---- */

static void put_whys(FILE *out, const struct suspect_why *whys, size_t count) {
    fputs("<ul>\n", out);
    for (size_t i = 0; i < count; ++i) {
        fprintf(out, "<li><span class=\"dim\">%s</span> ", whys[i].by);
        markup_text(out, whys[i].text);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

/* The lines that its address or value is made at. */
static void put_from(FILE *out, const struct suspect *x) {
    if (x->from_count == 0) {
        return;
    }
    fprintf(out, "<details>\n<summary>%zu line%s that its address or value is made at</summary>\n<ul>\n", x->from_count,
            x->from_count == 1 ? "" : "s");
    for (size_t i = 0; i < x->from_count && i < HTML_IDS; ++i) {
        fputs("<li>", out);
        markup_text(out, x->from[i]);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n</details>\n", out);
}

static void put_suspects(FILE *out, const struct suspects *s) {
    if (s->count + s->also_count == 0) {
        return;
    }
    fputs(s->count > 1 ? "<h3>Suspects, what is to be mended first ahead</h3>\n<ol>\n" : "<h3>Suspects</h3>\n<ol>\n",
          out);
    for (size_t i = 0; i < s->count; ++i) {
        const struct suspect *x = &s->items[i];
        fputs("<li><strong>", out);
        markup_text(out, x->title);
        fputs("</strong>", out);
        if (x->place != NULL) {
            fputs("<div>at ", out);
            markup_text(out, x->place);
            if (x->call != NULL) {
                fputs(", called at ", out);
                markup_text(out, x->call);
            }
            fputs("</div>", out);
        }
        put_whys(out, x->whys, x->why_count);
        if (x->look != NULL) {
            fputs("<p class=\"look\">look: ", out);
            markup_text(out, x->look);
            fputs("</p>\n", out);
        }
        put_from(out, x);
        fputs("</li>\n", out);
    }
    fputs("</ol>\n", out);
    if (s->count == 0) {
        fputs("<p>none</p>\n", out);
    }
    if (s->also_count > 0) {
        put_whys(out, s->also, s->also_count);
    }
}

/* ---- evidence ---- */

const struct evidence_line *html_line_of(const struct html *h, const struct outcome *o, const struct case_detail *d,
                                         const char **state, const char **tone) {
    size_t count = 0;
    const struct evidence_line *lines = recorded_of(h->recorded, o->id, &count), *best = NULL;
    const char *program = d != NULL && d->program[0] != 0 ? d->program : html_program_of(h, o->about);
    const char *inputs = d != NULL && d->inputs[0] != 0 ? d->inputs : NULL;
    int rank = -1;
    for (size_t i = 0; i < count; ++i) {
        const bool same = program != NULL && strcmp(lines[i].ptx, program) == 0;
        const int one = !same ? 0 : inputs == NULL ? 2 : strcmp(lines[i].inputs, inputs) == 0 ? 3 : 1;
        if (one > rank) {
            rank = one;
            best = &lines[i];
        }
    }
    static const char *const states[] = {"of another program", "stale: of other inputs",
                                         "of this program; its inputs were not compared", "current"};
    static const char *const tones[] = {"bad", "bad", "dim", "good"};
    *state = rank == 0 && program != NULL ? "stale: of another program" : rank >= 0 ? states[rank] : NULL;
    *tone = rank >= 0 ? tones[rank] : "dim";
    return best;
}

static void put_evidence(FILE *out, const struct html *h, const struct outcome *o, const struct case_detail *d) {
    const char *state, *tone;
    if (h->recorded == NULL) {
        return;
    }
    const struct evidence_line *l = html_line_of(h, o, d, &state, &tone);
    fputs("<h3>Evidence</h3>\n", out);
    if (l == NULL) {
        fputs("<p class=\"dim\">never recorded on a GPU</p>\n", out);
        return;
    }
    fprintf(out, "<p class=\"evidence\"><span class=\"%s\">%s</span>: ", tone, state);
    html_put_verdict(out, l->verdict);
    char *text = must_format(" on %s, %s, driver %s, nvcc %s; %s", l->device, l->date, l->driver, l->toolkit,
                             o->digest[0] == 0 || l->output[0] == 0 ? "no bytes to compare"
                             : strcmp(l->output, o->digest) == 0    ? "its bytes are those of this run"
                                                                    : "its bytes are others than in this run");
    markup_text(out, text);
    fputs("</p>\n", out);
    free(text);
}

/* ---- the whole ---- */

/* What each wrong output consumed, where the message says so: the line that a reader looks for. */
static void put_probe(FILE *out, const struct outcome *o) {
    for (size_t i = 0; i < o->findings.count; ++i) {
        const struct finding *f = &o->findings.items[i];
        for (size_t k = 0; k < f->line_count; ++k) {
            if (strcmp(f->lines[k].label, "probe") == 0) {
                fputs("<p class=\"probe\"><strong>probe</strong> ", out);
                markup_text(out, f->lines[k].text);
                fputs("</p>\n", out);
            }
        }
    }
}

void html_case(FILE *out, const struct html *h, size_t i, bool pictures) {
    const struct outcome *o = &h->outcomes[i];
    const struct case_detail *d = html_detail(h, i);
    put_oracles(out, o);
    if (d != NULL && d->staged) {
        put_suspects(out, &d->suspects);
    }
    if (o->findings.count > 0) {
        put_message(out, h, o);
        put_probe(out, o);
    } else if (o->rerun != NULL) {
        fputs("<p class=\"dim\">rerun <code>", out);
        markup_text(out, o->rerun);
        fputs("</code></p>\n", out);
    }
    if (pictures) {
        html_wrong_cells(out, o);
    }
    if (d != NULL && d->staged) {
        put_stages(out, &d->explanation, d, pictures);
    }
    if (d != NULL && d->why != NULL) {
        fputs("<p class=\"dim\">not explained further: ", out);
        markup_text(out, d->why);
        fputs("</p>\n", out);
    }
    if (pictures) {
        html_access_pictures(out, o, d != NULL ? &d->banks : NULL);
    }
    put_evidence(out, h, o, d);
}
