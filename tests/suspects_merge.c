/* Which observations are one suspect: each rule of oracles/suspects_merge.c on findings made by hand. */
#include "../oracles/suspects.h"
#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct seen {
    struct outcome outcome;
    struct explanation stages;
    struct suspect_probe probes[3];
    size_t probe_count;
};

static struct spec spec = {.path = "k.yaml", .entry = "k"};

/* A fault at a line of its own. */
static struct finding *fault(struct findings *all, const char *oracle, int line, const char *summary) {
    struct finding *f = findings_add(all, oracle, VERDICT_DIFFERS);
    f->summary = must_strdup(summary);
    f->suspects = must_format("mistake of %s", oracle);
    f->where.file = must_strdup("k.cu");
    f->where.line = line;
    f->where.ptx_line = 10 * line;
    f->where.place = (uint32_t)line;
    f->where.instruction = must_strdup("st.shared.u32 [%r1], %r2");
    return f;
}

static void probe(struct seen *s, const char *operand, const char *text, const char *suspect) {
    s->probes[s->probe_count++] = (struct suspect_probe){.operand = operand, .text = text, .suspect = suspect};
}

static void free_seen(struct seen *s) {
    findings_free(&s->outcome.findings);
    findings_free(&s->stages.faults);
}

/* Suspect n has all of these: a part of its title, and a part of what speaks for it. */
static void expect(struct seen *s, size_t count, size_t n, const char *title, const char *why) {
    const struct suspects_input in = {.outcome = &s->outcome,
                                      .stages = &s->stages,
                                      .spec = &spec,
                                      .probes = s->probes,
                                      .probe_count = s->probe_count};
    struct suspects out;
    suspects_of(&in, &out);
    cr_expect(out.count == count, "%zu suspects, and not %zu", out.count, count);
    const struct suspect *x = n < out.count ? &out.items[n] : NULL;
    bool says = false;
    for (size_t i = 0; x != NULL && i < x->why_count; ++i) {
        says |= strstr(x->whys[i].text, why) != NULL;
    }
    cr_expect(x != NULL && strstr(x->title, title) != NULL && says, "suspect %zu is \"%s\", and not \"%s\" for \"%s\"",
              n, x != NULL ? x->title : "", title, why);
    suspects_free(&out);
}

static const char held_minimum[] = "odd rows consumed the minimum in place of the scale",
                  other_row[] = "rows 16..69 consumed row j mod 16 (want j)",
                  no_item[] = "every row consumed what is no item, or a sum of several";

Test(suspects_merge, scales_stand_beside_wrong_codes) {
    struct seen s = {.probe_count = 0};
    fault(&s.stages.faults, "staging", 10, "plane qb8 at (r 0), which must hold weight.q of row 0, k 1");
    fault(&s.outcome.findings, "parity", 90, "wrong");
    probe(&s, "weight codes", "even rows consumed k xor 4 (want k)", "k exchanged");
    expect(&s, 1, 0, "mistake of staging", "k xor 4");
    probe(&s, "weight scales", held_minimum, "one word off");
    expect(&s, 2, 1, "one word off: weight scales", held_minimum);
    s.probes[1].text = no_item; /* which wrong codes may leave of it */
    expect(&s, 1, 0, "mistake of staging", no_item);
    s.probes[1].text = held_minimum;
    fault(&s.stages.faults, "staging", 20, "plane sds at (r 0), which must hold weight.ds of row 0, k 0");
    expect(&s, 2, 1, "mistake of staging", held_minimum); /* its own staging, though it is the second */
    free_seen(&s);
}

