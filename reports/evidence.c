#include "evidence.h"
#include "../gpu/raw.h"
#include "../gpu/yaml.h"
#include "../ref/checked.h"
#include "../ref/printable.h"
#include "file.h"
#include "json_node.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MOST_PACKED = 64 << 20, MOST_TEXT = 128 << 20, MOST_LINE = 1 << 14, MOST_LINES = 1 << 20 };

/* Where the fields of a line lie: in text, and in digests. The verdict has a place of its own. */
static const struct {
    const char *key;
    size_t offset;
    bool digest;
} fields[] = {{"case", offsetof(struct evidence_line, id), false},
              {"kernel", offsetof(struct evidence_line, kernel), false},
              {"ptx", offsetof(struct evidence_line, ptx), true},
              {"inputs", offsetof(struct evidence_line, inputs), true},
              {"output", offsetof(struct evidence_line, output), true},
              {"device", offsetof(struct evidence_line, device), false},
              {"driver", offsetof(struct evidence_line, driver), false},
              {"cuda", offsetof(struct evidence_line, cuda), false},
              {"toolkit", offsetof(struct evidence_line, toolkit), false},
              {"date", offsetof(struct evidence_line, date), false},
              {"command", offsetof(struct evidence_line, command), false}};
enum { FIELDS = sizeof fields / sizeof *fields };

static void line_free(struct evidence_line *l) {
    for (size_t i = 0; i < FIELDS; ++i) {
        if (!fields[i].digest) {
            free(*(char **)((char *)l + fields[i].offset));
        }
    }
}

void recorded_free(struct recorded *r) {
    for (size_t i = 0; i < r->count; ++i) {
        line_free(&r->lines[i]);
    }
    for (size_t i = 0; i < r->path_count; ++i) {
        free(r->paths[i]);
    }
    free(r->lines);
    free(r->paths);
    *r = (struct recorded){0};
}

/* --- what a line may say ------------------------------------------------------------------------------------------ */

enum { MOST_COMMAND = EVIDENCE_COMMAND, MOST_ID = 512, MOST_NAME = 128 };

static bool is_command(size_t field) {
    return strcmp(fields[field].key, "command") == 0;
}

static size_t most_of(size_t field) {
    return is_command(field)                                            ? MOST_COMMAND
           : fields[field].offset == offsetof(struct evidence_line, id) ? MOST_ID
                                                                        : MOST_NAME;
}

/* Text that a terminal shows as it is, the backslash aside. */
static bool is_plain(const char *text) {
    char *copy = must_strdup(text), *shown = must_calloc(4 * strlen(text) + 8, 1);
    size_t n = 0;
    for (const char *c = text; *c != 0; ++c) {
        copy[n] = *c;
        n += *c != '\\';
    }
    copy[n] = 0;
    const bool plain = strcmp(printable(shown, 4 * n + 8, copy, n), copy) == 0;
    free(copy);
    free(shown);
    return plain;
}

