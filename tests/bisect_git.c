/* warpproof bisect through a repository: the commit that made the kernel wrong is named, past commits that cannot be
 * judged; and whatever happens, the repository is left as it was. */
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Twelve commits, tagged c1 .. c12: the kernel is there from c2 on, its launch file from c3 on, c5 breaks the build and
 * c6 mends it, c8 makes the kernel wrong, c7 and c9 change nothing of what it does. The PTX is in the commits, and the
 * build only copies it. $ex: the examples of docs. */
static const char script[] =
    "set -e\n"
    "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n"
    "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null\n"
    "n=0\n"
    "c() {\n"
    "    n=$((n + 1)); git add -A; git commit -q -m \"$1\"; git tag c$n\n"
    "}\n"
    "git init -q -b main \"$1\"; cd \"$1\"\n"
    "printf 'exit 1\\n' >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout\n" /* no hook runs */
    "printf 'echo x >>\"%s/.git/ran\"\\n' \"$PWD\" >.git/hooks/post-index-change\n"
    "echo a >README; c Begin\n"
    "mkdir src; cp $ex/dequant_q8.ptx src/k.ptx; echo out >.gitignore\n"
    "echo 'mkdir -p out && cp src/k.ptx out/k.ptx' >build.sh; c 'Add the kernel'\n"
    "sed 's|^ptx: .*|ptx: out/k.ptx|' $ex/dequant_q8_expect.yaml >k.yaml; cp $ex/scales.bin $ex/y.bin .\n"
    "c 'Add a launch file'\n"
    "echo b >>README; c 'Say more'\n"
    "echo 'echo \"k.cu(3): error: no type\" >&2; exit 2' >build.sh; c 'Break the build'\n"
    "echo 'mkdir -p out && cp src/k.ptx out/k.ptx' >build.sh; c 'Mend the build'\n"
    "echo '// one' >>src/k.ptx; c 'Comment'\n"
    "cp $ex/wrong_scale.ptx src/k.ptx; c 'Change the scale'\n"
    "echo '// two' >>src/k.ptx; c 'Comment again'\n"
    "echo c >>README; c 'Say y'\n"
    "echo d >>README; c 'Say z'\n"
    "echo e >>README; c End\n"
    "chmod +x .git/hooks/post-index-change\n";

static char root[PATH_MAX]; /* of the project */
static char *before;        /* the state of the repository, as `state` gives it */

/* What may not change: branch, index, tree, refs, worktrees, configuration, and the folder for temporary files. Git
 * writes an empty packed-refs when it deletes the refs of a bisect. */
static char *state(void) {
    char *command = must_format(
        "cd '%s/my repo' && git symbolic-ref HEAD && git --no-optional-locks status --porcelain && git for-each-ref && "
        "git worktree list && sha256sum .git/index .git/config && ls -A . .git %s/tmp | grep -v packed-refs",
        run_folder, run_folder);
    struct result r = run_shell(command);
    cr_assert(r.code == 0, "%s", r.text);
    free(command);
    return r.text;
}

static void begin(void) {
    make_folder();
    cr_assert(getcwd(root, sizeof root) != NULL);
    put_file("make.sh", script, sizeof script - 1);
    char *command = must_format("exec 2>&1; mkdir %s/tmp && ex=$PWD/docs/examples && export ex && cd %s && "
                                "sh make.sh 'my repo'",
                                run_folder, run_folder);
    expect_result(run_shell(command), 0, "");
    free(command);
    before = state();
    char *temporary = must_format("%s/tmp", run_folder);
    setenv("TMPDIR", temporary, 1);
    free(temporary);
}

TestSuite(bisect_git, .init = begin, .fini = remove_folder);

/* At the end of each test. */
static void expect_unchanged(void) {
    char *after = state();
    cr_expect(strcmp(before, after) == 0, "before:\n%s\nafter:\n%s", before, after);
    free(after);
    free(before);
}

static struct result bisect(const char *options) {
    return run_command("bisect --repo '%s/my repo' --launch k.yaml %s", run_folder, options);
}

static void expect_texts(struct result r, int code, const char *const *texts) {
    cr_expect(r.code == code, "exit %d, want %d:\n%s", r.code, code, r.text);
    for (; *texts != NULL; ++texts) {
        cr_expect(strstr(r.text, *texts) != NULL, "no \"%s\" in:\n%s", *texts, r.text);
    }
    free(r.text);
}

/* In the folder of the test, the repository beside; git as the script has it. */
static void shell(const char *lines) {
    char *command = must_format("exec 2>&1; set -e; cd %s; ex=%s/docs/examples\n"
                                "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
                                "GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null\n%s",
                                run_folder, root, lines);
    expect_result(run_shell(command), 0, "");
    free(command);
}

