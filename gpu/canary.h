/* The canary build of a kernel (gpu/kernels/canary.cuh), as the host sees it: guard words after each plane of the
 * shared arena, which the kernel writes when a block begins, looks at when it ends, and reports in a .global variable.
 * It knows nothing of threads or instructions, but a real GPU runs it as well as the machine does. */
#ifndef GPU_CANARY_H
#define GPU_CANARY_H

#include "bind.h"

enum {
    CANARY_BYTES = 1024,     /* of a guard; a multiple of every alignment, of the banks' period and of swizzles */
    CANARY_MOST_GUARDS = 16, /* planes of a launch */
    CANARY_ROOM = 256,       /* changed words that are told apart; all are counted */
};
#define CANARY_VARIABLE "canary_report"

struct canary_record { /* a changed word of a guard */
    uint32_t block[3];
    size_t plane;   /* of the launch file, 0 .. : the one whose edge is nearer */
    bool below;     /* it lies before the plane's start; else past its end */
    int64_t offset; /* bytes from there: >= 0 past the end, < 0 before the start */
    uint32_t word, want;
};

struct canary_report {
    size_t changed; /* words, also those past the room (mod 2^32) */
    bool looked;    /* block (0,0,0) has looked at its guards, so that all blocks of this program do */
    size_t count;   /* of records; those that could not be, which a kernel has written over, are left out */
    struct canary_record records[CANARY_ROOM]; /* by block (x fastest), plane, offset */
};

/* The launch file's planes with a guard after each, in every launch of b that has planes: `planes` then has plane 0,
 * its guard, plane 1 ..., shared_bytes grows by the guards, and the launch sets CANARY_VARIABLE. The module is that of
 * the canary build; a cubin is not used. Fails where a plane ends at no multiple of 16 bytes, or there are too many. */
bool canary_bind(struct bound *b, struct error *e);

/* A launch has planes, so that its kernel has a canary build: in any of the launches of the file. */
bool canary_has_planes(const struct spec *s);

/* What a launch that canary_bind made and that has run left behind. False: it is none, nothing looks at guards. */
bool canary_read(const struct launch *l, struct canary_report *r);

/* Word `word` of guard `guard` as the kernel writes it in a block. */
uint32_t canary_word(const uint32_t block[3], size_t guard, size_t word);

#endif
