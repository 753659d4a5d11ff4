/* Usage: conformance [--list] [--form PATTERN] [-j THREADS] [--runner machine|device] [--record FOLDER]
 *                    [--golden FOLDER] [--ptx FOLDER] [--emit FOLDER]
 * Exit code: 0 all forms agree, 1 some do not, 2 usage or environment, 3 nothing ran. */
#include "../../gpu/device/device.h"
#include "../../ref/rcp_approx.h"
#include "conformance.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { DETAILS = 12, SHOWN = 3 };
#define GOLDEN    "fixtures/golden/conformance"
#define RCP_TABLE "fixtures/golden/rcp_approx_sm90.bin.zz"

struct options {
    const char *pattern, *record, *golden, *ptx, *emit;
    const struct runner *runner;
    bool list, refusals;
    int threads;
};

struct difference {
    size_t vector;
    uint64_t in[UNIT_INPUTS], want[UNIT_RESULTS], got[UNIT_RESULTS];
};

struct outcome { /* of one form */
    bool ran;
    char refused[300], event[128];
    size_t differ, excused; /* vectors that are not the independent result; where that is allowed */
    struct difference shown[SHOWN];
    enum golden_verdict golden;
    size_t golden_differ, golden_first;
    uint64_t golden_want[UNIT_RESULTS], golden_got[UNIT_RESULTS], golden_in[UNIT_INPUTS];
    uint64_t *in, *out; /* kept while recording */
};

/* --- one form --------------------------------------------------------------------------------------------------- */

static void gather(const uint64_t *from, unsigned count, size_t n, size_t i, uint64_t *to) {
    for (unsigned k = 0; k < count; ++k)
        to[k] = from[k * n + i];
}

static void compare(const struct form *f, const uint64_t *in, const uint64_t *want, const uint64_t *got,
                    struct outcome *o) {
    const size_t n = f->vectors;
    for (size_t i = 0; i < n; ++i) {
        bool equal = true;
        for (unsigned k = 0; k < f->read.results; ++k)
            equal = equal && want[k * n + i] == got[k * n + i];
        if (equal)
            continue;
        struct difference d = {.vector = i};
        gather(in, f->read.inputs, n, i, d.in);
        gather(want, f->read.results, n, i, d.want);
        gather(got, f->read.results, n, i, d.got);
        if (form_excuses(f, d.in, d.want, d.got))
            o->excused++;
        else if (o->differ++ < SHOWN)
            o->shown[o->differ - 1] = d;
    }
}

static void *room(size_t words) {
    void *p = calloc(words + 1, 8);
    if (!p)
        abort();
    return p;
}

/* damage: of the machine's results, one bit of a vector is turned (a test of the comparison). */
static void try_form(const struct form *f, const struct options *opt, const struct golden *golden, bool damage,
                     struct outcome *o) {
    const size_t n = f->vectors;
    uint64_t *in = room(n * f->read.inputs), *want = room(n * f->read.results), *got = room(n * f->read.results);
    struct error e = {""};
    char path[600];
    snprintf(path, sizeof path, "%s/form.ptx", opt->ptx ? opt->ptx : ".");
    memset(o, 0, sizeof *o);
    vectors_make(f, in);
    o->ran = run_form(f, opt->runner, opt->ptx ? path : NULL, in, got, o->event, &e);
    if (!o->ran) {
        snprintf(o->refused, sizeof o->refused, "%.290s", e.text);
    } else {
        if (damage)
            got[n / 3] ^= 1;
        evaluate_form(f, in, want);
        compare(f, in, want, got, o);
        o->golden = golden_compare(golden, f, in, got, &o->golden_first, &o->golden_differ, o->golden_want);
        const size_t at = o->golden_first < n ? o->golden_first : 0;
        gather(got, f->read.results, n, at, o->golden_got);
        gather(in, f->read.inputs, n, at, o->golden_in);
    }
    free(want);
    o->in = in;
    o->out = got;
    if (!opt->record) {
        free(in);
        free(got);
        o->in = o->out = NULL;
    }
}

/* --- report ------------------------------------------------------------------------------------------------------ */

static void print_values(const char *label, const char (*kinds)[12], const uint64_t *x, unsigned count) {
    printf("%s", label);
    for (unsigned k = 0; k < count; ++k)
        printf(" %0*lx", (int)(kind_named(kinds[k])->bits + 3) / 4, x[k]);
}

static void print_difference(const struct form *f, size_t vector, const uint64_t *in, const uint64_t *want,
                             const uint64_t *got) {
    printf("    vector %zu ", vector);
    print_values("operands", f->read.input, in, f->read.inputs);
    print_values("  want", f->read.result, want, f->read.results);
    print_values("  got", f->read.result, got, f->read.results);
    printf("\n");
}

