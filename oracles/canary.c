/* canary: of a canary build (gpu/canary.h). The guard words after each plane of the shared arena are as the kernel
 * wrote them when its block began (else GUARD), block (0,0,0) has looked, and the outputs are those of the plain build,
 * byte for byte: what was read past a plane shows there (DIFFERS). Guards tell neither thread nor instruction, but they
 * tell it on a real GPU too. */
#include "../gpu/canary.h"
#include "../ref/checked.h"
#include "oracle.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct launch_plane *plane_of(const struct launch *l, const struct canary_record *r) {
    return &l->planes[2 * r->plane]; /* between them lie the guards */
}

static bool same_edge(const struct canary_record *a, const struct canary_record *b) {
    return a->plane == b->plane && a->below == b->below;
}

/* One finding of all records of the edge of a plane that record `first` is of. */
static void edge(const struct evidence *e, const struct canary_report *r, size_t first, struct findings *out) {
    const struct canary_record *x = &r->records[first];
    const struct launch_plane *p = plane_of(e->launch, x);
    const int64_t at = x->below ? x->offset : (int64_t)p->bytes + x->offset;
    size_t words = 0, blocks = 0;
    const uint32_t *last = NULL;
    for (size_t i = first; i < r->count; ++i) {
        if (same_edge(x, &r->records[i])) {
            const uint32_t *block = r->records[i].block;
            blocks += last == NULL || memcmp(last, block, sizeof r->records[i].block) != 0;
            last = block;
            ++words;
        }
    }
    struct finding *f = findings_add(out, "canary", VERDICT_GUARD);
    f->summary = must_format("the guard %s plane %s (%zu B) is written over, first at byte %" PRId64 " of the plane",
                             x->below ? "before" : "after", p->name, p->bytes, at);
    f->suspects = must_strdup(x->below ? "negative index, or wrong base of the plane"
                                       : "stride or vector width larger than the plane was sized for, or planes that "
                                         "are not those of the launch file");
    f->cause = x->below ? "before" : "past";
    f->where.buffer = must_strdup(p->name);
    f->where.offset = at;
    f->where.has_block = true;
    memcpy(f->where.block, x->block, sizeof f->where.block);
    f->has_values = true;
    f->value_bytes = 4;
    f->want = x->want;
    f->got = x->word;
    finding_line(f, "canary", "%s", f->summary);
    finding_line(f, "word", "want 0x%08x   got 0x%08x", x->want, x->word);
    finding_line(f, "by", "block (%u,%u,%u); a guard does not say which thread", x->block[0], x->block[1], x->block[2]);
    if (r->count < r->made) {
        finding_line(f, "extent", "%zu word%s of this edge in %zu block%s, of the %zu that are left of %zu records",
                     words, plural(words), blocks, plural(blocks), r->count, r->made);
    } else if (r->changed > r->count) {
        finding_line(f, "extent",
                     "%zu word%s of this edge in %zu block%s, of the %zu that are told of %zu changed ones", words,
                     plural(words), blocks, plural(blocks), r->count, r->changed);
    } else {
        finding_line(f, "extent", "%zu word%s in %zu block%s", words, plural(words), blocks, plural(blocks));
    }
    finding_line(f, "hint", "without --canary, --runner machine says which thread and instruction");
}

/* This is another order, and of the words that were changed in the first one not all are told: what is seen here may
 * have been there as well, so that nothing can be said of it. */
static bool first_is_told_in_part(const struct evidence *e) {
    struct canary_report r;
    return e->first != NULL && canary_read(e->first->launch, &r) && r.changed > r.count;
}

/* The kernel has written over what others wrote there: the host, or its own blocks. A launch that ended early may have
 * counted records that it has not made. */
static bool judge_report(const struct evidence *e, const struct canary_report *r, struct findings *out) {
    const size_t lost = r->made - r->count;
    if (r->altered == NULL && (lost == 0 || !e->complete)) {
        return false;
    }
    struct finding *f = findings_add(out, "canary", VERDICT_GUARD);
    f->summary = must_strdup("the kernel has written over its report of the guards (" CANARY_VARIABLE ")");
    f->suspects = must_strdup("stores through a wild pointer");
    finding_line(f, "canary", "%s", f->summary);
    if (r->altered != NULL) {
        finding_line(f, "report", "not as the host wrote it: %s", r->altered);
    }
    if (lost > 0) {
        finding_line(f, "records", "%zu of %zu cannot be, are there twice or are of a word that is right", lost,
                     r->made);
    }
    finding_line(f, "extent", "it says that %zu word%s of guards changed, which proves nothing now", r->changed,
                 plural(r->changed));
    return true;
}

