/* Activation formats as layouts: where blocks lie in a buffer, sizes, pack, and bytes of any kind. The quantisers are
 * tests/quantizers.c. */
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "../ref/half.h"
#include "../ref/pad40_t.h"
#include "../ref/q8_1_mmq.h"
#include "../ref/random.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t values, bytes, buffer; /* of 3 tokens of depth 512 */
} known[] = {
    {"pad40", 32, 40, 3 * 16 * 40},
    {"pad40_t", 32, 36, 64 * 16 * 36},
    {"q8_1", 32, 36, 3 * 16 * 36},
    {"q8_1_cuda", 32, 36, 3 * 16 * 36},
    {"q8_1_mmq_d4", 128, 144, 3 * 4 * 144},
    {"q8_1_mmq_ds4", 128, 144, 3 * 4 * 144},
    {"q8_1_mmq_d2s6", 128, 144, 3 * 4 * 144},
    {"q8_K", 256, 292, 3 * 2 * 292},
};

Test(activations, table) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct activation_format *f = activation_named(known[i].name);
        size_t bytes = 0;
        cr_assert(f && f->block_values == known[i].values && f->block_bytes == known[i].bytes, "%s: block",
                  known[i].name);
        cr_assert(activation_bytes(f, 3, 512, &bytes) && bytes == known[i].buffer, "%s: buffer of %zu bytes, want %zu",
                  f->name, bytes, known[i].buffer);
        cr_assert(f->quantize && f->dequantize && f->pack, "%s: incomplete", f->name);
        cr_assert(f->block_values <= ACTIVATION_MOST_VALUES && f->block_bytes <= ACTIVATION_MOST_BYTES, "%s: size",
                  f->name);
        cr_assert(f->codes_bytes == f->block_values && f->codes_at + f->codes_bytes <= f->block_bytes, "%s: codes",
                  f->name);
    }
}

Test(activations, sizes_that_do_not_fit) {
    static const size_t most = SIZE_MAX;
    for (const struct activation_format *const *f = activation_formats; *f; f++) {
        size_t bytes = 7;
        cr_assert(!activation_bytes(*f, most, 512, &bytes) && !activation_bytes(*f, most / 16, 512, &bytes) &&
                      !activation_bytes(*f, most / 2, most - most % 256, &bytes) &&
                      !activation_bytes(*f, (size_t)1 << 32, (size_t)1 << 40, &bytes),
                  "%s: a size that wraps was given as %zu", (*f)->name, bytes);
        cr_assert(activation_bytes(*f, 0, 512, &bytes) && bytes == 0, "%s: no tokens are no bytes", (*f)->name);
    }
}

/* Every byte of a buffer belongs to one block, or to a token that is not there; put and get agree. */
static void buffer_is_a_partition(const struct activation_format *f, size_t nt, size_t id) {
    size_t bytes, blocks = id / f->block_values;
    cr_assert(activation_bytes(f, nt, id, &bytes), "%s: size", f->name);
    uint8_t *buffer = calloc(bytes, 1), *owners = calloc(bytes, 1);
    cr_assert(buffer && owners, "out of memory");
    uint8_t block[ACTIVATION_MOST_BYTES], back[ACTIVATION_MOST_BYTES];
    for (size_t t = 0; t < nt; t++)
        for (size_t i = 0; i < blocks; i++) {
            memset(block, 0xff, sizeof block);
            activation_put(f, buffer, nt, id, t, i, block);
            for (size_t b = 0; b < bytes; b++)
                owners[b] = (uint8_t)(owners[b] + (buffer[b] == 0xff)), buffer[b] = 0;
        }
    size_t owned = 0;
    for (size_t b = 0; b < bytes; b++) {
        cr_assert(owners[b] <= 1, "%s nt%zu.id%zu: byte %zu belongs to %u blocks", f->name, nt, id, b, owners[b]);
        owned += owners[b];
    }
    cr_assert(owned == nt * blocks * f->block_bytes, "%s nt%zu.id%zu: %zu bytes owned", f->name, nt, id, owned);
    struct random_stream s = random_open(random_key(f->name), 1);
    for (int write = 1; write >= 0; write--) {
        s = random_open(random_key(f->name), 1);
        for (size_t t = 0; t < nt; t++)
            for (size_t i = 0; i < blocks; i++) {
                for (size_t b = 0; b < f->block_bytes; b++)
                    block[b] = (uint8_t)random_u32(&s);
                if (write)
                    activation_put(f, buffer, nt, id, t, i, block);
                else
                    activation_get(f, buffer, nt, id, t, i, back);
                cr_assert(write || !memcmp(block, back, f->block_bytes), "%s: token %zu block %zu", f->name, t, i);
            }
    }
    free(buffer), free(owners);
}

