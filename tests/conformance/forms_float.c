/* Floating point: PTX ISA 9.7.3 to 9.7.5. */
#include "tables.h"

const struct row rows_f32[] = {
    {.code = "<add,sub,mul><,.rn,.rz,.rm,.rp><,.ftz><,.sat>.f32 =f32, $f32, $f32"},
    {.code = "fma<.rn,.rz,.rm,.rp><,.ftz><,.sat>.f32 =f32, $f32, $f32, $f32"},
    {.code = "mad<.rn,.rz,.rm,.rp><,.ftz><,.sat>.f32 =f32, $f32, $f32, $f32"},
    {.code = "div<.rn,.rz,.rm,.rp><,.ftz>.f32 =f32, $f32, $f32"},
    {.code = "<rcp,sqrt><.rn,.rz,.rm,.rp><,.ftz>.f32 =f32, $f32"},
    {.code = "<abs,neg><,.ftz>.f32 =f32, $f32"},
    {.code = "<min,max><,.ftz><,.NaN><,.xorsign.abs>.f32 =f32, $f32, $f32"},
    {.code = "copysign.f32 =f32, $f32, $f32"},
    {.code = "testp.<finite,infinite,number,notanumber,normal,subnormal>.f32 =pred, $f32"},
    {.code = "rcp.approx<,.ftz>.f32 =f32, $f32"},
    {.code = "div.<approx,full><,.ftz>.f32 =f32, $f32, $f32"},
    {0},
};

const struct row rows_f64[] = {
    {.code = "<add,sub,mul><,.rn,.rz,.rm,.rp>.f64 =f64, $f64, $f64"},
    {.code = "<fma,mad><.rn,.rz,.rm,.rp>.f64 =f64, $f64, $f64, $f64"},
    {.code = "div<.rn,.rz,.rm,.rp>.f64 =f64, $f64, $f64"},
    {.code = "<rcp,sqrt><.rn,.rz,.rm,.rp>.f64 =f64, $f64"},
    {.code = "<abs,neg>.f64 =f64, $f64"},
    {.code = "<min,max>.f64 =f64, $f64, $f64"},
    {.code = "copysign.f64 =f64, $f64, $f64"},
    {.code = "testp.<finite,infinite,number,notanumber,normal,subnormal>.f64 =pred, $f64"},
    {0},
};

const struct row rows_f16[] = {
    {.code = "<add,sub,mul><,.rn><,.ftz><,.sat>.<f16,f16x2> =#5, $#5, $#5"},
    {.code = "fma.rn<,.ftz><,.sat,.relu>.<f16,f16x2> =#3, $#3, $#3, $#3"},
    {.code = "<min,max><,.ftz><,.NaN><,.xorsign.abs>.<f16,f16x2> =#5, $#5, $#5"},
    {.code = "<abs,neg><,.ftz>.<f16,f16x2> =#3, $#3"},
    {0},
};

const struct row rows_bf16[] = {
    {.code = "<add,sub,mul><,.rn>.<bf16,bf16x2> =#3, $#3, $#3"},
    {.code = "fma.rn<,.relu>.<bf16,bf16x2> =#2, $#2, $#2, $#2"},
    {.code = "<min,max><,.NaN><,.xorsign.abs>.<bf16,bf16x2> =#4, $#4, $#4"},
    {.code = "<abs,neg>.<bf16,bf16x2> =#2, $#2"},
    {0},
};
