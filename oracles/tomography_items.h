/* Items that say who they are: each holds, launch by launch, a digit of its number. */
#ifndef ORACLES_TOMOGRAPHY_ITEMS_H
#define ORACLES_TOMOGRAPHY_ITEMS_H

#include "tomography_coded.h"

enum { ITEM_DIGITS = 9, ITEM_NONE = 0xffff };

/* Item i has the number i * multiplier mod modulus, a prime, so that neighbours have nothing in common; its digits to
 * the base of the alphabet, lowest first, and where digits are few one more that checks them: bits of two items put
 * together are no item. */
struct item_plan {
    struct alphabet alphabet;
    size_t items;
    uint64_t modulus, multiplier, inverse;
    size_t digits; /* launches, 1 .. ITEM_DIGITS, with the one that checks */
    bool check;
    size_t one; /* index of the value 1, and of 0 and 2 or SIZE_MAX */
    size_t zero, two;
};

/* False: the field cannot tell items. The plan is freed in either case with item_plan_free. */
bool item_plan(const struct coded *c, enum coded_field field, struct item_plan *p);
/* The same of any values, which the plan takes over. */
bool item_plan_of(struct alphabet values, size_t items, struct item_plan *p);
void item_plan_free(struct item_plan *p);
/* Index into the alphabet of an item's n-th digit. */
size_t item_digit(const struct item_plan *p, size_t item, size_t n);
/* The item with these digits; SIZE_MAX: none. */
size_t item_of(const struct item_plan *p, const uint16_t digits[ITEM_DIGITS]);

#endif
