/* Video instructions: PTX ISA 9.7.18. Scalar ones with .sat, .min, .max or a half of d are not PTX's on an H200. */
#include "tables.h"

const struct row rows_video[] = {
    {.code = "<vadd,vsub,vabsdiff,vmin,vmax>.<u,s>32.<u,s>32.<u,s>32 =b32, $b32, $b32"},
    {.code = "<vadd,vsub,vabsdiff,vmin,vmax>.s32.<u,s>32.<u,s>32 =b32, $b32.<b0,b3,h0,h1>, $b32.<b1,h1>"},
    {.code = "<vadd,vsub,vabsdiff,vmin,vmax>.u32.<u,s>32.u32.add =b32, $b32.<b2,h1>, $b32, $b32"},
    {.code = "<vadd,vsub,vabsdiff,vmin,vmax>.<u,s>32.u32.s32 =b32.<b0,b3>, $b32, $b32.b1, $b32"},
    {.code = "<vshl,vshr>.<u,s>32.<u,s>32.u32.<clamp,wrap> =b32, $b32, $count"},
    {.code = "vset.<u,s>32.<u,s>32.<eq,ne,lt,le,gt,ge> =b32, $b32, $b32"},
    {.code = "vset.s32.u32.<lt,ge>.add =b32, $b32.b1, $b32.h0, $b32"},
    {.code = "vmad.s32.s32.s32<,.sat><,.shr7,.shr15> =b32, $b32.<b0,h1>, $b32.b2, $b32"},
    {.code = "vmad.u32.u32.u32 =b32, $b32.h1, $b32.h0, $b32"},
    {.code = "<vadd,vsub,vavrg,vabsdiff,vmin,vmax>2.<u,s>32.<u,s>32.<u,s>32<,.sat,.add> =b32, $b32, $b32, $b32"},
    {.code = "<vadd,vsub,vavrg,vabsdiff,vmin,vmax>4.<u,s>32.<u,s>32.<u,s>32<,.sat,.add> =b32, $b32, $b32, $b32"},
    {.code = "<vadd,vabsdiff>2.s32.s32.u32 =b32.<h0,h1,h10>, $b32.<h10,h02>, $b32.<h32,h11>, $b32"},
    {.code = "<vadd,vabsdiff>4.s32.s32.u32 =b32.<b0,b31,b3210>, $b32.<b3210,b0246>, $b32.<b7654,b1100>, $b32"},
    {.code = "vset2.<u,s>32.<u,s>32.<eq,ne,lt,le,gt,ge><,.add> =b32, $b32, $b32, $b32"},
    {.code = "vset4.<u,s>32.<u,s>32.<eq,ne,lt,le,gt,ge><,.add> =b32, $b32, $b32, $b32"},
    {0},
};
