#include "gguf.h"
#include "checked.h"
#include "gguf_types.h"
#include "printable.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "lengths and offsets of the file are kept in size_t");

enum {
    HEADER_BYTES = 24,       /* magic, version, two counts */
    LEAST_KEY_BYTES = 14,    /* length, one character, value type, one byte of value */
    LEAST_TENSOR_BYTES = 33, /* length, one character, dimensions, one extent, type, offset */
    MOST_THINGS = 1 << 20,   /* keys, and tensors: far above any model, low enough to list */
    MOST_NAME_BYTES =
        65535, /* docs/gguf.md, gguf_metadata_kv_t; builds of ggml differ in what a tensor's name may take */
    DEFAULT_ALIGNMENT = 32, /* docs/gguf.md, general.alignment */
    MOST_ALIGNMENT = 1 << 20,
};

/* Where a name was met, to find the second of two equal ones. */
struct mention {
    const char *name;
    size_t index, at;
};

/* A cursor over the file, and what is being read, for messages. */
struct reader {
    const char *path;
    const uint8_t *bytes;
    size_t size, at;
    const char *kind; /* "key" or "tensor"; NULL in the header */
    size_t index;     /* which key or tensor */
    const char *name; /* its name once that is read, else NULL */
    bool takes_cut;   /* a file that ends too soon is no error */
    bool cut;         /* what went wrong is that the file ends too soon */
    struct error *e;
};

/* "PATH: KIND INDEX "NAME": MESSAGE, at byte AT". Returns false. */
__attribute__((format(printf, 3, 4))) static bool bad(const struct reader *r, size_t at, const char *format, ...) {
    char path[768], name[200], subject[256] = "", what[640];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    printable(path, sizeof path, r->path, strlen(r->path));
    if (r->kind && r->name)
        snprintf(subject, sizeof subject, "%s %zu \"%s\": ", r->kind, r->index,
                 printable(name, sizeof name, r->name, strlen(r->name)));
    else if (r->kind)
        snprintf(subject, sizeof subject, "%s %zu: ", r->kind, r->index);
    fail(r->e, "%s: %s%s, at byte %zu", path, subject, what, at);
    return false;
}

static void about(struct reader *r, const char *kind, size_t index, const char *name) {
    r->kind = kind;
    r->index = index;
    r->name = name;
}

/* ---- pieces of the file ---- */

/* The next n bytes, or NULL with the error written. */
static const uint8_t *take(struct reader *r, size_t n, const char *what) {
    size_t left = r->size - r->at;
    if (n > left) {
        r->cut = true;
        bad(r, r->at, "the file ends inside %s: %zu bytes expected, %zu left", what, n, left);
        return NULL;
    }
    const uint8_t *p = r->bytes + r->at;
    r->at += n;
    return p;
}

static bool take_u32(struct reader *r, const char *what, uint32_t *v) {
    const uint8_t *p = take(r, 4, what);
    if (p)
        *v = (uint32_t)gguf_number(p, 4);
    return p != NULL;
}

static bool take_u64(struct reader *r, const char *what, uint64_t *v) {
    const uint8_t *p = take(r, 8, what);
    if (p)
        *v = gguf_number(p, 8);
    return p != NULL;
}

/* A length, then that many bytes. */
static bool take_string(struct reader *r, const char *what, const uint8_t **text, uint64_t *length) {
    if (!take_u64(r, what, length))
        return false;
    *text = take(r, *length, what);
    return *text != NULL;
}

/* The name of a key or tensor, as a string of our own. */
static bool take_name(struct reader *r, char **name) {
    size_t at = r->at;
    uint64_t length = 0;
    if (!take_u64(r, "the length of its name", &length))
        return false;
    if (length == 0 || length > MOST_NAME_BYTES)
        return bad(r, at, "its name has %" PRIu64 " bytes, expected 1 .. %d", length, MOST_NAME_BYTES);
    const uint8_t *text = take(r, length, "its name");
    if (!text)
        return false;
    const uint8_t *nul = memchr(text, 0, length);
    if (nul)
        return bad(r, (size_t)(nul - r->bytes), "its name holds a NUL, expected text");
    *name = calloc(length + 1, 1);
    if (!*name)
        return bad(r, at, "no memory for its name of %" PRIu64 " bytes", length);
    memcpy(*name, text, length);
    r->name = *name;
    return true;
}

/* ---- metadata ---- */

