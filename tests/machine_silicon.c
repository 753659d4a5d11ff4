/* Integer, video and atomic instructions against a real GPU: fixtures/golden/integer/forms.txt has what an H200 made of
 * 1024 inputs for each, as a hash. The inputs and the text around the instruction are made here as they were for it. */
#include "machine_run.h"

enum { INPUTS = 1024, AT_ONCE = 64, MOST_FORMS = 4096 };

static char *text; /* of the file, cut into lines */
static struct {
    uint64_t hash;
    char *instruction;
} forms[MOST_FORMS];
static size_t form_count;
static uint64_t inputs[INPUTS][3];

static void load_forms(void) {
    FILE *f = fopen("fixtures/golden/integer/forms.txt", "r");
    cr_assert(f, "fixtures/golden/integer/forms.txt cannot be read");
    const size_t room = 1 << 20;
    text = malloc(room);
    text[fread(text, 1, room - 1, f)] = 0;
    fclose(f);
    for (char *s = text; *s;) {
        char *end = strchr(s, '\n');
        cr_assert(end && form_count < MOST_FORMS && end - s > 17, "line %zu of the file", form_count + 1);
        *end = 0;
        forms[form_count].hash = strtoull(s, NULL, 16);
        forms[form_count++].instruction = s + 17;
        s = end + 1;
    }
}

/* A linear congruential generator (Knuth), bits 16 and up. */
static uint64_t draw(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 16;
}

static void fill_inputs(void) {
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     31,
                                     32,
                                     33,
                                     127,
                                     128,
                                     255,
                                     256,
                                     0x7fff,
                                     0x8000,
                                     0xffff,
                                     0x10000,
                                     0x7fffffff,
                                     0x80000000,
                                     0x80000001,
                                     0xffffffff,
                                     0x7f800000,
                                     0xff800000,
                                     0x7f800001,
                                     0xffc00123,
                                     0x00400000,
                                     0x80000003,
                                     0x7c007e01,
                                     0xfc000001,
                                     0x7f80ff81,
                                     0x80800000,
                                     0x00800001,
                                     0x7ff0000000000000,
                                     0x7ff8000000000005,
                                     0xfff4000000000009,
                                     0x8000000000000000,
                                     3};
    uint64_t state = 12345;
    for (size_t i = 0; i < 3 * INPUTS; ++i) {
        const uint64_t kind = draw(&state) % 4;
        uint64_t x = draw(&state);
        x |= draw(&state) << 40;
        if (kind == 0)
            x = edges[x % (sizeof edges / sizeof *edges)];
        else if (kind == 1)
            x %= 70;
        else if (kind == 3) /* a float of an ordinary size, or a tiny one, below anything */
            x = (x & 0x807fffff) | (draw(&state) % 6 + (x >> 60 & 1 ? 0 : 125)) << 23 | x >> 32 << 32;
        inputs[i / 3][i % 3] = x;
    }
}

/* Operands of each thread in %rd1 .. 3 and their low halves in %r1 .. 3, %f1, %f2; 16 bytes of its own in global memory
 * at %rd8 and in shared memory at %r6; the result is %r9. */
