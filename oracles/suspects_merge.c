/* Which observations speak of one mistake. Two places in the source are two mistakes, unless one is known to follow
 * from the other: what a store spoils elsewhere, what a missing barrier lets race, what the result shows of either. */
#include "suspects_parts.h"
#include <string.h>

size_t clue_root(const struct clues *c, size_t i) {
    while (c->items[i].group != i) {
        i = c->items[i].group;
    }
    return i;
}

static void join(struct clues *c, size_t a, size_t b) {
    const size_t x = clue_root(c, a), y = clue_root(c, b);
    c->items[x > y ? x : y].group = x < y ? x : y;
}

bool clue_is(const struct clue *c, const char *by) {
    return strcmp(c->by, by) == 0;
}

bool clue_of_stage(const struct clue *c, enum stage_kind stage) {
    return clue_is(c, stage_names[stage]);
}

static bool is_cause(const struct finding *f, const char *cause) {
    return f != NULL && f->cause != NULL && strcmp(f->cause, cause) == 0;
}

/* ---- places ---- */

static bool same_spot(const struct where *a, const struct where *b) {
    return a->place != 0 ? a->place == b->place : a->ptx_line > 0 && a->ptx_line == b->ptx_line;
}

static bool same_line(const struct where *a, const struct where *b) {
    return a->file != NULL && b->file != NULL && a->line == b->line && strcmp(a->file, b->file) == 0;
}

static bool same_buffer(const struct where *a, const struct where *b) {
    return a->buffer != NULL && b->buffer != NULL && strcmp(a->buffer, b->buffer) == 0;
}

static bool same_launch(const struct finding *a, const struct finding *b) {
    return a->where.launch == b->where.launch || a->where.launch == 0 || b->where.launch == 0;
}

/* Its place is where the mistake shows first. Of wrong results it is the store, which takes what others made. */
static bool is_placed(const struct clue *c) {
    return c->f != NULL && !clue_is(c, "parity") && !clue_is(c, "truth") && !clue_is(c, "coverage") &&
           !clue_is(c, "schedule") && !clue_of_stage(c, STAGE_RESCALE) && !clue_of_stage(c, STAGE_STORE);
}

static bool is_stage(const struct clue *c) {
    enum stage_kind kind;
    return stage_named(c->by, &kind);
}

static bool at_other(const struct finding *race, const struct where *w) {
    return same_spot(&race->where, w) || (race->other != NULL && same_spot(race->other, w));
}

/* ---- pairs ---- */

/* Both are of the staging: one line that fills a plane, or bytes of it that nobody fills. */
static bool one_staging(const struct clue *a, const struct clue *b) {
    return same_buffer(&a->f->where, &b->f->where) &&
           (same_line(&a->f->where, &b->f->where) || a->f->where.instruction == NULL ||
            b->f->where.instruction == NULL);
}

/* g: stores that leave their plane or buffer, or cannot be there. */
static bool follows_guard(const struct clue *g, const struct clue *x) {
    const struct finding *f = x->f;
    if (clue_is(x, "hazard")) { /* the bytes it spoils are others' */
        return at_other(f, &g->f->where);
    }
    if (clue_is(x, "uninit") || clue_of_stage(x, STAGE_STAGING)) { /* and its own are not there */
        return same_buffer(&g->f->where, &f->where) && (clue_is(x, "uninit") || f->missing);
    }
    if (clue_is(x, "canary")) {
        return same_buffer(&g->f->where, &f->where) && f->cause != NULL && is_cause(g->f, f->cause);
    }
    return (clue_is(x, "coverage") || clue_of_stage(x, STAGE_STORE)) && same_buffer(&g->f->where, &f->where);
}

static bool stores_twice(const struct finding *race) {
    return is_cause(race, "lanes") || is_cause(race, "update");
}

static bool follows_race(const struct clue *r, const struct clue *x) {
    if (clue_is(x, "hazard")) { /* one barrier or wait that is missing lets many places race */
        const bool copies = is_cause(r->f, "wait") || is_cause(r->f, "exit");
        return r->f->cause != NULL &&
               (is_cause(x->f, r->f->cause) || (copies && (is_cause(x->f, "wait") || is_cause(x->f, "exit"))));
    }
    if (clue_of_stage(x, STAGE_STAGING)) {
        return at_other(r->f, &x->f->where) && (stores_twice(r->f) || is_cause(x->f, "wait"));
    }
    return false;
}

