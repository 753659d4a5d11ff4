#include "fragment_kernel.h"
#include "../ref/checked.h"
#include "fragment_emit.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MOST_PACKED = 1 << 24, MOST_RECORD = 1 << 28 };

/* ---- the text ---- */

void emit_vector(char *out, size_t size, char letter, unsigned first, unsigned count) {
    size_t n = (size_t)snprintf(out, size, "{");
    for (unsigned i = 0; i < count && n < size; ++i)
        n += (size_t)snprintf(out + n, size - n, "%s%%%c%u", i ? "," : "", letter, first + i);
    if (n < size)
        snprintf(out + n, size - n, "}");
}

char *emit_kernel(const char *target, unsigned in_each, unsigned out_each, unsigned shared, const char *body) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return must_strdup("");
    fprintf(out,
            ".version 8.7\n.target %s\n.address_size 64\n.visible .entry k(.param .u64 p0, .param .u64 p1)\n{\n"
            ".reg .b32 %%a<%u>, %%d<%u>, %%r<10>, %%s, %%t;\n.reg .b64 %%rd<8>, %%x<4>;\n.reg .pred %%p<2>;\n",
            target, in_each + 1, out_each + 1);
    if (shared > 0)
        fprintf(out, ".shared .align 1024 .b8 memory[%u];\nmov.u32 %%s, memory;\n", shared);
    fprintf(out, "ld.param.u64 %%rd1, [p0];\nld.param.u64 %%rd2, [p1];\ncvta.to.global.u64 %%rd1, %%rd1;\n"
                 "cvta.to.global.u64 %%rd2, %%rd2;\nmov.u32 %%r0, %%ctaid.x;\nmov.u32 %%r1, %%ntid.x;\n"
                 "mov.u32 %%t, %%tid.x;\nmad.lo.s32 %%r2, %%r0, %%r1, %%t;\n");
    fprintf(out, "mul.wide.u32 %%rd3, %%r2, %u;\nadd.s64 %%rd1, %%rd1, %%rd3;\n", 4 * in_each);
    fprintf(out, "mul.wide.u32 %%rd4, %%r2, %u;\nadd.s64 %%rd2, %%rd2, %%rd4;\n", 4 * out_each);
    for (unsigned i = 0; i < in_each; ++i)
        fprintf(out, "ld.global.b32 %%a%u, [%%rd1+%u];\n", i, 4 * i);
    fputs(body, out);
    for (unsigned i = 0; i < out_each; ++i)
        fprintf(out, "st.global.b32 [%%rd2+%u], %%d%u;\n", 4 * i, i);
    fputs("ret;\n}\n", out);
    fclose(out);
    return text;
}

uint32_t emit_one(const char *type) {
    static const struct {
        const char *name;
        uint32_t bits;
    } ones[] = {{"f16", 0x3c00}, {"bf16", 0x3f80}, {"tf32", 0x3f800000},
                {"e4m3", 0x38},  {"e5m2", 0x3c},   {"f32", 0x3f800000}};
    for (size_t i = 0; i < sizeof ones / sizeof *ones; ++i)
        if (strcmp(type, ones[i].name) == 0)
            return ones[i].bits;
    return 1; /* integers */
}

void emit_room(struct fragment_kernel *k) {
    const size_t threads = (size_t)k->blocks * k->threads;
    k->in = must_calloc(threads * k->in_each + 1, sizeof *k->in);
    k->want = must_calloc(threads * k->out_each + 1, sizeof *k->want);
    k->about = must_calloc(k->blocks, sizeof *k->about);
}

static bool (*const families[])(size_t i, struct fragment_kernel *k) = {emit_matrix, emit_mma, emit_wgmma_a,
                                                                        emit_wgmma_d, emit_wgmma_shared};
enum { FAMILIES = sizeof families / sizeof *families };

/* Kernel i, counted through the families; false: past the last. */
static bool make(size_t i, struct fragment_kernel *k) {
    for (size_t f = 0; f < FAMILIES; ++f)
        for (size_t n = 0;; ++n) {
            *k = (struct fragment_kernel){.threads = 32};
            if (!families[f](n, i == 0 ? k : NULL))
                break;
            if (i-- == 0)
                return true;
        }
    return false;
}

size_t fragment_kernel_count(void) {
    size_t count = 0;
    for (size_t f = 0; f < FAMILIES; ++f)
        for (size_t n = 0; families[f](n, NULL); ++n)
            ++count;
    return count;
}

void fragment_kernel_make(size_t i, struct fragment_kernel *k) {
    if (!make(i, k))
        memset(k, 0, sizeof *k);
}

void fragment_kernel_free(struct fragment_kernel *k) {
    free(k->ptx);
    free(k->in);
    free(k->want);
    free(k->about);
    memset(k, 0, sizeof *k);
}

/* ---- running ---- */

