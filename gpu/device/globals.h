/* The .global variables that a launch sets and asks for (struct launch_global), on a GPU that is entered (context.h).
 */
#ifndef GPU_DEVICE_GLOBALS_H
#define GPU_DEVICE_GLOBALS_H

#include "context.h"

/* Their bytes into the program of l, before the launch. False, with one line in e, where the driver knows no such
 * variable or another size of it. */
bool globals_put(struct gpu *g, const struct launch *l, struct error *e);
/* What the launch has left in them into l->globals. */
bool globals_get(struct gpu *g, const struct launch *l, struct error *e);

#endif