/* Plane `next` begins where plane `name` ends. */
static bool follows_plane(const struct spec *s, const char *name, const char *next) {
    for (size_t i = 0; s != NULL && name != NULL && next != NULL && i + 1 < s->plane_count; ++i) {
        if (strcmp(s->planes[i].name, name) == 0) {
            return strcmp(s->planes[i + 1].name, next) == 0;
        }
    }
    return false;
}

/* A word between two planes is past the one and before the other. */
static bool same_gap(const struct clues *c, const struct finding *a, const struct finding *b) {
    const char *x = a->where.buffer, *y = b->where.buffer;
    return (is_cause(a, "past") && is_cause(b, "before") && follows_plane(c->in->spec, x, y)) ||
           (is_cause(a, "before") && is_cause(b, "past") && follows_plane(c->in->spec, y, x));
}

static char operand_of(const struct finding *f) {
    const char *at = strstr(f->summary, "operand ");
    return at != NULL ? at[8] : 0;
}

/* What the rescaling read in the run with the stages: planes whose staging was wrong were right there. */
static bool was_put_right(const struct clues *c, const struct where *w) {
    for (size_t i = 0; i < c->count; ++i) {
        if (clue_of_stage(&c->items[i], STAGE_STAGING) && same_buffer(&c->items[i].f->where, w)) {
            return true;
        }
    }
    return false;
}

/* What a loads, from a place that is not its own or before anything is there, is what b has wrong. */
static bool feeds(const struct clues *c, const struct clue *a, const struct clue *b) {
    const bool uninit = clue_is(a, "uninit"),
               load = uninit || (clue_is(a, "guard") && !is_cause(a->f, "past") && !is_cause(a->f, "before"));
    if (uninit && clue_of_stage(b, STAGE_SUMS) && is_cause(b->f, "more")) {
        return true; /* a step too many reads what no step has filled */
    }
    if (load && clue_of_stage(b, STAGE_STAGING)) {
        return clue_feeds(c, a, b);
    }
    if (load && clue_of_stage(b, STAGE_RESCALE)) {
        return !was_put_right(c, &a->f->where) && clue_feeds(c, a, b);
    }
    if (clue_of_stage(a, STAGE_FRAGMENTS) && clue_of_stage(b, STAGE_FRAGMENTS) &&
        operand_of(a->f) == operand_of(b->f)) {
        return clue_feeds(c, a, b);
    }
    return clue_of_stage(a, STAGE_STAGING) && clue_of_stage(b, STAGE_STAGING) &&
           same_buffer(&a->f->where, &b->f->where) && clue_share_load(c, a, b);
}

/* a: an mma too few. As many are missing in other warps; and where warps are compared mma by mma, those after the
 * missing one have the operands of the next k. */
static bool follows_missing(const struct clue *a, const struct clue *x) {
    if (!clue_of_stage(a, STAGE_SUMS) || !is_cause(a->f, "fewer")) {
        return false;
    }
    if (clue_of_stage(x, STAGE_SUMS) && is_cause(x->f, "fewer")) {
        const char *p = strstr(a->f->summary, " executed "), *q = strstr(x->f->summary, " executed ");
        return p != NULL && q != NULL && strcmp(p, q) == 0 && same_line(&a->f->where, &x->f->where);
    }
    const char *first = clue_line(x->f, "first"), *holds = clue_line(x->f, "holds");
    return clue_of_stage(x, STAGE_FRAGMENTS) && first != NULL && strncmp(first, "mma ", 4) == 0 &&
           strncmp(first, "mma 0 ", 6) != 0 && holds != NULL && strncmp(holds, "k + ", 4) == 0;
}

/* x comes of a, or both of one mistake. */
static bool belongs(const struct clues *c, const struct clue *a, const struct clue *x) {
    if (a->f == NULL || x->f == NULL || !same_launch(a->f, x->f)) {
        return false;
    }
    if (clue_of_stage(a, STAGE_STAGING) && clue_of_stage(x, STAGE_STAGING) && one_staging(a, x)) {
        return true;
    }
    if (is_placed(a) && is_placed(x) && same_spot(&a->f->where, &x->f->where) && !(is_stage(a) && is_stage(x))) {
        return true;
    }
    if (clue_is(a, "guard") &&
        (follows_guard(a, x) || (clue_is(x, "guard") && same_buffer(&a->f->where, &x->f->where) &&
                                 a->f->cause != NULL && is_cause(x->f, a->f->cause)))) {
        return true;
    }
    if (clue_is(a, "hazard") && follows_race(a, x)) {
        return true;
    }
    if (clue_is(x, "canary") && (clue_is(a, "guard") || clue_is(a, "canary")) && same_gap(c, a->f, x->f)) {
        return true;
    }
    if (feeds(c, a, x) || follows_missing(a, x)) {
        return true;
    }
    if (clue_is(a, "coverage") && (clue_is(x, "coverage") || clue_of_stage(x, STAGE_STORE))) {
        return same_buffer(&a->f->where, &x->f->where);
    }
    if (clue_is(a, "uninit")) { /* bytes that the staging has left out, or a load of another plane's place */
        return (clue_is(x, "uninit") && same_buffer(&a->f->where, &x->f->where) &&
                (same_line(&a->f->where, &x->f->where) || x->f->where.buffer != NULL)) ||
               (clue_of_stage(x, STAGE_STAGING) && x->f->missing && same_buffer(&a->f->where, &x->f->where));
    }
    return clue_is(a, "sync") && clue_is(x, "sync") && strcmp(a->f->summary, x->f->summary) == 0;
}