/* c5 is in the middle of c3 .. c7, and cannot be built. */
Test(bisect_git, the_first_bad_commit) {
    static const char *const texts[] = {" Change the scale\n",
                                        "\nfirst bad commit: ",
                                        "\nbefore it, PASS run/dequant_q8/s1\n",
                                        "\nat it,\nDIFFERS run/dequant_q8/s1\n",
                                        "want 0xc1000000 -8   got 0x41800000 16",
                                        "good.ptx:50 (docs/examples/dequant_q8.cu:5)  shr.s32 %r9, %r8, 5\n",
                                        "bad.ptx:50 (docs/examples/wrong_scale.cu:5)  shr.s32 %r9, %r8, 6\n",
                                        "{\"good\": \"",
                                        "{\"verdict\": \"good\", \"commit\": \"",
                                        "\"at\": [\"DIFFERS run/dequant_q8/s1\", ",
                                        "\"in_step\": {\"case\": \"run/dequant_q8/s1\"",
                                        "\"exit\": 1}\n",
                                        NULL};
    expect_texts(bisect("--good c3 --bad c12 --build 'sh build.sh' --json /dev/stdout"), 1, texts);
    expect_unchanged();
}

Test(bisect_git, a_good_commit_is_looked_for) {
    static const char *const texts[] = {"\nskip  ", ": the build fails (exit 2): k.cu(3): error: no type\n",
                                        "Change the scale\n\nbefore it, PASS", NULL};
    /* c9, c8, and 4 before: c5, 8 before: c1; then those between c8 and c5, and beyond */
    static const char *const none[] = {"Begin: ", "no good commit among those that were tried", "--good names one",
                                       NULL};
    expect_texts(bisect("--bad c9 --build 'sh build.sh && ! git describe --tags | grep -q -e c[1-7]$'"), 2, none);
    expect_texts(bisect("--bad c9 --build 'sh build.sh'"), 1, texts + 2);
    expect_texts(bisect("--bad c8 --good c4 --build 'sh build.sh && ! git describe --tags | grep -q c6'"), 1,
                 (const char *const[]){"Change the scale\n\nbefore it, PASS", NULL});
    expect_unchanged();
}

/* c7 cannot be judged, and it may be the first bad one. */
Test(bisect_git, commits_that_hide_it) {
    static const char *const texts[] = {"\nthe first bad commit is one of these", NULL};
    expect_texts(bisect("--good c6 --bad c9 --build 'sh build.sh && ! git describe --tags | grep -q c7'"), 3, texts);
    expect_unchanged();
}

