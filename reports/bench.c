#include "bench.h"
#include "../oracles/paired.h"
#include "../ref/checked.h"
#include "../ref/printable.h"
#include "json_node.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void bench_shape_free(struct bench_shape *s) {
    for (size_t i = 0; i < s->count; ++i) {
        for (size_t k = 0; k < s->entries[i].value_count; ++k) {
            free((char *)s->entries[i].values[k].name);
        }
        free(s->entries[i].values);
        free(s->entries[i].name);
        free(s->entries[i].about);
        free(s->entries[i].toolkit);
        free(s->entries[i].seconds);
        free(s->entries[i].why);
    }
    free(s->entries);
    *s = (struct bench_shape){0};
}

/* The ceiling that others are measured by: cuBLAS f16, the first one, where it has a figure. */
static const struct bench_entry *ceiling(const struct bench_shape *s) {
    for (size_t i = 0; i < s->count; ++i) {
        if (s->entries[i].role == BENCH_CEILING) {
            return s->entries[i].seconds != NULL ? &s->entries[i] : NULL;
        }
    }
    return NULL;
}

/* Every value of a is one of b. */
static bool has_values(const struct bench_entry *a, const struct bench_entry *b) {
    bool all = true;
    for (size_t i = 0; i < a->value_count; ++i) {
        bool found = false;
        for (size_t k = 0; k < b->value_count; ++k) {
            found |= a->values[i].value == b->values[k].value && strcmp(a->values[i].name, b->values[k].name) == 0;
        }
        all &= found;
    }
    return all;
}

bool bench_alike(const struct bench_shape *s) {
    bool alike = true;
    for (size_t i = 1; i < s->count; ++i) {
        alike &= s->entries[i].role == BENCH_CEILING ||
                 (has_values(&s->entries[0], &s->entries[i]) && has_values(&s->entries[i], &s->entries[0]));
    }
    return alike;
}

static double tmacs(const struct bench_entry *x, double seconds) {
    return x->macs / seconds * 1e-12;
}

bool bench_host_bound(const struct bench_entry *x, double median_seconds) {
    return x->start_seconds > 0.9 * median_seconds;
}

/* --- for people -------------------------------------------------------------------------------------------------- */

void bench_print_head(FILE *out, const struct bench_head *h) {
    char *device = device_text(&h->gpu);
    fprintf(out, "%s", device);
    free(device);
    if (h->cublas_version > 0) {
        fprintf(out, ", cuBLAS %zu", h->cublas_version);
    }
    fprintf(out, "; %s\n", h->date);
    fprintf(out,
            "Every launch is on the next copy of its operands and result; between two on one copy %d times the L2 "
            "(%.3g MB) goes by,\nexcept where it says warm. A time is one launch's share of launches back to back "
            "between two events; in it is the gap\nto the next. Ratios are of times within a round: median (least .. "
            "most).\n",
            TIMING_L2_TIMES, (double)h->figures.l2_bytes * 1e-6);
    if (h->no_ceilings != NULL) {
        char shown[1024];
        fprintf(out, "no ceilings: %s\n", printable(shown, sizeof shown, h->no_ceilings, strlen(h->no_ceilings)));
    }
}

/* "nt = 512, id = 4096" */
static void print_values(FILE *out, const struct bench_entry *x) {
    for (size_t i = 0; i < x->value_count; ++i) {
        fprintf(out, "%s%s = %" PRId64, i > 0 ? ", " : "", x->values[i].name, x->values[i].value);
    }
    if (x->value_count == 0) {
        fprintf(out, "no values of a shape");
    }
}

/* "1.123 (1.118 .. 1.130)", of the rounds' ratios. */
static void print_over(FILE *out, const struct bench_entry *first, const struct bench_entry *x, size_t rounds) {
    if (x == first || first->seconds == NULL) {
        fprintf(out, "  %22s  %-20s", x == first ? "-" : "", "");
        return;
    }
    const struct paired p = paired_compare(first->seconds, x->seconds, rounds);
    char ratio[64], verdict[64] = "separated";
    snprintf(ratio, sizeof ratio, "%.3f (%.3f .. %.3f)", p.ratio.median, p.ratio.least, p.ratio.most);
    if (!p.enough) {
        snprintf(verdict, sizeof verdict, "too few rounds");
    } else if (!p.separated) {
        snprintf(verdict, sizeof verdict, "overlap in %zu of %zu", p.overlap, rounds);
    }
    fprintf(out, "  %22s  %-20s", ratio, verdict);
}

