/* The mistakes that make a rule. */
#ifndef ORACLES_TOMOGRAPHY_SUSPECTS_H
#define ORACLES_TOMOGRAPHY_SUSPECTS_H

#include "index_rule.h"
#include "tomography_parts.h"

/* line: the rule is of rows or tokens; else of k, sub-blocks, blocks, chunks. Static, or NULL. */
const char *suspect_of_rule(enum probe_field f, bool line, const struct index_rule *r);
const char *suspect_of_kind(enum probe_field f, enum seen_kind kind, float least, float most);
/* A bit of the line comes from the other axis. */
const char *suspect_of_mixed(enum probe_field f);
/* Of several operands that one rule holds for. lines: of rows or tokens. */
const char *suspect_of_all(bool rows);

#endif
