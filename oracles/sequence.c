#include "sequence.h"
#include "../ref/checked.h"
#include <stdlib.h>

/* The first launch that asks for too much; a GPU says so itself. */
static size_t first_excess(const struct runner *runner, struct bound *b) {
    size_t i = 0;
    for (char *excess = NULL; runner != &runner_device && i <= b->then_count; ++i) {
        excess = launch_excess(bound_launch(b, i), NULL);
        if (excess != NULL) {
            free(excess);
            return i;
        }
    }
    return 0;
}

/* What this launch stored has contents for those that follow. Where nobody counted stores, all has: what is not known
 * is not reported. */
static void mark_written(const struct launch *l, const struct trace *t) {
    for (size_t i = 0; i < l->buffer_count; ++i) {
        const struct launch_buffer *b = &l->buffers[i];
        for (size_t k = 0; b->written != NULL && k < b->bytes; ++k) {
            b->written[k] |= !t->has_coverage || (t->coverage[i].stores[k] & 127) != 0;
        }
    }
}

bool sequence_run(const struct runner *runner, struct bound *b, struct sequence *s, struct error *e) {
    const size_t all = b->then_count + 1;
    *s = (struct sequence){.runs = must_calloc(all, sizeof *s->runs), .traces = must_calloc(all, sizeof *s->traces)};
    for (size_t i = first_excess(runner, b); i < all; ++i) {
        const struct launch *l = bound_launch(b, i);
        struct trace *t = &s->traces[s->count];
        struct error why;
        if (!runner->run(l, t, &why)) {
            sequence_free(s);
            return all == 1 ? (*e = why, false)
                            : fail(e, "%.1500s (launch %zu of %zu: entry %.200s)", why.text, i + 1, all, l->entry);
        }
        const bool complete = trace_complete(t);
        s->runs[s->count++] =
            (struct launch_run){.launch = l, .trace = t, .number = i + 1, .all = all, .complete = complete};
        if (!complete) {
            break;
        }
        if (i + 1 < all) {
            mark_written(l, t);
        }
    }
    return true;
}

void sequence_free(struct sequence *s) {
    for (size_t i = 0; i < s->count; ++i) {
        trace_free(&s->traces[i]);
    }
    free(s->traces);
    free(s->runs);
    *s = (struct sequence){0};
}

const struct launch_run *sequence_last(const struct sequence *s) {
    return &s->runs[s->count - 1];
}

bool sequence_complete(const struct sequence *s) {
    const struct launch_run *last = sequence_last(s);
    return last->complete && last->number == last->all;
}

bool sequence_open(const struct sequence *s) {
    for (size_t i = 0; i < s->count; ++i) {
        if (s->traces[i].order_open != NULL) {
            return true;
        }
    }
    return false;
}
