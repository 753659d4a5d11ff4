#include "judging.h"
#include "../gpu/yaml.h"
#include "../ref/checked.h"
#include "../reports/file.h"
#include "command.h"
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* "all", "none", or names of watches separated by commas: *off = those that are not in the list. */
static bool parse_watches(const char *text, uint32_t *off) {
    if (strcmp(text, "all") == 0 || strcmp(text, "none") == 0) {
        *off = text[0] == 'n' ? WATCH_ALL : 0;
        return true;
    }
    uint32_t on = 0;
    for (const char *s = text;; ++s) {
        const size_t n = strcspn(s, ",");
        int found = -1;
        for (int i = 0; i < WATCHES; ++i) {
            found = strlen(watch_names[i]) == n && strncmp(watch_names[i], s, n) == 0 ? i : found;
        }
        if (found < 0) {
            return false;
        }
        on |= 1u << found;
        s += n;
        if (*s == 0) {
            *off = WATCH_ALL & ~on;
            return true;
        }
    }
}

/* "in-order", "reversed", "random:SEED" or "all". */
static bool parse_schedule(const char *text, struct judging *j) {
    struct schedule *s = &j->launch.schedule;
    *s = (struct schedule){.order = SCHEDULE_IN_ORDER};
    j->schedules = strcmp(text, "all") == 0 ? SCHEDULES_ALL : SCHEDULES_ONE;
    if (j->schedules == SCHEDULES_ALL || strcmp(text, "in-order") == 0) {
        return true;
    }
    if (strcmp(text, "reversed") == 0) {
        s->order = SCHEDULE_REVERSED;
        return true;
    }
    int64_t seed;
    if (strncmp(text, "random:", 7) != 0 || yaml_parse_integer(text + 7, &seed) != NULL || seed < 0) {
        return false;
    }
    *s = (struct schedule){.order = SCHEDULE_RANDOM, .seed = (uint64_t)seed};
    return true;
}

const struct arch *arch_option(const char *command, const char *text) {
    const struct arch *a = arch_named(text);
    if (a == NULL) {
        char *known = must_strdup("");
        for (size_t i = 0; archs[i].name != NULL; ++i) {
            char *more = must_format("%s %s", known, archs[i].name);
            free(known);
            known = more;
        }
        usage_error(command, "--arch %s: unknown architecture; known:%s", text, known);
        free(known);
    }
    return a;
}

static int file_option(const char *command, const char *option, const char *file) {
    if (strcmp(file, "-") == 0) {
        return usage_error(command, "%s -: want the name of a file; standard output is /dev/stdout", option);
    }
    return file[0] != 0 ? -1 : usage_error(command, "%s: want the name of a file", option);
}

int json_option(const char *command, const char *file) {
    return file_option(command, "--json", file);
}

static bool spares(const char *option, const char *file, const char *input, struct error *e) {
    return file == NULL || !file_same(file, input) || fail(e, "%s %s is the input %s", option, file, input);
}

bool json_spares(const char *json, const char *input, struct error *e) {
    return spares("--json", json, input, e);
}

bool judging_spares(const struct judging *j, const char *input, struct error *e) {
    return spares("--json", j->json, input, e) && spares("--junit", j->junit, input, e) &&
           spares("--html", j->html, input, e);
}

static bool spares_spec(const char *option, const char *file, const struct spec *s, struct error *e) {
    bool good = spares(option, file, s->path, e) && spares(option, file, s->ptx, e) &&
                (s->cubin == NULL || spares(option, file, s->cubin, e));
    if (good && s->source != NULL) {
        const char *name = strrchr(s->path, '/');
        char *source = must_format("%.*s%s", name != NULL ? (int)(name + 1 - s->path) : 0, s->path, s->source);
        good = spares(option, file, source, e);
        free(source);
    }
    for (size_t i = 0; good && i < s->buffer_count; ++i) { /* those of `then` as well */
        const struct spec_arg *a = s->buffers[i];
        good = (a->fill_path == NULL || spares(option, file, a->fill_path, e)) &&
               (a->expect_path == NULL || spares(option, file, a->expect_path, e));
    }
    return good;
}

bool json_spares_spec(const char *json, const struct spec *s, struct error *e) {
    return spares_spec("--json", json, s, e);
}

bool judging_spares_spec(const struct judging *j, const struct spec *s, struct error *e) {
    return spares_spec("--json", j->json, s, e) && spares_spec("--junit", j->junit, s, e) &&
           spares_spec("--html", j->html, s, e);
}

