#include "junit.h"
#include "../gpu/device/device.h"
#include "../ref/checked.h"
#include "file.h"
#include "markup.h"
#include "terminal.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct junit_case *junit_add(struct junit *j, const char *kernel, const char *id, enum verdict v) {
    if ((j->count & (j->count + 1)) == 0) { /* room for 2^n - 1 */
        j->cases = must_realloc(j->cases, 2 * j->count + 1, sizeof *j->cases);
    }
    char *folder = must_format("/%s/", kernel);
    const char *here = kernel[0] != 0 ? strstr(id, folder) : NULL;
    struct junit_case *c = &j->cases[j->count++];
    *c = (struct junit_case){
        .kernel = must_strdup(kernel), .name = must_strdup(here != NULL ? here + strlen(folder) : id), .verdict = v};
    free(folder);
    return c;
}

void junit_property(struct junit *j, const char *name, const char *value) {
    j->properties = must_realloc(j->properties, j->property_count + 1, sizeof *j->properties);
    j->properties[j->property_count++] = (struct junit_property){must_strdup(name), must_strdup(value)};
}

/* As the working folder sees it, which in a CI is the repository: nvcc writes absolute paths, and readers look a file
 * up by its path in the repository. The caller frees it. */
static char *path_from_here(const char *file) {
    char *here = getcwd(NULL, 0);
    const size_t n = here != NULL ? strlen(here) : 0;
    const bool inside = n > 0 && strncmp(file, here, n) == 0 && file[n] == '/' && file[n + 1] != 0;
    char *path = must_strdup(inside ? file + n + 1 : file);
    free(here);
    return path;
}

static void add_outcome(struct junit *j, const struct outcome *outcomes, size_t count, size_t i, bool whole) {
    const struct outcome *o = &outcomes[i];
    const enum verdict v = outcome_verdict(o);
    struct junit_case *c = junit_add(j, o->skipped && o->about[0] == 0 ? "skipped" : o->about, o->id, v);
    const struct finding *f = findings_first(&o->findings);
    c->seconds = o->seconds;
    if (o->variant != NULL) {
        char *name = must_format("%s (%s)", c->name, o->variant);
        free(c->name);
        c->name = name;
    }
    if (o->skipped) {
        c->message = must_strdup(o->why != NULL ? o->why : "");
    }
    if (f == NULL) {
        return;
    }
    c->message = must_format("%.*s", (int)strcspn(f->summary != NULL ? f->summary : "", "\n"),
                             f->summary != NULL ? f->summary : "");
    if (f->where.file != NULL) {
        c->file = path_from_here(f->where.file);
        c->line = f->where.line;
    }
    size_t size;
    FILE *out = whole ? open_memstream(&c->body, &size) : NULL;
    if (out != NULL) {
        terminal_failure(out, o, outcomes, count);
        if (fclose(out) != 0) {
            free(c->body);
            c->body = NULL;
        }
    }
}

void junit_outcomes(struct junit *j, const struct outcome *outcomes, size_t count, const struct totals *totals) {
    j->seconds = totals->wall_seconds;
    junit_property(j, "runner", totals->on_gpu ? "device" : "machine");
    for (int i = 0; totals->on_gpu && i < totals->gpus; ++i) {
        struct device_identity id;
        struct error e;
        if (device_identify(totals->gpu_first + i, &id, &e)) {
            char *text = must_format("%s, driver %s", id.name, id.driver);
            junit_property(j, "device", text);
            free(text);
        }
    }
    size_t red = 0;
    for (size_t first = 0, end; first < count; first = end) { /* a kernel's cases: others say nothing of one of them */
        for (end = first + 1; end < count && strcmp(outcomes[end].about, outcomes[first].about) == 0;) {
            ++end;
        }
        for (size_t i = first; i < end; ++i) {
            red += outcomes[i].findings.count > 0;
            add_outcome(j, &outcomes[first], end - first, i - first, red <= JUNIT_BODIES);
        }
    }
}

/* ---- text ---- */

static void attribute(FILE *out, const char *name, const char *value) {
    fprintf(out, " %s=\"", name);
    markup_text(out, value);
    fputc('"', out);
}

struct sums {
    size_t cases, failures, skipped;
    double seconds;
};

