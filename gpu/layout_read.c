/* Reads a layout file (layout.h). */
#include "../ref/checked.h"
#include "layout.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const struct yaml_doc *doc;
    struct layout *l;
    struct error *e;
};

static bool number(const struct reader *r, const struct yaml_node *map, const char *key, const char *what,
                   int64_t least, int64_t most, bool needed, unsigned *out) {
    const struct yaml_node *node = yaml_get(map, key);
    int64_t value;
    if (!node)
        return !needed || yaml_require(r->doc, map, key, what, &node, r->e);
    char *name = must_format("%s.%s", what, key);
    const bool good = yaml_integer(r->doc, node, name, least, most, &value, r->e);
    free(name);
    if (good)
        *out = (unsigned)value;
    return good;
}

static bool map_of(const struct reader *r, const char *key, const char *const *keys, const struct yaml_node **node,
                   bool needed) {
    *node = yaml_get(r->doc->root, key);
    if (!*node)
        return !needed || yaml_require(r->doc, r->doc->root, key, "a layout", node, r->e);
    return yaml_check_keys(r->doc, *node, key, keys, r->e);
}

static bool read_matrix(const struct reader *r) {
    static const char *const keys[] = {"rows", "row_bytes", "major", NULL}, *const majors[] = {"k", "mn", NULL};
    const struct yaml_node *m, *major;
    size_t which = 0;
    if (!map_of(r, "matrix", keys, &m, true) ||
        !number(r, m, "rows", "matrix", 1, LAYOUT_MOST_BYTES, true, &r->l->rows) ||
        !number(r, m, "row_bytes", "matrix", 1, LAYOUT_MOST_BYTES, true, &r->l->row_bytes))
        return false;
    if (r->l->row_bytes > LAYOUT_MOST_BYTES / r->l->rows)
        return yaml_fail(r->doc, yaml_get(m, "row_bytes"), 0, r->e,
                         "matrix.row_bytes: %u rows of %u bytes are %llu bytes; at most %d are proved", r->l->rows,
                         r->l->row_bytes, (unsigned long long)r->l->rows * r->l->row_bytes, LAYOUT_MOST_BYTES);
    if ((major = yaml_get(m, "major")) && !yaml_choice(r->doc, major, "matrix.major", majors, &which, r->e))
        return false;
    r->l->mn_major = which == 1;
    return true;
}

static const char *const swizzles[] = {"none", "32B", "64B", "128B", NULL};

/* {bits: [4, 6], by: row, from: 0} */
static bool read_swizzle_map(const struct reader *r, const struct yaml_node *map) {
    static const char *const keys[] = {"bits", "by", "from", NULL}, *const bys[] = {"address", "row", NULL};
    const struct yaml_node *bits, *by;
    struct layout *l = r->l;
    int64_t ends[2] = {0, 0};
    size_t which;
    if (!yaml_check_keys(r->doc, map, "memory.swizzle", keys, r->e) ||
        !yaml_require(r->doc, map, "bits", "memory.swizzle", &bits, r->e) ||
        !yaml_expect(r->doc, bits, YAML_SEQUENCE, "memory.swizzle.bits", r->e))
        return false;
    if (bits->count != 2)
        return yaml_fail(r->doc, bits, 0, r->e, "memory.swizzle.bits must be [first, last]");
    if (!yaml_integer(r->doc, bits->first, "memory.swizzle.bits", 0, 17, &ends[0], r->e) ||
        !yaml_integer(r->doc, bits->first->next, "memory.swizzle.bits", ends[0], 17, &ends[1], r->e) ||
        !yaml_require(r->doc, map, "by", "memory.swizzle", &by, r->e) ||
        !yaml_choice(r->doc, by, "memory.swizzle.by", bys, &which, r->e) ||
        !number(r, map, "from", "memory.swizzle", 0, 17, true, &l->swizzle_from))
        return false;
    l->swizzle = which == 0 ? LAYOUT_BY_ADDRESS : LAYOUT_BY_ROW;
    l->swizzle_first = (unsigned)ends[0];
    l->swizzle_last = (unsigned)ends[1];
    return true;
}

static bool read_swizzle(const struct reader *r, const struct yaml_node *node) {
    size_t mode;
    if (node->kind == YAML_MAPPING)
        return read_swizzle_map(r, node);
    if (!yaml_choice(r->doc, node, "memory.swizzle", swizzles, &mode, r->e))
        return false;
    if (mode > 0) { /* WG-13 */
        r->l->swizzle = LAYOUT_BY_ADDRESS;
        r->l->swizzle_first = 4;
        r->l->swizzle_last = 3 + (unsigned)mode;
        r->l->swizzle_from = 7;
    }
    return true;
}

