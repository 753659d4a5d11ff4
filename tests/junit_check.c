#include "junit_check.h"
#include "../ref/checked.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 8, NAME = 32 };

struct tag {
    char name[NAME];
    const char *attributes, *end; /* of the whole tag: its '>' */
    bool closes, empty;
};

struct counts {
    long tests, failures, skipped;
};

struct check {
    char open[DEPTH][NAME];
    size_t depth, children; /* children: of the testcase at hand */
    struct counts suite, all, said_suite, said_all;
    bool cases;  /* the suite has had one */
    char **seen; /* (seen_count) "classname\nname" */
    size_t seen_count;
};

/* The value of an attribute, to be freed; NULL: there is none. */
static char *value_of(const struct tag *t, const char *name) {
    const size_t n = strlen(name);
    for (const char *s = t->attributes; s < t->end; ++s) {
        if (isspace((unsigned char)s[0]) && strncmp(s + 1, name, n) == 0 && strncmp(s + 1 + n, "=\"", 2) == 0) {
            const char *value = s + n + 3;
            return must_format("%.*s", (int)strcspn(value, "\""), value);
        }
        if (*s == '"') { /* what stands in a value is no attribute */
            s += 1 + strcspn(s + 1, "\"");
        }
    }
    return NULL;
}

static bool has(const struct tag *t, const char *name) {
    char *v = value_of(t, name);
    const bool given = v != NULL && v[0] != 0;
    free(v);
    return given;
}

static bool has_seconds(const struct tag *t) {
    char *v = value_of(t, "time"), *end = v;
    const bool good =
        v != NULL && strspn(v, "0123456789.") == strlen(v) && strtod(v, &end) >= 0 && end > v && *end == 0;
    free(v);
    return good;
}

static long number_of(const struct tag *t, const char *name) {
    char *v = value_of(t, name);
    const long n = v != NULL && v[0] != 0 && strspn(v, "0123456789") == strlen(v) ? atol(v) : -1;
    free(v);
    return n;
}

static const char *check_sums(const struct tag *t, struct counts *said) {
    *said = (struct counts){number_of(t, "tests"), number_of(t, "failures"), number_of(t, "skipped")};
    return !has(t, "name")                      ? "no name"
           : number_of(t, "errors") != 0        ? "errors is not 0, and there is no error"
           : said->tests < 0 || !has_seconds(t) ? "no tests or no time"
                                                : NULL;
}

static const char *check_case(struct check *k, const struct tag *t) {
    char *kernel = value_of(t, "classname"), *name = value_of(t, "name");
    const char *fault = kernel == NULL || name == NULL || !kernel[0] || !name[0] ? "no classname or no name"
                        : !has_seconds(t)                                        ? "no time"
                        : has(t, "file") != (number_of(t, "line") > 0)           ? "file and line go together"
                                                                                 : NULL;
    char *both = must_format("%s\n%s", kernel != NULL ? kernel : "", name != NULL ? name : "");
    for (size_t i = 0; i < k->seen_count; ++i) {
        fault = strcmp(k->seen[i], both) == 0 ? "this case was there before" : fault;
    }
    k->seen = must_realloc(k->seen, k->seen_count + 1, sizeof *k->seen);
    k->seen[k->seen_count++] = both;
    k->children = 0;
    k->cases = true;
    ++k->suite.tests;
    free(kernel);
    free(name);
    return fault;
}

static const char *check_open(struct check *k, const struct tag *t) {
    const char *in = k->depth > 0 ? k->open[k->depth - 1] : "";
    if (strcmp(t->name, "testsuites") == 0) {
        return in[0] ? "testsuites is not the root" : check_sums(t, &k->said_all);
    }
    if (strcmp(t->name, "testsuite") == 0) {
        k->suite = (struct counts){0};
        k->cases = false;
        return strcmp(in, "testsuites") != 0 ? "testsuite is in no testsuites" : check_sums(t, &k->said_suite);
    }
    if (strcmp(t->name, "properties") == 0) {
        return strcmp(in, "testsuite") != 0 || k->cases ? "properties come first in a testsuite" : NULL;
    }
    if (strcmp(t->name, "property") == 0) {
        return strcmp(in, "properties") != 0 || !has(t, "name") || !has(t, "value") ? "want name and value" : NULL;
    }
    if (strcmp(t->name, "testcase") == 0) {
        return strcmp(in, "testsuite") != 0 ? "testcase is in no testsuite" : check_case(k, t);
    }
    const bool failure = strcmp(t->name, "failure") == 0;
    if (!failure && strcmp(t->name, "skipped") != 0) {
        return "an element that nobody reads";
    }
    k->suite.failures += failure;
    k->suite.skipped += !failure;
    return strcmp(in, "testcase") != 0 || ++k->children > 1 ? "a testcase has one outcome"
           : !has(t, "message")                             ? "no message"
           : failure && !has(t, "type")                     ? "no type"
                                                            : NULL;
}

static bool differ(const struct counts *a, const struct counts *b) {
    return a->tests != b->tests || a->failures != b->failures || a->skipped != b->skipped;
}

static const char *check_close(struct check *k, const char *name) {
    if (strcmp(name, "testsuite") == 0) {
        k->all.tests += k->suite.tests;
        k->all.failures += k->suite.failures;
        k->all.skipped += k->suite.skipped;
        return differ(&k->suite, &k->said_suite) ? "the sums of the testsuite are others" : NULL;
    }
    return strcmp(name, "testsuites") == 0 && differ(&k->all, &k->said_all) ? "the sums of all are others" : NULL;
}

/* The tag that begins at s, which is well-formed. */
static struct tag read_tag(const char *s) {
    struct tag t = {.closes = s[1] == '/'};
    s += 1 + t.closes;
    const size_t n = strcspn(s, " \t\n/>");
    snprintf(t.name, sizeof t.name, "%.*s", (int)n, s);
    t.attributes = s + n;
    for (t.end = t.attributes; *t.end != '>'; ++t.end) {
        t.end += *t.end == '"' ? 1 + strcspn(t.end + 1, "\"") : 0;
    }
    t.empty = t.end[-1] == '/';
    return t;
}

char *junit_fault(const char *text) {
    struct check k = {.depth = 0};
    const char *fault = NULL, *s = text;
    while (fault == NULL && (s = strchr(s, '<')) != NULL) {
        if (s[1] == '?') {
            s = strchr(s, '>');
            continue;
        }
        const struct tag t = read_tag(s);
        if (!t.closes) {
            fault = check_open(&k, &t);
            fault = fault == NULL && k.depth == DEPTH ? "too deep" : fault;
            if (fault == NULL) {
                memcpy(k.open[k.depth++], t.name, NAME);
            }
        }
        if (fault == NULL && (t.closes || t.empty)) {
            fault = check_close(&k, t.name);
            k.depth -= k.depth > 0;
        }
        s = fault == NULL ? t.end : s;
    }
    fault = fault == NULL && k.all.tests == 0 && k.said_all.tests != 0 ? "no testsuites" : fault;
    char *out = fault != NULL ? must_format("%s at %.80s", fault, s != NULL ? s : "the end") : NULL;
    for (size_t i = 0; i < k.seen_count; ++i) {
        free(k.seen[i]);
    }
    free(k.seen);
    return out;
}
