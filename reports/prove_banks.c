#include "prove_banks.h"
#include "../ref/checked.h"
#include "../ref/printable.h"
#include "svg.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, BANKS = 32, SHOWN_ROWS = 64 };

/* "0-7 16 18" of the numbers that are set; owned by the caller. */
static char *ranges(const bool *set, uint32_t count) {
    char *text = must_strdup("");
    for (uint32_t i = 0; i < count; ++i) {
        if (!set[i])
            continue;
        uint32_t last = i;
        while (last + 1 < count && set[last + 1])
            ++last;
        char *longer = last > i + 1 ? must_format("%s%s%u-%u", text, text[0] ? " " : "", i, last)
                                    : must_format("%s%s%u", text, text[0] ? " " : "", i);
        free(text);
        text = longer;
        i = last > i + 1 ? last : i;
    }
    return text;
}

static char *lanes_text(uint32_t lanes) {
    bool set[LANES];
    for (unsigned lane = 0; lane < LANES; ++lane)
        set[lane] = lanes >> lane & 1;
    return ranges(set, LANES);
}

/* "rows 0-3" of the lanes, or NULL where they have none (UINT32_MAX). row: (LANES), or NULL. */
static char *rows_text(uint32_t lanes, const uint32_t *row) {
    uint32_t end = 0;
    for (unsigned lane = 0; lane < LANES && row; ++lane)
        end = lanes >> lane & 1 && row[lane] != UINT32_MAX && row[lane] + 1 > end ? row[lane] + 1 : end;
    if (end == 0)
        return NULL;
    bool *set = must_calloc(end, sizeof *set);
    for (unsigned lane = 0; lane < LANES; ++lane)
        if (lanes >> lane & 1 && row[lane] != UINT32_MAX)
            set[row[lane]] = true;
    char *text = ranges(set, end),
         *whole = must_format("%s %s", strchr(text, ' ') || strchr(text, '-') ? "rows" : "row", text);
    free(set);
    free(text);
    return whole;
}

static void print_lanes(FILE *out, uint32_t lanes, const uint32_t *row) {
    char *text = lanes_text(lanes), *rows = rows_text(lanes, row);
    fprintf(out, "lane%s %s%s%s%s\n", lanes & (lanes - 1) ? "s" : "", text, rows ? " (" : "", rows ? rows : "",
            rows ? ")" : "");
    free(text);
    free(rows);
}

/* Lanes of a phase that ask for the same banks with different words: in words, one line for each set of banks. */
static void print_meetings(FILE *out, const struct bank_op *op, const uint32_t at[LANES], uint32_t lanes,
                           const uint32_t *row) {
    const uint32_t group = op->bytes > 4 ? op->bytes / 4 : 1;
    for (uint32_t bank = 0; bank < BANKS; bank += group) {
        uint32_t here = 0, words[LANES] = {0}, distinct = 0;
        for (uint32_t lane = 0; lane < LANES; ++lane) {
            const uint32_t word = at[lane] / 4;
            if (!(lanes >> lane & 1) || word % BANKS / group * group != bank)
                continue;
            here |= (uint32_t)1 << lane;
            uint32_t i = 0;
            while (i < distinct && words[i] != word)
                ++i;
            if (i == distinct)
                words[distinct++] = word;
        }
        if (distinct < 2)
            continue;
        if (group > 1)
            fprintf(out, "    banks %u-%u are asked for %u words each by ", bank, bank + group - 1, distinct);
        else
            fprintf(out, "    bank %u is asked for %u words by ", bank, distinct);
        print_lanes(out, here, row);
    }
}

static void print_access(FILE *out, const struct bank_op *op, const uint32_t at[LANES], uint32_t active,
                         const uint32_t *row) {
    const struct bank_plan p = bank_plan(op, at, active);
    unsigned first = 0;
    if (p.merged)
        fprintf(out, "  pairs of lanes have equal addresses: half as many phases\n");
    for (unsigned k = 0; k < p.phases; first += p.degree[k++]) {
        fprintf(out, "  phase %u: %u wavefront%s, %u conflict%s\n", k, p.degree[k], plural(p.degree[k]),
                p.degree[k] ? p.degree[k] - 1 : 0, plural(p.degree[k] ? p.degree[k] - 1 : 0));
        for (unsigned w = first; w < first + p.degree[k]; ++w) {
            uint32_t lanes = 0;
            for (unsigned lane = 0; lane < LANES; ++lane)
                lanes |= (uint32_t)(p.wavefront[lane] == w) << lane;
            fprintf(out, "    wavefront %u: ", w);
            print_lanes(out, lanes, row);
        }
        print_meetings(out, op, at, p.lanes[k], row);
    }
}