const char *const gguf_value_names[] = {"uint8", "int8",   "uint16", "int16",  "uint32", "int32",  "float32",
                                        "bool",  "string", "array",  "uint64", "int64",  "float64"};

/* Bytes of a value by enum gguf_value_type; 0 for strings and arrays, which tell their own. */
static const uint8_t value_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

static bool take_value_type(struct reader *r, const char *what, enum gguf_value_type *type) {
    uint32_t number = 0;
    if (!take_u32(r, what, &number))
        return false;
    if (number >= sizeof value_bytes)
        return bad(r, r->at - 4, "%s is %" PRIu32 ", expected 0 .. %zu", what, number, sizeof value_bytes - 1);
    *type = (enum gguf_value_type)number;
    return true;
}

/* `count` values of a type that is no array, one after the other. */
static bool take_values(struct reader *r, enum gguf_value_type type, uint64_t count, struct gguf_entry *entry) {
    size_t start = r->at, length;
    if (type == GGUF_STRING) {
        for (uint64_t i = 0; i < count; i++)
            if (!take_string(r, "a string of its value", &entry->bytes, &entry->length))
                return false;
        if (entry->type == GGUF_STRING)
            return true;
        entry->bytes = r->bytes + start;
        entry->length = r->at - start;
        return true;
    }
    if (!size_mul(count, value_bytes[type], &length))
        return bad(r, start, "an array of %" PRIu64 " elements, more than a file can hold", count);
    entry->bytes = take(r, length, "its value");
    if (!entry->bytes)
        return false;
    entry->length = length;
    for (size_t i = 0; type == GGUF_BOOL && i < length; i++)
        if (entry->bytes[i] > 1)
            return bad(r, start + i, "a bool is %u, expected 0 or 1", entry->bytes[i]);
    return true;
}

static bool take_entry(struct reader *r, struct gguf_entry *entry) {
    if (!take_name(r, &entry->key) || !take_value_type(r, "its value type", &entry->type))
        return false;
    entry->item = entry->type;
    entry->count = 1;
    if (entry->type != GGUF_ARRAY)
        return take_values(r, entry->type, 1, entry);
    if (!take_value_type(r, "its element type", &entry->item) || !take_u64(r, "its number of elements", &entry->count))
        return false;
    if (entry->item == GGUF_ARRAY)
        return bad(r, r->at - 12, "an array of arrays, expected elements of another type");
    return take_values(r, entry->item, entry->count, entry);
}

/* ---- tensors ---- */

static bool take_tensor(struct reader *r, uint64_t alignment, struct gguf_tensor *t) {
    if (!take_name(r, &t->name) || !take_u32(r, "its number of dimensions", &t->dims))
        return false;
    if (t->dims < 1 || t->dims > 4)
        return bad(r, r->at - 4, "%u dimensions, expected 1 .. 4", t->dims);
    t->rows = 1;
    for (unsigned i = 0; i < 4; i++) {
        t->extent[i] = 1;
        if (i < t->dims && !take_u64(r, "its extents", &t->extent[i]))
            return false;
        if (t->extent[i] == 0)
            return bad(r, r->at - 8, "extent %u is 0, expected at least 1", i);
        if (i > 0 && !size_mul(t->rows, t->extent[i], &t->rows))
            return bad(r, r->at - 8, "the product of its extents does not fit 64 bits");
    }

    if (!take_u32(r, "its type", &t->type))
        return false;
    const struct gguf_type *type = t->type < GGUF_TYPE_COUNT ? &gguf_types[t->type] : NULL;
    if (!type || !type->name)
        return bad(r, r->at - 4, "type number %" PRIu32 " is unknown, expected one below %u", t->type, GGUF_TYPE_COUNT);
    if (type->block_values == 0)
        return bad(r, r->at - 4, "type number %" PRIu32 " (%s) was withdrawn from the format", t->type, type->name);
    t->type_name = type->name;
    t->format = format_of_type(t->type);
    if (t->extent[0] % type->block_values != 0)
        return bad(r, r->at - 4, "rows of %" PRIu64 " values, expected a multiple of the %zu values of a %s block",
                   t->extent[0], type->block_values, type->name);
    if (!size_mul(t->extent[0] / type->block_values, type->block_bytes, &t->row_bytes) ||
        !size_mul(t->rows, t->row_bytes, &t->bytes))
        return bad(r, r->at - 4, "its bytes do not fit 64 bits");

    /* Relative to the data section for now, whose start is known once every tensor is read. */
    if (!take_u64(r, "its offset", &t->offset))
        return false;
    if (t->offset % alignment != 0)
        return bad(r, r->at - 8, "its offset is %" PRIu64 ", expected a multiple of the alignment %" PRIu64, t->offset,
                   alignment);
    return true;
}