Test(suspects_merge, two_rules_of_the_rescaling) {
    struct seen s = {.probe_count = 0};
    fault(&s.stages.faults, "rescale", 30, "result at token 0, row 1");
    fault(&s.outcome.findings, "parity", 90, "wrong");
    probe(&s, "weight scales, weight minima", other_row, "warp offset dropped");
    probe(&s, "weight minima", other_row, "warp offset dropped");
    expect(&s, 1, 0, "mistake of rescale", other_row);
    s.probes[1] = (struct suspect_probe){.operand = "weight scales", .text = held_minimum, .suspect = "one word off"};
    expect(&s, 2, 1, "one word off: weight scales", held_minimum);
    s.probes[1] = (struct suspect_probe){
        .operand = "activation scales", .text = "every token consumed token t xor 1", .suspect = "warp offset dropped"};
    expect(&s, 2, 1, "warp offset dropped: activation scales", "t xor 1");
    s.probes[1].text = no_item;
    expect(&s, 1, 0, "mistake of rescale", no_item);
    free_seen(&s);
}

static struct finding *too_few(struct findings *all, unsigned warp, unsigned must) {
    struct finding *f = fault(all, "sums", 33, "");
    free(f->summary);
    f->summary = must_format("block (0,0,0): warp %u executed 224 mma, and must execute %u", warp, must);
    f->cause = "fewer";
    f->where.ptx_line += (int)warp;
    f->where.place += warp;
    return f;
}

Test(suspects_merge, a_missing_mma_is_one) {
    for (int n = 0; n < 4; ++n) {
        struct seen s = {.probe_count = 0};
        struct finding *f = fault(&s.stages.faults, "fragments", 24, "operand a, register 0 must hold activation.q");
        finding_line(f, "first", "mma %d of block (0,0,0) warp 1", n == 1 ? 0 : 112);
        finding_line(f, "holds", "%s in place of k", n == 2 ? "k xor 32" : "k + 32");
        f->extent = 54880;
        too_few(&s.stages.faults, 0, 256);
        too_few(&s.stages.faults, 1, n == 3 ? 240 : 256);
        expect(&s, n == 0 ? 1 : 2, n == 0 || n == 3 ? 0 : 1, "mistake of sums", "warp 0 executed 224 mma");
        free_seen(&s);
    }
}

Test(suspects_merge, results_go_with_their_stores) {
    static const char *const names[] = {"a", "b", "c"};
    for (int n = 0; n < 3; ++n) {
        struct seen s = {.probe_count = 0};
        for (int i = 0; i < 3; ++i) { /* n = 1: c stored by the line of b; n = 2: c is b */
            struct finding *f = fault(&s.outcome.findings, "parity", n == 1 && i == 2 ? 5 : 4 + i, names[i]);
            f->where.buffer = must_strdup(names[n == 2 && i == 2 ? 1 : i]);
        }
        probe(&s, "x", "b[i] consumed x[i xor 1] (want x[i])", "another index");
        s.probes[0].result = "b";
        expect(&s, n == 0 ? 3 : 2, 0, "another index: x", "b[i] consumed");
        expect(&s, n == 0 ? 3 : 2, 1, "mistake of parity (a)", "a");
        free_seen(&s);
    }
}

Test(suspects_merge, a_race_leaves_the_bits_open) {
    for (int n = 0; n < 2; ++n) {
        struct seen s = {.probe_count = 0};
        fault(&s.outcome.findings, "hazard", 12, "store races with a load")->cause = "barrier";
        if (n == 1) {
            fault(&s.outcome.findings, "schedule", 13, "cells depend on the order");
        }
        const struct suspects_input in = {.outcome = &s.outcome, .stages = &s.stages, .spec = &spec};
        struct suspects out;
        suspects_of(&in, &out);
        bool note = false;
        for (size_t i = 0; i < out.also_count; ++i) {
            note |= strcmp(out.also[i].by, "note") == 0 && strstr(out.also[i].text, "other faults may show") != NULL;
        }
        cr_expect(out.count == 1 && note == (n == 1), "%d: %zu suspects, note %d", n, out.count, note);
        suspects_free(&out);
        free_seen(&s);
    }
}
