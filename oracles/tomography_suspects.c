#include "tomography_suspects.h"
#include <string.h>

static bool is_scale(enum probe_field f) {
    return !field_is_code(f) && f != FIELD_START;
}

static const char *of_line(enum probe_field f, const struct index_rule *r) {
    const bool weight = field_of_rows(f);
    switch (r->kind) {
    case RULE_MOD:
    case RULE_CLEAR:
        return is_scale(f) ? weight ? "warp offset (or tile origin) dropped from the address of the weight scales"
                                    : "warp offset (or tile origin) dropped from the address of the activation scales"
               : weight    ? "warp offset (or tile origin) dropped from the address of the weights"
                           : "warp offset (or tile origin) dropped from the address of the activations";
    case RULE_CONSTANT:
        return weight ? "one row for all: the row is missing from the address"
                      : "one token for all: the token is missing from the address";
    case RULE_ADD:
    case RULE_ROTATE:
        return is_scale(f) ? weight ? "the scale address is some rows off" : "the scale address is some tokens off"
               : weight    ? "the address is some rows off"
                           : "the address is some tokens off";
    case RULE_XOR:
        return r->a == 1 ? "neighbours of a pair exchanged" : "groups exchanged: lane bits or fragments swapped";
    case RULE_SET:
        return "the second of each group for both";
    case RULE_SWAP:
        return "two bits of the index exchanged: lane to element map of a fragment";
    case RULE_TIMES:
    case RULE_DIV:
        return "the stride between lines is another one";
    default:
        return NULL;
    }
}

static const char *of_k(const struct index_rule *r) {
    switch (r->kind) {
    case RULE_XOR:
        return r->a == 16   ? "k exchanged in pairs of 16: matrices of an ldmatrix, or halves of a fragment, swapped"
               : r->a == 32 ? "k exchanged in pairs of 32: low and high nibbles, or neighbouring chunks, swapped"
               : r->a == 8  ? "k exchanged in pairs of 8: matrices of a fragment swapped"
               : r->a < 8   ? "k exchanged within a word or a lane's part: byte or selector order"
                            : "chunks exchanged: another chunk of the stage or plane";
    case RULE_CLEAR:
        return "the offset of a chunk (or stage) dropped: the first stands for all";
    case RULE_MOD:
        return "the offset of a stage or block dropped: the first is read again";
    case RULE_SET:
        return "the last of a group stands for all of it";
    case RULE_ADD:
    case RULE_ROTATE:
        return "the address is some k off";
    case RULE_SWAP:
        return "two bits of k exchanged: lane to element map of a fragment, or the order of a swizzle";
    case RULE_TIMES:
    case RULE_DIV:
        return "bytes added where words were meant, or the other way round";
    case RULE_CONSTANT:
        return "one k for all: the k is missing from the address";
    default:
        return NULL;
    }
}

static const char *of_sub_block(const struct index_rule *r) {
    switch (r->kind) {
    case RULE_ADD:
    case RULE_ROTATE:
        return r->a == 1 || r->b == 1 ? "scale of the next sub-block: the scale address is one off"
                                      : "scale of another sub-block: the scale address is off";
    case RULE_XOR:
        return r->a == 1 ? "scales of neighbouring sub-blocks exchanged" : "scales of groups of sub-blocks exchanged";
    case RULE_CLEAR:
        return r->a == 1 ? "one scale for both sub-blocks of a pair" : "one scale for a group of sub-blocks";
    case RULE_SET:
        return "the last scale of a group of sub-blocks for all of it";
    case RULE_MOD:
        return "block origin or stage offset dropped from the scale address";
    case RULE_CONSTANT:
        return "one scale for all: the sub-block is missing from the address";
    case RULE_SWAP:
        return "scales in another order: two bits of the sub-block exchanged";
    case RULE_TIMES:
    case RULE_DIV:
        return "the stride between scales is another one";
    default:
        return NULL;
    }
}

const char *suspect_of_rule(enum probe_field f, bool line, const struct index_rule *r) {
    return line ? of_line(f, r) : is_scale(f) ? of_sub_block(r) : of_k(r);
}

const char *suspect_of_kind(enum probe_field f, enum seen_kind kind, float least, float most) {
    switch (kind) {
    case SEEN_NOTHING:
        return is_scale(f) ? "a scale of 0, or a term left out" : "k left out: a loop bound, or a tail";
    case SEEN_TIMES:
        return least == 2 && most == 2 ? "consumed twice: a loop runs too far, or one part is added two times"
                                       : "consumed several times: a loop runs too far";
    case SEEN_ADDED:
        return f == FIELD_START ? "an accumulator that is not cleared, or memory that nothing filled"
                                : "codes not centred: the offset of the format is forgotten";
    case SEEN_FACTOR:
        return "the scale is another: its bits, its bias or its conversion";
    case SEEN_MINIMUM:
    case SEEN_SCALE:
        return "one word off in what holds scales and minima side by side";
    case SEEN_UNWRITTEN:
        return "the store is missing, or its mask is too narrow";
    default:
        return f == FIELD_START ? "memory that nothing filled, or misaligned reads: warpproof explain shows the watches"
                                : "it is computed from other bytes than items: bits of neighbours mixed, or memory "
                                  "that nothing filled";
    }
}

const char *suspect_of_mixed(enum probe_field f) {
    return is_scale(f) ? "a scale's selector takes the row where the token is meant, or the other way round"
                       : "rows and tokens of a fragment exchanged: the lane to element map of a load or of the store";
}

const char *suspect_of_all(bool rows) {
    return rows ? "whole rows: the address of the blocks, or results stored in another row"
                : "whole tokens: the address of the activations, or results stored in another token";
}
