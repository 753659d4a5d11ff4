/* Pictures of a red case for an HTML page. */
#ifndef REPORTS_HTML_PICTURES_H
#define REPORTS_HTML_PICTURES_H

#include "../oracles/bank_sites.h"
#include "../oracles/outcome.h"
#include <stdio.h>

/* Each figure has its caption. Where the wrong cells of the outputs lie. */
void html_wrong_cells(FILE *out, const struct outcome *o);
/* Of a stage's fault: which lanes and registers of the operand were wrong; the banks of the staging store. */
void html_fault_pictures(FILE *out, const struct finding *f, const struct bank_sites *banks);
/* The lanes of an mma or a matrix access that a finding names, and the banks that the lanes of its shared access ask
 * for; then, unless banks is NULL, every place that reaches shared memory, with the worst access of the worst ones. */
void html_access_pictures(FILE *out, const struct outcome *o, const struct bank_sites *banks);

/* The operands of the mma, or the matrices of the ldmatrix, stmatrix or movmatrix, that a PTX instruction is: names of
 * fragments (gpu/fragment.h), at most 4; returns how many, 0 when it is none. */
size_t html_fragments_of(const char *instruction, char names[4][48]);

#endif
