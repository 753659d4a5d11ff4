/* gpu/yaml.c, gpu/place.c: strict readers, hostile files, suggestions. What bad files are told is in tests/errors. */
#include "../gpu/yaml.h"
#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct yaml_doc *open_bytes(const void *bytes, size_t length, struct error *e) {
    char path[32];
    int fd = memfd_create("yaml", 0);
    cr_assert(fd >= 0 && write(fd, bytes, length) == (ssize_t)length, "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct yaml_doc *doc = yaml_open(path, e);
    close(fd);
    return doc;
}

Test(yaml, tree) {
    static const char text[] = "a: 1\nb: [x, 'it''s', \"t\\u00e4\", ~, ]\nc:\n  - {d: e, f: }\n  -\n[g: h]: i\n";
    struct error e = {""};
    struct yaml_doc *doc = open_bytes(text, strlen(text) - strlen("[g: h]: i\n"), &e);
    cr_assert(doc, "%s", e.text);
    const struct yaml_node *b = yaml_get(doc->root, "b"), *c = yaml_get(doc->root, "c");
    cr_assert(doc->root->kind == YAML_MAPPING && doc->root->count == 3 && b && c, "three keys");
    cr_assert(b->kind == YAML_SEQUENCE && b->count == 4 && c->kind == YAML_SEQUENCE && c->count == 2, "two lists");
    static const char *const items[] = {"x", "it's", "t\xc3\xa4", "~"};
    static const size_t starts[] = {9, 12, 21, 32};
    const struct yaml_node *n = b->first;
    for (size_t i = 0; i < 4; i++, n = n->next) {
        cr_expect(strcmp(n->text, items[i]) == 0, "item %zu is %s", i, n->text);
        cr_expect(n->start == starts[i] && n->content == starts[i] + !n->plain, "item %zu begins at %zu", i, n->start);
        cr_expect(n->plain == (i == 0 || i == 3), "item %zu: quotes", i);
    }
    cr_expect(strcmp(yaml_get(c->first, "f")->text, "") == 0, "an empty value is an empty text");
    cr_expect(!yaml_get(c->first, "g") && !yaml_get(b, "x"), "keys that are not there");
    yaml_close(doc);
    cr_expect(!open_bytes(text, strlen(text), &e), "a mapping is no key");
}

Test(yaml, windows_line_ends) {
    struct error e = {""};
    static const char text[] = "a: 1\r\nb: x\r\n";
    struct yaml_doc *doc = open_bytes(text, strlen(text), &e);
    cr_assert(doc, "%s", e.text);
    cr_expect(strcmp(yaml_get(doc->root, "b")->text, "x") == 0, "no \\r in the text");
    yaml_fail(doc, yaml_get(doc->root, "b"), 0, &e, "here");
    cr_expect(strstr(e.text, ":2:4: here\n  b: x\n     ^"), "%s", e.text);
    yaml_close(doc);
}

