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

/* text: somewhere in what it prints, or NULL. */
static void run_recipe(const char *script, int code, const char *text) {
    char *path = must_format("%s/recipe.sh", run_folder);
    FILE *f = fopen(path, "w");
    cr_assert(f != NULL && fputs(script, f) >= 0 && fclose(f) == 0, "cannot write %s", path);
    char *command = must_format("exec 2>&1; cd %s && rm -rf warpproof-reports && PATH=$PWD/bin:$PATH bash -eo pipefail "
                                "recipe.sh </dev/null",
                                run_folder);
    struct result r = run_shell(command);
    cr_assert(r.code == code && (text == NULL || strstr(r.text, text)), "exit %d, want %d and %s: %s\n%s", r.code, code,
              text != NULL ? text : "anything", command, r.text);
    free(r.text);
    free(command);
    free(path);
}

/* The same of both recipes, once the project is changed by lines of shell. */
static void change_and_run(const char *lines, int code, const char *text) {
    char *command = must_format("exec 2>&1; set -e; cd %s; %s", run_folder, lines);
    expect_shell(command, 0);
    free(command);
    for (size_t i = 0; i < 2; ++i) {
        size_t steps;
        char *script = script_of(&recipes[i], &steps);
        run_recipe(script, code, text);
        free(script);
    }
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
        run_recipe(script, 1, NULL);
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
        run_recipe(script, 0, NULL);
        expect_report("dequant_q8.xml", 0);
        free(script);
    }
}

/* What is not judged is said, and is no pass. */
Test(recipes, pass_over_nothing) {
    make_project();
    change_and_run("mkdir kept; mv kernels/wrong_scale.yaml kept/", 2, "says ptx: wrong_scale.ptx\n"); /* of a .cu */
    change_and_run("mv kept/wrong_scale.yaml kernels/; rm kernels/*.cu bin/nvcc; cp "
                   "\"$OLDPWD\"/docs/examples/dequant_q8.ptx \"$OLDPWD\"/docs/examples/wrong_scale.ptx kernels/; "
                   "mv kernels/wrong_scale.yaml kernels/wrong_scale.yml",
                   1, "1 failed");
    expect_report("wrong_scale.yml.xml", 1);
    change_and_run("mv kernels/wrong_scale.yml kept/", 2,
                   "not verified: no launch file in kernels says ptx: wrong_scale.ptx\n");
    expect_report("dequant_q8.xml", 0);
    change_and_run("mv kernels/wrong_scale.ptx kernels/q8.ptx", 2, "says ptx: q8.ptx\n"); /* part of a name */
    change_and_run("sed -i 's/^ptx: .*/ptx: \"q8.ptx\" # ours/' kernels/dequant_q8.yaml; rm kernels/dequant_q8.ptx; "
                   "cp \"$OLDPWD\"/docs/examples/dequant_q8.ptx kernels/q8.ptx",
                   0, "1 passed");
    change_and_run("rm kernels/*.yaml", 3,
                   "nothing to verify: no launch file (*.yaml or *.yml) in the folder kernels\n");
    change_and_run("rm -r kernels", 3, "nothing to verify: no launch file (*.yaml or *.yml) in the folder kernels\n");
}

/* What a red kernel must not lose or hide: the build that is kept, and the verdict where no report may be written. */
Test(recipes, keep_the_build_and_the_verdict) {
    static const char *const checks[] = {
        "awk '/cache.save/ {s=NR} /name: Build warpproof/ {b=NR} /name: Verify/ {v=NR} END {exit !(b<s && s<v)}' "
        "ci/recipes/github-actions.yml",
        "! grep -q 'actions/cache@' ci/recipes/github-actions.yml",
        "grep -A3 'mikepenz/action-junit-report@' ci/recipes/github-actions.yml | grep -q 'continue-on-error: true'",
        "grep -A4 'cache:$' ci/recipes/gitlab-ci.yml | grep -q 'when: always'"};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; ++i)
        expect_shell(checks[i], 0);
}
