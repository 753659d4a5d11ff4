/* rcp.approx.ftz: every mantissa against long division and the measured table, every class of input, hostile files. */
#include "../ref/rcp_approx.h"
#include "../cli/command.h"
#include "../ref/random.h"
#include "independent/independent.h"
#include "measured.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void load(void) {
    struct error e;
    cr_assert(rcp_approx_load(RCP_TABLE, &e), "%s", e.text);
    cr_assert(rcp_approx_measured(), "loaded, and not measured");
}

static size_t wrong_reciprocals(const uint8_t *table, uint32_t first, uint32_t step) {
    size_t wrong = 0;
    for (uint32_t m = first; m < 0x800000; m += step) {
        uint32_t x = (1 + m * 7 % 254) << 23 | m | (m & 1) << 31; /* exponents and signs in turn */
        wrong += float_bits(rcp_approx_ftz(bits_float(x))) != independent_rcp_approx(table, x);
    }
    return wrong;
}

Test(rcp_approx, mantissas) {
    uint8_t *table = measured_table();
    cr_assert(!rcp_approx_measured(), "nothing is loaded yet");
    cr_assert(wrong_reciprocals(NULL, 0, 17) == 0, "without the table: not the correctly rounded reciprocal");
    cr_assert(wrong_reciprocals(table, 0, 17) > 0x800000 / 17 / 10,
              "planted: the correctly rounded one passes for measured");
    load();
    size_t wrong = wrong_reciprocals(table, 0, 1);
    cr_assert(wrong == 0, "%zu mantissas differ", wrong);
    table[0x2aaaa8 / 4] ^= 1;
    cr_assert(wrong_reciprocals(table, 0x2aaaa8 % 64, 64) > 0, "planted: one entry changed went unseen");
    free(table);
}

Test(rcp_approx, every_class_of_input) {
    static const uint32_t row[][2] = {
        {0x00000000, 0x7f800000}, {0x80000000, 0xff800000}, /* zeros */
        {0x00000001, 0x7f800000}, {0x807fffff, 0xff800000}, /* subnormals count as zeros */
        {0x7f800000, 0x00000000}, {0xff800000, 0x80000000}, /* infinities */
        {0x7f800001, 0x7fffffff}, {0xffc00000, 0x7fffffff}, /* NaN */
        {0x3f800000, 0x3f800000}, {0xc0000000, 0xbf000000}, /* powers of two */
        {0x00800000, 0x7e800000},                           /* 2^-126 -> 2^126 */
        {0x7e800000, 0x00800000},                           /* 2^126 -> 2^-126, the least that is kept */
        {0x7e800001, 0x00000000}, {0xfe800001, 0x80000000}, /* above: flushed */
        {0x7f7fffff, 0x00000000},
    };
    for (int measured = 0; measured < 2; measured++) {
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
            uint32_t got = float_bits(rcp_approx_ftz(bits_float(row[i][0])));
            cr_assert(got == row[i][1], "rcp(0x%08x) is 0x%08x, want 0x%08x", row[i][0], got, row[i][1]);
        }
        load();
    }
}

/* Where results stop being normal: around 2^126 every x, measured and not. */
Test(rcp_approx, flush_at_the_end) {
    uint8_t *table = measured_table();
    load();
    for (uint32_t x = 0x7e800000 - 2000; x < 0x7e800000 + 2000; x++)
        cr_assert(float_bits(rcp_approx_ftz(bits_float(x))) == independent_rcp_approx(table, x), "rcp(0x%08x)", x);
    free(table);
}

Test(rcp_approx, quotients) {
    load();
    static const struct {
        uint32_t a, b, quotient;
    } row[] = {
        {0x42fe0000, 0x42fe0000, 0x3f800000}, /* 127 / 127 */
        {0x42fe0000, 0x7e800001, 0x00000000}, /* a divisor above 2^126 */
        {0x7f800000, 0x7e800001, 0x7fffffff}, /* and an infinite dividend */
        {0x42fe0000, 0x00000001, 0x7f800000}, {0x00000000, 0x80000000, 0x7fffffff},
        {0x00000001, 0x3f800000, 0x00000000}, /* a subnormal dividend */
        {0x00800000, 0x40000000, 0x00000000}, /* a subnormal quotient */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint32_t got = float_bits(div_approx_ftz(bits_float(row[i].a), bits_float(row[i].b)));
        cr_assert(got == row[i].quotient, "0x%08x / 0x%08x is 0x%08x, want 0x%08x", row[i].a, row[i].b, got,
                  row[i].quotient);
    }
}

