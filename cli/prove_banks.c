/* warpproof prove banks: wavefronts and bank conflicts of shared memory. */
#include "../reports/prove_banks.h"
#include "../gpu/bank_statements.h"
#include "../ref/checked.h"
#include "../reports/file.h"
#include "../reports/statement.h"
#include "call_files.h"
#include "command.h"
#include "judging.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "prove banks";
static const char usage[] =
    "usage: warpproof prove banks [PATTERN...] [--list]\n"
    "       warpproof prove banks --rows N --row-bytes N --stride N [--op OP] [--xor MASK[:SHIFT]] [--offset N]\n"
    "                             [--mask HEX] [--wavefronts N] [--svg FILE]\n"
    "       warpproof prove banks --advise --rows N --row-bytes N [--align N] [--max-stride N] [--op OP] [--offset N]\n"
    "                             [--mask HEX]\n"
    "       warpproof prove banks --layout FILE [--wavefronts N] [--svg FILE]\n"
    "       warpproof prove banks --table FILE\n"
    "\n"
    "Proves what is said of wavefronts and bank conflicts: the rules, the padded planes of the kernels, and what a "
    "GPU\n"
    "counted. PATTERN is part of a statement's name, or a glob that matches all of it. With --rows it shows those of "
    "your\n"
    "rows: the bank in which each begins, which lanes each wavefront serves, which rows meet in which banks.\n"
    "\n"
    "  --list             names and texts of the statements; nothing is proved\n"
    "  --rows N           rows of the tile\n"
    "  --row-bytes N      data bytes of a row\n"
    "  --stride N         bytes from row to row\n"
    "  --op OP            ldmatrix.x1|x2|x4[.trans], stmatrix likewise: matrices of 8 rows x 16 bytes, down the rows "
    "first;\n"
    "                     ld8 ld16 ld32 ld64 ld128, st8 ... st128: bits a lane, along the rows first\n"
    "                     (default: the ldmatrix that covers the tile with fewest instructions)\n"
    "  --xor MASK[:SHIFT] a swizzle of 16-byte chunks of a row: chunk ^= row >> SHIFT & MASK\n"
    "  --offset N         of the tile in shared memory (default 0)\n"
    "  --mask HEX         lanes that take part (default ffffffff)\n"
    "  --wavefronts N     claim that all accesses take N wavefronts: exit 1 when they do not\n"
    "  --advise           all strides and swizzles without a conflict, cheapest first\n"
    "  --align N          --advise: strides are multiples of N (default 16)\n"
    "  --max-stride N     --advise: the largest stride (default: until the banks repeat)\n"
    "  --layout FILE      a layout of your own (docs/prove.md): all its accesses\n"
    "  --table FILE       accesses by their addresses (format: fixtures/golden/banks_h200.tsv; counts may be left "
    "out);\n"
    "                     rows whose counts are not the model's are marked\n"
    "  --svg FILE         the access with most wavefronts as a picture: lanes by wavefront and bank\n"
    "  --json FILE        write the results, whole or not at all\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 done, 1 a statement or claim is wrong, a table's row differs, or no layout is free of conflicts,\n"
    "      2 input or usage error, 3 nothing was proved\n";

enum { /* which options were given */
       GIVEN_ROWS = 1 << 0,
       GIVEN_ROW_BYTES = 1 << 1,
       GIVEN_STRIDE = 1 << 2,
       GIVEN_OP = 1 << 3,
       GIVEN_XOR = 1 << 4,
       GIVEN_OFFSET = 1 << 5,
       GIVEN_MASK = 1 << 6,
       GIVEN_WAVEFRONTS = 1 << 7,
       GIVEN_ADVISE = 1 << 8,
       GIVEN_ALIGN = 1 << 9,
       GIVEN_MAX_STRIDE = 1 << 10,
       GIVEN_LAYOUT = 1 << 11,
       GIVEN_TABLE = 1 << 12,
       GIVEN_SVG = 1 << 13,
       GIVEN_LIST = 1 << 14,
       GIVEN_JSON = 1 << 15,
       GIVEN_PATTERN = 1 << 16,
};

struct options {
    unsigned given;
    struct bank_tile tile;
    uint32_t align, max_stride, wavefronts;
    const char *layout, *table, *svg, *json;
    const char *const *patterns;
    size_t pattern_count;
};

static int failed(const struct error *e) {
    flush_output();
    return usage_error(name, "%s", e->text);
}

/* The claim of --wavefronts, under what was printed. */
static int judge_claim(const struct options *o, struct bank_count c) {
    if (!(o->given & GIVEN_WAVEFRONTS)) {
        return EXIT_PASSED;
    }
    const bool good = c.wavefronts == o->wavefronts;
    if (!good) {
        printf("REFUTED: %u wavefront%s claimed, all accesses take %u\n", o->wavefronts,
               o->wavefronts == 1 ? " is" : "s are", c.wavefronts);
    }
    printf("%d passed, %d failed, 0 skipped\n", good, !good);
    return good ? EXIT_PASSED : EXIT_KERNEL_WRONG;
}

