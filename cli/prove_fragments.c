/* warpproof prove fragments: which byte of a tile each register byte holds. */
#include "../gpu/device/device.h"
#include "../gpu/fragment_kernel.h"
#include "../gpu/fragment_proof.h"
#include "../gpu/layout.h"
#include "../ref/checked.h"
#include "../reports/file.h"
#include "../reports/statement.h"
#include "command.h"
#include "judging.h"
#include "prove_pictures.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "prove fragments";
static const char usage[] =
    "usage: warpproof prove fragments [PATTERN...] [--layout FILE]... [--list] [--svg FILE|FOLDER] [--json FILE]\n"
    "       [--runner machine|device [--record FILE]] [--golden FILE]\n"
    "\n"
    "Proves, by enumeration of every lane, register and byte, what holds of the operands of mma and wgmma, of "
    "ldmatrix,\n"
    "stmatrix and movmatrix, and of operands in shared memory. With --layout it proves yours, or gives the first byte\n"
    "that is wrong, and the mistake. PATTERN is part of a statement's name, or a glob that matches all of it.\n"
    "\n"
    "  --layout FILE      a layout of your own (docs/prove.md); may be repeated; then only patterns select others\n"
    "  --list             names and texts of the statements and kernels; nothing is proved\n"
    "  --svg FILE|FOLDER  a picture of each layout and each selected operand: a FILE.svg takes one\n"
    "  --runner NAME      also runs a small kernel of each operand, on the PTX machine or on the first GPU here, and\n"
    "                     holds its output to the map\n"
    "  --record FILE      keep those outputs\n"
    "  --golden FILE      holds outputs that were kept before to the map\n"
    "  --json FILE        write statements and results, whole or not at all\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 all proved, 1 one is refuted, 2 input or usage error, 3 nothing was proved\n";

enum { LAYOUT = 256, LIST, SVG, JSON, RUNNER, RECORD, GOLDEN };

struct options {
    const char **layouts;
    size_t layout_count;
    bool list;
    const char *svg, *json, *record, *golden;
    const struct runner *runner; /* NULL: none was asked for */
    const char *const *patterns;
    size_t pattern_count;
};

/* What a call works on. */
struct work {
    struct layout **layouts; /* (layout_count) */
    struct pictures pictures;
    struct statement_list list;
    size_t skipped; /* kernels */
};

