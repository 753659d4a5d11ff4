/* warpproof probe: which element of its inputs each output of a kernel consumed. */
#include "../reports/probe.h"
#include "command.h"
#include "subject.h"
#include <omp.h>

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

static int probe(const struct subject_options *o, const struct subject *s) {
    struct tomography x;
    struct error e;
    if (!tomography(&s->trial, NULL, &x, &e)) {
        return usage_error("probe", "%s", e.text);
    }
    const struct probe_report r = {.id = s->trial.id,
                                   .kernel = s->trial.spec->kernel,
                                   .again = s->again,
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

int probe_main(int argc, char **argv) {
    static const struct option longs[] = {SUBJECT_LONG_OPTIONS,
                                          {"runner", required_argument, NULL, JUDGING_RUNNER},
                                          {"device", required_argument, NULL, JUDGING_DEVICE},
                                          {"arch", required_argument, NULL, JUDGING_ARCH},
                                          {"json", required_argument, NULL, JUDGING_JSON},
                                          {"threads", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct subject_options o = SUBJECT_DEFAULTS("probe", "probed");
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":j:h", longs, NULL)) != -1;) {
        code = subject_option(&o, usage, argc, argv, c);
    }
    code = code >= 0 ? code : subject_main(&o, argc, argv, probe);
    sets_free(&o.sets);
    return code;
}
