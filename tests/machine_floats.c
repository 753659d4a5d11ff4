/* Floating-point instructions of PTX against an H200, bit for bit: fixtures/golden/floats_h200.tsv.zz, which its README
 * describes. Every scalar form that ptxas takes for sm_90 and that has a bit-exact model, on every instruction set. */
#include "../ref/half_functions.h"
#include "../ref/rcp_approx.h"
#include "machine_run.h"
#include "measured.h"

#define FLOATS "fixtures/golden/floats_h200.tsv.zz"
enum { MOST_TEXT = 2 << 20, MOST_INPUTS = 512, LEAST_FORMS = 1310 };

struct inputs {
    char key[4];
    size_t count;
    uint64_t v[MOST_INPUTS][3];
};
static struct inputs inputs[8];
static size_t input_count;

static char *unpack(void) {
    FILE *f = fopen(FLOATS, "rb");
    static uint8_t packed[1 << 20];
    char *text = malloc(MOST_TEXT + 1);
    cr_assert(f && text, FLOATS ": cannot be read");
    const size_t bytes = fread(packed, 1, sizeof packed, f);
    fclose(f);
    uLongf count = MOST_TEXT;
    cr_assert(uncompress((uint8_t *)text, &count, packed, bytes) == Z_OK, FLOATS ": no zlib stream");
    text[count] = 0;
    return text;
}

/* "=key TAB a,b,c a,b,c ..." */
static void read_inputs(char *line) {
    struct inputs *in = &inputs[input_count++];
    char *s = strchr(line, '\t');
    cr_assert(input_count < 8 && s && s - line == 3, "inputs: %.20s", line);
    snprintf(in->key, sizeof in->key, "%.2s", line + 1);
    for (char *word = strtok(s + 1, " "); word; word = strtok(NULL, " ")) {
        cr_assert(in->count < MOST_INPUTS, "%s: too many inputs", in->key);
        for (int i = 0; i < 3 && *word; ++i) {
            in->v[in->count][i] = strtoull(word, &word, 16);
            word += *word == ',';
        }
        ++in->count;
    }
}

static const struct inputs *inputs_of(const char *key) {
    for (size_t i = 0; i < input_count; ++i)
        if (!strncmp(inputs[i].key, key, 2))
            return &inputs[i];
    cr_assert(false, "no inputs %.2s", key);
    return NULL;
}

/* The class of an operand `%rd1`: its letters. */
static void operand_class(const char *operand, char class[3]) {
    class[0] = operand[1];
    class[1] = operand[2] == 'd' ? 'd' : 0;
    class[2] = 0;
}

/* Loads slots of 8 bytes, does the instruction, stores its result as 8 bytes; predicates as bits 0 and 1. */
static void write_body(const char *instruction, char *body, size_t room) {
    size_t n = (size_t)snprintf(body, room,
                                "ld.param.u64 %%rd20, [p0];\nld.param.u64 %%rd21, [p1];\nmov.u32 %%r60, %%ctaid.x;\n"
                                "mov.u32 %%r61, %%tid.x;\nmad.lo.s32 %%r62, %%r60, 32, %%r61;\n"
                                "mul.wide.u32 %%rd22, %%r62, 24;\nadd.s64 %%rd20, %%rd20, %%rd22;\n"
                                "mul.wide.u32 %%rd23, %%r62, 8;\nadd.s64 %%rd21, %%rd21, %%rd23;\n"
                                "setp.eq.u32 %%p2, %%r61, %%r61;\n");
    char class[3];
    int source = 0;
    for (const char *s = strchr(instruction, ','); s; s = strchr(s + 1, ',')) {
        const char *o = strchr(s, '%');
        if (o[1] == 'p')
            continue;
        operand_class(o, class);
        ++source;
        n += (size_t)snprintf(body + n, room - n, "ld.global.b64 %%rd30, [%%rd20+%d];\n", 8 * (source - 1));
        if (!strcmp(class, "rd"))
            n += (size_t)snprintf(body + n, room - n, "mov.b64 %%rd%d, %%rd30;\n", source);
        else if (class[0] == 'd')
            n += (size_t)snprintf(body + n, room - n, "mov.b64 %%d%d, %%rd30;\n", source);
        else if (class[0] == 'h')
            n += (size_t)snprintf(body + n, room - n, "cvt.u16.u64 %%h%d, %%rd30;\n", source);
        else
            n += (size_t)snprintf(body + n, room - n, "cvt.u32.u64 %%r50, %%rd30;\nmov.b32 %%%s%d, %%r50;\n", class,
                                  source);
    }
    operand_class(strchr(instruction, '%'), class);
    const char *result = !strcmp(class, "rd") ? "mov.b64 %rd31, %rd0;"
                         : class[0] == 'd'    ? "mov.b64 %rd31, %d0;"
                         : class[0] == 'h'    ? "cvt.u64.u16 %rd31, %h0;"
                         : class[0] == 'f'    ? "mov.b32 %r50, %f0;\ncvt.u64.u32 %rd31, %r50;"
                         : class[0] == 'r'    ? "cvt.u64.u32 %rd31, %r0;"
                                              : "selp.u64 %rd31, 1, 0, %p0;";
    n += (size_t)snprintf(body + n, room - n, "%s;\n%s\n", instruction, result);
    if (strchr(instruction, '|'))
        n += (size_t)snprintf(body + n, room - n, "selp.u64 %%rd32, 2, 0, %%p1;\nadd.u64 %%rd31, %%rd31, %%rd32;\n");
    snprintf(body + n, room - n, "st.global.b64 [%%rd21], %%rd31;\nret;\n");
}