/* ---- files ---- */

static char folder[] = "/tmp/warpproof-rcp-XXXXXX";

static void write_file(const char *path, const uint8_t *bytes, size_t count) {
    FILE *f = fopen(path, "wb");
    cr_assert(f && fwrite(bytes, 1, count, f) == count && fclose(f) == 0, "%s: cannot be written", path);
}

/* Refused, with one line that names the file and says this. */
static void refused(const char *path, const char *says) {
    struct error e = {""};
    cr_assert(!rcp_approx_load(path, &e), "%s: loaded, though it should say %s", path, says);
    cr_assert(!rcp_approx_measured(), "%s: refused, and still used", path);
    cr_assert(strstr(e.text, path) && strstr(e.text, says) && !strchr(e.text, '\n'), "\"%s\" does not say \"%s\"",
              e.text, says);
}

Test(rcp_approx, hostile_files) {
    cr_assert(mkdtemp(folder), "no folder for files");
    char path[200];
    snprintf(path, sizeof path, "%s/table", folder);
    refused(path, "No such file");
    refused(folder, "directory");
    uint8_t *table = measured_table(), *packed = malloc(2 * RCP_TABLE_BYTES), *huge = calloc(1, (1 << 20) + 1);
    cr_assert(packed && huge, "out of memory");
    write_file(path, packed, 0);
    refused(path, "not a zlib stream");
    write_file(path, table, 1000);
    refused(path, "not a zlib stream");
    write_file(path, huge, (1 << 20) + 1);
    refused(path, "more than 1048576 bytes");
    uLongf count = 2 * RCP_TABLE_BYTES;
    cr_assert(compress2(packed, &count, table, RCP_TABLE_BYTES, 9) == Z_OK, "compress");
    write_file(path, packed, count - 5000);
    refused(path, "not a zlib stream");
    packed[count / 2] ^= 0x10;
    write_file(path, packed, count);
    refused(path, path);
    count = 2 * RCP_TABLE_BYTES; /* too short, though a stream of its own */
    cr_assert(compress2(packed, &count, table, RCP_TABLE_BYTES - 1, 9) == Z_OK, "compress");
    write_file(path, packed, count);
    refused(path, "not a zlib stream of 2097152 bytes");
    table[12345] ^= 1; /* one entry moved by one step */
    count = 2 * RCP_TABLE_BYTES;
    cr_assert(compress2(packed, &count, table, RCP_TABLE_BYTES, 9) == Z_OK, "compress");
    write_file(path, packed, count);
    refused(path, "SHA-256 differs");
    table[12345] ^= 1;
    count = 2 * RCP_TABLE_BYTES;
    cr_assert(compress2(packed, &count, table, RCP_TABLE_BYTES, 1) == Z_OK, "compress");
    write_file(path, packed, count); /* other packing, same bytes: they are what counts */
    struct error e;
    cr_assert(rcp_approx_load(path, &e) && rcp_approx_measured(), "%s", e.text);
    write_file(path, packed, 10);
    cr_assert(!rcp_approx_load(path, &e) && rcp_approx_measured(), "a refused file must leave the table in place");
    unlink(path), rmdir(folder), free(table), free(packed), free(huge);
}

/* What gate and run do at their start: absent is no error, damaged is. */
Test(rcp_approx, of_a_project_folder) {
    struct error e = {""};
    cr_assert(mkdtemp(folder), "no folder for files");
    cr_assert(load_measured_tables(folder, &e) && !rcp_approx_measured(), "an absent table is no error: %s", e.text);
    char path[200];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/fixtures%s", folder, i ? "/golden" : "");
        cr_assert(mkdir(path, 0700) == 0, "%s", path);
    }
    snprintf(path, sizeof path, "%s/%s", folder, RCP_TABLE);
    write_file(path, (const uint8_t *)"damaged", 7);
    cr_assert(!load_measured_tables(folder, &e) && strstr(e.text, "not a zlib stream"), "damaged: \"%s\"", e.text);
    cr_assert(load_measured_tables(".", &e) && rcp_approx_measured(), "the project's own: %s", e.text);
    unlink(path);
    for (int i = 1; i >= 0; i--) {
        snprintf(path, sizeof path, "%s/fixtures%s", folder, i ? "/golden" : "");
        rmdir(path);
    }
    rmdir(folder);
}
