#include "suspects.h"
#include "../ref/checked.h"
#include "suspects_parts.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const suspect_kind_names[SUSPECT_KINDS] = {"launch",  "guard",     "sync",  "race",    "uninit",
                                                       "staging", "fragments", "sums",  "rescale", "store",
                                                       "probe",   "bits",      "counts"};

const char *clue_line(const struct finding *f, const char *label) {
    for (size_t i = 0; i < f->line_count; ++i) {
        if (strcmp(f->lines[i].label, label) == 0) {
            return f->lines[i].text;
        }
    }
    return NULL;
}

/* ---- gathering ---- */

static struct clue *add(struct clues *c, enum suspect_kind kind, const char *by, const struct finding *f, char *text) {
    c->items = must_realloc(c->items, c->count + 1, sizeof *c->items);
    c->items[c->count] = (struct clue){.kind = kind, .by = by, .f = f, .text = text, .group = c->count};
    return &c->items[c->count++];
}

static enum suspect_kind kind_of(const struct finding *f) {
    static const struct {
        const char *oracle;
        enum suspect_kind kind;
    } kinds[] = {{"launch", SUSPECT_LAUNCH}, {"input", SUSPECT_LAUNCH},  {"guard", SUSPECT_GUARD},
                 {"canary", SUSPECT_GUARD},  {"sync", SUSPECT_SYNC},     {"hazard", SUSPECT_RACE},
                 {"schedule", SUSPECT_RACE}, {"uninit", SUSPECT_UNINIT}, {"census", SUSPECT_COUNTS},
                 {"parity", SUSPECT_BITS},   {"truth", SUSPECT_BITS},    {"approximate", SUSPECT_BITS}};
    if (strcmp(f->oracle, "coverage") == 0) {
        return f->verdict == VERDICT_HAZARD ? SUSPECT_RACE : SUSPECT_STORE;
    }
    if (strcmp(f->oracle, "parity") == 0 && (clue_line(f, "probe") != NULL || clue_line(f, "other") != NULL)) {
        return SUSPECT_PROBE;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        if (strcmp(kinds[i].oracle, f->oracle) == 0) {
            return kinds[i].kind;
        }
    }
    return SUSPECT_BITS;
}

static char *text_of_judge(const struct finding *f) {
    const char *shape = strcmp(f->oracle, "parity") == 0 ? clue_line(f, "shape") : NULL;
    const char *size = shape != NULL ? clue_line(f, "size") : NULL;
    return shape == NULL ? must_strdup(f->summary != NULL ? f->summary : f->oracle)
                         : must_format("%s%s%s", shape, size != NULL ? "; " : "", size != NULL ? size : "");
}

static void gather_outcome(struct clues *c, const struct outcome *o) {
    for (size_t i = 0; i < o->findings.count; ++i) {
        const struct finding *f = &o->findings.items[i];
        add(c, kind_of(f), f->oracle, f, text_of_judge(f));
    }
}

/* Of the canary build: what only its guards can tell. */
static void gather_canary(struct clues *c, const struct outcome *o) {
    for (size_t i = 0; o != NULL && i < o->findings.count; ++i) {
        const struct finding *f = &o->findings.items[i];
        if (strcmp(f->oracle, "canary") == 0) {
            add(c, SUSPECT_GUARD, "canary", f, must_strdup(f->summary));
        }
    }
}

static char *text_of_fault(const struct finding *f) {
    const char *extent = clue_line(f, "extent"), *holds = clue_line(f, "holds"), *scales = clue_line(f, "scales"),
               *consumed = clue_line(f, "probe");
    extent = extent != NULL ? extent : clue_line(f, "shape");
    const char *more = holds != NULL ? holds : scales != NULL ? scales : consumed;
    return must_format("%s%sfirst %s%s%s", extent != NULL ? extent : "", extent != NULL ? "; " : "", f->summary,
                       more == NULL    ? ""
                       : more == holds ? "; it holds "
                                       : "; ",
                       more != NULL ? more : "");
}

static void gather_stages(struct clues *c, const struct explanation *x) {
    for (size_t i = 0; i < x->faults.count; ++i) {
        const struct finding *f = &x->faults.items[i];
        enum stage_kind stage = STAGE_STORE;
        stage_named(f->oracle, &stage);
        add(c, SUSPECT_STAGING + (unsigned)stage, f->oracle, f, text_of_fault(f));
    }
}

