#include "subject.h"
#include "../ref/checked.h"
#include "command.h"
#include "plant.h"
#include "selecting.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- options ---- */

int subject_option(const char *command, int c, struct subject_options *o) {
    int64_t seed;
    if (c == SUBJECT_SET) {
        return sets_option(command, &o->sets, optarg);
    }
    if (c == SUBJECT_SEED) {
        if (yaml_parse_integer(optarg, &seed) != NULL || seed < 0) {
            return usage_error(command, "--seed %s: want an integer in 0 .. 9223372036854775807", optarg);
        }
        o->seed = (uint64_t)seed;
        o->seeded = true;
        return -1;
    }
    o->one_class = data_class_made(optarg, &o->class);
    return o->one_class ? -1 : usage_error(command, "--data %s: want exact, coded, adv or rand", optarg);
}

bool subject_given(const struct subject_options *o) {
    return o->sets.count > 0 || o->one_class || o->seeded;
}

char *subject_options_text(const struct subject_options *o) {
    char *text = o->one_class ? must_format(" --data %s", data_class_names[o->class]) : must_strdup("");
    char *sets = sets_text(&o->sets, o->seeded ? &o->seed : NULL);
    char *all = must_format("%s%s", text, sets);
    free(text);
    free(sets);
    return all;
}

/* ---- a case ---- */

/* Of the chosen ones those of the kernel that the plant stands in for: *n of them. */
static bool narrow(const char *root, const char *name, const struct case_list *list, bool *chosen, size_t *n,
                   struct error *e) {
    struct plant plant;
    const bool good = plant_load(root, name, &plant, e);
    for (size_t i = 0; good && plant.kernel != NULL && i < list->count; ++i) {
        const bool other = chosen[i] && strcmp(list->cases[i].spec->kernel, plant.kernel) != 0;
        chosen[i] = chosen[i] && !other;
        *n -= other;
    }
    const bool some =
        good && (*n > 0 || fail(e, "no case of kernel '%s' is selected, which plant %s is of", plant.kernel, name));
    plant_free(&plant);
    return some;
}

static bool find_case(const char *command, const char *root, const struct case_list *list, const char *what,
                      const char *plant, const struct test_case **found, int *code, struct error *e) {
    bool *chosen = must_calloc(list->count + 1, sizeof *chosen);
    const char *missed = NULL;
    size_t n = case_select(list, &what, 1, chosen, &missed);
    bool good = n > 0 || fail_missed(e, list, what, false);
    *code = n == 0 ? EXIT_NOTHING_RAN : EXIT_INPUT;
    if (good && n > 1 && plant != NULL) {
        good = narrow(root, plant, list, chosen, &n, e);
        *code = n == 0 ? EXIT_NOTHING_RAN : EXIT_INPUT;
    }
    for (size_t i = 0; i < list->count; ++i) {
        *found = chosen[i] && *found == NULL ? &list->cases[i] : *found;
    }
    free(chosen);
    return good && (n == 1 || fail(e, "'%s' selects %zu cases%s%s, and %s takes one: such as %s", what, n,
                                   plant != NULL ? " of the kernel of plant " : "", plant != NULL ? plant : "", command,
                                   (*found)->id));
}

bool subject_case(const char *command, const char *root, const char *what, const char *plant, struct subject *s,
                  int *code, struct error *e) {
    char *folder = must_format("%s/fixtures/cases", root), *models = must_format("%s/build/models", root);
    const struct test_case *c = NULL;
    *s = (struct subject){0};
    *code = EXIT_INPUT;
    bool good = case_list_load(folder, root, models, true, &s->list, e);
    good = good && find_case(command, root, &s->list, what, plant, &c, code, e) && case_operands(c, &s->operands, e);
    if (good) {
        case_request(c, &s->request);
        s->values = must_calloc(3, sizeof *s->values);
        s->shape = case_shape(c, s->values);
        s->id = must_strdup(c->id);
        note_sums(command, c->id, &s->operands.sums);
        s->trial = (struct trial){.id = s->id,
                                  .spec = c->spec,
                                  .runner = &runner_machine,
                                  .contract = c->contract,
                                  .operands = &s->operands,
                                  .shape = &s->shape};
    }
    free(folder);
    free(models);
    return good;
}

/* ---- a launch file ---- */

