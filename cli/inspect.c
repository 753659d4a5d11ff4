/* warpproof inspect FILE.gguf: what a model file holds, and the range of the values of every tensor ref/ can decode. */
#include "../ref/checked.h"
#include "../ref/gguf_scan.h"
#include "../ref/gguf_types.h"
#include "../ref/half.h"
#include "../ref/printable.h"
#include "command.h"
#include "inspect_json.h"
#include "inspect_tokens.h"
#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof inspect FILE.gguf [--tensors PATTERN] [--keys] [--json]\n"
    "       warpproof inspect FILE.gguf --tokenize TEXT\n"
    "\n"
    "Prints the header, the metadata and the tensors of a GGUF file (version 2 or 3, little-endian): type, extents\n"
    "(values a row first), bytes, offset in the file and, where the type can be decoded, the least and largest value\n"
    "and how many values are not finite. Says when scales are NaN or infinite or look byte-swapped. Of a file that "
    "was\n"
    "cut short it lists what is whole, says what is missing, and exits 2.\n"
    "\n"
    "  --tensors PATTERN  only tensors whose name matches the shell pattern, e.g. 'blk.0.*'\n"
    "  --keys             every key of the metadata, not only general.*\n"
    "  --json             lines of JSON instead: one a tensor, one for the file, with --keys one a key before them\n"
    "  --tokenize TEXT    instead of all that, the token ids of TEXT (after the begin-of-sequence token where the "
    "file\n"
    "                     wants one) and each token as the file writes it; control tokens in TEXT are text\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 done, 2 wrong usage or a bad file, 3 no tensor matches PATTERN\n";

enum { NAME_ROOM = 256, TEXT_ROOM = 72, ELEMENTS_SHOWN = 4 };

static void print_string(const uint8_t *text, uint64_t length) {
    char shown[TEXT_ROOM];
    printf("\"%s\"", printable(shown, sizeof shown, text, length));
}

/* Prints one value that is neither string nor array, and returns its bytes. */
static size_t print_number(enum gguf_value_type type, const uint8_t *p) {
    double d;
    uint64_t bits;
    switch (type) {
    case GGUF_UINT8:
        printf("%u", p[0]);
        return 1;
    case GGUF_INT8:
        printf("%d", (int8_t)p[0]);
        return 1;
    case GGUF_BOOL:
        fputs(p[0] ? "true" : "false", stdout);
        return 1;
    case GGUF_UINT16:
        printf("%" PRIu64, gguf_number(p, 2));
        return 2;
    case GGUF_INT16:
        printf("%d", (int16_t)gguf_number(p, 2));
        return 2;
    case GGUF_UINT32:
        printf("%" PRIu64, gguf_number(p, 4));
        return 4;
    case GGUF_INT32:
        printf("%" PRId32, (int32_t)gguf_number(p, 4));
        return 4;
    case GGUF_FLOAT32:
        printf("%.9g", bits_float((uint32_t)gguf_number(p, 4)));
        return 4;
    case GGUF_UINT64:
        printf("%" PRIu64, gguf_number(p, 8));
        return 8;
    case GGUF_INT64:
        printf("%" PRId64, (int64_t)gguf_number(p, 8));
        return 8;
    case GGUF_FLOAT64:
        bits = gguf_number(p, 8);
        memcpy(&d, &bits, sizeof d);
        printf("%.17g", d);
        return 8;
    case GGUF_STRING:
    case GGUF_ARRAY:
        break;
    }
    return 0;
}

static void print_entry(const struct gguf_entry *entry) {
    char key[NAME_ROOM];
    printf("  %-40s ", printable(key, sizeof key, entry->key, strlen(entry->key)));
    if (entry->type == GGUF_STRING) {
        print_string(entry->bytes, entry->length);
    } else if (entry->type != GGUF_ARRAY) {
        print_number(entry->type, entry->bytes);
    } else {
        printf("%" PRIu64 " %s [", entry->count, gguf_value_names[entry->item]);
        const uint8_t *p = entry->bytes;
        for (uint64_t i = 0; i < entry->count && i < ELEMENTS_SHOWN; i++) {
            if (i > 0)
                fputs(", ", stdout);
            if (entry->item == GGUF_STRING) {
                uint64_t length = gguf_number(p, 8);
                print_string(p + 8, length);
                p += 8 + length;
            } else {
                p += print_number(entry->item, p);
            }
        }
        fputs(entry->count > ELEMENTS_SHOWN ? ", ...]" : "]", stdout);
    }
    putchar('\n');
}