static void gather(struct clues *c) {
    const struct suspects_input *in = c->in;
    gather_stages(c, in->stages);
    gather_outcome(c, in->outcome);
    gather_canary(c, in->canary);
    for (size_t i = 0; i < in->probe_count; ++i) {
        const struct suspect_probe *p = &in->probes[i];
        add(c, SUSPECT_PROBE, "probe", NULL, must_format("%s: %s", p->operand, p->text))->probe = p;
    }
}

/* ---- one suspect ---- */

/* How much the observation says about the mistake itself; the highest gives the title. */
static int tells(const struct clue *c) {
    static const struct {
        const char *by;
        int much;
    } of[] = {{"launch", 90}, {"guard", 60},    {"hazard", 55},   {"sync", 58},  {"uninit", 40},
              {"canary", 35}, {"coverage", 30}, {"schedule", 15}, {"probe", 20}, {"census", 5}};
    enum stage_kind stage;
    if (stage_named(c->by, &stage)) {
        const bool nobody = c->f->where.instruction == NULL;
        const bool follows = c->kind != SUSPECT_STAGING + (unsigned)stage;
        return c->f->suspects == NULL ? 8 : nobody || follows ? 45 : 70;
    }
    for (size_t i = 0; i < sizeof of / sizeof *of; ++i) {
        if (clue_is(c, of[i].by)) {
            return of[i].much;
        }
    }
    return c->kind == SUSPECT_PROBE ? 18 : 10;
}

/* What follows the last "-> " of a line, or NULL. */
static const char *said_mistake(const char *text) {
    const char *found = NULL;
    for (const char *at = text; at != NULL && (at = strstr(at, "-> ")) != NULL; at += 3) {
        found = at + 3;
    }
    return found;
}

static char *title_of_result(const struct clues *c, size_t root, const struct finding *f) {
    const char *probe = said_mistake(clue_line(f, "probe")), *other = clue_line(f, "other");
    for (size_t i = 0; i < c->count; ++i) {
        const struct clue *x = &c->items[i];
        if (clue_root(c, i) == root && x->f != NULL && x->f->cause != NULL && strcmp(x->f->cause, "work") == 0) {
            return must_strdup("the bound of the loop over the depth, or the predicate of what it multiplies");
        }
    }
    if (c->in->stages->few_barriers && probe == NULL && other == NULL) {
        return must_strdup("fewer steps of the depth than the launch file has: the bound of that loop");
    }
    const char *mistake = siblings_mistake(c->in);
    return must_strdup(other != NULL   ? f->suspects
                       : probe != NULL ? probe
                       : mistake != NULL && (f->suspects == NULL || !strcmp(f->suspects, "layout, index or scale"))
                           ? mistake
                       : f->suspects != NULL ? f->suspects
                                             : "wrong bits");
}

/* There is one suspect. */
static bool is_alone(const struct clues *c) {
    size_t roots = 0;
    for (size_t i = 0; i < c->count; ++i) {
        roots += !c->items[i].dropped && clue_root(c, i) == i;
    }
    return roots == 1;
}

/* Another result has wrong bits as well, and the title must say which of them is meant. */
static bool other_result_wrong(const struct clues *c, const struct finding *f) {
    bool other = false;
    for (size_t i = 0; i < c->count; ++i) {
        const struct finding *g = clue_is(&c->items[i], "parity") ? c->items[i].f : NULL;
        other |= g != NULL && g->where.buffer != NULL && strcmp(g->where.buffer, f->where.buffer) != 0;
    }
    return other;
}

static char *title_of(const struct clues *c, size_t root, const struct clue *x) {
    if (x->probe != NULL) {
        return must_format("%s: %s", x->probe->suspect != NULL ? x->probe->suspect : "other elements consumed",
                           x->probe->operand);
    }
    const struct finding *f = x->f;
    enum stage_kind stage;
    if (clue_is(x, "parity")) {
        char *mistake = title_of_result(c, root, f), *of = NULL;
        if (f->where.buffer != NULL && other_result_wrong(c, f)) {
            of = must_format("%s (%s)", mistake, f->where.buffer);
            free(mistake);
        }
        return of != NULL ? of : mistake;
    }
    const char *mistake = f->suspects != NULL ? f->suspects : f->summary;
    if (!stage_named(x->by, &stage)) {
        return f->where.buffer != NULL && !clue_is(x, "schedule") && strstr(mistake, f->where.buffer) == NULL
                   ? must_format("%s (%s)", mistake, f->where.buffer)
                   : must_strdup(mistake);
    }
    if (stage == STAGE_FRAGMENTS) {
        const char *holds = clue_line(f, "holds"), *operand = strstr(f->summary, "operand ");
        return must_format("%s, operand %c%s%s", mistake, operand != NULL ? operand[8] : '?', holds != NULL ? ": " : "",
                           holds != NULL ? holds : "");
    }
    if (stage == STAGE_RESCALE) {
        const char *probe = said_mistake(clue_line(f, "probe")), *data = is_alone(c) ? siblings_mistake(c->in) : NULL;
        return must_strdup(clue_line(f, "scales") != NULL ? mistake
                           : probe != NULL                ? probe
                           : data != NULL                 ? data
                                                          : mistake);
    }
    return stage == STAGE_STAGING && f->where.buffer != NULL ? must_format("%s (plane %s)", mistake, f->where.buffer)
                                                             : must_strdup(mistake);
}

