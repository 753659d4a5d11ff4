/* staging: at the barrier after which a block reads its planes, they hold what the launch file says, every byte of
 * every block and stage. A fault is what one place in the source (trace_same_place) stored wrong in one plane: wrong
 * bytes are gathered by who stored them last. A place whose stores left their plane is one fault in all planes, with
 * the bytes of its own plane that nobody stored. */
#include "../ref/checked.h"
#include "stages.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

struct group {            /* wrong bytes of one plane that one instruction stored last */
    uint32_t instruction; /* NOBODY: nothing has */
    bool in_flight;       /* it is a copy that has not been waited for at that barrier */
    size_t plane;
    uint64_t bytes;
    uint32_t block[3], thread; /* of the first one */
    uint64_t stage;
    size_t offset;
    unsigned size;
    uint64_t want, got;
    char *first, *holds; /* owned; holds: NULL when it is not known */
    bool reported;
};

struct staging {
    struct plane_image *images; /* (plane_count) */
    struct group *groups;
    size_t group_count;
    uint64_t stages, next; /* of the block that runs: the stage that comes next */
    uint64_t block;        /* its number + 1 */
    uint64_t compared, wrong;
    uint64_t looked; /* stages */
    char *shifted;   /* a block whose planes held another stage than they should, or NULL */
};

void staging_open(struct stages *s) {
    struct staging *g = s->staging = must_calloc(1, sizeof *g);
    g->images = must_calloc(s->content.launch->plane_count + 1, sizeof *g->images);
    content_stages(&s->content, &g->stages, &s->e);
}

void staging_close(struct stages *s) {
    struct staging *g = s->staging;
    for (size_t i = 0; g != NULL && i < s->content.launch->plane_count; ++i) {
        plane_image_free(&g->images[i]);
    }
    for (size_t i = 0; g != NULL && i < g->group_count; ++i) {
        free(g->groups[i].first);
        free(g->groups[i].holds);
    }
    if (g != NULL) {
        free(g->images);
        free(g->groups);
        free(g->shifted);
    }
    free(g);
}

/* ---- what a wrong byte holds instead ---- */

enum { LEAST_RUN = 4, MOST_RUN = 16, MOST_SHIFTS = 512 };

/* How many bytes from `at` on lie side by side and belong to elements: one value of several bytes, or a run of bytes of
 * one dim. */
static size_t run_of(const struct plane_image *image, size_t at, size_t size) {
    size_t n = size;
    const size_t most = size == 1 ? MOST_RUN : LEAST_RUN;
    while (size < LEAST_RUN && n < most && at + n < image->bytes && image->byte[at + n].cell > 0) {
        ++n;
    }
    return n;
}

static bool constant_run(const uint8_t *bytes, size_t n) {
    size_t i = 1;
    while (i < n && bytes[i] == bytes[0]) {
        ++i;
    }
    return i == n;
}

static bool known_run(const struct plane_image *image, size_t at, size_t n) {
    size_t known = 0;
    while (known < n && image->byte[at + known].cell > 0) {
        ++known;
    }
    return image->byte[at].at == 0 && known == n;
}

struct spot { /* where a run of bytes stands in what a plane must hold */
    size_t plane, at;
    size_t shifted;  /* wrong bytes of the line that are as far off, where most are */
    int apart;       /* of row and depth of the element wanted, how many are others */
    size_t distance; /* in bytes */
    size_t others;   /* spots with the same bytes */
};

static int elements_apart(const struct stages *s, const struct group *f, size_t plane, size_t at) {
    const struct plane_image *images = s->staging->images;
    int64_t row, k, want_row, want_k;
    if (!plane_element_at(&s->content, plane, f->block, f->stage, images[plane].byte[at], &row, &k) ||
        !plane_element_at(&s->content, f->plane, f->block, f->stage, images[f->plane].byte[f->offset], &want_row,
                          &want_k)) {
        return 2;
    }
    return (row != want_row) + (k != want_k);
}

/* How many of the wrong bytes that the line stored last in this plane are those of `by` bytes further on; 0: less than
 * three in four. */
