/* The PTX machine against damaged programs that still parse: whatever they do, the launch ends, touches nothing but its
 * own buffers, leaves a sound trace, and gives the same bytes for every number of threads. Same mutations on every run;
 * the sanitisers of `make asan` see the rest. */
#include "../ref/random.h"
#include "machine_run.h"

static const char *const seed_body =
    "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n"
    "mad.lo.s32 %r3, %r2, 64, %r1;\nmul.wide.s32 %rd3, %r3, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"
    "ld.global.nc.u32 %r4, [%rd4];\nand.b32 %r5, %r1, 31;\nshl.b32 %r6, %r1, 4;\nmov.u32 %r7, sm;\nadd.s32 %r8, %r7, "
    "%r6;\n"
    "st.shared.v4.u32 [%r8], {%r4, %r1, %r5, %r6};\nbar.sync 0;\nand.b32 %r9, %r6, 1008;\nadd.s32 %r10, %r7, %r9;\n"
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r11, %r12, %r13, %r14}, [%r10];\n"
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r15, %r16, %r17, %r18}, {%r11, %r12, %r13, %r14}, {%r4, %r5}, "
    "{%r1, %r2, %r5, %r6};\n"
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f11, %f12, %r17, %r18}, {%r11, %r12, %r13, %r14}, {%r4, "
    "%r5}, "
    "{%r15, %r16, %r17, 0f3F800000};\n"
    "mov.u32 %r20, 0;\nLOOP:\nadd.s32 %r20, %r20, 1;\nxor.b32 %r21, %r15, %r20;\nsetp.lt.s32 %p1, %r20, %r5;\n"
    "@%p1 bra LOOP;\nsetp.gt.u32 %p2, %r5, 15;\n@%p2 bra ELSE;\nshfl.sync.bfly.b32 %r22, %r21, 1, 31, 65535;\n"
    "prmt.b32 %r21, %r22, %r4, 21554;\nbra.uni JOIN;\nELSE:\ncvt.rn.f32.s32 %f1, %r21;\nfma.rn.f32 %f2, %f1, %f1, "
    "0f3F800000;\ncvt.rzi.s32.f32 %r21, %f2;\nJOIN:\nvote.sync.ballot.b32 %r23, %p2, -1;\nadd.s32 %r21, %r21, %r23;\n"
    "setp.eq.s32 %p3, %r5, 31;\n@!%p3 st.global.u32 [%rd5], %r21;\n@%p3 bra TAIL;\nret;\nTAIL:\nmov.b64 %rd6, {%r21, "
    "%r4};\n"
    "shr.u64 %rd6, %rd6, 7;\ncvt.u32.u64 %r24, %rd6;\nbar.warp.sync -1;\nst.global.u32 [%rd5], %r24;\nret;\n";

static const char shared_level[] = ".extern .shared .align 16 .b8 sm[];";

static const char call_level[] =
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 fmt[12] = {37, 100, 32, 37, 115, 32, 37, 42, 100, 10, 0, 0};\n"
    ".func (.param .b32 r) fib (.param .b32 n)\n{\n.reg .b32 %a<8>;\n.reg .pred %q;\n.local .align 8 .b8 mine[8];\n"
    "ld.param.b32 %a1, [n];\nst.local.u32 [mine+4], %a1;\nsetp.lt.u32 %q, %a1, 2;\n@%q bra DONE;\n"
    "{ .param .b32 x; .param .b32 y; sub.u32 %a2, %a1, 1;\nst.param.b32 [x], %a2; call.uni (y), fib, (x);\n"
    "ld.param.b32 %a3, [y]; }\nld.local.u32 %a1, [mine+4];\nsub.u32 %a1, %a1, 1;\n"
    "add.u32 %a1, %a3, %a1;\nDONE:\nst.param.b32 [r], %a1;\nret;\n}\n"
    ".func (.param .b32 r) twice (.param .b32 n)\n{ .reg .b32 %a; ld.param.b32 %a, [n]; add.u32 %a, %a, %a;\n"
    "st.param.b32 [r], %a; ret; }\n.global .u64 tab[2] = {fib, twice};\n.extern .shared .align 16 .b8 sm[];";

static const char *const call_body =
    ".local .align 16 .b8 list[64];\nld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u32 %r1, %tid.x;\n"
    "mov.u32 %r2, %ctaid.x;\nmad.lo.s32 %r3, %r2, 64, %r1;\nmul.wide.s32 %rd3, %r3, 4;\nadd.s64 %rd4, %rd1, %rd3;\n"
    "add.s64 %rd5, %rd2, %rd3;\nld.global.u32 %r4, [%rd4];\nand.b32 %r5, %r1, 7;\nand.b32 %r6, %r1, 1;\n"
    "mov.u64 %rd6, list;\ncvta.local.u64 %rd7, %rd6;\nmul.wide.u32 %rd8, %r5, 4;\nadd.s64 %rd9, %rd7, %rd8;\n"
    "st.local.v4.u32 [%rd6], {%r1, %r2, %r3, %r4};\nst.local.v4.u32 [%rd6+16], {%r5, %r6, %r1, %r2};\n"
    "ld.u32 %r7, [%rd9];\nmov.u64 %rd10, tab;\nmul.wide.u32 %rd11, %r6, 8;\nadd.s64 %rd12, %rd10, %rd11;\n"
    "ld.global.u64 %rd13, [%rd12];\n"
    "{ .param .b32 x; .param .b32 y; P: .callprototype (.param .b32 _) _ (.param .b32 _);\nst.param.b32 [x], %r5;\n"
    "call (y), %rd13, (x), P;\nld.param.b32 %r8, [y]; }\nadd.u32 %r7, %r7, %r8;\n"
    "setp.gt.u32 %p1, %r5, 2;\n@%p1 bra ELSE;\nT: .branchtargets LOOP, ELSE, JOIN;\nbrx.idx %r5, T;\n"
    "LOOP:\nadd.u32 %r7, %r7, 5;\nbra JOIN;\nELSE:\nxor.b32 %r7, %r7, %r4;\n"
    "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r6; call (y), fib, (x); ld.param.b32 %r9, [y]; }\n"
    "add.u32 %r7, %r7, %r9;\nJOIN:\nsetp.eq.s32 %p3, %r1, 31;\n@!%p3 bra TAIL;\n"
    "st.local.u32 [%rd6+32], %r7;\nmov.u64 %rd14, fmt;\nst.local.u64 [%rd6+40], %rd14;\nst.local.u32 [%rd6+48], 8;\n"
    "st.local.u32 [%rd6+52], %r7;\nadd.s64 %rd15, %rd7, 32;\n"
    "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd14; st.param.b64 [a], %rd15;\n"
    "call.uni (r), vprintf, (f, a); ld.param.b32 %r10, [r]; }\nadd.u32 %r7, %r7, %r10;\n"
    "TAIL:\nalloca.u64 %rd16, 32;\nst.local.u32 [%rd16+28], %r7;\nld.local.u32 %r11, [%rd16+28];\n"
    "st.global.u32 [%rd5], %r11;\nret;\n";

static const char *module_level;

enum { THREADS = 64, BLOCKS = 3, CELLS = THREADS * BLOCKS, MOST_WORDS = 1024, ROUNDS = 4000 };

static struct random_stream dice;

/* The body as words of [%$A-Za-z0-9_.-] and what stands between them. A mutation puts another word of the same class in
 * a word's place, so that most programs still decode. */
struct word {
    size_t at, length;
    char class; /* r: 32-bit register, d: 64-bit, f: float, p: predicate, n: number, l: label, o: anything else */
};
static struct word words[MOST_WORDS];
static size_t word_count;

static char class_of(const char *w, size_t n) {
    static const char *const labels[] = {"LOOP", "ELSE", "JOIN", "TAIL"};
    for (size_t i = 0; i < 4; ++i) {
        if (n == 4 && strncmp(w, labels[i], 4) == 0) {
            return 'l';
        }
    }
    if (w[0] == '%' && n > 2 && strchr("rfp", w[1]) != NULL && strspn(w + 2, "0123456789") == n - 2) {
        return w[1];
    }
    if (n > 3 && strncmp(w, "%rd", 3) == 0) {
        return 'd';
    }
    return w[strspn(w, "-")] >= '0' && w[strspn(w, "-")] <= '9' ? 'n' : 'o';
}

static void cut_words(const char *text) {
    static const char letters[] = "%$_.-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (const char *p = text; *p;) {
        const size_t n = strspn(p, letters);
        if (n > 0) {
            cr_assert(word_count < MOST_WORDS, "more words than the test expects");
            words[word_count++] = (struct word){(size_t)(p - text), n, class_of(p, n)};
        }
        p += n > 0 ? n : 1;
    }
}

