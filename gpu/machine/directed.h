/* One more bit of imm of op_directed (machine.h): .ftz of a result of 32 bits. Operands of 32 bits are flushed, and so
 * is a result that is below the normal numbers when rounded to 24 bits with no end to the exponents. */
#ifndef GPU_MACHINE_DIRECTED_H
#define GPU_MACHINE_DIRECTED_H

#define DIRECTED_FTZ 0x20000

#endif