static void print_metadata(const struct gguf_file *f, bool all) {
    size_t hidden = 0;
    for (size_t i = 0; i < f->entry_count; i++) {
        if (all || strncmp(f->entries[i].key, "general.", 8) == 0)
            print_entry(&f->entries[i]);
        else
            hidden++;
    }
    if (hidden > 0)
        printf("  %zu more, shown by --keys\n", hidden);
}

/* What is odd about the scales, in words; "" when nothing is. */
static const char *scale_words(const struct gguf_scan *s, char *out, size_t room) {
    int at = 0;
    out[0] = 0;
    if (s->scales_nan > 0)
        at += snprintf(out + at, room - (size_t)at, "; scales: %" PRIu64 " NaN", s->scales_nan);
    if (s->scales_infinite > 0)
        at += snprintf(out + at, room - (size_t)at, "%s%" PRIu64 " infinite",
                       at > 0 ? ", " : "; scales: ", s->scales_infinite);
    if (s->looks_swapped)
        snprintf(out + at, room - (size_t)at, "; scales look byte-swapped: median %.3g, swapped %.3g", s->median,
                 s->swapped_median);
    return out;
}

static bool is_suspicious(const struct gguf_scan *s) {
    return s->scales_nan > 0 || s->scales_infinite > 0 || s->range.not_finite > 0 || s->looks_swapped;
}

/* The line of a tensor. scan: NULL when it was not scanned. */
static void print_tensor(const struct gguf_tensor *t, const struct gguf_scan *scan, int width) {
    char name[NAME_ROOM], extents[4 * 24], words[256];
    int length = snprintf(extents, sizeof extents, "%" PRIu64, t->extent[0]);
    for (unsigned i = 1; i < t->dims; i++)
        length += snprintf(extents + length, sizeof extents - (size_t)length, " x %" PRIu64, t->extent[i]);
    printf("%-*s  %-8s  %-20s  %12zu  %12" PRIu64 "  ", width, printable(name, sizeof name, t->name, strlen(t->name)),
           t->type_name, extents, t->bytes, t->offset);
    if (!scan) {
        printf("%13s  %13s  %s\n", "-", "-", t->data ? "no decoder" : "CUT OFF");
        return;
    }
    if (scan->range.least <= scan->range.largest)
        printf("%13.6g  %13.6g  ", scan->range.least, scan->range.largest);
    else
        printf("%13s  %13s  ", "-", "-");
    if (scan->range.not_finite > 0)
        printf("%" PRIu64 " not finite", scan->range.not_finite);
    else
        fputs("finite", stdout);
    puts(scale_words(scan, words, sizeof words));
}

static bool matches(const struct gguf_tensor *t, const char *pattern) {
    return !pattern || fnmatch(pattern, t->name, 0) == 0;
}

struct survey {
    const struct gguf_file *file;
    const char *pattern;
    size_t listed, bytes, suspicious, cut;
    size_t of_type[GGUF_TYPE_COUNT];
    bool json; /* lines of JSON instead of text */
};

static int name_width(const struct survey *s) {
    int width = (int)strlen("tensor");
    for (size_t i = 0; i < s->file->tensor_count; i++) {
        const struct gguf_tensor *t = &s->file->tensors[i];
        if (!matches(t, s->pattern))
            continue;
        char name[NAME_ROOM];
        int length = (int)strlen(printable(name, sizeof name, t->name, strlen(t->name)));
        width = length > width ? length : width;
    }
    return width > 48 ? 48 : width;
}

/* One line as soon as a tensor is scanned. */
static bool survey_tensor(struct survey *s, const struct gguf_tensor *t, int width, struct error *e) {
    struct gguf_scan scan;
    const bool scanned = t->format && t->data;
    if (scanned && !gguf_scan(t, &scan, e))
        return false;
    if (s->listed == 0 && !s->json)
        printf("\n%-*s  %-8s  %-20s  %12s  %12s  %13s  %13s  %s\n", width, "tensor", "type", "extents", "bytes",
               "offset", "least", "largest", "values");
    if (!s->json)
        print_tensor(t, scanned ? &scan : NULL, width);
    s->listed++;
    s->bytes += t->bytes; /* tensors do not overlap: at most the file, and of a cut one at most 2^20 * 2^44 */
    s->of_type[t->type]++;
    s->cut += !t->data;
    s->suspicious += scanned && is_suspicious(&scan);
    return !s->json || inspect_json_tensor(t, scanned ? &scan : NULL, e);
}