static bool read_memory(const struct reader *r) {
    static const char *const keys[] = {"stride", "slot", "swizzle", "at", NULL}, *const slot_keys[] = {"bytes",
                                                                                                       "stride", NULL};
    const struct yaml_node *m, *node;
    struct layout *l = r->l;
    if (!map_of(r, "memory", keys, &m, true))
        return false;
    if ((node = yaml_get(m, "at"))) {
        if (m->count > 1)
            return yaml_fail(r->doc, m, 0, r->e,
                             "memory.at says where a byte lies: no stride, slot or swizzle beside it");
        return (l->place = expr_read(r->doc, node, "memory.at", r->e)) != NULL;
    }
    if (!number(r, m, "stride", "memory", 1, LAYOUT_MOST_BYTES, true, &l->stride))
        return false;
    if ((node = yaml_get(m, "slot")) &&
        (!yaml_check_keys(r->doc, node, "memory.slot", slot_keys, r->e) ||
         !number(r, node, "bytes", "memory.slot", 1, LAYOUT_MOST_BYTES, true, &l->slot_bytes) ||
         !number(r, node, "stride", "memory.slot", 1, LAYOUT_MOST_BYTES, true, &l->slot_stride)))
        return false;
    return !(node = yaml_get(m, "swizzle")) || read_swizzle(r, node);
}

static bool read_plane(const struct reader *r) {
    static const char *const keys[] = {"offset", "bytes", NULL};
    const struct yaml_node *p;
    return map_of(r, "plane", keys, &p, true) &&
           number(r, p, "offset", "plane", 0, LAYOUT_MOST_BYTES, false, &r->l->plane_offset) &&
           number(r, p, "bytes", "plane", 1, LAYOUT_MOST_BYTES, true, &r->l->plane_bytes);
}

/* A descriptor's offset: what its 14 bits, which count 16 bytes, hold. */
static bool read_offset(const struct reader *r, const struct yaml_node *map, const char *key, bool needed,
                        unsigned *out) {
    *out = 0;
    if (!number(r, map, key, "descriptor", 0, 0x3fff0, needed, out))
        return false;
    return *out % 16 == 0 ||
           yaml_fail(r->doc, yaml_get(map, key), 0, r->e, "descriptor.%s: %u is no multiple of 16", key, *out);
}

/* {swizzle: 128B, leading: 16, stride: 1024}: facts/ptx.md 3.3 */
static bool read_descriptor(const struct reader *r) {
    static const char *const keys[] = {"swizzle", "leading", "stride", NULL};
    const struct yaml_node *map, *node;
    struct layout *l = r->l;
    size_t mode = 0;
    if (!map_of(r, "descriptor", keys, &map, true) ||
        ((node = yaml_get(map, "swizzle")) && !yaml_choice(r->doc, node, "descriptor.swizzle", swizzles, &mode, r->e)))
        return false;
    l->descriptor.mode = (enum swizzle_mode)mode;
    /* a swizzled K-major row of the pattern holds all of k: its leading offset is not read */
    return read_offset(r, map, "leading", mode == 0 || l->mn_major, &l->descriptor.lbo) &&
           read_offset(r, map, "stride", true, &l->descriptor.sbo);
}

