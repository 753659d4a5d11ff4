/* Pictures of a red case for an HTML page. */
#ifndef REPORTS_HTML_PICTURES_H
#define REPORTS_HTML_PICTURES_H

#include "../oracles/outcome.h"
#include <stdio.h>

/* Figures, each with its caption: wrong cells of an output; the lanes of an mma or a matrix access that a finding
 * names; the banks that the lanes of a shared access ask for. */
void html_pictures(FILE *out, const struct outcome *o);

/* The operands of the mma, or the matrices of the ldmatrix, stmatrix or movmatrix, that a PTX instruction is: names of
 * fragments (gpu/fragment.h), at most 4; returns how many, 0 when it is none. */
size_t html_fragments_of(const char *instruction, char names[4][48]);

#endif
