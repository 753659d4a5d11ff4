/* warpproof bisect: which instruction of a program, or which commit of a repository, made a kernel wrong. */
#include "bisect.h"
#include "../gpu/yaml.h"
#include "../ref/checked.h"
#include "../ref/printable.h"
#include "command.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: warpproof bisect --ptx A.ptx B.ptx CASE\n"
    "       warpproof bisect [--good REV] [--bad REV] [--repo DIR] [--build CMD] [--ptx-out FILE] CASE\n"
    "       ... --launch FILE.yaml [--set NAME=VALUE]... [--data CLASS] [--seed N]   in place of CASE\n"
    "\n"
    "With --ptx: runs two builds of one kernel on the same operands and names the first step after which they differ: "
    "a\n"
    "register of a lane, a byte of shared memory, a store; and what becomes of it.\n"
    "\n"
    "Without: finds the commit that made the kernel wrong, with git bisect, in a worktree of its own; the repository\n"
    "stays as it is. At each commit CMD builds, and the kernel is judged as `run` does. A commit that cannot be "
    "built,\n"
    "or has no launch file yet, is passed over. The first bad commit is named, with what is wrong there, and compared\n"
    "in step with the one before. docs/bisect.md tells more.\n"
    "\n"
    "CASE is the id of a case of fixtures/cases, or a pattern that selects one.\n"
    "\n"
    "  --ptx A B          the two programs\n"
    "  --good REV         a commit at which the kernel is right (default: looked for before the bad one)\n"
    "  --bad REV          one at which it is wrong (default HEAD)\n"
    "  --repo DIR         the repository (default: the current folder's); of a linked worktree, that worktree\n"
    "  --build CMD        what makes the PTX, for sh, in the worktree's top folder (default: it is in the commits)\n"
    "  --ptx-out FILE     the PTX to judge, from the top folder (default: that of the launch file)\n"
    "  --launch FILE      a launch file; of a repository: in its commits, from the top folder\n"
    "  --set NAME=VALUE   a value for the launch file's expressions; may be repeated\n"
    "  --data CLASS       the data of made operands: exact, coded, adv or rand (default: each, up to a red one)\n"
    "  --seed N           seed of made operands and of `fill: random` (default 1)\n"
    "  --build-timeout N  a build that takes more than N seconds fails (default: as long as it likes)\n"
    "  --json FILE        write one JSON line, whole or not at all; standard output is /dev/stdout, not -\n"
    "  --arch NAME        the architecture whose limits and tensor cores count (default sm_90)\n"
    "  -j, --threads N    CPU threads (default: all)\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 nothing differs; 1 a difference, or the first bad commit, was found; 2 input or usage error: also where "
    "the\n"
    "bad revision is right, the good one wrong, or either cannot be judged; 3 it cannot be judged: nothing ran, the "
    "output\n"
    "is equal and a step of programs that are not alike is not, or commits that cannot be judged hide the first bad "
    "one\n";

/* ---- what the files of bisect share ---- */

bool bisect_subject(const struct bisect_options *o, const char *root, const char *in, struct subject *s, int *code,
                    struct error *e) {
    if (o->launch == NULL) {
        return subject_case("bisect", root, o->what, NULL, s, code, e);
    }
    char *path = in != NULL && o->launch[0] != '/' ? must_format("%s/%s", in, o->launch) : must_strdup(o->launch);
    *code = EXIT_INPUT;
    const bool good = subject_launch("bisect", in != NULL ? in : root, path, &o->subject, s, e);
    free(path);
    return good;
}

int bisect_first_class(const struct bisect_options *o) {
    return o->subject.one_class ? (int)o->subject.class : 0;
}

bool bisect_more_classes(const struct bisect_options *o, const struct subject *s, int class) {
    return !o->subject.one_class && s->own != NULL && s->own->contract != NULL && !s->own->operands_in_files &&
           class + 1 < DATA_REAL;
}

char *bisect_ptx_path(const struct bisect_options *o, const struct spec *spec) {
    return o->ptx_out != NULL ? must_format("%s/%s", o->repo, o->ptx_out) : must_strdup(spec->ptx);
}

char *bisect_printable(const char *text) {
    const size_t room = 4 * strlen(text) + 4; /* each byte becomes four at most */
    char *all = must_calloc(room, 1), *at = all;
    for (;; ++text) {
        const size_t n = strcspn(text, "\n");
        at += strlen(printable(at, room - (size_t)(at - all), text, n));
        text += n;
        if (*text == 0) {
            return all;
        }
        *at++ = '\n';
    }
}

/* ---- the command ---- */