/* -1, or the exit code after a message: one of the files to write cannot be written, or two are the same. */
static int check_files(const char *command, const struct judging *j) {
    const char *const files[] = {j->json, j->junit, j->html}, *const options[] = {"--json", "--junit", "--html"};
    struct error e;
    for (size_t i = 0; i < 3; ++i) {
        for (size_t k = 0; k < i; ++k) {
            if (files[i] != NULL && files[k] != NULL && file_same_place(files[i], files[k])) {
                return usage_error(command, "%s and %s are the same file", options[k], options[i]);
            }
        }
        if (files[i] != NULL && !file_can_put(files[i], &e)) {
            return usage_error(command, "%s", e.text);
        }
    }
    return -1;
}

int judging_option(const char *command, const char *usage, int argc, char **argv, int result, struct judging *j) {
    switch (result) {
    case JUDGING_RUNNER:
        j->runner = strcmp(optarg, "machine") == 0  ? &runner_machine
                    : strcmp(optarg, "device") == 0 ? &runner_device
                                                    : NULL;
        return j->runner != NULL ? -1 : usage_error(command, "--runner %s: want machine or device", optarg);
    case JUDGING_DEVICE:
        return j->devices.given ? usage_error(command, "--device is given twice")
                                : devices_option(command, optarg, &j->devices);
    case JUDGING_JSON:
        return take_once(command, "--json", &j->json) < 0 ? json_option(command, optarg) : EXIT_INPUT;
    case JUDGING_JUNIT:
        return take_once(command, "--junit", &j->junit) < 0 ? file_option(command, "--junit", optarg) : EXIT_INPUT;
    case JUDGING_HTML:
        return take_once(command, "--html", &j->html) < 0 ? file_option(command, "--html", optarg) : EXIT_INPUT;
    case JUDGING_STATS:
        j->stats = true;
        return -1;
    case JUDGING_WATCHES:
        j->watches = optarg;
        return parse_watches(optarg, &j->launch.unwatched)
                   ? -1
                   : usage_error(command,
                                 "--watches %s: want all, none, or some of bounds, alignment, planes, uninit, hazards, "
                                 "async, sync, stores, separated by commas",
                                 optarg);
    case JUDGING_ARCH:
        j->launch.arch = arch_option(command, optarg);
        return j->launch.arch != NULL ? -1 : EXIT_INPUT;
    case JUDGING_SCHEDULE:
        return parse_schedule(optarg, j) ? -1
                                         : usage_error(command,
                                                       "--schedule %s: want in-order, reversed, random:SEED or all "
                                                       "(SEED in 0 .. 9223372036854775807)",
                                                       optarg);
    case 'j':
        return parse_threads(optarg, &j->threads)
                   ? -1
                   : usage_error(command, "-j %s: want a number of threads, 1 to 1024", optarg);
    case 'h':
        fputs(usage, stdout);
        return EXIT_PASSED;
    default:
        return option_error(command, argc, argv, result);
    }
}

char *judging_again(const struct judging *j, const struct outcome *o) {
    char name[SCHEDULE_NAME], device[DEVICES_AGAIN];
    devices_again(&j->devices, device);
    schedule_name(&j->launch.schedule, name);
    const bool on_gpu = j->runner == &runner_device; /* its architecture was not asked for */
    const char *schedule = j->schedules == SCHEDULES_ALL   ? "all"
                           : j->schedules == SCHEDULES_ONE ? name
                                                           : o->rerun_schedule;
    const bool arch = j->launch.arch != NULL && !on_gpu;
    return must_format("%s%s%s%s%s%s%s%s", on_gpu ? " --runner device" : "", on_gpu ? device : "",
                       arch ? " --arch " : "", arch ? j->launch.arch->name : "",
                       j->watches != NULL ? " --watches " : "", j->watches != NULL ? j->watches : "",
                       schedule[0] != 0 ? " --schedule " : "", schedule);
}

int judging_check(const char *command, struct judging *j) {
    if (j->runner != &runner_device && j->devices.given) {
        return usage_error(command, "--device goes with --runner device");
    }
    if (j->runner == &runner_device) {
        const char *option = j->launch.arch != NULL           ? "--arch: a GPU is what it is"
                             : j->watches != NULL             ? "--watches: a GPU watches nothing"
                             : j->schedules != SCHEDULES_OPEN ? "--schedule: a GPU takes an order of its own"
                                                              : NULL;
        if (option != NULL) {
            return usage_error(command, "%s; it goes with --runner machine", option);
        }
        const int code = devices_open(command, &j->devices, &j->launch.arch);
        if (code >= 0) {
            return code;
        }
    }
    return check_files(command, j);
}

