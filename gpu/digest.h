/* SHA-256 of what goes into a launch and of what comes out of it, as 64 lower-case hex digits. */
#ifndef GPU_DIGEST_H
#define GPU_DIGEST_H

#include "bind.h"

enum { DIGEST_HEX = 65 }; /* with its end */

/* All that decides what the launches of a bound launch file compute besides their program: of each launch entry, grid,
 * block, dynamic shared bytes and the bytes of every argument (a buffer is its number); of each buffer name, role,
 * size, and its contents where the kernel may read them. For buffers as bind_launch leaves them, before anything has
 * run. False when the library cannot compute it. */
bool digest_inputs(const struct bound *b, char hex[DIGEST_HEX]);

/* The bytes of all OUT and INOUT buffers in order. replaced: (buffer_count) the bytes to take in place of a buffer's,
 * of its size, or NULL for its own; NULL: its own everywhere. */
bool digest_outputs(const struct launch *l, const uint8_t *const *replaced, char hex[DIGEST_HEX]);

/* The text of a program. Fails with its path. */
bool digest_program(const struct ptx_module *m, char hex[DIGEST_HEX], struct error *e);
/* What made it, as its comments say: "Cuda compilation tools, release 13.0, V13.0.88", and the last word of that,
 * "V13.0.88"; NULL when they do not. The caller frees it. */
char *program_tools(const struct ptx_module *m);
char *program_toolkit(const struct ptx_module *m);

#endif
