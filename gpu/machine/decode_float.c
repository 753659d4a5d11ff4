/* f32 and f64 instructions that are no row of the table of decode_scalar.c. Source: PTX ISA 9.7.3.11, .12. */
#include "decode.h"
#include <string.h>

const char *of_later_architecture(const struct decoder *d) {
    static const char *const parts[] = {"f32x2",  "rs",     "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2",
                                        "e2m1x4", "e2m3x4", "e3m2x4", "e4m3x4", "e5m2x4"};
    for (size_t i = 0; i < d->in->part_count; ++i)
        for (size_t k = 0; k < sizeof parts / sizeof *parts; ++k)
            if (!strcmp(d->in->parts[i], parts[k]))
                return "of sm_100 and later";
    const bool least = !strcmp(d->in->opcode, "min") || !strcmp(d->in->opcode, "max");
    const bool f32 = d->in->part_count && !strcmp(d->in->parts[d->in->part_count - 1], "f32");
    return least && f32 && d->in->operand_count == 4 ? "three sources are of sm_100 and later" : NULL;
}

/* min and max of magnitudes; the sign of a times that of b. */
bool decode_xorsign(struct decoder *d) {
    const bool most = !strcmp(d->in->opcode, "max");
    d->taken = 0;
    const bool ftz = has(d, "ftz"), nan = has(d, "NaN"), f32 = has(d, "f32");
    uint32_t dst, s[2], size[2];
    if (!f32 || !has(d, "xorsign") || !has(d, "abs") || (!most && strcmp(d->in->opcode, "min")))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 3, 3) || !destination_number(d, 0, 32, &dst))
        return false;
    for (size_t i = 0; i < 2; ++i) {
        if (!source_number(d, i + 1, 32, &s[i]))
            return false;
        size[i] = temp(d);
        lane(d, OP_abs_f32, size[i], s[i], 0, 0, 0);
        if (ftz)
            lane(d, OP_flush_f32, size[i], size[i], 0, 0, 0);
    }
    const uint32_t x = temp(d);
    lane(d, nan ? (most ? OP_max_nan_f32 : OP_min_nan_f32) : most ? OP_max_f32 : OP_min_f32, x, size[0], size[1], 0, 0);
    lane(d, OP_xorsign_f32, dst, x, s[0], s[1], 0);
    return true;
}
