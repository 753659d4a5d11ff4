/* What the same kernel makes of other data and of other shapes: which of them are red is a diagnosis. */
#include "../ref/checked.h"
#include "suspects_parts.h"
#include <stdlib.h>
#include <string.h>

static bool is_red(const struct sibling *s) {
    return s->ran && s->verdict != VERDICT_PASS;
}

static const struct sibling *class_of(const struct suspects_input *in, const char *name) {
    for (size_t i = 0; i < in->sibling_count; ++i) {
        const struct sibling *s = &in->siblings[i];
        if (s->kind == SIBLING_CLASS && s->ran && strcmp(s->name, name) == 0) {
            return s;
        }
    }
    return NULL;
}

static const struct sibling *shape_of(const struct suspects_input *in, enum sibling_kind kind) {
    for (size_t i = 0; i < in->sibling_count; ++i) {
        if (in->siblings[i].kind == kind && in->siblings[i].ran) {
            return &in->siblings[i];
        }
    }
    return NULL;
}

enum diagnosis { /* of the classes that ran */
                 CLASSES_NONE,
                 CLASSES_CLEAN,
                 CLASSES_EXACT,   /* exact is wrong: no rounding is involved */
                 CLASSES_INEXACT, /* exact is right, data of any other kind is wrong */
                 CLASSES_EXTREME, /* adv alone */
                 CLASSES_HIDDEN,  /* exact is right, and so is some class of ordinary numbers */
};

static enum diagnosis diagnosis_of(const struct suspects_input *in) {
    const struct sibling *exact = class_of(in, "exact"), *adv = class_of(in, "adv");
    size_t ran = 0, red = 0, ordinary = 0, ordinary_red = 0;
    for (size_t i = 0; i < in->sibling_count; ++i) {
        const struct sibling *s = &in->siblings[i];
        if (s->kind == SIBLING_CLASS && s->ran) {
            const bool plain = s != exact && s != adv;
            ++ran, red += is_red(s), ordinary += plain, ordinary_red += plain && is_red(s);
        }
    }
    if (ran < 2) {
        return CLASSES_NONE;
    }
    return red == 0                                                    ? CLASSES_CLEAN
           : exact != NULL && is_red(exact)                            ? CLASSES_EXACT
           : adv != NULL && is_red(adv) && red == 1 && ordinary > 0    ? CLASSES_EXTREME
           : exact != NULL && ordinary_red == ordinary && ordinary > 0 ? CLASSES_INEXACT
           : exact != NULL                                             ? CLASSES_HIDDEN
                                                                       : CLASSES_NONE;
}

static const char *const diagnosis_words[] = {
    [CLASSES_NONE] = NULL,
    [CLASSES_CLEAN] = NULL,
    [CLASSES_EXACT] = "exact too, where no sum is rounded: layout, indexing or memory, not rounding",
    [CLASSES_INEXACT] =
        "exact is right, where scales are powers of two and no sum is rounded: rounding, fusion or order "
        "of the sums, or bits of a scale that exact leaves zero",
    [CLASSES_EXTREME] = "adv alone: zero blocks, subnormal or extreme scales, saturation, ties",
    [CLASSES_HIDDEN] = "not every class shows it: few values take that path",
};

const char *siblings_mistake(const struct suspects_input *in) {
    switch (diagnosis_of(in)) {
    case CLASSES_INEXACT:
        return "rounding, fusion or order of the sums, or bits of a scale that class exact leaves zero";
    case CLASSES_EXTREME:
        return "zero blocks, subnormal or extreme scales, saturation or ties";
    default:
        return NULL;
    }
}

static char *append(char *text, const char *start, const struct sibling *s) {
    char *more = s->ran ? must_format("%s%s%s %s", text, text[0] ? start : "", s->name, verdict_name(s->verdict))
                        : must_format("%s%s%s not run (%s)", text, text[0] ? start : "", s->name, s->why);
    free(text);
    return more;
}

static char *all_of(const struct suspects_input *in, bool classes, size_t *ran) {
    char *text = must_strdup("");
    *ran = 0;
    for (size_t i = 0; i < in->sibling_count; ++i) {
        const struct sibling *s = &in->siblings[i];
        if ((s->kind == SIBLING_CLASS) == classes) {
            text = append(text, ", ", s);
            *ran += s->ran;
        }
    }
    return text;
}

static char *with_words(char *text, const char *words) {
    if (words == NULL) {
        return text;
    }
    char *longer = must_format("%s   -> %s", text, words);
    free(text);
    return longer;
}

char *siblings_classes(const struct suspects_input *in) {
    size_t ran;
    char *text = all_of(in, true, &ran);
    if (text[0] == 0) {
        free(text);
        return NULL;
    }
    return with_words(text, diagnosis_words[diagnosis_of(in)]);
}

/* One tile and several whole ones, without tails; and one step of the depth. */
static const char *words_of_shapes(const struct suspects_input *in) {
    const struct sibling *tile = shape_of(in, SIBLING_TILE), *tiles = shape_of(in, SIBLING_TILES),
                         *depth = shape_of(in, SIBLING_DEPTH);
    if (outcome_verdict(in->outcome) == VERDICT_PASS) {
        return NULL;
    }
    if (tile != NULL && is_red(tile)) {
        return depth != NULL && !is_red(depth)
                   ? "one whole tile is wrong as well, one step of the depth is right: what changes from step to step"
                   : "one whole tile is wrong as well: inside a tile, not tails or the place of a block";
    }
    if (tile != NULL && tiles != NULL && is_red(tiles)) {
        return "one tile is right, several whole ones are not: the place of a block, not tails";
    }
    if (tile != NULL && tiles != NULL) {
        return "whole tiles are right: the tail's masks, or what is filled in past the end";
    }
    return depth != NULL && !is_red(depth) ? "one step of the depth is right: what changes from step to step" : NULL;
}

char *siblings_shapes(const struct suspects_input *in) {
    size_t ran;
    char *text = all_of(in, false, &ran);
    if (text[0] == 0) {
        free(text);
        return NULL;
    }
    return with_words(text, words_of_shapes(in));
}