static bool judge_guards(const struct evidence *e, const struct canary_report *r, struct findings *out) {
    const bool altered = judge_report(e, r, out);
    const size_t news = first_is_told_in_part(e) ? 0 : r->count;
    for (size_t i = 0; i < news; ++i) {
        bool known = false;
        for (size_t k = 0; k < i; ++k) {
            known |= same_edge(&r->records[k], &r->records[i]);
        }
        if (!known) {
            edge(e, r, i, out);
        }
    }
    if (r->changed > 0 && r->count == 0 && !altered) {
        struct finding *f = findings_add(out, "canary", VERDICT_GUARD);
        f->summary = must_format("%zu word%s of guards are written over; the launch ended before it told of them",
                                 r->changed, plural(r->changed));
        finding_line(f, "canary", "%s", f->summary);
    }
    const bool looked = r->looked || !e->complete;
    if (!looked) {
        struct finding *f = findings_add(out, "canary", VERDICT_GUARD);
        f->summary = must_strdup("block (0,0,0) has not looked at its guards");
        f->suspects = must_strdup("a kernel without SHARED_ARENA (gpu/kernels/canary.cuh), or one that returns before "
                                  "its scope ends");
        finding_line(f, "canary", "%s", f->summary);
    }
    return r->changed > 0 || altered || !looked;
}

static void differing(const struct evidence *e, size_t buffer, size_t first, size_t count, struct findings *out) {
    const struct launch_buffer *b = &e->launch->buffers[buffer];
    const size_t n = b->cell_bytes < 8 ? b->cell_bytes : 8, at = first * b->cell_bytes;
    struct finding *f = findings_add(out, "canary", VERDICT_DIFFERS);
    where_cell(&f->where, e, buffer, first);
    f->has_values = true;
    f->value_bytes = (unsigned)n;
    f->value_is_float = b->is_f32;
    f->want = cell_value(e->plain->bytes[buffer] + at, n);
    f->got = cell_value(b->data + at, n);
    f->summary = must_format("%zu of %zu cells of %s are not those of the plain build", count, b->bytes / b->cell_bytes,
                             b->name);
    f->suspects =
        must_strdup("a plane is read past its end or before its start, or is not where the launch file has it");
    char *want = cell_text(f->want, f->value_bytes, b->is_f32), *got = cell_text(f->got, f->value_bytes, b->is_f32);
    char *second =
        f->where.axis[1] != NULL ? must_format(", %s %" PRId64, f->where.axis[1], f->where.cell[1]) : must_strdup("");
    finding_line(f, "canary", "%s", f->summary);
    finding_line(f, "first", "%s %" PRId64 "%s   plain %s   canary %s", f->where.axis[0], f->where.cell[0], second,
                 want, got);
    free(want);
    free(got);
    free(second);
}

/* Of the last launch: the buffers are the same in all. */
static bool judge_outputs(const struct evidence *e, struct findings *out) {
    bool found = !e->plain->complete;
    if (found) {
        struct finding *f = findings_add(out, "canary", VERDICT_DIFFERS);
        f->summary = must_strdup("the plain build did not run to its end, the canary build did");
        f->suspects =
            must_strdup("an address that is right only where guards make room; warpproof gate without --canary");
        finding_line(f, "canary", "%s", f->summary);
        return true;
    }
    for (size_t i = 0; i < e->launch->buffer_count; ++i) {
        const struct launch_buffer *b = &e->launch->buffers[i];
        if ((b->role != BUFFER_OUT && b->role != BUFFER_INOUT) || memcmp(b->data, e->plain->bytes[i], b->bytes) == 0) {
            continue;
        }
        size_t first = 0, count = 0;
        for (size_t c = 0; c < b->bytes / b->cell_bytes; ++c) {
            if (memcmp(b->data + c * b->cell_bytes, e->plain->bytes[i] + c * b->cell_bytes, b->cell_bytes) != 0) {
                first = count == 0 ? c : first;
                ++count;
            }
        }
        differing(e, i, first, count, out);
        found = true;
    }
    return found;
}

static enum ruling judge(const struct evidence *e, struct findings *out) {
    struct canary_report r;
    const bool looked = canary_read(e->launch, &r), last = !e->follows && e->first == NULL && e->complete;
    bool found = looked && judge_guards(e, &r, out);
    if (e->plain != NULL && last) { /* other orders: oracle schedule compares them with this one */
        found |= judge_outputs(e, out);
    }
    return found ? RULING_FOUND : looked || e->plain != NULL ? RULING_CLEAN : RULING_NOT_JUDGED;
}

const struct oracle oracle_canary = {
    .name = "canary",
    .about = "guard words between the planes are left alone, and make no difference (--canary)",
    .on_request = true,
    .judge = judge,
};