bool fragment_kernel_run(const struct fragment_kernel *k, const struct runner *runner, uint32_t *out, struct error *e) {
    const size_t threads = (size_t)k->blocks * k->threads;
    struct ptx_module *m = ptx_parse(k->name, k->ptx, strlen(k->ptx), e);
    if (!m)
        return false;
    struct launch_buffer buffers[] = {
        {.name = "in", .role = BUFFER_IN, .bytes = 4 * threads * k->in_each, .cell_bytes = 4, .data = (uint8_t *)k->in},
        {.name = "out",
         .role = BUFFER_OUT,
         .bytes = 4 * threads * k->out_each,
         .cell_bytes = 4,
         .data = (uint8_t *)out}};
    struct launch_arg args[] = {{.buffer = 0, .bytes = 8}, {.buffer = 1, .bytes = 8}};
    const struct launch l = {.module = m,
                             .entry = "k",
                             .grid = {k->blocks, 1, 1},
                             .block = {k->threads, 1, 1},
                             .buffers = buffers,
                             .buffer_count = 2,
                             .args = args,
                             .arg_count = 2};
    struct trace t = {0};
    memset(out, 0xa5, 4 * threads * k->out_each);
    bool good = runner->run(&l, &t, e);
    if (good && t.device_fault)
        good = fail(e, "%s: %s", k->name, t.device_fault);
    for (size_t i = 0; i < t.event_count && good; ++i)
        good = fail(e, "%s: the launch reported an event of kind %d (enum event_kind)", k->name, t.events[i].kind);
    trace_free(&t);
    ptx_free(m);
    return good;
}

void fragment_kernel_judge(const struct fragment_kernel *k, const char *where, const uint32_t *out,
                           struct statement *s) {
    const size_t words = fragment_kernel_words(k);
    for (size_t i = 0; i < words && s->proved; ++i) {
        ++s->domain;
        if (out[i] == k->want[i])
            continue;
        const unsigned word = (unsigned)(i % k->out_each), thread = (unsigned)(i / k->out_each % k->threads),
                       block = (unsigned)(i / k->out_each / k->threads);
        statement_refute(s, "%s, block %u%s%s, thread %u, word %u: the map says 0x%08x, %s has 0x%08x", k->name, block,
                         k->about[block][0] ? ", " : "", k->about[block], thread, word, k->want[i], where, out[i]);
    }
}

/* ---- the record ---- */

void fragment_record_add(struct fragment_record *r, const struct fragment_kernel *k, const uint32_t *out) {
    const size_t words = fragment_kernel_words(k);
    char *head = must_format("%s %zu\n", k->name, words);
    const size_t n = strlen(head), at = r->size;
    r->size += n + 4 * words;
    r->bytes = must_realloc(r->bytes, r->size, 1);
    memcpy(r->bytes + at, head, n);
    for (size_t i = 0; i < words; ++i)
        for (unsigned b = 0; b < 4; ++b)
            r->bytes[at + n + 4 * i + b] = (uint8_t)(out[i] >> 8 * b);
    free(head);
}

const uint8_t *fragment_record_find(const struct fragment_record *r, const struct fragment_kernel *k) {
    char *head = must_format("%s %zu\n", k->name, fragment_kernel_words(k));
    const size_t length = strlen(head);
    const uint8_t *found = NULL;
    for (size_t at = 0; at < r->size && !found;) {
        const uint8_t *end = memchr(r->bytes + at, '\n', r->size - at),
                      *blank = memchr(r->bytes + at, ' ', r->size - at);
        if (!end || !blank || blank > end)
            break;
        char number[24] = "";
        snprintf(number, sizeof number, "%.*s", (int)(end - blank - 1 < 20 ? end - blank - 1 : 20),
                 (const char *)blank + 1);
        const size_t words = (size_t)strtoull(number, NULL, 10), left = r->size - (size_t)(end + 1 - r->bytes);
        if (words > left / 4)
            break;
        if ((size_t)(end + 1 - r->bytes) - at == length && memcmp(r->bytes + at, head, length) == 0)
            found = end + 1;
        at = (size_t)(end + 1 - r->bytes) + 4 * words;
    }
    free(head);
    return found;
}

uint8_t *fragment_record_pack(const struct fragment_record *r, size_t *size) {
    uLongf bound = compressBound(r->size);
    uint8_t *packed = calloc(bound + 8, 1);
    if (packed && compress2(packed + 8, &bound, r->bytes, r->size, Z_BEST_COMPRESSION) == Z_OK) {
        for (unsigned b = 0; b < 8; ++b) /* how much it unpacks to goes before */
            packed[b] = (uint8_t)((uint64_t)r->size >> 8 * b);
        *size = bound + 8;
        return packed;
    }
    free(packed);
    return NULL;
}

bool fragment_record_read(const char *path, struct fragment_record *r, struct error *e) {
    *r = (struct fragment_record){NULL, 0};
    FILE *f = fopen(path, "rbe");
    if (!f)
        return fail(e, "%s: cannot be opened", path);
    uint8_t *packed = must_calloc(MOST_PACKED, 1);
    const size_t n = fread(packed, 1, MOST_PACKED, f);
    fclose(f);
    uint64_t size = 0;
    for (unsigned b = 0; b < 8 && n > 8; ++b)
        size |= (uint64_t)packed[b] << 8 * b;
    bool good = size > 0 && size <= MOST_RECORD && n < MOST_PACKED && (r->bytes = calloc(size, 1)) != NULL;
    uLongf got = size, taken = n > 8 ? n - 8 : 0;
    good = good && uncompress2(r->bytes, &got, packed + 8, &taken) == Z_OK && got == size && taken == n - 8;
    free(packed);
    r->size = good ? size : 0;
    if (good)
        return true;
    fragment_record_free(r);
    return fail(e, "%s: not a record of fragments (want 8 bytes of size and a zlib stream)", path);
}

void fragment_record_free(struct fragment_record *r) {
    free(r->bytes);
    *r = (struct fragment_record){NULL, 0};
}
