#include "subject.h"
#include "../gpu/case.h"
#include "../ref/checked.h"
#include "command.h"
#include "plant.h"
#include "selecting.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FAILED = -1, NO_CASE = -2 }; /* before the command was called */

/* " --runner device", " --arch sm_121": how it was run. */
static char *how_text(const struct judging *j) {
    char device[DEVICES_AGAIN];
    const bool on_gpu = j->runner == &runner_device;
    devices_again(&j->devices, device);
    return on_gpu                   ? must_format(" --runner device%s", device)
           : j->launch.arch != NULL ? must_format(" --arch %s", j->launch.arch->name)
                                    : must_strdup("");
}

/* ---- a case ---- */

static bool find_case(const struct case_list *list, const struct subject_options *o, const struct test_case **found,
                      struct error *e) {
    bool *chosen = must_calloc(list->count + 1, sizeof *chosen);
    const char *missed = NULL;
    const size_t n = case_select(list, &o->what, 1, chosen, &missed);
    for (size_t i = 0; i < list->count; ++i) {
        *found = chosen[i] && *found == NULL ? &list->cases[i] : *found;
    }
    free(chosen);
    return n == 1 ||
           (n == 0 ? fail_missed(e, list, o->what, false)
                   : fail(e, "'%s' selects %zu cases, and one is %s: such as %s", o->what, n, o->done, (*found)->id));
}

/* The plant is one of this case's kernel; its PTX, or the kernel's own. */
static bool load_program(const struct test_case *c, const char *root, const struct subject_options *o,
                         struct ptx_module **m, struct error *e) {
    struct plant plant = {0};
    if (o->plant != NULL && !plant_load(root, o->plant, &plant, e)) {
        return false;
    }
    const bool fits = o->plant == NULL || (plant.group == PLANT_KERNEL && strcmp(plant.kernel, c->spec->kernel) == 0);
    *m = fits ? ptx_load(o->plant != NULL ? plant.ptx : c->spec->ptx, e) : NULL;
    if (!fits) {
        fail(e, "plant %s is none of kernel %s", o->plant, c->spec->kernel);
    }
    plant_free(&plant);
    return *m != NULL;
}

static int subject_case(struct subject_options *o, subject_command *with, const char *root, struct error *e) {
    char *folder = must_format("%s/fixtures/cases", root), *models = must_format("%s/build/models", root);
    struct case_list list = {0};
    const struct test_case *c = NULL;
    struct ptx_module *m = NULL;
    struct subject s = {0};
    int code = FAILED;
    bool good = case_list_load(folder, root, models, true, &list, e);
    if (good && !find_case(&list, o, &c, e)) {
        good = false;
        code = c == NULL ? NO_CASE : FAILED;
    }
    if (good && load_program(c, root, o, &m, e) && case_operands(c, &s.operands, e)) {
        struct shape_value values[3];
        const struct shape shape = case_shape(c, values);
        judging_threads(o->command, &o->judging);
        note_sums(o->command, c->id, &s.operands.sums);
        char *how = how_text(&o->judging);
        s.again = must_format("%s %s%s%s%s %s", command_again(root), o->command, how,
                              o->plant != NULL ? " --plant " : "", o->plant != NULL ? o->plant : "", c->id);
        s.trial = (struct trial){.id = c->id,
                                 .spec = c->spec,
                                 .module = m,
                                 .runner = o->judging.runner != NULL ? o->judging.runner : &runner_machine,
                                 .contract = c->contract,
                                 .operands = &s.operands,
                                 .shape = &shape,
                                 .threads = o->judging.threads,
                                 .options = judging_launch(&o->judging, 0)};
        free(how);
        code = with(o, &s);
        operands_free(&s.operands);
    }
    ptx_free(m);
    case_list_free(&list);
    free(s.again);
    free(folder);
    free(models);
    return code;
}

/* ---- a launch file ---- */

static bool make_operands(const struct spec *s, const struct contract *c, const struct shape *shape,
                          const struct subject_options *o, struct subject *out, struct error *e) {
    struct operands_request r = {.contract = c, .data = o->class};
    if (!sets_operands(s, shape, &r, e)) {
        return false;
    }
    out->id = sets_id(s, &r, o->seed);
    return operands_make(&r, &out->operands, e);
}

/* The options as they were given. */
static char *options_text(const struct subject_options *o) {
    char *text = o->one_class ? must_format(" --data %s", data_class_names[o->class]) : must_strdup("");
    char *sets = sets_text(&o->sets, o->seeded ? &o->seed : NULL);
    char *all = must_format("%s%s", text, sets);
    free(text);
    free(sets);
    return all;
}

