/* Single results of a real GPU: NaNs of binary64, their payloads on the way to and from other formats, and .ftz next to
 * the least normal number. Measured on an NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-11-29, where the whole run
 * gave 65 536 inputs to each of 259 instructions; these rows are a sample. */
#include "machine_run.h"

struct measured {
    const char *instruction; /* sources 0, 1, 2 defined in this order; the class of a register is its letter */
    uint64_t source[3], want;
};

/* clang-format off */
static const struct measured rows[] = {
    {"cvt.rn.f32.f64 %f9, %d0", {0x7ff77f97b07392d2}, 0x7ffbfcbd},
    {"cvt.rz.f32.f64 %f9, %d0", {0xfff34a7a7d01c858}, 0xffda53d3},
    {"cvt.rm.f32.f64 %f9, %d0", {0xfff3551f184531c4}, 0xffdaa8f8},
    {"cvt.rp.f32.f64 %f9, %d0", {0xfff6e1254cd5f694}, 0xfff7092a},
    {"cvt.f64.f32 %d9, %f0", {0xff806408}, 0xfff80c8100000000},
    {"mul.rn.ftz.f32 %f9, %f0, %f1", {0x92a4f568, 0x2d46a4cd}, 0x80000000},
    {"fma.rn.ftz.f32 %f9, %f0, %f1, %f2", {0x3926f6ca, 0x06c44202, 0x00000000}, 0x00000000},
    {"cvt.rn.ftz.f32.f64 %f9, %d0", {0xfff3e4b2991ac002}, 0xffdf2594},
    {"cvt.rn.ftz.f32.f64 %f9, %d0", {0xb80fffffe0000000}, 0x80000000},
    {"cvt.rz.ftz.f32.f64 %f9, %d0", {0xfffb55f4d5951f6c}, 0xffdaafa6},
    {"mul.rm.ftz.f32 %f9, %f0, %f1", {0x0c000004, 0xb3fffff7}, 0x80000000},
    {"fma.rm.ftz.f32 %f9, %f0, %f1, %f2", {0x3f7fffff, 0x80800000, 0x00000001}, 0x80000000},
    {"cvt.rm.ftz.f32.f64 %f9, %d0", {0xfff262105abc0d21}, 0xffd31082},
    {"mul.rp.ftz.f32 %f9, %f0, %f1", {0xb8429859, 0x87a86402}, 0x00000000},
    {"fma.rp.ftz.f32 %f9, %f0, %f1, %f2", {0xad3714ce, 0x92b2fb09, 0x00000000}, 0x00000000},
    {"cvt.rp.ftz.f32.f64 %f9, %d0", {0x7ffcebd6210eb754}, 0x7fe75eb1},
    {"cvt.rp.ftz.f32.f64 %f9, %d0", {0x380fffffe0000000}, 0x00000000},
    {"mul.ftz.f32 %f9, %f0, %f1", {0xbf7fffff, 0x00800000}, 0x80000000},
    {"cvt.ftz.f64.f32 %d9, %f0", {0xff8b46b8}, 0x7fffffffe0000000},
    {"cvt.ftz.f32.f32 %f9, %f0", {0xffa35181}, 0x7fffffff},
    {"mul.rn.ftz.sat.f32 %f9, %f0, %f1", {0x86000000, 0xb9ffffff}, 0x00000000},
    {"fma.rn.ftz.sat.f32 %f9, %f0, %f1, %f2", {0xbbbedf79, 0x842baca6, 0x80000000}, 0x00000000},
    {"cvt.rn.ftz.sat.f32.f64 %f9, %d0", {0x380fffffe22b6e3f}, 0x00000000},
    {"mul.rp.ftz.sat.f32 %f9, %f0, %f1", {0x95e087c0, 0xaa11f0b2}, 0x00000000},
    {"fma.rp.ftz.sat.f32 %f9, %f0, %f1, %f2", {0xa9be927b, 0x962bf201, 0x00000000}, 0x00000000},
    {"cvt.rp.ftz.sat.f32.f64 %f9, %d0", {0x380fffffe0000000}, 0x00000000},
    {"mul.ftz.sat.f32 %f9, %f0, %f1", {0xa29137af, 0x9d61a5d0}, 0x00000000},
    {"div.rn.ftz.f32 %f9, %f0, %f1", {0x8b7fffff, 0xca800000}, 0x00000000},
    {"div.rm.ftz.f32 %f9, %f0, %f1", {0x2e000001, 0xed000002}, 0x80000000},
    {"rcp.rm.ftz.f32 %f9, %f0", {0xfe800001}, 0x80000000},
    {"div.rp.ftz.f32 %f9, %f0, %f1", {0x2e0a2184, 0x6d0a2185}, 0x00000000},
    {"rcp.rp.ftz.f32 %f9, %f0", {0x7e800001}, 0x00000000},
    {"add.rn.f64 %d9, %d0, %d1", {0x7ff001b76f730837, 0xfff0fe5378c613ff}, 0xfff8fe5378c613ff},
    {"add.rn.f64 %d9, %d0, %d1", {0x8008000000000000, 0x7ff0000100000000}, 0x7ff8000100000000},
    {"sub.rn.f64 %d9, %d0, %d1", {0x7ff3251302df7d3d, 0x7ff7ceabd7cd5e38}, 0x7fffceabd7cd5e38},
    {"sub.rn.f64 %d9, %d0, %d1", {0x9300000000000006, 0xfff6de99c0e2b228}, 0xfffede99c0e2b228},
    {"mul.rn.f64 %d9, %d0, %d1", {0x7ff9c0d72a05aaf1, 0xfff127ef2c958b28}, 0xfff927ef2c958b28},
    {"mul.rn.f64 %d9, %d0, %d1", {0xb810000000000000, 0x7ff8000000000001}, 0x7ff8000000000001},
    {"div.rn.f64 %d9, %d0, %d1", {0xfff0000100000000, 0xfff00000ffffffff}, 0xfff8000100000000},
    {"div.rn.f64 %d9, %d0, %d1", {0x8010000000000000, 0x7ff0000000000002}, 0x7ff8000000000002},
    {"fma.rn.f64 %d9, %d0, %d1, %d2", {0x7ffb92a3a8b61611, 0xffff28dbe883e922, 0xfff521b195f10817}, 0xffff28dbe883e922},
    {"fma.rn.f64 %d9, %d0, %d1, %d2", {0x7ff0000000000000, 0x7ff8000020000000, 0xfff0000000000001}, 0x7ff8000020000000},
    {"fma.rn.f64 %d9, %d0, %d1, %d2", {0x7ff399516519ac97, 0x63b89ccb1eabed04, 0x7ffc4564cbc341ca}, 0x7ffc4564cbc341ca},
    {"rcp.rn.f64 %d9, %d0", {0x7ff019120c102342}, 0x7ff819120c102342},
    {"sqrt.rn.f64 %d9, %d0", {0xfff3bcd3d1c7febb}, 0xfffbbcd3d1c7febb},
    {"sqrt.rn.f64 %d9, %d0", {0xf6bc85b369b8bf26}, 0xfff8000000000000},
    {"add.rz.f64 %d9, %d0, %d1", {0xfff10ffc6459570a, 0xfffac0b3b2b61ac8}, 0xfffac0b3b2b61ac8},
    {"sub.rz.f64 %d9, %d0, %d1", {0xfffe2e07a04fe4b5, 0xfff8c7ae491c6e59}, 0xfff8c7ae491c6e59},
    {"mul.rz.f64 %d9, %d0, %d1", {0xfffc6bbf6107fcdf, 0x7ffe1b48929c1eae}, 0x7ffe1b48929c1eae},
    {"div.rz.f64 %d9, %d0, %d1", {0x7ffd9608695e0919, 0xfff67fefdd8fabf9}, 0x7ffd9608695e0919},
    {"fma.rz.f64 %d9, %d0, %d1, %d2", {0xfff7ffffffffffff, 0x7ff8000020000000, 0xfff80000deadbeef}, 0x7ff8000020000000},
    {"rcp.rz.f64 %d9, %d0", {0x7ff63076d1a02057}, 0x7ffe3076d1a02057},
    {"sqrt.rz.f64 %d9, %d0", {0xfffd3ef7cd9a1bea}, 0xfffd3ef7cd9a1bea},
    {"add.rm.f64 %d9, %d0, %d1", {0xfffc15886151077b, 0x7ff6302e403c6cdb}, 0x7ffe302e403c6cdb},
    {"sub.rm.f64 %d9, %d0, %d1", {0x7ff1e58362d63b1d, 0xfff6ef0a41930295}, 0xfffeef0a41930295},
    {"mul.rm.f64 %d9, %d0, %d1", {0x7ff99830295a5d17, 0xfff0174e07c331e0}, 0xfff8174e07c331e0},
    {"div.rm.f64 %d9, %d0, %d1", {0x7ff280598b3776dc, 0xfff1016b278c0be2}, 0x7ffa80598b3776dc},
    {"fma.rm.f64 %d9, %d0, %d1, %d2", {0xfff8000000000000, 0xfff0000000000001, 0x7ff0000000000001}, 0xfff8000000000001},
    {"rcp.rm.f64 %d9, %d0", {0x7ff9590a41f251c1}, 0x7ff9590a41f251c1},
    {"sqrt.rm.f64 %d9, %d0", {0x7ff5cca52db16956}, 0x7ffdcca52db16956},
    {"add.rp.f64 %d9, %d0, %d1", {0xffff3125f2543168, 0xfff577ab25af76ab}, 0xfffd77ab25af76ab},
    {"sub.rp.f64 %d9, %d0, %d1", {0xfff5e978aaa7e53b, 0x7ff826d7a3bad08a}, 0x7ff826d7a3bad08a},
    {"mul.rp.f64 %d9, %d0, %d1", {0x7ff0000000000001, 0x7ff8000020000000}, 0x7ff8000020000000},
    {"div.rp.f64 %d9, %d0, %d1", {0x7ff7a4408d5e9485, 0x7ff6ec0a23cbb25c}, 0x7fffa4408d5e9485},
    {"fma.rp.f64 %d9, %d0, %d1, %d2", {0x7fffffffffffffff, 0xffffffffffffffff, 0x7fffffffffffffff}, 0xffffffffffffffff},
    {"rcp.rp.f64 %d9, %d0", {0x7ffdb57fcfffbe51}, 0x7ffdb57fcfffbe51},
    {"sqrt.rp.f64 %d9, %d0", {0x7ffaa9b3df927f54}, 0x7ffaa9b3df927f54},
    {"add.f64 %d9, %d0, %d1", {0x7ff5f9f6122f99bf, 0x7ff316c1feb88b74}, 0x7ffb16c1feb88b74},
    {"add.f64 %d9, %d0, %d1", {0x986ffffffffffffa, 0xfff2b361b3c8124b}, 0xfffab361b3c8124b},
    {"sub.f64 %d9, %d0, %d1", {0x7ff79bb2756a167e, 0xfff6bf4ed4d35c92}, 0xfffebf4ed4d35c92},
    {"sub.f64 %d9, %d0, %d1", {0x283878f474688159, 0xfffba99e1d750260}, 0xfffba99e1d750260},
    {"mul.f64 %d9, %d0, %d1", {0xffff02ac43d219ed, 0xfff4820d19390a31}, 0xfffc820d19390a31},
    {"mul.f64 %d9, %d0, %d1", {0x000fffffffffffff, 0xfffaaaaa55555555}, 0xfffaaaaa55555555},
    {"min.f64 %d9, %d0, %d1", {0xfff801d315dd1498, 0xfffa90d80b8a47e9}, 0xfffa90d80b8a47e9},
    {"max.f64 %d9, %d0, %d1", {0x7ff323a0736b3a66, 0x7ffef5e0cc3d6833}, 0x7ffef5e0cc3d6833},
    {"abs.f64 %d9, %d0", {0x7ffd0c32a3ecdc7b}, 0x7ffd0c32a3ecdc7b},
    {"neg.f64 %d9, %d0", {0x7ff5cbc5e0222119}, 0x7ffdcbc5e0222119},
    {"cvt.rni.f64.f64 %d9, %d0", {0x7ffcdd3dd8d824ba}, 0x7ffcdd3dd8d824ba},
    {"cvt.rzi.f64.f64 %d9, %d0", {0x7ffd9600b0bb1b90}, 0x7ffd9600b0bb1b90},
    {"cvt.rmi.f64.f64 %d9, %d0", {0xfffd1b8243147cdf}, 0xfffd1b8243147cdf},
    {"cvt.rpi.f64.f64 %d9, %d0", {0xfff4a5c312a4b818}, 0xfffca5c312a4b818},
    {"add.f64 %d9, %d1, %d0", {0x7ffcc867df4a1cbc, 0xffff6ce3f0a773a7}, 0xffff6ce3f0a773a7},
    {"add.f64 %d9, %d1, %d0", {0x47efffffe0000000, 0x7ff7ffffffffffff}, 0x7fffffffffffffff},
    {"sub.f64 %d9, %d1, %d0", {0xfffbc71a263ea436, 0xfff8436ebe3c608e}, 0xfff8436ebe3c608e},
    {"sub.f64 %d9, %d1, %d0", {0x3de3bc03182e206e, 0xfff5cd1306b0b65a}, 0xfffdcd1306b0b65a},
    {"mul.f64 %d9, %d1, %d0", {0xfff02ecac3528b7f, 0x7ffd790c7549947f}, 0x7ffd790c7549947f},
    {"mul.f64 %d9, %d1, %d0", {0x5840000000000000, 0x7ffca2114c6dd104}, 0x7ffca2114c6dd104},
    {"div.rn.f64 %d9, %d1, %d0", {0x7ff120e8133e45d7, 0x7ff552a48e67d292}, 0x7ffd52a48e67d292},
    {"div.rn.f64 %d9, %d1, %d0", {0xdb6debfdb1e748af, 0x7ffe0521e4112ce4}, 0x7ffe0521e4112ce4},
    {"min.f64 %d9, %d1, %d0", {0x7ff1b7c6398ba27e, 0xfff27918bdd6b1ac}, 0xfffa7918bdd6b1ac},
    {"max.f64 %d9, %d1, %d0", {0xfff2f2b09d19204c, 0x7fffb9c217816335}, 0x7fffb9c217816335},
    {"fma.rn.f64 %d9, %d0, %d2, %d1", {0x7ff9f6ad977b6e58, 0xfff0d9e74320f35f, 0xfff41337385d5665}, 0xfffc1337385d5665},
    {"fma.rn.f64 %d9, %d0, %d2, %d1", {0xfff0000000000000, 0xfff7ffffffffffff, 0xfff8000020000000}, 0xfff8000020000000},
    {"fma.rn.f64 %d9, %d0, %d2, %d1", {0xfff0000000000001, 0x3ff0000000000000, 0xfff8000020000000}, 0xfff8000020000000},
    {"fma.rn.f64 %d9, %d1, %d0, %d2", {0xfff0000000000001, 0x7fffffffffffffff, 0x7ff8000000000000}, 0x7fffffffffffffff},
    {"fma.rn.f64 %d9, %d1, %d0, %d2", {0xfcbeea3d1ef0e975, 0x7ff3e4fceea1d90c, 0x7ff6b021ad055c45}, 0x7ffbe4fceea1d90c},
    {"fma.rn.f64 %d9, %d1, %d0, %d2", {0xfff6bc720c2154a1, 0x0790000000000004, 0x7ff856ad6158125b}, 0x7ff856ad6158125b},
    {"fma.rn.f64 %d9, %d1, %d2, %d0", {0x7ff7653a47516e73, 0xfffb39d0b3b0db91, 0x7ffd85223f074d03}, 0x7ffd85223f074d03},
    {"fma.rn.f64 %d9, %d1, %d2, %d0", {0x05343743010a7b83, 0x7fff44033f8e4d49, 0x7ff476830ac9accd}, 0x7ffc76830ac9accd},
    {"fma.rn.f64 %d9, %d1, %d2, %d0", {0xfffc0509950105cf, 0x441ffffffffffffa, 0x7ffd323b79692b22}, 0x7ffd323b79692b22},
    {"fma.rn.f64 %d9, %d2, %d0, %d1", {0xffffffffffffffff, 0x7ff0000000000001, 0xfff8000020000000}, 0xfff8000020000000},
    {"fma.rn.f64 %d9, %d2, %d0, %d1", {0x7fefffffffffffff, 0xfff8000020000000, 0xfff80000deadbeef}, 0xfff80000deadbeef},
    {"fma.rn.f64 %d9, %d2, %d0, %d1", {0x7fffffffffffffff, 0x7ff0000000000000, 0xffffffffffffffff}, 0xffffffffffffffff},
    {"fma.rn.f64 %d9, %d2, %d1, %d0", {0x7ff0000000000001, 0x7fffffffffffffff, 0x7ff0000000000001}, 0x7ff8000000000001},
    {"fma.rn.f64 %d9, %d2, %d1, %d0", {0x7ff0000000000000, 0xffffffffffffffff, 0xfff80000deadbeef}, 0xfff80000deadbeef},
    {"fma.rn.f64 %d9, %d2, %d1, %d0", {0xfff174d947c6ff02, 0xeb40000000000004, 0xfffcc8b54732a9e5}, 0xfffcc8b54732a9e5},
    {"add.f64 %d9, %d0, %d0", {0xfff8f341ef9a639b}, 0xfff8f341ef9a639b},
    {"sub.f64 %d9, %d0, %d0", {0xfff76f74fc98bc79}, 0xffff6f74fc98bc79},
    {"sub.f64 %d9, %d0, %d0", {0xfff0000000000000}, 0xfff8000000000000},
    {"mul.f64 %d9, %d0, %d0", {0xfff07d719858c8e2}, 0xfff87d719858c8e2},
    {"div.rn.f64 %d9, %d0, %d0", {0x7ff0000000000002}, 0x7ff8000000000002},
    {"div.rn.f64 %d9, %d0, %d0", {0x8000000000000000}, 0xfff8000000000000},
    {"fma.rn.f64 %d9, %d0, %d0, %d0", {0x7ff091f47c273d7b}, 0x7ff891f47c273d7b},
    {"fma.rn.f64 %d9, %d0, %d0, %d0", {0xfff0000000000000}, 0xfff8000000000000},
    {"fma.rn.f64 %d9, %d0, %d0, %d1", {0xfff0e9ac5b201813, 0xfff288fd2e2daefe}, 0xfff8e9ac5b201813},
    {"fma.rn.f64 %d9, %d0, %d0, %d1", {0x91260ef94d0afe3a, 0xfffc7f0a8b7a0d9e}, 0xfffc7f0a8b7a0d9e},
    {"fma.rn.f64 %d9, %d0, %d1, %d0", {0xfff7d98f22c3a8f3, 0x7ff120c9ca681fd4}, 0x7ff920c9ca681fd4},
    {"fma.rn.f64 %d9, %d0, %d1, %d0", {0x377ffffffffffffa, 0xfff70ae9778fb31f}, 0xffff0ae9778fb31f},
    {"fma.rn.f64 %d9, %d1, %d0, %d0", {0x7ff2a09e5937ce77, 0xfff5ecb01f06ad2b}, 0xfffdecb01f06ad2b},
    {"fma.rn.f64 %d9, %d1, %d0, %d0", {0x95821ebaaa4387d3, 0xfff075837e3c6c91}, 0xfff875837e3c6c91},
    {"fma.rn.f64 %d9, %d1, %d1, %d0", {0xfff751009302002a, 0xfffee78ce683fdcb}, 0xfffee78ce683fdcb},
    {"fma.rn.f64 %d9, %d1, %d1, %d0", {0x4340000000000000, 0xfff0000000000001}, 0xfff8000000000001},
    {"mul.rn.ftz.f32 %f9, %f0, %f1", {0x88800003, 0x377ffffa}, 0x80800000},
    {"mul.rn.ftz.f32 %f9, %f0, %f1", {0x28ce57a9, 0x171ecdd2}, 0x00800000},
    {"mul.rp.ftz.f32 %f9, %f0, %f1", {0xb17ffffa, 0x8e800003}, 0x00800000},
    {"mul.rp.ftz.f32 %f9, %f0, %f1", {0xb0b535e9, 0x8f34d40a}, 0x00800000},
    {"mul.rm.ftz.f32 %f9, %f0, %f1", {0xaa7ffffa, 0x15800003}, 0x80800000},
    {"mul.rm.ftz.f32 %f9, %f0, %f1", {0xaf37a392, 0x10b26fe5}, 0x80800000},
    {"fma.rn.ftz.f32 %f9, %f0, %f1, %f2", {0x967ffffc, 0x17a66440, 0x00800000}, 0x00800000},
    {"fma.rn.ftz.f32 %f9, %f0, %f1, %f2", {0x13000005, 0x12de011f, 0x80800000}, 0x80800000},
    {"fma.rp.ftz.f32 %f9, %f0, %f1, %f2", {0x827ffffb, 0x0a6b009d, 0x00800000}, 0x00800000},
    {"fma.rp.ftz.f32 %f9, %f0, %f1, %f2", {0x23c5ed27, 0x839f175b, 0x00800000}, 0x00800000},
    {"fma.rm.ftz.f32 %f9, %f0, %f1, %f2", {0x81000005, 0x94cba511, 0x80800000}, 0x80800000},
    {"fma.rm.ftz.f32 %f9, %f0, %f1, %f2", {0x98fffffe, 0x8bd7fabe, 0x80800000}, 0x80800000},
    {"cvt.rn.ftz.f32.f64 %f9, %d0", {0xb80ffffffc465839}, 0x80800000},
    {"cvt.rn.ftz.f32.f64 %f9, %d0", {0x380ffffff320ed5d}, 0x00800000},
    {"cvt.rp.ftz.f32.f64 %f9, %d0", {0x380fffffeda00f3a}, 0x00800000},
    {"cvt.rp.ftz.f32.f64 %f9, %d0", {0x380fffffe45753b8}, 0x00800000},
    {"mul.rn.ftz.sat.f32 %f9, %f0, %f1", {0x12461b1a, 0x2da56811}, 0x00800000},
    {"mul.rn.ftz.sat.f32 %f9, %f0, %f1", {0x2c000001, 0x13fffffe}, 0x00800000},
    {"cvt.f64.f16 %d9, %h0", {0x7c01}, 0x7ff8040000000000},
    {"cvt.f64.f16 %d9, %h0", {0xfffe}, 0xfffff80000000000},
    {"cvt.sat.f64.f16 %d9, %h0", {0x7c03}, 0},
    {"cvt.f64.bf16 %d9, %h0", {0x7f81}, 0x7ff8200000000000},
    {"cvt.f64.bf16 %d9, %h0", {0xff86}, 0xfff8c00000000000},
    {"cvt.f32.bf16 %f9, %h0", {0x7f81}, 0x7f810000},
    {"cvt.f32.bf16 %f9, %h0", {0xfffe}, 0xfffe0000},
    {"cvt.f32.f32 %f9, %f0", {0xff800001}, 0xff800001},
};
/* clang-format on */
enum { ROWS = sizeof rows / sizeof *rows };