/* Turns the offset of a tensor into one from the start of the file, and sets its data. */
static bool place_tensor(struct reader *r, size_t section, struct gguf_tensor *t) {
    size_t start, end;
    if (!size_add(section, t->offset, &start) || !size_add(start, t->bytes, &end))
        return bad(r, section, "its data end past 64 bits: offset %" PRIu64 ", %zu bytes", t->offset, t->bytes);
    t->offset = start;
    if (end > r->size) {
        r->cut = true;
        return bad(r, start, "its %zu bytes of data end at byte %zu, the file has %zu", t->bytes, end, r->size);
    }
    t->data = r->bytes + start;
    return true;
}

static int by_offset(const void *a, const void *b) {
    const struct gguf_tensor *x = *(const struct gguf_tensor *const *)a, *y = *(const struct gguf_tensor *const *)b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool check_overlaps(struct reader *r, const struct gguf_file *f) {
    if (f->tensor_count < 2)
        return true;
    const struct gguf_tensor **order = calloc(f->tensor_count, sizeof *order);
    if (!order)
        return bad(r, r->at, "no memory to sort %zu tensors", f->tensor_count);
    for (size_t i = 0; i < f->tensor_count; i++)
        order[i] = &f->tensors[i];
    qsort(order, f->tensor_count, sizeof *order, by_offset);
    bool ok = true;
    for (size_t i = 1; ok && i < f->tensor_count; i++) {
        const struct gguf_tensor *t = order[i], *before = order[i - 1];
        if (t->offset - before->offset < before->bytes) {
            about(r, "tensor", (size_t)(t - f->tensors), t->name);
            ok = bad(r, t->offset, "its data start inside those of tensor %zu, which end at byte %zu",
                     (size_t)(before - f->tensors), (size_t)before->offset + before->bytes);
        }
    }
    free(order);
    return ok;
}

/* ---- the whole ---- */

static int by_name(const void *a, const void *b) {
    const struct mention *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : x->index < y->index ? -1 : x->index > y->index;
}

/* Sorting keeps a file of a million names from costing a million squared. */
static bool check_unique(struct reader *r, const char *kind, struct mention *names, size_t count) {
    if (count < 2)
        return true;
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(names[i - 1].name, names[i].name) == 0) {
            about(r, kind, names[i].index, names[i].name);
            return bad(r, names[i].at, "%s %zu has the same name, expected different ones", kind, names[i - 1].index);
        }
    return true;
}

static bool read_header(struct reader *r, struct gguf_file *f) {
    if (r->size == 0)
        return bad(r, 0, "the file is empty, expected %d bytes of header", HEADER_BYTES);
    const uint8_t *magic = take(r, 4, "the magic");
    if (!magic)
        return false;
    if (memcmp(magic, "GGUF", 4) != 0)
        return bad(r, 0, "not a GGUF file: it starts with %02x %02x %02x %02x, expected 47 47 55 46 (\"GGUF\")",
                   magic[0], magic[1], magic[2], magic[3]);
    if (!take_u32(r, "the version", &f->version))
        return false;
    uint32_t swapped = __builtin_bswap32(f->version);
    if (swapped >= 1 && swapped <= 3)
        return bad(r, 4, "a big-endian file of version %" PRIu32 ", expected a little-endian one", swapped);
    if (f->version == 1)
        return bad(r, 4, "version 1, whose counts have 32 bits, is no longer in use; expected version 2 or 3");
    if (f->version != 2 && f->version != 3)
        return bad(r, 4, "version %" PRIu32 ", expected 2 or 3", f->version);

    uint64_t tensors = 0, keys = 0;
    if (!take_u64(r, "the number of tensors", &tensors) || !take_u64(r, "the number of keys", &keys))
        return false;
    size_t left = r->size - r->at; /* what memory is asked for below is a small multiple of it */
    if (tensors > MOST_THINGS)
        return bad(r, 8, "%" PRIu64 " tensors, expected at most %d", tensors, MOST_THINGS);
    if (keys > MOST_THINGS)
        return bad(r, 16, "%" PRIu64 " keys, expected at most %d", keys, MOST_THINGS);
    f->tensors_named = tensors;
    f->entries_named = keys;
    if (tensors > left / LEAST_TENSOR_BYTES || keys > left / LEAST_KEY_BYTES) {
        r->cut = true;
        bad(r, r->at, "the file ends too soon: %" PRIu64 " tensors and %" PRIu64 " keys expected, %zu bytes left",
            tensors, keys, left);
        if (!r->takes_cut)
            return false;
        tensors = tensors < left / LEAST_TENSOR_BYTES ? tensors : left / LEAST_TENSOR_BYTES;
        keys = keys < left / LEAST_KEY_BYTES ? keys : left / LEAST_KEY_BYTES;
    }
    f->tensors = calloc(tensors + 1, sizeof *f->tensors);
    f->entries = calloc(keys + 1, sizeof *f->entries);
    if (!f->tensors || !f->entries)
        return bad(r, 8, "no memory for %" PRIu64 " tensors and %" PRIu64 " keys", tensors, keys);
    f->tensor_count = tensors;
    f->entry_count = keys;
    return true;
}