static char *look_at(const struct clues *c, const struct clue *x) {
    const struct finding *f = x->f;
    const char *buffer = f != NULL && f->where.buffer != NULL ? f->where.buffer : "it";
    switch (x->kind) {
    case SUSPECT_GUARD:
        return must_format("the index of this access, against the bytes of %s", buffer);
    case SUSPECT_SYNC:
        return must_strdup("the branches around it: which threads come here, and which do not");
    case SUSPECT_RACE:
        return f != NULL && f->other != NULL ? must_format("what orders it and %s  %s", where_text(f->other),
                                                           f->other->instruction != NULL ? f->other->instruction : "")
                                             : must_strdup("what orders the stores to these cells");
    case SUSPECT_UNINIT:
        return must_format("who has to store these bytes of %s ahead of this load", buffer);
    case SUSPECT_STAGING:
        return f->where.instruction == NULL
                   ? must_format("the loop that fills plane %s: its step, its bound, its mask", buffer)
                   : must_strdup("the address of this store, and of the load that its value comes from");
    case SUSPECT_FRAGMENTS:
        return must_strdup("how the lane's address is made: base, row, pitch, k");
    case SUSPECT_SUMS:
        return must_strdup(f->cause != NULL ? "the bounds of the loop around this mma"
                                            : "where its accumulator is set, and the types it is given");
    case SUSPECT_RESCALE:
        return must_strdup("the loads of the scales, and the arithmetic ahead of this store");
    case SUSPECT_STORE:
        return must_strdup(f->missing ? "the mask and the bounds of this store, which writes other cells"
                                      : "the index of this store");
    case SUSPECT_PROBE:
        return must_strdup(c->in->spec != NULL && !c->in->spec->mma.given
                               ? "the addresses of that operand; `planes` and `mma` in the launch file would tell which"
                               : "the addresses of that operand");
    default:
        return NULL;
    }
}

static bool has_place(const struct clue *x) {
    return x->f != NULL && x->f->where.instruction != NULL;
}

/* The clue of a group that says most; with `placed` of those that have a place. */
static const struct clue *best_of(const struct clues *c, size_t root, bool placed) {
    const struct clue *best = NULL;
    for (size_t i = 0; i < c->count; ++i) {
        const struct clue *x = &c->items[i];
        if (clue_root(c, i) == root && (!placed || has_place(x)) &&
            (best == NULL || tells(x) > tells(best) ||
             (tells(x) == tells(best) && x->f != NULL && best->f != NULL && x->f->extent > best->f->extent))) {
            best = x;
        }
    }
    return best;
}

static void add_why(struct suspect *s, const char *by, char *text) {
    s->whys = must_realloc(s->whys, s->why_count + 1, sizeof *s->whys);
    s->whys[s->why_count++] = (struct suspect_why){by, text};
}

enum { WHYS_OF_A_JUDGE = 3 };

/* The observations of one judge, all of them one after the other, up to so many. */
static void add_whys(const struct clues *c, size_t root, struct suspect *s) {
    for (int kind = 0; kind < SUSPECT_KINDS; ++kind) {
        for (size_t i = 0; i < c->count; ++i) {
            const struct clue *x = &c->items[i];
            size_t told = 0, left = 0;
            if (clue_root(c, i) != root || (int)x->kind != kind) {
                continue;
            }
            for (size_t k = 0; k < c->count; ++k) {
                const bool alike =
                    clue_root(c, k) == root && (int)c->items[k].kind == kind && strcmp(c->items[k].by, x->by) == 0;
                told += alike && k < i;
                left += alike && k >= i;
            }
            if (told < WHYS_OF_A_JUDGE) {
                add_why(s, x->by, must_strdup(x->text));
                const char *probe = x->f != NULL && clue_is(x, "parity") ? clue_line(x->f, "probe") : NULL;
                if (probe != NULL) {
                    add_why(s, "probe", must_strdup(probe));
                }
            } else if (told == WHYS_OF_A_JUDGE) {
                add_why(s, x->by, must_format("and %zu more", left));
            }
        }
    }
}

