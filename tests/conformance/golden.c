/* Bytes measured on a GPU. index.tsv: lines that start with # say what, where and when; each other line is a form:
 * text, vectors, digest of the operands, digest of all results, place of the first results in results.bin.zz (a zlib
 * stream). A digest is the first 8 bytes of SHA-256. Results stand vector after vector, each of its own width. */
#include "conformance.h"
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct entry {
    char *text;
    size_t vectors, place;
    uint64_t operands, results;
};
struct golden {
    struct entry *entries;
    size_t count;
    uint8_t *bytes;
    uLongf size;
    char about[300];
};
struct recording {
    FILE *index;
    char *path;
    uint8_t *bytes;
    size_t size, room;
};

static unsigned width(const char *kind) {
    return (kind_named(kind)->bits + 7) / 8;
}

static uint64_t digest(const char (*kinds)[12], unsigned count, size_t n, const uint64_t *x) {
    size_t bytes = 0;
    for (unsigned k = 0; k < count; ++k)
        bytes += width(kinds[k]);
    uint8_t *all = malloc(bytes * n + 1), *to = all, sha[SHA256_DIGEST_LENGTH];
    if (!all)
        abort();
    for (size_t i = 0; i < n; ++i)
        for (unsigned k = 0; k < count; ++k) {
            memcpy(to, &x[k * n + i], width(kinds[k]));
            to += width(kinds[k]);
        }
    SHA256(all, bytes * n, sha);
    free(all);
    uint64_t d = 0;
    memcpy(&d, sha, 8);
    return d;
}

uint64_t operands_digest(const struct form *f, const uint64_t *in) {
    return digest(f->read.input, f->read.inputs, f->vectors, in);
}
uint64_t results_digest(const struct form *f, const uint64_t *out) {
    return digest(f->read.result, f->read.results, f->vectors, out);
}

static size_t kept(const struct form *f) {
    return f->vectors < GOLDEN_VECTORS ? f->vectors : GOLDEN_VECTORS;
}

/* A whole file, with a zero behind it. */
static uint8_t *whole(const char *folder, const char *name, size_t *size, struct error *e) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) {
        fail(e, "%s: cannot be read", path);
        return NULL;
    }
    fseek(f, 0, SEEK_END);
    const long length = ftell(f);
    rewind(f);
    uint8_t *bytes = length >= 0 ? malloc((size_t)length + 1) : NULL;
    *size = bytes ? fread(bytes, 1, (size_t)length, f) : 0;
    fclose(f);
    if (bytes)
        bytes[*size] = 0;
    return bytes;
}

static int by_text(const void *a, const void *b) {
    return strcmp(((const struct entry *)a)->text, ((const struct entry *)b)->text);
}

struct golden *golden_open(const char *folder, struct error *e) {
    size_t size, packed;
    struct error quiet = {""};
    uint8_t *index = whole(folder, "index.tsv", &size, &quiet);
    if (!index)
        return NULL; /* none were recorded */
    uint8_t *stream = whole(folder, "results.bin.zz", &packed, e);
    if (!stream) {
        free(index);
        return NULL;
    }
    struct golden *g = calloc(1, sizeof *g);
    for (char *line = strtok((char *)index, "\n"); line; line = strtok(NULL, "\n")) {
        struct entry n = {NULL, 0, 0, 0, 0};
        if (*line == '#') {
            if (!g->about[0])
                snprintf(g->about, sizeof g->about, "%s", line + 2);
            if (!strncmp(line, "# bytes ", 8))
                g->size = strtoull(line + 8, NULL, 10);
            continue;
        }
        char *tab = strchr(line, '\t');
        if (!tab || sscanf(tab, "%zu %lx %lx %zu", &n.vectors, &n.operands, &n.results, &n.place) != 4) {
            fail(e, "%s/index.tsv: no form: %.80s", folder, line);
            continue;
        }
        *tab = 0;
        n.text = strdup(line);
        g->entries = realloc(g->entries, (g->count + 1) * sizeof n);
        g->entries[g->count++] = n;
    }
    g->bytes = malloc(g->size + 1);
    const uLongf expected = g->size;
    if (!g->bytes || uncompress(g->bytes, &g->size, stream, packed) != Z_OK || g->size != expected)
        fail(e, "%s/results.bin.zz: not the %lu bytes that the index names", folder, expected);
    free(stream);
    free(index);
    qsort(g->entries, g->count, sizeof *g->entries, by_text);
    return g;
}