/* Counts a form's checks; prints what is wrong with it. */
static void judge(const struct form *f, const struct outcome *o, unsigned *passed, unsigned *failed, unsigned *shown) {
    const bool event = o->event[0], wrong = o->differ > 0 || event, golden_wrong = o->golden > GOLDEN_EQUAL;
    wrong ? ++*failed : ++*passed;
    if (o->golden != GOLDEN_NONE)
        golden_wrong ? ++*failed : ++*passed;
    if (!wrong && !golden_wrong)
        return;
    if (++*shown > DETAILS * 10) {
        if (*shown == DETAILS * 10 + 1)
            printf("... and more\n");
        return;
    }
    printf("DIFFERS %s\n", f->text);
    if (event)
        printf("    the machine reports: %s\n", o->event);
    if (o->differ)
        printf("    from the independent evaluation: %zu of %zu vectors\n", o->differ, f->vectors);
    for (size_t i = 0; i < o->differ && i < SHOWN; ++i)
        print_difference(f, o->shown[i].vector, o->shown[i].in, o->shown[i].want, o->shown[i].got);
    if (o->golden == GOLDEN_STALE)
        printf("    from silicon: the kept bytes are of other operands; record them anew\n");
    if (o->golden == GOLDEN_DIFFERS && !o->golden_differ)
        printf("    from silicon: in a vector past the first %d (their digest)\n", GOLDEN_VECTORS);
    if (o->golden == GOLDEN_DIFFERS && o->golden_differ) {
        printf("    from silicon: %zu of the first %d vectors\n", o->golden_differ, GOLDEN_VECTORS);
        print_difference(f, o->golden_first, o->golden_in, o->golden_want, o->golden_got);
    }
}

struct sums {
    size_t forms, vectors, differ, golden, golden_vectors, golden_differ, exceptions, excused, refused;
};

static void add_sums(struct sums *s, const struct form *f, const struct outcome *o) {
    s->forms++;
    s->refused += !o->ran;
    if (!o->ran)
        return;
    s->vectors += f->vectors;
    s->differ += o->differ > 0 || o->event[0];
    s->golden += o->golden != GOLDEN_NONE;
    s->golden_vectors += o->golden != GOLDEN_NONE ? f->vectors : 0;
    s->golden_differ += o->golden > GOLDEN_EQUAL;
    s->exceptions += f->row->note != NULL;
    s->excused += o->excused;
}

static void print_sums(const char *name, const struct sums *s) {
    printf("%-14s %6zu %10zu %8zu %8zu %10zu %8zu %6zu %8zu %8zu\n", name, s->forms, s->vectors, s->differ, s->golden,
           s->golden_vectors, s->golden_differ, s->exceptions, s->excused, s->refused);
}

