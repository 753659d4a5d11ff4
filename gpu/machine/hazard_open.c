/* trace.order_open: what the bits may depend on besides the operands. */
#include "../../ref/checked.h"
#include "hazard.h"

/* Two stores of different bytes to one cell, by two blocks or by threads that nothing orders: as coverage judges it. */
static bool cells_open(const struct machine *m, const struct trace *t) {
    for (size_t i = 0; i < t->buffer_count; ++i) {
        const struct launch_buffer *b = &m->launch->buffers[i];
        const struct buffer_coverage *c = &t->coverage[i];
        for (size_t k = 0; c->stores && k < b->bytes; ++k) {
            const struct cell_history *h = &c->cells[k / b->cell_bytes];
            if (c->stores[k] >> 7 && !h->settled && (h->raced || h->first.block != h->last.block))
                return true;
        }
    }
    return false;
}

static unsigned reasons(const struct machine *m, const struct trace *t) {
    unsigned open = atomic_load(&m->open);
    for (size_t i = 0; i < t->event_count; ++i)
        switch (t->events[i].kind) {
        case EVENT_RACE:
        case EVENT_ASYNC_PENDING:
            open |= OPEN_RACE;
            break;
        case EVENT_DIVERGENT_BARRIER:
        case EVENT_DIVERGENT_ALIGNED:
        case EVENT_BARRIER_OPERAND:
        case EVENT_DEADLOCK:
        case EVENT_STEP_BUDGET:
        case EVENT_TRAP:
            open |= OPEN_STOPPED;
            break;
        default:
            break;
        }
    if (atomic_load(&m->differed) && cells_open(m, t))
        open |= OPEN_RACE;
    if (m->launch->options.unwatched & (WATCH_HAZARDS | WATCH_ASYNC | WATCH_STORES))
        open |= OPEN_UNWATCHED;
    return open;
}

char *hazard_order_open(const struct machine *m, const struct trace *t) {
    static const char *const texts[] = {
        "accesses race: the bits are those of one order",
        "the launch did not run to its end, or lanes went apart where they must be together",
        "atomic or volatile accesses of memory that the launch writes come in an order that nothing fixes",
        "activemask: which lanes are together is open",
        "a warp may come to a barrier one turn early: who meets whom is open",
        "too many accesses between two barriers to judge them all",
        "races, copies or stores are not watched",
        "%clock, %globaltimer, %smid, %nsmid or %gridid is read: their values are open",
        "a discard makes stores undone: which ones is a matter of the order",
    };
    const unsigned open = reasons(m, t);
    return open ? must_strdup(texts[__builtin_ctz(open)]) : NULL;
}