static const char *const numbers[] = {"0",  "-1",   "1",     "2",          "15",          "31",        "32",
                                      "33", "1024", "65536", "2147483647", "-2147483648", "0x7ffffff0"};

/* The seed with up to four words replaced. */
static char *mutate(const char *seed) {
    size_t chosen[4], by[4], count = 1 + random_below(&dice, 4);
    for (size_t k = 0; k < count; ++k) {
        chosen[k] = random_below(&dice, (uint32_t)word_count);
        do {
            by[k] = random_below(&dice, (uint32_t)word_count);
        } while (words[by[k]].class != words[chosen[k]].class && random_below(&dice, 400) != 0);
    }
    char *text = calloc(2 * strlen(seed) + 256, 1);
    size_t length = 0;
    for (size_t i = 0, from = 0; i <= word_count; ++i) {
        const size_t to = i < word_count ? words[i].at : strlen(seed);
        length += (size_t)sprintf(text + length, "%.*s", (int)(to - from), seed + from);
        if (i == word_count) {
            break;
        }
        const char *word = seed + words[i].at;
        size_t n = words[i].length;
        for (size_t k = 0; k < count; ++k) {
            if (chosen[k] == i) {
                word = seed + words[by[k]].at;
                n = words[by[k]].length;
                if (words[i].class == 'n' && random_below(&dice, 2) != 0) {
                    word = numbers[random_below(&dice, sizeof numbers / sizeof *numbers)];
                    n = strlen(word);
                }
            }
        }
        length += (size_t)sprintf(text + length, "%.*s", (int)n, word);
        from = words[i].at + words[i].length;
    }
    return text;
}

