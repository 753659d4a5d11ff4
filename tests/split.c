/* ref/split: words, the tiles and cuts of stream-k against a walk through every block, public bugs. */
#include "../ref/split.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct split parsed(const char *text) {
    struct split s;
    struct error e = {""};
    cr_assert(split_parse(text, &s, &e), "'%s': %s", text, e.text);
    return s;
}

Test(split, words) {
    struct split s = parsed("none");
    cr_assert(s.kind == SPLIT_NONE, "none");
    s = parsed("at:256,512,4096");
    cr_assert(s.kind == SPLIT_AT && s.cut_count == 3, "at: %zu cuts", s.cut_count);
    cr_assert(s.cuts[0] == 256 && s.cuts[1] == 512 && s.cuts[2] == 4096, "at: %zu %zu %zu", s.cuts[0], s.cuts[1],
              s.cuts[2]);
    s = parsed("stream-k:132");
    cr_assert(s.kind == SPLIT_STREAM_K && s.multiprocessors == 132, "stream-k: %zu", s.multiprocessors);
    static const char *const bad[] = {"",
                                      "None",
                                      "none ",
                                      "at",
                                      "at:",
                                      "at:0",
                                      "at:256,",
                                      "at:,256",
                                      "at:512,256",
                                      "at:256,256",
                                      "at:-256",
                                      "at:0x100",
                                      "at: 256",
                                      "at:256 ",
                                      "at:256;512",
                                      "stream-k",
                                      "stream-k:",
                                      "stream-k:0",
                                      "stream-k:1x",
                                      "stream-k:65536",
                                      "stream-k:-1",
                                      "streamk:4",
                                      "stream-k:1,2",
                                      "at:99999999999999999999999",
                                      "stream-k:99999999999999999999999",
                                      "\x1b[31m"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error e = {""};
        cr_assert(!split_parse(bad[i], &s, &e) && e.text[0], "'%s' is taken", bad[i]);
        cr_assert(!strchr(e.text, '\x1b'), "a control character comes through: '%s'", e.text);
    }
    char many[1024] = "at:1";
    for (int i = 2; i <= SPLIT_MOST_CUTS; i++)
        sprintf(many + strlen(many), ",%d", i);
    cr_assert(parsed(many).cut_count == SPLIT_MOST_CUTS, "%d cuts", SPLIT_MOST_CUTS);
    strcat(many, ",999");
    cr_assert(!split_parse(many, &s, NULL), "one cut too many is taken");
}

Test(split, check) {
    struct split s = parsed("at:256,512");
    struct error e = {""};
    cr_assert(split_check(&s, 768, 256, &e), "inside: %s", e.text);
    cr_assert(!split_check(&s, 512, 256, &e) && strstr(e.text, "512"), "a cut at the end: %s", e.text);
    cr_assert(!split_check(&s, 256, 256, &e), "a cut past the end is taken");
    s = parsed("at:256,300");
    cr_assert(!split_check(&s, 768, 256, &e) && strstr(e.text, "300"), "no multiple: %s", e.text);
    s = parsed("stream-k:7");
    cr_assert(split_check(&s, 256, 256, &e), "stream-k: %s", e.text);
}

Test(split, tile_tokens) {
    static const struct {
        size_t nt, od, j;
    } row[] = {{1, 128, 8},    {8, 128, 8},    {9, 128, 16},    {17, 128, 24},    {33, 256, 40},
               {64, 4096, 64}, {65, 128, 80},  {97, 128, 112},  {128, 128, 128},  {129, 128, 80},
               {136, 128, 80}, {161, 128, 96}, {512, 128, 128}, {2048, 128, 128}, {513, 128, 112},
               {17, 127, 32},  {33, 129, 64},  {65, 1, 128},    {136, 130, 128},  {12, 128, 16}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        cr_assert(split_tile_tokens(row[i].nt, row[i].od) == row[i].j, "nt%zu.od%zu: J = %zu, want %zu", row[i].nt,
                  row[i].od, split_tile_tokens(row[i].nt, row[i].od), row[i].j);
}

/* Shapes of which is known whether stream-k cuts tiles on 132 multiprocessors, and into how many shares. */
Test(split, known_grids) {
    static const struct {
        size_t od, id, nt, tiles, workers;
    } row[] = {{4096, 4096, 64, 32, 132},    {4096, 4096, 512, 128, 128},     {4096, 4096, 2048, 512, 512},
               {14336, 4096, 512, 448, 132}, {14336, 4096, 2048, 1792, 1792}, {4096, 14336, 64, 32, 132},
               {128, 512, 128, 1, 132}};
    struct split s = parsed("stream-k:132");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct split_plan p = split_plan(&s, row[i].nt, row[i].od, row[i].id, 256);
        size_t tiles = p.token_tiles * p.row_tiles, cut = 0;
        for (size_t t = 0; t < tiles; t++)
            cut += split_cuts(&p, t, NULL, 0) > 0;
        cr_assert(tiles == row[i].tiles && p.workers == row[i].workers, "row %zu: %zu tiles, %zu workers", i, tiles,
                  p.workers);
        cr_assert((cut > 0) == (tiles % p.workers != 0), "row %zu: %zu of %zu tiles are cut", i, cut, tiles);
    }
    size_t cuts[4] = {0};
    struct split_plan p = split_plan(&s, 128, 128, 512, 256);
    cr_assert(split_cuts(&p, 0, cuts, 4) == 1 && cuts[0] == 256, "measured shape: cut at %zu", cuts[0]);
    cr_assert(split_worker_start(&p, 65) == 0 && split_worker_start(&p, 66) == 1 && split_worker_start(&p, 131) == 1,
              "block 0 is worker 65's, block 1 worker 131's");
}