Test(activations, buffers_are_partitions) {
    for (const struct activation_format *const *f = activation_formats; *f; f++) {
        buffer_is_a_partition(*f, 1, 256);
        buffer_is_a_partition(*f, 5, 512);
        buffer_is_a_partition(*f, 67, 256);
    }
}

/* ---- pad40_t ---- */

Test(activations, pad40_t_swizzle_is_what_its_reader_reads) {
    uint8_t seen[2048] = {0};
    for (unsigned group = 0; group < 4; group++)
        for (unsigned lane = 0; lane < 32; lane++) {
            unsigned row = 16 * group + lane % 16;
            for (unsigned u = 0; u < 4; u++) {
                size_t at = pad40_t_quant_byte(row, lane / 16 * 4 + u);
                cr_assert(at == independent_pad40_t_reader(group, lane) + 4 * u, "row %u word %u lies at %zu", row,
                          lane / 16 * 4 + u, at);
                cr_assert(at < 2048 && !seen[at]++, "byte %zu twice", at);
            }
        }
    for (unsigned group = 0; group < 4; group++) /* eight lanes at a time, 16 bytes each: all 32 banks once */
        for (unsigned first = 0; first < 32; first += 8) {
            unsigned banks = 0;
            for (unsigned lane = first; lane < first + 8; lane++)
                banks |= 1u << independent_pad40_t_reader(group, lane) / 16 % 8;
            cr_assert(banks == 0xff, "group %u lanes %u.. meet a bank twice", group, first);
        }
    uint64_t words = 0;
    for (unsigned w = 0; w < 64; w++) {
        unsigned token = independent_pad40_t_token(w);
        cr_assert(token < 64 && pad40_t_scale_word(token) == w, "scale word %u is of token %u", w, token);
        words |= (uint64_t)1 << token;
    }
    cr_assert(words == UINT64_MAX, "scale words are not one a token");
}

/* Why the tile is 64 tokens: over a tile of 48, rows counted on through two chunks are swizzled one way and read
 * another, since a chunk of three groups turns the parity that the reader takes from its group: all 384 words of the
 * second. */
Test(activations, pad40_t_disagrees_over_48_tokens) {
    size_t disagree = 0;
    for (unsigned chunk = 0; chunk < 2; chunk++)
        for (unsigned row = 0; row < 48; row++)
            for (unsigned u = 0; u < 8; u++)
                disagree += pad40_t_quant_byte(48 * chunk + row, u) !=
                            1536 * chunk + independent_pad40_t_reader(row / 16, row % 16 + u / 4 * 16) + u % 4 * 4;
    cr_assert(disagree == 384, "%zu positions", disagree);
}

Test(activations, pad40_t_buffers_against_counting) {
    static const size_t shape[][2] = {{1, 32}, {64, 96}, {65, 64}, {130, 512}, {63, 32}};
    struct random_stream s = random_open(random_key("activations/pad40_t"), 0);
    const struct activation_format *f = activation_named("pad40_t");
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        size_t nt = shape[i][0], id = shape[i][1], bytes;
        cr_assert(activation_bytes(f, nt, id, &bytes) && bytes == (nt + 63) / 64 * id / 32 * 2304, "size %zu", bytes);
        float *x = malloc(nt * id * sizeof *x);
        uint32_t *bits = malloc(nt * id * sizeof *bits);
        uint8_t *got = malloc(bytes), *want = malloc(bytes);
        cr_assert(x && bits && got && want, "out of memory");
        for (size_t k = 0; k < nt * id; k++)
            x[k] = k % 3 ? random_normal(&s) : bits_float(random_u32(&s));
        memcpy(bits, x, nt * id * sizeof *x);
        memset(got, 0xa5, bytes); /* padding tokens too must be written */
        activation_quantize(f, x, nt, id, got);
        independent_pad40_t(bits, nt, id, want);
        cr_assert(!memcmp(got, want, bytes), "nt%zu.id%zu: bytes differ", nt, id);
        got[bytes - 1] ^= 1;
        cr_assert(memcmp(got, want, bytes), "planted");
        free(x), free(bits), free(got), free(want);
    }
}

Test(activations, q8_1_mmq_lies_depth_by_depth) {
    const struct activation_format *f = activation_named("q8_1_mmq_ds4");
    enum { NT = 5, BLOCKS = 3 };
    uint8_t buffer[NT * BLOCKS * 144], block[144];
    for (size_t j = 0; j < NT; j++)
        for (size_t kb = 0; kb < BLOCKS; kb++) {
            memset(block, (int)(16 * kb + j), sizeof block);
            activation_put(f, buffer, NT, 128 * BLOCKS, j, kb, block);
        }
    for (size_t b = 0; b < sizeof buffer; b++)
        cr_assert(buffer[b] == 16 * (b / 144 / NT) + b / 144 % NT, "byte %zu holds block %02x", b, buffer[b]);
}

/* ---- pack, values ---- */