static void print_row(FILE *out, const struct bench_shape *s, const struct bench_entry *x, size_t width) {
    const struct bench_entry *first = &s->entries[0], *top = ceiling(s);
    char name[256], shown[1024];
    const char letter = x->role == BENCH_KERNEL ? (char)('A' + (x - s->entries)) : ' ';
    printable(name, sizeof name, x->name, strlen(x->name));
    fprintf(out, "%c  %-*s", letter, (int)width, name);
    if (x->seconds == NULL) {
        fprintf(out, "  %s: no figure: %s\n", x->wrong ? "wrong" : "not measured",
                printable(shown, sizeof shown, x->why, strlen(x->why)));
        return;
    }
    const double median = spread_of(x->seconds, s->rounds).median;
    fprintf(out, "  %10.2f", median * 1e6);
    if (x->macs > 0) {
        fprintf(out, "  %8.2f", tmacs(x, median));
    } else {
        fprintf(out, "  %8s", "-");
    }
    print_over(out, first, x, s->rounds);
    if (top != NULL) {
        fprintf(out, "  %9.3f", paired_compare(top->seconds, x->seconds, s->rounds).ratio.median);
    }
    fprintf(out, "  %zu x %.3g MB%s\n", x->copies, (double)x->copy_bytes * 1e-6, x->warm ? " (warm)" : "");
    if (x->launches > 1) {
        fprintf(out, "   %*s  its %zu launches together\n", (int)width, "", x->launches);
    }
    if (bench_host_bound(x, median)) {
        fprintf(out, "   %*s  no faster than the host starts them: a launch takes it %.2f us\n", (int)width, "",
                x->start_seconds * 1e6);
    }
}

static void print_entry(FILE *out, const struct bench_shape *s, const struct bench_entry *x, size_t width) {
    print_row(out, s, x, width);
    if (x->role == BENCH_KERNEL && !bench_alike(s)) {
        fprintf(out, "   %*s  at ", (int)width, "");
        print_values(out, x);
        fprintf(out, "\n");
    }
}

void bench_print(FILE *out, const struct bench_shape *s) {
    size_t width = 12;
    for (size_t i = 0; i < s->count; ++i) {
        const size_t n = strlen(s->entries[i].name);
        width = n > width && n < 64 ? n : width;
    }
    fprintf(out, "\n");
    if (bench_alike(s)) {
        print_values(out, &s->entries[0]);
    } else {
        fprintf(out, "each at a shape of its own");
    }
    fprintf(out, s->launches > 0 ? "; %zu round%s of %zu launch%s each\n" : "\n", s->rounds, plural(s->rounds),
            s->launches, s->launches == 1 ? "" : "es");
    fprintf(out, "   %-*s  %10s  %8s  %22s  %-20s", (int)width, "", "time us", "TMAC/s", "over A", "rounds");
    if (ceiling(s) != NULL) {
        fprintf(out, "  %9s", "over f16");
    }
    fprintf(out, "  copies\n");
    for (size_t i = 0; i < s->count; ++i) {
        print_entry(out, s, &s->entries[i], width);
    }
}

/* --- JSON -------------------------------------------------------------------------------------------------------- */

static struct fy_node *head_node(struct fy_document *d, const struct bench_head *h) {
    struct fy_node *m = fy_node_create_mapping(d), *b = fy_node_create_mapping(d);
    json_add_string(d, b, "device", h->gpu.name);
    json_add(d, b, "sm", json_number(d, "%d", h->gpu.sm));
    json_add_string(d, b, "driver", h->gpu.driver);
    json_add(d, b, "cuda", json_number(d, "%d", h->gpu.cuda_version));
    json_add(d, b, "cublas", h->cublas_version > 0 ? json_number(d, "%zu", h->cublas_version) : json_number(d, "null"));
    json_add_string(d, b, "no_ceilings", h->no_ceilings);
    json_add_string(d, b, "date", h->date);
    json_add_string(d, b, "command", h->command);
    json_add_string(d, b, "data", h->data);
    json_add(d, b, "l2_bytes", json_number(d, "%zu", h->figures.l2_bytes));
    json_add(d, b, "memory_bytes", json_number(d, "%zu", h->figures.memory_bytes));
    json_add(d, b, "multiprocessors", json_number(d, "%d", h->figures.multiprocessors));
    json_add(d, b, "highest_clock_khz", json_number(d, "%d", h->figures.clock_khz));
    json_add(d, b, "highest_memory_clock_khz", json_number(d, "%d", h->figures.memory_clock_khz));
    json_add(d, m, "bench", b);
    return m;
}