static bool read_layouts(const struct options *o, struct work *w, struct error *e) {
    w->layouts = must_calloc(o->layout_count + 1, sizeof *w->layouts);
    for (size_t i = 0; i < o->layout_count; ++i) {
        w->layouts[i] = layout_read(o->layouts[i], e);
        if (w->layouts[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* No output replaces an input or another output; of pictures in a folder that is known once layouts are read. */
static bool plan_files(const struct options *o, struct work *w, struct error *e) {
    struct call_files f = {NULL, 0};
    for (size_t i = 0; i < o->layout_count; ++i) {
        call_files_add(&f, CALL_INPUT, "--layout", o->layouts[i]);
    }
    call_files_add(&f, CALL_INPUT, "--golden", o->golden);
    call_files_add(&f, CALL_OUTPUT, "--json", o->json);
    call_files_add(&f, CALL_OUTPUT, "--record", o->record);
    const struct pictures_wanted wanted = {o->svg,          o->layouts,  w->layouts,
                                           o->layout_count, o->patterns, o->pattern_count};
    const bool good = (w->layouts == NULL || pictures_plan(&wanted, &w->pictures, &f, e)) && call_files_check(&f, e);
    call_files_free(&f);
    return good;
}

static bool prove_layouts(const struct options *o, struct work *w, struct error *e) {
    for (size_t i = 0; i < o->layout_count; ++i) {
        struct statement s = {0};
        const bool good = layout_prove(w->layouts[i], &s, e);
        s.file = must_strdup(o->layouts[i]);
        s.note = good && s.proved ? layout_note(w->layouts[i]) : NULL;
        statement_add(&w->list, s);
        if (!good) {
            return false;
        }
    }
    return true;
}

/* Names of the kernels, for --list. */
static void list_kernels(const struct options *o, struct statement_list *list) {
    for (size_t i = 0, n = fragment_kernel_count(); i < n; ++i) {
        struct fragment_kernel k;
        fragment_kernel_make(i, &k);
        if (statement_selected(k.name, o->patterns, o->pattern_count)) {
            statement_add(list, (struct statement){.name = must_strdup(k.name),
                                                   .text = must_format("%s are where the map says, run by --runner or "
                                                                       "kept as --golden",
                                                                       k.what)});
        }
        fragment_kernel_free(&k);
    }
}

static bool selects_kernel(const char *pattern) {
    bool selects = false;
    for (size_t i = 0, n = fragment_kernel_count(); i < n && !selects; ++i) {
        struct fragment_kernel k;
        fragment_kernel_make(i, &k);
        selects = statement_selected(k.name, &pattern, 1);
        fragment_kernel_free(&k);
    }
    return selects;
}

/* -1, or the exit code after a message: a pattern selects nothing. */
static int check_patterns(const struct options *o, const struct work *w) {
    for (size_t i = 0; i < o->pattern_count; ++i) {
        const bool unmatched = statement_unmatched(&w->list, o->layout_count, &o->patterns[i], 1) != NULL,
                   kernel = unmatched && selects_kernel(o->patterns[i]);
        if (unmatched && !kernel) {
            usage_error(name, "no statement matches '%s' (see warpproof prove fragments --list)", o->patterns[i]);
            return EXIT_NOTHING_RAN;
        }
        if (kernel && o->runner == NULL && o->golden == NULL) {
            usage_error(name, "'%s' selects kernels alone: they need --runner or --golden", o->patterns[i]);
            return EXIT_NOTHING_RAN;
        }
    }
    return -1;
}

/* ---- kernels ---- */

/* Where the outputs come from, in words; and the architecture of a GPU, else 0. */
static bool place_of(const struct runner *runner, char place[240], int *sm, struct error *e) {
    struct device_identity id;
    snprintf(place, 240, "the PTX machine");
    *sm = 0;
    if (runner != &runner_device) {
        return true;
    }
    if (!device_identify(0, &id, e)) {
        return false;
    }
    snprintf(place, 240, "%s (sm_%d, driver %s)", id.name, id.sm, id.driver);
    *sm = id.sm;
    return true;
}

static void judge(const struct fragment_kernel *k, const char *place, const uint32_t *out,
                  struct statement_list *list) {
    struct statement s = {.name = must_strdup(k->name),
                          .text = must_format("on %s %s are where the map says", place, k->what),
                          .proved = true};
    fragment_kernel_judge(k, place, out, &s);
    statement_add(list, s);
}

static bool put_record(const char *path, const struct fragment_record *r, struct error *e) {
    size_t size;
    uint8_t *packed = fragment_record_pack(r, &size);
    const bool good = packed != NULL ? file_put(path, packed, size, e) : fail(e, "%s: no memory to pack it", path);
    free(packed);
    return good;
}

/* Runs the selected kernels. *skipped: those that the place does not know. */
static bool execute(const struct options *o, struct statement_list *list, size_t *skipped, struct error *e) {
    struct fragment_record record = {NULL, 0};
    const size_t before = list->count;
    char place[240];
    int sm;
    bool good = place_of(o->runner, place, &sm, e);
    for (size_t i = 0, n = fragment_kernel_count(); i < n && good; ++i) {
        struct fragment_kernel k;
        fragment_kernel_make(i, &k);
        const bool selected = statement_selected(k.name, o->patterns, o->pattern_count),
                   runs = k.sm_90a ? sm == 90 : sm == 0 || sm >= (int)k.sm;
        *skipped += selected && !runs;
        if (selected && runs) {
            uint32_t *out = must_calloc(fragment_kernel_words(&k), sizeof *out);
            good = fragment_kernel_run(&k, o->runner, out, e);
            if (good) {
                judge(&k, place, out, list);
                fragment_record_add(&record, &k, out);
            }
            free(out);
        }
        fragment_kernel_free(&k);
    }
    if (good && list->count == before && *skipped == 0) {
        good = fail(e, "--runner %s: no pattern selects a kernel; they are called NAME/executed", o->runner->name);
    }
    good = good && (o->record == NULL || record.size == 0 || put_record(o->record, &record, e));
    fragment_record_free(&record);
    return good;
}

/* Holds the kept outputs to the maps. */
static bool compare(const struct options *o, struct statement_list *list, size_t *skipped, struct error *e) {
    struct fragment_record record;
    if (!fragment_record_read(o->golden, &record, e)) {
        return false;
    }
    for (size_t i = 0, n = fragment_kernel_count(); i < n; ++i) {
        struct fragment_kernel k;
        fragment_kernel_make(i, &k);
        const uint8_t *bytes = fragment_record_find(&record, &k);
        const bool selected = statement_selected(k.name, o->patterns, o->pattern_count);
        *skipped += selected && bytes == NULL;
        if (selected && bytes != NULL) {
            const size_t words = fragment_kernel_words(&k);
            uint32_t *out = must_calloc(words, sizeof *out);
            for (size_t w = 0; w < 4 * words; ++w) {
                out[w / 4] |= (uint32_t)bytes[w] << 8 * (w % 4);
            }
            judge(&k, "the kept outputs", out, list);
            free(out);
        }
        fragment_kernel_free(&k);
    }
    fragment_record_free(&record);
    return true;
}

static int report(const struct options *o, const struct work *w) {
    const struct statement_list *list = &w->list;
    struct error e;
    if (list->count == 0 && w->skipped > 0) {
        statement_totals(stdout, list, w->skipped);
        return EXIT_NOTHING_RAN;
    }
    if (o->list) {
        statement_names(stdout, list);
        return EXIT_PASSED;
    }
    statement_table(stdout, list);
    if (!pictures_write(&w->pictures, &e) || (o->json != NULL && !statement_json(o->json, "fragments", list, &e))) {
        flush_output();
        return usage_error(name, "%s", e.text);
    }
    statement_totals(stdout, list, w->skipped);
    return statements_refuted(list) > 0 ? EXIT_KERNEL_WRONG : EXIT_PASSED;
}

static void work_free(const struct options *o, struct work *w) {
    for (size_t i = 0; i < o->layout_count && w->layouts != NULL; ++i) {
        layout_free(w->layouts[i]);
    }
    free(w->layouts);
    pictures_free(&w->pictures);
    statement_list_free(&w->list);
}

static int prove(const struct options *o) {
    struct work w = {.layouts = NULL};
    struct error e;
    int code = -1;
    bool good = plan_files(o, &w, &e) && read_layouts(o, &w, &e) && plan_files(o, &w, &e) && prove_layouts(o, &w, &e);
    if (good && (o->layout_count == 0 || o->pattern_count > 0)) {
        fragment_prove(o->patterns, o->pattern_count, o->list, &w.list);
        if (o->list) {
            list_kernels(o, &w.list);
        }
        code = check_patterns(o, &w);
    }
    if (code < 0) {
        good = good && (o->runner == NULL || execute(o, &w.list, &w.skipped, &e)) &&
               (o->golden == NULL || compare(o, &w.list, &w.skipped, &e));
        code = good ? report(o, &w) : usage_error(name, "%s", e.text);
    }
    work_free(o, &w);
    return code;
}

/* -1, or the exit code after a message. */
static int take(int c, int argc, char **argv, struct options *o) {
    switch (c) {
    case LAYOUT:
        o->layouts[o->layout_count++] = optarg;
        return -1;
    case LIST:
        o->list = true;
        return -1;
    case SVG:
        return take_once(name, "--svg", &o->svg);
    case JSON:
        return take_once(name, "--json", &o->json) >= 0 ? EXIT_INPUT : json_option(name, optarg);
    case RUNNER:
        if (o->runner != NULL) {
            return usage_error(name, "--runner is given twice");
        }
        o->runner = strcmp(optarg, runner_machine.name) == 0  ? &runner_machine
                    : strcmp(optarg, runner_device.name) == 0 ? &runner_device
                                                              : NULL;
        return o->runner != NULL ? -1 : usage_error(name, "--runner %s: want machine or device", optarg);
    case RECORD:
        return take_once(name, "--record", &o->record);
    case GOLDEN:
        return take_once(name, "--golden", &o->golden);
    case 'h':
        fputs(usage, stdout);
        return EXIT_PASSED;
    default:
        return option_error(name, argc, argv, c);
    }
}

/* What goes with what. */
static int check_options(const struct options *o) {
    if (o->record != NULL && o->runner == NULL) {
        return usage_error(name, "--record needs --runner machine or --runner device");
    }
    if (o->list && (o->svg != NULL || o->json != NULL || o->runner != NULL || o->golden != NULL)) {
        return usage_error(name, "%s does not go with --list",
                           o->svg != NULL      ? "--svg"
                           : o->json != NULL   ? "--json"
                           : o->runner != NULL ? "--runner"
                                               : "--golden");
    }
    if (o->layout_count > 0 && o->pattern_count == 0 && (o->runner != NULL || o->golden != NULL)) {
        return usage_error(name, "--runner and --golden are of statements: beside --layout, name some by a PATTERN");
    }
    for (size_t i = 0; i < o->pattern_count; ++i) {
        if (o->patterns[i][0] == 0) {
            return usage_error(name, "a PATTERN is empty (without any, all statements are proved)");
        }
    }
    return -1;
}

int prove_fragments_main(int argc, char **argv) {
    static const struct option longs[] = {{"layout", required_argument, NULL, LAYOUT},
                                          {"list", no_argument, NULL, LIST},
                                          {"svg", required_argument, NULL, SVG},
                                          {"json", required_argument, NULL, JSON},
                                          {"runner", required_argument, NULL, RUNNER},
                                          {"record", required_argument, NULL, RECORD},
                                          {"golden", required_argument, NULL, GOLDEN},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {.layouts = must_calloc((size_t)argc + 1, sizeof *o.layouts)};
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":h", longs, NULL)) != -1;) {
        code = take(c, argc, argv, &o);
    }
    o.patterns = (const char *const *)argv + optind;
    o.pattern_count = (size_t)(argc - optind);
    code = code < 0 ? check_options(&o) : code;
    code = code < 0 ? prove(&o) : code;
    free(o.layouts);
    return code;
}