/* path NULL: there is nothing to write. */
static bool put_svg(const char *path, const char *text, size_t size, struct error *e) {
    return path == NULL ||
           (text != NULL ? file_put(path, text, size, e) : fail(e, "%s: no memory for the picture", path));
}

static int prove_tile(const struct options *o) {
    const struct bank_tile *t = &o->tile;
    struct error e;
    size_t size = 0;
    if (!bank_tile_check(t, &e)) {
        return failed(&e);
    }
    banks_tile_text(stdout, t);
    char *picture = o->svg != NULL ? banks_tile_svg(t, &size) : NULL;
    if ((o->json != NULL && !banks_tile_json(o->json, t, &e)) || !put_svg(o->svg, picture, size, &e)) {
        free(picture);
        return failed(&e);
    }
    free(picture);
    return judge_claim(o, bank_tile_count(t));
}

static int advise(const struct options *o) {
    struct error e;
    struct bank_advice_list l;
    if (!bank_advise(&o->tile, o->align, o->max_stride, &l, &e)) {
        return failed(&e);
    }
    banks_advice_text(stdout, &o->tile, o->align, &l);
    int code = l.count > 0 ? EXIT_PASSED : EXIT_KERNEL_WRONG;
    if (o->json != NULL && !banks_advice_json(o->json, &o->tile, o->align, &l, &e)) {
        code = failed(&e);
    }
    bank_advice_free(&l);
    return code;
}

static bool prove_fragments_of(const struct layout *l, struct statement_list *list, struct error *e) {
    struct statement s = {0};
    const bool good = layout_prove(l, &s, e);
    statement_add(list, s);
    return good;
}

static int prove_layout(const struct options *o) {
    struct error e;
    struct bank_layout b;
    size_t size = 0;
    struct statement_list fragments = {NULL, 0};
    struct layout *l = layout_read(o->layout, &e);
    int code = EXIT_INPUT;
    if (l == NULL || !bank_layout_count(l, &b, &e) || !prove_fragments_of(l, &fragments, &e)) {
        code = failed(&e);
    } else {
        const struct statement *proof = &fragments.items[0];
        banks_layout_text(stdout, l, &b);
        if (!proof->proved) {
            printf("note: prove fragments refutes this layout: ");
            statement_counterexample(stdout, proof);
        }
        char *picture = o->svg != NULL ? banks_layout_svg(l, &b, &size) : NULL;
        const bool written =
            (o->json == NULL || banks_layout_json(o->json, l, &b, proof, &e)) && put_svg(o->svg, picture, size, &e);
        code = written ? judge_claim(o, b.count) : failed(&e);
        free(picture);
    }
    statement_list_free(&fragments);
    layout_free(l);
    return code;
}

static int prove_table(const struct options *o) {
    struct error e;
    struct bank_table t;
    if (!bank_table_read(o->table, &t, &e)) {
        return failed(&e);
    }
    int code;
    if (t.count == 0) {
        flush_output();
        usage_error(name, "%s: no row in the table", o->table);
        code = EXIT_NOTHING_RAN;
    } else {
        const struct banks_totals n = banks_table_text(stdout, &t);
        code = n.failed > 0 ? EXIT_KERNEL_WRONG : EXIT_PASSED;
        if (o->json != NULL && !banks_table_json(o->json, o->table, &t, &e)) {
            code = failed(&e);
        }
    }
    bank_table_free(&t);
    return code;
}

static int prove_statements(const struct options *o) {
    struct error e;
    struct statement_list l = {NULL, 0};
    char *root = project_root(&e);
    const char *unmatched;
    int code;
    if (root == NULL || !bank_prove_all(root, o->patterns, o->pattern_count, (o->given & GIVEN_LIST) != 0, &l, &e)) {
        code = failed(&e);
    } else if ((unmatched = statement_unmatched(&l, 0, o->patterns, o->pattern_count)) != NULL) {
        usage_error(name, "no statement matches '%s' (see warpproof prove banks --list)", unmatched);
        code = EXIT_NOTHING_RAN;
    } else if (o->given & GIVEN_LIST) {
        statement_names(stdout, &l);
        code = EXIT_PASSED;
    } else {
        statement_table(stdout, &l);
        if (o->json != NULL && !statement_json(o->json, "banks", &l, &e)) {
            code = failed(&e);
        } else {
            statement_totals(stdout, &l, 0);
            code = statements_refuted(&l) > 0 ? EXIT_KERNEL_WRONG : EXIT_PASSED;
        }
    }
    statement_list_free(&l);
    free(root);
    return code;
}

