/* What a page says of a case besides its findings: its stages, its banks, and what evidence of it is of. */
#ifndef ORACLES_CASE_DETAIL_H
#define ORACLES_CASE_DETAIL_H

#include "../gpu/digest.h"
#include "bank_sites.h"
#include "suspects.h"

struct case_detail {
    size_t outcome; /* its number in the run */
    bool staged;    /* `explanation` and `suspects` are filled */
    struct explanation explanation;
    struct suspects suspects;
    struct bank_sites banks;
    char program[DIGEST_HEX], inputs[DIGEST_HEX]; /* digests of today, "" where there are none */
    char *why;                                    /* what could not be made, and why; owned; NULL: all was */
};

/* t: of the case; t->runner is not used. o: what became of it. stages: explain it as well, and look for suspects in
 * that. Whatever cannot be done is said in `why`. The caller frees *d. */
void case_detail_make(const struct trial *t, const struct outcome *o, bool stages, struct case_detail *d);
void case_detail_free(struct case_detail *d);

#endif