static void print_table(const struct form_list *list, const struct outcome *o) {
    struct sums all = {0};
    printf("%-14s %6s %10s %8s %8s %10s %8s %6s %8s %8s\n", "family", "forms", "vectors", "differ", "golden", "vectors",
           "differ", "open", "vectors", "not run");
    for (const struct family *y = families; y->name; ++y) {
        struct sums s = {0};
        for (size_t i = 0; i < list->count; ++i)
            if (list->forms[i].family == y) {
                add_sums(&s, &list->forms[i], &o[i]);
                add_sums(&all, &list->forms[i], &o[i]);
            }
        if (s.forms)
            print_sums(y->name, &s);
    }
    print_sums("all", &all);
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

/* One form of each family with one bit of one result turned must be found by that vector; else the comparison is
 * worth nothing. Counted as one check. */
static bool self_test(const struct form_list *list, const struct options *opt) {
    struct options plain = *opt;
    bool good = true;
    unsigned found = 0;
    plain.record = NULL;
    plain.runner = &runner_machine;
    for (const struct family *y = families; y->name; ++y)
        for (size_t i = 0; i < list->count; ++i) {
            struct outcome o;
            if (list->forms[i].family != y || list->forms[i].row->note)
                continue;
            try_form(&list->forms[i], &plain, NULL, false, &o);
            const size_t before = o.differ;
            if (!o.ran || before)
                continue;
            try_form(&list->forms[i], &plain, NULL, true, &o);
            if (o.differ != 1 || o.shown[0].vector != list->forms[i].vectors / 3) {
                printf("self-test: a turned bit of `%s` is not found\n", list->forms[i].text);
                good = false;
            }
            ++found;
            break;
        }
    if (!found)
        printf("self-test: no form whose results could be damaged\n");
    return good && found;
}

static void load_reciprocals(void) {
    static uint8_t packed[1 << 20];
    struct error e = {""};
    FILE *f = fopen(RCP_TABLE, "rb");
    if (!f || !rcp_approx_load(RCP_TABLE, &e)) {
        fprintf(stderr, "conformance: " RCP_TABLE ": cannot be read (start it from the repository's root) %s\n", e.text);
        exit(2);
    }
    const size_t size = fread(packed, 1, sizeof packed, f);
    uLongf bytes = 1 << 21;
    uint8_t *table = malloc(bytes);
    if (!table || uncompress(table, &bytes, packed, size) != Z_OK)
        exit(2);
    unit_rcp_table = table;
    fclose(f);
}

static void usage(const char *what) {
    fprintf(stderr,
            "conformance: %s\nusage: conformance [--list] [--refusals] [--form PATTERN] [-j THREADS]\n"
            "                   [--runner machine|device] [--record FOLDER] [--golden FOLDER] [--ptx FOLDER] [--emit FOLDER]\n",
            what);
    exit(2);
}

static struct options read_options(int argc, char **argv) {
    struct options o = {.golden = GOLDEN, .runner = &runner_machine};
    for (int i = 1; i < argc; ++i) {
        const char *name = argv[i];
        if (!strcmp(name, "--list")) {
            o.list = true;
            continue;
        }
        if (!strcmp(name, "--refusals")) {
            o.refusals = true;
            continue;
        }
        if (++i == argc)
            usage(name);
        if (!strcmp(name, "--form"))
            o.pattern = argv[i];
        else if (!strcmp(name, "-j"))
            o.threads = atoi(argv[i]);
        else if (!strcmp(name, "--record"))
            o.record = argv[i];
        else if (!strcmp(name, "--golden"))
            o.golden = argv[i];
        else if (!strcmp(name, "--ptx"))
            o.ptx = argv[i];
        else if (!strcmp(name, "--emit"))
            o.emit = argv[i];
        else if (!strcmp(name, "--runner") && !strcmp(argv[i], "machine"))
            o.runner = &runner_machine;
        else if (!strcmp(name, "--runner") && !strcmp(argv[i], "device"))
            o.runner = &runner_device;
        else
            usage(name);
    }
    return o;
}

/* folder/NNNN.ptx: the kernels themselves, for ptxas. */
static int write_kernels(const char *folder, const struct form_list *list) {
    mkdir(folder, 0777);
    for (size_t i = 0; i < list->count; ++i) {
        char path[600];
        snprintf(path, sizeof path, "%s/%04zu.ptx", folder, i);
        FILE *f = fopen(path, "w");
        char *text = emit_form(&list->forms[i]);
        const bool ok = f && fputs(text, f) >= 0;
        free(text);
        if (!f || fclose(f) || !ok) {
            fprintf(stderr, "conformance: %s: cannot be written\n", path);
            return 2;
        }
    }
    return 0;
}

static void record(const struct options *opt, const struct form_list *list, const struct outcome *o) {
    struct error e = {""};
    char about[400], day[40];
    const time_t now = time(NULL);
    struct device_identity id;
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    if (opt->runner == &runner_device && device_identify(&id, &e))
        snprintf(about, sizeof about, "%s, sm_%d, driver %s, %s", id.name, id.sm, id.driver, day);
    else
        snprintf(about, sizeof about, "no GPU: the runner `%s`, %s", opt->runner->name, day);
    mkdir(opt->record, 0777);
    struct recording *r = recording_open(opt->record, about, &e);
    for (size_t i = 0; r && i < list->count; ++i)
        if (o[i].ran)
            recording_add(r, &list->forms[i], o[i].in, o[i].out);
    if (!r || !recording_close(r, &e)) {
        fprintf(stderr, "conformance: %s\n", e.text);
        exit(2);
    }
}

int main(int argc, char **argv) {
    const struct options opt = read_options(argc, argv);
    struct form_list list = forms_open(opt.pattern);
    struct error e = {""};
    if (opt.list)
        for (size_t i = 0; i < list.count; ++i)
            printf("%-14s %s\n", list.forms[i].family->name, list.forms[i].text);
    if (opt.list || !list.count) {
        forms_close(&list);
        return list.count ? 0 : 3;
    }
    if (opt.emit) {
        const int status = write_kernels(opt.emit, &list);
        forms_close(&list);
        return status;
    }
    load_reciprocals();
    struct golden *golden = golden_open(opt.golden, &e);
    if (e.text[0]) {
        fprintf(stderr, "conformance: %s\n", e.text);
        return 2;
    }
    struct outcome *o = room(list.count * sizeof *o / 8);
    const int threads = opt.threads > 0 ? opt.threads : omp_get_max_threads();
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < list.count; ++i)
        try_form(&list.forms[i], &opt, golden, false, &o[i]);

    unsigned passed = 0, failed = 0, skipped = 0, shown = 0;
    for (size_t i = 0; i < list.count; ++i) {
        if (o[i].ran)
            judge(&list.forms[i], &o[i], &passed, &failed, &shown);
        else if (opt.refusals)
            printf("NOT RUN %s\n    %s\n", list.forms[i].text, o[i].refused);
        skipped += !o[i].ran;
    }
    self_test(&list, &opt) ? ++passed : ++failed;
    print_table(&list, o);
    printf("silicon: %s\n", golden ? golden_about(golden) : "no bytes are kept");
    if (opt.record)
        record(&opt, &list, o);
    for (size_t i = 0; i < list.count; ++i) {
        free(o[i].in);
        free(o[i].out);
    }
    free(o);
    golden_close(golden);
    forms_close(&list);
    free((void *)(uintptr_t)unit_rcp_table);
    printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed ? 1 : passed > 1 ? 0 : 3;
}
