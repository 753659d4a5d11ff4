/* ref/gguf.c: a small file written here field by field, read back, then cut, bent and shuffled in every field. */
#include "../ref/gguf.h"
#include "../ref/checked.h"
#include "../ref/gguf_types.h"
#include "../ref/random.h"
#include "gguf_sample.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading with every check on ---- */

/* What is wrong with a file that the reader accepted, or NULL. */
static const char *unsound(const struct gguf_file *f) {
    uint64_t sum = 0;
    for (size_t i = 0; i < f->entry_count; i++) {
        const struct gguf_entry *entry = &f->entries[i];
        if (!entry->key[0])
            return "a key is empty";
        if (entry->bytes < f->map || entry->length > f->size ||
            (size_t)(entry->bytes - f->map) > f->size - entry->length)
            return "a value lies outside the file";
        for (uint64_t k = 0; k < entry->length; k++)
            sum += entry->bytes[k];
    }
    for (size_t i = 0; i < f->tensor_count; i++) {
        const struct gguf_tensor *t = &f->tensors[i];
        if (!t->name[0] || !t->type_name || t->dims < 1 || t->dims > 4)
            return "a tensor has no name, type or dimensions";
        if (t->rows != t->extent[1] * t->extent[2] * t->extent[3] || t->bytes != t->rows * t->row_bytes ||
            t->bytes == 0)
            return "the sizes of a tensor do not agree";
        if (t->bytes > f->size || t->offset > f->size - t->bytes || t->data != f->map + t->offset)
            return "a tensor lies outside the file";
        for (size_t k = 0; k < t->bytes; k++)
            sum += t->data[k];
        if (!t->format)
            continue;
        float *row = must_calloc(t->extent[0], sizeof *row);
        bool ok = gguf_row(t, 0, row, NULL) && gguf_row(t, t->rows - 1, row, NULL) && !gguf_row(t, t->rows, row, NULL);
        free(row);
        if (!ok)
            return "rows of a tensor cannot be decoded";
    }
    return sum == 1 ? "" : NULL; /* the sum is used, so that its reads stay */
}

/* Parses a copy in a block of exactly n bytes, where a sanitizer sees every byte read beyond. */
static bool accepts(const uint8_t *p, size_t n, struct error *e) {
    uint8_t *copy = must_calloc(n, 1);
    memcpy(copy, p, n);
    struct gguf_file *f = gguf_parse("sample.gguf", copy, n, e);
    const char *wrong = f ? unsound(f) : NULL;
    gguf_close(f);
    free(copy);
    cr_assert(!wrong, "accepted, although %s", wrong);
    return f != NULL;
}

static void expect_refused(const char *about, const uint8_t *p, size_t n, const char *words) {
    struct error e = {""};
    cr_assert(!accepts(p, n, &e), "%s: accepted, expected an error with \"%s\"", about, words);
    cr_assert(strncmp(e.text, "sample.gguf: ", 13) == 0, "%s: no path in \"%s\"", about, e.text);
    cr_assert(strstr(e.text, words), "%s: \"%s\" lacks \"%s\"", about, e.text, words);
    cr_assert(strstr(e.text, ", at byte "), "%s: no place in \"%s\"", about, e.text);
    for (const char *c = e.text; *c; c++)
        cr_assert((unsigned char)*c >= 0x20, "%s: a control character in the message", about);
}

