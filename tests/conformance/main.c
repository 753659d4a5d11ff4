/* Usage: conformance [--list] [--form PATTERN] [-j THREADS] [--runner machine|device] [--record FOLDER]
 *                    [--golden FOLDER] [--ptx FOLDER] [--emit FOLDER]
 * Exit code: 0 all forms agree, 1 some do not, 2 usage or environment, 3 nothing ran. */
#include "../../gpu/device/device.h"
#include "../../gpu/machine/isa.h"
#include "../../ref/half_functions.h"
#include "../../ref/rcp_approx.h"
#include "conformance.h"
#include <malloc.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { DETAILS = 40, SHOWN = 3 }; /* forms of which all is said, vectors of each */
#define GOLDEN      "fixtures/golden/conformance"
#define RCP_TABLE   "fixtures/golden/rcp_approx_sm90.bin.zz"
#define HALF_TABLES "fixtures/golden/half_functions_sm90.bin.zz"

struct options {
    const char *pattern, *record, *golden, *ptx, *emit;
    const struct runner *runner;
    bool list;
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
    uint64_t operands, results; /* digests */
    uint64_t *kept;             /* while recording: the first results */
    char other[16];             /* an instruction set of the CPU whose lane loops give other results, or "" */
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
    o->results = o->ran ? results_digest(f, got) : 0;
    if (opt->record && o->ran) {
        o->operands = operands_digest(f, in);
        o->kept = room(GOLDEN_VECTORS * f->read.results);
        recorded_results(f, got, o->kept);
    }
    free(in);
    free(got);
}

