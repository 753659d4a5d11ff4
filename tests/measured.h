/* Files of fixtures/golden for tests: whole, or unpacked. */
#ifndef TESTS_MEASURED_H
#define TESTS_MEASURED_H

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define RCP_TABLE      "fixtures/golden/rcp_approx_sm90.bin.zz"
#define HALF_FUNCTIONS "fixtures/golden/half_functions_sm90.bin.zz"
enum { RCP_TABLE_BYTES = 1 << 21 };

static inline uint8_t *golden_file(const char *path, size_t bytes) {
    FILE *f = fopen(path, "rb");
    uint8_t *all = malloc(bytes + 1);
    cr_assert(f && all, "%s: cannot be read", path);
    size_t got = fread(all, 1, bytes + 1, f);
    fclose(f);
    cr_assert(got == bytes, "%s: %zu bytes, want %zu", path, got, bytes);
    return all;
}

/* The table of rcp.approx, by zlib alone: nothing of ref/ is asked. */
static inline uint8_t *measured_table(void) {
    FILE *f = fopen(RCP_TABLE, "rb");
    static uint8_t packed[1 << 20];
    uint8_t *table = malloc(RCP_TABLE_BYTES);
    cr_assert(f && table, RCP_TABLE ": cannot be read");
    size_t bytes = fread(packed, 1, sizeof packed, f);
    fclose(f);
    uLongf count = RCP_TABLE_BYTES;
    cr_assert(uncompress(table, &count, packed, bytes) == Z_OK && count == RCP_TABLE_BYTES, RCP_TABLE ": no table");
    return table;
}

#endif
