/* Files cut short, hostile files of the field, and what a scan says of scales. */
#include "../ref/checked.h"
#include "../ref/gguf_scan.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include "gguf_sample.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(gguf_cut, hostile_files_of_the_field) {
    for (const struct hostile_gguf *h = hostile_gguf; h->id; h++) {
        struct bytes b = {0};
        struct error e = {""};
        h->make(&b);
        uint8_t *exact = must_calloc(b.n, 1);
        memcpy(exact, b.p, b.n);
        cr_assert(!gguf_parse("hostile.gguf", exact, b.n, &e) && strstr(e.text, h->words),
                  "%s, %s: \"%s\" lacks \"%s\"", h->id, h->about, e.text, h->words);
        gguf_close(gguf_parse_cut("hostile.gguf", exact, b.n, &e)); /* may take it for a cut file: no crash */
        free(exact);
        free(b.p);
    }
}

/* A cut does not excuse another fault after it. */
Test(gguf_cut, a_cut_excuses_nothing_else) {
    const struct hostile_gguf *h = hostile_gguf;
    while (h->id && strcmp(h->about, "the same after one that is cut off"))
        h++;
    cr_assert(h->id, "the file is not in the list");
    struct bytes b = {0};
    struct error e = {""};
    h->make(&b);
    cr_assert(!gguf_parse_cut("wrap.gguf", b.p, b.n, &e) && strstr(e.text, "\"b\": its data end past 64 bits"),
              "\"%s\"", e.text);
    free(b.p);
}

/* Every length of the sample: keys and tensors are there exactly as far as their bytes are. */
Test(gguf_cut, lists_what_is_whole) {
    struct sample s = sample_file(3);
    for (size_t n = 24; n <= s.file.n; n++) {
        uint8_t *copy = must_calloc(n, 1);
        memcpy(copy, s.file.p, n);
        struct error e = {""};
        struct gguf_file *f = gguf_parse_cut("cut.gguf", copy, n, &e);
        cr_assert(f, "%zu bytes: %s", n, e.text);
        cr_assert(f->cut == (n < s.file.n), "%zu bytes: cut %d", n, f->cut);
        cr_assert(!f->cut || strstr(f->missing.text, "cut.gguf: "), "%zu bytes: no message", n);
        cr_assert(f->tensors_named == 4 && f->entries_named == 15, "%zu bytes: the header's counts", n);
        size_t described = 0;
        while (described < 4 && n >= s.t[described].at_offset + 8)
            described++;
        cr_assert(f->tensor_count == described, "%zu bytes: %zu tensors, %zu are described", n, f->tensor_count,
                  described);
        cr_assert((f->entry_count == 15) == (n >= s.t[0].at_name), "%zu bytes: %zu keys", n, f->entry_count);
        for (size_t i = 0; i < f->tensor_count; i++) {
            const bool whole = n >= s.header_end && n >= s.t[i].at_data + s.t[i].bytes;
            cr_assert((f->tensors[i].data != NULL) == whole, "%zu bytes: data of %s", n, s.t[i].name);
            float value[512];
            cr_assert(whole || !gguf_row(&f->tensors[i], 0, value, &e), "%zu bytes: a row of cut data", n);
        }
        gguf_close(f);
        free(copy);
    }
    /* another fault in a cut file is still refused */
    struct error e = {""};
    patch(&s.file, s.t[0].at_dims, 9, 4);
    cr_assert(!gguf_parse_cut("cut.gguf", s.file.p, s.file.n - 1, &e) && strstr(e.text, "9 dimensions"), "\"%s\"",
              e.text);
    free(s.file.p);
}

enum { BLOCKS = 200 };

/* Tensors of q8_0 with scales of one model-like size; or with their bytes swapped; or with a fault. */
static struct gguf_scan scan_of(uint16_t (*scale)(struct random_stream *), int swapped) {
    static uint8_t data[BLOCKS * 34];
    struct random_stream s = random_open(random_key("gguf_cut/scan"), 0);
    for (size_t i = 0; i < BLOCKS; i++) {
        uint16_t d = scale(&s);
        data[34 * i + swapped] = (uint8_t)d;
        data[34 * i + !swapped] = (uint8_t)(d >> 8);
        for (size_t k = 2; k < 34; k++)
            data[34 * i + k] = (uint8_t)random_u32(&s);
    }
    struct gguf_tensor t = {.name = "t", .format = format_named("q8_0"), .data = data, .bytes = sizeof data};
    struct gguf_scan out;
    struct error e = {""};
    cr_assert(gguf_scan(&t, &out, &e), "%s", e.text);
    cr_assert(out.scales == BLOCKS, "%zu scales", (size_t)out.scales);
    return out;
}

