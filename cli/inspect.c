/* warpproof inspect FILE.gguf: what a model file holds, and the range of the values of every tensor ref/ can decode. */
#include "../ref/checked.h"
#include "../ref/gguf.h"
#include "../ref/gguf_types.h"
#include "../ref/half.h"
#include "../ref/printable.h"
#include "raw_values.h"
#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof inspect FILE.gguf [--tensors PATTERN] [--keys]\n"
    "\n"
    "Prints the header, the metadata and the tensors of a GGUF file (version 2 or 3, little-endian): type, extents\n"
    "(values a row first), bytes, offset in the file and, where the type can be decoded, the least and largest value\n"
    "and how many values are not finite.\n"
    "\n"
    "  --tensors PATTERN  only tensors whose name matches the shell pattern, e.g. 'blk.0.*'\n"
    "  --keys             every key of the metadata, not only general.*\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 done, 2 wrong usage or a bad file, 3 no tensor matches PATTERN\n";

enum { NAME_ROOM = 256, TEXT_ROOM = 72, ELEMENTS_SHOWN = 4 };

static const char *const value_names[] = {"uint8", "int8",   "uint16", "int16",  "uint32", "int32",  "float32",
                                          "bool",  "string", "array",  "uint64", "int64",  "float64"};

static uint64_t little_endian(const uint8_t *p, size_t n) {
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

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
        printf("%" PRIu64, little_endian(p, 2));
        return 2;
    case GGUF_INT16:
        printf("%d", (int16_t)little_endian(p, 2));
        return 2;
    case GGUF_UINT32:
        printf("%" PRIu64, little_endian(p, 4));
        return 4;
    case GGUF_INT32:
        printf("%" PRId32, (int32_t)little_endian(p, 4));
        return 4;
    case GGUF_FLOAT32:
        printf("%.9g", bits_float((uint32_t)little_endian(p, 4)));
        return 4;
    case GGUF_UINT64:
        printf("%" PRIu64, little_endian(p, 8));
        return 8;
    case GGUF_INT64:
        printf("%" PRId64, (int64_t)little_endian(p, 8));
        return 8;
    case GGUF_FLOAT64:
        bits = little_endian(p, 8);
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
        printf("%" PRIu64 " %s [", entry->count, value_names[entry->item]);
        const uint8_t *p = entry->bytes;
        for (uint64_t i = 0; i < entry->count && i < ELEMENTS_SHOWN; i++) {
            if (i > 0)
                fputs(", ", stdout);
            if (entry->item == GGUF_STRING) {
                uint64_t length = little_endian(p, 8);
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

/* Block by block: a row may be as long as the file, its values many times that. */
static struct value_range find_range(const struct gguf_tensor *t) {
    struct value_range range = value_range_empty;
    float *value = must_calloc(t->format->block_values, sizeof *value);
    for (size_t at = 0; at < t->bytes; at += t->format->block_bytes) {
        t->format->dequantize(t->data + at, value);
        value_range_add(&range, value, t->format->block_values);
    }
    free(value);
    return range;
}

static void print_tensor(const struct gguf_tensor *t, int width) {
    char name[NAME_ROOM], extents[4 * 24];
    int length = snprintf(extents, sizeof extents, "%" PRIu64, t->extent[0]);
    for (unsigned i = 1; i < t->dims; i++)
        length += snprintf(extents + length, sizeof extents - (size_t)length, " x %" PRIu64, t->extent[i]);
    printf("%-*s  %-8s  %-20s  %12zu  %12" PRIu64 "  ", width, printable(name, sizeof name, t->name, strlen(t->name)),
           t->type_name, extents, t->bytes, t->offset);
    if (!t->format) {
        printf("%13s  %13s  no decoder\n", "-", "-");
        return;
    }
    struct value_range range = find_range(t);
    if (range.least <= range.largest)
        printf("%13.6g  %13.6g  ", range.least, range.largest);
    else
        printf("%13s  %13s  ", "-", "-");
    if (range.not_finite > 0)
        printf("%" PRIu64 " not finite\n", range.not_finite);
    else
        puts("finite");
}

static bool matches(const struct gguf_tensor *t, const char *pattern) {
    return !pattern || fnmatch(pattern, t->name, 0) == 0;
}

/* The table, one line as soon as a tensor is scanned, then how many there are of each type. Returns the tensors listed.
 */
static size_t print_tensors(const struct gguf_file *f, const char *pattern) {
    size_t count = 0, bytes = 0, of_type[GGUF_TYPE_COUNT] = {0};
    int width = (int)strlen("tensor");
    for (size_t i = 0; i < f->tensor_count; i++) {
        const struct gguf_tensor *t = &f->tensors[i];
        if (!matches(t, pattern))
            continue;
        char name[NAME_ROOM];
        int length = (int)strlen(printable(name, sizeof name, t->name, strlen(t->name)));
        width = length > width ? length : width;
        count++;
        bytes += t->bytes; /* tensors do not overlap: at most the file */
        of_type[t->type]++;
    }
    if (count == 0)
        return 0;
    width = width > 48 ? 48 : width;
    printf("\n%-*s  %-8s  %-20s  %12s  %12s  %13s  %13s  %s\n", width, "tensor", "type", "extents", "bytes", "offset",
           "least", "largest", "values");
    for (size_t i = 0; i < f->tensor_count; i++)
        if (matches(&f->tensors[i], pattern))
            print_tensor(&f->tensors[i], width);
    printf("\n%zu tensors, %zu bytes:", count, bytes);
    const char *comma = "";
    for (size_t type = 0; type < GGUF_TYPE_COUNT; type++)
        if (of_type[type] > 0) {
            printf("%s %zu %s", comma, of_type[type], gguf_types[type].name);
            comma = ",";
        }
    putchar('\n');
    return count;
}

static int inspect(const char *path, const char *pattern, bool all_keys) {
    struct error e;
    struct gguf_file *f = gguf_open(path, &e);
    if (!f)
        return usage_error("inspect", "%s", e.text);
    char shown[1024];
    printf("%s: GGUF version %" PRIu32 ", %zu bytes, %zu keys, %zu tensors, alignment %" PRIu64 "\n",
           printable(shown, sizeof shown, path, strlen(path)), f->version, f->size, f->entry_count, f->tensor_count,
           f->alignment);
    print_metadata(f, all_keys);
    size_t listed = print_tensors(f, pattern);
    gguf_close(f);
    if (pattern && listed == 0) {
        flush_output();
        usage_error("inspect", "no tensor matches '%s'", printable(shown, sizeof shown, pattern, strlen(pattern)));
        return EXIT_NOTHING_RAN;
    }
    return EXIT_PASSED;
}

int inspect_main(int argc, char **argv) {
    enum { TENSORS = 256, KEYS }; /* above every character: optopt tells long options from short ones */
    static const struct option options[] = {{"tensors", required_argument, NULL, TENSORS},
                                            {"keys", no_argument, NULL, KEYS},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *pattern = NULL;
    bool all_keys = false;
    opterr = 0; /* our own words below */
    optind = 0; /* start over, whoever used getopt before */
    for (int c; (c = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (c == TENSORS)
            pattern = optarg;
        else if (c == KEYS)
            all_keys = true;
        else if (c == 'h') {
            fputs(usage, stdout);
            return EXIT_PASSED;
        } else
            return option_error("inspect", argc, argv, c);
    }
    if (argc - optind != 1)
        return usage_error("inspect", "expected one FILE.gguf (see warpproof inspect --help)");
    return inspect(argv[optind], pattern, all_keys);
}
