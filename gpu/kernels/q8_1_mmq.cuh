// q8_1_mmq on the device (ref/q8_1_mmq.h): 128 values in 144 B = 16 B of scales @0, 128 int8 @16. Block kb of token t
// is at (kb * nt + t) * 144, so that the blocks of a tile's tokens are one run.
//
//   ds4   4 x (f16 d, f16 sum of 32 values)
//   d4    4 x f32 d
//   d2s6  2 x f16 d of 64 values, 6 x f16 sum of 16 values
#pragma once

constexpr int Q8_1_MMQ_BYTES = 144, Q8_1_MMQ_VALUES = 128;
constexpr int Q8_1_MMQ_QUANTS = 16; // offset of the int8 values