static uint16_t model_scale(struct random_stream *s) {
    return half_from_float(0.001f * (0.25f + random_unit(s)));
}
static uint16_t constant_scale(struct random_stream *s) {
    (void)s;
    return 0x2004; /* 2^-7 and a little; swapped it is 2^-14 */
}
static uint16_t even_scale(struct random_stream *s) {
    (void)s;
    return 0x1c54; /* swapped: 69.75 */
}
static uint16_t tiny_scale(struct random_stream *s) {
    return (uint16_t)(8 + random_below(s, 8)); /* subnormal: d of small weights in q6_K */
}
static uint16_t odd_scale(struct random_stream *s) {
    static unsigned turn;
    return turn++ % 50 == 7 ? 0x7c00 : turn % 50 == 11 ? 0x7e01 : model_scale(s);
}

Test(gguf_cut, scan_sees_swapped_and_odd_scales) {
    struct gguf_scan right = scan_of(model_scale, 0), wrong = scan_of(model_scale, 1);
    cr_assert(!right.looks_swapped && right.scales_nan == 0 && right.scales_infinite == 0, "good scales are suspected");
    cr_assert(right.median > 0.0002 && right.median < 0.0013, "median %g", right.median);
    cr_assert(wrong.looks_swapped, "swapped scales pass: median %g", wrong.median);
    cr_assert(!memcmp(&wrong.swapped_median, &right.median, sizeof right.median), "swapped median %g",
              wrong.swapped_median);
    cr_assert(!scan_of(constant_scale, 0).looks_swapped, "one plausible scale everywhere is suspected");
    cr_assert(!scan_of(even_scale, 0).looks_swapped && scan_of(even_scale, 1).looks_swapped, "the rule of the median");
    cr_assert(!scan_of(tiny_scale, 0).looks_swapped, "healthy subnormal scales are suspected");
    struct gguf_scan odd = scan_of(odd_scale, 0);
    cr_assert(odd.scales_nan == 4 && odd.scales_infinite == 4 && !odd.looks_swapped, "%zu NaN, %zu infinite",
              (size_t)odd.scales_nan, (size_t)odd.scales_infinite);
    cr_assert(odd.range.not_finite >= 8 * 31, "%zu values", (size_t)odd.range.not_finite);
}

/* Every tensor of a real model passes, and every one with enough scales is found out when its scales are swapped. */
Test(gguf_cut, scan_of_a_real_model) {
    const char *path = "build/models/gemma-3-270m-q4_k_m.gguf";
    if (access(path, R_OK) != 0)
        cr_skip_test("%s is absent; `make models` fetches it", path);
    struct error e = {""};
    struct gguf_file *f = gguf_open(path, &e);
    cr_assert(f, "%s", e.text);
    size_t tried = 0;
    for (size_t i = 0; i < f->tensor_count; i++) {
        struct gguf_tensor t = f->tensors[i];
        if (!t.format || t.bytes > 4 << 20)
            continue;
        struct gguf_scan scan;
        cr_assert(gguf_scan(&t, &scan, &e) && !scan.looks_swapped, "%s is suspected: median %g", t.name, scan.median);
        if (t.format->d.bytes != 2)
            continue;
        uint8_t *copy = must_calloc(t.bytes, 1);
        memcpy(copy, t.data, t.bytes);
        for (size_t at = 0; at < t.bytes; at += t.format->block_bytes)
            for (int field = 0; field < 2; field++) {
                const struct block_field place = field ? t.format->dmin : t.format->d;
                if (place.bytes == 2) {
                    uint8_t *p = copy + at + place.at, low = p[0];
                    p[0] = p[1];
                    p[1] = low;
                }
            }
        t.data = copy;
        cr_assert(gguf_scan(&t, &scan, &e) && scan.looks_swapped, "%s passes with swapped scales", t.name);
        free(copy);
        tried++;
    }
    cr_assert(tried > 20, "%zu tensors tried", tried);
    gguf_close(f);
}

/* B121: where a big-endian file has swapped bytes, by the format table; swapping twice is the identity by nature, so
 * the map itself is what can be wrong. */
Test(gguf_cut, B121_fields_that_byte_order_changes) {
    static const struct {
        const char *format;
        struct block_field d, dmin;
    } map[] = {{"q4_0", {0, 2}, {0, 0}}, {"q8_0", {0, 2}, {0, 0}},   {"q4_1", {0, 2}, {2, 2}},
               {"q4_K", {0, 2}, {2, 2}}, {"q6_K", {208, 2}, {0, 0}}, {"mxfp4", {0, 1}, {0, 0}}};
    size_t known = 0;
    for (size_t i = 0; i < sizeof map / sizeof *map; i++) {
        const struct block_format *f = format_named(map[i].format);
        if (!f)
            continue;
        known++;
        cr_assert(f->d.at == map[i].d.at && f->d.bytes == map[i].d.bytes && f->dmin.bytes == map[i].dmin.bytes &&
                      (f->dmin.bytes == 0 || f->dmin.at == map[i].dmin.at),
                  "%s: its scale fields", f->name);
    }
    cr_assert(known == 6, "%zu formats", known);
}