/* Result k goes to bytes 8k of the buffer. */
static char *body_of(const struct measured *table, size_t count) {
    const size_t room = count * 400 + 100;
    char *body = malloc(room);
    size_t n = (size_t)snprintf(body, room, "ld.param.u64 %%rd1, [p0];\n");
    for (size_t k = 0; k < count; ++k) {
        const char *text = table[k].instruction;
        const char to = strchr(text, '%')[1], from = strrchr(text, '%')[1];
        for (int s = 0; s < 3; ++s) {
            const unsigned long long bits = table[k].source[s];
            if (from == 'd')
                n += (size_t)snprintf(body + n, room - n, "mov.f64 %%d%d, 0d%016llX;\n", s, bits);
            else if (from == 'f')
                n += (size_t)snprintf(body + n, room - n, "mov.f32 %%f%d, 0f%08llX;\n", s, bits);
            else
                n += (size_t)snprintf(body + n, room - n, "mov.b16 %%h%d, %llu;\n", s, bits);
        }
        n += (size_t)snprintf(body + n, room - n, "%s;\nst.global.%s [%%rd1+%zu], %%%c9;\n", text,
                              to == 'd' ? "f64" : "f32", 8 * k, to);
    }
    snprintf(body + n, room - n, "ret;\n");
    return body;
}