static char *body_of(size_t first, size_t count) {
    static const char head[] =
        ".shared .align 16 .b8 own[2048];\nld.param.u64 %rd10, [p0];\nld.param.u64 %rd11, [p1];\n"
        "ld.param.u64 %rd12, [p2];\nmov.u32 %r4, %tid.x;\nmov.u32 %r5, %ctaid.x;\nmad.lo.u32 %r5, %r5, 128, %r4;\n"
        "mul.wide.u32 %rd13, %r5, 24;\nadd.u64 %rd10, %rd10, %rd13;\nld.global.u64 %rd1, [%rd10];\n"
        "ld.global.u64 %rd2, [%rd10+8];\nld.global.u64 %rd3, [%rd10+16];\ncvt.u32.u64 %r1, %rd1;\n"
        "cvt.u32.u64 %r2, %rd2;\ncvt.u32.u64 %r3, %rd3;\nmov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\nmov.b64 %d1, %rd1;\n"
        "mov.b64 %d2, %rd2;\nmul.wide.u32 %rd13, %r5, 4;\nadd.u64 %rd11, %rd11, %rd13;\nmul.wide.u32 %rd13, %r5, 16;\n"
        "add.u64 %rd8, %rd12, %rd13;\nmov.u32 %r6, own;\nmad.lo.u32 %r6, %r4, 16, %r6;\n";
    char *body = malloc(sizeof head + count * 400);
    size_t n = (size_t)sprintf(body, "%s", head);
    for (size_t i = 0; i < count; ++i)
        n += (size_t)sprintf(body + n, "%s;\nst.global.u32 [%%rd11+%zu], %%r9;\n", forms[first + i].instruction,
                             4 * i * INPUTS);
    sprintf(body + n, "ret;\n");
    return body;
}

static uint64_t hash_of(const uint32_t *words) { /* FNV-1a */
    const uint8_t *bytes = (const void *)words;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < 4 * INPUTS; ++i)
        h = (h ^ bytes[i]) * 0x100000001b3u;
    return h;
}

/* How many of forms first .. first + count - 1 give another hash; *named: the first of those. */
static size_t differing(size_t first, size_t count, const char *isa, const char **named) {
    uint32_t *out = calloc(AT_ONCE * INPUTS, 4);
    uint8_t *own = calloc(INPUTS, 16);
    struct launch_buffer b[3] = {
        {.name = "in", .role = BUFFER_IN, .bytes = sizeof inputs, .cell_bytes = 8, .data = (void *)inputs},
        {.name = "out", .role = BUFFER_INOUT, .bytes = AT_ONCE * INPUTS * 4, .cell_bytes = 4, .data = (void *)out},
        {.name = "own", .role = BUFFER_INOUT, .bytes = INPUTS * 16, .cell_bytes = 4, .data = own}};
    char *body = body_of(first, count);
    const struct machine_test test = {
        .body = body, .buffers = b, .buffer_count = 3, .isa = isa, .grid = {8}, .block = {128}};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    size_t wrong = 0;
    for (size_t i = 0; i < count; ++i)
        if (hash_of(out + i * INPUTS) != forms[first + i].hash && !wrong++)
            *named = forms[first + i].instruction;
    cr_expect(t.event_count == 0, "%zu events, the first at %s", t.event_count,
              t.event_count ? t.sites[t.events[0].instruction].text : "");
    trace_free(&t);
    ptx_free(m);
    free(body), free(out), free(own);
    return wrong;
}

Test(machine_silicon, integers_equal_the_gpu) {
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    load_forms();
    fill_inputs();
    cr_assert(form_count > 1000, "only %zu forms", form_count);
    for (size_t first = 0; first < form_count; first += AT_ONCE)
        for (size_t k = 0; k < isa_count; ++k) {
            const size_t count = form_count - first < AT_ONCE ? form_count - first : AT_ONCE;
            const char *named = NULL;
            const size_t wrong = differing(first, count, isas[k], &named);
            cr_expect(!wrong, "%s: %zu instructions give other bits than the GPU, the first is %s", isas[k], wrong,
                      named);
        }
    free(text);
}

/* One wrong input, and one wrong instruction, must be told. */
Test(machine_silicon, sees_a_wrong_value) {
    const char *named = NULL;
    load_forms();
    fill_inputs();
    inputs[700][0] ^= 1;
    cr_expect(differing(0, 1, NULL, &named) == 1, "a changed input of one lane is not seen");
    inputs[700][0] ^= 1;
    cr_expect(differing(0, 1, NULL, &named) == 0, "the first form is wrong: %s", named);
    forms[0].instruction = forms[1].instruction;
    cr_expect(differing(0, 1, NULL, &named) == 1, "another instruction is not seen");
    free(text);
}
