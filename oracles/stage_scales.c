#include "stage_scales.h"
#include "../ref/checked.h"
#include "../ref/half.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum word_kind { D, SUM, DS, DM, KINDS };
static const enum value_field fields[KINDS] = {VALUE_ACTIVATION_D, VALUE_ACTIVATION_SUM, VALUE_WEIGHT_DS,
                                               VALUE_WEIGHT_DM};
enum { CHUNK = 32, MOST_STAGES = 64, CELLS = 12 };

struct word { /* where a scale of a cell's row or token lies */
    size_t plane, stage, offset;
    enum value_type as;
    bool there;
};

struct cell { /* one that is wrong */
    size_t token, row;
    int32_t *dots;      /* (chunks) */
    struct word *words; /* (chunks, KINDS) */
};

struct search {
    struct stages *s;
    uint32_t block[3];
    size_t chunks, planes, stages;
    struct plane_image *images; /* (stages, planes) */
    struct cell cells[CELLS];
    size_t cell_count;
};

static struct plane_image *image_at(const struct search *x, size_t stage, size_t plane) {
    return &x->images[stage * x->planes + plane];
}

/* ---- where the words lie ---- */

static void place_words(struct search *x, size_t stage, size_t plane) {
    const struct plane_image *image = image_at(x, stage, plane);
    const struct spec_content *content = &x->s->content.spec->planes[plane].content;
    for (size_t at = 0; image->want != NULL && at < image->bytes; ++at) {
        const struct plane_byte byte = image->byte[at];
        int kind = 0;
        while (byte.cell > 0 && byte.at == 0 && kind < KINDS && content->values[byte.value].field != fields[kind]) {
            ++kind;
        }
        int64_t row, k;
        if (byte.cell == 0 || byte.at > 0 || kind == KINDS ||
            !plane_element_at(&x->s->content, plane, x->block, stage, byte, &row, &k)) {
            continue;
        }
        for (size_t c = 0; c < x->cell_count && k >= 0 && (uint64_t)k / CHUNK < x->chunks; ++c) {
            const struct cell *cell = &x->cells[c];
            struct word *w = &cell->words[(size_t)k / CHUNK * KINDS + (size_t)kind];
            if (row == (int64_t)(kind < DS ? cell->token : cell->row) && !w->there) {
                *w = (struct word){plane, stage, at, content->values[byte.value].as, true};
            }
        }
    }
}

static bool holds_scales(const struct spec_content *c) {
    bool some = false;
    for (size_t v = 0; v < c->value_count; ++v) {
        for (int kind = 0; kind < KINDS; ++kind) {
            some |= c->values[v].field == fields[kind];
        }
    }
    return some;
}

/* False: some word of some cell is in no plane. */
static bool find_words(struct search *x) {
    uint64_t stages;
    struct error e;
    x->planes = x->s->content.launch->plane_count;
    if (!content_stages(&x->s->content, &stages, &e) || stages > MOST_STAGES) {
        return false;
    }
    x->stages = stages;
    x->images = must_calloc(x->stages * x->planes + 1, sizeof *x->images);
    for (size_t stage = 0; stage < x->stages; ++stage) {
        for (size_t p = 0; p < x->planes; ++p) {
            if (!holds_scales(&x->s->content.spec->planes[p].content)) {
                continue;
            }
            if (!plane_image_make(&x->s->content, p, x->block, stage, image_at(x, stage, p), &e)) {
                return false;
            }
            place_words(x, stage, p);
        }
    }
    bool all = true;
    for (size_t c = 0; c < x->cell_count; ++c) {
        for (size_t i = 0; i < x->chunks * KINDS; ++i) {
            all &= x->cells[c].words[i].there;
        }
    }
    return all;
}

/* ---- a cell's bits ---- */