/* Orders that leave other bits, and guards that make a difference, say that something is wrong and not what: they speak
 * for the first that can do it. */
static void attach_effects(struct clues *c) {
    for (size_t i = 0; i < c->count; ++i) {
        const bool order = clue_is(&c->items[i], "schedule");
        if (!order && (!clue_is(&c->items[i], "canary") || c->items[i].f->verdict != VERDICT_DIFFERS)) {
            continue;
        }
        static const char *const of_order[] = {"hazard", "coverage", "sync", "uninit", "guard"}, *const of_guards[] = {
                                                                                                     "guard", "uninit",
                                                                                                     "hazard", "sync",
                                                                                                     "coverage"};
        bool done = false;
        for (size_t t = 0; t < sizeof of_order / sizeof *of_order && !done; ++t) {
            for (size_t k = 0; k < c->count && !done; ++k) {
                done = clue_is(&c->items[k], order ? of_order[t] : of_guards[t]) &&
                       same_launch(c->items[k].f, c->items[i].f) && c->items[k].f->verdict != VERDICT_UNWRITTEN;
                if (done) {
                    join(c, k, i);
                }
            }
        }
    }
}

/* ---- what the result shows ---- */

static bool is_root(const struct clues *c, size_t i) {
    return !c->items[i].dropped && clue_root(c, i) == i;
}

/* The first clue of the most urgent of these kinds; what nobody has stored explains no wrong bits, and is passed over.
 */
static size_t first_of(const struct clues *c, enum suspect_kind from, enum suspect_kind to) {
    size_t best = c->count;
    for (size_t i = 0; i < c->count; ++i) {
        const struct clue *x = &c->items[i];
        const bool hole = x->kind == SUSPECT_STORE && x->f->missing;
        if (!x->dropped && !hole && x->kind >= from && x->kind <= to &&
            (best == c->count || x->kind < c->items[best].kind)) {
            best = i;
        }
    }
    return best;
}

/* It goes with wrong bits alone, which nothing upstream explains. */
static bool clue_of_bits(const struct clues *c, size_t i) {
    const struct clue *root = &c->items[clue_root(c, i)];
    return !root->dropped && root->kind >= SUSPECT_PROBE && root->kind <= SUSPECT_BITS;
}

static bool has_word(const char *text, const char *word) {
    return text != NULL && strstr(text, word) != NULL;
}

/* The staging whose plane must hold the field of that side: "weight" and q, or d, ds, dm, sum. */
static size_t staging_of(const struct clues *c, const char *operand, bool codes) {
    static const char *const sides[] = {"weight", "activation"};
    for (size_t s = 0; operand != NULL && s < sizeof sides / sizeof *sides; ++s) {
        const size_t n = strlen(sides[s]);
        for (size_t i = 0; strncmp(operand, sides[s], n) == 0 && i < c->count; ++i) {
            const char *held = clue_of_stage(&c->items[i], STAGE_STAGING) && !c->items[i].dropped
                                   ? strstr(c->items[i].f->summary, "must hold ")
                                   : NULL;
            held = held != NULL && strncmp(held + 10, sides[s], n) == 0 ? held + 10 + n : "";
            if (strncmp(held, codes ? ".q " : ".d", 2 + codes) == 0 || (!codes && strncmp(held, ".s", 2) == 0)) {
                return i;
            }
        }
    }
    return c->count;
}

