#include "counting.h"
#include "../ref/checked.h"
#include <stdlib.h>

struct shape_value *counting_shape(const struct spec *s, const struct counting *c, size_t *count) {
    return sets_merge(s, c->sets, c->more, s->contract != NULL ? c->more_count : 0, count);
}

static bool make_operands(const struct spec *s, const struct shape *shape, struct operands *operands, struct error *e) {
    struct operands_request r = {
        .contract = contract_named(s->contract), .data = DATA_RAND, .key = random_key(s->kernel)};
    return sets_operands(s, shape, &r, e) && operands_make(&r, operands, e);
}

bool counting_run(const struct spec *s, const struct ptx_module *m, const struct counting *c, struct outcome *outcome,
                  struct error *e) {
    const bool contract = s->contract != NULL;
    size_t value_count;
    struct shape_value *values = counting_shape(s, c, &value_count);
    const struct shape shape = {values, value_count};
    struct operands operands = {0};
    const bool good = sets_check(s, c->sets, e) && (!contract || make_operands(s, &shape, &operands, e));
    if (good) {
        const struct runner *runner = c->judging->runner != NULL ? c->judging->runner : &runner_machine;
        struct trial t = {.id = s->kernel,
                          .spec = s,
                          .module = m,
                          .runner = runner,
                          .contract = contract ? contract_named(s->contract) : NULL,
                          .operands = contract ? &operands : NULL,
                          .shape = &shape,
                          .seed = 1,
                          .threads = c->judging->threads,
                          .options = c->judging->launch};
        t.options.census = runner == &runner_machine;
        trial_run(&t, outcome);
    }
    operands_free(&operands);
    free(values);
    return good;
}
