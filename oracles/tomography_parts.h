/* What the parts of layout tomography share. */
#ifndef ORACLES_TOMOGRAPHY_PARTS_H
#define ORACLES_TOMOGRAPHY_PARTS_H

#include "tomography_coded.h"
#include "tomography_launch.h"

/* A field of an operand of a contract. */
enum probe_field {
    FIELD_WEIGHT_CODE,
    FIELD_WEIGHT_D,
    FIELD_WEIGHT_SCALE,
    FIELD_WEIGHT_DMIN,
    FIELD_WEIGHT_MIN,
    FIELD_ACTIVATION_CODE,
    FIELD_ACTIVATION_D,
    FIELD_ACTIVATION_SUM,
    FIELD_INPUT_VALUE, /* of a quantiser */
    FIELD_INPUT_SCALE, /* the largest of those under one scale */
    FIELD_START,       /* no field: what cells hold when all products are 0 */
    FIELDS,
};

enum seen_kind {
    SEEN_RIGHT,
    SEEN_ONE,       /* one other item */
    SEEN_NOTHING,   /* none */
    SEEN_TIMES,     /* it or others, `times` altogether */
    SEEN_ADDED,     /* it, and `times` added to each */
    SEEN_MINIMUM,   /* a minimum in place of a scale */
    SEEN_SCALE,     /* a scale in place of a minimum */
    SEEN_UNWRITTEN, /* the cell was left as it was */
    SEEN_OTHER,     /* no number of items */
    SEEN_KINDS,
};

struct seen {                                            /* what one cell consumed at one place of the depth */
    uint32_t t, j, k;                                    /* cell, and the k that was looked at */
    uint32_t want_line, want_place, got_line, got_place; /* row or token, and place along k; got of SEEN_ONE */
    enum seen_kind kind;
    float times;
};

struct observations {
    struct seen *seen; /* (count) owned */
    size_t count, launches;
    size_t place_values; /* that share a place */
};

struct field_words {
    const char *operand;      /* "weight codes" */
    const char *line;         /* "row" */
    const char *letter;       /* "j" */
    const char *place;        /* "k", "sub-block", "block" */
    const char *place_letter; /* "k", "s", "b" */
};
extern const struct field_words field_words[FIELDS];

static inline bool field_is_code(enum probe_field f) {
    return f == FIELD_WEIGHT_CODE || f == FIELD_ACTIVATION_CODE || f == FIELD_INPUT_VALUE;
}
static inline bool field_of_rows(enum probe_field f) {
    return f <= FIELD_WEIGHT_MIN;
}

/* The probe of a matrix contract, and of one without weights. */
bool probe_matrix_contract(struct prober *p, struct error *e);
bool probe_values_contract(struct prober *p, struct error *e);
/* Of plain buffers. */
bool probe_buffers(struct prober *p, struct error *e);

/* Lines of what the fields show. */
void probe_summarise(struct prober *p, struct observations obs[FIELDS]);
/* What is said beside the lines where `wrong` results, counted in that unit, differ from the contract's. stopped: not
 * all could be read. */
void probe_conclude(struct tomography *x, size_t wrong, bool stopped, const char *unit);
/* What several fields show of one fault is left in one of them (tomography_sift.c). */
void probe_sift(const struct prober *p, struct observations obs[FIELDS], const size_t place_values[FIELDS]);
/* Appends. operand, text, basis are taken over; result is copied, or NULL: the result of the contract. */
void probe_line(struct tomography *x, char *operand, const char *result, char *text, const char *suspect, size_t cells,
                char *basis, bool wrong);
void probe_note(struct tomography *x, char *text);

#endif
