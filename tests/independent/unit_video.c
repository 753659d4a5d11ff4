#include "unit.h"
const struct unit_rule unit_rules_video[] = {{NULL, NULL, NULL}};