static int subject_launch(struct subject_options *o, subject_command *with, const char *root, struct error *e) {
    struct spec *s = spec_load(o->what, root, e);
    struct ptx_module *m = s != NULL ? spec_module(s, e) : NULL;
    const struct contract *c = s != NULL && s->contract != NULL ? contract_named(s->contract) : NULL;
    struct subject x = {0};
    int code = FAILED;
    const bool given =
        m != NULL && (!o->one_class || c != NULL ||
                      fail(e, "%s: --data: there is no contract, and `fill` says what is in the buffers", o->what));
    if (given && json_spares(o->judging.json, o->what, e) && json_spares(o->judging.json, s->ptx, e) &&
        sets_check(s, &o->sets, e)) {
        size_t count;
        struct shape_value *values = sets_merge(s, &o->sets, NULL, 0, &count);
        const struct shape shape = {values, count};
        char *options = options_text(o);
        if (c == NULL || make_operands(s, c, &shape, o, &x, e)) {
            judging_threads(o->command, &o->judging);
            note_sums(o->command, s->path, &x.operands.sums);
            x.id = x.id != NULL ? x.id : must_format("run/%s/s%" PRIu64, s->kernel, o->seed);
            char *how = how_text(&o->judging);
            x.again = must_format("%s %s%s %s%s", command_again(root), o->command, how, s->path, options);
            x.trial = (struct trial){.id = x.id,
                                     .spec = s,
                                     .module = m,
                                     .runner = o->judging.runner != NULL ? o->judging.runner : &runner_machine,
                                     .contract = c,
                                     .operands = c != NULL ? &x.operands : NULL,
                                     .shape = &shape,
                                     .seed = o->seed,
                                     .threads = o->judging.threads,
                                     .options = judging_launch(&o->judging, 0)};
            free(how);
            code = with(o, &x);
        }
        free(options);
        free(values);
    }
    operands_free(&x.operands);
    free(x.id);
    free(x.again);
    ptx_free(m);
    spec_free(s);
    return code;
}

/* ---- the command ---- */

static bool is_there(const char *path) {
    struct stat s;
    return stat(path, &s) == 0;
}

static bool is_launch_file(const char *text) {
    const size_t n = strlen(text);
    return n > 5 && strcmp(text + n - 5, ".yaml") == 0;
}

static int subject_any(struct subject_options *o, subject_command *with) {
    const bool launch = is_launch_file(o->what);
    struct error e;
    if (launch && o->plant != NULL) {
        return usage_error(o->command, "--plant goes with a case");
    }
    if (!launch && (o->sets.count > 0 || o->one_class || o->seeded)) {
        return usage_error(o->command, "--set, --data and --seed go with a launch file: a case's id says what it is");
    }
    char *root = project_root(&e);
    int code = EXIT_INPUT;
    if (root != NULL && load_measured_tables(root, &e)) {
        code = launch ? subject_launch(o, with, root, &e) : subject_case(o, with, root, &e);
        if (code < 0) {
            const bool other = code == NO_CASE && is_there(o->what);
            flush_output();
            usage_error(o->command, other ? "%s: no case, and no launch file, whose name ends in .yaml" : "%s",
                        other ? o->what : e.text);
            code = code == NO_CASE && !other ? EXIT_NOTHING_RAN : EXIT_INPUT;
        }
    } else {
        usage_error(o->command, "%s", e.text);
    }
    free(root);
    return code;
}

static int take_own(int c, struct subject_options *o) {
    int64_t seed;
    switch (c) {
    case SUBJECT_SET:
        return sets_option(o->command, &o->sets, optarg);
    case SUBJECT_DATA:
        o->one_class = data_class_made(optarg, &o->class);
        return o->one_class ? -1 : usage_error(o->command, "--data %s: want exact, coded, adv or rand", optarg);
    case SUBJECT_SEED:
        if (yaml_parse_integer(optarg, &seed) != NULL || seed < 0) {
            return usage_error(o->command, "--seed %s: want an integer in 0 .. 9223372036854775807", optarg);
        }
        o->seed = (uint64_t)seed;
        o->seeded = true;
        return -1;
    default:
        o->plant = optarg;
        return -1;
    }
}

int subject_option(struct subject_options *o, const char *usage, int argc, char **argv, int c) {
    return c >= SUBJECT_SET && c <= SUBJECT_PLANT ? take_own(c, o)
                                                  : judging_option(o->command, usage, argc, argv, c, &o->judging);
}

int subject_main(struct subject_options *o, int argc, char **argv, subject_command *with) {
    const int code = judging_check(o->command, &o->judging);
    if (code >= 0) {
        return code;
    }
    if (optind + 1 != argc || argv[optind][0] == 0) {
        return usage_error(o->command, "want one case or launch file (see warpproof %s --help)", o->command);
    }
    o->what = argv[optind];
    return subject_any(o, with);
}
