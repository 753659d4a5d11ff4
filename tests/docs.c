/* README.md and docs/ are held to reality. In them
 *
 *   a block between ``` lines     each line `$ COMMAND` is run in the root of the project, and the lines that follow,
 *                                 up to the next command or the end of the block, are all that it prints
 *   a ```yaml block               is a launch file, or keys of one, that the reader accepts
 *   a ```ptx runs block           each line is an instruction that the PTX machine takes
 *   a ```ptx refused block        each line is an instruction that it refuses
 *   a link to a file              leads to one
 *
 * The command is build/warpproof there and $WARPPROOF here. */
#include "../gpu/machine/isa.h"
#include "../gpu/spec.h"
#include "../ref/checked.h"
#include "command_run.h"
#include "machine_run.h"
#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* One document under test, and what is wrong with it. */
struct check {
    const char *name;
    char *complaints; /* lines; owned */
    size_t commands, launch_files, taken, refused;
};

static void complain(struct check *c, size_t line, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void complain(struct check *c, size_t line, const char *format, ...) {
    va_list args;
    char *text;
    va_start(args, format);
    cr_assert(vasprintf(&text, format, args) >= 0, "no memory");
    va_end(args);
    char *longer = must_format("%s%s:%zu: %s\n", c->complaints, c->name, line, text);
    free(c->complaints);
    free(text);
    c->complaints = longer;
}

static char *read_all(FILE *f) {
    char *text = must_calloc(1, 1), buffer[4096];
    size_t length = 0;
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0; length += n) {
        text = must_realloc(text, length + n + 1, 1);
        memcpy(text + length, buffer, n);
        text[length + n] = 0;
    }
    return text;
}

static char *read_file(const char *path) {
    FILE *f = fopen(path, "r");
    cr_assert(f, "%s cannot be read: tests run in the root of the project", path);
    char *text = read_all(f);
    fclose(f);
    return text;
}

/* The line at s, without its end; *next = the line after it. The caller frees it. */
static char *line_at(const char *s, const char **next) {
    const size_t n = strcspn(s, "\n");
    *next = s + n + (s[n] == '\n');
    return must_format("%.*s", (int)n, s);
}

/* ---- commands ---- */

static char *output_of(const char *command) {
    static const char name[] = "build/warpproof";
    const char *binary = getenv("WARPPROOF");
    char *ready = must_strdup("");
    for (const char *s = command; *s;) {
        const char *at = strstr(s, name);
        const size_t n = at ? (size_t)(at - s) : strlen(s);
        char *longer = must_format("%s%.*s%s", ready, (int)n, s, !at ? "" : binary ? binary : name);
        free(ready);
        ready = longer;
        s += n + (at ? strlen(name) : 0);
    }
    char *whole = must_format("{ %s\n} 2>&1 </dev/null", ready);
    FILE *pipe = popen(whole, "r");
    cr_assert(pipe, "cannot run %s", whole);
    char *text = read_all(pipe);
    pclose(pipe);
    free(whole);
    free(ready);
    return text;
}

