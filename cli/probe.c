/* warpproof probe: which element of its inputs each output of a kernel consumed. */
#include "../reports/probe.h"
#include "../ref/checked.h"
#include "command.h"
#include "subject.h"
#include <omp.h>
#include <stdlib.h>

static const char usage[] =
    "usage: warpproof probe CASE [--plant NAME] [--runner NAME] [--json FILE] [-j N]\n"
    "       warpproof probe LAUNCH.yaml [--set NAME=VALUE]... [--seed N] [--runner NAME] [--json FILE] [-j N]\n"
    "\n"
    "Finds out from outputs alone which element each of them consumed, on operands that it makes for that: of a "
    "kernel\n"
    "with a contract which row and k of the weights, which token and k of the activations and whose scales, minima "
    "and\n"
    "sums; of one without which element of each input buffer. docs/probe.md says how.\n"
    "\n"
    "CASE is the id of a case of fixtures/cases, or a pattern that selects one; its shape counts, not its data.\n"
    "\n"
    "  --plant NAME       probe the kernel with the planted fault NAME instead (warpproof list plants)\n"
    "  --set NAME=VALUE   a value for the launch file's expressions; may be repeated\n"
    "  --data CLASS       the class of data that the launch file's shape must serve; none of them is probed with\n"
    "  --seed N           seed of `fill: random` (default 1)\n"
    "  --runner NAME      what runs the launches: machine (default), or device, a GPU here\n" DEVICES_USAGE
    "  --arch NAME        the architecture whose limits and tensor cores count (default sm_90)\n"
    "  --json FILE        write one JSON line, whole or not at all; standard output is /dev/stdout, not -\n"
    "  -j, --threads N    CPU threads (default: all)\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 everything consumed is what the contract says, or there is none; 1 something else was consumed; 2 input\n"
    "or usage error; 3 nothing could be probed\n";

struct options {
    const char *what, *plant;
    struct subject_options subject;
    struct judging judging;
};

/* ---- the probe ---- */

/* again: how it is called again. */
static int probe(const struct options *o, const struct subject *s, const char *again) {
    struct tomography x;
    struct error e;
    if (!tomography(&s->trial, NULL, &x, &e)) {
        return usage_error("probe", "%s", e.text);
    }
    const struct probe_report r = {.id = s->trial.id,
                                   .kernel = s->trial.spec->kernel,
                                   .again = again,
                                   .contract = s->trial.contract != NULL,
                                   .found = &x};
    int code = !x.probed ? EXIT_NOTHING_RAN : tomography_wrong(&x) ? EXIT_KERNEL_WRONG : EXIT_PASSED;
    probe_text(stdout, &r);
    if (o->judging.json != NULL && !probe_json(o->judging.json, &r, &e)) {
        flush_output();
        code = usage_error("probe", "%s", e.text);
    }
    tomography_free(&x);
    return code;
}

/* " --runner device", " --arch sm_121": how it was run. The caller frees it. */
static char *how_text(const struct judging *j) {
    char device[DEVICES_AGAIN];
    const bool on_gpu = j->runner == &runner_device;
    devices_again(&j->devices, device);
    return on_gpu                   ? must_format(" --runner device%s", device)
           : j->launch.arch != NULL ? must_format(" --arch %s", j->launch.arch->name)
                                    : must_strdup("");
}

/* ---- the command ---- */

static int probe_any(struct options *o) {
    const struct subject_asked asked = {"probe", o->what, o->plant, &o->subject, &o->judging};
    struct error e;
    char *root = project_root(&e);
    int code = EXIT_INPUT;
    if (root != NULL && load_measured_tables(root, &e)) {
        struct subject s;
        struct ptx_module *m;
        code = subject_open(&asked, root, &s, &m);
        if (code < 0) {
            char *how = how_text(&o->judging), *again = subject_again(&asked, root, &s, how);
            code = probe(o, &s, again);
            free(again);
            free(how);
        }
        ptx_free(m);
        subject_free(&s);
    } else {
        usage_error("probe", "%s", e.text);
    }
    free(root);
    return code;
}

int probe_main(int argc, char **argv) {
    enum { PLANT = SUBJECT_OPTIONS };
    static const struct option longs[] = {SUBJECT_LONG_OPTIONS,
                                          {"plant", required_argument, NULL, PLANT},
                                          {"runner", required_argument, NULL, JUDGING_RUNNER},
                                          {"device", required_argument, NULL, JUDGING_DEVICE},
                                          {"arch", required_argument, NULL, JUDGING_ARCH},
                                          {"json", required_argument, NULL, JUDGING_JSON},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {.subject = {.seed = 1, .class = DATA_CODED}, .judging = {.threads = omp_get_max_threads()}};
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        if (c == PLANT) {
            code = take_once("probe", "--plant", &o.plant);
        } else {
            code = c >= SUBJECT_SET && c < SUBJECT_OPTIONS ? subject_option("probe", c, &o.subject)
                                                           : judging_option("probe", usage, argc, argv, c, &o.judging);
        }
    }
    code = code >= 0 ? code : judging_check("probe", &o.judging);
    if (code < 0 && (optind + 1 != argc || argv[optind][0] == 0)) {
        code = usage_error("probe", "want one case or launch file (see warpproof probe --help)");
    }
    if (code < 0) {
        o.what = argv[optind];
        code = probe_any(&o);
    }
    sets_free(&o.subject.sets);
    return code;
}