/* Index of the first row that the machine gives another value for, or count. */
static size_t first_wrong(const struct measured *table, size_t count, const char *isa, uint64_t *got) {
    char *body = body_of(table, count);
    uint64_t *out = calloc(count, sizeof *out);
    struct launch_buffer buffer = {
        .name = "out", .role = BUFFER_INOUT, .bytes = count * sizeof *out, .cell_bytes = 8, .data = (void *)out};
    const struct machine_test test = {.body = body, .buffers = &buffer, .buffer_count = 1, .block = {1}, .isa = isa};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    size_t k = 0;
    while (k < count && out[k] == table[k].want)
        ++k;
    *got = k < count ? out[k] : 0;
    trace_free(&t);
    ptx_free(m);
    free(out), free(body);
    return k;
}

Test(machine_measured, equals_the_gpu) {
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t i = 0; i < isa_count; ++i) {
        uint64_t got;
        const size_t k = first_wrong(rows, ROWS, isas[i], &got);
        const struct measured *r = &rows[k < ROWS ? k : 0];
        cr_assert(k == ROWS, "%s of %llx, %llx, %llx (%s): the GPU gave %llx, the machine %llx", r->instruction,
                  (unsigned long long)r->source[0], (unsigned long long)r->source[1], (unsigned long long)r->source[2],
                  isas[i], (unsigned long long)r->want, (unsigned long long)got);
    }
}

Test(machine_measured, sees_a_wrong_value) {
    for (size_t k = 0; k < ROWS; k += 13) {
        uint64_t got;
        struct measured wrong[3] = {rows[k], rows[k], rows[k]};
        wrong[1].want ^= 1;
        const size_t at = first_wrong(wrong, 3, "base", &got);
        cr_assert(at == 1, "a wrong value of %s passes: %zu", rows[k].instruction, at);
        cr_assert(got == rows[k].want, "%s: another value is named", rows[k].instruction);
    }
}