/* Runs a form again, with the lane loops of another instruction set. */
static void run_again(const struct form *f, const char *isa, struct outcome *o) {
    struct error e = {""};
    char event[128];
    if (!o->ran)
        return;
    uint64_t *in = room(f->vectors * f->read.inputs), *out = room(f->vectors * f->read.results);
    vectors_make(f, in);
    if (!run_form(f, &runner_machine, NULL, in, out, event, &e) || results_digest(f, out) != o->results)
        snprintf(o->other, sizeof o->other, "%s", isa);
    free(in);
    free(out);
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
    const bool event = o->event[0], wrong = o->differ > 0 || event || o->other[0],
               golden_wrong = o->golden > GOLDEN_EQUAL;
    wrong ? ++*failed : ++*passed;
    if (o->golden != GOLDEN_NONE)
        golden_wrong ? ++*failed : ++*passed;
    if (!wrong && !golden_wrong)
        return;
    if (++*shown > DETAILS) {
        printf("DIFFERS %s\n", f->text);
        return;
    }
    printf("DIFFERS %s\n", f->text);
    if (o->other[0])
        printf("    on the instruction set %s of the CPU the bits are others\n", o->other);
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
    s->differ += o->differ > 0 || o->event[0] || o->other[0];
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

/* A recording of a form's right results compares as equal; with one byte wrong, and of other operands, it must not. */
static bool golden_self_test(const struct form *f) {
    struct error e = {""};
    char folder[] = "/tmp/conformance.XXXXXX", path[64];
    const size_t n = f->vectors;
    uint64_t *in = room(n * f->read.inputs), *out = room(n * f->read.results), want[UNIT_RESULTS];
    uint64_t *first_results = room(GOLDEN_VECTORS * f->read.results);
    size_t first, differ;
    vectors_make(f, in);
    evaluate_form(f, in, out);
    struct recording *r = mkdtemp(folder) ? recording_open(folder, "self-test", &e) : NULL;
    recorded_results(f, out, first_results);
    if (r)
        recording_add(r, f, operands_digest(f, in), results_digest(f, out), first_results);
    bool good = r && recording_close(r, &e);
    struct golden *g = good ? golden_open(folder, &e) : NULL;
    good = g && golden_compare(g, f, in, out, &first, &differ, want) == GOLDEN_EQUAL;
    out[5] ^= 1;
    good = good && golden_compare(g, f, in, out, &first, &differ, want) == GOLDEN_DIFFERS && first == 5 && differ == 1;
    out[5] ^= 1;
    out[n - 1] ^= 1; /* past the bytes that are kept: by the digest alone */
    good = good && golden_compare(g, f, in, out, &first, &differ, want) == GOLDEN_DIFFERS && first == n && !differ;
    in[0] ^= 1;
    good = good && (!f->read.inputs || golden_compare(g, f, in, out, &first, &differ, want) == GOLDEN_STALE);
    if (!good)
        printf("self-test: kept bytes of `%s` are not compared as they should be %s\n", f->text, e.text);
    golden_close(g);
    for (int i = 0; i < 2; ++i) {
        snprintf(path, sizeof path, "%s/%s", folder, i ? "results.bin.zz" : "index.tsv");
        unlink(path);
    }
    rmdir(folder);
    free(first_results);
    free(in);
    free(out);
    return good;
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
            good = golden_self_test(&list->forms[i]) && good;
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

/* A zlib stream unpacked to so many bytes; NULL when it is not that. */
static uint8_t *unpacked(const char *path, uLongf bytes) {
    static uint8_t packed[1 << 20];
    FILE *f = fopen(path, "rb");
    const size_t size = f ? fread(packed, 1, sizeof packed, f) : 0;
    const uLongf want = bytes;
    uint8_t *table = malloc(bytes);
    const bool good = table && uncompress(table, &bytes, packed, size) == Z_OK && bytes == want;
    if (f)
        fclose(f);
    if (!good)
        free(table);
    return good ? table : NULL;
}

/* What was measured whole: for the machine by its own reader, for the independent rules by zlib alone. */
static void load_tables(void) {
    struct error e = {"start it from the repository's root"};
    uint8_t *halves = unpacked(HALF_TABLES, 1 << 19);
    for (size_t i = 0; halves && i < 1 << 18; ++i) { /* each result less the one before it, 65 536 a function */
        const uint8_t *before = halves + 2 * i - 2;
        const unsigned sum = halves[2 * i] + 256u * halves[2 * i + 1] + (i % 65536 ? before[0] + 256u * before[1] : 0);
        halves[2 * i] = (uint8_t)sum;
        halves[2 * i + 1] = (uint8_t)(sum >> 8);
    }
    unit_half_tables = halves;
    unit_rcp_table = unpacked(RCP_TABLE, 1 << 21);
    if (!unit_rcp_table || !unit_half_tables || !rcp_approx_load(RCP_TABLE, &e) ||
        !half_functions_load(HALF_TABLES, &e)) {
        fprintf(stderr, "conformance: fixtures/golden: no measured tables: %s\n", e.text);
        exit(2);
    }
}

static void usage(const char *what) {
    fprintf(
        stderr,
        "conformance: `%s` is no option, or has no value\nusage: conformance [--list] [--form PATTERN] [-j THREADS]\n"
        "                   [--runner machine|device] [--record FOLDER] [--golden FOLDER] [--ptx FOLDER] [--emit "
        "FOLDER]\n",
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
    if (opt->runner == &runner_device && device_identify(0, &id, &e))
        snprintf(about, sizeof about, "%s, sm_%d, driver %s, %s", id.name, id.sm, id.driver, day);
    else
        snprintf(about, sizeof about, "no GPU: the runner `%s`, %s", opt->runner->name, day);
    mkdir(opt->record, 0777);
    struct recording *r = recording_open(opt->record, about, &e);
    for (size_t i = 0; r && i < list->count; ++i)
        if (o[i].ran)
            recording_add(r, &list->forms[i], o[i].operands, o[i].results, o[i].kept);
    if (!r || !recording_close(r, &e)) {
        fprintf(stderr, "conformance: %s\n", e.text);
        exit(2);
    }
}

/* The first run took the best set of this CPU. */
static void run_on_all_sets(const struct form_list *list, struct outcome *o, int threads) {
    static const char *const names[] = {"base", "avx2", "avx512"};
    struct error e;
    const struct isa *best = isa_choose(&e);
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
        setenv("WARPPROOF_ISA", names[k], 1);
        if (!isa_choose(&e) || !best || !strcmp(best->name, names[k])) /* this CPU has it not; it was the first */
            continue;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t i = 0; i < list->count; ++i)
            run_again(&list->forms[i], names[k], &o[i]);
    }
    unsetenv("WARPPROOF_ISA");
}

int main(int argc, char **argv) {
    mallopt(M_MMAP_THRESHOLD, 1 << 29); /* the buffers of a form are used again by the next one */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
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
    load_tables();
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

    if (opt.runner == &runner_machine && !getenv("WARPPROOF_ISA"))
        run_on_all_sets(&list, o, threads);

    unsigned passed = 0, failed = 0, shown = 0, refused = 0;
    for (size_t i = 0; i < list.count; ++i) {
        if (o[i].ran)
            judge(&list.forms[i], &o[i], &passed, &failed, &shown);
        else if (++failed && ++refused <= DETAILS)
            printf("NOT RUN %s\n    %s\n", list.forms[i].text, o[i].refused);
    }
    if (refused > DETAILS)
        printf("... %u more that are not run\n", refused - DETAILS);
    self_test(&list, &opt) ? ++passed : ++failed;
    print_table(&list, o);
    printf("silicon: %s\n", golden ? golden_about(golden) : "no bytes are kept");
    if (opt.record)
        record(&opt, &list, o);
    for (size_t i = 0; i < list.count; ++i)
        free(o[i].kept);
    free(o);
    golden_close(golden);
    forms_close(&list);
    free((void *)(uintptr_t)unit_rcp_table);
    free((void *)(uintptr_t)unit_half_tables);
    printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    return failed ? 1 : passed > 1 ? 0 : 3;
}