static void print_sum(FILE *out, const struct bank_op *op, size_t accesses, struct bank_count c) {
    fprintf(out, "%s: %zu access%s, %u wavefront%s, %u conflict%s\n", op->name, accesses, accesses == 1 ? "" : "es",
            c.wavefronts, plural(c.wavefronts), c.conflicts, plural(c.conflicts));
}

static void print_which(FILE *out, size_t access, size_t accesses) {
    if (accesses > 1)
        fprintf(out, "access %zu of 0..%zu, the first with most wavefronts:\n", access, accesses - 1);
}

/* ---- tiles ---- */

/* The first access with the most wavefronts. */
static size_t worst_access(const struct bank_tile *t, struct bank_access_lanes *worst) {
    const size_t accesses = bank_tile_accesses(t);
    size_t at = 0;
    unsigned most = 0;
    for (size_t i = 0; i < accesses; ++i) {
        struct bank_access_lanes a;
        bank_tile_access(t, i, &a);
        const unsigned n = bank_count(t->op.kind, t->op.bytes, t->op.matrices, a.at, a.active).wavefronts;
        if (i == 0 || n > most) {
            most = n;
            at = i;
            *worst = a;
        }
    }
    return at;
}

static char *swizzle_text(uint32_t mask, uint32_t shift) {
    return mask ? must_format("chunk ^= row >> %u & %u", shift, mask) : must_strdup("none");
}

static uint32_t start_bank(const struct bank_tile *t, uint32_t row) {
    return bank_tile_place(t, row, 0) / 4 % BANKS;
}

void banks_tile_text(FILE *out, const struct bank_tile *t) {
    fprintf(out, "%u row%s of %u byte%s, %u bytes apart", t->rows, plural(t->rows), t->row_bytes, plural(t->row_bytes),
            t->stride);
    if (t->offset)
        fprintf(out, ", from byte %u", t->offset);
    if (t->xor_mask) {
        char *swizzle = swizzle_text(t->xor_mask, t->xor_shift);
        fprintf(out, ", swizzle %s", swizzle);
        free(swizzle);
    }
    fprintf(out, "\nstart banks:");
    for (uint32_t row = 0; row < t->rows && row < SHOWN_ROWS; ++row)
        fprintf(out, " %u", start_bank(t, row));
    if (t->rows > SHOWN_ROWS)
        fprintf(out, " ... (%d of %u rows)", SHOWN_ROWS, t->rows);
    fprintf(out, "\n");
    print_sum(out, &t->op, bank_tile_accesses(t), bank_tile_count(t));
    struct bank_access_lanes a = {.active = 0};
    print_which(out, worst_access(t, &a), bank_tile_accesses(t));
    print_access(out, &t->op, a.at, a.active, a.row);
}

size_t banks_touches(const struct bank_op *op, const uint32_t at[LANES], uint32_t active,
                     struct svg_touch touches[BANKS_TOUCHES]) {
    const struct bank_plan p = bank_plan(op, at, active);
    size_t count = 0;
    for (uint32_t lane = 0; lane < LANES; ++lane)
        for (uint32_t k = 0; k < (op->bytes > 4 ? op->bytes / 4 : 1) && p.wavefront[lane] != BANK_IDLE; ++k)
            touches[count++] = (struct svg_touch){lane, (at[lane] / 4 + k) % BANKS, p.wavefront[lane]};
    return count;
}

char *banks_access_svg(const char *title, const struct bank_op *op, const uint32_t at[LANES], uint32_t active,
                       size_t *size) {
    struct svg_touch touches[BANKS_TOUCHES];
    return svg_bank_map(title, touches, banks_touches(op, at, active, touches), size);
}

char *banks_tile_svg(const struct bank_tile *t, size_t *size) {
    struct bank_access_lanes a = {.active = 0};
    const size_t access = worst_access(t, &a);
    char *title = must_format("%s, %u rows of %u bytes, stride %u, access %zu", t->op.name, t->rows, t->row_bytes,
                              t->stride, access);
    char *text = banks_access_svg(title, &t->op, a.at, a.active, size);
    free(title);
    return text;
}

