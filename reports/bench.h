/* Measured times, as a table and as JSON. */
#ifndef REPORTS_BENCH_H
#define REPORTS_BENCH_H

#include "../gpu/device/device.h"
#include "../gpu/device/timing.h"
#include "../gpu/expr.h"
#include "../ref/error.h"
#include <stdio.h>

enum bench_role { BENCH_KERNEL, BENCH_CONTROL, BENCH_CEILING };

struct bench_entry { /* what was timed at one shape */
    enum bench_role role;
    char *name;
    char *about;                /* its contract and split, or what a ceiling computes; NULL: neither */
    char ptx_sha256[65];        /* "" of a ceiling */
    char *toolkit;              /* as its PTX says, or NULL */
    struct shape_value *values; /* (value_count) that its launch file or its contract uses; names owned too */
    size_t value_count;
    size_t launches; /* of its launch file, timed together */
    size_t copies, copy_bytes;
    bool warm;            /* too few copies: the L2 may hold some of the next one */
    double macs;          /* multiply-adds of a launch, nt * od * id; 0: it has no such count */
    double *seconds;      /* (rounds) of a launch; NULL: there is no figure, and `why` */
    double start_seconds; /* what the host took for one, median over the rounds */
    char *why;
    bool wrong; /* `why` is a wrong result, or a launch that was refused or stopped */
};

struct bench_shape {
    size_t rounds, launches; /* launches a measurement, of everything alike */
    struct bench_entry *entries;
    size_t count; /* the kernels as given, then the control, which is the first kernel again, then ceilings */
};
void bench_shape_free(struct bench_shape *s);

struct bench_head { /* where, when and how */
    struct device_identity gpu;
    struct gpu_figures figures;
    size_t cublas_version; /* 0: there is none */
    char *no_ceilings;     /* why there is none, where it was asked for; else NULL */
    char date[32];         /* UTC */
    char *command;
    const char *data; /* class of the operands */
};

/* What was measured, before the tables. */
void bench_print_head(FILE *out, const struct bench_head *h);
/* The figure is the host's rate of launches, and not the time of the launch. */
bool bench_host_bound(const struct bench_entry *x, double median_seconds);

/* All kernels have the values of the first: they are those of the whole shape, and not said of each. */
bool bench_alike(const struct bench_shape *s);

/* One row an entry: median time, TMAC/s, and over the first kernel and over cuBLAS f16 the median of the ratios within
 * each round. */
void bench_print(FILE *out, const struct bench_shape *s);

/* {"bench": {device, driver, date, command ...}}, then a line a shape: {"shape", "rounds", "launches", "entries":
 * [{..., "shape", "seconds": [of every round], "median", "tmacs", "over_first": {"median", "least", "most",
 * "separated", "overlap"}, "over_cublas_f16"}]}; the shape of a line is null where its kernels' are not alike. A
 * regular file whole or not at all, as file_put. */
bool bench_json(const char *path, const struct bench_head *h, const struct bench_shape *shapes, size_t count,
                struct error *e);

#endif