/* As many workers as tiles from 90 % of whole waves on, the percentage cut to an integer; rows of tiles of 128 by 8. */
Test(split, ninety_percent) {
    static const struct {
        size_t tiles, multiprocessors, workers;
    } row[] = {
        {9, 10, 9},     {18, 20, 18},    {90, 100, 90},  {27, 15, 27},    {180, 100, 180},   /* 90 */
        {91, 100, 91},  {10, 11, 10},    {19, 10, 19},   {96, 100, 96},   {10, 10, 10},      /* 91, 90.9, 95 .. */
        {89, 100, 100}, {178, 100, 100}, {17, 19, 19},   {179, 200, 200}, {899, 1000, 1000}, /* 89 .. 89.9 */
        {85, 100, 100}, {17, 20, 20},    {86, 100, 100}, {7, 8, 8},       {88, 100, 100},    /* 85 .. 88 */
        {84, 100, 100}, {1, 2, 2},       {11, 10, 10},   {1, 1, 1},       {3, 1, 3},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct split s = {.kind = SPLIT_STREAM_K, .multiprocessors = row[i].multiprocessors};
        const struct split_plan p = split_plan(&s, 8, 128 * row[i].tiles, 512, 256);
        const size_t second = independent_stream_k_workers(row[i].tiles, row[i].multiprocessors);
        cr_assert(p.token_tiles * p.row_tiles == row[i].tiles, "row %zu: %zu tiles", i, p.token_tiles * p.row_tiles);
        cr_assert(p.workers == row[i].workers && second == row[i].workers, "%zu tiles on %zu: %zu and %zu, want %zu",
                  row[i].tiles, row[i].multiprocessors, p.workers, second, row[i].workers);
    }
    for (size_t n = 1; n < 140; n++)
        for (size_t tiles = 1; tiles < 300; tiles++) {
            const struct split s = {.kind = SPLIT_STREAM_K, .multiprocessors = n};
            const size_t workers = split_plan(&s, 8, 128 * tiles, 512, 256).workers;
            cr_assert(workers == independent_stream_k_workers(tiles, n), "%zu tiles on %zu: %zu", tiles, n, workers);
        }
}

/* Every tile against the walk; a cut is where the owner changes. */
static size_t tiles_that_differ(const struct split_plan *p, size_t *all_cuts) {
    const size_t tiles = p->token_tiles * p->row_tiles, blocks = tiles * p->row_blocks;
    size_t *owner = malloc(blocks * sizeof *owner), *cuts = malloc(p->row_blocks * sizeof *cuts), wrong = 0;
    cr_assert(owner && cuts, "out of memory");
    memset(owner, 0xff, blocks * sizeof *owner);
    independent_stream_k(tiles, p->row_blocks, p->iteration_blocks, p->split.multiprocessors, owner);
    for (size_t t = 0; t < tiles; t++) {
        const size_t *mine = owner + t * p->row_blocks, count = split_cuts(p, t, cuts, p->row_blocks);
        size_t met = 0;
        bool same = mine[0] != SIZE_MAX;
        for (size_t b = 1; b < p->row_blocks; b++)
            if (mine[b] != mine[b - 1]) {
                same = same && met < count && cuts[met] == b * p->block_values;
                met++;
            }
        wrong += !(same && met == count);
        *all_cuts += count;
    }
    free(owner);
    free(cuts);
    return wrong;
}

