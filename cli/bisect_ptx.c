/* warpproof bisect --ptx: two builds of one kernel in step. */
#include "../reports/in_step.h"
#include "bisect.h"
#include "command.h"
#include <stdlib.h>

struct told {         /* --json */
    const char *path; /* or NULL */
    struct json_lines lines;
};

/* Each is judged as `run` does, for its verdict. False: a launch cannot be run at all, which was said. */
static bool judge(struct subject *s, struct ptx_module *const modules[2], const char *const paths[2],
                  enum verdict verdicts[2]) {
    bool ran = true;
    for (int k = 0; k < 2; ++k) {
        struct outcome o;
        s->trial.module = modules[k];
        trial_run(&s->trial, &o);
        const struct finding *f = findings_first(&o.findings);
        verdicts[k] = outcome_verdict(&o);
        printf("%c       %s  %s%s%s\n", 'A' + k, paths[k], verdict_name(verdicts[k]), f != NULL ? ": " : "",
               f != NULL ? f->summary : "");
        ran &= o.judged && !o.refused;
        outcome_free(&o);
    }
    return ran;
}

static void put_json(struct told *t, const struct subject *s, const char *const paths[2],
                     const enum verdict verdicts[2], const struct in_step *x) {
    struct fy_document *d = t->path != NULL ? json_next(&t->lines) : NULL;
    if (d == NULL) {
        return;
    }
    struct fy_node *m = fy_node_create_mapping(d);
    json_add_string(d, m, "case", s->id);
    json_add_string(d, m, "a", paths[0]);
    json_add_string(d, m, "b", paths[1]);
    json_add_string(d, m, "a_verdict", verdict_name(verdicts[0]));
    json_add_string(d, m, "b_verdict", verdict_name(verdicts[1]));
    json_add(d, m, "in_step", x != NULL ? in_step_node(d, x) : json_number(d, "null"));
    json_put(&t->lines, d, m);
}

static int compare(struct subject *s, struct ptx_module *const modules[2], const char *const paths[2],
                   struct told *told, struct error *e) {
    struct trial both[2] = {s->trial, s->trial};
    enum verdict verdicts[2];
    struct in_step x;
    printf("%s\n", s->id);
    if (!judge(s, modules, paths, verdicts)) {
        put_json(told, s, paths, verdicts, NULL);
        return EXIT_NOTHING_RAN;
    }
    both[0].module = modules[0];
    both[1].module = modules[1];
    if (!in_step_run(&both[0], &both[1], &x, e)) {
        return EXIT_INPUT;
    }
    x.judged_apart = verdicts[0] != verdicts[1];
    in_step_text(stdout, &x, paths, s->trial.spec->then_count + 1);
    put_json(told, s, paths, verdicts, &x);
    static const int codes[] = {EXIT_PASSED, EXIT_KERNEL_WRONG, EXIT_NOTHING_RAN};
    return codes[in_step_verdict(&x)];
}

/* Class by class, up to one in which they differ. */
static int compare_classes(struct bisect_options *o, const char *root, struct ptx_module *const modules[2],
                           struct told *told, struct error *e) {
    int code = EXIT_PASSED;
    bool more = true;
    for (int k = bisect_first_class(o); more && code == EXIT_PASSED; ++k) {
        struct subject s;
        o->subject.class = (enum data_class)k;
        more = bisect_subject(o, root, NULL, &s, &code, e);
        if (more && s.own != NULL && !json_spares_spec(told->path, s.own, e)) {
            code = EXIT_INPUT;
            more = false;
        }
        if (more) {
            judging_threads("bisect", &o->judging);
            s.trial.threads = o->judging.threads;
            s.trial.options = o->judging.launch;
            code = compare(&s, modules, o->ptx, told, e);
            more = bisect_more_classes(o, &s, k);
        }
        subject_free(&s);
    }
    return code;
}

int bisect_ptx(struct bisect_options *o, const char *root) {
    struct ptx_module *modules[2] = {NULL, NULL};
    struct error e = {""};
    int code = EXIT_INPUT;
    const bool spared = json_spares(o->judging.json, o->ptx[0], &e) && json_spares(o->judging.json, o->ptx[1], &e) &&
                        (o->launch == NULL || json_spares(o->judging.json, o->launch, &e));
    modules[0] = spared ? ptx_load(o->ptx[0], &e) : NULL;
    modules[1] = modules[0] != NULL ? ptx_load(o->ptx[1], &e) : NULL;
    if (modules[1] != NULL) {
        struct told told = {.path = o->judging.json};
        json_begin(&told.lines);
        code = compare_classes(o, root, modules, &told, &e);
        if (e.text[0] != 0 || told.path == NULL) {
            json_drop(&told.lines);
        } else if (!json_end(&told.lines, told.path, &e)) {
            code = EXIT_INPUT;
        }
    }
    if (e.text[0] != 0) {
        flush_output();
        usage_error("bisect", "%s", e.text);
    }
    ptx_free(modules[0]);
    ptx_free(modules[1]);
    return code;
}