/* Says where the two part, and shows all of what was printed, ready to be pasted. */
static void compare(struct check *c, size_t line, const char *command, const char *said, const char *real) {
    const char *a = said, *b = real;
    for (++line; *a && *b; ++line) {
        const char *next_a, *next_b;
        char *want = line_at(a, &next_a), *got = line_at(b, &next_b);
        const bool same = !strcmp(want, got);
        free(want);
        free(got);
        if (!same)
            break;
        a = next_a;
        b = next_b;
    }
    if (!*a && !*b)
        return;
    complain(c, line, "`%s` prints something else\n- %.*s\n+ %.*s\nall that it prints:\n%s", command,
             (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b, real);
}

/* A block's lines from `text` up to `end`; the first of them is number `line`. */
/* Under the sanitisers, where tests of the same commands run on smaller things. */
static bool takes_minutes(const char *command) {
    static const char *const parts[] = {"census --table", "prove fragments | ", "explain --plant",
                                        "probe --plant",  "build/case.html",    "build/explain.json"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        if (strstr(command, parts[i])) {
            return true;
        }
    }
    return false;
}

static void check_commands(struct check *c, size_t line, const char *text, const char *end) {
    while (text < end) {
        const char *next;
        char *command = line_at(text, &next);
        const size_t at = line++;
        text = next;
        if (strncmp(command, "$ ", 2)) { /* a block without commands, or what stands above the first */
            free(command);
            continue;
        }
        const char *said = text;
        for (; text < end && strncmp(text, "$ ", 2); ++line)
            text += strcspn(text, "\n") + 1;
        if (command_stride() > 1 && takes_minutes(command)) {
            free(command);
            continue;
        }
        char *expected = must_format("%.*s", (int)(text - said), said), *real = output_of(command + 2);
        compare(c, at, command + 2, expected, real);
        ++c->commands;
        free(command);
        free(expected);
        free(real);
    }
}

/* ---- launch files ---- */

static bool has_key(const char *text, const char *key) {
    const size_t n = strlen(key);
    for (const char *s = text; *s;) {
        if (!strncmp(s, key, n))
            return true;
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    return false;
}

/* Keys that a part of a launch file does without are put in front of it. */
static void check_launch_file(struct check *c, size_t line, const char *text, size_t length) {
    char *part = must_format("%.*s", (int)length, text), path[40];
    char *whole = must_format("%s%s%s%s", has_key(part, "kernel:") ? "" : "kernel: k\n",
                              has_key(part, "ptx:") || has_key(part, "source:") ? "" : "ptx: k.ptx\n",
                              has_key(part, "launch:") ? "" : "launch: {grid: [1], block: [32]}\n", part);
    const int fd = memfd_create("launch", 0);
    cr_assert(fd >= 0 && write(fd, whole, strlen(whole)) == (ssize_t)strlen(whole), "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct error e;
    struct spec *s = spec_load(path, ".", &e);
    if (!s)
        complain(c, line, "the launch file is not read: %s", e.text);
    spec_free(s);
    close(fd);
    free(part);
    free(whole);
    ++c->launch_files;
}

/* ---- instructions ---- */

/* True when the machine takes the instruction, with declarations around it that it may use. */
static bool is_taken(const char *instruction, struct error *e) {
    static const char module_level[] =
        ".global .align 16 .b8 table[64];\n"
        ".const .align 16 .b8 fixed[64];\n"
        ".shared .align 16 .b8 tile[1024];\n"
        ".func f\n()\n{\nret;\n}\n"
        ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; "
        "add.u32 %x, %x, %x; st.param.b32 [r], %x; ret; }\n"
        ".extern .func (.param .b32 r) outside (.param .b32 a);\n"
        ".extern .func (.param .b64 r) malloc (.param .b64 a);\n";
    char *body = must_format("%s\nDONE:\nret;", instruction);
    char *text = ptx_text(module_level, ".param .u64 p, .param .u32 n", body);
    struct ptx_module *m = ptx_parse("k.ptx", text, strlen(text), e);
    const struct isa *isa = isa_choose(e);
    struct program *p = NULL;
    if (m && isa) {
        struct launch_arg args[2] = {{.buffer = -1, .bytes = 8}, {.buffer = -1, .bytes = 4}};
        const struct launch l = {
            .module = m, .entry = "k", .args = args, .arg_count = 2, .grid = {1, 1, 1}, .block = {32, 1, 1}};
        p = decode(&l, isa, 0, e);
    }
    const bool taken = p;
    program_free(p);
    ptx_free(m);
    free(text);
    free(body);
    return taken;
}

static void check_instructions(struct check *c, size_t line, const char *text, const char *end, bool run) {
    for (; text < end; ++line) {
        char *instruction = line_at(text, &text);
        struct error e = {""};
        const bool taken = is_taken(instruction, &e);
        if (run && !taken)
            complain(c, line, "the machine refuses `%s`, and should run it: %s", instruction, e.text);
        if (!run && taken)
            complain(c, line, "the machine takes `%s` now: no longer among the refused", instruction);
        *(run ? &c->taken : &c->refused) += 1;
        free(instruction);
    }
}

/* ---- documents ---- */

/* Links `](path)` to files, relative to the document's folder; those to the web and within the document are skipped. */
static void check_links(struct check *c, size_t line, const char *text) {
    const char *slash = strrchr(c->name, '/');
    for (const char *s = text; (s = strstr(s, "](")); ++s) {
        const size_t n = strcspn(s + 2, "#)");
        char *path = must_format("%.*s%.*s", slash ? (int)(slash - c->name) + 1 : 0, c->name, (int)n, s + 2);
        struct stat st;
        if (n && !strstr(path, "://") && stat(path, &st))
            complain(c, line, "a link leads to %s, which is not there", path);
        free(path);
    }
}

static void check_block(struct check *c, size_t line, const char *info, const char *text, const char *end) {
    if (!strcmp(info, ""))
        check_commands(c, line, text, end);
    else if (!strcmp(info, "yaml"))
        check_launch_file(c, line, text, (size_t)(end - text));
    else if (!strcmp(info, "ptx runs") || !strcmp(info, "ptx refused"))
        check_instructions(c, line, text, end, !strcmp(info, "ptx runs"));
    else if (strcmp(info, "python") && strcmp(info, "cuda") && strcmp(info, "sh"))
        complain(c, line - 1, "a block of a kind that nothing checks: %s", info);
}

/* The caller frees .complaints; empty when all is well. */
static struct check check_document(const char *name, const char *text) {
    struct check c = {.name = name, .complaints = must_strdup("")};
    size_t line = 1, begin = 0;
    const char *from = NULL;
    char *info = NULL;
    for (const char *s = text; *s; ++line) {
        const char *at = s;
        char *one = line_at(s, &s);
        if (strncmp(one, "```", 3)) {
            if (!from)
                check_links(&c, line, one);
        } else if (!from) {
            from = s;
            begin = line + 1;
            info = must_strdup(one + 3);
        } else {
            check_block(&c, begin, info, from, at);
            from = NULL;
            free(info);
            info = NULL;
        }
        free(one);
    }
    if (from)
        complain(&c, begin - 1, "this block has no end");
    if (!c.commands)
        complain(&c, 1, "no command stands here: nothing holds this document to reality");
    free(info);
    return c;
}

static struct check check_file(const char *path) {
    char *text = read_file(path);
    struct check c = check_document(path, text);
    cr_expect(!*c.complaints, "\n%s", c.complaints);
    free(c.complaints);
    free(text);
    return c;
}

Test(docs, every_document_says_what_is_so, .timeout = 600) {
    char *readme = read_file("README.md");
    DIR *folder = opendir("docs");
    cr_assert(folder, "there is no folder docs");
    size_t found = 0;
    check_file("README.md");
    for (const struct dirent *f; (f = readdir(folder));) {
        const size_t n = strlen(f->d_name);
        if (n < 3 || strcmp(f->d_name + n - 3, ".md"))
            continue;
        char *path = must_format("docs/%s", f->d_name);
        const struct check c = check_file(path);
        cr_expect(strstr(readme, path), "README.md does not lead to %s", path);
        if (!strcmp(f->d_name, "launch-file.md"))
            cr_expect(c.launch_files >= 8, "only %zu launch files in %s", c.launch_files, path);
        if (!strcmp(f->d_name, "instructions.md"))
            cr_expect(c.taken >= 60 && c.refused >= 60, "only %zu and %zu instructions in %s", c.taken, c.refused,
                      path);
        free(path);
        ++found;
    }
    closedir(folder);
    cr_expect(found >= 3, "only %zu documents in docs", found);
    free(readme);
}

Test(docs, a_document_that_is_wrong_is_found) {
    static const struct {
        const char *text, *complaint; /* NULL: it is right */
    } documents[] = {
        {"```\n$ echo one; echo two\none\ntwo\n$ true\n$ echo three\nthree\n```\n", NULL},
        {"```\n$ build/warpproof list kernels | grep -c mmq_wide_ldb_kd8\n1\n```\n", NULL},
        {"```\n$ echo one; echo two\none\ntow\n```\n",
         "x.md:4: `echo one; echo two` prints something else\n- tow\n+ two\n"},
        {"```\n$ echo one; echo two\none\n```\n", "x.md:4: "},
        {"```\n$ echo one\none\ntwo\n```\n", "- two\n+ \n"},
        {"```\n$ echo one\n one\n```\n", "-  one\n+ one\n"},
        {"```\n$ echo one\n```\n", "- \n+ one\n"},
        {"```\n$ echo one\none\n", "x.md:1: this block has no end"},
        {"Nothing to run.\n", "x.md:1: no command stands here"},
        {"```\nno command\n```\n", "x.md:1: no command stands here"},
        {"```\n$ true\n```\n[a](README.md) [b](#part) [c](https://host/x) [d](gpu/spec.h#part)\n", NULL},
        {"```\n$ true\n```\n[a](nosuch.md)\n", "x.md:4: a link leads to nosuch.md"},
        {"```\n$ true\n```\n```yaml\nshape: {n: 1}\n```\n", NULL},
        {"```\n$ true\n```\n```yaml\nshapes: {n: 1}\n```\n", "x.md:5: the launch file is not read: "},
        {"```\n$ true\n```\n```ptx runs\nadd.s32 %r1, %r2, %r3;\n```\n", NULL},
        {"```\n$ true\n```\n```ptx runs\nadd.s33 %r1, %r2, %r3;\n```\n", "x.md:5: the machine refuses `add.s33"},
        {"```\n$ true\n```\n```ptx refused\nadd.s33 %r1, %r2, %r3;\n```\n", NULL},
        {"```\n$ true\n```\n```ptx refused\nadd.s32 %r1, %r2, %r3;\n```\n", "x.md:5: the machine takes `add.s32"},
        {"```\n$ true\n```\n```C\nint x;\n```\n", "x.md:4: a block of a kind that nothing checks: C"},
    };
    for (size_t i = 0; i < sizeof documents / sizeof *documents; ++i) {
        struct check c = check_document("x.md", documents[i].text);
        const char *want = documents[i].complaint;
        cr_expect(want ? !!strstr(c.complaints, want) : !*c.complaints, "document %zu: want \"%s\" in:\n%s", i,
                  want ? want : "", c.complaints);
        free(c.complaints);
    }
}

/* What docs/my-kernel.md expects of its kernel comes from the definition, y[i] = d[i / 32] * q[i]. */
Test(docs, expected_bytes_of_the_example_are_right) {
    static const float d[4] = {0.5f, -0.25f, 3.0f, 0.1f};
    float y[100], got[101], scales[5];
    for (int i = 0; i < 100; ++i)
        y[i] = (float)((double)d[i / 32] * i); /* exact in float64: one rounding */
    FILE *f = fopen("docs/examples/y.bin", "rb"), *s = fopen("docs/examples/scales.bin", "rb");
    cr_assert(f && s, "docs/examples/y.bin or scales.bin cannot be read");
    cr_expect(fread(scales, 1, sizeof scales, s) == sizeof d && !memcmp(scales, d, sizeof d), "scales.bin differs");
    cr_expect(fread(got, 1, sizeof got, f) == sizeof y && !memcmp(got, y, sizeof y), "y.bin differs");
    fclose(f);
    fclose(s);
}