static size_t shifted_by(const struct stages *s, const struct group *f, const struct probe_barrier *at, int64_t by) {
    const struct plane_image *image = &s->staging->images[f->plane];
    const size_t start = s->content.launch->planes[f->plane].offset;
    size_t wrong = 0, fit = 0;
    for (size_t i = 0; i < image->bytes; ++i) {
        const uint8_t got = at->arena[start + i];
        if (image->byte[i].cell > 0 && got != image->want[i] && at->writes[start + i].thread > 0 &&
            at->writes[start + i].instruction == f->instruction) {
            const int64_t from = (int64_t)i + by;
            ++wrong;
            fit += from >= 0 && (size_t)from < image->bytes && image->byte[from].cell > 0 && image->want[from] == got;
        }
    }
    return 4 * fit >= 3 * wrong ? fit : 0;
}

static bool likelier(const struct spot *a, const struct spot *b) {
    return a->shifted != b->shifted ? a->shifted > b->shifted
           : a->apart != b->apart   ? a->apart < b->apart
                                    : a->distance < b->distance;
}

/* At the start of an element, all of it known. False: nowhere but where they should. */
static bool find_run(const struct stages *s, const struct group *f, const struct probe_barrier *at, size_t plane,
                     const uint8_t *got, size_t n, struct spot *best) {
    const struct plane_image *image = &s->staging->images[plane];
    size_t count = 0;
    for (size_t o = 0; image->want != NULL && n <= image->bytes && o <= image->bytes - n; ++o) {
        if ((plane == f->plane && o == f->offset) || memcmp(image->want + o, got, n) != 0 || !known_run(image, o, n)) {
            continue;
        }
        const bool looked = plane == f->plane && count < MOST_SHIFTS;
        const size_t shifted = looked ? shifted_by(s, f, at, (int64_t)o - (int64_t)f->offset) : 0;
        const size_t distance = o < f->offset ? f->offset - o : o - f->offset;
        const struct spot x = {plane, o, shifted, elements_apart(s, f, plane, o), distance, 0};
        *best = count++ == 0 || likelier(&x, best) ? x : *best;
    }
    best->others = count - (count > 0);
    return count > 0;
}

static char *held_text(const struct stages *s, const struct group *f, const struct probe_barrier *at) {
    const uint8_t *got = at->arena + s->content.launch->planes[f->plane].offset + f->offset;
    const struct staging *g = s->staging;
    const size_t n = run_of(&g->images[f->plane], f->offset, f->size), planes = s->content.launch->plane_count;
    struct spot x = {0};
    bool found = false;
    if (n < LEAST_RUN || constant_run(got, n)) {
        return n > 0 && constant_run(got, n) && got[0] == 0 ? must_strdup("zeros") : NULL;
    }
    for (size_t i = 0; i < planes && !found; ++i) { /* its own plane first */
        found = find_run(s, f, at, i == 0 ? f->plane : i <= f->plane ? i - 1 : i, got, n, &x);
    }
    if (!found) {
        return NULL;
    }
    char *element = plane_element_text(&s->content, x.plane, f->block, f->stage, g->images[x.plane].byte[x.at]);
    char *where = x.plane == f->plane
                      ? must_strdup("")
                      : must_format(", which belongs in plane %s", s->content.launch->planes[x.plane].name);
    char *text = x.others == 0 || x.shifted > 0 ? must_format("%s%s", element, where)
                                                : must_format("%s%s (the same bytes are in %zu other place%s)", element,
                                                              where, x.others, x.others == 1 ? "" : "s");
    free(element), free(where);
    return text;
}

/* ---- comparing ---- */

static void describe_first(struct stages *s, struct group *f, const struct probe_barrier *at, size_t byte) {
    const struct staging *g = s->staging;
    const struct plane_image *image = &g->images[f->plane];
    const struct launch_plane *plane = &s->content.launch->planes[f->plane];
    const struct plane_byte element = image->byte[byte];
    const uint8_t *arena = at->arena + plane->offset;
    memcpy(f->block, at->place.block, sizeof f->block);
    f->stage = g->next;
    f->thread = at->writes[plane->offset + byte].thread;
    f->offset = byte - element.at;
    f->size =
        (unsigned)element_size(&s->content.elements, &s->content.spec->planes[f->plane].content.values[element.value]);
    memcpy(&f->want, image->want + f->offset, f->size);
    memcpy(&f->got, arena + f->offset, f->size);
    char *index = plane_index_text(&s->content, f->plane, f->block, f->stage, element);
    char *what = plane_element_text(&s->content, f->plane, f->block, f->stage, element);
    f->first = must_format("plane %s at (%s), which must hold %s", plane->name, index, what);
    f->holds = held_text(s, f, at);
    free(index);
    free(what);
}