static bool read_alignment(struct reader *r, struct gguf_file *f) {
    const struct gguf_entry *entry = gguf_entry_named(f, "general.alignment");
    f->alignment = DEFAULT_ALIGNMENT;
    if (!entry)
        return true;
    size_t at = (size_t)(entry->bytes - f->map);
    about(r, "key", (size_t)(entry - f->entries), entry->key);
    if (entry->type != GGUF_UINT32)
        return bad(r, at, "value type %d, expected %d (uint32)", entry->type, GGUF_UINT32);
    f->alignment = gguf_number(entry->bytes, 4);
    if (f->alignment == 0 || (f->alignment & (f->alignment - 1)) != 0 || f->alignment > MOST_ALIGNMENT)
        return bad(r, at, "alignment %" PRIu64 ", expected a power of two up to %d", f->alignment, MOST_ALIGNMENT);
    return true;
}

/* Keys 0 .. entry_count - 1; at a cut, entry_count becomes how many are whole. */
static bool read_entries(struct reader *r, struct gguf_file *f, struct mention *names) {
    const size_t count = f->entry_count;
    for (size_t i = 0; i < count; i++) {
        about(r, "key", i, NULL);
        size_t at = r->at;
        if (!take_entry(r, &f->entries[i])) {
            free(f->entries[i].key);
            f->entry_count = i;
            return false;
        }
        names[i] = (struct mention){f->entries[i].key, i, at};
    }
    return true;
}

static bool read_tensors(struct reader *r, struct gguf_file *f, struct mention *names) {
    const size_t count = f->tensor_count;
    for (size_t i = 0; i < count; i++) {
        about(r, "tensor", i, NULL);
        size_t at = r->at;
        if (!take_tensor(r, f->alignment, &f->tensors[i])) {
            free(f->tensors[i].name);
            f->tensor_count = i;
            return false;
        }
        names[i] = (struct mention){f->tensors[i].name, i, at};
    }
    return true;
}

/* Whether to go on after a step that failed: only past a cut, and only for those who take one. */
static bool goes_on(const struct reader *r) {
    return r->cut && r->takes_cut;
}

static bool read_all(struct reader *r, struct gguf_file *f, struct mention *names) {
    const size_t named = f->tensor_count;
    f->tensor_count = 0; /* until their descriptions are read */
    const bool keys_whole = read_entries(r, f, names);
    if ((!keys_whole && !goes_on(r)) || !check_unique(r, "key", names, f->entry_count) || !read_alignment(r, f))
        return false;
    if (!keys_whole)
        return true;
    f->tensor_count = named;
    const bool tensors_whole = read_tensors(r, f, names);
    if ((!tensors_whole && !goes_on(r)) || !check_unique(r, "tensor", names, f->tensor_count))
        return false;
    if (!tensors_whole)
        return true; /* where the data section starts is not known: no data of any tensor */

    /* r->at is at most the file's size and the alignment small: no overflow */
    size_t section = (r->at + f->alignment - 1) / f->alignment * f->alignment;
    struct error first = {0};
    bool any_cut = r->cut;
    for (size_t i = 0; i < f->tensor_count; i++) {
        about(r, "tensor", i, f->tensors[i].name);
        r->cut = false; /* each is forgiven for its own cut only */
        if (place_tensor(r, section, &f->tensors[i]))
            continue;
        if (!goes_on(r))
            return false;
        if (!any_cut)
            first = *r->e;
        any_cut = true;
    }
    r->cut = any_cut;
    if (!check_overlaps(r, f))
        return false;
    if (first.text[0])
        *r->e = first;
    return true;
}

