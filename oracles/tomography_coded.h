/* Operands that are made of integers one by one: an operand of a contract as arrays, and the values a field may take.
 */
#ifndef ORACLES_TOMOGRAPHY_CODED_H
#define ORACLES_TOMOGRAPHY_CODED_H

#include "../ref/activation.h"
#include "../ref/error.h"
#include "../ref/format.h"

struct coded {
    const struct block_format *format; /* or NULL: */
    const struct activation_format *activation;
    bool plain; /* floats without scales: codes alone */
    size_t rows, depth;
    size_t block, sub;    /* values under one d, and under one scale; depth where there is none */
    int16_t *code;        /* (rows, depth) */
    float *d, *dmin;      /* (rows, depth / block); dmin of a format with minima */
    int16_t *scale, *min; /* (rows, depth / sub) of a format */
    uint8_t *bytes;       /* (size) the operand, as coded_pack left it */
    size_t size;
};

/* The operand of that format's name, all fields neutral. False: the format has no integers to be made of, which is no
 * error (*e untouched by it, *c empty and c->rows 0), or an error. */
bool coded_open(const char *format, size_t rows, size_t depth, struct coded *c, struct error *e);
void coded_free(struct coded *c);
/* Codes 1 (of an activation 0), d and scales 1, dmin 0, minima 0 or what the format fixes them at. */
void coded_neutral(struct coded *c);
/* bytes = the arrays packed. */
void coded_pack(struct coded *c);

/* What a field is probed by. */
enum coded_field { CODED_CODE, CODED_D, CODED_SCALE, CODED_DMIN, CODED_MIN, CODED_SUM, CODED_FIELDS };

struct alphabet {  /* values of a digit, ascending; exact in the field */
    float *values; /* (count) owned */
    size_t count;
};
/* Empty where the format does not have the field, or fixes it. */
struct alphabet coded_alphabet(const struct coded *c, enum coded_field field);
/* Index of a value; SIZE_MAX: none. */
size_t alphabet_index(const struct alphabet *a, double value);
/* Items of the field: rows times the places along k. */
size_t coded_places(const struct coded *c, enum coded_field field);
/* Values along k that share a place. */
size_t coded_place_values(const struct coded *c, enum coded_field field);
/* Sets an item. A sum is spread over the codes of its 32 values. */
void coded_set(struct coded *c, enum coded_field field, size_t row, size_t place, float value);

#endif
