/* Runs a plant: the fault in its cases, until it is named, and its clean twin in the same. */
#include "plant_trial.h"
#include "../gpu/ptx/ptx.h"
#include "../oracles/trial.h"
#include "../ref/checked.h"
#include "command.h"
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_OF_A_PLANT = 8 };

static void add_outcome(struct trials *t, struct outcome o) {
    t->outcomes = must_realloc(t->outcomes, t->count + 1, sizeof *t->outcomes);
    t->outcomes[t->count++] = o;
}

static void trials_free(struct trials *t) {
    for (size_t i = 0; i < t->count; ++i) {
        outcome_free(&t->outcomes[i]);
    }
    free(t->outcomes);
}

static bool is_named(const struct plant *p, const struct outcome *o) {
    for (size_t i = 0; i < o->findings.count; ++i) {
        const struct finding *f = &o->findings.items[i];
        if (f->verdict == p->verdict && strcmp(f->oracle, p->oracle) == 0 &&
            (p->says == NULL || strstr(f->summary, p->says) != NULL)) {
            return true;
        }
    }
    return false;
}

/* ---- group machine ---- */

/* The launch file of the fault becomes that of its clean twin. */
static bool make_clean(const struct plant *p, struct spec *s, struct error *e) {
    free(s->entry);
    s->entry = must_strdup(p->clean_entry);
    if (p->clean_then_count > 0 && p->clean_then_count != s->then_count) {
        return fail(e, "plant %s: clean.then names %zu entries, in %s %zu launches follow", p->name,
                    p->clean_then_count, s->path, s->then_count);
    }
    for (size_t i = 0; i < p->clean_then_count; ++i) {
        free(s->then[i].entry);
        s->then[i].entry = must_strdup(p->clean_then[i]);
    }
    for (size_t i = 0; i < p->clean_shape_count; ++i) {
        bool found = false;
        for (size_t k = 0; k < s->default_count; ++k) {
            if (strcmp(s->defaults[k].name, p->clean_shape[i].name) == 0) {
                s->defaults[k].value = p->clean_shape[i].value;
                found = true;
            }
        }
        if (!found) {
            return fail(e, "plant %s: clean.shape: %s has no value in %s", p->name, p->clean_shape[i].name, s->path);
        }
    }
    return true;
}

static void run_machine(const struct field *all, struct planted *x, bool clean) {
    const struct plant *p = &x->plant;
    struct error e;
    struct spec *s = spec_load(p->launch, all->root, &e);
    struct ptx_module *m = s != NULL && (!clean || make_clean(p, s, &e)) ? ptx_load(s->ptx, &e) : NULL;
    char *id = must_format("plants/%s%s", p->name, clean ? "/clean" : "");
    struct outcome o = {0};
    if (m != NULL) {
        const struct shape shape = {s->defaults, s->default_count};
        const struct trial t = {.id = id,
                                .spec = s,
                                .module = m,
                                .runner = &runner_machine,
                                .shape = &shape,
                                .seed = 1,
                                .threads = 1,
                                .options = {.arch = p->arch}};
        trial_run(&t, &o);
        o.rerun = clean ? must_format("%s plants %s", command_again(all->root), p->name)
                        : must_format("%s run %s", command_again(all->root), p->launch);
    } else {
        struct spec none = {.kernel = p->name};
        trial_refuse(&(struct trial){.id = id, .spec = s != NULL ? s : &none}, &e, &o);
    }
    add_outcome(clean ? &x->clean : &x->fault, o);
    ptx_free(m);
    spec_free(s);
    free(id);
}

/* ---- groups of our own kernels: kernel, canary, edit ---- */

struct program { /* what a trial takes of a kernel; each may be NULL, and all that is not spec is owned */
    const struct spec *spec;
    struct spec *edited; /* spec, where it is not the kernel's own */
    struct ptx_module *module, *plain;
};

static void program_free(struct program *p) {
    ptx_free(p->module);
    ptx_free(p->plain);
    spec_free(p->edited);
}

/* fixtures/ptx/canary/NAME.ptx of fixtures/ptx/NAME.ptx, or plants/NAME.ptx likewise. */
static char *canary_path(const char *root, const char *ptx, bool plant) {
    const char *name = strrchr(ptx, '/');
    return must_format("%s/fixtures/ptx/canary/%s%s", root, plant ? "plants/" : "", name != NULL ? name + 1 : ptx);
}