/* Waits until the probe lets go. The allocation makes the thread take what libc keeps for each, as a worker will. */
static void *wait_in_thread(void *semaphore) {
    void *volatile room = malloc(1);
    while (sem_wait(semaphore) != 0) {
    }
    free(room);
    return NULL;
}

/* How many threads can be had at once, at most `wanted` and at least the one that asks. Room for what they will work
 * on is kept meanwhile. libgomp ends the process when it cannot make one, so this is found out before. */
static int threads_to_be_had(int wanted) {
    enum { WORKING_ROOM = 32 << 20 };
    pthread_t *threads = must_calloc((size_t)wanted, sizeof *threads);
    void *kept = mmap(NULL, WORKING_ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    sem_t go;
    int made = 0;
    sem_init(&go, 0, 0);
    while (kept != MAP_FAILED && made + 1 < wanted && pthread_create(&threads[made], NULL, wait_in_thread, &go) == 0) {
        ++made;
    }
    for (int i = 0; i < made; ++i) {
        sem_post(&go);
    }
    for (int i = 0; i < made; ++i) {
        pthread_join(threads[i], NULL);
    }
    sem_destroy(&go);
    if (kept != MAP_FAILED) {
        munmap(kept, WORKING_ROOM);
    }
    free(threads);
    return made + 1;
}

void judging_threads(const char *command, struct judging *j) {
    const int wanted = j->threads;
    j->threads = threads_to_be_had(wanted);
    if (j->threads < wanted) {
        flush_output();
        fprintf(stderr, "warpproof %s: only %d of %d threads can be made here; going on with %d\n", command, j->threads,
                wanted, j->threads);
    }
    omp_set_num_threads(j->threads);
}

struct launch_options judging_launch(const struct judging *j, size_t turn) {
    struct launch_options options = j->launch;
    options.gpu = devices_turn(&j->devices, turn);
    return options;
}

void judging_note_gpu(const struct judging *j, const struct launch_options *ran, struct outcome *o) {
    if (j->devices.count > 1 && ran->gpu > 0 && o->findings.count > 0) {
        findings_note(&o->findings, "it ran on GPU %d; rerun takes GPU 0, with --device %d that one", ran->gpu,
                      ran->gpu);
    }
}

struct totals totals_of(const struct outcome *outcomes, size_t count, double wall_seconds, const struct judging *j) {
    struct totals t = {
        .wall_seconds = wall_seconds, .threads = j->threads, .gpu_first = j->devices.first, .gpus = j->devices.count};
    size_t ran = 0;
    for (size_t i = 0; i < count; ++i) {
        const enum verdict v = outcome_verdict(&outcomes[i]);
        t.passed += v == VERDICT_PASS;
        t.skipped += v == VERDICT_SKIPPED;
        t.failed += v != VERDICT_PASS && v != VERDICT_SKIPPED;
        t.warp_instructions += outcomes[i].warp_instructions;
        t.macs += outcomes[i].macs;
        t.seconds += outcomes[i].seconds;
        t.launches += outcomes[i].launches * (outcomes[i].on_gpu ? 1 : outcomes[i].schedule_count);
        ran += outcomes[i].on_gpu;
    }
    t.on_gpu = ran > 0;
    return t;
}

int exit_code_of(const struct outcome *outcomes, size_t count) {
    bool wrong = false, input = false, passed = false;
    for (size_t i = 0; i < count; ++i) {
        const struct findings *f = &outcomes[i].findings;
        for (size_t k = 0; k < f->count; ++k) {
            wrong |= verdict_is_wrong_kernel(f->items[k].verdict);
            input |= f->items[k].verdict == VERDICT_INPUT;
        }
        passed |= outcome_verdict(&outcomes[i]) == VERDICT_PASS;
    }
    return wrong ? EXIT_KERNEL_WRONG : input ? EXIT_INPUT : passed ? EXIT_PASSED : EXIT_NOTHING_RAN;
}

void note_sums(const char *command, const char *about, const struct activation_sums *sums) {
    if (sums->wrong == 0) {
        return;
    }
    flush_output();
    usage_error(
        command,
        "note: %s: blocks whose stored sum is not that of their quants: %zu, first token %zu, block %zu: %d, not %d; "
        "computed as stored",
        about, sums->wrong, sums->token, sums->index, sums->stored, sums->right);
}