/* Values of key v, as integer in -100 .. 1000 and as bool; NULL: accepted. */
Test(yaml, scalars) {
    static const struct {
        const char *text, *integer_error, *bool_error;
        int64_t value;
    } cases[] = {
        {"12", NULL, "must be true or false", 12},
        {"-100", NULL, "must be true or false", -100},
        {"0x1f", NULL, "must be true or false", 31},
        {"-0x1f", NULL, "must be true or false", -31},
        {"0", NULL, "must be true or false", 0},
        {"1001", "1001 is not in -100 .. 1000", "must be true or false", 0},
        {"-101", "-101 is not in -100 .. 1000", "must be true or false", 0},
        {"+5", "'+5' is not an integer", "must be true or false", 0},
        {"010", "has a leading zero", "must be true or false", 0},
        {"0x", "is not an integer", "must be true or false", 0},
        {"12abc", "is not an integer", "must be true or false", 0},
        {"1 2", "is not an integer", "must be true or false", 0},
        {"1_000", "is not an integer", "must be true or false", 0},
        {"1e3", "is not an integer", "must be true or false", 0},
        {"-", "is a", "", 0}, /* a list of one */
        {"\"12\"", "is a quoted text", "must be true or false", 0},
        {"18446744073709551617", "does not fit 64 bits", "must be true or false", 0},
        {"-9223372036854775809", "does not fit 64 bits", "must be true or false", 0},
        {"true", "is not an integer", NULL, 1},
        {"false", "is not an integer", NULL, 0},
        {"'true'", "is a quoted text", "must be true or false", 0},
        {"True", "is not an integer", "must be true or false", 0},
        {"yes", "is not an integer", "must be true or false", 0},
        {"", "v is empty", "v is empty", 0},
        {"[1]", "v must be a single value, not a list", "v must be a single value, not a list", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        char *text = must_format("v: %s\n", cases[i].text);
        struct yaml_doc *doc = open_bytes(text, strlen(text), &e);
        free(text);
        if (!doc) { /* "v: -" is not YAML at all */
            cr_expect(strcmp(cases[i].text, "-") == 0, "%s: %s", cases[i].text, e.text);
            continue;
        }
        const struct yaml_node *v = yaml_get(doc->root, "v");
        int64_t value = -1;
        bool truth = false, ok = yaml_integer(doc, v, "v", -100, 1000, &value, &e);
        cr_expect(ok == !cases[i].integer_error, "%s: %s", cases[i].text, ok ? "an integer" : e.text);
        cr_expect(ok ? value == cases[i].value : strstr(e.text, cases[i].integer_error) != NULL, "%s: %lld, %s",
                  cases[i].text, (long long)value, e.text);
        ok = yaml_bool(doc, v, "v", &truth, &e);
        cr_expect(ok == !cases[i].bool_error, "%s: %s", cases[i].text, ok ? "a bool" : e.text);
        cr_expect(ok ? truth == (cases[i].value == 1) : strstr(e.text, cases[i].bool_error) != NULL, "%s: %s",
                  cases[i].text, e.text);
        yaml_close(doc);
    }
}

Test(yaml, nearest) {
    static const char *const list[] = {"kernel", "about", "source", "ptx", "entry", "in", NULL};
    static const struct {
        const char *word, *want;
    } cases[] = {{"kernl", "kernel"}, {"krenel", "kernel"}, {"kernels", "kernel"}, {"soucre", "source"},
                 {"ptk", "ptx"},      {"inn", "in"},        {"n", "in"},           {"registers", NULL},
                 {"", NULL},          {"xyz", NULL},        {"launch", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = nearest(cases[i].word, list);
        cr_expect(!got == !cases[i].want && (!got || strcmp(got, cases[i].want) == 0), "%s is near %s", cases[i].word,
                  got ? got : "nothing");
    }
}

/* One byte repeated, or a file of many equal parts: refused or read, in time and within memory, without a word. */
Test(yaml, large_files) {
    static const struct {
        const char *part, *message; /* NULL: accepted */
        size_t bytes;
    } cases[] = {
        {"[", "nested deeper", 10000},
        {"[", "brackets are open", 4 << 20},
        {"{", "brackets are open", 4 << 20},
        {"[]", "brackets and commas", 4 << 20},
        {"[a],", "brackets and commas", 4 << 20},
        {"a, ", "brackets and commas", 3 << 20},
        {"a, ", NULL, 1 << 20},
        {"- ", "nested deeper", 4 << 20},
        {"? ", "a key must be a word", 4 << 20},
        {": ", "a key must be a word", 4 << 20},
        {"- a\n", "more than 131072 values", 4 << 20},
        {"- a\n", NULL, 4 * 131070},
        {"a: b\n", "key 'a' is there twice", 5 * 1000},
        {"a", NULL, 4 << 20}, /* one long word */
        {"a\n", NULL, 4 << 20},
        {"\n", "the file is empty", 4 << 20},
        {" ", "the file is empty", 4 << 20},
        {"#", "the file is empty", 4 << 20},
        {"\"", "invalid", 4 << 20},
        {"&a ", "", 3 << 20},
        {"*a ", "", 3 << 20},
        {"!!s ", "", 4 << 20},
        {"a", "larger than 4 MiB", (4 << 20) + 1},
        {"\xc3\xa4", NULL, 1 << 20},
        {"\xff", "not UTF-8", 1 << 20},
    };
    char *text = must_calloc((4 << 20) + 16, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        size_t part = strlen(cases[i].part);
        for (size_t at = 0; at < cases[i].bytes; at += part)
            memcpy(text + at, cases[i].part, part);
        struct yaml_doc *doc = open_bytes(text, cases[i].bytes, &e);
        cr_expect(!doc == !!cases[i].message, "%zu x %s: %s", cases[i].bytes / part, cases[i].part,
                  doc ? "accepted" : e.text);
        cr_expect(doc || strstr(e.text, cases[i].message), "%zu x %s: %s", cases[i].bytes / part, cases[i].part,
                  e.text);
        yaml_close(doc);
    }
    free(text);
}

/* What is no file of text: one plain line each. */
Test(yaml, not_files) {
    char folder[] = "build/yaml-XXXXXX";
    mkdir("build", 0777);
    cr_assert(mkdtemp(folder), "no folder in build");
    char *pipe_path = must_format("%s/pipe", folder), *absent = must_format("%s/absent.yaml", folder);
    cr_assert(mkfifo(pipe_path, 0600) == 0, "no pipe");
    const struct {
        const char *path, *message;
    } cases[] = {{absent, "cannot be opened: No such file or directory"},
                 {folder, "not a regular file"},
                 {pipe_path, "not a regular file"},
                 {"/dev/zero", "not a regular file"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        cr_expect(!yaml_open(cases[i].path, &e), "%s was read", cases[i].path);
        char *want = must_format("%s: %s", cases[i].path, cases[i].message);
        cr_expect(strcmp(e.text, want) == 0, "'%s', not '%s'", e.text, want);
        free(want);
    }
    struct error e = {""};
    cr_expect(!yaml_open("", &e) && !strcmp(e.text, "the name of a file is empty"), "no name: '%s'", e.text);
    unlink(pipe_path);
    rmdir(folder);
    free(pipe_path);
    free(absent);
}
