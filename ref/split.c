#include "split.h"
#include "printable.h"
#include <stdint.h>
#include <string.h>

/* ---- words ---- */

/* *text is moved past a number that is written in decimal digits alone. */
static bool number(const char **text, size_t *out) {
    const char *s = *text;
    size_t n = 0;
    for (; *s >= '0' && *s <= '9'; s++) {
        if (n > (SIZE_MAX - 9) / 10)
            return false;
        n = 10 * n + (size_t)(*s - '0');
    }
    bool any = s != *text;
    *text = s;
    *out = n;
    return any;
}

static bool parse_cuts(const char *list, struct split *s, struct error *e) {
    s->kind = SPLIT_AT;
    for (;; list++) {
        size_t cut;
        if (!number(&list, &cut) || (*list && *list != ','))
            return fail(e, "a split at depths is written at:256,512: numbers of values, with commas");
        if (cut == 0 || (s->cut_count && cut <= s->cuts[s->cut_count - 1]))
            return fail(e, "the depths of a split must ascend from above 0; %zu does not", cut);
        if (s->cut_count == SPLIT_MOST_CUTS)
            return fail(e, "a split has at most %d depths", SPLIT_MOST_CUTS);
        s->cuts[s->cut_count++] = cut;
        if (!*list)
            return true;
    }
}

static bool parse_stream_k(const char *text, struct split *s, struct error *e) {
    s->kind = SPLIT_STREAM_K;
    if (!number(&text, &s->multiprocessors) || *text)
        return fail(e, "a stream-k split is written stream-k:132: a number of multiprocessors");
    return (s->multiprocessors >= 1 && s->multiprocessors <= SPLIT_MOST_MULTIPROCESSORS) ||
           fail(e, "stream-k needs 1 to %d multiprocessors, not %zu", SPLIT_MOST_MULTIPROCESSORS, s->multiprocessors);
}

bool split_parse(const char *text, struct split *s, struct error *e) {
    static const char at[] = "at:", stream_k[] = "stream-k:";
    char shown[64];
    *s = (struct split){.kind = SPLIT_NONE};
    if (!strcmp(text, "none"))
        return true;
    if (!strncmp(text, at, sizeof at - 1))
        return parse_cuts(text + sizeof at - 1, s, e);
    if (!strncmp(text, stream_k, sizeof stream_k - 1))
        return parse_stream_k(text + sizeof stream_k - 1, s, e);
    return fail(e, "'%s' is no split; known: none, at:DEPTH,..., stream-k:MULTIPROCESSORS",
                printable(shown, sizeof shown, text, strlen(text)));
}

bool split_check(const struct split *s, size_t id, size_t multiple, struct error *e) {
    for (size_t i = 0; s->kind == SPLIT_AT && i < s->cut_count; i++) {
        if (s->cuts[i] >= id)
            return fail(e, "a split at depth %zu is not inside a depth of %zu", s->cuts[i], id);
        if (s->cuts[i] % multiple)
            return fail(e, "a split at depth %zu: it must be a multiple of %zu", s->cuts[i], multiple);
    }
    return true;
}

/* ---- tiles ---- */

enum { TILE_ROWS = 128, MOST_TILE_TOKENS = 128, ITERATION_VALUES = 256 };

static size_t divided_up(size_t a, size_t b) {
    return a / b + (a % b != 0);
}

size_t split_tile_tokens(size_t nt, size_t od) {
    static const size_t whole[] = {8, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128}, fallback[] = {8, 16, 32, 64, 128};
    const size_t *j = od % TILE_ROWS ? fallback : whole;
    while (divided_up(nt, *j) > divided_up(nt, MOST_TILE_TOKENS)) /* 128 has the fewest tiles, and ends both lists */
        j++;
    return *j;
}

struct split_plan split_plan(const struct split *s, size_t nt, size_t od, size_t id, size_t block_values) {
    const size_t tokens = s->kind == SPLIT_STREAM_K ? split_tile_tokens(nt, od) : MOST_TILE_TOKENS;
    struct split_plan p = {
        .split = *s,
        .id = id,
        .tile_tokens = tokens,
        .tile_rows = TILE_ROWS,
        .token_tiles = divided_up(nt, tokens),
        .row_tiles = divided_up(od, TILE_ROWS),
        .block_values = block_values,
        .row_blocks = id / block_values,
        .iteration_blocks = ITERATION_VALUES / block_values,
    };
    if (s->kind == SPLIT_STREAM_K) {
        const size_t tiles = p.token_tiles * p.row_tiles, n = s->multiprocessors;
        p.workers = 100 * tiles / (n * divided_up(tiles, n)) >= 90 ? tiles : n;
    }
    return p;
}

size_t split_worker_start(const struct split_plan *p, size_t worker) {
    const size_t blocks = p->token_tiles * p->row_tiles * p->row_blocks, first = worker * blocks / p->workers;
    return first - first % p->row_blocks % p->iteration_blocks;
}

/* The part that ends where block `end` of all blocks starts belongs to the last worker that starts before. */
static size_t stream_k_start(const struct split_plan *p, size_t tile, size_t k_end) {
    const size_t tile_start = tile * p->row_blocks, end = tile_start + k_end / p->block_values;
    size_t before = 0, not_before = p->workers; /* start(0) = 0 < end <= start(workers) */
    while (not_before - before > 1) {
        const size_t middle = before + (not_before - before) / 2;
        if (split_worker_start(p, middle) < end)
            before = middle;
        else
            not_before = middle;
    }
    const size_t start = split_worker_start(p, before);
    return start > tile_start ? (start - tile_start) * p->block_values : 0;
}

size_t split_part_start(const struct split_plan *p, size_t tile, size_t k_end) {
    size_t start = 0;
    switch (p->split.kind) {
    case SPLIT_NONE:
        break;
    case SPLIT_AT:
        for (size_t i = 0; i < p->split.cut_count && p->split.cuts[i] < k_end; i++)
            start = p->split.cuts[i];
        break;
    case SPLIT_STREAM_K:
        start = stream_k_start(p, tile, k_end);
    }
    return start;
}

size_t split_cuts(const struct split_plan *p, size_t tile, size_t *cuts, size_t most) {
    size_t count = 0;
    for (size_t k = p->id; (k = split_part_start(p, tile, k)) > 0;)
        count++;
    size_t i = count;
    for (size_t k = p->id; (k = split_part_start(p, tile, k)) > 0;)
        if (--i < most)
            cuts[i] = k;
    return count;
}