struct left { /* what a launch left behind */
    bool ran;
    uint32_t out[CELLS];
    uint64_t steps;
    size_t events;
    struct event first;
};

static struct left run(const char *body, int threads) {
    uint32_t *in = malloc(4 * CELLS), *out = malloc(4 * CELLS); /* of their own, so that ASan sees one byte too many */
    for (uint32_t i = 0; i < CELLS; ++i) {
        in[i] = i * 2654435761u;
        out[i] = 0x7fa5dead;
    }
    struct launch_buffer b[2] = {
        {.name = "in", .role = BUFFER_IN, .bytes = 4 * CELLS, .cell_bytes = 4, .data = (uint8_t *)in},
        {.name = "out", .role = BUFFER_OUT, .bytes = 4 * CELLS, .cell_bytes = 4, .data = (uint8_t *)out}};
    const struct launch_plane planes[2] = {{"low", 0, 1024}, {"high", 1024, 1024}};
    const struct machine_test t = {.module_level = module_level,
                                   .body = body,
                                   .buffers = b,
                                   .buffer_count = 2,
                                   .grid = {BLOCKS},
                                   .block = {THREADS},
                                   .shared = 2048,
                                   .planes = planes,
                                   .plane_count = 2,
                                   .budget = 3000,
                                   .threads = threads};
    struct ptx_module *module;
    struct trace trace;
    struct error e = {0};
    struct left left = {.ran = machine_try(&t, &module, &trace, &e)};
    cr_assert(left.ran || e.text[0] != 0, "a refusal without a message:\n%s", body);
    if (left.ran) {
        left.steps = trace.warp_instructions;
        left.events = trace.event_count;
        for (size_t i = 0; i < trace.event_count; ++i) {
            const struct event *v = &trace.events[i];
            cr_assert(v->instruction < trace.site_count && v->lane < 32 && v->warp < 2 && v->block[0] < BLOCKS &&
                          v->plane < 2 && v->other_plane < 2 && v->buffer < 2 && v->kind < EVENT_KINDS && v->count > 0,
                      "an unsound event:\n%s", body);
        }
        left.first = trace.event_count ? trace.events[0] : (struct event){0};
        memcpy(left.out, out, sizeof left.out);
        for (uint32_t i = 0; i < CELLS; ++i) {
            cr_assert(in[i] == i * 2654435761u, "an input was changed:\n%s", body);
        }
    }
    trace_free(&trace);
    ptx_free(module);
    free(in);
    free(out);
    return left;
}

static bool same(const struct left *a, const struct left *b) {
    return a->ran == b->ran && a->steps == b->steps && a->events == b->events &&
           memcmp(a->out, b->out, sizeof a->out) == 0 && a->first.kind == b->first.kind &&
           a->first.instruction == b->first.instruction && a->first.offset == b->first.offset &&
           a->first.block[0] == b->first.block[0] && a->first.lane == b->first.lane && a->first.count == b->first.count;
}

/* All of one seed, the same way on every run. */
static void fuzz(const char *name, const char *seed, const char *level) {
    dice = random_open(random_key(name), 0);
    module_level = level;
    cut_words(seed);
    const struct left whole = run(seed, 1);
    cr_assert(whole.ran && whole.events == 0,
              "the seed itself does not run cleanly: ran %d, %zu events, the first %d at instruction %zu", whole.ran,
              whole.events, whole.first.kind, whole.first.instruction);
    size_t ran = 0, changed = 0, with_events = 0;
    for (int i = 0; i < ROUNDS; ++i) {
        char *body = mutate(seed);
        const struct left one = run(body, 1), three = run(body, 3);
        cr_assert(same(&one, &three),
                  "1 and 3 threads differ: ran %d %d, %llu and %llu steps, %zu and %zu events, the first %d and %d, "
                  "equal bytes %d:\n%s",
                  one.ran, three.ran, (unsigned long long)one.steps, (unsigned long long)three.steps, one.events,
                  three.events, one.first.kind, three.first.kind, !memcmp(one.out, three.out, sizeof one.out), body);
        ran += one.ran;
        with_events += one.events > 0;
        changed += one.ran && memcmp(one.out, whole.out, sizeof one.out) != 0;
        free(body);
    }
    cr_assert(ran > ROUNDS / 4 && changed > ROUNDS / 20 && with_events > ROUNDS / 50,
              "of %d programs only %zu ran, %zu gave another result, %zu had events: the mutations prove little",
              ROUNDS, ran, changed, with_events);
}

Test(fuzz_machine, damaged_programs_end_and_do_no_harm, .timeout = 300) {
    fuzz("fuzz_machine", seed_body, shared_level);
}

/* The same of calls, frames, function pointers, local memory, indexed branches and printf. */
Test(fuzz_machine, damaged_calls_end_and_do_no_harm, .timeout = 300) {
    fuzz("fuzz_machine/calls", call_body, call_level);
}
