/* The iq1, iq2 and iq3 formats: codebooks against their digests, values against exact integers read bit by bit. */
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/iq_grid.h"
#include "../ref/random.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { VALUES = 256, MOST_BYTES = 128 };

/* A fault that a reader could have, done to the bytes that it reads: in `bytes` bytes from `at` on it takes the two
 * halves the wrong way round, or, where `lost` is not 0, these bits for 0. */
struct plant {
    const char *what;
    unsigned at, bytes;
    uint8_t lost;
};

static const struct iq_format {
    const char *name;
    const struct iq_grid *grid;
    const char *sha256; /* of the expanded grid, (rows, elements) bytes, as ggml's iq..._grid has them */
    uint32_t type;
    size_t bytes;
    bool d_spread; /* iq1_m; the others have d in bytes 0 and 1 */
    struct plant plant[3];
} iq_formats[] = {
    {"iq2_xxs",
     &iq_grid_2_xxs,
     "05826b5d3e472a3a78f196be62ac78acf81df0f909626e12ab9fa2a5d490dd54",
     16,
     66,
     false,
     {{"upper half of a row number lost", 2, 4, 0xf0},
      {"last sign index lost", 8, 1, 0xf0},
      {"scale lost", 9, 1, 0xf0}}},
    {"iq2_xs",
     &iq_grid_2_xs,
     "06e47aaca60b4dc1d9b5a3f34540437058a6b142b4d7a59d5ded769b4d1bf1de",
     17,
     74,
     false,
     {{"ninth bit of a row number lost", 3, 1, 0x01},
      {"sign index lost", 3, 1, 0xfe},
      {"scales of the two halves exchanged", 66, 8, 0}}},
    {"iq3_xxs",
     &iq_grid_3_xxs,
     "46e35f5a997efdee6c99ce57854c8a0d4f0ff8ca57e5e8a60c0793ea580acf5d",
     18,
     98,
     false,
     {{"upper half of a row number lost", 2, 64, 0xf0},
      {"first sign index lost", 66, 1, 0x7f},
      {"scale lost", 69, 1, 0xf0}}},
    {"iq1_s",
     &iq_grid_1_s,
     "07540ffc1aeaf6ad4d97e96b0fcc765aae39671d4ae4a27bbd0e796fde167c6a",
     19,
     50,
     false,
     {{"upper bits of a row number lost", 34, 1, 0x07},
      {"sign of the shift lost", 35, 1, 0x80},
      {"scale lost", 35, 1, 0x70}}},
    {"iq3_s",
     &iq_grid_3_s,
     "bd1af4945a1717c65610b0284e4628b9a1ba3b306fae3a06f6e5f597356e349f",
     21,
     110,
     false,
     {{"ninth bit of row numbers lost", 66, 8, 0xff},
      {"signs of the two rows of a byte exchanged", 74, 32, 0},
      {"scales of the two halves exchanged", 106, 4, 0}}},
    {"iq2_s",
     &iq_grid_2_s,
     "e1aa1473412b0552c2174c30ef22ab4073f6a181b85a17056e8249bd2932fd88",
     22,
     82,
     false,
     {{"upper bits of row numbers lost", 66, 8, 0xff},
      {"signs of the two halves of a row exchanged", 34, 32, 0},
      {"scales of the two halves exchanged", 74, 8, 0}}},
    {"iq1_m",
     &iq_grid_1_s,
     "07540ffc1aeaf6ad4d97e96b0fcc765aae39671d4ae4a27bbd0e796fde167c6a",
     29,
     56,
     true,
     {{"upper bits of two rows exchanged", 32, 16, 0},
      {"sign of the shift lost", 32, 16, 0x88},
      {"lowest bits of d lost", 49, 1, 0xf0}}},
};
enum { FORMATS = sizeof iq_formats / sizeof *iq_formats };

static void digest(const void *data, size_t bytes, char text[65]) {
    unsigned char sha[EVP_MAX_MD_SIZE];
    cr_assert(EVP_Digest(data, bytes, sha, NULL, EVP_sha256(), NULL) == 1, "sha256 failed");
    for (int i = 0; i < 32; i++)
        sprintf(text + 2 * i, "%02x", sha[i]);
}