/* The group that what was consumed speaks of: codes go through the fragments, scales do not. */
static size_t target_of(const struct clues *c, const char *operand) {
    const enum suspect_kind fragments = SUSPECT_FRAGMENTS, rescale = SUSPECT_RESCALE, last = SUSPECT_STORE;
    const bool codes =
        has_word(operand, "codes") && !has_word(operand, "scales of token") && !has_word(operand, "scales of row");
    const bool scales = has_word(operand, "scales") || has_word(operand, "minima") || has_word(operand, "sums");
    size_t at = c->count;
    at = codes ? first_of(c, fragments, fragments) : scales ? first_of(c, rescale, rescale) : at;
    at = at == c->count && (codes || scales) ? staging_of(c, operand, codes) : at;
    at = at == c->count ? first_of(c, SUSPECT_STAGING, last) : at;
    return at == c->count ? first_of(c, SUSPECT_LAUNCH, last) : at;
}

/* All that is known to be wrong is races, and in no order that was run do they change a bit: the wrong bits come of
 * something else. */
static bool races_change_nothing(const struct clues *c) {
    const struct outcome *o = c->in->outcome;
    bool only_races = true;
    for (size_t i = 0; i < c->count; ++i) {
        const enum suspect_kind kind = c->items[i].kind;
        only_races &= kind == SUSPECT_RACE || kind >= SUSPECT_PROBE;
        if (clue_is(&c->items[i], "schedule")) {
            return false;
        }
    }
    return only_races && o->schedule_count > 1;
}

/* A rule of scales or minima alone that other ones were consumed by: no part of wrong codes, and no rest of them. */
static bool is_plain_of_scales(const struct suspect_probe *p) {
    static const char *const vague[] = {"nothing", "no item", "no number", "several", "times", " added"};
    bool plain = p->suspect != NULL && (has_word(p->operand, "scales") || has_word(p->operand, "minima")) &&
                 !has_word(p->operand, "codes") && !has_word(p->operand, "products");
    for (size_t i = 0; i < sizeof vague / sizeof *vague; ++i) {
        plain = plain && !has_word(p->text, vague[i]);
    }
    return plain;
}

static bool same_side(const struct suspect_probe *p, const struct suspect_probe *q) {
    const size_t word = strcspn(p->operand, " ");
    return strncmp(p->operand, q->operand, word + 1) == 0;
}

/* What the staging had wrong are codes, in a plane of them alone. */
static bool of_codes(const struct clue *x) {
    return clue_of_stage(x, STAGE_STAGING) &&
           (has_word(x->f->summary, "must hold weight.q ") || has_word(x->f->summary, "must hold activation.q "));
}

/* The group of `to` may be what clue i, a plain rule of scales, comes of: one mistake in the rescaling has one rule on
 * one side, and codes that are staged or loaded wrong leave scales alone. */
static bool may_explain(const struct clues *c, size_t to, size_t i) {
    const size_t root = clue_root(c, to);
    const struct suspect_probe *p = c->items[i].probe;
    bool codes_alone = true, other_rule = false, rescale = false;
    for (size_t k = 0; k < c->count; ++k) {
        const struct clue *x = &c->items[k];
        if (clue_root(c, k) != root || x->kind >= SUSPECT_PROBE) {
            const bool rule = clue_root(c, k) == root && k < i && x->probe != NULL && is_plain_of_scales(x->probe);
            other_rule |= rule && (!same_side(p, x->probe) || strcmp(p->suspect, x->probe->suspect) != 0);
            continue;
        }
        codes_alone &= of_codes(x) || clue_of_stage(x, STAGE_FRAGMENTS) || clue_of_stage(x, STAGE_SUMS);
        rescale |= clue_of_stage(x, STAGE_RESCALE);
    }
    return !codes_alone && !(rescale && other_rule);
}

static bool has_spot(const struct where *w) {
    return w->place != 0 || w->ptx_line > 0;
}

/* Wrong bits of two results, which two lines store. */
static bool two_results(const struct where *a, const struct where *b) {
    return a->buffer != NULL && b->buffer != NULL && !same_buffer(a, b) && has_spot(a) && has_spot(b) &&
           !same_spot(a, b) && !same_line(a, b);
}

/* Truth, other buffers of the same store: of what is ahead the same result, else one that may be stored with it. */
static void attach_bits(struct clues *c, size_t i) {
    size_t to = c->count;
    bool same = false;
    for (size_t k = 0; k < i; ++k) {
        const struct clue *x = &c->items[k];
        if ((x->kind != SUSPECT_PROBE && x->kind != SUSPECT_BITS) || x->f == NULL ||
            two_results(&x->f->where, &c->items[i].f->where)) {
            continue;
        }
        const bool own = same_buffer(&x->f->where, &c->items[i].f->where);
        to = to == c->count || (own && !same) ? k : to;
        same |= own;
    }
    if (to < c->count) {
        join(c, to, i);
    }
}

