/* mma: PTX ISA 9.7.14.5. */
#include "tables.h"

#define A4(k) "{$" k ", $" k ", $" k ", $" k "}"
#define A2(k) "{$" k ", $" k "}"
#define S4    "{=b32, =b32, =b32, =b32}"
#define D4    "{=f64, =f64, =f64, =f64}"
#define F4    "{=f32, =f32, =f32, =f32}"

const struct row rows_mma_integer[] = {
    {.code = "mma.sync.aligned.m16n8k32.row.col<,.satfinite>.s32.<u8,s8>.<u8,s8>.s32 " S4
             ", " A4("b32") ", " A2("b32") ", " A4("b32")},
    {.code = "mma.sync.aligned.m16n8k16.row.col<,.satfinite>.s32.<u8,s8>.<u8,s8>.s32 " S4
             ", " A2("b32") ", {$b32}, " A4("b32")},
    {.code = "mma.sync.aligned.m8n8k16.row.col<,.satfinite>.s32.<u8,s8>.<u8,s8>.s32 {=b32, =b32}, {$b32}, {$b32}, " A2(
         "b32")},
    {.code = "mma.sync.aligned.m16n8k64.row.col<,.satfinite>.s32.<u4,s4>.<u4,s4>.s32 " S4
             ", " A4("b32") ", " A2("b32") ", " A4("b32")},
    {.code = "mma.sync.aligned.m16n8k32.row.col<,.satfinite>.s32.<u4,s4>.<u4,s4>.s32 " S4
             ", " A2("b32") ", {$b32}, " A4("b32")},
    {.code = "mma.sync.aligned.m8n8k32.row.col<,.satfinite>.s32.<u4,s4>.<u4,s4>.s32 {=b32, =b32}, {$b32}, {$b32}, " A2(
         "b32")},
    {.code = "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.<xor,and>.popc " S4
             ", " A4("b32") ", " A2("b32") ", " A4("b32")},
    {.code =
         "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.<xor,and>.popc " S4 ", " A2("b32") ", {$b32}, " A4("b32")},
    {.code = "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.<xor,and>.popc {=b32, =b32}, {$b32}, {$b32}, " A2("b32")},
    {0},
};

const struct row rows_mma_float[] = {
    {.code = "mma.sync.aligned.m16n8k16.row.col.f32.<f16,bf16>.#1.f32 " F4
             ", {$#1x2, $#1x2, $#1x2, $#1x2}, {$#1x2, $#1x2}, " A4("f32")},
    {.code = "mma.sync.aligned.m16n8k8.row.col.f32.<f16,bf16>.#1.f32 " F4 ", {$#1x2, $#1x2}, {$#1x2}, " A4("f32")},
    {.code = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {=b32, =b32}, " A4("f16x2") ", " A2("f16x2") ", " A2(
         "f16x2")},
    {.code = "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {=b32, =b32}, " A2("f16x2") ", {$f16x2}, " A2("f16x2")},
    {.code = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " F4 ", " A4("tf32") ", " A2("tf32") ", " A4("f32")},
    {.code = "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 " F4 ", " A2("tf32") ", {$tf32}, " A4("f32")},
    {.code = "mma.sync.aligned.m16n8k32.row.col.f32.<e4m3,e5m2>.<e4m3,e5m2>.f32 " F4
             ", {$#1x4, $#1x4, $#1x4, $#1x4}, {$#2x4, $#2x4}, " A4("f32")},
    {.code = "mma.sync.aligned.m16n8k16.row.col.f32.<e4m3,e5m2>.<e4m3,e5m2>.f32 " F4
             ", {$#1x4, $#1x4}, {$#2x4}, " A4("f32")},
    {.code = "mma.sync.aligned.m16n8k32.row.col.f16.<e4m3,e5m2>.<e4m3,e5m2>.f16 {=b32, =b32}, {$#1x4, $#1x4, $#1x4, "
             "$#1x4}, {$#2x4, $#2x4}, " A2("f16x2")},
    {.code =
         "mma.sync.aligned.m16n8k16.row.col.f16.<e4m3,e5m2>.<e4m3,e5m2>.f16 {=b32, =b32}, {$#1x4, $#1x4}, {$#2x4}, " A2(
             "f16x2")},
    {.code = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {=f64, =f64}, {$f64}, {$f64}, {$f64, $f64}"},
    {.code = "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 " D4 ", {$f64, $f64}, {$f64}, " A4("f64")},
    {.code = "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 " D4 ", " A4("f64") ", {$f64, $f64}, " A4("f64")},
    {.code = "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 " D4
             ", {$f64, $f64, $f64, $f64, $f64, $f64, $f64, $f64}, " A4("f64") ", " A4("f64")},
    {0},
};