/* ---- layouts ---- */

void banks_layout_text(FILE *out, const struct layout *l, const struct bank_layout *b) {
    char shown[256];
    fprintf(out, "%s: %u rows of %u bytes\nstart banks:", printable(shown, sizeof shown, l->name, strlen(l->name)),
            l->rows, l->row_bytes);
    for (unsigned row = 0; row < b->start_count; ++row)
        fprintf(out, " %u", b->starts[row]);
    if (l->rows > b->start_count)
        fprintf(out, " ... (%u of %u rows)", b->start_count, l->rows);
    fprintf(out, "\n");
    print_sum(out, &b->op, b->accesses, b->count);
    print_which(out, b->worst, b->accesses);
    print_access(out, &b->op, b->at, bank_op_lanes(&b->op), b->row);
}

char *banks_layout_svg(const struct layout *l, const struct bank_layout *b, size_t *size) {
    char *title = must_format("%s, %s, access %zu", l->name, b->op.name, b->worst);
    char *text = banks_access_svg(title, &b->op, b->at, bank_op_lanes(&b->op), size);
    free(title);
    return text;
}

/* ---- advice ---- */

void banks_advice_text(FILE *out, const struct bank_tile *t, uint32_t align, const struct bank_advice_list *l) {
    fprintf(
        out,
        "%u row%s of %u byte%s, %s, strides that are multiples of %u bytes: %zu of %zu layouts are free of conflicts\n",
        t->rows, plural(t->rows), t->row_bytes, plural(t->row_bytes), t->op.name, align, l->count, l->tried);
    if (l->count == 0) {
        char *swizzle = swizzle_text(l->best.xor_mask, l->best.xor_shift);
        fprintf(out, "none exists; the fewest wavefronts are %u, %u of them conflicts: stride %u, swizzle %s\n",
                l->best.count.wavefronts, l->best.count.conflicts, l->best.stride, swizzle);
        free(swizzle);
        return;
    }
    fprintf(out, "%8s %12s %10s  %s\n", "stride", "arena bytes", "over a row",
            "swizzles MASK:SHIFT, chunk ^= row >> SHIFT & MASK");
    for (size_t i = 0; i < l->count;) {
        const struct bank_advice *first = &l->items[i];
        fprintf(out, "%8u %12" PRIu64 " %10u ", first->stride, first->bytes, first->stride - t->row_bytes);
        for (; i < l->count && l->items[i].stride == first->stride; ++i)
            l->items[i].xor_mask ? fprintf(out, " %u:%u", l->items[i].xor_mask, l->items[i].xor_shift)
                                 : fprintf(out, " none");
        fprintf(out, "\n");
    }
}

/* ---- tables ---- */

struct banks_totals banks_table_text(FILE *out, const struct bank_table *t) {
    struct banks_totals n = {0, 0, 0};
    fprintf(out, "# op\tlabel\twavefronts\tconflicts\n");
    for (size_t i = 0; i < t->count; ++i) {
        const struct bank_row *r = &t->rows[i];
        const struct bank_count c = bank_row_count(r);
        const bool differs = bank_row_differs(r);
        char shown[256];
        fprintf(out, "%s\t%s\t%u\t%u", r->written, printable(shown, sizeof shown, r->label, strlen(r->label)),
                c.wavefronts, c.conflicts);
        if (differs)
            fprintf(out, "\tDIFFERS: line %zu states %u and %u", r->line, r->count.wavefronts, r->count.conflicts);
        const bool uncounted = bank_row_uncounted(r);
        if (uncounted)
            fprintf(out, "\tNOT COUNTED: line %zu states 0 wavefronts, an access takes at least 1", r->line);
        fprintf(out, "\n");
        ++*(differs ? &n.failed : r->stated && !uncounted ? &n.passed : &n.skipped);
    }
    if (n.passed + n.failed > 0)
        fprintf(out, "%zu passed, %zu failed, %zu skipped\n", n.passed, n.failed, n.skipped);
    else if (t->count > 0)
        fprintf(out, "%zu row%s, none states what was counted: nothing was compared\n", t->count,
                t->count == 1 ? "" : "s");
    return n;
}