Test(bisect_git, what_says_no) {
    static const struct {
        const char *options, *text;
    } rows[] = {
        {"--good c9 --build 'sh build.sh'", "the good revision is bad: "},
        {"--good c4 --bad c7 --build 'sh build.sh'", "the bad revision passes, and there is nothing to find: "},
        {"--good c4 --build false", "the bad revision cannot be judged: "},
        {"--good c2 --build 'sh build.sh'", "the good revision cannot be judged: "},
        {"--good c9 --bad c8 --build 'sh build.sh'", "the good revision is no ancestor of the bad one"},
        {"--good nowhere", "--good nowhere: "},
        {"--bad -x", "--bad -x: "},
        {"--repo /", "--repo is given twice"},
        {"--ptx a b", "do not go with it"},
        {"--step", "--step is of bisect's own worktrees"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct result r = bisect(rows[i].options);
        cr_expect(r.code == (i == 9 ? 130 : 2) && strstr(r.text, rows[i].text) != NULL, "%s: exit %d:\n%s",
                  rows[i].options, r.code, r.text);
        const char *line = strstr(r.text, "warpproof bisect: ");
        cr_expect(line != NULL && strchr(line, '\n') == r.text + strlen(r.text) - 1, "%s: want one line:\n%s",
                  rows[i].options, r.text);
        free(r.text);
    }
    expect_result(run_command("bisect --repo / --launch k.yaml"), 2, "no working tree of a git repository");
    expect_result(run_command("bisect --good x a_case"), 2, "--ptx-out says which PTX");
    expect_result(run_shell("cd $TMPDIR/.. && echo x >>'my repo/README'"), 0, "");
    expect_result(bisect("--good c4"), 2, "has changes that no commit has ( M README)");
    expect_result(run_shell("cd $TMPDIR/../'my repo' && git -c core.hooksPath=/dev/null checkout -q README"), 0, "");
    free(before);
    before = state(); /* the index has another time of README */
    expect_unchanged();
}

/* A case of the project, by the PTX of a repository. */
Test(bisect_git, a_case) {
    expect_result(run_command("bisect --repo '%s/my repo' --good c4 --build 'sh build.sh' --ptx-out out/k.ptx "
                              "mmq_wide_ldb_kd8/nt1.od1.id256/coded",
                              run_folder),
                  2, "the bad revision cannot be judged: ");
    expect_unchanged();
}

/* All between cannot be judged; one of them takes longer than a build may. */
Test(bisect_git, a_build_that_hangs) {
    static const char *const texts[] = {": the build takes more than 4 s\n",
                                        ": the build fails (exit 1): it says nothing\n",
                                        "\nthe first bad commit is one of these", " Break the build\n", NULL};
    expect_texts(bisect("--good c4 --bad c8 --build-timeout 4 --build 'git describe --tags >n; case $(cat n) in "
                        "c7) sleep 100;; c5|c6) false;; *) sh build.sh;; esac'"),
                 3, texts);
    expect_unchanged();
}

/* From outside of the repository a launch file is the same for all commits; of it, it is theirs. */
Test(bisect_git, a_launch_file_elsewhere) {
    shell("mkdir else; cp 'my repo/k.yaml' 'my repo/scales.bin' 'my repo/y.bin' else");
    static const char *const texts[] = {"Change the scale\n\nbefore it, PASS", "\nin step, A as good.ptx", NULL};
    static const char options[] = "--good c7 --bad c9 --build 'sh build.sh'";
    expect_result(run_command("bisect --repo '%s/my repo' --launch %s/else/k.yaml %s", run_folder, run_folder, options),
                  2, "k.yaml is not in the repository: --ptx-out says which PTX of it is judged\n");
    expect_texts(run_command("bisect --repo '%s/my repo' --launch %s/else/k.yaml --ptx-out out/k.ptx %s", run_folder,
                             run_folder, options),
                 1, texts);
    expect_texts(
        run_command("bisect --repo '%s/my repo' --launch '%s/my repo/k.yaml' %s", run_folder, run_folder, options), 1,
        texts);
    expect_unchanged();
}

Test(bisect_git, merges_and_clones) {
    shell("git clone -q 'my repo' merged; cd merged; git checkout -q -b side c7\n"
          "cp $ex/wrong_scale.ptx src/k.ptx; git commit -q -a -m 'Side goes wrong'; echo s >>README\n"
          "git commit -q -a -m 'Side goes on'; git checkout -q -b top c7; echo t >other; git add other\n"
          "git commit -q -m 'Top goes on'; git merge -q -m 'Merge side' side");
    static const char *const texts[] = {"Side goes wrong\n\nbefore it, PASS", NULL};
    expect_texts(run_command("bisect --repo %s/merged --good c7 --build 'sh build.sh' --launch k.yaml", run_folder), 1,
                 texts);
    shell("git clone -q --depth 3 \"file://$PWD/my repo\" shallow");
    expect_result(run_command("bisect --repo %s/shallow --good c4 --launch k.yaml", run_folder), 2,
                  "no such commit, and it is a shallow clone: git fetch --unshallow gets the others\n");
    char *command = must_format("exec 2>&1; PATH=/nowhere %s bisect --repo %s/merged --launch k.yaml", command_binary(),
                                run_folder);
    expect_result(run_shell(command), 2, "warpproof bisect: git cannot be run: git: No such file or directory\n");
    free(command);
    expect_unchanged();
}

/* The build itself interrupts, so that it is certain when. */
Test(bisect_git, an_interrupt_leaves_nothing) {
    put_file("build", "kill -INT $(cat $TMPDIR/../pid)\nsleep 100\n", 42);
    char *command =
        must_format("exec 2>&1; sh -c 'echo $$ >$TMPDIR/../pid; exec %s bisect --repo \"%s/my repo\" --launch "
                    "k.yaml --good c4 --build \"sh $TMPDIR/../build\"'; echo \"exit $?\"",
                    command_binary(), run_folder);
    struct result r = run_shell(command);
    cr_expect(strstr(r.text, "warpproof bisect: interrupted\n") != NULL && strstr(r.text, "exit 130\n") != NULL, "%s",
              r.text);
    free(command);
    free(r.text);
    expect_unchanged();
}

/* What the build leaves that is in no commit, of whatever name, is no other commit's. */
Test(bisect_git, a_build_that_makes_nothing) {
    shell("git clone -q 'my repo' stale; cd stale; git checkout -q -b stale c6\n"
          "sed -i 's|^ptx: .*|ptx: out/k.txt|' k.yaml; echo 'mkdir -p out; cp src/k.ptx out/k.txt' >build.sh\n"
          "git commit -q -a -m Good; git tag g; cp $ex/wrong_scale.ptx src/k.ptx; echo true >build.sh\n"
          "git commit -q -a -m 'Goes wrong'; echo x >>README; git commit -q -a -m 'Goes on'\n"
          "echo 'mkdir -p out; cp src/k.ptx out/k.txt' >build.sh; git commit -q -a -m 'Mend the build'");
    static const char *const texts[] = {" Goes on: the build does not make out/k.txt\n",
                                        "\nthe first bad commit is one of these", " Goes wrong\n", NULL};
    expect_texts(run_command("bisect --repo %s/stale --good g --build 'sh build.sh' --launch k.yaml", run_folder), 3,
                 texts);
    /* nor one from elsewhere, which bisect does not remove */
    expect_result(
        run_command("bisect --repo %s/stale --good g --build true --ptx-out ../../../stale/src/k.ptx --launch "
                    "k.yaml",
                    run_folder),
        2, ": the build does not make ");
    expect_unchanged();
}

/* Nobody reads on, or SIGQUIT comes: as after any interrupt. */
Test(bisect_git, a_closed_pipe_leaves_nothing) {
    static const char *const readers[] = {"head -1", "true"};
    for (size_t i = 0; i < 2; ++i) {
        char *command = must_format("%s bisect --repo '%s/my repo' --launch k.yaml --good c4 --build 'sh build.sh' "
                                    "2>/dev/null | %s",
                                    command_binary(), run_folder, readers[i]);
        struct result r = run_shell(command);
        cr_expect(r.code == 0, "exit %d:\n%s", r.code, r.text);
        free(r.text);
        free(command);
    }
    put_file("build", "kill -QUIT $(cat $TMPDIR/../pid)\nsleep 100\n", 43);
    char *command =
        must_format("exec 2>&1; ulimit -c 0; sh -c 'echo $$ >$TMPDIR/../pid; exec %s bisect --repo \"%s/my repo\" "
                    "--launch k.yaml --good c4 --build \"sh $TMPDIR/../build\"'; echo \"exit $?\"",
                    command_binary(), run_folder);
    struct result r = run_shell(command);
    cr_expect(strstr(r.text, "warpproof bisect: interrupted\n") != NULL && strstr(r.text, "exit 131\n") != NULL, "%s",
              r.text);
    free(command);
    free(r.text);
    expect_unchanged();
}

/* Of any kind, of git and of what git starts: neither a hook nor the file monitor. */
Test(bisect_git, no_hook_runs) {
    shell("git clone -q 'my repo' hooked; cd hooked\n"
          "printf '#!/bin/sh\necho \"$0 $*\" >>%s/ran\n' \"$TMPDIR/..\" >.git/hooks/reference-transaction\n"
          "chmod +x .git/hooks/reference-transaction; cd .git/hooks\n"
          "for n in post-checkout post-index-change pre-auto-gc; do cp reference-transaction $n; done; cd ../..\n"
          "cp .git/hooks/reference-transaction .git/monitor; git config core.fsmonitor $PWD/.git/monitor");
    static const char *const texts[] = {"Change the scale\n\nbefore it, PASS", NULL};
    expect_texts(run_command("bisect --repo %s/hooked --good c4 --build 'sh build.sh' --launch k.yaml", run_folder), 1,
                 texts);
    expect_result(run_shell("exec 2>&1; cat $TMPDIR/../ran; test ! -e $TMPDIR/../ran"), 0, "");
    expect_unchanged();
}

/* c2 has no launch file, and c7 is the last good one; the subject would colour the terminal. */
Test(bisect_git, a_good_commit_between) {
    shell("git clone -q 'my repo' odd; cd odd; git checkout -q -b odd c9\n"
          "git commit -q --allow-empty -m \"$(printf 'One \\033[31mred')\"");
    /* c9, c8, then 4 before: c6, 8 before: c2 */
    static const char *const texts[] = {"bad   ", " One \\x1b[31mred\n", "\nskip  ",
                                        "Change the scale\n\nbefore it, PASS", NULL};
    struct result r = run_command("bisect --repo %s/odd --build 'sh build.sh && ! git describe --tags | grep -q c6' "
                                  "--launch k.yaml",
                                  run_folder);
    cr_expect(strchr(r.text, 27) == NULL, "%s", r.text);
    expect_texts(r, 1, texts);
    expect_unchanged();
}

/* The paths are the repository's, and a change of the launch file alone is said. */
Test(bisect_git, the_launch_file_is_wrong) {
    shell("git clone -q 'my repo' own; cd own; git checkout -q -b own c7\n"
          "sed -i 's/iota/random/' k.yaml; git diff --quiet && exit 1\n"
          "git commit -q -a -m 'Fill otherwise'; echo x >>README; git commit -q -a -m 'Go on'");
    struct result r = run_command("bisect --repo %s/own --good c7 --build 'sh build.sh' --launch k.yaml", run_folder);
    cr_expect(strstr(r.text, "warpproof-bisect-") == NULL, "%s", r.text);
    static const char *const texts[] = {" Fill otherwise\n", "\nit changes the launch file alone: k.yaml\n", NULL};
    expect_texts(r, 1, texts);
    expect_unchanged();
}