/* ---- options ---- */

static const struct option longs[] = {{"rows", required_argument, NULL, GIVEN_ROWS},
                                      {"row-bytes", required_argument, NULL, GIVEN_ROW_BYTES},
                                      {"stride", required_argument, NULL, GIVEN_STRIDE},
                                      {"op", required_argument, NULL, GIVEN_OP},
                                      {"xor", required_argument, NULL, GIVEN_XOR},
                                      {"offset", required_argument, NULL, GIVEN_OFFSET},
                                      {"mask", required_argument, NULL, GIVEN_MASK},
                                      {"wavefronts", required_argument, NULL, GIVEN_WAVEFRONTS},
                                      {"advise", no_argument, NULL, GIVEN_ADVISE},
                                      {"align", required_argument, NULL, GIVEN_ALIGN},
                                      {"max-stride", required_argument, NULL, GIVEN_MAX_STRIDE},
                                      {"layout", required_argument, NULL, GIVEN_LAYOUT},
                                      {"table", required_argument, NULL, GIVEN_TABLE},
                                      {"svg", required_argument, NULL, GIVEN_SVG},
                                      {"list", no_argument, NULL, GIVEN_LIST},
                                      {"json", required_argument, NULL, GIVEN_JSON},
                                      {"help", no_argument, NULL, 'H'},
                                      {NULL, 0, NULL, 0}};

static const char *option_name(unsigned given) {
    for (const struct option *o = longs; o->name != NULL; ++o) {
        if (o->val == (int)given) {
            return o->name;
        }
    }
    return "a PATTERN";
}

static int take_number(unsigned option, uint32_t least, uint32_t most, uint32_t *value) {
    int64_t v;
    if (yaml_parse_integer(optarg, &v) != NULL || v < least || v > most) {
        return usage_error(name, "--%s %s: want an integer from %u to %u", option_name(option), optarg, least, most);
    }
    *value = (uint32_t)v;
    return -1;
}

static int take_mask(uint32_t *lanes) {
    const char *s = strncmp(optarg, "0x", 2) == 0 ? optarg + 2 : optarg;
    const size_t n = strlen(s);
    if (n < 1 || n > 8 || strspn(s, "0123456789abcdefABCDEF") != n) {
        return usage_error(name, "--mask %s: want 1 to 8 hexadecimal digits, bit 0 for lane 0", optarg);
    }
    *lanes = (uint32_t)strtoul(s, NULL, 16);
    return -1;
}

static int take_xor(struct bank_tile *t) {
    const size_t n = strcspn(optarg, ":");
    char *mask = must_format("%.*s", n < 32 ? (int)n : 32, optarg);
    int64_t m = 0, shift = 0;
    const bool good = yaml_parse_integer(mask, &m) == NULL && m >= 1 && m < BANK_TILE_ROWS / 16 &&
                      (optarg[n] == 0 || yaml_parse_integer(optarg + n + 1, &shift) == NULL) && shift >= 0 &&
                      shift <= 31;
    free(mask);
    t->xor_mask = (uint32_t)m;
    t->xor_shift = (uint32_t)shift;
    return good ? -1
                : usage_error(name, "--xor %s: want MASK or MASK:SHIFT, the mask from 1 to %d, the shift from 0 to 31",
                              optarg, BANK_TILE_ROWS / 16 - 1);
}

static int take(int c, struct options *o) {
    if (o->given & (unsigned)c && c != GIVEN_ADVISE && c != GIVEN_LIST) {
        return usage_error(name, "--%s is given twice", option_name((unsigned)c));
    }
    o->given |= (unsigned)c;
    switch (c) {
    case GIVEN_ROWS:
        return take_number(GIVEN_ROWS, 1, BANK_TILE_ROWS, &o->tile.rows);
    case GIVEN_ROW_BYTES:
        return take_number(GIVEN_ROW_BYTES, 1, BANK_TILE_ROW_BYTES, &o->tile.row_bytes);
    case GIVEN_STRIDE:
        return take_number(GIVEN_STRIDE, 1, BANK_TILE_STRIDE, &o->tile.stride);
    case GIVEN_OFFSET:
        return take_number(GIVEN_OFFSET, 0, BANK_TILE_SPAN, &o->tile.offset);
    case GIVEN_WAVEFRONTS:
        return take_number(GIVEN_WAVEFRONTS, 0, 32u * BANK_TILE_ACCESSES, &o->wavefronts);
    case GIVEN_ALIGN:
        return take_number(GIVEN_ALIGN, 1, BANK_TILE_STRIDE, &o->align);
    case GIVEN_MAX_STRIDE:
        return take_number(GIVEN_MAX_STRIDE, 1, BANK_TILE_STRIDE, &o->max_stride);
    case GIVEN_OP:
        return bank_op_named(optarg, &o->tile.op) ? -1
                                                  : usage_error(name, "--op %s: want one of %s", optarg, bank_op_names);
    case GIVEN_XOR:
        return take_xor(&o->tile);
    case GIVEN_MASK:
        return take_mask(&o->tile.lanes);
    case GIVEN_LAYOUT:
        o->layout = optarg;
        return -1;
    case GIVEN_TABLE:
        o->table = optarg;
        return -1;
    case GIVEN_SVG:
        o->svg = optarg;
        return optarg[0] != 0 ? -1 : usage_error(name, "--svg: want the name of a file");
    case GIVEN_JSON:
        o->json = optarg;
        return json_option(name, optarg);
    default: /* --advise, --list */
        return -1;
    }
}