static int check(const struct bisect_options *o) {
    const bool git = o->good != NULL || o->bad != NULL || o->repo != NULL || o->build != NULL || o->ptx_out != NULL ||
                     o->build_seconds > 0;
    if (o->ptx[0] != NULL && git) {
        return usage_error("bisect", "--ptx compares two files: --good, --bad, --repo, --build, --build-timeout and "
                                     "--ptx-out do not go with it");
    }
    if ((o->what != NULL) == (o->launch != NULL)) {
        return usage_error("bisect", o->what != NULL ? "a case and --launch: want one of them"
                                                     : "want one case, or --launch FILE (see warpproof bisect --help)");
    }
    if (o->launch == NULL && subject_given(&o->subject)) {
        return usage_error("bisect", "--set, --data and --seed go with --launch: a case's id says what it is");
    }
    if (o->ptx[0] == NULL && o->launch == NULL && o->ptx_out == NULL) {
        return usage_error("bisect", "a case is of the project's kernel: --ptx-out says which PTX of the repository is "
                                     "judged by it");
    }
    return -1;
}

static int bisect_any(struct bisect_options *o) {
    struct error e;
    char *root = project_root(&e);
    int code = EXIT_INPUT;
    if (root == NULL || !load_measured_tables(root, &e)) {
        usage_error("bisect", "%s", e.text);
    } else {
        code = (o->step ? bisect_step : o->ptx[0] != NULL ? bisect_ptx : bisect_git)(o, root);
    }
    free(root);
    return code;
}

enum { PTX = SUBJECT_OPTIONS, GOOD, BAD, REPO, BUILD, PTX_OUT, LAUNCH, STEP, KEEP, BUILD_TIMEOUT };

static int take(int c, struct bisect_options *o) {
    static const char *const names[] = {"--good", "--bad", "--repo", "--build", "--ptx-out", "--launch"};
    const char **const values[] = {&o->good, &o->bad, &o->repo, &o->build, &o->ptx_out, &o->launch};
    if (c == STEP) {
        o->step = true;
        return -1;
    }
    if (c == BUILD_TIMEOUT) {
        int64_t n;
        if (o->build_seconds > 0) {
            return usage_error("bisect", "--build-timeout is given twice");
        }
        if (yaml_parse_integer(optarg, &n) != NULL || n < 1 || n > 1000000) {
            return usage_error("bisect", "--build-timeout %s: want seconds, 1 .. 1000000", optarg);
        }
        o->build_seconds = (unsigned)n;
        return -1;
    }
    return c == KEEP  ? take_once("bisect", "--keep", &o->keep)
           : c == PTX ? take_once("bisect", "--ptx", &o->ptx[0])
                      : take_once("bisect", names[c - GOOD], values[c - GOOD]);
}

int bisect_main(int argc, char **argv) {
    static const struct option longs[] = {SUBJECT_LONG_OPTIONS,
                                          {"ptx", required_argument, NULL, PTX},
                                          {"good", required_argument, NULL, GOOD},
                                          {"bad", required_argument, NULL, BAD},
                                          {"repo", required_argument, NULL, REPO},
                                          {"build", required_argument, NULL, BUILD},
                                          {"ptx-out", required_argument, NULL, PTX_OUT},
                                          {"launch", required_argument, NULL, LAUNCH},
                                          {"step", no_argument, NULL, STEP},
                                          {"keep", required_argument, NULL, KEEP},
                                          {"build-timeout", required_argument, NULL, BUILD_TIMEOUT},
                                          {"json", required_argument, NULL, JUDGING_JSON},
                                          {"arch", required_argument, NULL, JUDGING_ARCH},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct bisect_options o = {.subject = {.seed = 1}, .judging = {.threads = omp_get_max_threads()}};
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        code = c >= SUBJECT_SET && c < SUBJECT_OPTIONS ? subject_option("bisect", c, &o.subject)
               : c >= SUBJECT_OPTIONS && c <= BUILD_TIMEOUT
                   ? take(c, &o)
                   : judging_option("bisect", usage, argc, argv, c, &o.judging);
    }
    if (code < 0 && o.ptx[0] != NULL && optind < argc) { /* the second of the two stands first among what is left */
        o.ptx[1] = argv[optind++];
    }
    if (code < 0 && o.ptx[0] != NULL && o.ptx[1] == NULL) {
        code = usage_error("bisect", "--ptx: want two files (see warpproof bisect --help)");
    }
    if (code < 0 && optind < argc) {
        o.what = argv[optind++];
    }
    if (code < 0 && (optind < argc || (o.what != NULL && o.what[0] == 0))) {
        code = usage_error("bisect", "want one case, or --launch FILE (see warpproof bisect --help)");
    }
    code = code < 0 ? judging_check("bisect", &o.judging) : code;
    code = code < 0 ? check(&o) : code;
    code = code < 0 ? bisect_any(&o) : code;
    sets_free(&o.subject.sets);
    return code;
}
