/* Functions without bits of their own in PTX. Those of halves are measured whole, so they are exact here. */
#include "tables.h"

#define OPEN "PTX states an error, no bits"

/* log2 goes through 0 at 1: there PTX bounds the error itself, not its share of the result. */
static bool near_one(const struct unit_form *f, const uint64_t in[UNIT_INPUTS]) {
    (void)f;
    return in[0] > 0x3f000000 && in[0] < 0x40000000;
}

const struct row rows_approximate[] = {
    {.code = "<ex2,tanh>.approx.<f16,f16x2> =#2, $#2"},
    {.code = "ex2.approx.ftz.<bf16,bf16x2> =#1, $#1"},
    {.code = "tanh.approx.<bf16,bf16x2> =#1, $#1"},
    {.code = "ex2.approx<,.ftz>.f32 =f32, $f32", .note = OPEN, .units = 3},
    {.code = "<rsqrt,sqrt>.approx<,.ftz>.f32 =f32, $f32", .note = OPEN, .units = 3},
    {.code = "tanh.approx.f32 =f32, $f32", .note = OPEN, .units = 12000},
    {.code = "lg2.approx<,.ftz>.f32 =f32, $f32", .note = OPEN, .open = near_one, .units = 6},
    {0},
};