/* What is asked for, by the first of its options; what else it takes, and what it must have. */
static const struct mode {
    unsigned by, takes, needs;
    const char *what;
    int (*run)(const struct options *o);
} modes[] = {
    {GIVEN_TABLE, GIVEN_JSON, 0, "--table", prove_table},
    {GIVEN_LAYOUT, GIVEN_JSON | GIVEN_SVG | GIVEN_WAVEFRONTS, 0, "--layout", prove_layout},
    {GIVEN_ADVISE,
     GIVEN_ROWS | GIVEN_ROW_BYTES | GIVEN_ALIGN | GIVEN_MAX_STRIDE | GIVEN_OP | GIVEN_OFFSET | GIVEN_MASK | GIVEN_JSON,
     GIVEN_ROWS | GIVEN_ROW_BYTES, "--advise", advise},
    {GIVEN_ROWS | GIVEN_ROW_BYTES | GIVEN_STRIDE | GIVEN_OP | GIVEN_XOR | GIVEN_OFFSET | GIVEN_MASK | GIVEN_WAVEFRONTS |
         GIVEN_SVG,
     GIVEN_JSON, GIVEN_ROWS | GIVEN_ROW_BYTES | GIVEN_STRIDE, "a tile of rows", prove_tile},
    {~0u, GIVEN_LIST | GIVEN_JSON | GIVEN_PATTERN, 0, "the statements", prove_statements},
};

static int check_options(const struct mode *m, struct options *o) {
    const unsigned most = m->by == ~0u ? m->takes : m->by | m->takes;
    for (unsigned bit = 1; bit <= GIVEN_PATTERN; bit <<= 1) {
        const char *dashes = bit == GIVEN_PATTERN ? "" : "--";
        if (o->given & bit & ~most) {
            return usage_error(name, "%s%s does not go with %s (see warpproof prove banks --help)", dashes,
                               option_name(bit), m->what);
        }
        if (m->needs & bit & ~o->given) {
            return usage_error(name, "%s needs --%s", m->what, option_name(bit));
        }
    }
    if (o->given & GIVEN_LIST && o->given & GIVEN_JSON) {
        return usage_error(name, "--json does not go with --list");
    }
    if (m->needs != 0 && !(o->given & GIVEN_OP) && !bank_tile_matrices(o->tile.rows, o->tile.row_bytes, &o->tile.op)) {
        return usage_error(name,
                           "%u rows of %u bytes are no matrices of 8 rows x 16 bytes: say how they are read, --op OP",
                           o->tile.rows, o->tile.row_bytes);
    }
    struct call_files f = {NULL, 0};
    struct error e;
    call_files_add(&f, CALL_INPUT, "--layout", o->layout);
    call_files_add(&f, CALL_INPUT, "--table", o->table);
    call_files_add(&f, CALL_OUTPUT, "--json", o->json);
    call_files_add(&f, CALL_OUTPUT, "--svg", o->svg);
    const bool good = call_files_check(&f, &e);
    call_files_free(&f);
    return good ? -1 : usage_error(name, "%s", e.text);
}

int prove_banks_main(int argc, char **argv) {
    struct options o = {.tile = {.lanes = UINT32_MAX}, .align = 16};
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":h", longs, NULL)) != -1;) {
        if (c == 'h' || c == 'H') {
            fputs(usage, stdout);
            return EXIT_PASSED;
        }
        code = c == '?' || c == ':' ? option_error(name, argc, argv, c) : take(c, &o);
    }
    o.patterns = (const char *const *)argv + optind;
    o.pattern_count = (size_t)(argc - optind);
    o.given |= o.pattern_count > 0 ? GIVEN_PATTERN : 0;
    for (size_t i = 0; i < o.pattern_count && code < 0; ++i) {
        if (o.patterns[i][0] == 0) {
            code = usage_error(name, "a PATTERN is empty (without any, all statements are proved)");
        }
    }
    const struct mode *m = modes;
    while (m->by != ~0u && !(o.given & m->by)) {
        ++m;
    }
    code = code < 0 ? check_options(m, &o) : code;
    return code < 0 ? m->run(&o) : code;
}