/* The number at `by` bytes from a word's place; false: nothing that is known lies there. */
static bool word_value(const struct search *x, const struct word *w, int64_t by, float *out) {
    const struct plane_image *image = image_at(x, w->stage, w->plane);
    const size_t size = value_type_bytes[w->as];
    const int64_t at = (int64_t)w->offset + by;
    uint32_t bits = 0;
    if (at < 0 || (uint64_t)at + size > image->bytes) {
        return false;
    }
    for (size_t i = 0; i < size; ++i) {
        if (image->byte[(size_t)at + i].cell == 0) {
            return false;
        }
        bits |= (uint32_t)image->want[(size_t)at + i] << 8 * i;
    }
    switch (w->as) {
    case VALUE_F16:
        *out = half_to_float((uint16_t)bits);
        return true;
    case VALUE_F32:
        *out = bits_float(bits);
        return true;
    case VALUE_I8:
        *out = (int8_t)bits;
        return true;
    case VALUE_I16:
        *out = (int16_t)bits;
        return true;
    case VALUE_I32:
        *out = (float)(int32_t)bits;
        return true;
    default:
        *out = (float)bits;
        return true;
    }
}

/* The words of `moved` are read `by` bytes off. */
static bool cell_bits(const struct search *x, const struct cell *cell, unsigned moved, int64_t by, uint32_t *bits) {
    float s = 0;
    for (size_t c = 0; c < x->chunks; ++c) {
        float v[KINDS];
        for (int kind = 0; kind < KINDS; ++kind) {
            if (!word_value(x, &cell->words[c * KINDS + (size_t)kind], moved >> kind & 1 ? by : 0, &v[kind])) {
                return false;
            }
        }
        s = fmaf(v[D] * v[DS], (float)cell->dots[c], s);
        s = fmaf(v[D] * v[DM], v[SUM], s);
    }
    *bits = isnan(s) ? 0x7fffffff : float_bits(s);
    return true;
}

static bool all_have(const struct search *x, const uint8_t *bytes, unsigned moved, int64_t by) {
    bool all = true;
    for (size_t i = 0; i < x->cell_count && all; ++i) {
        const struct cell *cell = &x->cells[i];
        uint32_t bits, have;
        memcpy(&have, bytes + 4 * (cell->token * x->s->trial->operands->view.od + cell->row), 4);
        all = cell_bits(x, cell, moved, by, &bits) && bits == have;
    }
    return all;
}

/* ---- the cells that are looked at ---- */

static void add_cell(struct search *x, size_t token, size_t row) {
    const struct element_table *a = &x->s->content.elements.activation, *w = &x->s->content.elements.weight;
    struct cell *cell = &x->cells[x->cell_count++];
    *cell = (struct cell){.token = token,
                          .row = row,
                          .dots = must_calloc(x->chunks, sizeof *cell->dots),
                          .words = must_calloc(x->chunks * KINDS, sizeof *cell->words)};
    for (size_t k = 0; k < a->depth; ++k) {
        cell->dots[k / CHUNK] += a->q[token * a->depth + k] * w->q[row * w->depth + k];
    }
}

/* Of the block of the first wrong cell, spread over its wrong ones by the golden ratio: rows and tokens of every kind.
 */
static void choose_cells(struct search *x, const uint8_t *wrong) {
    const struct contract_operands *o = &x->s->trial->operands->view;
    const struct cell_owner *owners = x->s->owners;
    size_t first = 0, count = 0;
    while (!wrong[first]) {
        ++first;
    }
    const uint32_t number = owners[first].by[0].block, *grid = x->s->content.launch->grid;
    size_t *cells = must_calloc(o->nt * o->od, sizeof *cells);
    for (size_t c = first; c < o->nt * o->od; ++c) {
        if (wrong[c] && owners[c].by[0].block == number) {
            cells[count++] = c;
        }
    }
    for (uint32_t i = 0; i < CELLS && i < count; ++i) {
        const size_t c = cells[count < CELLS ? i : (size_t)((uint64_t)count * (i * 2654435769u) >> 32)];
        add_cell(x, c / o->od, c % o->od);
    }
    free(cells);
    x->block[0] = number % grid[0];
    x->block[1] = number / grid[0] % grid[1];
    x->block[2] = number / grid[0] / grid[1];
}