static bool is_date(const char *s) {
    static const char form[] = "dddd-dd-dd";
    for (size_t i = 0; i < sizeof form; ++i) {
        if (form[i] == 'd' ? s[i] < '0' || s[i] > '9' : s[i] != form[i]) {
            return false;
        }
    }
    const int month = atoi(s + 5), day = atoi(s + 8);
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* NULL, or what the text of a field should have been. */
static const char *wanted(size_t field, const char *text) {
    const char *key = fields[field].key;
    if (fields[field].digest) {
        const bool none = text[0] == 0 && strcmp(key, "output") == 0;
        return none || sha256_is(text) ? NULL : "64 lower-case hex digits";
    }
    if (text[0] == 0 || strlen(text) > most_of(field) || !is_plain(text)) {
        return is_command(field) ? "text of at most 4096 bytes without control characters"
                                 : "short text without control characters";
    }
    const size_t dots = strspn(text, ".0123456789");
    if (strcmp(key, "date") == 0) {
        return is_date(text) ? NULL : "a date as 2026-11-30";
    }
    if (strcmp(key, "cuda") == 0) {
        return text[dots] == 0 ? NULL : "a version as 13.0";
    }
    if (strcmp(key, "toolkit") == 0) {
        return strcmp(text, "unknown") == 0 || (text[0] == 'V' && text[1 + strspn(text + 1, ".0123456789")] == 0)
                   ? NULL
                   : "a release as V13.0.88, or unknown";
    }
    return NULL;
}

/* weight/activation/KERNEL/..., or activation/result/KERNEL/... */
static bool is_case_of(const char *id, const char *kernel) {
    const char *first = strchr(id, '/'), *second = first != NULL ? strchr(first + 1, '/') : NULL;
    const size_t n = strlen(kernel);
    return second != NULL && strncmp(second + 1, kernel, n) == 0 && second[1 + n] == '/';
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

struct reading {
    const char *path;
    size_t number;
    struct error *e;
};

__attribute__((format(printf, 2, 3))) static bool bad(const struct reading *r, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return fail(r->e, "%s:%zu: %s", r->path, r->number, text);
}

/* A value that came from the file, in quotes. */
static const char *quoted(char shown[96], const char *text) {
    char inner[88];
    snprintf(shown, 96, "'%s'", printable(inner, sizeof inner, text, strlen(text)));
    return shown;
}

/* value of `key` becomes its field of l; *text is taken over. */
static bool take_field(const struct reading *r, struct evidence_line *l, size_t field, char *text) {
    char shown[96];
    char *at = (char *)l + fields[field].offset;
    if (fields[field].digest ? at[0] != 0 : *(char **)at != NULL) {
        free(text);
        return bad(r, "the key '%s' comes twice", fields[field].key);
    }
    const char *want = wanted(field, text);
    if (want != NULL) {
        bad(r, "%s: want %s, got %s", fields[field].key, want, quoted(shown, text));
    } else if (fields[field].digest) {
        memcpy(at, text, strlen(text) + 1);
    }
    if (want == NULL && !fields[field].digest) {
        *(char **)at = text;
    } else {
        free(text);
    }
    return want == NULL;
}

static bool take_pair(const struct reading *r, struct evidence_line *l, struct fy_node_pair *pair, bool *has_verdict) {
    struct fy_node *key_node = fy_node_pair_key(pair), *value = fy_node_pair_value(pair);
    size_t key_bytes = 0, bytes = 0;
    const char *key = fy_node_get_scalar(key_node, &key_bytes), *text = fy_node_get_scalar(value, &bytes);
    char name[40], shown[96];
    if (key == NULL || key_bytes >= sizeof name || memchr(key, 0, key_bytes) != NULL) {
        return bad(r, "a key that no line of evidence has");
    }
    memcpy(name, key, key_bytes);
    name[key_bytes] = 0;
    if (text == NULL || memchr(text, 0, bytes) != NULL || fy_node_get_style(value) != FYNS_DOUBLE_QUOTED) {
        return bad(r, "%s: want a string", quoted(shown, name));
    }
    char *copy = must_format("%.*s", (int)bytes, text);
    if (strcmp(name, "verdict") == 0) {
        const bool good = verdict_named(copy, &l->verdict);
        *has_verdict = true;
        if (!good) {
            bad(r, "verdict: %s is none", quoted(shown, copy));
        }
        free(copy);
        return good;
    }
    for (size_t i = 0; i < FIELDS; ++i) {
        if (strcmp(name, fields[i].key) == 0) {
            return take_field(r, l, i, copy);
        }
    }
    free(copy);
    return bad(r, "%s: no line of evidence has that key", quoted(shown, name));
}

static bool take_object(const struct reading *r, struct fy_document *d, struct evidence_line *l) {
    struct fy_node *root = d != NULL ? fy_document_root(d) : NULL;
    if (root == NULL || !fy_node_is_mapping(root)) {
        return bad(r, "want one JSON object a line, every key once");
    }
    bool has_verdict = false;
    void *at = NULL;
    for (struct fy_node_pair *pair; (pair = fy_node_mapping_iterate(root, &at)) != NULL;) {
        if (!take_pair(r, l, pair, &has_verdict)) {
            return false;
        }
    }
    for (size_t i = 0; i < FIELDS; ++i) {
        const char *field = (char *)l + fields[i].offset;
        const bool none =
            fields[i].digest ? field[0] == 0 && strcmp(fields[i].key, "output") != 0 : *(char *const *)field == NULL;
        if (none) {
            return bad(r, "the key '%s' is missing", fields[i].key);
        }
    }
    if (!has_verdict) {
        return bad(r, "the key 'verdict' is missing");
    }
    if (!is_case_of(l->id, l->kernel)) {
        char shown[96];
        return bad(r, "kernel: the case is not one of %s", quoted(shown, l->kernel));
    }
    return l->verdict != VERDICT_PASS || l->output[0] != 0 || bad(r, "output: a case that passed has one");
}

/* "{...}" and nothing behind it: libfyaml would stop at the end of the first object. Its values are strings, so no
 * other bracket stands outside of one. */
static bool is_one_object(const char *text, size_t size) {
    bool string = false;
    for (size_t i = 0; i < size; ++i) {
        if (string && text[i] == '\\') {
            ++i;
        } else if (text[i] == '"') {
            string = !string;
        } else if (!string && strchr("{}[]", text[i]) != NULL && i != 0 && i != size - 1) {
            return false;
        }
    }
    return size >= 2 && text[0] == '{' && text[size - 1] == '}' && !string;
}

/* NULL: it is no JSON. */
static struct fy_document *parse(const char *text, size_t size) {
    struct fy_diag *diag = yaml_quiet_diag();
    const struct fy_parse_cfg cfg = {.diag = diag, .flags = FYPCF_JSON_FORCE | FYPCF_QUIET};
    struct fy_document *d = diag != NULL ? fy_document_build_from_string(&cfg, text, size) : NULL;
    fy_diag_destroy(diag);
    return d;
}

static bool take_line(const struct reading *r, const char *text, size_t size, struct recorded *into) {
    if (size > MOST_LINE) {
        return bad(r, "longer than %d bytes", MOST_LINE);
    }
    if (into->count >= MOST_LINES) {
        return bad(r, "more than %d lines of evidence", MOST_LINES);
    }
    struct fy_document *d = is_one_object(text, size) ? parse(text, size) : NULL;
    struct evidence_line l = {.path = into->paths[into->path_count - 1], .number = r->number};
    const bool good = take_object(r, d, &l);
    fy_document_destroy(d);
    if (!good) {
        line_free(&l);
        return false;
    }
    if ((into->count & (into->count - 1)) == 0) { /* room for twice as many */
        into->lines = must_realloc(into->lines, into->count > 0 ? 2 * into->count : 1, sizeof *into->lines);
    }
    into->lines[into->count++] = l;
    return true;
}

/* The text of a gzip file, whole; NULL with the reason in e. */
static char *unpack(const char *path, uint8_t *packed, size_t bytes, size_t *size, struct error *e) {
    z_stream z = {.next_in = packed, .avail_in = (uInt)bytes};
    char *text = NULL;
    size_t room = 0;
    int result = inflateInit2(&z, 15 + 16); /* with a gzip header */
    *size = 0;
    while (result == Z_OK && room < MOST_TEXT) {
        room = room > 0 ? 2 * room : 1 << 20;
        text = must_realloc(text, room, 1);
        z.next_out = (Bytef *)text + *size;
        z.avail_out = (uInt)(room - *size);
        result = inflate(&z, Z_NO_FLUSH);
        *size = room - z.avail_out;
        if (result == Z_BUF_ERROR || (result == Z_OK && z.avail_out > 0)) {
            break; /* it ends in the middle */
        }
    }
    const size_t left = z.avail_in;
    inflateEnd(&z);
    if (result == Z_STREAM_END && left == 0) {
        return text;
    }
    free(text);
    fail(e, "%s: %s", path,
         result == Z_OK && room >= MOST_TEXT ? "more than 128 MiB of text"
         : result == Z_STREAM_END            ? "something follows the end of the gzip data"
                                             : "not a whole gzip file");
    return NULL;
}

static bool ends_in(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static char *read_text(const char *path, size_t *size, struct error *e) {
    struct raw_file f;
    if (!raw_open(path, &f, e)) {
        return NULL;
    }
    uint8_t *bytes = NULL;
    if (f.bytes > MOST_PACKED) {
        fail(e, "%s: more than %d MiB", path, MOST_PACKED >> 20);
    } else {
        bytes = raw_whole(&f, e);
    }
    *size = f.bytes;
    raw_close(&f);
    if (bytes == NULL || !ends_in(path, ".gz")) {
        return (char *)bytes;
    }
    char *text = unpack(path, bytes, *size, size, e);
    free(bytes);
    return text;
}

bool recorded_read(const char *path, struct recorded *r, struct error *e) {
    size_t size;
    char *text = read_text(path, &size, e);
    if (text == NULL) {
        return false;
    }
    r->paths = must_realloc(r->paths, r->path_count + 1, sizeof *r->paths);
    r->paths[r->path_count++] = must_strdup(path);
    struct reading reading = {path, 0, e};
    bool good = true;
    for (size_t at = 0; good && at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t length = end != NULL ? (size_t)(end - (text + at)) : size - at;
        ++reading.number;
        good = end != NULL ? take_line(&reading, text + at, length, r) : bad(&reading, "the line has no end");
        at += length + 1;
    }
    free(text);
    return good && (size > 0 || fail(e, "%s: no line of evidence in it", path));
}

static int by_case(const void *a, const void *b) {
    const struct evidence_line *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    order = order != 0 ? order : strcmp(y->date, x->date);
    order = order != 0 ? order : strcmp(x->path, y->path);
    return order != 0 ? order : (x->number > y->number) - (x->number < y->number);
}

void recorded_sort(struct recorded *r) {
    if (r->count > 0) {
        qsort(r->lines, r->count, sizeof *r->lines, by_case);
    }
}

const struct evidence_line *recorded_of(const struct recorded *r, const char *id, size_t *count) {
    size_t low = 0, high = r->count; /* the first that is not before id */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(r->lines[middle].id, id) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *count = 0;
    while (low + *count < r->count && strcmp(r->lines[low + *count].id, id) == 0) {
        ++*count;
    }
    return *count > 0 ? &r->lines[low] : NULL;
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

static struct fy_node *line_node(struct fy_document *d, const struct evidence_line *l) {
    struct fy_node *m = fy_node_create_mapping(d);
    for (size_t i = 0; i < FIELDS; ++i) {
        const char *at = (const char *)l + fields[i].offset;
        json_add_string(d, m, fields[i].key, fields[i].digest ? at : *(char *const *)at);
        if (strcmp(fields[i].key, "output") == 0) {
            json_add_string(d, m, "verdict", verdict_name(l->verdict));
        }
    }
    return m;
}

/* The same bytes for the same text: no name and no time in the header. NULL: no memory. */
static uint8_t *pack(const char *text, size_t size, size_t *packed) {
    z_stream z = {0};
    if (size > MOST_TEXT || deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
        return NULL;
    }
    const size_t room = deflateBound(&z, (uLong)size);
    uint8_t *bytes = must_calloc(room, 1);
    z.next_in = (Bytef *)text;
    z.avail_in = (uInt)size;
    z.next_out = bytes;
    z.avail_out = (uInt)room;
    const bool good = deflate(&z, Z_FINISH) == Z_STREAM_END;
    *packed = room - z.avail_out;
    deflateEnd(&z);
    if (!good) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* What is written must be read again. */
static bool check_line(const struct evidence_line *l, struct error *e) {
    for (size_t i = 0; i < FIELDS; ++i) {
        const char *at = (const char *)l + fields[i].offset, *text = fields[i].digest ? at : *(char *const *)at;
        const char *want = wanted(i, text);
        char shown[96];
        if (want != NULL) {
            return fail(e, "%s cannot be recorded: want %s, got %s", fields[i].key, want, quoted(shown, text));
        }
    }
    return true;
}

bool evidence_write(const char *path, const struct evidence_line *lines, size_t count, struct error *e) {
    for (size_t i = 0; i < count; ++i) {
        if (!check_line(&lines[i], e)) {
            return false;
        }
    }
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool good = out != NULL;
    for (size_t i = 0; good && i < count; ++i) {
        struct fy_document *d = fy_document_create(NULL);
        good = d != NULL && json_line(out, d, line_node(d, &lines[i]));
        fy_document_destroy(d);
    }
    good = (out == NULL || fclose(out) == 0) && good;
    if (!good) {
        fail(e, "%s: no memory for the lines", path);
    } else if (ends_in(path, ".gz")) {
        size_t packed = 0;
        uint8_t *bytes = pack(text, size, &packed);
        good = bytes != NULL ? file_put(path, bytes, packed, e) : fail(e, "%s: no memory to pack the lines", path);
        free(bytes);
    } else {
        good = file_put(path, text, size, e);
    }
    free(text);
    return good;
}