Test(iq, codebooks_have_their_digests) {
    for (int f = 0; f < FORMATS; f++) {
        const struct iq_format *row = &iq_formats[f];
        static int8_t levels[INDEPENDENT_IQ_MOST], second[INDEPENDENT_IQ_MOST];
        size_t count = row->grid->rows * row->grid->elements;
        cr_assert(count <= sizeof levels, "%s: grid too large", row->name);
        for (unsigned r = 0; r < row->grid->rows; r++)
            iq_grid_levels(row->grid, r, levels + row->grid->elements * r);
        char got[65];
        digest(levels, count, got);
        cr_assert(!strcmp(got, row->sha256), "%s: grid has digest %s", row->name, got);

        cr_assert(independent_iq_grid(row->name, second) == count, "%s: second grid has another size", row->name);
        digest(second, count, got);
        cr_assert(!strcmp(got, row->sha256), "%s: second grid has digest %s", row->name, got);

        levels[count - 1]++; /* planted */
        digest(levels, count, got);
        cr_assert(strcmp(got, row->sha256), "%s: planted: a wrong level went unseen", row->name);
    }
    cr_assert(independent_iq_grid("q4_K", (int8_t[INDEPENDENT_IQ_MOST]){0}) == 0, "q4_K has no codebook");
}

Test(iq, signs_are_even) {
    uint8_t table[128];
    for (unsigned i = 0; i < 128; i++) {
        unsigned minus = 0;
        table[i] = (uint8_t)iq_signs(i);
        for (unsigned j = 0; j < 8; j++)
            minus += table[i] >> j & 1;
        cr_assert(table[i] % 128 == i && minus % 2 == 0, "signs %u are 0x%02x", i, table[i]);
    }
    char got[65]; /* that of ggml's ksigns_iq2xs, 128 bytes */
    digest(table, sizeof table, got);
    cr_assert(!strcmp(got, "a76742a603f8beca5212ecce0f1f02f11a4887fd2f7c8b15aca0ea3eb3380c31"),
              "table of signs has digest %s", got);
}

Test(iq, rows_of_the_table) {
    for (int i = 0; i < FORMATS; i++) {
        const struct block_format *f = format_named(iq_formats[i].name);
        cr_assert(f && f == format_of_type(iq_formats[i].type), "%s: name and number disagree", iq_formats[i].name);
        cr_assert(f->block_values == VALUES && f->block_bytes == iq_formats[i].bytes, "%s: block size", f->name);
        cr_assert(f->dequantize && !f->quantize && !f->sub_values, "%s: only dequantised", f->name);
        cr_assert(f->codes_at + f->codes_bytes <= f->block_bytes, "%s: codes lie in the block", f->name);
        cr_assert(f->d.bytes == (iq_formats[i].d_spread ? 0 : 2), "%s: field d", f->name);
    }
}

static void set_d(const struct iq_format *f, uint16_t d, uint8_t *block) {
    if (!f->d_spread)
        memcpy(block, &d, sizeof d);
    for (unsigned w = 0; f->d_spread && w < 4; w++) /* the top four bits of each of four words */
        block[49 + 2 * w] = (uint8_t)((block[49 + 2 * w] & 15) | (d >> 4 * w & 15) << 4);
}

static void random_bytes(struct random_stream *s, uint8_t *block, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        block[i] = (uint8_t)random_u32(s);
}

/* Values of the block, read by ref/, that differ from the independent reading of `block`. */
static int wrong_values(const struct iq_format *f, const uint8_t *read, const uint8_t *block) {
    float out[VALUES];
    uint32_t want[VALUES];
    uint8_t unaligned[MOST_BYTES + 1];
    memcpy(unaligned + 1, read, f->bytes);
    format_named(f->name)->dequantize(unaligned + 1, out);
    independent_decoder_of(f->name)(block, want);
    int wrong = 0;
    for (unsigned e = 0; e < VALUES; e++)
        wrong += float_bits(out[e]) != want[e];
    return wrong;
}

