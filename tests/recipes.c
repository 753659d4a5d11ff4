/* ci/recipes: what a project of kernels copies into its own CI. The shell of each is taken out of the YAML and run in a
 * scratch project, with a stand-in for nvcc and warpproof as the cache would bring it. */
#include "../gpu/yaml.h"
#include "../ref/checked.h"
#include "command_run.h"
#include "markup_check.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(recipes, .init = make_folder, .fini = remove_folder, .timeout = 120);

struct recipe {
    const char *path, *environment; /* the key above its variables, in the job or above all */
    bool steps;                     /* `steps` with `run`, else `script` */
};
static const struct recipe recipes[] = {{"ci/recipes/github-actions.yml", "env", true},
                                        {"ci/recipes/gitlab-ci.yml", "variables", false}};

static void append(char **text, const char *more) {
    char *longer = must_format("%s%s", *text, more);
    free(*text);
    *text = longer;
}

/* A shell script of the whole: variables, then each step as a CI runs it. *steps = how many there are. */
static char *script_of(const struct recipe *r, size_t *steps) {
    struct error e;
    struct yaml_doc *doc = yaml_open(r->path, &e);
    cr_assert(doc != NULL, "%s", e.text);
    const struct yaml_node *jobs = yaml_get(doc->root, "jobs");
    const struct yaml_node *job = yaml_get(jobs ? jobs : doc->root, "kernels");
    cr_assert(job != NULL, "%s: no job", r->path);
    const struct yaml_node *variables = yaml_get(jobs ? doc->root : job, r->environment);
    cr_assert(variables != NULL && variables->count == 3, "%s: variables", r->path);
    char *text = must_strdup("set -e\n");
    for (const struct yaml_node *k = variables->first; k; k = k->next) {
        char *line = must_format("export %s='%s'\n", k->text, k->value->text);
        append(&text, line);
        free(line);
    }
    *steps = 0;
    const struct yaml_node *list = yaml_get(job, r->steps ? "steps" : "script");
    cr_assert(list != NULL, "%s: no steps", r->path);
    for (const struct yaml_node *s = list->first; s; s = s->next) {
        const struct yaml_node *run = r->steps ? yaml_get(s, "run") : s;
        if (run == NULL) {
            continue;
        }
        if (r->steps) { /* a shell each */
            append(&text, "bash -eo pipefail <<'END-OF-STEP'\n");
        }
        append(&text, run->text);
        append(&text, r->steps ? "END-OF-STEP\n" : "");
        ++*steps;
    }
    yaml_close(doc);
    return text;
}

static void expect_shell(const char *command, int code) {
    struct result r = run_shell(command);
    cr_assert(r.code == code, "exit %d, want %d: %s\n%s", r.code, code, command, r.text);
    free(r.text);
}

/* A project of two kernels, the second one wrong. nvcc takes what is kept beside our own sources. */
static void make_project(void) {
    char *command = must_format(
        "exec 2>&1; set -e; binary=$(realpath %s); examples=$PWD/docs/examples; cd %s; "
        "mkdir -p bin kernels .warpproof/build; ln -s $binary .warpproof/build/warpproof; "
        "for n in dequant_q8 wrong_scale; do cp $examples/$n.cu kernels/; done; "
        "cp $examples/dequant_q8.yaml $examples/wrong_scale.yaml kernels/; "
        "cp $examples/*.bin kernels/; "
        "printf '#!/bin/sh\\n[ \"$*\" = \"-ptx -arch=compute_80 -lineinfo -o ${6%%%%.cu}.ptx $6\" ] || exit 9\\n"
        "cp '$examples'/$(basename $6 .cu).ptx ${6%%%%.cu}.ptx\\n' > bin/nvcc; chmod +x bin/nvcc",
        command_binary(), run_folder);
    expect_shell(command, 0);
    free(command);
}

static void run_recipe(const char *script, int code) {
    char *path = must_format("%s/recipe.sh", run_folder);
    FILE *f = fopen(path, "w");
    cr_assert(f != NULL && fputs(script, f) >= 0 && fclose(f) == 0, "cannot write %s", path);
    char *command = must_format("exec 2>&1; cd %s && rm -rf warpproof-reports && PATH=$PWD/bin:$PATH bash -eo pipefail "
                                "recipe.sh </dev/null",
                                run_folder);
    expect_shell(command, code);
    free(command);
    free(path);
}

static void expect_report(const char *name, size_t failures) {
    char *command = must_format("cat %s/warpproof-reports/%s", run_folder, name);
    struct result r = run_shell(command);
    char *fault = markup_fault(r.text, strlen(r.text), strstr(name, ".html") != NULL);
    cr_expect(fault == NULL, "%s: %s", name, fault);
    cr_expect_eq(markup_count(r.text, "failure", NULL), failures, "%s", r.text);
    free(fault);
    free(r.text);
    free(command);
}

Test(recipes, verify_a_project) {
    make_project();
    char *drop = must_format("cd %s && rm kernels/wrong_scale.* && rm kernels/*.cu bin/nvcc", run_folder);
    for (size_t i = 0; i < 2; ++i) {
        size_t steps;
        char *script = script_of(&recipes[i], &steps);
        cr_expect_eq(steps, 3, "%s: %zu steps", recipes[i].path, steps);
        run_recipe(script, 1);
        expect_report("wrong_scale.xml", 1);
        expect_report("dequant_q8.xml", 0);
        expect_report("wrong_scale.html", 0);
        free(script);
    }
    expect_shell(drop, 0); /* what is left is right, and its PTX is there: no compiler is asked for */
    free(drop);
    for (size_t i = 0; i < 2; ++i) {
        size_t steps;
        char *script = script_of(&recipes[i], &steps);
        run_recipe(script, 0);
        expect_report("dequant_q8.xml", 0);
        free(script);
    }
    /* A folder without launch files is no pass. */
    drop = must_format("rm %s/kernels/*.yaml", run_folder);
    expect_shell(drop, 0);
    free(drop);
    for (size_t i = 0; i < 2; ++i) {
        size_t steps;
        char *script = script_of(&recipes[i], &steps);
        run_recipe(script, 2);
        free(script);
    }
}
