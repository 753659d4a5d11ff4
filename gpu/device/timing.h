/* How long launches take on a real GPU.
 *
 * What is timed has several copies of everything that it reads and writes, and each launch is on the next one: by the
 * time a copy's turn comes again, the bytes of all others have gone through the L2 cache, so that every launch finds
 * that cold of its own operands, as the layers of a model do. Launches follow each other on one stream without a wait,
 * between two events: a launch's time has in it the gap to the next one (about a microsecond), and the host's work for
 * it only where that takes longer than the launch. */
#ifndef GPU_DEVICE_TIMING_H
#define GPU_DEVICE_TIMING_H

#include "../bind.h"
#include "context.h"

enum { TIMING_L2_TIMES = 3, TIMING_MOST_COPIES = 1 << 14 };

enum timing {
    TIMING_DONE,
    TIMING_STOPPED, /* a launch was refused, or stopped by the GPU, which is then no longer alive (context.h) */
    TIMING_FAILED,  /* anything else; a launch that does not end */
};

struct timed {
    struct gpu *gpu;
    size_t copies, bytes; /* bytes of one copy */
    size_t next;          /* the copy that the next launch is on */
    size_t launched;      /* copies that hold the result of a launch: those before `next`, cyclically */
    double start_seconds; /* of the last timed_run: what the host took to start a launch; where that is more than the
                           * launch's own time, its figure is the host's and not its own */
    bool (*start)(struct timed *t, size_t copy, struct error *e); /* puts a launch on a copy into the default stream */
};

/* Copies of so many bytes: between two launches on one, TIMING_L2_TIMES times the L2's bytes have gone by in others. At
 * least 2, at most TIMING_MOST_COPIES. */
size_t timing_copies(size_t bytes, size_t l2_bytes);

/* *seconds = the mean time of a launch, over `launches` of them on the next copies; two launches ahead of the first
 * event, which are not counted, keep the stream busy while the others are put into it. seconds may be NULL. */
enum timing timed_run(struct timed *t, size_t launches, double *seconds, struct error *e);

/* What a measurement needs to know of a GPU, in bytes and kHz; 0 where the driver does not say. */
struct gpu_figures {
    size_t l2_bytes, memory_bytes;
    int multiprocessors, clock_khz, memory_clock_khz; /* clocks: the highest; what they are now the driver keeps */
};
bool gpu_figures(struct gpu *g, struct gpu_figures *f, struct error *e);

/* The launches of a launch file, bound, on copies of its buffers. One after the other they are one launch to timed_run.
 * Every copy of every buffer lies between two guard bands, which nobody but a stray store touches. */
struct launch_copies {
    struct timed timed;
    struct bound *bound;
    size_t launch_count;
    cu_function *functions; /* (launch_count) */
    void ***params;         /* (copies, launch_count) */
    cu_pointer *bases;      /* (buffers) of copy 0; 0: none */
    size_t *strides;        /* (buffers) bytes from one copy to the next: band, contents, what rounds them up, band */
};

/* Allocates and fills; c->timed.bytes is what one copy takes. *refused: NULL, or with true why this GPU cannot run it
 * (the caller frees it). b must outlive c, and have no INOUT buffer: the second launch on a copy would find what the
 * first has left. Free with launch_copies_free, also on failure. */
bool launch_copies_open(struct gpu *g, struct bound *b, size_t l2_bytes, struct launch_copies *c, char **refused,
                        struct error *e);
/* Every OUT and SCRATCH buffer of every copy holds the poison again. */
bool launch_copies_poison(struct launch_copies *c, struct error *e);
/* bytes (strides[buffer]) = what a buffer of a copy holds now, from byte GPU_BAND on, and the bands around it. */
bool launch_copies_fetch(const struct launch_copies *c, size_t copy, size_t buffer, uint8_t *bytes, struct error *e);
/* Of bytes as fetched: true, and *offset, the first that was stored outside the buffer, counted from its beginning. */
bool launch_copies_outside(const struct launch_copies *c, size_t buffer, const uint8_t *bytes, int64_t *offset);
void launch_copies_free(struct launch_copies *c);

#endif