static struct fy_node *over_node(struct fy_document *d, const struct bench_entry *base, const struct bench_entry *x,
                                 size_t rounds) {
    struct fy_node *m = fy_node_create_mapping(d);
    const struct paired p = paired_compare(base->seconds, x->seconds, rounds);
    json_add(d, m, "median", json_real(d, true, p.ratio.median));
    json_add(d, m, "least", json_real(d, true, p.ratio.least));
    json_add(d, m, "most", json_real(d, true, p.ratio.most));
    json_add(d, m, "separated", p.enough ? json_bool(d, p.separated) : json_number(d, "null"));
    json_add(d, m, "overlap", json_number(d, "%zu", p.overlap));
    return m;
}

static struct fy_node *values_node(struct fy_document *d, const struct bench_entry *x) {
    struct fy_node *m = fy_node_create_mapping(d);
    for (size_t i = 0; i < x->value_count; ++i) {
        json_add(d, m, x->values[i].name, json_number(d, "%" PRId64, x->values[i].value));
    }
    return m;
}

static struct fy_node *entry_node(struct fy_document *d, const struct bench_shape *s, const struct bench_entry *x) {
    static const char *const roles[] = {"kernel", "control", "ceiling"};
    const struct bench_entry *first = &s->entries[0], *top = ceiling(s);
    struct fy_node *m = fy_node_create_mapping(d);
    json_add_string(d, m, "name", x->name);
    json_add_string(d, m, "role", roles[x->role]);
    json_add_string(d, m, "computes", x->about);
    json_add_string(d, m, "ptx_sha256", x->ptx_sha256[0] != 0 ? x->ptx_sha256 : NULL);
    json_add_string(d, m, "toolkit", x->toolkit);
    json_add(d, m, "shape", values_node(d, x));
    if (x->seconds == NULL) {
        json_add(d, m, "wrong", json_bool(d, x->wrong));
        json_add_string(d, m, "why", x->why);
        return m;
    }
    struct fy_node *seconds = fy_node_create_sequence(d);
    for (size_t r = 0; r < s->rounds; ++r) {
        fy_node_sequence_append(seconds, json_real(d, true, x->seconds[r]));
    }
    const double median = spread_of(x->seconds, s->rounds).median;
    json_add(d, m, "launches_of_the_file", json_number(d, "%zu", x->launches));
    json_add(d, m, "copies", json_number(d, "%zu", x->copies));
    json_add(d, m, "copy_bytes", json_number(d, "%zu", x->copy_bytes));
    json_add(d, m, "warm", json_bool(d, x->warm));
    json_add(d, m, "macs", json_real(d, x->macs > 0, x->macs));
    json_add(d, m, "seconds", seconds);
    json_add(d, m, "median", json_real(d, true, median));
    json_add(d, m, "start_seconds", json_real(d, true, x->start_seconds));
    json_add(d, m, "host_bound", json_bool(d, bench_host_bound(x, median)));
    json_add(d, m, "tmacs", json_real(d, x->macs > 0, tmacs(x, median)));
    if (x != first && first->seconds != NULL) {
        json_add(d, m, "over_first", over_node(d, first, x, s->rounds));
    }
    if (top != NULL) {
        json_add(d, m, "over_cublas_f16", over_node(d, top, x, s->rounds));
    }
    return m;
}

static struct fy_node *shape_node(struct fy_document *d, const struct bench_shape *s) {
    struct fy_node *m = fy_node_create_mapping(d), *entries = fy_node_create_sequence(d);
    for (size_t i = 0; i < s->count; ++i) {
        fy_node_sequence_append(entries, entry_node(d, s, &s->entries[i]));
    }
    json_add(d, m, "shape", bench_alike(s) ? values_node(d, &s->entries[0]) : json_number(d, "null"));
    json_add(d, m, "rounds", json_number(d, "%zu", s->rounds));
    json_add(d, m, "launches", json_number(d, "%zu", s->launches));
    json_add(d, m, "entries", entries);
    return m;
}

bool bench_json(const char *path, const struct bench_head *h, const struct bench_shape *shapes, size_t count,
                struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d;
    for (size_t i = 0; i <= count && (d = json_next(&lines)) != NULL; ++i) {
        json_put(&lines, d, i == 0 ? head_node(d, h) : shape_node(d, &shapes[i - 1]));
    }
    return json_end(&lines, path, e);
}