/* Runs an instruction on its inputs; out: a result of 8 bytes each. */
static void run_form(const char *instruction, const struct inputs *in, const char *isa, uint64_t *out) {
    char body[4096];
    write_body(instruction, body, sizeof body);
    struct launch_buffer buffers[2] = {
        {.name = "in", .role = BUFFER_IN, .bytes = in->count * 24, .cell_bytes = 8, .data = (void *)in->v},
        {.name = "out", .role = BUFFER_OUT, .bytes = in->count * 8, .cell_bytes = 8, .data = (void *)out}};
    const struct machine_test test = {
        .body = body, .buffers = buffers, .buffer_count = 2, .grid = {(uint32_t)(in->count / 32)}, .isa = isa};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    cr_assert(t.event_count == 0, "%s: an event", instruction);
    trace_free(&t);
    ptx_free(m);
}

/* Compares a form's line; false, with why, at the first difference. plant: a bit of the first result is wrong. */
static bool agrees(char *line, const char *isa, bool plant, char *why, size_t room) {
    char *key = strchr(line, '\t'), *results = key ? strchr(key + 1, '\t') : NULL;
    cr_assert(results, "no results: %.60s", line);
    char instruction[200];
    snprintf(instruction, sizeof instruction, "%.*s", (int)(key - line), line);
    const struct inputs *in = inputs_of(key + 1);
    uint64_t out[MOST_INPUTS];
    run_form(instruction, in, isa, out);
    char *s = results + 1;
    for (size_t i = 0; i < in->count; ++i) {
        uint64_t want = strtoull(s, &s, 16);
        want ^= plant && i == 0;
        if (out[i] == want)
            continue;
        snprintf(why, room, "%s (%s) of %llx, %llx, %llx: an H200 gives %llx, the machine %llx", instruction, isa,
                 (unsigned long long)in->v[i][0], (unsigned long long)in->v[i][1], (unsigned long long)in->v[i][2],
                 (unsigned long long)want, (unsigned long long)out[i]);
        return false;
    }
    return true;
}

Test(machine_floats, every_float_form_as_an_h200) {
    struct error e;
    cr_assert(rcp_approx_load(RCP_TABLE, &e) && half_functions_load(HALF_FUNCTIONS, &e), "%s", e.text);
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    char *text = unpack(), *rest = text, why[500];
    size_t forms = 0;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        if (*line == '=') {
            read_inputs(line);
            continue;
        }
        ++forms;
        for (size_t i = 0; i < isa_count; ++i)
            cr_assert(agrees(line, isas[i], false, why, sizeof why), "%s", why);
        if (forms % 100 == 0)
            cr_assert(!agrees(line, "base", true, why, sizeof why), "planted: a wrong bit of %.60s went unseen", line);
    }
    cr_assert(forms >= LEAST_FORMS, "%zu forms, want %d", forms, LEAST_FORMS);
    free(text);
}
