/* The .global variables that a launch sets and asks for (struct launch_global), on a GPU. */
#ifndef GPU_DEVICE_GLOBALS_H
#define GPU_DEVICE_GLOBALS_H

#include "../launch.h"
#include "driver.h"

/* Their bytes into the module, before the launch. False, with one line in e, where the driver knows no such variable or
 * another size of it. */
bool globals_put(const struct driver *d, cu_module module, const struct launch *l, struct error *e);
/* What the launch has left in them into l->globals. */
bool globals_get(const struct driver *d, cu_module module, const struct launch *l, struct error *e);

#endif
