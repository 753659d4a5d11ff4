#include "tomography_items.h"
#include <stdlib.h>

enum { FEW_VALUES = 256 };

static bool is_prime(uint64_t n) {
    for (uint64_t i = 2; i * i <= n; ++i) {
        if (n % i == 0) {
            return false;
        }
    }
    return n >= 2;
}

static uint64_t power_mod(uint64_t x, uint64_t n, uint64_t modulus) {
    uint64_t y = 1;
    for (x %= modulus; n > 0; n /= 2) {
        y = n % 2 == 1 ? y * x % modulus : y;
        x = x * x % modulus;
    }
    return y;
}

bool item_plan(const struct coded *c, enum coded_field field, struct item_plan *p) {
    return item_plan_of(coded_alphabet(c, field), c->rows * coded_places(c, field), p);
}

bool item_plan_of(struct alphabet values, size_t items, struct item_plan *p) {
    *p = (struct item_plan){.alphabet = values, .items = items};
    const size_t count = p->alphabet.count;
    p->one = alphabet_index(&p->alphabet, 1);
    p->zero = alphabet_index(&p->alphabet, 0);
    p->two = alphabet_index(&p->alphabet, 2);
    if (count < 2 || p->one == SIZE_MAX || p->items == 0 || p->items > UINT32_MAX / 2) {
        return false;
    }
    p->modulus = p->items;
    while (!is_prime(p->modulus)) {
        ++p->modulus;
    }
    p->multiplier = p->modulus * 618 / 1000 + 1;
    p->multiplier = p->multiplier % p->modulus == 0 ? 1 : p->multiplier % p->modulus;
    p->inverse = power_mod(p->multiplier, p->modulus - 2, p->modulus);
    for (uint64_t power = 1; power < p->modulus || power == 1; power *= count) {
        ++p->digits;
    }
    p->check = count <= FEW_VALUES;
    p->digits += p->check;
    return p->digits <= ITEM_DIGITS;
}

void item_plan_free(struct item_plan *p) {
    free(p->alphabet.values);
    p->alphabet = (struct alphabet){0};
}

size_t item_digit(const struct item_plan *p, size_t item, size_t n) {
    if (p->check && n + 1 == p->digits) {
        return (size_t)((item * UINT64_C(0x9e3779b97f4a7c15) >> 40) % p->alphabet.count);
    }
    uint64_t number = item * p->multiplier % p->modulus;
    for (; n > 0; --n) {
        number /= p->alphabet.count;
    }
    return (size_t)(number % p->alphabet.count);
}

size_t item_of(const struct item_plan *p, const uint16_t digits[ITEM_DIGITS]) {
    uint64_t number = 0;
    for (size_t n = p->digits - p->check; n-- > 0;) {
        if (digits[n] == ITEM_NONE) {
            return SIZE_MAX;
        }
        number = number * p->alphabet.count + digits[n];
    }
    const size_t item = number < p->modulus ? (size_t)(number * p->inverse % p->modulus) : SIZE_MAX;
    if (item >= p->items || (p->check && digits[p->digits - 1] != item_digit(p, item, p->digits - 1))) {
        return SIZE_MAX;
    }
    return item;
}