static struct gguf_file *parse(const char *path, const uint8_t *bytes, size_t size, bool takes_cut, struct error *e) {
    struct error unread = {""};
    e = e ? e : &unread;
    struct reader r = {.path = path, .bytes = bytes, .size = size, .takes_cut = takes_cut, .e = e};
    struct gguf_file *f = must_calloc(1, sizeof *f);
    f->path = must_strdup(path);
    f->map = bytes;
    f->size = size;
    bool ok = read_header(&r, f);
    if (ok) {
        size_t most = f->entry_count > f->tensor_count ? f->entry_count : f->tensor_count;
        struct mention *names = calloc(most + 1, sizeof *names);
        ok = names ? read_all(&r, f, names) : bad(&r, r.at, "no memory for %zu names", most);
        free(names);
    } else {
        f->entry_count = f->tensor_count = 0;
    }
    f->cut = ok && r.cut;
    if (f->cut)
        f->missing = *e;
    if (ok)
        return f;
    gguf_close(f);
    return NULL;
}

struct gguf_file *gguf_parse(const char *path, const uint8_t *bytes, size_t size, struct error *e) {
    return parse(path, bytes, size, false, e);
}

struct gguf_file *gguf_parse_cut(const char *path, const uint8_t *bytes, size_t size, struct error *e) {
    return parse(path, bytes, size, true, e);
}

static struct gguf_file *open_and_parse(const char *path, bool takes_cut, struct error *e) {
    char shown[768];
    printable(shown, sizeof shown, path, strlen(path));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a FIFO without a writer must not block */
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        *path ? fail(e, "%s: cannot open: %s", shown, strerror(errno)) : fail(e, "the name of a file is empty");
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    if (!S_ISREG(st.st_mode)) {
        fail(e, "%s: %s, expected a GGUF file", shown, S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
        close(fd);
        return NULL;
    }
    size_t size = (size_t)st.st_size;
    void *map = size == 0 ? NULL : mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    int why = errno;
    close(fd); /* the mapping stays */
    if (map == MAP_FAILED) {
        fail(e, "%s: cannot map %zu bytes: %s", shown, size, strerror(why));
        return NULL;
    }
    struct gguf_file *f = parse(path, map, size, takes_cut, e);
    if (f)
        f->mapped = true;
    else if (map)
        munmap(map, size);
    return f;
}

struct gguf_file *gguf_open(const char *path, struct error *e) {
    return open_and_parse(path, false, e);
}

struct gguf_file *gguf_open_cut(const char *path, struct error *e) {
    return open_and_parse(path, true, e);
}

void gguf_close(struct gguf_file *f) {
    if (!f)
        return;
    for (size_t i = 0; i < f->entry_count; i++)
        free(f->entries[i].key);
    for (size_t i = 0; i < f->tensor_count; i++)
        free(f->tensors[i].name);
    free(f->entries);
    free(f->tensors);
    if (f->mapped)
        munmap((void *)(uintptr_t)f->map, f->size);
    free(f->path);
    free(f);
}

const struct gguf_tensor *gguf_tensor_named(const struct gguf_file *f, const char *name) {
    for (size_t i = 0; i < f->tensor_count; i++)
        if (strcmp(f->tensors[i].name, name) == 0)
            return &f->tensors[i];
    return NULL;
}

const struct gguf_entry *gguf_entry_named(const struct gguf_file *f, const char *key) {
    for (size_t i = 0; i < f->entry_count; i++)
        if (strcmp(f->entries[i].key, key) == 0)
            return &f->entries[i];
    return NULL;
}

bool gguf_row(const struct gguf_tensor *t, uint64_t row, float *out, struct error *e) {
    char name[200];
    printable(name, sizeof name, t->name, strlen(t->name));
    if (!t->format)
        return fail(e, "tensor \"%s\": no decoder for type %s", name, t->type_name);
    if (!t->data)
        return fail(e, "tensor \"%s\": its data are cut off", name);
    if (row >= t->rows)
        return fail(e, "tensor \"%s\": row %" PRIu64 ", expected one below %" PRIu64, name, row, t->rows);
    const uint8_t *block = t->data + row * t->row_bytes;
    for (uint64_t k = 0; k < t->extent[0]; k += t->format->block_values, block += t->format->block_bytes)
        t->format->dequantize(block, out + k);
    return true;
}
