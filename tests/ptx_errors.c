/* PTX front end, what it says about text that is wrong: the place, the message, the line and the caret. */
#include "../gpu/ptx/ptx.h"
#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER ".version 9.0\n.target sm_80\n.address_size 64\n"
#define KERNEL HEADER ".entry k()\n{\n.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n" /* next is line 7 */

/* What is wrong with (size) bytes of text, as text of an error; empty when nothing is. */
static struct error complaint_about(const char *text, size_t size) {
    struct error e = {""};
    struct ptx_module *m = ptx_parse("t.ptx", text, size, &e);
    if (m)
        e.text[0] = 0;
    ptx_free(m);
    return e;
}

/* The error's first line is "t.ptx:PLACE: " and holds the words. */
static bool complains(const char *text, const char *place, const char *words, struct error *e) {
    *e = complaint_about(text, strlen(text));
    char *start = must_format("t.ptx:%s: ", place);
    const char *end = strchr(e->text, '\n'), *found = strstr(e->text, words);
    bool ok = !strncmp(e->text, start, strlen(start)) && found && end && found < end;
    free(start);
    return ok;
}

Test(ptx_errors, every_kind_names_its_place) {
    static const struct {
        const char *text, *place, *words;
    } rows[] = {
        /* header */
        {"", "1:1", "expected '.version' as the first statement, found the end of the file"},
        {".version x", "1:10", "expected a version such as 9.0, found 'x'"},
        {".version 9e1", "1:10", "expected a version"},
        {".version 9.0\n.address_size 64", "2:1", "expected '.target' after .version"},
        {".version 9.0\n.target 80", "2:9", "expected a target such as sm_80"},
        {".version 99.0", "1:10", "PTX version 99.0 is unknown; known are 1.0 to 9.2"},
        {".version 9.3", "1:10", "PTX version 9.3 is unknown"},
        {".version 0.9", "1:10", "PTX version 0.9 is unknown"},
        {".version 9.2\n.target sm_999", "2:9", "target 'sm_999' is unknown; known are sm_10 to sm_121"},
        {".version 9.0\n.target sm_89a", "2:9", "target 'sm_89a' is unknown"},
        {".version 9.0\n.target sm_90f", "2:9", "target 'sm_90f' is unknown"},
        {".version 9.0\n.target sm_100ax", "2:9", "target 'sm_100ax' is unknown"},
        {".version 9.0\n.target sm_80\n.entry k() {}", "3:1", "expected '.address_size 64'"},
        {".version 9.0\n.target sm_80\n.address_size 32", "3:15", "only .address_size 64"},
        {HEADER "ret;", "4:1", "expected a directive of the module, found 'ret'"},
        {HEADER ".texref t;", "4:1", "expected a directive of the module, found '.texref'"},
        {HEADER ".alias a, b;", "4:1", "found '.alias'"},
        {HEADER ".reg .b32 r;", "4:1", "registers outside of a function"},
        {HEADER ".file 70000 \"a\"", "4:7", "a file number is at most 65535"},
        {HEADER ".file 1 a", "4:9", "expected a path in quotes"},
        {HEADER ".section .debug_str { { }", "4:1", "this section never ends"},
        /* characters */
        {"\xef\xbb\xbf.version 9.0", "1:1", "a byte order mark is not accepted"},
        {"\n\xef\xbb\xbf.version 9.0", "2:1", "unexpected character '\\xef'"},
        {KERNEL "add.s32 \001;", "7:9", "unexpected character '\\x01'"},
        {KERNEL "add.s32 #;", "7:9", "unexpected character '#'"},
        {KERNEL "/* ...", "7:1", "this comment never ends"},
        {HEADER ".file 1 \"a\n", "4:9", "this string never ends"},
        {HEADER ".file 1 \"a", "4:9", "this string never ends"},
        {HEADER ".file 1 \"a\002\"", "4:11", "control character 0x02 in a string"},
        /* numbers */
        {KERNEL "mov.b32 %r1, 0x;", "7:14", "a number without digits"},
        {KERNEL "mov.b32 %r1, 0xg;", "7:14", "'g' is no digit of a number to the base 16"},
        {KERNEL "mov.b32 %r1, 09;", "7:14", "'9' is no digit of a number to the base 8"},
        {KERNEL "mov.b32 %r1, 0b2;", "7:14", "to the base 2"},
        {KERNEL "mov.b32 %r1, 18446744073709551616;", "7:14", "does not fit 64 bits"},
        {KERNEL "mov.b32 %r1, 0f3F80;", "7:14", "0f takes exactly 8 hexadecimal digits, here are 4"},
        {KERNEL "mov.b32 %r1, 0d3F800000;", "7:14", "0d takes exactly 16"},
        {KERNEL "mov.b32 %r1, 1.2.3;", "7:14", "malformed number '1.2.3'"},
        {KERNEL "mov.b32 %r1, 1e999;", "7:14", "does not fit a double"},
        /* constant expressions */
        {KERNEL "mov.b32 %r1, 1/0;", "7:15", "division by zero"},
        {KERNEL "mov.b32 %r1, 1 % (2-2);", "7:16", "division by zero"},
        {KERNEL "mov.b32 %r1, 1<<64;", "7:15", "a shift by 64"},
        {KERNEL "mov.b32 %r1, 1>>-1;", "7:15", "a shift by -1"},
        {KERNEL "mov.b32 %r1, 1.0+1;", "7:17", "arithmetic on floating-point constants is not supported"},
        {KERNEL "mov.b32 %r1, ~1.0;", "7:14", "'~' on a floating-point constant"},
        {KERNEL "mov.b32 %r1, (1;", "7:16", "expected ')', found ';'"},
        {KERNEL "mov.b32 %r1, 1+;", "7:16", "expected a constant, found ';'"},
        /* instructions and operands */
        {KERNEL "add.s32 %r1, %r2", "8:1", "expected ',', found the end of the file"},
        {KERNEL "add.s32 %r1 %r2;", "7:13", "expected ',', found '%r2'"},
        {KERNEL "add.s32 %r1, ;", "7:14", "expected an operand, found ';'"},
        {KERNEL ";", "7:1", "expected a statement, found ';'"},
        {KERNEL "%r1;", "7:1", "expected an instruction, found '%r1'"},
        {KERNEL "@%p1 ;", "7:6", "expected an instruction, found ';'"},
        {KERNEL "@%r1 ret;", "7:2", "'%r1' is not a predicate register"},
        {KERNEL "@%q1 ret;", "7:2", "'%q1' is not declared"},
        {KERNEL "@5 ret;", "7:2", "expected a predicate register"},
        {KERNEL "mov.b32 %r1, {};", "7:14", "a vector without elements"},
        {KERNEL "mov.b32 %r1, {{1}};", "7:15", "expected an operand, found '{'"},
        {KERNEL "mov.b32 %r1, !5x;", "7:15", "'x' is no digit"},
        {KERNEL "mov.b32 %r1, !k;", "7:15", "only a register can follow '!'"},
        {KERNEL "mov.b32 %r1, %r2.x;", "7:17", "elements of vector registers are not supported"},
        {KERNEL "mov.b32 %r1, %tid.q;", "7:18", "expected .x, .y, .z or .w"},
        {KERNEL "ld.b32 %r1, [];", "7:14", "expected an address, found ']'"},
        {KERNEL "ld.b32 %r1, [%rd1;", "7:18", "expected ']', found ';'"},
        {KERNEL "ld.b32 %r1, [k];", "7:14", "'k' is neither a register nor a variable"},
        {KERNEL "ld.b32 %r1, [nowhere];", "7:14", "'nowhere' is not declared"},
        {KERNEL "ld.b32 %r1, [%rd1+%rd2];", "7:19", "expected a constant, found '%rd2'"},
        {KERNEL "ld.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.b32 %r1, [0];", "7:35", "an opcode of more than 16 parts"},
        /* names */
        {KERNEL "mov.b32 %r9, 0;", "7:9", "'%r9' is not declared"},
        {KERNEL "mov.b32 %r01, 0;", "7:9", "'%r01' is not declared"},
        {KERNEL "mov.b32 %r1, later;\n.reg .b32 later;\n}", "7:14", "'later' is used before it is declared"},
        {KERNEL "mov.b32 %later, 1; .reg .b32 %later;\n}", "7:9", "'%later' is not declared"},
        {KERNEL "mov.b32 %r1, nothing;\n}", "7:14", "'nothing' is not declared"},
        {KERNEL "{ .reg .b32 x; } mov.b32 x, 0; }", "7:26", "'x' is not declared"},
        {KERNEL "bra L; }", "7:5", "label 'L' is not defined in this function"},
        {KERNEL "bra L; { L: ret; } }", "7:5", "label 'L' is not defined in this function"},
        {KERNEL "bra k; }", "7:5", "label 'k' is not defined in this function"},
        {KERNEL "L: L: ret;", "7:4", "'L' is declared twice in the same scope"},
        {KERNEL "bra x; .reg .b32 x; }", "7:5", "'x' is not a label"},
        {KERNEL "bra 5; }", "7:1", "bra needs one label"},
        {KERNEL "bra; }", "7:1", "bra needs one label"},
        {KERNEL "mov.b32 %r1, L+4; L: }", "7:14", "a displacement on 'L', which is no variable"},
        {KERNEL ".reg .b32 a, a;", "7:14", "'a' is declared twice in the same scope"},
        {KERNEL ".reg .b32 %r<5>;", "7:11", "'%r' is declared twice in the same scope"},
        {KERNEL ".reg .b32 %r5; mov.b32 %r5, 0;", "7:24", "declared twice in the same scope, by name and by range"},
        {KERNEL ".reg .b32 x<20>, x1<9>; mov.b32 x12, 0;", "7:33", "declared by two ranges of the same scope"},
        {KERNEL ".reg .b32 x<1000000001>;", "7:13", "the size of a range of names is at most 1000000000"},
        {KERNEL ".reg .b32 x123456789<5>;", "7:11", "ends in too many digits"},
        {KERNEL ".reg .v2 .b32 x;", "7:6", "vector registers"},
        {KERNEL ".reg x;", "7:6", "expected a type such as .u32, found 'x'"},
        {KERNEL ".reg .b33 x;", "7:6", "expected a type such as .u32, found '.b33'"},
        /* variables */
        {HEADER ".global .align 3 .b8 x;", "4:16", "an alignment is a power of two, not 3"},
        {HEADER ".global .b8 x[-1];", "4:14", "an extent of -1"},
        {HEADER ".global .b8 x[4611686018427387904][8];", "4:35", "the array does not fit the address space"},
        {HEADER ".global .b64 x[4611686018427387904];", "4:14", "the array does not fit the address space"},
        {HEADER ".global .b8 x[];", "4:13", "'x' has neither a size nor an initial value"},
        {HEADER ".global .b8 x[] = {};", "4:19", "'x' has neither a size nor an initial value"},
        {HEADER ".global .b8 x[1][1][1][1][1][1][1][1][1];", "4:38", "more than 8 dimensions"},
        {HEADER ".global .b8 x[2] = {1, 2, 3};", "4:27", "more initial values than 'x' has elements"},
        {HEADER ".global .b8 x[2][2] = {{1, 2, 3}};", "4:31", "more initial values than 'x' has elements here"},
        {HEADER ".global .b8 x[2] = {{1}};", "4:21", "more braces than 'x' has dimensions"},
        {HEADER ".global .b8 x[2][2] = {1, {2}};", "4:27", "a list in braces after an incomplete row"},
        {HEADER ".global .b8 x = 256;", "4:17", "256 does not fit 8 bits"},
        {HEADER ".global .b8 x = -129;", "4:17", "-129 does not fit 8 bits"},
        {HEADER ".global .b8 x = 1.0;", "4:17", "a floating-point value does not fit this type"},
        {HEADER ".global .f16 x = 1.0;", "4:18", "give 16-bit floating-point values as integers"},
        {HEADER ".global .b8 y; .global .b8 x = y;", "4:32", "an address needs 8 or 4 bytes"},
        {HEADER ".global .b64 x = y;", "4:18", "'y' is not declared"},
        {HEADER ".global .b8 y; .global .u64 x = 0xFF(y);", "4:33", "masked addresses"},
        {HEADER ".shared .b32 x = 1;", "4:16", "only .global and .const variables have initial values"},
        {HEADER ".extern .global .b32 x = 1;", "4:24", "an .extern variable has no initial value"},
        {HEADER ".extern .shared .b32 x;", "4:22", ".extern .shared needs an array, such as 'x[]'"},
        {HEADER ".global .pred x;", "4:15", "a .pred lives in registers only"},
        {HEADER ".global .b32 x; .global .b32 x;", "4:30", "'x' is declared twice"},
        {HEADER ".global .b32 x<4>;", "4:15", "ranges of names are supported for registers only"},
        {HEADER ".local .b32 x; .local .b32 x;", "4:28", "'x' is declared twice"},
        {HEADER ".param .b32 x;", "4:8", ".param outside of a function"},
        {HEADER ".shared .b8 x[4294967296];", "4:13", "'x' takes 4294967296 bytes, at most 4294967295"},
        {HEADER ".global .b8 x[1099511627777];", "4:13", "at most 1099511627776 are supported"},
        {HEADER ".global .b8 x[4000000000] = {1};", "4:29", "the program needs more than 2048 MiB"},
        /* functions */
        {HEADER ".func (.reg .b32 r) f (.reg .b32 r) { ret; }", "4:34", "'r' is declared twice in the same scope"},
        {HEADER ".func f (.reg .v2 .b32 r) { ret; }", "4:24", "a parameter in a register has a type of 1 to 8 bytes"},
        {HEADER ".func f (.reg .pred r) { ret; }", "4:21", "a parameter in a register has a type of 1 to 8 bytes"},
        {HEADER ".entry k(.reg .b32 x)", "4:10", "expected '.param' or ')'"},
        {HEADER ".entry (.param .b32 r) k () { ret; }", "4:8", "an entry returns nothing"},
        {HEADER ".entry k(.b32 x)", "4:10", "expected '.param' or ')'"},
        {HEADER ".entry k(.param .b32 x, .param .b32 x)", "4:37", "'x' is declared twice in the same scope"},
        {HEADER ".entry k() .maxntid x {}", "4:21", "expected a number of threads or blocks"},
        {HEADER ".entry k() .nonsense {}", "4:12",
         "expected a directive of the function, '{' or ';', found '.nonsense'"},
        {HEADER ".entry k() {}\n.entry k() {}", "5:8", "'k' is defined twice, first in line 4"},
        {HEADER ".func f();\n.func f(.param .b32 x) {}", "5:7", "'f' differs from its declaration in line 4"},
        {HEADER ".global .b32 f;\n.func f() {}", "5:7", "'f' is declared twice"},
        {HEADER ".entry k() {", "4:12", "this '{' is never closed"},
        {HEADER ".entry k() { { }", "4:12", "this '{' is never closed"},
        {HEADER ".entry k() { } }", "4:16", "expected a directive of the module, found '}'"},
        {HEADER ".entry k() { .entry l() {} }", "4:14", "expected a statement, found '.entry'"},
        {HEADER ".func f(.param .b32 x); .entry k() { call f; }", "4:38", "'f' takes 1 arguments, this call passes 0"},
        {HEADER ".func (.param .b32 x) f (); .entry k() { call f, (); }", "4:42",
         "'f' returns 1 values, this call takes 0"},
        {HEADER ".entry l() {} .entry k() { call l; }", "4:28", "'l' is a kernel entry and cannot be called"},
        {HEADER ".entry k() { call; }", "4:14", "call needs a function to call"},
        {HEADER ".entry k() { call (); }", "4:14", "call needs a function to call"},
        {HEADER ".entry k() { L: call L; }", "4:17", "call needs a function or a register"},
        {HEADER ".entry k() { T: .branchtargets 5; }", "4:32", "expected a label, found '5'"},
        {HEADER ".entry k() { T: .branchtargets X; }", "4:32", "label 'X' is not defined in this function"},
        {HEADER ".entry k() { P: .callprototype _ ( }", "4:36", "expected ';' after a prototype"},
        {HEADER ".entry k() { .loc 1 2; }", "4:22", "expected a column, found ';'"},
        {HEADER ".entry k() { .loc 1 2 3, nonsense; }", "4:26", "expected function_name or inlined_at"},
        {HEADER ".entry k() { .pragma 5; }", "4:22", "expected a string, found '5'"},
        {HEADER ".func .attribute(.unified(1,2) f() {}", "4:7", "this attribute never ends"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e;
        char *text = must_format("%s\n", rows[i].text);
        if (!*rows[i].text)
            text[0] = 0;
        bool ok = complains(text, rows[i].place, rows[i].words, &e);
        cr_assert(ok, "text:\n%s\nwant %s: ... %s\ngot  %s", text, rows[i].place, rows[i].words, e.text);
        free(text);
    }
}

Test(ptx_errors, the_check_of_messages_can_fail) {
    struct error e;
    cr_assert(!complains(KERNEL "bra L; }", "7:6", "label 'L'", &e), "a wrong column must not pass: %s", e.text);
    cr_assert(!complains(KERNEL "bra L; }", "7:5", "label 'M'", &e), "wrong words must not pass: %s", e.text);
    cr_assert(!complains(KERNEL "ret; }", "7:5", "", &e), "text without a fault must not pass: %s", e.text);
}

static void expect_message(const char *text, size_t size, const char *want) {
    struct error e = complaint_about(text, size);
    cr_assert(!strcmp(e.text, want), "want:\n%s\ngot:\n%s", want, e.text);
}

Test(ptx_errors, the_line_and_the_caret) {
    expect_message(HEADER "\t.x\t;", sizeof HEADER - 1 + 5,
                   "t.ptx:4:2: expected a directive of the module, found '.x'\n .x ;\n ^");
    expect_message(HEADER "\xc3\xa4 \033[31m", sizeof HEADER - 1 + 8,
                   "t.ptx:4:1: unexpected character '\\xc3'\n\xc3\xa4 \\x1b[31m\n^");
    expect_message(HEADER "\r\n.x\r\n", sizeof HEADER - 1 + 6,
                   "t.ptx:5:1: expected a directive of the module, found '.x'\n.x\n^");
    expect_message(HEADER ".x\0y", sizeof HEADER - 1 + 4,
                   "t.ptx:4:1: expected a directive of the module, found '.x'\n.x\\x00y\n^");
    expect_message(HEADER "\0", sizeof HEADER - 1 + 1, "t.ptx:4:1: unexpected character '\\x00'\n\\x00\n^");
}

Test(ptx_errors, a_line_of_a_megabyte_is_cut) {
    size_t size = 1 << 20;
    char *text = must_calloc(size + 1, 1);
    memset(text, ' ', size);
    memcpy(text, HEADER, sizeof HEADER - 1);
    text[size / 2] = '?';
    struct error e = complaint_about(text, size);
    cr_assert(strlen(e.text) < 400, "%zu characters of message", strlen(e.text));
    const char *mark = strchr(e.text, '\n'), *caret = strrchr(e.text, '\n');
    cr_assert(mark && caret > mark, "three lines: %s", e.text);
    size_t column = (size_t)(strchr(mark + 1, '?') - mark), caret_column = (size_t)(strchr(caret, '^') - caret);
    cr_assert(column == caret_column, "the caret stands under column %zu, not %zu", caret_column, column);
    memset(text + sizeof HEADER - 1, 'a', size - sizeof HEADER + 1);
    e = complaint_about(text, size);
    cr_assert(strstr(e.text, "a name of ") != NULL, "a very long name: %.300s", e.text);
    free(text);
}

Test(ptx_errors, a_long_path_leaves_room_for_the_message) {
    struct error e = {""};
    char path[4000];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = 0;
    cr_assert(!ptx_parse(path, "x", 1, &e), "x is no PTX");
    cr_assert(strstr(e.text, ":1:1: expected '.version'") && e.text[strlen(e.text) - 1] == '^', "got %.200s", e.text);
    cr_assert(!ptx_parse("t", "x", 1, NULL), "an error that nobody wants to read");
}

/* text = a * times */
static char *repeated(const char *before, const char *a, size_t times, const char *after) {
    size_t n = strlen(a), size = strlen(before) + n * times + strlen(after) + 1;
    char *text = must_calloc(size, 1), *q = stpcpy(text, before);
    for (size_t i = 0; i < times; i++)
        q = stpcpy(q, a);
    strcpy(q, after);
    return text;
}

Test(ptx_errors, limits) {
    static const struct {
        const char *unit;
        size_t times;
        const char *after, *words; /* words NULL: fine */
    } rows[] = {
        {"{", 254, "", "is never closed"},
        {"{", 255, "", "scopes nested more than 256 deep"},
        {"{}", 100000, "}", NULL},
        {"{ L: bra L; }", 10000, "}", NULL},
        {"mov.b32 %r1, (", 1, "(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1",
         "nested more"},
        {"mov.b32 %r1, -", 1, "-------------------------------------------------------------------------------1",
         "nested"},
        {"mov.b32 %r1, 1", 1, "?1:1?1:1?1:1?1:1?1:1?1:1; }", NULL},
        {"mov.b32 %r1, {1", 1, "};}", NULL},
        {".local .b8 x[1];}{", 0, "ret;}", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = repeated(KERNEL, rows[i].unit, rows[i].times, rows[i].after);
        struct error e = complaint_about(text, strlen(text));
        bool ok = rows[i].words ? strstr(e.text, rows[i].words) != NULL : !e.text[0];
        cr_assert(ok, "%s x %zu: want %s, got %.300s", rows[i].unit, rows[i].times, rows[i].words, e.text);
        free(text);
    }
    char *inside = repeated("mov.b32 {%r1", ",%r1", 4096, "},0;}");
    char *text = must_format("%s%s", KERNEL, inside);
    struct error e = complaint_about(text, strlen(text));
    cr_assert(strstr(e.text, "more than 4096 elements") != NULL, "a vector of 4097: %.300s", e.text);
    free(inside);
    free(text);
}

Test(ptx_errors, files_that_cannot_be_loaded) {
    char directory[] = "/tmp/warpproof-ptx-XXXXXX";
    cr_assert(mkdtemp(directory) != NULL, "no temporary directory");
    char *missing = must_format("%s/missing.ptx", directory), *fifo = must_format("%s/fifo", directory);
    char *good = must_format("%s/good.ptx", directory);
    FILE *f = fopen(good, "w");
    cr_assert(f && fputs(KERNEL "ret; }", f) >= 0 && fclose(f) == 0 && mkfifo(fifo, 0600) == 0, "files of the test");
    const struct {
        const char *path, *words;
    } rows[] = {{missing, "No such file"}, {directory, "not a regular file"}, {fifo, "not a regular file"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = {""};
        cr_assert(!ptx_load(rows[i].path, &e), "%s must not load", rows[i].path);
        cr_assert(strstr(e.text, rows[i].words) && !strncmp(e.text, rows[i].path, strlen(rows[i].path)),
                  "want '%s: %s', got '%s'", rows[i].path, rows[i].words, e.text);
    }
    struct error e = {""};
    struct ptx_module *m = ptx_load(good, &e);
    cr_assert(m && !strcmp(m->path, good), "must load: %s", e.text);
    ptx_free(m);
    ptx_free(NULL);
    unlink(good);
    unlink(fifo);
    rmdir(directory);
    free(missing);
    free(fifo);
    free(good);
}
