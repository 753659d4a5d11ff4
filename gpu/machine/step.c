/* Tells a probe what an instruction gave: the records of decode_step.c. */
#include "probe.h"

static struct probe_value value_of(const struct warp *w, const struct ptx_function *f, const uint32_t *words) {
    struct probe_value v = {.name = words[STEP_NAME] ? f->registers[words[STEP_NAME] - 1].name : NULL,
                            .bits = words[STEP_KIND],
                            .displacement = (int64_t)(words[STEP_LOW] | (uint64_t)words[STEP_HIGH] << 32)};
    if (v.bits == 1)
        v.predicate = w->preds[words[STEP_PLACE]];
    else if (v.bits == 32)
        v.narrow = reg32(w, words[STEP_PLACE]);
    else
        v.wide = reg64(w, words[STEP_PLACE]);
    return v;
}

void op_step(struct warp *w, const struct record *r, uint32_t mask) {
    struct block *b = w->block;
    const struct ptx_function *f = &b->machine->program->module->functions[r->b];
    const uint32_t *words = w->wide + r->wide;
    struct probe_value values[STEP_MOST + 1];
    for (uint32_t i = 0; i < r->dst; ++i)
        values[i] = value_of(w, f, words + i * STEP_WORDS);
    if (r->a & STEP_ADDRESS)
        values[r->dst] = value_of(w, f, words + r->dst * STEP_WORDS);
    const struct probe_step at = {.place = probe_place_of(b),
                                  .warp = w->number,
                                  .lanes = mask,
                                  .number = b->probed->steps[w->number]++,
                                  .instruction = r->site,
                                  .text = (const struct ptx_instruction *)(intptr_t)r->imm,
                                  .stores = r->a & STEP_STORES,
                                  .address = r->a & STEP_ADDRESS ? &values[r->dst] : NULL,
                                  .values = values,
                                  .count = r->dst};
    b->probed->probe->step(b->probed->probe->context, &at);
    probe_stops(b);
}