static void attach_results(struct clues *c) {
    const bool apart = races_change_nothing(c);
    for (size_t i = 0; i < c->count; ++i) {
        struct clue *x = &c->items[i];
        if (x->kind != SUSPECT_PROBE && x->kind != SUSPECT_BITS) {
            continue;
        }
        const char *operand = x->probe != NULL ? x->probe->operand : x->f != NULL ? clue_line(x->f, "probe") : NULL;
        const size_t to = apart ? c->count : target_of(c, operand);
        if (to < c->count && x->probe != NULL && is_plain_of_scales(x->probe) && !may_explain(c, to, i)) {
            continue; /* it stands for a mistake of its own */
        }
        if (to < c->count) {
            join(c, to, i);
        } else if (x->probe == NULL && x->f != NULL) {
            attach_bits(c, i);
        }
    }
}

static bool other_result(const struct suspect_probe *p, const char *buffer) {
    return p->result != NULL && buffer != NULL && strcmp(p->result, buffer) != 0;
}

/* Probes of one field, or of one operand with one mistake, in one result; the first one has what parity says of it. */
static void join_probes(struct clues *c) {
    for (size_t i = 0; i < c->count; ++i) {
        const struct suspect_probe *p = c->items[i].probe;
        for (size_t k = 0; p != NULL && k < i; ++k) {
            const struct suspect_probe *q = c->items[k].probe;
            const size_t word = strcspn(p->operand, " ");
            const bool alike = q != NULL && p->suspect != NULL && q->suspect != NULL &&
                               strcmp(p->suspect, q->suspect) == 0 && strncmp(p->operand, q->operand, word) == 0;
            if ((alike || (q != NULL && strcmp(p->operand, q->operand) == 0)) && !other_result(p, q->result)) {
                join(c, k, i);
            }
        }
    }
    for (size_t i = 0; i < c->count; ++i) {
        size_t of = 0;
        while (of < c->count && (c->items[of].probe == NULL || c->items[i].f == NULL ||
                                 other_result(c->items[of].probe, c->items[i].f->where.buffer))) {
            ++of;
        }
        if (clue_is(&c->items[i], "parity") && of < c->count && clue_of_bits(c, i)) {
            join(c, of, i);
        }
    }
}

/* ---- counts ---- */

static size_t groups_of(const struct clues *c, size_t *one) {
    size_t groups = 0;
    for (size_t i = 0; i < c->count; ++i) {
        if (is_root(c, i) && c->items[i].kind < SUSPECT_COUNTS) {
            *one = i;
            ++groups;
        }
    }
    return groups;
}

/* What was executed too often or too seldom is the mistake itself where sums lack an mma. With one other suspect it
 * speaks for that one; with several nobody knows for which. */
static void attach_counts(struct clues *c) {
    size_t one = c->count, sums = c->count;
    const size_t groups = groups_of(c, &one);
    for (size_t i = 0; i < c->count; ++i) {
        const struct finding *f = c->items[i].f;
        sums = clue_of_stage(&c->items[i], STAGE_SUMS) && (is_cause(f, "more") || is_cause(f, "fewer")) ? i : sums;
    }
    size_t first = c->count;
    for (size_t i = 0; i < c->count; ++i) {
        struct clue *x = &c->items[i];
        if (x->kind != SUSPECT_COUNTS) {
            continue;
        }
        if (is_cause(x->f, "work") && sums < c->count) {
            join(c, sums, i);
        } else if (groups == 1) {
            join(c, one, i);
        } else if (groups > 1) {
            x->dropped = true;
        } else if (first < c->count) {
            join(c, first, i);
        } else {
            first = i;
        }
    }
}

/* Fragments that an mma too few shows are told with the sums. */
static void demote_shifted(struct clues *c) {
    for (size_t i = 0; i < c->count; ++i) {
        for (size_t k = 0; k < c->count; ++k) {
            const struct clue *a = &c->items[k];
            if (c->items[i].f != NULL && a->f != NULL && same_launch(a->f, c->items[i].f) &&
                clue_of_stage(&c->items[i], STAGE_FRAGMENTS) && follows_missing(a, &c->items[i])) {
                c->items[i].kind = SUSPECT_SUMS;
            }
        }
    }
}

void clues_merge(struct clues *c) {
    demote_shifted(c);
    for (size_t i = 0; i < c->count; ++i) {
        for (size_t k = 0; k < i; ++k) {
            if (clue_root(c, i) != clue_root(c, k) &&
                (belongs(c, &c->items[i], &c->items[k]) || belongs(c, &c->items[k], &c->items[i]))) {
                join(c, i, k);
            }
        }
    }
    attach_effects(c);
    attach_results(c);
    join_probes(c);
    attach_counts(c);
}
