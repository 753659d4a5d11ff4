/* What the hardware counters of a GPU give of a launch that the machine's census also gives, and tables of it. */
#ifndef GPU_COUNTERS_H
#define GPU_COUNTERS_H

#include "census.h"

enum { COUNTER_QUANTITIES = 21 };

struct counter_quantity {         /* of one launch */
    const char *name;             /* "ld.shared.conflicts" */
    const char *of;               /* the machine's: a name of census_count */
    enum instruction_class class; /* of the instructions that it counts; CLASSES: all of them */
};
extern const struct counter_quantity counter_quantities[COUNTER_QUANTITIES];

/* The machine's count of a quantity. */
uint64_t counter_of(const struct counter_quantity *q, const struct census *c);
/* A census line executes instructions of the kind that the quantity counts. */
bool counter_has_line(const struct counter_quantity *q, const struct census_line *l);

struct counted_launch { /* a line of a table */
    char *kernel, *entry, *shape;
    size_t number;   /* of the launch in its launch file, from 1 */
    char digest[65]; /* SHA-256 of the PTX */
    uint64_t counts[COUNTER_QUANTITIES];
    size_t line; /* of the file */
};

struct counter_table {
    struct counted_launch *launches; /* (count) */
    size_t count;
    bool counted[COUNTER_QUANTITIES]; /* the quantity has counts */
};

enum { COUNTER_TABLE_BYTES = 1 << 22 };

/* Reads what ci/counters-device writes: a line with the names of the columns, kernel, launch, entry, shape, ptx, and
 * each quantity once, then a line a launch; separated by one tab, '#' begins a comment. A count is an integer, or '-'
 * in the whole column: not counted. No two lines of one launch. Regular files alone, of at most COUNTER_TABLE_BYTES.
 * False with "FILE:LINE:COLUMN: ..." in e; *t is then empty. */
bool counter_table_read(const char *path, struct counter_table *t, struct error *e);
void counter_table_free(struct counter_table *t);

#endif