/* A file of n bytes under TMPDIR; the caller unlinks and frees the path. */
static char *temporary(const void *p, size_t n) {
    const char *folder = getenv("TMPDIR");
    char *path = must_format("%s/warpproof-gguf-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkstemp(path);
    cr_assert(fd >= 0, "cannot make %s", path);
    cr_assert(write(fd, p, n) == (ssize_t)n, "cannot write %s", path);
    close(fd);
    return path;
}

Test(gguf, reads_what_was_written) {
    for (uint32_t version = 2; version <= 3; version++) {
        struct sample s = sample_file(version);
        char *path = temporary(s.file.p, s.file.n);
        struct error e = {""};
        struct gguf_file *f = gguf_open(path, &e);
        cr_assert(f, "version %u: %s", version, e.text);
        cr_assert(f->version == version && f->alignment == ALIGNMENT && f->entry_count == 15 && f->tensor_count == 4,
                  "version %u: the header differs", version);
        cr_assert(!unsound(f), "version %u: %s", version, unsound(f));
        for (size_t i = 0; i < 4; i++) {
            const struct sample_tensor *want = &s.t[i];
            const struct gguf_tensor *t = gguf_tensor_named(f, want->name);
            cr_assert(t == &f->tensors[i], "%s: not found by name", want->name);
            cr_assert(t->type == want->type && t->dims == want->dims && t->bytes == want->bytes &&
                          t->offset == want->at_data && strcmp(t->type_name, gguf_types[want->type].name) == 0,
                      "%s: type, dimensions, bytes or offset differ", want->name);
            for (unsigned k = 0; k < 4; k++)
                cr_assert(t->extent[k] == (k < want->dims ? want->extent[k] : 1), "%s: extent %u", want->name, k);
            cr_assert(memcmp(t->data, s.file.p + want->at_data, want->bytes) == 0, "%s: data differ", want->name);
        }
        cr_assert(!gguf_tensor_named(f, "blk.0") && !gguf_entry_named(f, "sample"), "found what is not there");
        const struct gguf_entry *entry = gguf_entry_named(f, "sample.i");
        cr_assert(entry && entry->type == GGUF_STRING && entry->length == 4 && memcmp(entry->bytes, "text", 4) == 0,
                  "the string differs");
        entry = gguf_entry_named(f, "sample.m");
        cr_assert(entry && entry->type == GGUF_FLOAT64 && entry->length == 8 && entry->bytes[0] == 0x41 + GGUF_FLOAT64,
                  "the float64 differs");
        entry = gguf_entry_named(f, "strings");
        cr_assert(entry && entry->type == GGUF_ARRAY && entry->item == GGUF_STRING && entry->count == 2 &&
                      entry->length == 8 + 3 + 8 && memcmp(entry->bytes, "\3\0\0\0\0\0\0\0one", 11) == 0,
                  "the array of strings differs");
        entry = gguf_entry_named(f, "bools");
        cr_assert(entry && entry->item == GGUF_BOOL && entry->count == 3 && memcmp(entry->bytes, "\1\0\1", 3) == 0,
                  "the array of bools differs");
        gguf_close(f);
        unlink(path);
        free(path);
        free(s.file.p);
    }
}

Test(gguf, rows_are_blocks_of_the_format) {
    struct sample s = sample_file(3);
    struct error e = {""};
    struct gguf_file *f = gguf_parse("sample.gguf", s.file.p, s.file.n, &e);
    cr_assert(f, "%s", e.text);
    const struct gguf_tensor *t = &f->tensors[0];
    cr_assert(t->format, "q4_K has no decoder");
    float row[512], want[512];
    for (uint64_t r = 0; r < t->rows; r++) {
        cr_assert(gguf_row(t, r, row, &e), "row %zu: %s", (size_t)r, e.text);
        for (size_t block = 0; block < 2; block++)
            t->format->dequantize(s.file.p + s.t[0].at_data + (2 * r + block) * 144, want + 256 * block);
        cr_assert(memcmp(row, want, sizeof row) == 0, "row %zu differs from its blocks", (size_t)r);
    }
    cr_assert(!gguf_row(t, 3, row, &e) && strstr(e.text, "row 3, expected one below 3"), "row 3: \"%s\"", e.text);
    t = gguf_tensor_named(f, "rare");
    cr_assert(!t->format, "tq1_0 has a decoder now: give this test another type");
    cr_assert(!gguf_row(t, 0, row, &e) && strstr(e.text, "\"rare\": no decoder for type tq1_0"), "\"%s\"", e.text);
    gguf_close(f);
    free(s.file.p);
}

Test(gguf, unsound_sees_planted_faults) {
    struct sample s = sample_file(3);
    struct gguf_file *f = gguf_parse("sample.gguf", s.file.p, s.file.n, NULL);
    cr_assert(f && !unsound(f), "the sample itself is refused");
    struct gguf_tensor *t = &f->tensors[3];
    t->offset++;
    cr_assert(unsound(f), "a tensor one byte off passes");
    t->data++;
    cr_assert(unsound(f), "a tensor that ends one byte past the file passes");
    t->offset--, t->data--;
    t->rows++;
    cr_assert(unsound(f), "one row too many passes");
    t->rows--;
    f->entries[0].length = f->size + 1;
    cr_assert(unsound(f), "a value longer than the file passes");
    gguf_close(f);
    free(s.file.p);
}

/* ---- bad files ---- */

Test(gguf, every_truncation_is_refused) {
    struct sample s = sample_file(3);
    char *path = temporary(s.file.p, s.file.n);
    for (size_t n = s.file.n; n-- > 0;) {
        char about[32];
        snprintf(about, sizeof about, "cut to %zu", n);
        const char *words = n == 0 ? "the file is empty" : "the file ends inside ";
        if (n >= s.header_end) { /* the first tensor that lacks bytes is named */
            const struct sample_tensor *t = s.t;
            while (n >= t->at_data + t->bytes)
                t++;
            words = t->name;
        } else if (n >= 24) {
            words = "the file ends "; /* inside something, or too soon for what the counts promise */
        }
        expect_refused(about, s.file.p, n, words);
        cr_assert(truncate(path, (off_t)n) == 0, "cannot cut %s", path);
        struct error e = {""};
        cr_assert(!gguf_open(path, &e) && strstr(e.text, words), "%s: from a file: \"%s\"", about, e.text);
    }
    unlink(path);
    free(path);
    free(s.file.p);
}

Test(gguf, hostile_fields_are_refused) {
    struct sample s = sample_file(3);
    const struct sample_tensor *q4 = &s.t[0], *norm = &s.t[1], *four = &s.t[3];
    const size_t key_type = s.at_keys + 8 + 8; /* after the first key, "sample.a" */
    const struct {
        const char *about;
        size_t at;
        uint64_t value;
        size_t width;
        const char *words;
    } cases[] = {
        {"magic", 0, 0x46554746, 4, "not a GGUF file: it starts with 46 47 55 46"},
        {"version 0", VERSION_AT, 0, 4, "version 0, expected 2 or 3"},
        {"version 1", VERSION_AT, 1, 4, "version 1, whose counts have 32 bits"},
        {"version 4", VERSION_AT, 4, 4, "version 4, expected 2 or 3, at byte 4"},
        {"big-endian", VERSION_AT, 0x03000000, 4, "a big-endian file of version 3"},
        {"one tensor more", TENSORS_AT, 5, 8, "tensor 4: its name has 0 bytes"},
        {"tensor count of the cap + 1", TENSORS_AT, (1 << 20) + 1, 8, "1048577 tensors, expected at most 1048576"},
        {"tensor count beyond the bytes", TENSORS_AT, 1000, 8,
         "the file ends too soon: 1000 tensors and 15 keys expected"},
        {"tensor count of all ones", TENSORS_AT, UINT64_MAX, 8,
         "18446744073709551615 tensors, expected at most 1048576, at byte 8"},
        {"key count", KEYS_AT, UINT64_MAX / 48, 8, "keys, expected at most"},
        {"one key less", KEYS_AT, 14, 8, "tensor 0"},
        {"one key more", KEYS_AT, 16, 8, "tensor 0: its name has"},
        {"empty key", s.at_keys, 0, 8, "key 0: its name has 0 bytes, expected 1 .. 65535, at byte 24"},
        {"key of 65536", s.at_keys, 65536, 8, "its name has 65536 bytes"},
        {"key beyond the file", s.at_keys, 60000, 8, "ends inside its name"},
        {"key with NUL", s.at_keys + 8 + 3, 0, 1, "its name holds a NUL, expected text, at byte 35"},
        {"key with escape", s.at_keys + 8, 0x1b, 1, NULL},
        {"value type 13", key_type, 13, 4, "key 0 \"sample.a\": its value type is 13, expected 0 .. 12"},
        {"value type of all ones", key_type, UINT32_MAX, 4, "its value type is 4294967295"},
        {"bool 2", s.at_bool, 2, 1, "\"sample.h\": a bool is 2, expected 0 or 1"},
        {"bool in an array", s.at_bools + 1, 255, 1, "\"bools\": a bool is 255, expected 0 or 1"},
        {"string length", s.at_string, UINT64_MAX, 8, "ends inside a string of its value: 18446744073709551615"},
        {"nested array", s.at_items, GGUF_ARRAY, 4, "\"strings\": an array of arrays"},
        {"element type", s.at_items, 77, 4, "its element type is 77"},
        {"string count", s.at_items + 4, UINT64_MAX, 8, "ends inside a string of its value"},
        {"bool count", s.at_bools - 8, UINT64_MAX, 8, "\"bools\": the file ends inside its value"},
        {"number count", s.at_bools - 12, GGUF_UINT64 | UINT64_MAX << 32, 8,
         "ends inside its value: 34359738360 bytes"},
        {"number count overflow", s.at_bools - 4, UINT32_MAX, 4, "\"bools\": the file ends inside its value"},
        {"duplicate key", s.at_keys + 8 + 8 + 4 + 1 + 8 + 7, 'a', 1, "key 1 \"sample.a\": key 0 has the same name"},
        {"alignment 0", s.at_alignment, 0, 4, "alignment 0, expected a power of two up to 1048576"},
        {"alignment 48", s.at_alignment, 48, 4, "alignment 48, expected a power of two"},
        {"alignment 2^21", s.at_alignment, 1 << 21, 4, "alignment 2097152, expected"},
        {"alignment 2^20", s.at_alignment, 1 << 20, 4, "is 896, expected a multiple of the alignment 1048576"},
        {"alignment type", s.at_alignment_type, GGUF_INT32, 4,
         "\"general.alignment\": value type 5, expected 4 (uint32)"},
        {"tensor name empty", norm->at_name, 0, 8, "tensor 1: its name has 0 bytes"},
        {"tensor name with NUL", norm->at_name + 8, 0, 1, "tensor 1: its name holds a NUL"},
        {"duplicate tensor", four->at_name + 8, 0x65726172, 4, "tensor 3 \"rare\": tensor 2 has the same name"},
        {"dimensions 0", norm->at_dims, 0, 4, "tensor 1 \"norm\": 0 dimensions, expected 1 .. 4"},
        {"dimensions 5", norm->at_dims, 5, 4, "5 dimensions"},
        {"extent 0", norm->at_extent, 0, 8, "\"norm\": extent 0 is 0, expected at least 1"},
        {"extent 3 is 0", four->at_extent + 24, 0, 8, "\"four\": extent 3 is 0"},
        {"extents product", four->at_extent + 16, UINT64_MAX / 2, 8, "the product of its extents does not fit 64 bits"},
        {"rows that fit, bytes that do not", q4->at_extent + 8, UINT64_MAX, 8, "its bytes do not fit 64 bits"},
        {"row that does not fit", norm->at_extent, UINT64_MAX / 2, 8, "\"norm\": its bytes do not fit 64 bits"},
        {"more than the file", norm->at_extent, 1 << 20, 8, "\"norm\": its 4194304 bytes of data end at byte"},
        {"rows of half a block", q4->at_extent, 128, 8,
         "rows of 128 values, expected a multiple of the 256 values of a q4_K"},
        {"type 43", q4->at_type, 43, 4, "tensor 0 \"blk.0.weight\": type number 43 is unknown, expected one below 43"},
        {"type of all ones", q4->at_type, UINT32_MAX, 4, "type number 4294967295 is unknown"},
        {"type 4", q4->at_type, 4, 4, "type number 4 (q4_2) was withdrawn from the format"},
        {"offset off the alignment", q4->at_offset, 32, 8, "its offset is 32, expected a multiple of the alignment 64"},
        {"offset past 64 bits", q4->at_offset, UINT64_MAX - 63, 8, "\"blk.0.weight\": its data end past 64 bits"},
        {"offset past the file", q4->at_offset, UINT64_C(1) << 62, 8, "\"blk.0.weight\": its 864 bytes of data end at"},
        {"overlap", norm->at_offset, 832, 8, "tensor 1 \"norm\": its data start inside those of tensor 0"},
        {"the same place", norm->at_offset, 0, 8, "its data start inside those of tensor"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes copy = {0};
        put(&copy, s.file.p, s.file.n);
        patch(&copy, cases[i].at, cases[i].value, cases[i].width);
        if (cases[i].words)
            expect_refused(cases[i].about, copy.p, copy.n, cases[i].words);
        else
            cr_assert(accepts(copy.p, copy.n, NULL), "%s: refused", cases[i].about);
        free(copy.p);
    }
    free(s.file.p);
}

Test(gguf, messages_show_no_control_characters) {
    struct sample s = sample_file(3);
    memcpy(s.file.p + s.t[1].at_name + 8, "\x1b[2\n", 4);
    patch(&s.file, s.t[1].at_dims, 9, 4);
    expect_refused("name with an escape sequence", s.file.p, s.file.n, "tensor 1 \"\\x1b[2\\x0a\": 9 dimensions");
    free(s.file.p);
}

Test(gguf, what_is_no_regular_file_is_refused, .timeout = 20) {
    struct error e = {""};
    char *path = temporary("", 0);
    cr_assert(!gguf_open(path, &e) && strstr(e.text, "the file is empty"), "empty file: \"%s\"", e.text);
    unlink(path);
    cr_assert(!gguf_open(path, &e) && strstr(e.text, "cannot open: No such file"), "no file: \"%s\"", e.text);
    cr_assert(mkdir(path, 0700) == 0, "cannot make %s", path);
    cr_assert(!gguf_open(path, &e) && strstr(e.text, "a directory, expected a GGUF file"), "folder: \"%s\"", e.text);
    rmdir(path);
    cr_assert(mkfifo(path, 0600) == 0, "cannot make %s", path);
    cr_assert(!gguf_open(path, &e) && strstr(e.text, "not a regular file"), "FIFO: \"%s\"", e.text);
    unlink(path);
    cr_assert(!gguf_open("/dev/null", &e) && strstr(e.text, "not a regular file"), "device: \"%s\"", e.text);
    gguf_close(NULL);
    free(path);
}

Test(gguf, many_tensors_and_no_keys) {
    enum { COUNT = 40000 };
    struct bytes b = {0};
    put(&b, "GGUF", 4);
    put_number(&b, 3, 4);
    put_number(&b, COUNT, 8);
    put_number(&b, 0, 8);
    for (size_t i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%zu", i);
        put_string(&b, name);
        put_number(&b, 1, 4);
        put_number(&b, 8, 8);
        put_number(&b, 0, 4);
        put_number(&b, 32 * (COUNT - 1 - i), 8); /* data in the reverse order of the names */
    }
    pad(&b, 32);
    for (size_t i = 0; i < 32 * COUNT; i++)
        put_number(&b, 0, 1);
    struct error e = {""};
    struct gguf_file *f = gguf_parse("sample.gguf", b.p, b.n, &e);
    cr_assert(f, "%s", e.text);
    cr_assert(f->alignment == 32 && f->tensor_count == COUNT && !unsound(f), "the tensors differ");
    cr_assert(gguf_tensor_named(f, "t39999") == &f->tensors[COUNT - 1], "the last tensor is not found");
    gguf_close(f);
    free(b.p);
}

/* Mutated files are refused or sound, never a crash; the seed is fixed. */
Test(gguf, mutated_files_are_refused_or_sound) {
    static const uint64_t edge[] = {0,
                                    1,
                                    2,
                                    12,
                                    255,
                                    256,
                                    65535,
                                    65536,
                                    0x7fffffff,
                                    0x80000000,
                                    UINT32_MAX,
                                    UINT64_C(1) << 32,
                                    UINT64_C(1) << 61,
                                    INT64_MAX,
                                    UINT64_C(1) << 63,
                                    UINT64_MAX};
    struct sample s = sample_file(3);
    cr_assert(accepts(s.file.p, s.file.n, NULL), "the file before any mutation is refused");
    struct random_stream random = random_open(random_key("gguf/mutations"), 0);
    size_t accepted = 0, refused = 0;
    for (size_t trial = 0; trial < 6000; trial++) {
        struct bytes b = {0};
        put(&b, s.file.p, s.file.n);
        for (uint32_t edits = 1 + random_below(&random, 3); edits > 0; edits--) {
            size_t at = random_below(&random, (uint32_t)s.header_end);
            switch (random_below(&random, 4)) {
            case 0:
                b.p[at] ^= (uint8_t)(1u << random_below(&random, 8));
                break;
            case 1:
                b.p[at] = (uint8_t)random_u32(&random);
                break;
            case 2:
                patch(&b, at, edge[random_below(&random, sizeof edge / sizeof *edge)], 8);
                break;
            default:
                memmove(b.p + at, b.p + at + 1, b.n - at - 1); /* everything after one place moves */
                break;
            }
        }
        if (random_below(&random, 16) == 0)
            b.n = random_below(&random, (uint32_t)b.n);
        struct error e = {""};
        bool good = accepts(b.p, b.n, &e);
        accepted += good;
        refused += !good;
        cr_assert(good || strstr(e.text, "sample.gguf: ") == e.text, "trial %zu: no message", trial);
        if (trial % 16 == 0) { /* the mapped file must be judged like the bytes */
            char *path = temporary(b.p, b.n);
            struct gguf_file *f = gguf_open(path, &e);
            cr_assert((f != NULL) == good, "trial %zu: the file in memory and on disk are judged differently", trial);
            gguf_close(f);
            unlink(path);
            free(path);
        }
        free(b.p);
    }
    cr_assert(accepted > 100 && refused > 1000, "%zu accepted, %zu refused: one side is hardly tried", accepted,
              refused);
    free(s.file.p);
}

/* ---- a real model ---- */

Test(gguf, real_model) {
    const char *path = "build/models/gemma-3-270m-q4_k_m.gguf";
    if (access(path, R_OK) != 0)
        cr_skip_test("%s is absent; `make models` fetches it", path);
    struct error e = {""};
    struct gguf_file *f = gguf_open(path, &e);
    cr_assert(f, "%s", e.text);
    size_t count[GGUF_TYPE_COUNT] = {0}, deep[2] = {0};
    for (size_t i = 0; i < f->tensor_count; i++) {
        const struct gguf_tensor *t = &f->tensors[i];
        count[t->type]++;
        if (t->type == 12) {
            cr_assert(t->dims == 2 && t->rows == 640 && (t->extent[0] == 1024 || t->extent[0] == 2048),
                      "%s: %zu rows of depth %zu", t->name, (size_t)t->rows, (size_t)t->extent[0]);
            deep[t->extent[0] == 2048]++;
        }
        if (!t->format)
            continue;
        float *row = must_calloc(t->extent[0], sizeof *row);
        cr_assert(gguf_row(t, t->rows - 1, row, &e), "%s", e.text);
        for (size_t k = 0; k < t->extent[0]; k++)
            cr_assert(isfinite(row[k]), "%s: value %zu of the last row is not finite", t->name, k);
        free(row);
    }
    cr_assert(count[12] == 27 && count[14] == 9 && count[6] == 81 && count[8] == 10 && count[0] == 109,
              "q4_K %zu, q6_K %zu, q5_0 %zu, q8_0 %zu, f32 %zu: expected 27, 9, 81, 10, 109", count[12], count[14],
              count[6], count[8], count[0]);
    cr_assert(f->tensor_count == 236 && deep[0] == 18 && deep[1] == 9, "%zu tensors, q4_K %zu and %zu by depth",
              f->tensor_count, deep[0], deep[1]);
    gguf_close(f);
}
