/* Guards, functions, branches through tables: PTX ISA 9.3, 9.7.12. The lanes of a warp go different ways here. */
#include "tables.h"

#define TWICE                                                                                                          \
    ".func (.param .b32 r) twice(.param .b32 x) {\n.reg .b32 %a;\nld.param.b32 %a, [x];\nadd.u32 %a, %a, %a;\n"        \
    "st.param.b32 [r], %a;\nret;\n}\n"
#define SUM64                                                                                                          \
    ".func (.param .b64 r) total(.param .b64 x, .param .b64 y) {\n.reg .b64 %a, %b;\nld.param.b64 %a, [x];\n"          \
    "ld.param.b64 %b, [y];\nadd.u64 %a, %a, %b;\nst.param.b64 [r], %a;\nret;\n}\n"
#define FIELDS                                                                                                         \
    ".func (.param .align 8 .b8 r[16]) swapped(.param .align 8 .b8 x[16]) {\n.reg .b64 %a, %b;\n"                      \
    "ld.param.b64 %a, [x];\nld.param.b64 %b, [x+8];\nst.param.b64 [r], %b;\nst.param.b64 [r+8], %a;\nret;\n}\n"
/* x * 2^n, a call each time */
#define DEEP                                                                                                           \
    ".func (.param .b32 r) deep(.param .b32 x, .param .b32 n) {\n.reg .b32 %a, %b;\n.reg .pred %p;\n"                  \
    "ld.param.b32 %a, [x];\nld.param.b32 %b, [n];\nsetp.eq.u32 %p, %b, 0;\n@%p bra DONE;\nadd.u32 %a, %a, %a;\n"       \
    "sub.u32 %b, %b, 1;\n{\n.param .b32 ax;\n.param .b32 an;\n.param .b32 ar;\nst.param.b32 [ax], %a;\n"               \
    "st.param.b32 [an], %b;\ncall (ar), deep, (ax, an);\nld.param.b32 %a, [ar];\n}\nDONE:\nst.param.b32 [r], %a;\n"    \
    "ret;\n}\n"
#define NUMBERS                                                                                                        \
    ".func (.param .b32 r) one() {\nst.param.b32 [r], 1;\nret;\n}\n"                                                   \
    ".func (.param .b32 r) seven() {\nst.param.b32 [r], 7;\nret;\n}\n"                                                 \
    ".func (.param .b32 r) nine() {\nst.param.b32 [r], 9;\nret;\n}\n"                                                  \
    ".func (.param .b32 r) ten() {\nst.param.b32 [r], 10;\nret;\n}\n"                                                  \
    ".global .align 8 .u64 numbers[4] = {one, seven, nine, ten};\n"

const struct row rows_control[] = {
    {.code = "mov.b32 =b32, $b32; @$pred add.u32 =0, $b32, $b32"},
    {.code = "mov.b64 =b64, $b64; @!$pred mul.lo.u64 =0, $b64, $b64"},
    {.code = "@$pred st.<global,shared>.b32 [#1+4], $b32"},
    {.code = "mov.b32 =b32, $b32; @$pred ld.<global,shared>.b32 =0, [#1+4]"},
    {.code = "{ .param .b32 x; .param .b32 r; st.param.b32 [x], $b32; call<,.uni> (r), twice, (x); "
             "ld.param.b32 =b32, [r]; }",
     .model = "add.u32 =b32, $b32, $0",
     .module = TWICE},
    {.code = "{ .param .b64 x; .param .b64 y; .param .b64 r; st.param.b64 [x], $b64; st.param.b64 [y], $b64; "
             "call.uni (r), total, (x, y); ld.param.b64 =b64, [r]; }",
     .model = "add.u64 =b64, $b64, $b64",
     .module = SUM64},
    {.code =
         "{ .param .align 8 .b8 x[16]; .param .align 8 .b8 r[16]; st.param.b64 [x], $b64; st.param.b64 [x+8], $b64; "
         "call.uni (r), swapped, (x); ld.param.b64 =b64, [r]; ld.param.b64 =b64, [r+8]; }",
     .model = "pick =b64, 1, $b64, $b64; mov.b64 =b64, $0",
     .module = FIELDS},
    {.code = "{ .param .b32 x; .param .b32 n; .param .b32 r; st.param.b32 [x], $b32; st.param.b32 [n], $index; "
             "call (r), deep, (x, n); ld.param.b32 =b32, [r]; }",
     .model = "shl.b32 =b32, $b32, $index",
     .module = DEEP},
    {.code = "{ .reg .b64 f, t; .param .b32 r; mul.wide.u32 t, $index, 8; mov.u64 f, numbers; add.u64 t, t, f; "
             "ld.global.u64 f, [t]; calls: .callprototype (.param .b32 _) _ (); call (r), f, (), calls; "
             "ld.param.b32 =b32, [r]; }",
     .model = "pick =b32, $index, 1, 7, 9, 10",
     .module = NUMBERS},
    {.code = "ways: .branchtargets W0, W1, W2, W3; brx.idx $index, ways; W0: mov.b32 =b32, $b32; bra ENDED; "
             "W1: mov.b32 =0, $b32; bra ENDED; W2: mov.b32 =0, 5; bra ENDED; W3: mov.b32 =0, 7; ENDED:",
     .model = "pick =b32, $index, $b32, $b32, 5, 7"},
    {.code =
         "setp.ne.b32 =pred, $index, 0; @@0 bra OTHER; add.u32 =b32, $b32, $b32; bra ENDED; OTHER: sub.u32 =1, $1, $2; "
         "ENDED:",
     .model = "setp.ne.b32 =pred, $index, 0; add.u32 =b32, $b32, $b32; @@0 sub.u32 =1, $1, $2"},
    {0},
};