static struct suspect describe(const struct clues *c, size_t root) {
    struct suspect s = {.kind = SUSPECT_KINDS};
    for (size_t i = 0; i < c->count; ++i) {
        if (clue_root(c, i) == root && c->items[i].kind < s.kind) {
            s.kind = c->items[i].kind;
        }
    }
    const struct clue *best = best_of(c, root, false), *placed = best_of(c, root, true);
    s.title = title_of(c, root, best);
    s.look = look_at(c, placed != NULL && !has_place(best) && placed->kind < SUSPECT_PROBE ? placed : best);
    s.extent = best->f != NULL ? best->f->extent : best->probe != NULL ? best->probe->cells : 0;
    const bool missing = best->f != NULL && best->f->missing && (placed == NULL || placed->kind >= SUSPECT_PROBE);
    placed = missing ? NULL : placed;
    for (size_t i = 0; missing && placed == NULL && i < c->count;
         ++i) { /* a store that is done stands for one that is not */
        const struct finding *f = c->items[i].f;
        placed = clue_root(c, i) == root && f != NULL && f->missing && f->other != NULL ? &c->items[i] : NULL;
    }
    if (placed != NULL) {
        const struct where *w = missing ? placed->f->other : &placed->f->where;
        s.place = must_format("%s  %s", where_text(w), w->instruction);
        s.file = w->file != NULL ? must_strdup(w->file) : NULL;
        s.line = w->line;
        suspect_from(c, placed, w, missing, &s);
    }
    s.buffer = best->f != NULL && best->f->where.buffer != NULL ? must_strdup(best->f->where.buffer) : NULL;
    add_whys(c, root, &s);
    return s;
}

/* ---- of the case as a whole ---- */

static void also(struct suspects *s, const char *by, char *text) {
    if (text != NULL) {
        s->also = must_realloc(s->also, s->also_count + 1, sizeof *s->also);
        s->also[s->also_count++] = (struct suspect_why){by, text};
    }
}

static enum ruling ruling_of(const struct outcome *o, const char *oracle) {
    for (size_t i = 0; oracles[i] != NULL; ++i) {
        if (strcmp(oracles[i]->name, oracle) == 0) {
            return o->rulings[i];
        }
    }
    return RULING_NOT_JUDGED;
}

static char *schedules_text(const struct outcome *o) {
    char *text = must_strdup("");
    for (size_t i = 0; i < o->schedule_count; ++i) {
        char *more = must_format("%s%s%s", text,
                                 i == 0                       ? ""
                                 : i + 1 == o->schedule_count ? " and "
                                                              : ", ",
                                 o->schedules[i]);
        free(text);
        text = more;
    }
    return text;
}

static void also_schedule(const struct outcome *o, struct suspects *s) {
    char *orders = schedules_text(o);
    if (o->schedule_count > 1 && ruling_of(o, "schedule") == RULING_CLEAN) {
        also(s, "schedule", must_format("%s leave the same bytes", orders));
    }
    free(orders);
}

static void also_counts(const struct clues *c, struct suspects *s) {
    const struct suspects_input *in = c->in;
    size_t counts = in->spec != NULL ? in->spec->count_count : 0;
    for (size_t i = 0; in->spec != NULL && i < in->spec->then_count; ++i) {
        counts += in->spec->then[i].count_count;
    }
    for (size_t i = 0; i < c->count; ++i) {
        if (c->items[i].dropped) {
            also(s, "census", must_strdup(c->items[i].text));
        }
    }
    if (counts == 0) {
        also(s, "census", must_strdup("the launch file has no `counts`: nothing to compare what was executed with"));
    } else if (ruling_of(in->outcome, "census") == RULING_CLEAN) {
        also(s, "census", must_format("all %zu closed forms of the launch file hold", counts));
    }
}

static void also_canary(const struct suspects_input *in, struct suspects *s) {
    if (in->canary == NULL) {
        also(s, "canary", in->no_canary != NULL ? must_strdup(in->no_canary) : NULL);
    } else if (in->canary->skipped) {
        also(s, "canary", must_strdup(in->canary->why));
    } else if (ruling_of(in->canary, "canary") == RULING_CLEAN) {
        also(s, "canary", must_strdup("the guards between the planes are left alone, and make no difference"));
    }
}

