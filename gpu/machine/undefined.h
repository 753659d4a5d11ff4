/* Registers that are used and were never written (WATCH_UNINIT, SPACE_REGISTER). */
#ifndef GPU_MACHINE_UNDEFINED_H
#define GPU_MACHINE_UNDEFINED_H

#include "decode.h"

/* Of one function that is being decoded: opened once its registers have their places, and before its first record.
 * d->undefined stays NULL where nothing has to be watched. */
void undefined_open(struct decoder *d);
void undefined_close(struct decoder *d);
/* The helper records of the instruction at hand, to stand before its own, which decode_one makes. False after refuse().
 */
bool undefined_before(struct decoder *d, bool (*decode_one)(struct decoder *d));
/* Where the undefined bits of a register are kept. False: it is not watched. */
bool undefined_place(struct decoder *d, int reg, uint32_t *offset);
/* shfl.sync: where the bits of its value and of its result that are undefined are kept; 0 when it is not watched. */
void undefined_shuffle(struct decoder *d, uint32_t *value, uint32_t *result);

/* The handlers. A place is a pair of numbers in program.wide: enum place, and the offset or predicate number.
 *
 * op_undefined_set:   dst, a = place kind: bits imm are undefined.
 * op_undefined_any:   dst, a = place kind, b = number of places at wide: where a lane has an undefined bit in one of
 *                     them, bits imm of dst are undefined, else none; c: lanes that are undefined already stay so.
 * op_undefined_logic: dst, a = place kind, imm = table of lop3, wide = offsets of the three values and of their
 *                     undefined bits: a bit of dst is undefined when the undefined bits of the operands decide it.
 * op_undefined_check: b = number of triples (place kind, offset, register's name) at wide: an event where one of the
 *                     bits imm is undefined; they are taken as defined from then on. c: not where a (64 bits) is an
 *                     address in local memory, which keeps them. */
enum place { PLACE_32, PLACE_64, PLACE_128 /* two of 64 bits, side by side */, PLACE_PRED };
handler op_undefined_set, op_undefined_any, op_undefined_logic, op_undefined_check;

#endif
