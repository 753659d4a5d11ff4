/* The bank model against what an H200 counted (fixtures/golden/banks_h200.tsv), and the worked examples of the eight
 * rows of a matrix. */
#include "../gpu/banks.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_row(char *line, char op[32], char label[64], unsigned want[2], uint32_t at[32], uint32_t *active) {
    int used = 0;
    if (sscanf(line, "%31[^\t]\t%63[^\t]\t%u\t%u%n", op, label, &want[0], &want[1], &used) != 4)
        return false;
    char *s = line + used;
    *active = 0;
    for (int lane = 0; lane < 32; ++lane) {
        char *end;
        const long offset = strtol(s, &end, 10);
        if (end == s)
            return false;
        s = end;
        at[lane] = offset < 0 ? 0 : (uint32_t)offset;
        *active |= (uint32_t)(offset >= 0) << lane;
    }
    return true;
}

/* "ld128": a load of 16 bytes a lane; "ldmatrix_x4_trans": four matrices. */
static bool parse_op(const char *op, enum bank_access *kind, unsigned *bytes, unsigned *matrices) {
    const char *matrix = strstr(op, "matrix_x");
    *bytes = 16;
    *matrices = matrix ? (unsigned)atoi(matrix + 8) : 0;
    *kind = matrix ? BANK_MATRIX : op[0] == 'l' ? BANK_LOAD : BANK_STORE;
    if (!matrix)
        *bytes = (unsigned)atoi(op + 2) / 8;
    return *bytes && (matrix ? *matrices == 1 || *matrices == 2 || *matrices == 4 : op[1] == 'd' || op[1] == 't');
}

Test(banks, as_an_h200_counts) {
    FILE *f = fopen("fixtures/golden/banks_h200.tsv", "r");
    cr_assert(f, "fixtures/golden/banks_h200.tsv: tests run in the project's folder");
    char line[1024];
    size_t rows = 0, uncounted = 0;
    while (fgets(line, sizeof line, f)) {
        char op[32], label[64];
        unsigned want[2], bytes, matrices;
        uint32_t at[32], active;
        enum bank_access kind;
        if (line[0] == '#')
            continue;
        cr_assert(parse_row(line, op, label, want, at, &active) && parse_op(op, &kind, &bytes, &matrices),
                  "not a row: %s", line);
        if (!want[0] &&
            active) { /* the measured kernel had no such load left: an access takes one wavefront at least */
            ++uncounted;
            continue;
        }
        const struct bank_count got = bank_count(kind, bytes, matrices, at, active);
        cr_expect(got.wavefronts == want[0] && got.conflicts == want[1],
                  "%s %s: %u wavefronts, %u conflicts; an H200 counts %u and %u", op, label, got.wavefronts,
                  got.conflicts, want[0], want[1]);
        ++rows;
    }
    fclose(f);
    cr_expect(rows == 456 && uncounted == 2, "%zu rows, %zu of them without a count", rows + uncounted, uncounted);
}

/* facts/ptx.md 5.2: eight rows of 16 bytes at a constant stride. */
Test(banks, eight_rows) {
    static const struct {
        uint32_t stride;
        unsigned degree;
    } rows[] = {{32, 2}, {48, 1}, {304, 1}, {144, 1}, {64, 4},  {128, 8}, {256, 8},
                {16, 1}, {80, 1}, {112, 1}, {176, 1}, {272, 1}, {96, 2},  {160, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        uint32_t at[32];
        for (uint32_t lane = 0; lane < 32; ++lane) /* x4 of 16 rows x 32 bytes */
            at[lane] = (lane & 15) * rows[i].stride + (lane >> 4) * 16;
        const struct bank_count one = bank_count(BANK_MATRIX, 16, 1, at, UINT32_MAX);
        const struct bank_count four = bank_count(BANK_MATRIX, 16, 4, at, UINT32_MAX);
        cr_expect_eq(one.wavefronts, rows[i].degree, "stride %u: degree %u", rows[i].stride, one.wavefronts);
        cr_expect_eq(four.wavefronts, 4 * rows[i].degree, "stride %u: x4 %u", rows[i].stride, four.wavefronts);
        cr_expect_eq(four.conflicts, 4 * (rows[i].degree - 1), "stride %u: x4 conflicts %u", rows[i].stride,
                     four.conflicts);
    }
}