static void note_wrong(struct stages *s, const struct probe_barrier *at, size_t plane, size_t byte) {
    struct staging *g = s->staging;
    const struct probe_write *w = &at->writes[s->content.launch->planes[plane].offset + byte];
    const uint32_t instruction = w->thread > 0 ? w->instruction : NOBODY;
    size_t i = 0;
    while (i < g->group_count && (g->groups[i].instruction != instruction || g->groups[i].plane != plane ||
                                  g->groups[i].in_flight != w->in_flight)) {
        ++i;
    }
    if (i == g->group_count) {
        g->groups = must_realloc(g->groups, g->group_count + 1, sizeof *g->groups);
        g->groups[g->group_count++] =
            (struct group){.instruction = instruction, .plane = plane, .in_flight = w->in_flight};
        describe_first(s, &g->groups[i], at, byte);
    }
    ++g->groups[i].bytes;
    ++g->wrong;
}

/* Every byte of every plane is that of stage `stage`. */
static bool holds_stage(struct stages *s, const struct probe_barrier *at, uint64_t stage) {
    const struct launch *l = s->content.launch;
    bool all = true;
    for (size_t p = 0; p < l->plane_count && all; ++p) {
        struct plane_image image = {0};
        struct error ignored = {0};
        all = plane_image_make(&s->content, p, at->place.block, stage, &image, &ignored);
        for (size_t i = 0; image.want != NULL && i < image.bytes && all; ++i) {
            all = image.byte[i].cell == 0 || image.want[i] == at->arena[l->planes[p].offset + i];
        }
        plane_image_free(&image);
    }
    return all;
}

/* A barrier that is missing ahead of this one makes a race, and here another stage: no store is wrong then. */
static bool is_shifted(struct stages *s, const struct probe_barrier *at) {
    enum { APART = 4 };
    struct staging *g = s->staging;
    const uint64_t from = g->next > APART ? g->next - APART : 0;
    for (uint64_t k = from; s->race != NULL && k < g->stages && k <= g->next + APART; ++k) {
        if (k != g->next && holds_stage(s, at, k)) {
            if (g->shifted == NULL) {
                g->shifted = must_format("%s holds stage %" PRIu64 " at the barrier where `stages` of %s has stage "
                                         "%" PRIu64 " full, and the run has a race, to be mended first",
                                         block_text(at->place.block), k, stage_file(s), g->next);
            }
            return true;
        }
    }
    return false;
}

static bool is_right(const struct stages *s, const struct probe_barrier *at) {
    const struct launch *l = s->content.launch;
    bool right = true;
    for (size_t p = 0; p < l->plane_count && right; ++p) {
        const struct plane_image *image = &s->staging->images[p];
        for (size_t i = 0; image->want != NULL && i < image->bytes && right; ++i) {
            right = image->byte[i].cell == 0 || image->want[i] == at->arena[l->planes[p].offset + i];
        }
    }
    return right;
}

static void compare(struct stages *s, const struct probe_barrier *at) {
    struct staging *g = s->staging;
    const struct launch *l = s->content.launch;
    ++g->looked;
    for (size_t p = 0; p < l->plane_count; ++p) { /* all of them first: what is found may belong to another plane */
        if (!plane_image_make(&s->content, p, at->place.block, g->next, &g->images[p], &s->e)) {
            return;
        }
    }
    const bool open = s->race != NULL && !is_right(s, at) && is_shifted(s, at);
    for (size_t p = 0; p < l->plane_count && !open; ++p) {
        const uint8_t *arena = at->arena + l->planes[p].offset;
        const struct plane_image *image = &g->images[p];
        for (size_t i = 0; image->want != NULL && i < image->bytes; ++i) {
            g->compared += image->byte[i].cell > 0;
            if (image->byte[i].cell > 0 && arena[i] != image->want[i]) {
                note_wrong(s, at, p, i);
            }
        }
    }
    for (size_t p = 0; p < l->plane_count; ++p) {
        uint8_t *arena = at->arena + l->planes[p].offset;
        const struct plane_image *image = &g->images[p];
        for (size_t i = 0; image->want != NULL && i < image->bytes; ++i) {
            arena[i] = image->byte[i].cell > 0 ? image->want[i] : arena[i];
        }
    }
}