static void print_totals(const struct survey *s) {
    printf("\n%zu tensor%s, %zu bytes:", s->listed, plural(s->listed), s->bytes);
    const char *comma = "";
    for (size_t type = 0; type < GGUF_TYPE_COUNT; type++)
        if (s->of_type[type] > 0) {
            printf("%s %zu %s", comma, s->of_type[type], gguf_types[type].name);
            comma = ",";
        }
    putchar('\n');
    if (s->suspicious > 0)
        printf("suspicious values or scales in %zu of them\n", s->suspicious);
}

/* What a cut file has and has not, on stderr. */
static void report_cut(const struct survey *s) {
    const struct gguf_file *f = s->file;
    flush_output();
    usage_error("inspect", "%s", f->missing.text);
    if (f->entry_count < f->entries_named || f->tensor_count < f->tensors_named)
        usage_error("inspect", "cut short: %zu of %zu keys and %zu of %zu tensor descriptions are whole, no data",
                    f->entry_count, f->entries_named, f->tensor_count, f->tensors_named);
    else if (s->listed > 0)
        usage_error("inspect", "cut short: the data of %zu of the %zu tensors listed are not there whole", s->cut,
                    s->listed);
}

static int survey_file(struct survey *s, bool all_keys, struct error *e) {
    const struct gguf_file *f = s->file;
    char shown[1024];
    if (!s->json) {
        printf("%s: GGUF version %" PRIu32 ", %zu bytes, %zu key%s, %zu tensor%s, alignment %" PRIu64 "%s\n",
               printable(shown, sizeof shown, f->path, strlen(f->path)), f->version, f->size, f->entries_named,
               plural(f->entries_named), f->tensors_named, plural(f->tensors_named), f->alignment,
               f->cut ? ", CUT SHORT" : "");
        print_metadata(f, all_keys);
    }
    for (size_t i = 0; i < f->entry_count && s->json && all_keys; i++)
        if (!inspect_json_key(&f->entries[i], e))
            return usage_error("inspect", "%s", e->text);
    const int width = name_width(s);
    for (size_t i = 0; i < f->tensor_count; i++)
        if (matches(&f->tensors[i], s->pattern) && !survey_tensor(s, &f->tensors[i], width, e))
            return usage_error("inspect", "%s", e->text);
    if (s->listed > 0 && !s->json)
        print_totals(s);
    if (s->json && !inspect_json_file(f, s->listed, s->suspicious, e))
        return usage_error("inspect", "%s", e->text);
    if (f->cut) {
        report_cut(s);
        return EXIT_INPUT;
    }
    if (s->pattern && s->listed == 0) {
        flush_output();
        usage_error("inspect", "no tensor matches '%s'",
                    printable(shown, sizeof shown, s->pattern, strlen(s->pattern)));
        return EXIT_NOTHING_RAN;
    }
    return EXIT_PASSED;
}

static int inspect(const char *path, const char *pattern, bool all_keys, bool json) {
    struct error e;
    struct gguf_file *f = gguf_open_cut(path, &e);
    if (!f)
        return usage_error("inspect", "%s", e.text);
    struct survey s = {.file = f, .pattern = pattern, .json = json};
    const int code = survey_file(&s, all_keys, &e);
    gguf_close(f);
    return code;
}

int inspect_main(int argc, char **argv) {
    enum { TENSORS = 256, KEYS, JSON, TOKENIZE }; /* above every character: optopt tells long options from short ones */
    static const struct option options[] = {{"tensors", required_argument, NULL, TENSORS},
                                            {"keys", no_argument, NULL, KEYS},
                                            {"json", no_argument, NULL, JSON},
                                            {"tokenize", required_argument, NULL, TOKENIZE},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *pattern = NULL, *text = NULL;
    bool all_keys = false, json = false;
    opterr = 0; /* our own words below */
    optind = 0; /* start over, whoever used getopt before */
    for (int c; (c = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (c == TENSORS)
            pattern = optarg;
        else if (c == KEYS)
            all_keys = true;
        else if (c == JSON)
            json = true;
        else if (c == TOKENIZE)
            text = optarg;
        else if (c == 'h') {
            fputs(usage, stdout);
            return EXIT_PASSED;
        } else
            return option_error("inspect", argc, argv, c);
    }
    if (argc - optind != 1)
        return usage_error("inspect", "expected one FILE.gguf (see warpproof inspect --help)");
    if (text && (pattern || all_keys || json))
        return usage_error("inspect", "--tokenize stands alone, without --tensors, --keys and --json");
    if (text)
        return inspect_tokens(argv[optind], text);
    return inspect(argv[optind], pattern, all_keys, json);
}