/* Bits that a race may have made: in another order they are others. */
static void also_race(struct suspects *s) {
    bool open = false;
    for (size_t i = 0; i < s->count; ++i) {
        for (size_t k = 0; s->items[i].kind == SUSPECT_RACE && k < s->items[i].why_count; ++k) {
            const char *by = s->items[i].whys[k].by;
            open |= strcmp(by, "schedule") == 0 || strcmp(by, "parity") == 0;
        }
    }
    if (open) {
        also(s, "note", must_strdup("a race leaves the bits open: other faults may show when it is mended"));
    }
}

/* ---- the whole ---- */

static bool comes_first(const struct suspect *x, const struct suspect *y) {
    return x->kind != y->kind ? x->kind < y->kind : x->extent > y->extent;
}

/* What ties stays in the order of the observations. */
static void put_in_order(struct suspects *s) {
    for (size_t i = 1; i < s->count; ++i) {
        const struct suspect moved = s->items[i];
        size_t k = i;
        for (; k > 0 && comes_first(&moved, &s->items[k - 1]); --k) {
            s->items[k] = s->items[k - 1];
        }
        s->items[k] = moved;
    }
}

/* The case is right, and others of the same shape or kernel are not. */
static void accuse_siblings(const struct suspects_input *in, struct suspects *out) {
    char *red = NULL;
    for (size_t i = 0; i < in->sibling_count; ++i) {
        const struct sibling *s = &in->siblings[i];
        if (s->ran && s->verdict != VERDICT_PASS && !s->itself) {
            char *more = must_format("%s%s%s %s: %zu of %zu cells wrong", red != NULL ? red : "",
                                     red != NULL ? ", " : "", s->name, verdict_name(s->verdict), s->wrong, s->cells);
            free(red);
            red = more;
        }
    }
    if (red == NULL || out->count > 0) {
        free(red);
        return;
    }
    const char *mistake = siblings_mistake(in);
    struct suspect s = {.kind = SUSPECT_BITS};
    s.title = must_format("not of this case, which is right: %s", mistake != NULL ? mistake : "other data or shapes");
    s.look = must_strdup("explain the case that is wrong");
    add_why(&s, "classes", red);
    out->items = must_calloc(1, sizeof *out->items);
    out->items[out->count++] = s;
}

static bool is_of_values(const struct suspect *s) {
    return s->kind >= SUSPECT_STAGING && s->kind <= SUSPECT_BITS;
}

/* With one suspect the classes and shapes speak for it; with several nobody knows for which. */
static void tell_siblings(const struct suspects_input *in, struct suspects *out) {
    static const char *const names[] = {"classes", "shapes"};
    for (int k = 0; k < 2; ++k) {
        char *text = (k == 0 ? siblings_classes : siblings_shapes)(in);
        if (text != NULL && out->count == 1 && is_of_values(&out->items[0]) && said_mistake(text) != NULL) {
            add_why(&out->items[0], names[k], text);
        } else {
            also(out, names[k], text);
        }
    }
}

void suspects_of(const struct suspects_input *in, struct suspects *out) {
    struct clues c = {.in = in};
    *out = (struct suspects){.count = 0};
    gather(&c);
    clues_merge(&c);
    out->items = must_calloc(c.count + 1, sizeof *out->items);
    for (size_t i = 0; i < c.count; ++i) {
        if (clue_root(&c, i) == i && !c.items[i].dropped) {
            out->items[out->count++] = describe(&c, i);
        }
    }
    put_in_order(out);
    if (out->count == 0) {
        free(out->items);
        out->items = NULL;
        accuse_siblings(in, out);
    }
    tell_siblings(in, out);
    also_schedule(in->outcome, out);
    also_canary(in, out);
    also_counts(&c, out);
    also_race(out);
    for (size_t i = 0; i < c.count; ++i) {
        free(c.items[i].text);
    }
    free(c.items);
}

static void free_whys(struct suspect_why *whys, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        free(whys[i].text);
    }
    free(whys);
}

void suspects_free(struct suspects *s) {
    for (size_t i = 0; i < s->count; ++i) {
        struct suspect *x = &s->items[i];
        free(x->title), free(x->place), free(x->file), free(x->look), free(x->buffer);
        free(x->call);
        for (size_t k = 0; k < x->from_count; ++k) {
            free(x->from[k]);
        }
        free(x->from);
        free_whys(x->whys, x->why_count);
    }
    free(s->items);
    free_whys(s->also, s->also_count);
    *s = (struct suspects){.count = 0};
}
