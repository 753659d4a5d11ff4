/* The first architecture that has an instruction. */
#ifndef GPU_REQUIRES_H
#define GPU_REQUIRES_H

#include "arch.h"
#include "ptx/ptx.h"

/* 80 for sm_80; 0: every architecture that the machine knows has it, or nothing is known of it. Shapes of mma are not
 * looked at: gpu/machine/tensor_model.h has them. */
unsigned instruction_requires(const struct ptx_instruction *in);

/* The module's .target can be loaded on the architecture; else *why = "the module is compiled for sm_90 (.target)",
 * owned by the caller. */
bool target_fits(const struct ptx_module *m, const struct arch *arch, char **why);

#endif
