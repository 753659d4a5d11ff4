/* How fast the PTX machine is, with its watches off and on, on the KD 8 kernel of gpu/kernels: warp instructions a
 * second of the execution alone. The two take turns, and each figure is the best of its runs. A measurement, not a
 * test: nothing here is judged. Source of the bars: the project's own goals, written in reports/README.md. */
#include "../../gpu/bind.h"
#include "../../ref/checked.h"
#include <getopt.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: build/bench-machine [--isa NAME] [--runs N] [--shape NT,OD,ID] [--large] [-j N]\n"
    "\n"
    "  --isa NAME        base, avx2 or avx512 (default: the best that this CPU has)\n"
    "  --runs N          measurements of each kind (default 5)\n"
    "  --shape NT,OD,ID  tokens, rows, depth (default 1024,1024,1024)\n"
    "  --large           512 tokens x 4096 rows x depth 4096, all watches, on -j threads (default all): seconds\n"
    "  -j N              threads (default 1; with --large all)\n";

struct work {
    struct spec *spec;
    struct ptx_module *module;
    struct operands operands;
    struct shape_value values[3];
    size_t nt, od, id;
    int threads;
};

static _Noreturn void stop(const struct error *e) {
    fprintf(stderr, "bench-machine: %s\n", e->text);
    exit(2);
}

static void open_work(struct work *w) {
    struct error e;
    w->spec = spec_load("gpu/kernels/mmq_wide_ldb_kd8.yaml", ".", &e);
    w->module = w->spec ? ptx_load(w->spec->ptx, &e) : NULL;
    if (!w->module)
        stop(&e);
    const struct operands_request r = {.contract = contract_named(w->spec->contract),
                                       .nt = w->nt,
                                       .od = w->od,
                                       .id = w->id,
                                       .data = DATA_RAND,
                                       .key = random_key("bench-machine")};
    if (!operands_make(&r, &w->operands, &e))
        stop(&e);
}

/* One launch; its rate in warp instructions a second. */
static double measure(const struct work *w, uint32_t unwatched, struct trace *t) {
    struct error e;
    struct bound b;
    struct shape_value values[3];
    const struct shape shape = operands_shape(&w->operands, values);
    if (!bind_launch(w->spec, w->module, &shape, &w->operands, 1, &b, &e))
        stop(&e);
    b.launch.threads = w->threads;
    b.launch.options.unwatched = unwatched;
    if (!runner_machine.run(&b.launch, t, &e))
        stop(&e);
    for (size_t i = 0; i < t->event_count; ++i)
        if (t->events[i].kind != EVENT_BENIGN_RACE) {
            fprintf(stderr, "bench-machine: the kernel made an event of kind %d: it is not the work it should be\n",
                    t->events[i].kind);
            exit(1);
        }
    bound_free(&b);
    const double rate = (double)t->warp_instructions / t->seconds;
    return rate;
}

static bool parse_shape(const char *text, struct work *w) {
    char rest;
    return sscanf(text, "%zu,%zu,%zu%c", &w->nt, &w->od, &w->id, &rest) == 3 && w->nt && w->od && w->id &&
           w->nt <= 1 << 16 && w->od <= 1 << 16 && w->id <= 1 << 16;
}

int main(int argc, char **argv) {
    static const struct option longs[] = {
        {"isa", required_argument, NULL, 'i'},   {"runs", required_argument, NULL, 'r'},
        {"shape", required_argument, NULL, 's'}, {"large", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};
    struct work w = {.nt = 1024, .od = 1024, .id = 1024};
    int runs = 5;
    bool large = false;
    for (int c; (c = getopt_long(argc, argv, "j:h", longs, NULL)) != -1;) {
        const bool ok = c == 'i'   ? setenv("WARPPROOF_ISA", optarg, 1) == 0
                        : c == 'r' ? (runs = atoi(optarg)) >= 1 && runs <= 1000
                        : c == 's' ? parse_shape(optarg, &w)
                        : c == 'j' ? (w.threads = atoi(optarg)) >= 1 && w.threads <= 1024
                        : c == 'l' ? (large = true)
                                   : false;
        if (!ok) {
            fputs(usage, c == 'h' ? stdout : stderr);
            return c == 'h' ? 0 : 2;
        }
    }
    if (optind < argc) {
        fputs(usage, stderr);
        return 2;
    }
    struct trace t;
    const char *isa = getenv("WARPPROOF_ISA");
    if (large) {
        w.nt = 512, w.od = w.id = 4096;
        w.threads = w.threads ? w.threads : omp_get_max_threads();
    } else if (!w.threads) {
        w.threads = 1;
    }
    open_work(&w);
    double best[2] = {0, 0}, seconds = 1e300;
    for (int i = 0; i < runs; ++i)
        for (int on = large; on < 2; ++on) {
            const double rate = measure(&w, on ? 0 : WATCH_ALL, &t);
            best[on] = rate > best[on] ? rate : best[on];
            seconds = on && t.seconds < seconds ? t.seconds : seconds;
            trace_free(&t);
        }
    printf("mmq_wide_ldb_kd8, %zu tokens x %zu rows x depth %zu, %d thread%s, instruction set %s, best of %d\n", w.nt,
           w.od, w.id, w.threads, w.threads == 1 ? "" : "s", isa ? isa : "the best here", runs);
    if (large) {
        printf("watches on: %.2f s, %.1f M warp-inst/s\n", seconds, best[1] / 1e6);
    } else {
        printf("watches off: %.1f M warp-inst/s\n", best[0] / 1e6);
        printf("watches on: %.1f M warp-inst/s\n", best[1] / 1e6);
        printf("ratio on/off: %.2f\n", best[1] / best[0]);
    }
    operands_free(&w.operands);
    ptx_free(w.module);
    spec_free(w.spec);
    return 0;
}
