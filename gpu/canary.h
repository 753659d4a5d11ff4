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
    /* Block (0,0,0) has come to where its guards are looked at, so that the program has that place. It is not said that
     * other blocks came there: one that leaves before (`exit`, a trap) is not looked at. */
    bool looked;
    const char *altered; /* what the host wrote and the kernel has written over, static text; NULL: nothing */
    size_t made;         /* records that the kernel says it has made: changed, at most the room */
    size_t count;        /* of these, those that can be: of a word that is changed, and there once */
    struct canary_record records[CANARY_ROOM]; /* by block (x fastest), plane, offset */
};

/* The launch file's planes with a guard after each, in every launch of b that has planes: `planes` then has plane 0,
 * its guard, plane 1 ..., shared_bytes grows by the guards, and the launch sets CANARY_VARIABLE. The module is that of
 * the canary build; a cubin is not used. Fails where a plane ends at no multiple of 16 bytes, or there are too many. */
bool canary_bind(struct bound *b, struct error *e);

/* A launch has planes, so that its kernel has a canary build: in any of the launches of the file. */
bool canary_has_planes(const struct spec *s);

/* What a launch that canary_bind made and that has run left behind. Nothing in it is trusted: the kernel is the thing
 * under test. What the host wrote is compared with what the launch's planes say, and records that cannot be are left
 * out. Of a launch that ended early some of those made may be missing. False: it is no such launch. */
bool canary_read(const struct launch *l, struct canary_report *r);

/* Word `word` of guard `guard` as the kernel writes it in a block. */
uint32_t canary_word(const uint32_t block[3], size_t guard, size_t word);

#endif
