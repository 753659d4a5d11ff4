/* What `warpproof prove banks` says, for people and as JSON. */
#ifndef REPORTS_PROVE_BANKS_H
#define REPORTS_PROVE_BANKS_H

#include "../gpu/bank_advice.h"
#include "../gpu/bank_layout.h"
#include "../gpu/bank_table.h"
#include "../gpu/bank_tile.h"
#include "../gpu/statement.h"
#include "svg.h"
#include <stdio.h>

/* The start bank of every row (of the first 64), the sum over all accesses, and the first access with the most
 * wavefronts: which lanes and rows each wavefront serves, and which of them meet in which banks. */
void banks_tile_text(FILE *out, const struct bank_tile *t);
bool banks_tile_json(const char *path, const struct bank_tile *t, struct error *e);
/* That access as a picture (svg.h); (*size) bytes, freed by the caller, NULL without memory. */
char *banks_tile_svg(const struct bank_tile *t, size_t *size);

/* The same of a layout. proof: what layout_prove says of it, for "fragments" and "counterexample". */
void banks_layout_text(FILE *out, const struct layout *l, const struct bank_layout *b);
bool banks_layout_json(const char *path, const struct layout *l, const struct bank_layout *b,
                       const struct statement *proof, struct error *e);
char *banks_layout_svg(const struct layout *l, const struct bank_layout *b, size_t *size);

/* One line a stride, cheapest first, with the swizzles that serve at it. */
void banks_advice_text(FILE *out, const struct bank_tile *t, uint32_t align, const struct bank_advice_list *l);
bool banks_advice_json(const char *path, const struct bank_tile *t, uint32_t align, const struct bank_advice_list *l,
                       struct error *e);

struct banks_totals {
    size_t passed, failed, skipped; /* rows as stated, not as stated, that state nothing */
};
/* Lines of op, label, wavefronts, conflicts by the model, parted by tabs; a row that states others is marked. Then one
 * line that counts them. */
struct banks_totals banks_table_text(FILE *out, const struct bank_table *t);
bool banks_table_json(const char *path, const char *table, const struct bank_table *t, struct error *e);

/* Which banks the lanes of one access ask for, by wavefront (svg_bank_map): freed by the caller; NULL: no memory.
 * Addresses MUST be multiples of op->bytes. */
/* What svg_bank_map draws of such an access: returns how many. */
enum { BANKS_TOUCHES = 32 * 4 };
size_t banks_touches(const struct bank_op *op, const uint32_t at[32], uint32_t active,
                     struct svg_touch touches[BANKS_TOUCHES]);
char *banks_access_svg(const char *title, const struct bank_op *op, const uint32_t at[32], uint32_t active,
                       size_t *size);

#endif