/* The kernel with its fault, or, where `own` is NULL, as it is; own is that then. */
static bool load_program(const struct field *all, const struct plant *p, const struct spec *s,
                         const struct program *own, struct program *to, struct error *e) {
    *to = (struct program){.spec = s};
    if (p->group == PLANT_EDIT && own != NULL) {
        const bool good = plant_edited(p, s, own->module, all->root, &to->edited, &to->module, e);
        to->spec = to->edited;
        return good;
    }
    const char *ptx = own == NULL ? s->ptx : p->ptx;
    if (p->group != PLANT_CANARY) {
        return (to->module = ptx_load(ptx, e)) != NULL;
    }
    char *path = canary_path(all->root, ptx, own != NULL);
    to->module = ptx_load(path, e);
    to->plain = to->module != NULL ? ptx_load(ptx, e) : NULL;
    free(path);
    return to->plain != NULL;
}

static void run_case(const struct field *all, const struct plant *p, const struct test_case *c,
                     const struct program *program, bool clean, struct trials *to) {
    struct shape_value values[3];
    const struct shape shape = case_shape(c, values);
    struct operands operands;
    struct error e;
    struct outcome o;
    const struct trial t = {.id = c->id,
                            .spec = program->spec,
                            .module = program->module,
                            .plain = program->plain,
                            .runner = &runner_machine,
                            .contract = c->contract,
                            .operands = &operands,
                            .shape = &shape,
                            .threads = 1,
                            .options = {.arch = p->arch}};
    if (case_operands(c, &operands, &e)) {
        trial_run(&t, &o);
        operands_free(&operands);
    } else {
        trial_refuse(&t, &e, &o);
    }
    const char *again = command_again(all->root), *canary = p->group == PLANT_CANARY ? " --canary" : "";
    o.rerun = clean                    ? must_format("%s gate%s %s", again, canary, c->id)
              : p->group == PLANT_EDIT ? must_format("%s plants %s", again, p->name)
                                       : must_format("%s gate%s --plant %s %s", again, canary, p->name, c->id);
    add_outcome(to, o);
}

/* Some of the kernel's cases with made operands, spread evenly over all that there are, until one shows the fault. */
static void run_kernel(const struct field *all, struct planted *x) {
    const struct plant *p = &x->plant;
    const struct test_case **mine = must_calloc(all->cases.count + 1, sizeof *mine);
    size_t count = 0;
    for (size_t i = 0; i < all->cases.count; ++i) {
        const struct test_case *c = &all->cases.cases[i];
        if (strcmp(c->spec->kernel, p->kernel) == 0 && c->data < DATA_REAL &&
            (p->cases == NULL || fnmatch(p->cases, c->id, 0) == 0)) {
            mine[count++] = c;
        }
    }
    struct error e;
    struct program planted = {0}, kept = {0};
    const bool good = (count > 0 || fail(&e, "kernel %s has no cases%s%s", p->kernel,
                                         p->cases != NULL ? " that match " : "", p->cases != NULL ? p->cases : "")) &&
                      load_program(all, p, mine[0]->spec, NULL, &kept, &e) &&
                      load_program(all, p, mine[0]->spec, &kept, &planted, &e);
    const size_t wanted = count < CASES_OF_A_PLANT ? count : CASES_OF_A_PLANT;
    for (size_t i = 0; good && i < wanted && !x->named; ++i) {
        const struct test_case *c = mine[(2 * i + 1) * count / (2 * wanted)];
        run_case(all, p, c, &planted, false, &x->fault);
        run_case(all, p, c, &kept, true, &x->clean);
        x->named = is_named(p, &x->fault.outcomes[i]);
    }
    if (!good) {
        struct spec none = {.kernel = p->kernel};
        struct outcome o;
        trial_refuse(&(struct trial){.id = p->name, .spec = &none}, &e, &o);
        add_outcome(&x->fault, o);
    }
    program_free(&planted);
    program_free(&kept);
    free(mine);
}

/* ---- all ---- */

void planted_run(const struct field *all, struct planted *x) {
    if (x->plant.group == PLANT_MACHINE) {
        run_machine(all, x, false);
        run_machine(all, x, true);
        x->named = is_named(&x->plant, &x->fault.outcomes[0]);
    } else {
        run_kernel(all, x);
    }
    x->killed = x->named;
    for (size_t i = 0; i < x->fault.count; ++i) {
        x->killed |= verdict_is_wrong_kernel(outcome_verdict(&x->fault.outcomes[i]));
    }
    for (size_t i = 0; i < x->clean.count; ++i) {
        x->false_alarms += outcome_verdict(&x->clean.outcomes[i]) != VERDICT_PASS;
    }
    x->silent = x->clean.count > 0 && x->false_alarms == 0;
}

void planted_free(struct planted *x) {
    trials_free(&x->fault);
    trials_free(&x->clean);
    plant_free(&x->plant);
}
