/* A rule for a map of indices: i mod 16, i + 1, i xor 16, the first of each pair, one for all. Where pattern_rule
 * (pattern.h) wants every index of the map to fit, this takes the rule that explains most and leaves the rest. */
#ifndef ORACLES_INDEX_RULE_H
#define ORACLES_INDEX_RULE_H

#include <stdbool.h>
#include <stddef.h>

enum index_rule_kind {
    RULE_MOD,      /* i mod a */
    RULE_XOR,      /* i xor a */
    RULE_ADD,      /* i + a, a may be negative */
    RULE_CONSTANT, /* a */
    RULE_CLEAR,    /* i with the bits of a, which are neighbours, 0 */
    RULE_SET,      /* i with the bits of a, one, 1 */
    RULE_ROTATE,   /* i + b, within its a */
    RULE_SWAP,     /* i with bits a and b exchanged */
    RULE_DIV,      /* i div a */
    RULE_TIMES,    /* i * a */
    RULE_KINDS,
};

struct index_rule {
    enum index_rule_kind kind;
    long long a, b;
};

struct index_pair {
    size_t from, to; /* the index that should be, and the one that is */
    size_t count;    /* how often, at least 1 */
};

/* -1: none */
long long index_rule_apply(const struct index_rule *r, size_t i);
/* The rule that the most of the wrong pairs (from != to) follow; of several the one that the most right pairs follow
 * too, then the first kind. *wrong, *right: how many of each follow it, counts added up. False: no rule explains two
 * different indices. */
bool index_rule_find(const struct index_pair *pairs, size_t count, struct index_rule *best, size_t *wrong,
                     size_t *right);
/* The likeliest rule of one pair alone, from != to. */
struct index_rule index_rule_of_pair(size_t from, size_t to);
/* "j mod 16"; name is the letter of the index. The caller frees it. */
char *index_rule_text(const struct index_rule *r, const char *name);

enum { AXIS_UNSEEN, AXIS_RIGHT, AXIS_WRONG };
/* Words for the wrong ones of an axis, indices of which some were not looked at: "rows 16..69", "odd rows",
 * "rows with row mod 32 in 16..31", "12 of 70 rows, first 3"; NULL: all that were looked at. name in the singular; the
 * caller frees it. */
char *axis_words(const unsigned char *state, size_t n, const char *name);
/* They are words of a rule, not a count of exceptions. */
bool axis_is_rule(const char *words);

#endif
