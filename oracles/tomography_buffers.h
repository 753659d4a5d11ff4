/* Plain buffers: which elements of the inputs change which cells of the outputs. */
#ifndef ORACLES_TOMOGRAPHY_BUFFERS_H
#define ORACLES_TOMOGRAPHY_BUFFERS_H

#include "tomography_parts.h"

/* Contents of the inputs that a launch begins with. */
enum contents {
    CONTENTS_OWN,     /* what the launch file says */
    CONTENTS_GENERAL, /* values that are all different and none of which is 0 */
};

enum element_value { VALUE_UP, VALUE_DOWN, VALUE_FLIP, VALUE_ZERO, VALUE_ANY };
enum { VALUES = 4 }; /* at most, of one group */

struct elements_changed { /* of one input: element i is changed where (i >> shift & 1) == bit, and first <= i < last */
    size_t buffer, first, last, step; /* every step-th from first */
    unsigned shift;
    int bit;    /* -1: all of first .. last - 1 */
    bool other; /* instead all that are not */
    enum element_value value;
    const bool *mask; /* (elements) those that are changed, in place of all the above, or NULL */
};

struct plain {
    struct prober *p;
    enum contents contents;
    size_t *types; /* (buffers) bytes of an element */
    size_t buffers;
    uint8_t **base;   /* (buffers) outputs of the launch in which nothing is changed; NULL: an input alone */
    bool **noisy;     /* (buffers) (cells) whose bytes two launches of the same gave differently */
    bool **unwritten; /* (buffers) (cells) of OUT that held what they began with after every launch */
    size_t reserved;  /* launches that the inputs to come need */
    bool small;       /* elements are changed by little alone */
    bool partial;     /* of this input not every value was tried: what does not show is open */
    bool *even; /* (buffers) elements of the launch file's own contents mostly differ by one and the same from their
                 * neighbours; known after plain_shifted */
    struct launch_buffer *described; /* (buffers) sizes and names, no data */
    struct error *e;
};

/* Runs with these elements changed (NULL: none). *changed[o] (cells of output o): has other bytes than base. */
enum probe_end plain_launch(struct plain *x, const struct elements_changed *c, struct bound *b);
/* The same where a launch that does not end because of the value put in is passed over. *ran: *b is the caller's. */
enum probe_end plain_try(struct plain *x, const struct elements_changed *c, struct bound *b, bool *ran);
/* The values to be put in for elements, one after another; returns how many. */
size_t plain_values(const struct plain *x, enum element_value values[VALUES]);
/* With the launch file's own contents, but of one buffer each element is the one `shift` on. Says whether x->even. */
enum probe_end plain_shifted(struct plain *x, size_t buffer, long long shift, struct bound *b);
/* Flags the cells of output o that differ from base. */
void plain_changed(const struct plain *x, const struct bound *b, size_t o, bool *flags);
size_t plain_cells(const struct plain *x, size_t buffer);
bool plain_is_input(const struct plain *x, size_t buffer);
bool plain_is_output(const struct plain *x, size_t buffer);

/* What each cell of output o consumed of input i, once it is known. */
enum dependence { DEPENDS_NOT, DEPENDS_ONE, DEPENDS_MANY, DEPENDS_OPEN };
struct dependences {
    size_t output, input, cells;
    uint8_t *kind;   /* (cells) enum dependence */
    size_t *element; /* (cells) of DEPENDS_ONE; of DEPENDS_MANY the bits in which all agree */
    size_t *mask;    /* (cells) of DEPENDS_MANY: the bits in which they do not */
    size_t launches;
};

/* Lines for what the dependences show. wrong: (cells) by the launch file's `expect`, or NULL; want: (cells) the element
 * that gives the expected bytes, SIZE_MAX: not found; or NULL. */
void plain_tell(struct plain *x, const struct dependences *d, const bool *wrong, const size_t *want);
/* A line for the cells of output o that no launch wrote. wrong: (cells) or NULL. */
void plain_tell_unwritten(struct plain *x, size_t o, const bool *wrong);
/* Sets of cells that consume several, wrong: (cells) or NULL. */
enum probe_end plain_sets(struct plain *x, const struct dependences *d, const bool *wrong);
/* want (cells): with which element in place of the one that it consumed a wrong cell has the expected bytes. */
enum probe_end plain_want(struct plain *x, const struct dependences *d, const bool *wrong, const uint8_t *expected,
                          size_t *want);

#endif
