#include "bank_tile.h"

enum { LANES = 32, CHUNK = 16, MATRIX_ROWS = 8 };

static bool in_range(const char *flag, uint32_t value, uint32_t least, uint32_t most, struct error *e) {
    return (value >= least && value <= most) || fail(e, "%s %u: want %u to %u", flag, value, least, most);
}

static uint32_t turn(const struct bank_tile *t, uint32_t row) {
    return t->xor_shift < 32 ? row >> t->xor_shift & t->xor_mask : 0;
}

/* The swizzle permutes the 16-byte chunks of the stride, and no more. */
static bool swizzle_fits(const struct bank_tile *t, struct error *e) {
    const uint32_t chunks = (t->row_bytes + CHUNK - 1) / CHUNK;
    bool seen[BANK_TILE_ROWS / CHUNK] = {false}; /* turns that were looked at: the mask is below that */
    for (uint32_t row = 0; row < t->rows; ++row) {
        const uint32_t x = turn(t, row);
        for (uint32_t c = 0; c < chunks && !seen[x]; ++c)
            if (((c ^ x) + 1) * CHUNK > t->stride)
                return fail(e, "--xor: chunk %u of row %u goes to byte %u of the row, past the stride of %u bytes", c,
                            row, (c ^ x) * CHUNK, t->stride);
        seen[x] = true;
    }
    return true;
}

bool bank_tile_check(const struct bank_tile *t, struct error *e) {
    const uint32_t unit = t->op.bytes;
    if (!in_range("--rows", t->rows, 1, BANK_TILE_ROWS, e) ||
        !in_range("--row-bytes", t->row_bytes, 1, BANK_TILE_ROW_BYTES, e) ||
        !in_range("--stride", t->stride, 1, BANK_TILE_STRIDE, e) ||
        !in_range("--offset", t->offset, 0, BANK_TILE_SPAN, e) ||
        !in_range("--xor (its mask)", t->xor_mask, 0, BANK_TILE_ROWS / CHUNK - 1, e) ||
        !in_range("--xor (its shift)", t->xor_shift, 0, 31, e))
        return false;
    if (t->stride < t->row_bytes)
        return fail(e, "--stride %u: rows of %u bytes would overlap", t->stride, t->row_bytes);
    if ((uint64_t)t->rows * t->stride + t->offset > BANK_TILE_SPAN)
        return fail(e, "%u rows, %u bytes apart, are more than %d bytes", t->rows, t->stride, BANK_TILE_SPAN);
    if (t->row_bytes % unit != 0 || t->stride % unit != 0 || t->offset % unit != 0)
        return fail(e, "%s %u: %s wants multiples of %u bytes",
                    t->row_bytes % unit ? "--row-bytes"
                    : t->stride % unit  ? "--stride"
                                        : "--offset",
                    t->row_bytes % unit ? t->row_bytes
                    : t->stride % unit  ? t->stride
                                        : t->offset,
                    t->op.name, unit);
    if (t->op.matrices &&
        (t->rows % MATRIX_ROWS != 0 || t->rows / MATRIX_ROWS * (t->row_bytes / CHUNK) % t->op.matrices))
        return fail(e, "%s moves %u matri%s of 8 rows x 16 bytes: %u rows x %u bytes are no whole number of them",
                    t->op.name, t->op.matrices, t->op.matrices == 1 ? "x" : "ces", t->rows, t->row_bytes);
    if (t->op.matrices && t->lanes != UINT32_MAX)
        return fail(e, "--mask: all lanes take part in %s", t->op.name);
    if (bank_tile_accesses(t) > BANK_TILE_ACCESSES)
        return fail(e,
                    "%u rows x %u bytes take %zu accesses: want at most %d; the banks repeat, fewer rows tell as much",
                    t->rows, t->row_bytes, bank_tile_accesses(t), BANK_TILE_ACCESSES);
    return t->xor_mask == 0 || swizzle_fits(t, e);
}

uint32_t bank_tile_place(const struct bank_tile *t, uint32_t row, uint32_t byte) {
    return t->offset + row * t->stride + (byte / CHUNK ^ turn(t, row)) * CHUNK + byte % CHUNK;
}

size_t bank_tile_accesses(const struct bank_tile *t) {
    const size_t units = (size_t)t->rows * t->row_bytes / t->op.bytes,
                 each = t->op.matrices ? MATRIX_ROWS * (size_t)t->op.matrices : LANES;
    return (units + each - 1) / each;
}

void bank_tile_access(const struct bank_tile *t, size_t index, struct bank_access_lanes *a) {
    *a = (struct bank_access_lanes){.active = 0};
    for (uint32_t lane = 0; lane < LANES; ++lane) {
        const size_t unit = t->op.matrices ? index * MATRIX_ROWS * t->op.matrices + lane : index * LANES + lane;
        size_t row, byte;
        if (t->op.matrices) {
            const size_t matrix = unit / MATRIX_ROWS, down = t->rows / MATRIX_ROWS;
            row = matrix % down * MATRIX_ROWS + unit % MATRIX_ROWS;
            byte = matrix / down * CHUNK;
        } else {
            row = unit * t->op.bytes / t->row_bytes;
            byte = unit * t->op.bytes % t->row_bytes;
        }
        if (row >= t->rows || byte >= t->row_bytes || !(t->lanes & bank_op_lanes(&t->op) & (uint32_t)1 << lane))
            continue;
        a->active |= (uint32_t)1 << lane;
        a->row[lane] = (uint32_t)row;
        a->byte[lane] = (uint32_t)byte;
        a->at[lane] = bank_tile_place(t, (uint32_t)row, (uint32_t)byte);
    }
}

struct bank_count bank_tile_count(const struct bank_tile *t) {
    struct bank_count sum = {0, 0};
    const size_t accesses = bank_tile_accesses(t);
    for (size_t i = 0; i < accesses; ++i) {
        struct bank_access_lanes a;
        bank_tile_access(t, i, &a);
        const struct bank_count c = bank_count(t->op.kind, t->op.bytes, t->op.matrices, a.at, a.active);
        sum.wavefronts += c.wavefronts;
        sum.conflicts += c.conflicts;
    }
    return sum;
}

bool bank_tile_matrices(uint32_t rows, uint32_t row_bytes, struct bank_op *op) {
    const uint32_t matrices = rows / MATRIX_ROWS * (row_bytes / CHUNK);
    return rows % MATRIX_ROWS == 0 && row_bytes % CHUNK == 0 && matrices > 0 &&
           bank_op_named(matrices % 4 == 0   ? "ldmatrix.x4"
                         : matrices % 2 == 0 ? "ldmatrix.x2"
                                             : "ldmatrix.x1",
                         op);
}