static bool make_operands(const struct subject_options *o, const struct contract *c, struct subject *s,
                          struct error *e) {
    struct operands_request r = {.contract = c, .data = o->class};
    if (!sets_operands(s->own, &s->shape, &r, e)) {
        return false;
    }
    s->id = sets_id(s->own, &r, o->seed);
    s->request = r;
    return operands_make(&r, &s->operands, e);
}

bool subject_launch(const char *command, const char *root, const char *path, const struct subject_options *o,
                    struct subject *s, struct error *e) {
    *s = (struct subject){.own = spec_load(path, root, e)};
    const struct contract *c = s->own != NULL && s->own->contract != NULL ? contract_named(s->own->contract) : NULL;
    if (s->own == NULL || !sets_check(s->own, &o->sets, e)) {
        return false;
    }
    if (o->one_class && c == NULL) {
        return fail(e, "%s: --data: there is no contract, and `fill` says what is in the buffers", path);
    }
    s->values = sets_merge(s->own, &o->sets, NULL, 0, &s->shape.count);
    s->shape.values = s->values;
    if (c != NULL && !make_operands(o, c, s, e)) {
        return false;
    }
    note_sums(command, s->own->path, &s->operands.sums);
    s->id = s->id != NULL ? s->id : must_format("run/%s/s%" PRIu64, s->own->kernel, o->seed);
    s->trial = (struct trial){.id = s->id,
                              .spec = s->own,
                              .runner = &runner_machine,
                              .contract = c,
                              .operands = c != NULL ? &s->operands : NULL,
                              .shape = &s->shape,
                              .seed = o->seed};
    return true;
}

void subject_free(struct subject *s) {
    operands_free(&s->operands);
    spec_free(s->own);
    case_list_free(&s->list);
    free(s->values);
    free(s->id);
    *s = (struct subject){0};
}

/* ---- one or the other ---- */

static bool is_launch_file(const char *text) {
    const size_t n = strlen(text);
    return n > 5 && strcmp(text + n - 5, ".yaml") == 0;
}

/* The program of the case, the plant or the launch file, which no report may replace. */
static bool load_program(const struct subject_asked *a, const char *root, const struct subject *s,
                         struct ptx_module **m, struct error *e) {
    if (s->own == NULL) {
        struct plant plant = {0};
        const bool good = plant_program(root, a->plant, s->trial.spec, &plant, m, e);
        plant_free(&plant);
        return good;
    }
    *m = spec_module(s->own, e);
    return *m != NULL && judging_spares_spec(a->judging, s->own, e);
}

int subject_open(const struct subject_asked *a, const char *root, struct subject *s, struct ptx_module **m) {
    const bool launch = is_launch_file(a->what);
    struct stat there;
    struct error e;
    int none = EXIT_INPUT;
    *s = (struct subject){0};
    *m = NULL;
    if (launch && a->plant != NULL) {
        return usage_error(a->command, "--plant goes with a case");
    }
    if (!launch && subject_given(a->options)) {
        return usage_error(a->command, "--set, --data and --seed go with a launch file: a case's id says what it is");
    }
    const bool found = launch ? subject_launch(a->command, root, a->what, a->options, s, &e)
                              : subject_case(a->command, root, a->what, a->plant, s, &none, &e);
    if (!found || !load_program(a, root, s, m, &e)) {
        const bool other = !found && none == EXIT_NOTHING_RAN && stat(a->what, &there) == 0;
        flush_output();
        usage_error(a->command, other ? "%s: no case, and no launch file, whose name ends in .yaml" : "%s",
                    other ? a->what : e.text);
        return other || found ? EXIT_INPUT : none;
    }
    judging_threads(a->command, a->judging);
    s->trial.module = *m;
    s->trial.runner = a->judging->runner != NULL ? a->judging->runner : &runner_machine;
    s->trial.threads = a->judging->threads;
    s->trial.options = judging_launch(a->judging, 0);
    return -1;
}

char *subject_again(const struct subject_asked *a, const char *root, const struct subject *s, const char *how) {
    char *options = subject_options_text(a->options), *what = shell_word(s->own != NULL ? s->own->path : s->id);
    char *again = must_format("%s %s%s%s%s %s%s", command_again(root), a->command, how,
                              a->plant != NULL ? " --plant " : "", a->plant != NULL ? a->plant : "", what, options);
    free(options);
    free(what);
    return again;
}
