/* Layout tomography on a small kernel whose faults are chosen by a parameter (tests/foreign/probe_tile.cu): what each
 * fault is called, alone and together, and what is not to be called one. */
#include "../oracles/tomography.h"
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROW = 1 << 0,
    NEXT_SCALE = 1 << 1,
    TOKEN = 1 << 2,
    TOKEN_SCALE = 1 << 3,
    HALVES = 1 << 4,
    SHORT = 1 << 5,
    TWICE = 1 << 6,
    ENDLESS = 1 << 7,
    NOTHING = 1 << 8,
    TRAP = 1 << 9,
    NOT_CENTRED = 1 << 10,
    STARTS = 1 << 11,
};

struct probed {
    struct spec *spec;
    struct ptx_module *module;
    struct operands operands;
    struct tomography found;
};

/* Without operands of its own: their shape is all that counts. */
static struct probed probe(int mode, size_t launches) {
    struct probed p = {0};
    struct error e;
    omp_set_num_threads(1); /* more wait for each other longer than they work */
    p.spec = spec_load("tests/foreign/probe_tile.yaml", ".", &e);
    cr_assert(p.spec, "%s", e.text);
    p.module = spec_module(p.spec, &e);
    cr_assert(p.module, "%s", e.text);
    p.operands.view = (struct contract_operands){.nt = 16, .od = 40, .id = 64};
    const struct shape_value values[] = {{"nt", 16}, {"od", 40}, {"id", 64}, {"mode", mode}};
    const struct shape shape = {values, 4};
    const struct trial t = {.id = "tile",
                            .spec = p.spec,
                            .module = p.module,
                            .runner = &runner_machine,
                            .contract = contract_named("q4_0_pad40"),
                            .operands = &p.operands,
                            .shape = &shape,
                            .threads = 1};
    const struct tomography_options o = {.launches = launches};
    cr_assert(tomography(&t, &o, &p.found, &e), "%s", e.text);
    return p;
}

static void forget(struct probed *p) {
    tomography_free(&p->found);
    ptx_free(p->module);
    spec_free(p->spec);
}

static bool has(const struct tomography *x, const char *operand, const char *text, const char *suspect) {
    for (size_t i = 0; i < x->line_count; ++i) {
        const struct tomography_line *l = &x->lines[i];
        if (strcmp(l->operand, operand) == 0 && strcmp(l->text, text) == 0 &&
            (suspect == NULL || (l->suspect != NULL && strstr(l->suspect, suspect)))) {
            return true;
        }
    }
    return false;
}

static const struct {
    int mode;
    const char *operand, *text, *suspect;
} faults[] = {
    {ROW, "weight codes", "rows 16..39 consumed row j mod 16 (want j)", "warp offset"},
    {NEXT_SCALE, "weight scales", "k 0..31 consumed block b + 1 (want b)", "scale of the next sub-block"},
    {TOKEN, "activation codes", "every token consumed token t xor 1 (want t)", "neighbours of a pair exchanged"},
    {TOKEN_SCALE, "activation scales", "tokens with token mod 8 in 1..7 consumed token t - t mod 8 (want t)",
     "address of the activation scales"},
    {HALVES, "weight codes", "every row consumed k xor 16 (want k)", "k exchanged in pairs of 16"},
    {SHORT, "products", "k 32..63 consumed nothing", "k left out"},
    {TWICE, "products", "k 32..63 consumed 2 items in place of one", "consumed twice"},
    {NOT_CENTRED, "weight codes", "every row consumed codes with 8 added", "offset of the format"},
    {STARTS, "accumulators", "every row held 5 where every product is 0", "not cleared"},
};

Test(probe_tile, each_fault_has_its_name_and_no_other) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i += command_stride()) {
        struct probed p = probe(faults[i].mode, 0);
        cr_expect(p.found.probed && p.found.line_count == 1 &&
                      has(&p.found, faults[i].operand, faults[i].text, faults[i].suspect),
                  "mode %d: %zu lines, the first %s: %s (%s)", faults[i].mode, p.found.line_count,
                  p.found.line_count > 0 ? p.found.lines[0].operand : "",
                  p.found.line_count > 0 ? p.found.lines[0].text : "",
                  p.found.line_count > 0 && p.found.lines[0].suspect ? p.found.lines[0].suspect : "");
        forget(&p);
    }
}

/* A row of the weights, a scale of theirs, a token and a scale of its own, and a sum that does not begin at 0. */
Test(probe_tile, several_at_once_are_each_named) {
    struct probed p = probe(ROW | NEXT_SCALE | TOKEN, 0);
    cr_expect(p.found.line_count == 3, "%zu lines", p.found.line_count);
    for (size_t i = 0; i < 3; ++i) {
        cr_expect(has(&p.found, faults[i].operand, faults[i].text, faults[i].suspect), "fault %zu", i);
    }
    forget(&p);
    p = probe(ROW | NEXT_SCALE | TOKEN | TOKEN_SCALE | STARTS, 0);
    cr_expect(p.found.line_count == 5, "%zu lines", p.found.line_count);
    for (size_t i = 0; i < 4; ++i) {
        cr_expect(has(&p.found, faults[i].operand, faults[i].text, faults[i].suspect), "fault %zu", i);
    }
    cr_expect(has(&p.found, faults[8].operand, faults[8].text, faults[8].suspect));
    forget(&p);
}

Test(probe_tile, a_right_kernel_takes_two_launches) {
    struct probed p = probe(0, 0);
    cr_expect(p.found.probed && p.found.line_count == 0 && p.found.note_count == 0 && p.found.launches == 2);
    cr_expect(!tomography_wrong(&p.found) && p.found.cells == 16 * 40);
    cr_expect_str_eq(p.found.shape, "nt = 16, od = 40, id = 64");
    forget(&p);
}

/* It comes to no end, or stops itself, on made operands alone: nothing is known then, and it is not called right. */
Test(probe_tile, kernels_that_do_not_end) {
    struct probed p = probe(ENDLESS | ROW, 0);
    cr_expect(!p.found.probed && strstr(p.found.why, "a block ran past its budget of steps"));
    forget(&p);
    p = probe(TRAP | ROW, 0);
    cr_expect(!p.found.probed && strstr(p.found.why, "a trap or a failed assertion"));
    forget(&p);
}

Test(probe_tile, a_kernel_that_reads_nothing) {
    struct probed p = probe(NOTHING, 0);
    cr_expect(has(&p.found, "accumulators", "every row held 1 where every product is 0", NULL));
    cr_expect(has(&p.found, "products", "every row consumed nothing", NULL));
    forget(&p);
}

Test(probe_tile, few_launches_say_so) {
    struct probed p = probe(ROW, 5);
    cr_expect(p.found.launches == 5 && !p.found.probed && strstr(p.found.why, "the launches were used up"));
    forget(&p);
    p = probe(ROW, 40);
    cr_expect(p.found.launches == 40 && p.found.probed && p.found.line_count == 1 && p.found.note_count > 0 &&
              strstr(p.found.notes[p.found.note_count - 1], "the launches were used up"));
    forget(&p);
    p = probe(ROW, 1);
    cr_expect(!p.found.probed && p.found.launches == 1 && p.found.line_count == 0);
    forget(&p);
}