void staging_barrier(struct stages *s, const struct probe_barrier *at) {
    struct staging *g = s->staging;
    uint64_t full_at;
    if (!content_given(s->content.spec) || !block_fits(s, &at->place)) {
        return;
    }
    if (g->block != at->place.block_number + 1) {
        g->block = at->place.block_number + 1;
        g->next = 0;
    }
    if (g->next == g->stages || !content_full_at(&s->content, at->place.block, g->next, &full_at, &s->e)) {
        return;
    }
    if (full_at < at->number) {
        expr_fail(s->content.spec->stages.full_at, &s->e,
                  "stage %" PRIu64 " is full at barrier %" PRIu64 ", before the stage ahead of it", g->next, full_at);
        return;
    }
    if (full_at == at->number) {
        compare(s, at);
        ++g->next;
    }
}

/* ---- reporting ---- */

static bool same_place(const struct trace *t, const struct group *a, const struct group *b) {
    return a->instruction != NOBODY && b->instruction != NOBODY && a->in_flight == b->in_flight &&
           trace_same_place(t, a->instruction, b->instruction);
}

/* Its stores left the plane that they belong to; *own: that one. */
static bool left_plane(const struct trace *t, const struct group *f, size_t *own) {
    for (size_t i = 0; i < t->event_count && f->instruction != NOBODY; ++i) {
        const struct event *v = &t->events[i];
        if (v->kind == EVENT_PLANE && v->plane >= 0 && trace_same_place(t, v->instruction, f->instruction)) {
            *own = (size_t)v->plane;
            return true;
        }
    }
    return false;
}

static bool belongs(const struct trace *t, const struct group *f, const struct group *x) {
    size_t own;
    if (f == x || (same_place(t, f, x) && f->plane == x->plane)) {
        return true;
    }
    return left_plane(t, f, &own) && (same_place(t, f, x) || (x->instruction == NOBODY && x->plane == own));
}

/* Where the function of this line was called, if where_text does not say so and other faults have the same line. */
static char *call_text(const struct staging *g, const struct trace *t, const struct group *f) {
    const struct trace_site *site = &t->sites[f->instruction];
    bool others = false;
    for (size_t i = 0; i < g->group_count; ++i) {
        const struct group *x = &g->groups[i];
        others |= x->instruction != NOBODY && trace_same_line(t, f->instruction, x->instruction) &&
                  !trace_same_place(t, f->instruction, x->instruction);
    }
    return others && site->inlined_file != NULL && strcmp(site->inlined_file, site->file) == 0
               ? must_format(" (inlined at %s:%d)", site->inlined_file, site->inlined_line)
               : must_strdup("");
}