/* Scales that a binary16 has: a power of two times an odd number of up to four bits. */
static float some_scale(struct random_stream *s) {
    return ldexpf((float)(1 + 2 * random_below(s, 8)), (int)random_below(s, 10) - 8);
}

static float sum_of(const int8_t *q, float d, size_t from, size_t count) {
    int sum = 0;
    for (size_t k = from; k < from + count; k++)
        sum += q[k];
    return (float)(d * sum);
}

/* The sums of a packed block, read by the text of the formats: want[i] of the i-th. */
static void sums_are_right(const struct activation_format *f, const uint8_t *block, const int8_t *q, const float *d) {
    uint16_t half;
    if (!strcmp(f->name, "q8_1") || !strcmp(f->name, "q8_1_cuda")) {
        memcpy(&half, block + 2, 2);
        cr_assert(half == independent_half_of(float_bits(sum_of(q, d[0], 0, 32))), "%s: s", f->name);
    } else if (!strcmp(f->name, "q8_1_mmq_ds4")) {
        for (size_t i = 0; i < 4; i++) {
            memcpy(&half, block + 4 * i + 2, 2);
            cr_assert(half == independent_half_of(float_bits(sum_of(q, d[i], 32 * i, 32))), "%s: s%zu", f->name, i);
        }
    } else if (!strcmp(f->name, "q8_1_mmq_d2s6")) {
        for (size_t i = 0; i < 6; i++) {
            memcpy(&half, block + 4 + 2 * i, 2);
            cr_assert(half == independent_half_of(float_bits(sum_of(q, d[i / 4 * 2], 16 * i, 16))), "%s: s%zu", f->name,
                      i);
        }
    } else if (!strcmp(f->name, "pad40_t")) {
        int16_t sum;
        memcpy(&sum, block + 2, 2);
        cr_assert((float)sum == sum_of(q, 1, 0, 32), "%s: sum %d", f->name, sum);
    }
}

Test(activations, pack_is_what_dequantise_says) {
    struct random_stream s = random_open(random_key("activations/pack"), 0);
    for (const struct activation_format *const *f = activation_formats; *f; f++)
        for (int i = 0; i < 300; i++) {
            int8_t q[ACTIVATION_MOST_VALUES];
            float d[ACTIVATION_MOST_VALUES / 32], out[ACTIVATION_MOST_VALUES];
            uint8_t block[ACTIVATION_MOST_BYTES];
            size_t shared = !strcmp((*f)->name, "q8_K") ? 256 : !strcmp((*f)->name, "q8_1_mmq_d2s6") ? 64 : 32;
            for (size_t k = 0; k < (*f)->block_values; k++)
                q[k] = (int8_t)(i ? (int)random_below(&s, 256) - 128 : -128);
            for (size_t k = 0; k < ACTIVATION_MOST_VALUES / 32; k++)
                d[k] = some_scale(&s);
            memset(block, 0xa5, sizeof block);
            (*f)->pack(q, d, block);
            (*f)->dequantize(block, out);
            for (size_t k = 0; k < (*f)->block_values; k++)
                cr_assert(float_bits(out[k]) == float_bits(d[k / shared * shared / 32] * q[k]), "%s value %zu: %a",
                          (*f)->name, k, out[k]);
            sums_are_right(*f, block, q, d);
        }
}

/* Values by the text of the formats, from any bytes at all; the sanitisers watch. */
Test(activations, values_of_any_bytes) {
    struct random_stream s = random_open(random_key("activations/bytes"), 0);
    for (const struct activation_format *const *f = activation_formats; *f; f++)
        for (int i = 0; i < 2000; i++) {
            uint8_t block[ACTIVATION_MOST_BYTES + 1]; /* from an odd address */
            float out[ACTIVATION_MOST_VALUES];
            for (size_t b = 0; b < sizeof block; b++)
                block[b] = (uint8_t)random_u32(&s);
            const uint8_t *in = block + 1, *codes = in + (*f)->codes_at;
            bool wide = !strcmp((*f)->name, "q8_K") || !strcmp((*f)->name, "q8_1_mmq_d4");
            (*f)->dequantize(in, out);
            for (size_t k = 0; k < (*f)->block_values; k++) {
                size_t at = !strcmp((*f)->name, "q8_1_mmq_d2s6") ? k / 64 * 2
                            : (*f)->block_values == 128          ? k / 32 * 4
                                                                 : 0;
                float wide_d;
                memcpy(&wide_d, in + at, 4);
                double d = wide ? (double)wide_d : independent_half_value((uint16_t)(in[at] + 256 * in[at + 1]));
                float want = (float)(d * (int8_t)codes[k]);
                cr_assert(isnan(want) ? isnan(out[k]) : float_bits(out[k]) == float_bits(want), "%s value %zu: %a, %a",
                          (*f)->name, k, out[k], want);
            }
        }
}