static bool read_access(const struct reader *r) {
    static const char *const loads[] = {"ldmatrix.x1",
                                        "ldmatrix.x2",
                                        "ldmatrix.x4",
                                        "ldmatrix.x1.trans",
                                        "ldmatrix.x2.trans",
                                        "ldmatrix.x4.trans",
                                        "ld.shared.b8",
                                        "ld.shared.b16",
                                        "ld.shared.b32",
                                        "ld.shared.v2.b32",
                                        "ld.shared.v4.b32",
                                        "wgmma",
                                        NULL},
                             *const stores[] = {"stmatrix.x1",       "stmatrix.x2",       "stmatrix.x4",
                                                "stmatrix.x1.trans", "stmatrix.x2.trans", "stmatrix.x4.trans",
                                                "st.shared.b8",      "st.shared.b16",     "st.shared.b32",
                                                "st.shared.v2.b32",  "st.shared.v4.b32",  NULL};
    const struct yaml_node *load = yaml_get(r->doc->root, "load"), *store = yaml_get(r->doc->root, "store"),
                           *node = load ? load : store;
    size_t which;
    if (!node || (load && store))
        return yaml_fail(r->doc, node ? store : r->doc->root, 0, r->e, "a layout needs `load` or `store`, one of them");
    if (!yaml_choice(r->doc, node, load ? "load" : "store", load ? loads : stores, &which, r->e))
        return false;
    struct layout *l = r->l;
    snprintf(l->access_name, sizeof l->access_name, "%s", node->text);
    if (load && which == 11) {
        l->access = LAYOUT_WGMMA;
        l->unit = 16;
        return read_descriptor(r);
    }
    if ((node = yaml_get(r->doc->root, "descriptor")))
        return yaml_fail(r->doc, node, 0, r->e, "a descriptor is of `load: wgmma` alone");
    const bool matrix = which < 6;
    l->access = matrix ? load ? LAYOUT_LDMATRIX : LAYOUT_STMATRIX : load ? LAYOUT_LD_SHARED : LAYOUT_ST_SHARED;
    l->matrices = matrix ? 1u << which % 3 : 0;
    l->trans = matrix && which >= 3;
    l->unit = matrix ? 16 : 1u << (which - 6);
    return true;
}

static bool read_operand(const struct reader *r) {
    static const char *const keys[] = {"rows", "columns", NULL};
    const struct yaml_node *node, *tiles;
    struct layout *l = r->l;
    const char *text = NULL;
    if (!yaml_require(r->doc, r->doc->root, "wants", "a layout", &node, r->e) ||
        !yaml_string(r->doc, node, "wants", &text, r->e))
        return false;
    if (l->access == LAYOUT_WGMMA) {
        if (!fragment_wgmma_b(text, &l->wants) &&
            !(strncmp(text, "wgmma.", 6) == 0 && fragment_named(text, &l->wants) && l->wants.operand == FRAGMENT_A))
            return yaml_fail(r->doc, node, 0, r->e,
                             "wants: wgmma reads no operand %s; want one like 'wgmma.m64k16.f16 A' or "
                             "'wgmma.n128k16.f16 B'",
                             quote(text).text);
    } else if (!fragment_named(text, &l->wants))
        return yaml_fail(
            r->doc, node, 0, r->e,
            "wants: no operand is called %s; want one like 'mma.m16n8k32.s8 A' (`warpproof prove fragments "
            "--list` names them)",
            quote(text).text);
    l->tiles_rows = l->tiles_columns = 1;
    if (!map_of(r, "tiles", keys, &tiles, false))
        return false;
    return !tiles || (number(r, tiles, "rows", "tiles", 1, 64, false, &l->tiles_rows) &&
                      number(r, tiles, "columns", "tiles", 1, 64, false, &l->tiles_columns));
}

/* Everything is well formed; what does not fit one another is a complaint about `wants`. */
static bool read_layout(const struct reader *r) {
    static const char *const keys[] = {"layout", "about", "matrix", "memory",  "plane",      "load",
                                       "store",  "wants", "tiles",  "address", "descriptor", NULL};
    const struct yaml_node *root = r->doc->root, *node;
    const char *text = NULL;
    struct error e;
    if (!yaml_expect(r->doc, root, YAML_MAPPING, "a layout file", r->e) ||
        !yaml_check_keys(r->doc, root, "a layout", keys, r->e) ||
        !yaml_require(r->doc, root, "layout", "a layout", &node, r->e) ||
        !yaml_string(r->doc, node, "layout", &text, r->e))
        return false;
    r->l->name = must_strdup(text);
    if ((node = yaml_get(root, "about"))) {
        if (!yaml_string(r->doc, node, "about", &text, r->e))
            return false;
        r->l->about = must_strdup(text);
    }
    if (!read_matrix(r) || !read_memory(r) || !read_plane(r) || !read_access(r) || !read_operand(r) ||
        !yaml_require(r->doc, root, "address", "a layout", &node, r->e) ||
        !(r->l->address = expr_read(r->doc, node, "address", r->e)))
        return false;
    return layout_check(r->l, &e) || yaml_fail(r->doc, yaml_get(root, "wants"), 0, r->e, "%s", e.text);
}

struct layout *layout_read(const char *path, struct error *e) {
    struct yaml_doc *doc = yaml_open(path, e);
    if (!doc)
        return NULL;
    struct layout *l = must_calloc(1, sizeof *l);
    const bool good = read_layout(&(struct reader){doc, l, e});
    yaml_close(doc);
    if (good)
        return l;
    layout_free(l);
    return NULL;
}