/* ---- words ---- */

static char *moved_names(unsigned moved) {
    char *text = NULL;
    for (int kind = 0; kind < KINDS; ++kind) {
        if (moved >> kind & 1) {
            char *longer = text == NULL ? must_strdup(value_field_names[fields[kind]])
                                        : must_format("%s and %s", text, value_field_names[fields[kind]]);
            free(text);
            text = longer;
        }
    }
    return text;
}

static char *describe(const struct search *x, unsigned moved, int64_t by) {
    int kind = 0;
    while (!(moved >> kind & 1)) {
        ++kind;
    }
    const struct word *w = &x->cells[0].words[kind];
    const struct plane_image *image = image_at(x, w->stage, w->plane);
    char *names = moved_names(moved);
    char *own = plane_element_text(&x->s->content, w->plane, x->block, w->stage, image->byte[w->offset]);
    char *held = plane_element_text(&x->s->content, w->plane, x->block, w->stage,
                                    image->byte[(size_t)((int64_t)w->offset + by)]);
    char *text = must_format(
        "%s read %" PRId64 " bytes %s place in plane %s: %s in place of %s", names, by < 0 ? -by : by,
        (moved & (moved - 1)) == 0 ? (by < 0 ? "before its" : "past its") : (by < 0 ? "before their" : "past their"),
        x->s->content.launch->planes[w->plane].name, held, own);
    free(names), free(own), free(held);
    return text;
}

/* ---- the search ---- */

/* These words lie in one plane, so that one distance moves all of them. */
static bool together(const struct search *x, unsigned moved) {
    size_t plane = SIZE_MAX;
    bool same = true;
    for (int kind = 0; kind < KINDS; ++kind) {
        if (moved >> kind & 1) {
            same &= plane == SIZE_MAX || plane == x->cells[0].words[kind].plane;
            plane = x->cells[0].words[kind].plane;
        }
    }
    return same;
}

static char *look(const struct search *x, const uint8_t *got) {
    static const unsigned sets[] = {1 << DS, 1 << DM, 1 << DS | 1 << DM, 1 << D, 1 << SUM, 1 << D | 1 << SUM};
    size_t reach = 0;
    for (int kind = 0; kind < KINDS; ++kind) {
        const size_t bytes = x->s->content.launch->planes[x->cells[0].words[kind].plane].bytes;
        reach = bytes > reach ? bytes : reach;
    }
    for (int64_t d = 1; d < (int64_t)reach; ++d) { /* near ones first */
        for (int sign = -1; sign <= 1; sign += 2) {
            for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
                if (together(x, sets[i]) && all_have(x, got, sets[i], sign * d)) {
                    return describe(x, sets[i], sign * d);
                }
            }
        }
    }
    return NULL;
}

char *scales_text(struct stages *s, const uint8_t *got, const uint8_t *want, const uint8_t *wrong) {
    const struct element_table *a = &s->content.elements.activation, *w = &s->content.elements.weight;
    struct search x = {.s = s, .chunks = a->depth / CHUNK};
    char *text = NULL;
    if (s->owners == NULL || a->q == NULL || w->q == NULL || x.chunks == 0 || !content_given(s->content.spec)) {
        return NULL;
    }
    choose_cells(&x, wrong);
    if (find_words(&x) && all_have(&x, want, 0, 0)) {
        text = look(&x, got);
    }
    for (size_t i = 0; x.images != NULL && i < x.stages * x.planes; ++i) {
        plane_image_free(&x.images[i]);
    }
    for (size_t i = 0; i < x.cell_count; ++i) {
        free(x.cells[i].dots);
        free(x.cells[i].words);
    }
    free(x.images);
    return text;
}