Test(split, stream_k_against_a_walk) {
    static const size_t nts[] = {1, 12, 33, 128, 300}, ods[] = {1, 128, 200, 384, 1152},
                        supers[] = {1, 2, 3, 5, 14, 37}, sms[] = {1, 2, 3, 7, 48, 132, 1000};
    size_t all_cuts = 0, plans = 0;
    for (size_t n = 0; n < 5; n++)
        for (size_t o = 0; o < 5; o++)
            for (size_t k = 0; k < 6; k++)
                for (size_t m = 0; m < 7; m++)
                    for (size_t values = 32; values <= 256; values *= 2) {
                        struct split s = {.kind = SPLIT_STREAM_K, .multiprocessors = sms[m]};
                        /* a row of blocks that is no whole number of iterations, too */
                        const size_t id = supers[k] * 256 + (m % 2) * values;
                        struct split_plan p = split_plan(&s, nts[n], ods[o], id, values);
                        size_t wrong = tiles_that_differ(&p, &all_cuts);
                        cr_assert(wrong == 0, "nt%zu.od%zu.id%zu/%zu on %zu: %zu tiles differ", nts[n], ods[o], id,
                                  values, sms[m], wrong);
                        plans++;
                    }
    cr_assert(all_cuts > plans, "the shapes must bring cuts: %zu", all_cuts);
}

Test(split, other_kinds) {
    struct split s = parsed("at:256,512");
    struct split_plan p = split_plan(&s, 300, 200, 1024, 256);
    size_t cuts[2] = {0};
    for (size_t t = 0; t < p.token_tiles * p.row_tiles; t++)
        cr_assert(split_cuts(&p, t, cuts, 2) == 2 && cuts[0] == 256 && cuts[1] == 512, "tile %zu: %zu %zu", t, cuts[0],
                  cuts[1]);
    cr_assert(split_part_start(&p, 0, 1024) == 512 && split_part_start(&p, 0, 512) == 256 &&
                  split_part_start(&p, 0, 256) == 0,
              "parts from the last to the first");
    s = parsed("none");
    p = split_plan(&s, 300, 200, 1024, 256);
    cr_assert(split_cuts(&p, 0, NULL, 0) == 0 && split_part_start(&p, 0, 1024) == 0, "none cuts nothing");
    cuts[0] = 7;
    s = parsed("at:256,512");
    p = split_plan(&s, 1, 1, 1024, 256);
    cr_assert(split_cuts(&p, 0, cuts, 0) == 2 && cuts[0] == 7, "more cuts than room: nothing is written");
}

/* B50, llama.cpp #8311: shares rounded in the row of all blocks, not within a row of blocks of a tile. 5 blocks a tile,
 * 4 tiles, 3 workers, iterations of 4 blocks: right 0 5 10 20, the bug gave 0 8 16 20. */
Test(split, B50_shares_are_rounded_within_a_tile) {
    static const size_t want[] = {0, 5, 10, 20}, bug[] = {0, 8, 16, 20};
    struct split s = parsed("stream-k:3");
    struct split_plan p = split_plan(&s, 8, 512, 5 * 64, 64);
    cr_assert(p.token_tiles * p.row_tiles == 4 && p.row_blocks == 5 && p.iteration_blocks == 4 && p.workers == 3,
              "the shape of the report");
    size_t differ = 0, all = 0;
    for (size_t w = 0; w <= 3; w++) {
        cr_assert(split_worker_start(&p, w) == want[w], "share %zu starts at %zu, want %zu", w,
                  split_worker_start(&p, w), want[w]);
        const size_t flat = (w * 20 / 3 + 3) / 4 * 4;
        differ += flat != want[w];
        cr_assert(flat == bug[w], "planted: rounded flat, share %zu starts at %zu", w, flat);
    }
    cr_assert(differ == 2, "planted: flat rounding must show");
    cr_assert(tiles_that_differ(&p, &all) == 0, "cuts");
    /* planted: a plan whose iterations are another's */
    p.iteration_blocks = 1;
    cr_assert(split_worker_start(&p, 1) == 6, "planted: without rounding share 1 starts inside a row");
    struct split_plan other = p;
    other.iteration_blocks = 4;
    size_t owner[20], cuts[5];
    independent_stream_k(4, 5, 4, 3, owner);
    cr_assert(owner[5] == 1 && owner[6] == 1 && split_cuts(&p, 1, cuts, 5) == 1 && split_cuts(&other, 1, cuts, 5) == 0,
              "planted: the cut at 1 inside tile 1 must show");
}