void golden_close(struct golden *g) {
    for (size_t i = 0; g && i < g->count; ++i)
        free(g->entries[i].text);
    if (g) {
        free(g->entries);
        free(g->bytes);
    }
    free(g);
}

const char *golden_about(const struct golden *g) {
    return g->about;
}

enum golden_verdict golden_compare(const struct golden *g, const struct form *f, const uint64_t *in,
                                   const uint64_t *out, size_t *first, size_t *differ, uint64_t *want) {
    const struct entry key = {.text = f->text};
    const struct entry *n = g ? bsearch(&key, g->entries, g->count, sizeof key, by_text) : NULL;
    size_t bytes = 0;
    *differ = 0;
    *first = f->vectors;
    if (!n)
        return GOLDEN_NONE;
    for (unsigned k = 0; k < f->read.results; ++k)
        bytes += width(f->read.result[k]);
    if (n->vectors != f->vectors || n->operands != operands_digest(f, in) || n->place + bytes * kept(f) > g->size)
        return GOLDEN_STALE;
    const uint8_t *at = g->bytes + n->place;
    for (size_t i = 0; i < kept(f); ++i) {
        uint64_t x[UNIT_RESULTS] = {0};
        bool equal = true;
        for (unsigned k = 0; k < f->read.results; ++k) {
            memcpy(&x[k], at, width(f->read.result[k]));
            at += width(f->read.result[k]);
            equal = equal && x[k] == out[k * f->vectors + i];
        }
        if (!equal) {
            uint64_t a[UNIT_INPUTS], got[UNIT_RESULTS];
            for (unsigned k = 0; k < f->read.inputs; ++k)
                a[k] = in[k * f->vectors + i];
            for (unsigned k = 0; k < f->read.results; ++k)
                got[k] = out[k * f->vectors + i];
            equal = form_excuses(f, a, x, got);
        }
        if (!equal && !(*differ)++) {
            *first = i;
            memcpy(want, x, sizeof x);
        }
    }
    const bool all = results_digest(f, out) == n->results || f->row->note;
    return *differ || !all ? GOLDEN_DIFFERS : GOLDEN_EQUAL;
}

struct recording *recording_open(const char *folder, const char *about, struct error *e) {
    char path[600];
    struct recording *r = calloc(1, sizeof *r);
    snprintf(path, sizeof path, "%s/index.tsv", folder);
    r->index = fopen(path, "w");
    if (!r->index) {
        fail(e, "%s: cannot be written", path);
        free(r);
        return NULL;
    }
    r->path = strdup(folder);
    fprintf(r->index, "# %s\n# form, vectors, SHA-256 (8 bytes) of operands and of results, place of the first %d\n",
            about, GOLDEN_VECTORS);
    return r;
}

void recorded_results(const struct form *f, const uint64_t *out, uint64_t *first) {
    for (unsigned k = 0; k < f->read.results; ++k)
        memcpy(first + k * kept(f), out + k * f->vectors, kept(f) * sizeof *first);
}

void recording_add(struct recording *r, const struct form *f, uint64_t operands, uint64_t results,
                   const uint64_t *first) {
    fprintf(r->index, "%s\t%zu\t%016lx\t%016lx\t%zu\n", f->text, f->vectors, operands, results, r->size);
    for (size_t i = 0; i < kept(f); ++i)
        for (unsigned k = 0; k < f->read.results; ++k) {
            if (r->size + 8 > r->room) {
                r->room = 2 * r->room + 65536;
                r->bytes = realloc(r->bytes, r->room);
                if (!r->bytes)
                    abort();
            }
            memcpy(r->bytes + r->size, &first[k * kept(f) + i], width(f->read.result[k]));
            r->size += width(f->read.result[k]);
        }
}

bool recording_close(struct recording *r, struct error *e) {
    char path[600];
    uLongf bound = compressBound(r->size);
    uint8_t *packed = malloc(bound);
    bool ok = packed && compress2(packed, &bound, r->bytes, r->size, 9) == Z_OK;
    fprintf(r->index, "# bytes %zu\n", r->size);
    ok = fclose(r->index) == 0 && ok;
    snprintf(path, sizeof path, "%s/results.bin.zz", r->path);
    FILE *f = ok ? fopen(path, "wb") : NULL;
    ok = f && fwrite(packed, 1, bound, f) == bound;
    ok = f && fclose(f) == 0 && ok;
    free(packed);
    free(r->bytes);
    free(r->path);
    free(r);
    return ok || fail(e, "%s: cannot be written", path);
}
