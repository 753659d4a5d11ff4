/* What the judges of single stages share; explain.c calls them. Each is opened before the launch, told by the probe
 * while it runs, and reports afterwards. An error of the launch file's expressions is kept in `e`: the first one. */
#ifndef ORACLES_STAGES_H
#define ORACLES_STAGES_H

#include "../gpu/plane_content.h"
#include "explain.h"

enum { OWNERS = 4 };
struct cell_owner { /* the threads whose accumulators are a cell of the result */
    struct {
        uint32_t block, thread; /* 1 + number in the block */
    } by[OWNERS];
    uint32_t count;     /* of them; more than OWNERS: the others are not noted */
    uint32_t depth;     /* that by[0] has multiplied: less than all of it where the cell is summed in parts */
    uint32_t origin;    /* of its value: 0, ORIGIN_MIXED, ORIGIN_OUTSIDE, or ORIGIN_CELL + the cell whose accumulator */
    bool stored, lacks; /* lacks: an mma is missing, and so its sum is not put right */
};
enum { ORIGIN_OUTSIDE = 1 /* an accumulator of a cell that does not exist */, ORIGIN_CELL = 2 };

struct stages {
    const struct trial *trial;
    const struct bound *bound;
    struct content content;
    struct explanation *x;
    struct error e;          /* text[0]: something failed */
    struct mma_content want; /* of the mma at hand, when `wanted` */
    bool wanted;
    const struct explain_counts *ahead;
    uint64_t fit_block; /* 1 + the block that `fits` is of */
    bool fits;
    const struct finding *race; /* unordered_load of the plain run, or NULL */
    bool stop;                  /* something failed: the rest of the launch is not wanted */
    struct staging *staging;
    struct fragments *fragments;
    struct sums *sums;
    struct counts *counts;
    const uint8_t *result;     /* what the contract says, or NULL; once the launch has run */
    struct cell_owner *owners; /* (nt, od) of a contract with a matrix result and a known mma, else NULL */
};

/* stage_staging.c */
void staging_open(struct stages *s);
void staging_barrier(struct stages *s, const struct probe_barrier *at);
void staging_report(struct stages *s, const struct trace *t);
void staging_close(struct stages *s);

/* stage_fragments.c; want: of this mma. Operands are put right. */
void fragments_open(struct stages *s);
void fragments_operands(struct stages *s, const struct probe_mma *at, const struct mma_content *want);
void fragments_report(struct stages *s, const struct trace *t);
void fragments_close(struct stages *s);

/* stage_sums.c; owners of the cells are noted. Results are put right. */
void sums_open(struct stages *s);
void sums_operands(struct stages *s, const struct probe_mma *at, const struct mma_content *want);
void sums_results(struct stages *s, const struct probe_mma *at, const struct mma_content *want);
void sums_stored(struct stages *s, const struct probe_store *at);
void sums_report(struct stages *s, const struct trace *t);
void sums_close(struct stages *s);

/* stage_count.c: how many mma each warp executes, as s->ahead counted, and how many it must.
 * align: s->want is of the mma at hand; a warp that lacks some, or has some too many, is numbered on where its operands
 * show it. False: this mma is one too many, and there is nothing to compare. */
void count_open(struct stages *s);
bool count_align(struct stages *s, const struct probe_mma *at);
void count_extra(struct stages *s, const struct probe_mma *at); /* after such a one */
void count_report(struct stages *s, const struct trace *t);
void count_close(struct stages *s);
/* The sum of this cell lacks mma. */
bool sums_unsure(const struct stages *s, size_t cell);

/* stage_result.c: rescale and store. result: what the contract says, or NULL. */
void result_report(struct stages *s, const struct trace *t, const uint8_t *result);

/* explain.c: this block comes to all the barriers at which `stages` wants its planes full. If not, what a plane holds
 * at a barrier is not known, and nothing of the block is compared. */
bool block_fits(struct stages *s, const struct probe_place *at);
/* "2 of 4 blocks: block (1,0,0) opened 0 of the 3 barriers that ...", owned by the caller; NULL: all fit. *all: none
 * does. */
char *unfit_text(struct stages *s, bool *all);
/* The launch file's path, without the working folder where it lies below that; a part of the spec's. */
const char *stage_file(const struct stages *s);
/* Not judged, and why (taken over). */
void stage_skip(struct stages *s, enum stage_kind kind, char *why);
/* Judged: CLEAN, or FOUND when something is wrong. */
void stage_judged(struct stages *s, enum stage_kind kind, const char *unit, uint64_t compared, uint64_t wrong);
/* Judged in part: of which blocks not, and why (taken over). */
void stage_in_part(struct stages *s, enum stage_kind kind, char *rest);
/* Index of the block of this number, x runs fastest. */
void block_index(const struct launch *l, uint64_t number, uint32_t block[3]);
/* "block (0,1,0)"; of a static thread-local buffer. */
const char *block_text(const uint32_t block[3]);

#endif
