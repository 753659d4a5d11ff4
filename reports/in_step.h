/* The report of `warpproof bisect --ptx`: where two builds of a kernel first differ, and what becomes of it. */
#ifndef REPORTS_IN_STEP_H
#define REPORTS_IN_STEP_H

#include "../oracles/in_step.h"
#include "json_node.h"
#include <stdio.h>

/* paths: of the PTX of A and B, for its lines. launches: of the launch file. */
void in_step_text(FILE *out, const struct in_step *x, const char *const paths[2], size_t launches);
/* The same as an object. */
struct fy_node *in_step_node(struct fy_document *d, const struct in_step *x);

#endif
