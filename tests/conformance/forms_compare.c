/* Comparisons: PTX ISA 9.7.6, 9.7.7. */
#include "tables.h"

const struct row rows_compare[] = {
    {.code = "setp.<eq,ne,lt,le,gt,ge>.s16 =pred, $b16, $b16"},
    {.code = "setp.<eq,ne,lt,le,gt,ge,lo,ls,hi,hs>.u16 =pred, $b16, $b16"},
    {.code = "setp.<eq,ne>.b16 =pred, $b16, $b16"},
    {.code = "setp.<eq,ne,lt,le,gt,ge>.s32 =pred, $b32, $b32"},
    {.code = "setp.<eq,ne,lt,le,gt,ge,lo,ls,hi,hs>.u32 =pred, $b32, $b32"},
    {.code = "setp.<eq,ne>.b32 =pred, $b32, $b32"},
    {.code = "setp.<eq,ne,lt,le,gt,ge>.s64 =pred, $b64, $b64"},
    {.code = "setp.<eq,ne,lt,le,gt,ge,lo,ls,hi,hs>.u64 =pred, $b64, $b64"},
    {.code = "setp.<eq,ne>.b64 =pred, $b64, $b64"},
    {.code = "setp.<lt,ne>.<and,or,xor>.s32 =pred|=pred, $b32, $b32, $pred"},
    {.code = "setp.ge.<and,or,xor>.u64 =pred|=pred, $b64, $b64, !$pred"},
    {.code = "setp.<eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan><,.ftz>.f32 =pred, $f32, $f32"},
    {.code = "setp.<eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan>.f64 =pred, $f64, $f64"},
    {.code = "setp.<lt,neu>.<and,or,xor><,.ftz>.f32 =pred|=pred, $f32, $f32, $pred"},
    {.code = "setp.<gt,equ>.<and,or,xor>.f64 =pred|=pred, $f64, $f64, $pred"},
    {.code = "setp.<eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan><,.ftz>.f16 =pred, $f16, $f16"},
    {.code = "setp.<eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan>.f16x2 =pred|=pred, $f16x2, $f16x2"},
    {.code = "setp.<lt,neu>.<and,or,xor>.f16x2 =pred|=pred, $f16x2, $f16x2, $pred"},
    {.code = "setp.<eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan>.bf16 =pred, $bf16, $bf16"},
    {.code = "setp.<eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan>.bf16x2 =pred|=pred, $bf16x2, $bf16x2"},
    {0},
};

const struct row rows_set[] = {
    {.code = "set.<eq,ne,lt,le,gt,ge>.<u32,s32,f32>.s16 =b32, $b16, $b16"},
    {.code = "set.<eq,ne,lt,le,gt,ge>.<u32,s32,f32>.u32 =b32, $b32, $b32"},
    {.code = "set.<eq,lt,ge>.<u32,f32>.s64 =b32, $b64, $b64"},
    {.code = "set.<eq,ne,lt,gt,equ,neu,ltu,geu,num,nan><,.ftz>.<u32,s32,f32>.f32 =b32, $f32, $f32"},
    {.code = "set.<eq,ne,lt,gt,equ,neu,ltu,geu,num,nan>.<u32,f32>.f64 =b32, $f64, $f64"},
    {.code = "set.<lt,neu>.<and,or,xor>.u32.f32 =b32, $f32, $f32, $pred"},
    {.code = "set.<lt,ne>.<and,or,xor>.f32.s32 =b32, $b32, $b32, $pred"},
    {.code = "set.<eq,ne,lt,gt,equ,neu,ltu,geu,num,nan>.<u32,s32>.f16 =b32, $f16, $f16"},
    {.code = "set.<eq,ne,lt,gt,equ,neu,ltu,geu,num,nan>.<f16,u16,s16>.f16 =b16, $f16, $f16"},
    {.code = "set.<eq,ne,lt,gt,equ,neu,ltu,geu,num,nan><,.ftz>.f16x2.f16x2 =b32, $f16x2, $f16x2"},
    {.code = "set.<eq,ne,lt,gt,equ,neu,ltu,geu,num,nan>.<u32,s32>.bf16 =b32, $bf16, $bf16"},
    {.code = "set.<eq,ne,lt,gt,equ,neu,ltu,geu,num,nan>.bf16x2.bf16x2 =b32, $bf16x2, $bf16x2"},
    {0},
};
