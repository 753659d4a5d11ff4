/* Writes the seeds of the PTX machine's fuzzer into a folder: the PTX files that are given, large ones in slices; each
 * instruction of a list in a small kernel of its own; and those that run in one kernel.
 * Usage: ptx_corpus FOLDER RUNS REFUSED FILE.ptx ... */
#include "../../ref/checked.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WHOLE = 48000, SLICE_LINES = 70 };

static const char *folder;
static bool good = true;
static size_t seeds;

/* The launch is another one for each seed. */
static void write_seed(const char *name, const char *text, size_t n) {
    char *path = must_format("%s/%s-%zu.ptx", folder, name, ++seeds);
    FILE *out = fopen(path, "wb");
    bool written = out && fwrite(text, 1, n, out) == n && fprintf(out, "//%llx", seeds * 0x9e3779b97f4a7c15ull) > 0;
    written = (!out || fclose(out) == 0) && written;
    if (!written)
        fprintf(stderr, "ptx_corpus: cannot write %s\n", path);
    good &= written;
    free(path);
}

static char *read_text(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "ptx_corpus: cannot read %s\n", path);
        exit(2);
    }
    char *text = NULL;
    size_t room = 0;
    *size = 0;
    do {
        room = 2 * room + 65536;
        text = must_realloc(text, room, 1);
        *size += fread(text + *size, 1, room - *size - 1, f);
    } while (*size == room - 1);
    fclose(f);
    text[*size] = 0;
    return text;
}

static const char head[] =
    ".version 9.0\n.target sm_80\n.address_size 64\n"
    ".global .align 16 .b8 table[64];\n.const .align 16 .b8 fixed[64];\n.shared .align 16 .b8 tile[1024];\n"
    ".global .align 1 .b8 line[8] = {37, 100, 32, 37, 115, 10, 0, 0};\n"
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
    ".func f\n()\n{\nret;\n}\n.func (.param .b32 r) twice(.param .b32 a) {\n.reg .b32 %x;\nld.param.b32 %x, [a];\n"
    "add.u32 %x, %x, %x;\nst.param.b32 [r], %x;\nret;\n}\n.global .u64 ways[2] = {twice, f};\n"
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n)\n{\n.reg .pred %p<20>;\n.reg .b16 %h<40>;\n"
    ".reg .b32 %r<80>;\n.reg .f32 %f<40>;\n.reg .b64 %rd<40>;\n.reg .f64 %d<20>;\n"
    "mov.u32 %r20, %tid.x;\nshl.b32 %r21, %r20, 4;\nand.b32 %r21, %r21, 496;\ncvt.u64.u32 %rd20, %r21;\n"
    "ld.param.u64 %rd21, [p];\nld.param.u64 %rd22, [q];\nadd.s64 %rd1, %rd21, %rd20;\nadd.s64 %rd2, %rd22, %rd20;\n"
    "mov.u64 %rd3, %rd1;\nmov.u64 %rd4, %rd20;\n";
static const char tail[] = "st.global.u32 [%rd2], %r1;\nst.global.u64 [%rd2+8], %rd1;\ncvt.u32.u16 %r30, %h1;\n"
                           "st.global.u32 [%rd2+4], %r30;\nDONE:\nret;\n}\n";

/* Registers that hold small numbers, which are good addresses of shared memory too. */
static char *kernel(const char *body) {
    char *set = must_strdup("");
    for (int i = 1; i <= 12; ++i) {
        char *more = must_format("%sadd.s32 %%r%d, %%r21, %d;\ncvt.rn.f32.s32 %%f%d, %%r%d;\n", set, i, 16 * i, i, i);
        free(set);
        set = more;
        if (i > 6)
            continue;
        more = must_format("%scvt.u16.u32 %%h%d, %%r%d;\ncvt.f64.f32 %%d%d, %%f%d;\nst.shared.v2.u32 [%%r%d], "
                           "{%%r%d, %%r%d};\nsetp.gt.u32 %%p%d, %%r%d, 200;\n",
                           set, i, i, i, i, i, i, i, i, i);
        free(set);
        set = more;
    }
    char *text = must_format("%s%sbar.sync 0;\n%s%s", head, set, body, tail);
    free(set);
    return text;
}

static void write_kernel(const char *name, const char *body) {
    char *text = kernel(body);
    write_seed(name, text, strlen(text));
    free(text);
}

static void write_lines(const char *path, bool together) {
    size_t size;
    char *text = read_text(path, &size), *all = must_strdup("");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *one = must_format("%s\n", line), *scoped = must_format("%s{\n%s\n}\n", all, line);
        write_kernel("line", one);
        free(one);
        if (strncmp(line, "trap", 4)) {
            char *kept = all;
            all = scoped;
            scoped = kept;
        }
        free(scoped);
    }
    if (together)
        write_kernel("all", all);
    free(all);
    free(text);
}

/* Straight pieces of the first body of a large file, each with the declarations of the whole. */
static void write_slices(const char *text) {
    const char *body = strstr(text, "\n{\n");
    if (!body)
        return;
    char *start = must_format("%.*s", (int)(body + 3 - text), text);
    char *slice = NULL;
    size_t lines = 0;
    for (const char *s = body + 3, *end; *s && *s != '}'; s = end + (*end == '\n')) {
        const size_t n = strcspn(s, "\n");
        end = s + n;
        char *line = must_format("%.*s\n", (int)n, s);
        const bool declares = strstr(line, ".reg") || strstr(line, ".local") || strstr(line, ".shared .");
        if (declares) {
            char *more = must_format("%s%s", start, line);
            free(start);
            start = more;
        } else if (line[strspn(line, " \t")] != '{' && line[strspn(line, " \t")] != '}' && !strpbrk(line, ":") &&
                   !strstr(line, "bra") && !strstr(line, ".loc") && line[0] != '/') {
            char *more = must_format("%s%s", slice ? slice : "", line);
            free(slice);
            slice = more;
            ++lines;
        }
        free(line);
        if (slice && (lines == SLICE_LINES || *end == 0 || end[1] == '}')) {
            char *whole = must_format("%s%sret;\n}\n", start, slice);
            write_seed("slice", whole, strlen(whole));
            free(whole);
            free(slice);
            slice = NULL;
            lines = 0;
        }
    }
    free(start);
    free(slice);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: ptx_corpus FOLDER RUNS REFUSED FILE.ptx ...\n");
        return 2;
    }
    folder = argv[1];
    write_lines(argv[2], true);
    write_lines(argv[3], false);
    for (int i = 4; i < argc; ++i) {
        size_t size;
        char *text = read_text(argv[i], &size);
        if (size <= MOST_WHOLE)
            write_seed("file", text, size);
        else
            write_slices(text);
        free(text);
    }
    return good ? 0 : 2;
}