static void apply(const struct plant *p, uint8_t *block) {
    for (unsigned i = p->at; i < p->at + p->bytes; i++)
        block[i] = p->lost ? block[i] & (uint8_t)~p->lost : (uint8_t)(block[i] << 4 | block[i] >> 4);
}

Test(iq, values_against_exact_integers) {
    static const uint16_t corners[] = {0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x7bff, 0xfbff};
    for (int i = 0; i < FORMATS; i++) {
        const struct iq_format *f = &iq_formats[i];
        struct random_stream s = random_open(random_key("iq/values"), (uint32_t)i);
        int seen[3] = {0};
        for (unsigned n = 0; n < 500; n++) {
            uint8_t block[MOST_BYTES] = {0};
            if (n < 20)
                memset(block, n < 10 ? 0 : 0xff, f->bytes);
            else
                random_bytes(&s, block, f->bytes);
            uint16_t d = (uint16_t)random_below(&s, 0x7c00) | (uint16_t)(random_below(&s, 2) << 15);
            set_d(f, n < 40 ? corners[n % 10] : d, block);
            int wrong = wrong_values(f, block, block);
            cr_assert(wrong == 0, "%s block %u: %d values wrong", f->name, n, wrong);
            for (int p = 0; p < 3; p++) {
                uint8_t planted[MOST_BYTES];
                memcpy(planted, block, sizeof planted);
                apply(&f->plant[p], planted);
                seen[p] += wrong_values(f, planted, block) > 0;
            }
        }
        for (int p = 0; p < 3; p++)
            cr_assert(seen[p] > 200, "%s: planted: %s, seen in %d blocks", f->name, f->plant[p].what, seen[p]);
    }
}

/* Every bit of a block alone, on zeros and on ones: each must move exactly the values that the text says. */
Test(iq, every_bit_alone) {
    for (int i = 0; i < FORMATS; i++) {
        const struct iq_format *f = &iq_formats[i];
        int not_finite = 0;
        for (unsigned bit = 0; bit < 2 * 8 * f->bytes; bit++) {
            uint8_t block[MOST_BYTES];
            memset(block, bit % 2 ? 0xff : 0, sizeof block);
            set_d(f, 0x3c00, block);
            block[bit / 16] ^= (uint8_t)(1 << bit / 2 % 8);
            float d[VALUES];
            format_named(f->name)->dequantize(block, d);
            if ((float_bits(d[0]) & 0x7f800000) == 0x7f800000)
                not_finite++;
            else
                cr_assert(wrong_values(f, block, block) == 0, "%s: bit %u of a block of %s", f->name, bit / 2,
                          bit % 2 ? "ones" : "zeros");
        }
        cr_assert(not_finite == 2, "%s: %d bits made d infinite, want one, 0x3c00 to 0x7c00", f->name, not_finite / 2);
    }
}

/* An infinite or NaN d: no level is 0, so every value is infinite with its sign, or NaN. */
Test(iq, infinite_scale) {
    for (int i = 0; i < FORMATS; i++) {
        const struct iq_format *f = &iq_formats[i];
        struct random_stream s = random_open(random_key("iq/infinite"), (uint32_t)i);
        for (unsigned n = 0; n < 100; n++) {
            uint8_t block[MOST_BYTES];
            float one[VALUES], infinite[VALUES], nan[VALUES];
            random_bytes(&s, block, f->bytes);
            set_d(f, 0x3c00, block);
            format_named(f->name)->dequantize(block, one);
            set_d(f, 0x7c00, block);
            format_named(f->name)->dequantize(block, infinite);
            set_d(f, 0x7c01, block);
            format_named(f->name)->dequantize(block, nan);
            for (unsigned e = 0; e < VALUES; e++) {
                cr_assert(float_bits(infinite[e]) == ((float_bits(one[e]) & 0x80000000) | 0x7f800000),
                          "%s value %u: 0x%08x", f->name, e, float_bits(infinite[e]));
                cr_assert((float_bits(nan[e]) & 0x7fffffff) > 0x7f800000, "%s value %u is no NaN", f->name, e);
            }
        }
    }
}