static void add_fault(struct stages *s, const struct trace *t, size_t lead) {
    struct staging *g = s->staging;
    struct group *f = &g->groups[lead];
    const struct launch *l = s->content.launch;
    struct finding *out = findings_add(&s->x->faults, stage_names[STAGE_STAGING], VERDICT_DIFFERS);
    char *planes = must_strdup("");
    uint64_t total = 0, unwritten = 0;
    size_t own;
    const bool left = left_plane(t, f, &own);
    for (size_t p = 0; p < l->plane_count; ++p) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < g->group_count; ++i) {
            struct group *x = &g->groups[i];
            if (x->plane == p && !x->reported && belongs(t, f, x)) {
                bytes += x->bytes;
                unwritten += x->instruction == NOBODY ? x->bytes : 0;
            }
        }
        if (bytes > 0) {
            char *longer = must_format("%s%s%s %" PRIu64, planes, planes[0] ? ", " : "", l->planes[p].name, bytes);
            free(planes);
            planes = longer;
            total += bytes;
        }
    }
    for (size_t i = 0; i < g->group_count; ++i) {
        g->groups[i].reported |= belongs(t, f, &g->groups[i]);
    }
    out->where.buffer = must_strdup(l->planes[f->plane].name);
    out->where.offset = (int64_t)f->offset;
    memcpy(out->where.block, f->block, sizeof f->block);
    if (f->instruction != NOBODY) {
        out->where.has_thread = true;
        out->where.warp = (f->thread - 1) / 32;
        out->where.lane = (f->thread - 1) % 32;
        where_site(&out->where, t, f->instruction);
    }
    out->has_values = true;
    out->value_bytes = f->size;
    out->want = f->want;
    out->got = f->got;
    out->summary = must_format("%s", f->first);
    finding_line(out, "first", "%s; %s, stage %" PRIu64, f->first, block_text(f->block), f->stage);
    finding_line(out, "want", "0x%0*" PRIx64 "   got 0x%0*" PRIx64, (int)f->size * 2, f->want, (int)f->size * 2,
                 f->got);
    if (f->instruction == NOBODY) {
        finding_line(out, "by", "nobody: the byte was never stored");
        out->suspects = must_strdup("loop bound, tail mask or index of the stores of the staging");
    } else {
        if (f->holds != NULL) {
            finding_line(out, "holds", "%s", f->holds);
        }
        finding_line(out, "by", "%s warp %u lane %u %s", block_text(f->block), out->where.warp, out->where.lane,
                     f->in_flight ? "copies to it, and the copy is still in flight at this barrier" : "stored it last");
        char *call = call_text(g, t, f);
        finding_line(out, "site", "%s%s  %s", where_text(&out->where), call, out->where.instruction);
        free(call);
        out->suspects =
            must_strdup(f->in_flight       ? "the count of cp.async.wait_group is too high, the wait comes after the "
                                             "barrier, or the buffer is refilled a stage too early"
                        : left             ? "a stride or tile larger than the plane was sized for: the stores "
                                             "reach into another plane"
                        : f->holds != NULL ? "index, word or half exchanged in the staging store or its load"
                                           : "value, index or conversion of the staging");
    }
    out->cause = f->in_flight ? "wait" : left ? "past" : NULL;
    out->extent = total;
    out->missing = unwritten > 0;
    finding_line(out, "extent", "%" PRIu64 " bytes wrong: %s", total, planes);
    if (unwritten > 0 && unwritten < total) {
        finding_line(out, "", "%" PRIu64 " of them were never stored", unwritten);
    }
    finding_line(out, "suspect", "%s", out->suspects);
    free(planes);
}

void staging_report(struct stages *s, const struct trace *t) {
    struct staging *g = s->staging;
    if (!content_given(s->content.spec)) {
        stage_skip(s, STAGE_STAGING, must_format("no plane of %s has `content`", stage_file(s)));
        return;
    }
    bool all;
    char *unfit = unfit_text(s, &all);
    s->x->few_barriers = unfit != NULL;
    if (g->compared == 0 || g->shifted != NULL) {
        stage_skip(s, STAGE_STAGING,
                   !trace_complete(t) ? must_strdup("the launch did not run to its end")
                   : g->shifted       ? must_strdup(g->shifted)
                   : unfit != NULL    ? must_strdup(unfit)
                   : g->looked > 0
                       ? must_strdup("every cell of the planes may hold anything, as `when` and `outside` say")
                       : must_strdup("no block came to the barrier of a stage"));
        free(unfit);
        return;
    }
    /* who stored something leads: what nobody stored then finds it */
    for (int turn = 0; turn < 2; ++turn) {
        for (size_t i = 0; i < g->group_count; ++i) {
            if (!g->groups[i].reported && (turn == 1 || g->groups[i].instruction != NOBODY)) {
                add_fault(s, t, i);
            }
        }
    }
    stage_judged(s, STAGE_STAGING, "bytes", g->compared, g->wrong);
    stage_in_part(s, STAGE_STAGING, unfit);
}
