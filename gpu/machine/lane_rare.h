/* Rare integer operations, part of lane_list.h. Source: PTX ISA 9.0, 9.7.1 (packed 16-bit forms, szext, fns), 9.7.3.1
 * (testp), 9.7.9.22 (cvt.pack), 9.7.18 (video). */

/* clang-format off */
LANE2(add_u16x2, u32, u32, u32, pair(a + b, (a >> 16) + (b >> 16)))
LANE2(min_u16x2, u32, u32, u32, pair(LOW(a) < LOW(b) ? a : b, a >> 16 < b >> 16 ? a >> 16 : b >> 16))
LANE2(max_u16x2, u32, u32, u32, pair(LOW(a) > LOW(b) ? a : b, a >> 16 > b >> 16 ? a >> 16 : b >> 16))
LANE2(min_s16x2, u32, u32, u32, pair((uint32_t)lesser16(a, b), (uint32_t)lesser16(a >> 16, b >> 16)))
LANE2(max_s16x2, u32, u32, u32, pair((uint32_t)greater16(a, b), (uint32_t)greater16(a >> 16, b >> 16)))
LANE1(relu_s16x2, u32, u32, pair(a & 0x8000u ? 0 : a, a >> 31 ? 0 : a >> 16))
LANE1(relu_s32, s32, s32, a < 0 ? 0 : a)
LANE2(szext_u32, u32, u32, u32, extend_from(a, b, (imm & 1) && b > 31, 0))
LANE2(szext_s32, u32, u32, u32, extend_from(a, b, (imm & 1) && b > 31, 1))
LANE3(fns_b32, u32, u32, u32, s32, nth_set(a, (int32_t)b, c))
LANE2(pack_clamped, u32, s32, s32, clamped_pair(a, b, imm))
LANE3(pack_onto, u32, u32, u32, u32, c << (unsigned)(2 * (imm & 31)) | clamped_pair((int32_t)a, (int32_t)b, imm))
LANE1(byte1, u32, u32, a >> 8 & 0xff)
LANE1(byte2, u32, u32, a >> 16 & 0xff)
LANE1(byte3, u32, u32, a >> 24)
COMPARE(class_f32, u32, ((void)b, imm >> float_class(a >> 23 & 0xff, 0xff, a & 0x7fffffu) & 1))
COMPARE(class_f64, u64, ((void)b, imm >> float_class((uint32_t)(a >> 52) & 0x7ff, 0x7ff, a & (((uint64_t)1 << 52) - 1)) & 1))
LANE3(video_scalar, u32, u32, u32, u32, video_scalar(a, b, c, imm))
LANE3(video_mad, u32, u32, u32, u32, video_mad(a, b, c, imm))
LANE3(video_simd, u32, u32, u32, u32, video_simd(a, b, c, imm))
/* clang-format on */