static void add(struct sums *s, const struct junit_case *c) {
    ++s->cases;
    s->failures += c->verdict != VERDICT_PASS && c->verdict != VERDICT_SKIPPED;
    s->skipped += c->verdict == VERDICT_SKIPPED;
    s->seconds += c->seconds;
}

static void put_sums(FILE *out, const struct sums *s, double seconds) {
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\" time=\"%.6f\"", s->cases, s->failures,
            s->skipped, seconds);
}

/* A character that is cut in two becomes U+FFFD. */
static void put_body(FILE *out, const char *body) {
    const size_t size = strlen(body);
    char *start = must_format("%.*s", JUNIT_MESSAGE, body);
    fputc('>', out);
    markup_text(out, start);
    if (size > JUNIT_MESSAGE) {
        fprintf(out, "\n... and %zu more bytes", size - JUNIT_MESSAGE);
    }
    fputs("</failure>\n", out);
    free(start);
}

static void put_case(FILE *out, const struct junit_case *c) {
    fputs("    <testcase", out);
    attribute(out, "classname", c->kernel);
    attribute(out, "name", c->name);
    fprintf(out, " time=\"%.6f\"", c->seconds);
    if (c->file != NULL) {
        attribute(out, "file", c->file);
        fprintf(out, " line=\"%d\"", c->line);
    }
    if (c->verdict == VERDICT_PASS) {
        fputs("/>\n", out);
        return;
    }
    const bool skipped = c->verdict == VERDICT_SKIPPED;
    fputs(skipped ? ">\n      <skipped" : ">\n      <failure", out);
    if (!skipped) {
        attribute(out, "type", verdict_name(c->verdict));
    }
    char *message = must_format("%.*s", JUNIT_MESSAGE, c->message != NULL ? c->message : "");
    attribute(out, "message", message);
    free(message);
    if (c->body != NULL) {
        put_body(out, c->body);
    } else {
        fputs("/>\n", out);
    }
    fputs("    </testcase>\n", out);
}

static void put_suite(FILE *out, const struct junit *j, size_t first, bool *told) {
    const char *kernel = j->cases[first].kernel;
    struct sums sums = {0};
    for (size_t i = first; i < j->count; ++i) {
        if (!told[i] && strcmp(j->cases[i].kernel, kernel) == 0) {
            add(&sums, &j->cases[i]);
        }
    }
    fputs("  <testsuite", out);
    attribute(out, "name", kernel);
    put_sums(out, &sums, sums.seconds);
    fputs(">\n", out);
    if (j->property_count > 0) {
        fputs("    <properties>\n", out);
        for (size_t i = 0; i < j->property_count; ++i) {
            fputs("      <property", out);
            attribute(out, "name", j->properties[i].name);
            attribute(out, "value", j->properties[i].value);
            fputs("/>\n", out);
        }
        fputs("    </properties>\n", out);
    }
    for (size_t i = first; i < j->count; ++i) {
        if (!told[i] && strcmp(j->cases[i].kernel, kernel) == 0) {
            told[i] = true;
            put_case(out, &j->cases[i]);
        }
    }
    fputs("  </testsuite>\n", out);
}

static void put_all(FILE *out, const void *of) {
    const struct junit *j = of;
    struct sums sums = {0};
    bool *told = must_calloc(j->count + 1, sizeof *told);
    for (size_t i = 0; i < j->count; ++i) {
        add(&sums, &j->cases[i]);
    }
    char *name = must_format("warpproof %s", j->command);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
    attribute(out, "name", name);
    put_sums(out, &sums, j->seconds);
    fputs(">\n", out);
    for (size_t i = 0; i < j->count; ++i) {
        if (!told[i]) {
            put_suite(out, j, i, told);
        }
    }
    fputs("</testsuites>\n", out);
    free(name);
    free(told);
}

bool junit_write(const char *path, const struct junit *j, struct error *e) {
    return file_put_text(path, put_all, j, e);
}

void junit_free(struct junit *j) {
    for (size_t i = 0; i < j->count; ++i) {
        struct junit_case *c = &j->cases[i];
        free(c->kernel);
        free(c->name);
        free(c->message);
        free(c->body);
        free(c->file);
    }
    for (size_t i = 0; i < j->property_count; ++i) {
        free(j->properties[i].name);
        free(j->properties[i].value);
    }
    free(j->cases);
    free(j->properties);
    *j = (struct junit){0};
}
